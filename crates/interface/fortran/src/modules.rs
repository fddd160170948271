//! The sources of the modules: `tern_mpi_base` with what both share, `mpi` and `mpi_f08`.

use crate::declare::{Face, argument};
use crate::manglings;
use crate::mpif::{SENTINELS, constants, sentinel_block};
use crate::routine::{Base, Routine, routines};
use std::fmt::Write;
use tern_table::Tables;

/// The handle types (MPI 5.0 section 19.3.3).
const TYPES: [&str; 11] = [
    "MPI_Comm",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_File",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Op",
    "MPI_Request",
    "MPI_Session",
    "MPI_Win",
];

const HEAD: &str = "! Made from Tern's tables of the MPI standard when Tern was installed. mpifort compiles this file for\n\
                    ! the compiler at hand.\n";

/// Kinds, constants, types with their operators, MPI_Sizeof, and the compiler's LOGICAL values.
pub fn base(tables: &Tables) -> String {
    let mut out = String::from(HEAD);
    out.push_str("\nmodule tern_mpi_base\n  implicit none\n  public\n\n");
    for line in constants(tables, false) {
        let _ = writeln!(out, "  {line}");
    }
    out.push_str("\n  type, bind(C) :: MPI_Status\n    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n");
    out.push_str("    integer :: MPI_internal(5)\n  end type MPI_Status\n");
    for name in TYPES {
        let _ = write!(out, "\n  type, bind(C) :: {name}\n    integer :: MPI_VAL\n  end type {name}\n");
    }
    for (operator, word) in [("==", "eq"), ("/=", "ne")] {
        let _ = write!(out, "\n  interface operator({operator})\n");
        for name in TYPES {
            let _ = writeln!(out, "    module procedure tern_{word}_{}", short(name));
        }
        out.push_str("  end interface\n");
        for name in TYPES {
            let _ = writeln!(out, "  private :: tern_{word}_{}", short(name));
        }
    }
    // Interfaces of one procedure of the library, which reads the descriptor, and of one for each kind of LOGICAL.
    out.push_str("\n  interface MPI_Sizeof\n");
    for (name, ty) in SIZED {
        let bind = match LOGICALS.contains(&name) {
            true => String::new(),
            false => format!(" bind(C, name=\"tern_sizeof_{name}\")"),
        };
        let _ = write!(
            out,
            "    subroutine tern_sizeof_{name}(x, size, ierror){bind}\n      \
             {ty}, dimension(..), intent(in) :: x\n      integer, intent(out) :: size\n      \
             integer, optional, intent(out) :: ierror\n    end subroutine tern_sizeof_{name}\n"
        );
    }
    out.push_str("  end interface\n\n  interface PMPI_Sizeof\n    procedure");
    let names: Vec<String> = SIZED.iter().map(|(name, _)| format!("tern_sizeof_{name}")).collect();
    let _ = writeln!(out, " {}\n  end interface", names.join(", &\n      "));
    // What this compiler has of the wide kinds: modules.sh writes the file.
    out.push_str("  include 'tern_wide.inc'\n");
    out.push_str("\ncontains\n");
    for (operator, word) in [("==", "eq"), ("/=", "ne")] {
        for name in TYPES {
            let function = format!("tern_{word}_{}", short(name));
            let _ = write!(
                out,
                "\n  elemental function {function}(a, b) result(answer)\n    type({name}), intent(in) :: a, b\n    \
                 logical :: answer\n    answer = a%MPI_VAL {operator} b%MPI_VAL\n  end function {function}\n"
            );
        }
    }
    out.push_str("\nend module tern_mpi_base\n\n");
    out.push_str("! Tells the library how this compiler stores LOGICAL.\n");
    out.push_str("subroutine ternlogicals(yes, no)\n  implicit none\n  logical, intent(out) :: yes, no\n");
    out.push_str("  yes = .true.\n  no = .false.\nend subroutine ternlogicals\n");
    out
}

/// Types of MPI_Sizeof, which takes any numeric intrinsic type and LOGICAL and CHARACTER (section 19.1.9).
pub const SIZED: [(&str, &str); 12] = [
    ("i1", "integer(kind=selected_int_kind(2))"),
    ("i2", "integer(kind=selected_int_kind(4))"),
    ("i4", "integer(kind=selected_int_kind(9))"),
    ("i8", "integer(kind=selected_int_kind(18))"),
    ("r4", "real(kind=selected_real_kind(6))"),
    ("r8", "real(kind=selected_real_kind(15))"),
    ("c4", "complex(kind=selected_real_kind(6))"),
    ("c8", "complex(kind=selected_real_kind(15))"),
    ("l1", "logical(kind=1)"),
    ("l4", "logical(kind=4)"),
    ("l8", "logical(kind=8)"),
    ("ch", "character(len=*)"),
];

/// Types that not all compilers have, by the kinds that gfortran and flang give them.
pub const WIDE: [(&str, &str); 5] = [
    ("r10", "real(kind=10)"),
    ("r16", "real(kind=16)"),
    ("c10", "complex(kind=10)"),
    ("c16", "complex(kind=16)"),
    ("i16", "integer(kind=16)"),
];

/// MPI_Sizeof of one of them, for the specification part of a module.
pub fn wide(name: &str, ty: &str) -> String {
    format!(
        "  interface MPI_Sizeof\n    subroutine tern_sizeof_{name}(x, size, ierror)\n      \
         {ty}, dimension(..), intent(in) :: x\n      integer, intent(out) :: size\n      \
         integer, optional, intent(out) :: ierror\n    end subroutine tern_sizeof_{name}\n  end interface\n  \
         interface PMPI_Sizeof\n    procedure tern_sizeof_{name}\n  end interface\n"
    )
}

/// Those of them that have no counterpart in C. In a procedure with BIND(C), gfortran's `-std=` refuses them.
pub const LOGICALS: [&str; 2] = ["l4", "l8"];

fn short(name: &str) -> String {
    name.trim_start_matches("MPI_").to_lowercase()
}

/// The module `mpi`.
pub fn mpi(tables: &Tables) -> String {
    let mut out = String::from(HEAD);
    out.push_str("\nmodule mpi\n  use tern_mpi_base\n  use, intrinsic :: iso_c_binding, only: C_PTR\n");
    out.push_str("  implicit none\n  public\n  private :: C_PTR\n\n");
    for line in constants(tables, true).iter().map(String::as_str).chain(SUPPORT_MPI) {
        let _ = writeln!(out, "  {line}");
    }
    sentinels(&mut out, Face::Mpi);
    let routines = routines(tables);
    for prefix in ["", "P"] {
        out.push_str("\n  interface\n");
        for routine in routines.iter().filter(|r| !r.is_f08_only() && !gives_pointer(r)) {
            let name = format!("{prefix}{}", routine.full_name());
            interface(&mut out, routine, &name, Face::Mpi, false);
        }
        let status = "      integer, intent(in) :: f_status(MPI_STATUS_SIZE)\n      type(MPI_Status), intent(out) :: f08_status\n";
        let back = "      type(MPI_Status), intent(in) :: f08_status\n      integer, intent(out) :: f_status(MPI_STATUS_SIZE)\n";
        for (name, args, body) in
            [("Status_f2f08", "f_status, f08_status", status), ("Status_f082f", "f08_status, f_status", back)]
        {
            let name = format!("{prefix}MPI_{name}");
            let _ = write!(
                out,
                "    subroutine {name}({args}, ierror)\n      import\n{body}      integer, intent(out) :: ierror\n    \
                 end subroutine {name}\n"
            );
        }
        let _ = write!(
            out,
            "    subroutine {prefix}MPI_F_sync_reg(buf)\n      !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf\n      \
             !DIR$ IGNORE_TKR buf\n      integer :: buf(*)\n    end subroutine {prefix}MPI_F_sync_reg\n"
        );
        out.push_str("  end interface\n");
        // The same procedures with TYPE(C_PTR) for the address (section 9.2).
        for routine in routines.iter().filter(|r| !r.is_f08_only() && gives_pointer(r)) {
            let name = format!("{prefix}{}", routine.full_name());
            let _ = write!(out, "\n  interface {name}\n");
            interface(&mut out, routine, &name, Face::Mpi, false);
            interface(&mut out, routine, &format!("{name}_cptr"), Face::Mpi, true);
            out.push_str("  end interface\n");
        }
    }
    predefined(&mut out, Face::Mpi);
    out.push_str("\nend module mpi\n");
    out
}

/// The module of that name, by which programs ask Open MPI for the extensions: the names of `of` that begin with MPIX_.
pub fn extensions(tables: &Tables, name: &str, of: &str) -> String {
    let constants = tables.constants.iter().flat_map(|group| &group.constants).map(|constant| constant.name.clone());
    let procedures = tables.functions().flat_map(|function| function.full_names(false));
    let procedures = procedures.flat_map(|name| [name.clone(), format!("P{name}")]);
    let all: Vec<String> = constants.chain(procedures).filter(|name| crate::mpif::is_extension(name)).collect();
    format!(
        "{HEAD}\nmodule {name}\n  use {of}, only: &\n      {}\n  implicit none\n  public\nend module {name}\n",
        wrapped(&all)
    )
}

fn gives_pointer(routine: &Routine) -> bool {
    routine.args.iter().any(|a| a.base == Base::Pointer && a.name == "baseptr")
}

const SUPPORT_MPI: [&str; 2] = [
    "LOGICAL, PARAMETER :: MPI_SUBARRAYS_SUPPORTED = .FALSE.",
    "LOGICAL, PARAMETER :: MPI_ASYNC_PROTECTS_NONBLOCKING = .FALSE.",
];
const SUPPORT_F08: [&str; 2] = [
    "LOGICAL, PARAMETER :: MPI_SUBARRAYS_SUPPORTED = .TRUE.",
    "LOGICAL, PARAMETER :: MPI_ASYNC_PROTECTS_NONBLOCKING = .TRUE.",
];

/// The module `mpi_f08`.
pub fn mpi_f08(tables: &Tables) -> String {
    let mut out = String::from(HEAD);
    // Programs rely on it that the modules of other libraries give on what ISO_C_BINDING has: C_PTR, C_F_POINTER.
    out.push_str("\nmodule mpi_f08\n  use tern_mpi_base\n  use, intrinsic :: iso_c_binding\n");
    out.push_str("  implicit none\n  public\n\n");
    for line in crate::mpif::handles(tables, true).iter().map(String::as_str).chain(SUPPORT_F08) {
        let _ = writeln!(out, "  {line}");
    }
    sentinels(&mut out, Face::F08);
    out.push_str(ABSTRACT);
    let routines = routines(tables);
    for prefix in ["", "P"] {
        for routine in routines.iter().filter(|r| r.in_f08() && !is_second(r)) {
            let mut forms = vec![routine];
            forms.extend(routines.iter().filter(|other| {
                is_second(other) && other.generic() == routine.generic() && other.signature() != routine.signature()
            }));
            let generic = format!("{prefix}{}{}", routine.prefix, routine.generic());
            let _ = write!(out, "\n  interface {generic}\n");
            for form in forms {
                let choice = if form.has_choice() { "_f08ts" } else { "_f08" };
                interface(&mut out, form, &format!("{prefix}{}{choice}", form.full_name()), Face::F08, true);
            }
            out.push_str("  end interface\n");
        }
        for (name, from, to) in [
            ("Status_f2f08", "integer, intent(in) :: from(MPI_STATUS_SIZE)", "type(MPI_Status), intent(out) :: to"),
            ("Status_f082f", "type(MPI_Status), intent(in) :: from", "integer, intent(out) :: to(MPI_STATUS_SIZE)"),
        ] {
            let (a, b) = if name == "Status_f2f08" { ("f_status", "f08_status") } else { ("f08_status", "f_status") };
            let (from, to) = (from.replace("from", a), to.replace(":: to", &format!(":: {b}")));
            let name = format!("{prefix}MPI_{name}");
            let _ = write!(
                out,
                "\n  interface {name}\n    subroutine {name}_f08({a}, {b}, ierror)\n      import\n      {from}\n      \
                 {to}\n      integer, optional, intent(out) :: ierror\n    end subroutine {name}_f08\n  end interface\n"
            );
        }
        let name = format!("{prefix}MPI_F_sync_reg");
        let label = &manglings(&format!("{name}_f08ts"))[0];
        let _ = write!(
            out,
            "\n  interface {name}\n    subroutine {name}_f08ts(buf) bind(C, name=\"{label}\")\n      \
             type(*), dimension(..), asynchronous :: buf\n    end subroutine {name}_f08ts\n  end interface\n"
        );
    }
    predefined(&mut out, Face::F08);
    out.push_str("\nend module mpi_f08\n");
    out
}

/// A form with the generic name of another.
fn is_second(routine: &Routine) -> bool {
    routine.generic() != routine.name()
}

/// The variables with a meaning, in the COMMON block that the library knows.
fn sentinels(out: &mut String, face: Face) {
    out.push('\n');
    for (name, mpi, f08) in SENTINELS {
        let _ = writeln!(out, "  {} :: {name}", if face == Face::Mpi { mpi } else { f08 });
    }
    let names: Vec<&str> = SENTINELS.iter().map(|s| s.0.split('(').next().unwrap_or(s.0)).collect();
    let _ = writeln!(out, "  common /mpiternsentinels/ {}", sentinel_block(&names, ", &\n    "));
    out.push_str("  save /mpiternsentinels/\n");
}

/// The interface of one procedure.
fn interface(out: &mut String, routine: &Routine, name: &str, face: Face, pointers: bool) {
    let mut names: Vec<String> = routine.shown().map(|a| a.name.clone()).collect();
    if routine.has_ierror() {
        names.push("ierror".into());
    }
    let result = match routine.result() {
        "" => None,
        "double" => Some("DOUBLE PRECISION"),
        _ => Some("INTEGER(KIND=MPI_ADDRESS_KIND)"),
    };
    let word = if result.is_some() { "function" } else { "subroutine" };
    // Descriptors are those of the standard only in procedures with BIND(C).
    let bind = match face == Face::F08 && routine.has_choice() {
        true => format!(" &\n      bind(C, name=\"{}\")", manglings(name)[0]),
        false if result.is_some() => " result(res)".into(),
        false => String::new(),
    };
    let _ = writeln!(out, "    {word} {name}({}){bind}", wrapped(&names));
    out.push_str("      import\n");
    // An argument that gives a shape comes before those that use it.
    let (first, rest): (Vec<_>, Vec<_>) = routine.shown().partition(|a| a.name == "count");
    for arg in first.into_iter().chain(rest) {
        for line in argument(routine, arg, face, pointers) {
            let _ = writeln!(out, "      {line}");
        }
    }
    if routine.has_ierror() {
        let optional = if face == Face::F08 { "OPTIONAL, INTENT(OUT) " } else { "INTENT(OUT) " };
        let _ = writeln!(out, "      INTEGER, {optional}:: ierror");
    }
    if let Some(result) = result {
        let _ = writeln!(out, "      {result} :: res");
    }
    let _ = writeln!(out, "    end {word} {name}");
}

/// A list of names over as many lines as it needs.
fn wrapped(names: &[String]) -> String {
    let mut text = String::new();
    let mut width = 0;
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            text.push_str(", ");
            if width > 60 {
                text.push_str("&\n      ");
                width = 0;
            }
        }
        text.push_str(name);
        width += name.len() + 2;
    }
    text
}

/// The predefined callbacks.
fn predefined(out: &mut String, face: Face) {
    out.push_str("\n  interface\n");
    let mut all = vec![("COMM", "MPI_Comm", false), ("TYPE", "MPI_Datatype", false), ("WIN", "MPI_Win", false)];
    if face == Face::Mpi {
        all.push(("", "MPI_Comm", true));
    }
    for (class, ty, narrow) in all {
        let handle = if face == Face::F08 { format!("type({ty})") } else { "integer".into() };
        let value = if narrow { "integer" } else { "integer(kind=MPI_ADDRESS_KIND)" };
        let prefix = if class.is_empty() { "MPI_".into() } else { format!("MPI_{class}_") };
        for name in ["DUP_FN", "NULL_COPY_FN"] {
            let _ = write!(
                out,
                "    subroutine {prefix}{name}(old, keyval, extra_state, attribute_val_in, attribute_val_out, &\n      \
                 flag, ierror)\n      import\n      {handle} :: old\n      integer :: keyval, ierror\n      {value} :: \
                 extra_state, attribute_val_in, attribute_val_out\n      logical :: flag\n    \
                 end subroutine {prefix}{name}\n"
            );
        }
        let name = format!("{prefix}NULL_DELETE_FN");
        let _ = write!(
            out,
            "    subroutine {name}(object, keyval, attribute_val, extra_state, ierror)\n      import\n      {handle} :: \
             object\n      integer :: keyval, ierror\n      {value} :: attribute_val, extra_state\n    \
             end subroutine {name}\n"
        );
    }
    for (name, count) in
        [("MPI_CONVERSION_FN_NULL", "integer"), ("MPI_CONVERSION_FN_NULL_C", "integer(kind=MPI_COUNT_KIND)")]
    {
        let datatype = if face == Face::F08 { "type(MPI_Datatype)" } else { "integer" };
        let _ = write!(
            out,
            "    subroutine {name}(userbuf, datatype, count, filebuf, position, extra_state, ierror)\n      import\n      \
             type(C_PTR), value :: userbuf, filebuf\n      {datatype} :: datatype\n      {count} :: count\n      \
             integer(kind=MPI_OFFSET_KIND) :: position\n      integer(kind=MPI_ADDRESS_KIND) :: extra_state\n      \
             integer :: ierror\n    end subroutine {name}\n"
        );
    }
    out.push_str("  end interface\n");
}

/// The abstract interfaces of callbacks (annex A.1.3), which have no intents.
const ABSTRACT: &str = include_str!("abstract.f90");
