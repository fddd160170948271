//! The files that are installed.

use crate::{modules, mpif};
use tern_table::Tables;

/// Names and texts, in the order of compilation.
pub fn all(tables: &Tables) -> [(&'static str, String); 5] {
    [
        ("mpif.h", mpif::mpif_h(tables)),
        ("tern_mpi_base.f90", modules::base(tables)),
        ("mpi.f90", modules::mpi(tables)),
        ("mpi_f08.f90", modules::mpi_f08(tables)),
        ("probe.f90", include_str!("probe.f90").into()),
    ]
}
