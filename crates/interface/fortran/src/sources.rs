//! The files that are installed.

use crate::{modules, mpif};
use tern_table::Tables;

/// Names and texts, in the order of compilation. The installation adds those kinds (`wide_*.inc`) that the compiler at hand has.
pub fn all(tables: &Tables) -> Vec<(String, String)> {
    let sources = [
        ("mpif.h", mpif::mpif_h(tables)),
        ("mpif-ext.h", mpif::mpif_ext_h(tables)),
        ("tern_mpi_base.f90", modules::base(tables)),
        ("mpi.f90", modules::mpi(tables)),
        ("mpi_f08.f90", modules::mpi_f08(tables)),
        ("mpi_ext.f90", modules::extensions(tables, "mpi_ext", "mpi")),
        ("mpi_f08_ext.f90", modules::extensions(tables, "mpi_f08_ext", "mpi_f08")),
        ("probe.f90", include_str!("probe.f90").into()),
    ];
    let wide = modules::WIDE.map(|(name, ty)| (format!("wide_{name}.inc"), modules::wide(name, ty)));
    sources.into_iter().map(|(name, text)| (name.to_owned(), text)).chain(wide).collect()
}
