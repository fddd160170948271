//! The files that are installed.

use crate::{modules, mpif};
use tern_table::Tables;

/// Names and texts, in the order of compilation.
pub fn all(tables: &Tables) -> [(&'static str, String); 8] {
    [
        ("mpif.h", mpif::mpif_h(tables)),
        ("mpif-ext.h", mpif::mpif_ext_h(tables)),
        ("tern_mpi_base.f90", modules::base(tables)),
        ("mpi.f90", modules::mpi(tables)),
        ("mpi_f08.f90", modules::mpi_f08(tables)),
        ("mpi_ext.f90", modules::extensions(tables, "mpi_ext", "mpi")),
        ("mpi_f08_ext.f90", modules::extensions(tables, "mpi_f08_ext", "mpi_f08")),
        ("probe.f90", include_str!("probe.f90").into()),
    ]
}
