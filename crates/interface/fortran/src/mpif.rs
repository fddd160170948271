//! `mpif.h`, and the constants that the modules share with it.

use crate::routine::routines;
use std::fmt::Write;
use tern_table::Tables;
use tern_table::constants::Form;

/// Variables with a meaning, in the order of their COMMON block, with their types in the module `mpi` and in mpi_f08.
pub const SENTINELS: [(&str, &str, &str); 10] = [
    ("MPI_BOTTOM", "INTEGER", "INTEGER"),
    ("MPI_IN_PLACE", "INTEGER", "INTEGER"),
    ("MPI_BUFFER_AUTOMATIC", "INTEGER", "INTEGER"),
    ("MPI_UNWEIGHTED(1)", "INTEGER", "INTEGER"),
    ("MPI_WEIGHTS_EMPTY(1)", "INTEGER", "INTEGER"),
    ("MPI_ERRCODES_IGNORE(1)", "INTEGER", "INTEGER"),
    ("MPI_STATUS_IGNORE", "INTEGER, DIMENSION(MPI_STATUS_SIZE)", "TYPE(MPI_Status)"),
    ("MPI_STATUSES_IGNORE", "INTEGER, DIMENSION(MPI_STATUS_SIZE, 1)", "TYPE(MPI_Status), DIMENSION(1)"),
    ("MPI_ARGV_NULL(1)", "CHARACTER(LEN=4)", "CHARACTER(LEN=4)"),
    ("MPI_ARGVS_NULL(1, 1)", "CHARACTER(LEN=4)", "CHARACTER(LEN=4)"),
];

/// The list of a COMMON block.
pub fn sentinel_block(names: &[&str], separator: &str) -> String {
    names.chunks(3).map(|chunk| chunk.join(", ")).collect::<Vec<_>>().join(separator)
}

/// Constants with their types: all but handles, or handles alone.
fn all(tables: &Tables, handles: bool) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut add = |ty: &str, name: &str, value: &str| found.push((ty.into(), name.into(), value.into()));
    if !handles {
        for name in ["MPI_ADDRESS_KIND", "MPI_COUNT_KIND", "MPI_OFFSET_KIND"] {
            add("INTEGER", name, "8");
        }
        for (name, value) in [
            ("MPI_INTEGER_KIND", "4"),
            ("MPI_STATUS_SIZE", "8"),
            ("MPI_SOURCE", "1"),
            ("MPI_TAG", "2"),
            ("MPI_ERROR", "3"),
        ] {
            add("INTEGER", name, value);
        }
    }
    for group in &tables.constants {
        for constant in &group.constants {
            let (name, value) = (constant.name.as_str(), decimal(&constant.value));
            if name.starts_with("MPI_T_") || name.starts_with("MPI_F_") {
                continue;
            }
            match &group.form {
                Form::Handle(ty) if handles => add(ty, name, &value),
                Form::Enum(_) | Form::Define if !handles => {
                    // C counts the null at the end of a text.
                    let text = name.starts_with("MPI_MAX_");
                    let value = if text { shorter(&value) } else { value };
                    add("INTEGER", name, &value);
                }
                Form::Pointer(ty) if ty == "MPI_Offset" && !handles => {
                    add("INTEGER(KIND=MPI_OFFSET_KIND)", name, &value);
                }
                _ => {}
            }
        }
    }
    found
}

fn decimal(value: &str) -> String {
    match value.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).map_or(value.into(), |n| n.to_string()),
        None => value.into(),
    }
}

fn shorter(value: &str) -> String {
    value.parse::<i64>().map_or(value.into(), |n| (n - 1).to_string())
}

/// Declarations of constants, in free form: of handles, or of the others.
pub fn constants(tables: &Tables, of_handles: bool) -> Vec<String> {
    match of_handles {
        true => handles(tables, false),
        false => {
            all(tables, false).iter().map(|(ty, name, value)| format!("{ty}, PARAMETER :: {name} = {value}")).collect()
        }
    }
}

/// Declarations of handles: INTEGER, or of their types.
pub fn handles(tables: &Tables, typed: bool) -> Vec<String> {
    let line = |(ty, name, value): &(String, String, String)| match (typed, value.starts_with("MPI_")) {
        (false, _) => format!("INTEGER, PARAMETER :: {name} = {value}"),
        (true, false) => format!("TYPE({ty}), PARAMETER :: {name} = {ty}({value})"),
        (true, true) => format!("TYPE({ty}), PARAMETER :: {name} = {value}"),
    };
    all(tables, true).iter().map(line).collect()
}

/// Names that programs get by files and modules of their own.
pub fn is_extension(name: &str) -> bool {
    name.starts_with("MPIX_") || name.starts_with("PMPIX_")
}

/// `mpif-ext.h`: the constants of extensions, for programs that include it beside `mpif.h`, as they do with Open MPI.
pub fn mpif_ext_h(tables: &Tables) -> String {
    let mut out = String::from("! mpif-ext.h of Tern: constants of extensions, to be included beside mpif.h.\n");
    let constants = all(tables, false);
    for (ty, name, value) in constants.iter().filter(|row| is_extension(&row.1)) {
        // The number itself, since the other name may be too long for the line.
        let number = constants.iter().find(|row| row.1 == *value).map_or(value, |row| &row.2);
        let _ = writeln!(out, "{}", continued(&format!("{ty} {name}")));
        let _ = writeln!(out, "{}", continued(&format!("PARAMETER ({name}={number})")));
    }
    out
}

/// `mpif.h`: valid in fixed and in free form, so that a line ends before column 73, with `&` there if it goes on.
pub fn mpif_h(tables: &Tables) -> String {
    let mut out =
        String::from("! mpif.h of Tern: MPI 5.0 for Fortran, in fixed and free form. `use mpi_f08` offers more.\n");
    let mut line = |text: &str| {
        let _ = writeln!(out, "{}", continued(text));
    };
    let constants = [all(tables, false), all(tables, true)].concat();
    for (ty, name, value) in constants.iter().filter(|row| !is_extension(&row.1)) {
        let ty = if ty.starts_with("MPI_") { "INTEGER" } else { ty };
        line(&format!("{ty} {name}"));
        line(&format!("PARAMETER ({name}={value})"));
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        line(&format!("LOGICAL {name}"));
        line(&format!("PARAMETER ({name}=.FALSE.)"));
    }
    for (name, ty, _) in SENTINELS {
        line(&match ty.split_once(", DIMENSION") {
            Some((ty, shape)) => format!("{ty} {name}{shape}"),
            None => format!("{ty} {name}"),
        });
    }
    let names: Vec<&str> = SENTINELS.iter().map(|s| s.0.split('(').next().unwrap_or(s.0)).collect();
    for name in names {
        line(&format!("COMMON /MPITERNSENTINELS/ {name}"));
    }
    line("SAVE /MPITERNSENTINELS/");
    for prefix in ["", "P"] {
        for routine in routines(tables).iter().filter(|r| !r.result().is_empty()) {
            let name = format!("{prefix}{}", routine.full_name().to_uppercase());
            let ty = if routine.result() == "double" { "DOUBLE PRECISION" } else { "INTEGER(KIND=MPI_ADDRESS_KIND)" };
            line(&format!("{ty} {name}"));
            line(&format!("EXTERNAL {name}"));
        }
    }
    for class in ["COMM_", "TYPE_", "WIN_", ""] {
        for name in ["DUP_FN", "NULL_COPY_FN", "NULL_DELETE_FN"] {
            line(&format!("EXTERNAL MPI_{class}{name}"));
        }
    }
    for name in ["MPI_CONVERSION_FN_NULL", "MPI_CONVERSION_FN_NULL_C"] {
        line(&format!("EXTERNAL {name}"));
    }
    out
}

/// A statement from column 7 on; what would pass column 72 goes on in a second line.
fn continued(statement: &str) -> String {
    let line = format!("      {statement}");
    if line.len() <= 72 {
        return line;
    }
    let cut = line[..66].rfind([' ', '(', ',']).unwrap_or(66);
    format!("{:<72}&\n     &{}", &line[..cut], &line[cut..])
}
