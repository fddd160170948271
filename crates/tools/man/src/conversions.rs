//! Pages of the functions that convert handles and statuses between C and Fortran (MPI 5.0 sections 19.3.4 and 19.3.5), which no table has.

use std::fmt::Write;

use crate::page::Page;
use crate::roff::{escape, prose, title};

/// A kind of handle in the names of the functions, and its type in C.
const HANDLES: [(&str, &str); 11] = [
    ("Comm", "MPI_Comm"),
    ("Errhandler", "MPI_Errhandler"),
    ("File", "MPI_File"),
    ("Group", "MPI_Group"),
    ("Info", "MPI_Info"),
    ("Message", "MPI_Message"),
    ("Op", "MPI_Op"),
    ("Request", "MPI_Request"),
    ("Session", "MPI_Session"),
    ("Type", "MPI_Datatype"),
    ("Win", "MPI_Win"),
];
/// Conversions of statuses: the name, and what each side is.
const STATUSES: [(&str, &str, &str); 6] = [
    ("c2f", "MPI_Status *c_status", "MPI_Fint *f_status"),
    ("f2c", "MPI_Fint *f_status", "MPI_Status *c_status"),
    ("c2f08", "MPI_Status *c_status", "MPI_F08_status *f08_status"),
    ("f082c", "MPI_F08_status *f08_status", "MPI_Status *c_status"),
    ("f2f08", "MPI_Fint *f_status", "MPI_F08_status *f08_status"),
    ("f082f", "MPI_F08_status *f08_status", "MPI_Fint *f_status"),
];

/// All files, by name.
pub fn pages() -> impl Iterator<Item = (String, Page)> {
    let handles = HANDLES.iter().flat_map(|&(kind, class)| {
        let (first, second) = (format!("MPI_{kind}_c2f.3"), format!("MPI_{kind}_f2c.3"));
        [(first.clone(), Page::Text(of_handle(kind, class))), (second, Page::Same(first))]
    });
    let statuses = STATUSES.iter().map(|&(name, ..)| {
        let page = if name == "c2f" { Page::Text(of_statuses()) } else { Page::Same("MPI_Status_c2f.3".into()) };
        (format!("MPI_Status_{name}.3"), page)
    });
    handles.chain(statuses)
}

fn page(names: &str, summary: &str, synopsis: &str, more: &str, section: &str) -> String {
    let first = names.split(',').next().unwrap_or(names);
    let mut out = title(first, 3, "MPI");
    _ = writeln!(out, ".SH NAME\n{} \\- {}", escape(names), escape(summary));
    _ = writeln!(out, ".SH SYNOPSIS\n.SS C\n.nf\n#include <mpi.h>\n.sp\n{}.fi", escape(synopsis));
    _ = writeln!(out, ".SH DESCRIPTION\n{}\n.SH STANDARD\nMPI 5.0, section {section}.", prose(more));
    out
}

fn of_handle(kind: &str, class: &str) -> String {
    let synopsis = format!("MPI_Fint MPI_{kind}_c2f({class} handle);\n{class} MPI_{kind}_f2c(MPI_Fint handle);\n");
    let more = format!(
        "MPI_{kind}_c2f gives the integer by which Fortran knows a handle, MPI_{kind}_f2c the handle of such an integer. Both may be called \
         before MPI is initialised and after it was finalised, and have no errors."
    );
    page(
        &format!("MPI_{kind}_c2f, MPI_{kind}_f2c"),
        "convert a handle between C and Fortran",
        &synopsis,
        &more,
        "19.3.4",
    )
}

fn of_statuses() -> String {
    let names: Vec<String> = STATUSES.iter().map(|(name, ..)| format!("MPI_Status_{name}")).collect();
    let forms = STATUSES.iter().map(|(name, from, to)| format!("int MPI_Status_{name}(const {from}, {to});\n"));
    let more = "Each of them copies a status from one form to another: the structure of C, the integers of `mpif.h` and of the module mpi, \
                and the type of the module mpi_f08. The source must be a status, not one of the constants by which statuses are ignored; \
                otherwise the result is MPI_ERR_ARG.";
    let synopsis: String = forms.collect();
    page(&names.join(", "), "convert a status between C and Fortran", &synopsis, more, "19.3.5")
}
