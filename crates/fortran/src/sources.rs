//! The files that are installed.

use crate::{modules, mpif};
use tern_table::Tables;

/// Names and texts, in the order of compilation.
pub fn all(tables: &Tables) -> [(&'static str, String); 4] {
    [
        ("mpif.h", mpif::mpif_h(tables)),
        ("tern_mpi_base.f90", modules::base(tables)),
        ("mpi.f90", modules::mpi(tables)),
        ("mpi_f08.f90", modules::mpi_f08(tables)),
    ]
}
