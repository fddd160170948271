//! A program that gives constants for handles that a procedure may change: one call for each such procedure and constant.
//! A compiler puts constants where nothing can be written, and none of these calls changes the handle.

use crate::routine::{Access, Arg, Base, Role, Routine, routines};
use std::fmt::Write;
use tern_table::Tables;

/// Handle types with the constants that are tried, and what these are as INTEGER for the ABI of MPICH and of Open MPI.
const CONSTANTS: [(&str, &str, &str, &str); 16] = [
    ("MPI_Comm", "MPI_COMM_NULL", "67108864", "2"),
    ("MPI_Comm", "MPI_COMM_WORLD", "1140850688", "0"),
    ("MPI_Comm", "MPI_COMM_SELF", "1140850689", "1"),
    ("MPI_Datatype", "MPI_DATATYPE_NULL", "201326592", "0"),
    ("MPI_Datatype", "MPI_INTEGER", "1275069467", "7"),
    ("MPI_Errhandler", "MPI_ERRHANDLER_NULL", "335544320", "0"),
    ("MPI_File", "MPI_FILE_NULL", "0", "0"),
    ("MPI_Group", "MPI_GROUP_NULL", "134217728", "0"),
    ("MPI_Info", "MPI_INFO_NULL", "469762048", "0"),
    ("MPI_Info", "MPI_INFO_ENV", "1543503873", "1"),
    ("MPI_Message", "MPI_MESSAGE_NULL", "738197504", "0"),
    ("MPI_Op", "MPI_OP_NULL", "402653184", "0"),
    ("MPI_Op", "MPI_SUM", "1476395011", "3"),
    ("MPI_Request", "MPI_REQUEST_NULL", "738197504", "0"),
    ("MPI_Win", "MPI_WIN_NULL", "536870912", "0"),
    ("MPI_Session", "MPI_SESSION_NULL", "939524096", ""),
];

const HEAD: &str = "\
! Handles that are constants, given to procedures that may change them. Made by
! `cargo run -q -p tern-fortran --example constant-calls > tests/fortran/old/constants.f90`.
! The numbers are those of the library that MPICH or OPENMPI names, else those of this one. With MODULE they come from the module mpi, which
! declares what is called; without it nothing is declared, as by mpif.h.
";

/// What stands around the numbers of another library, and the place of this one's.
const BEGIN: &str = "\
#ifdef MODULE
module mpi
#else
program constants
#endif
  implicit none
";
const END: &str = "\
end module mpi
program constants
  use mpi
  implicit none
#endif
#else
program constants
#ifdef MODULE
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
#endif
";

const DECLARATIONS: &str = "\
  integer :: ierr, number, buffer(2), indices(2), status(8), statuses(8, 2), errors
  logical :: flag
  errors = 0
  call MPI_Init(ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
";

const TAIL: &str = "\
  if (errors == 0) print '(a)', 'no errors'
  call MPI_Finalize(ierr)
contains
  subroutine expect(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    errors = errors + 1
    print '(2a)', 'not as expected: ', what
  end subroutine expect
end program constants
";

/// The source, in free form, for a preprocessor.
pub fn program(tables: &Tables) -> String {
    let mut out = String::from(HEAD);
    out.push_str("#if defined(OPENMPI) || defined(MPICH)\n");
    out.push_str(BEGIN);
    for (condition, column) in [("#if defined(OPENMPI)", 3), ("#else", 2)] {
        let _ = writeln!(out, "{condition}");
        for (class, name, mpich, openmpi) in CONSTANTS {
            let value = if column == 2 { mpich } else { openmpi };
            if !value.is_empty() {
                let _ = writeln!(out, "  integer, parameter :: {name} = {value} ! {class}");
            }
        }
        // Predefined error handlers are freed, and their handles changed: this one is for the program itself.
        let _ = writeln!(out, "  integer, parameter :: MPI_ERRORS_RETURN = {}", [1409286145, 2][column - 2]);
    }
    out.push_str("#endif\n#ifdef MODULE\n  interface\n");
    for routine in changing(tables) {
        declaration(&mut out, &routine);
    }
    out.push_str("  end interface\n");
    out.push_str(END);
    out.push_str("  integer, parameter :: no_requests(2) = MPI_REQUEST_NULL\n");
    out.push_str(DECLARATIONS);
    for routine in changing(tables) {
        calls(&mut out, &routine);
    }
    out.push_str(TAIL);
    out
}

/// The routine as other libraries' modules declare it: without an intent, which would refuse the constant. Those with buffers, which may be of
/// any type, stay undeclared.
fn declaration(out: &mut String, routine: &Routine) {
    let shown: Vec<&Arg> = routine.shown().collect();
    if shown.iter().any(|a| matches!(a.base, Base::Choice)) {
        return;
    }
    let name = routine.name();
    let names: Vec<&str> = shown.iter().map(|a| a.name.as_str()).collect();
    let _ = writeln!(out, "    subroutine MPI_{name}({}, ierror)", names.join(", "));
    for a in &shown {
        let base = if matches!(a.base, Base::Logical) { "logical" } else { "integer" };
        let array = a.array || matches!(a.role, Role::Status | Role::Statuses | Role::Indices);
        let _ = writeln!(out, "      {base} :: {}{}", a.name, if array { "(*)" } else { "" });
    }
    let _ = writeln!(out, "      integer :: ierror\n    end subroutine MPI_{name}");
}

/// The routines of `mpif.h` that may change a handle.
pub fn changing(tables: &Tables) -> Vec<Routine<'_>> {
    let all = routines(tables).into_iter().filter(|r| !r.is_f08_only());
    all.filter(|r| handle(r).is_some()).collect()
}

fn handle<'a>(routine: &'a Routine) -> Option<&'a Arg> {
    routine.args.iter().find(|a| matches!(a.base, Base::Handle(_)) && a.access == Access::InOut)
}

fn calls(out: &mut String, routine: &Routine) {
    let Some(changed) = handle(routine) else { return };
    let Base::Handle(class) = &changed.base else { return };
    let name = routine.name();
    // Null requests are complete, and predefined datatypes are committed.
    let right = |constant: &str| {
        ["Wait", "Test"].iter().any(|word| name.starts_with(word)) || name == "Type_commit" && constant == "MPI_INTEGER"
    };
    let session = class == "MPI_Session";
    if session {
        out.push_str("#ifndef OPENMPI\n");
    }
    for (_, constant, ..) in CONSTANTS.iter().filter(|row| row.0 == class) {
        let actual = |a: &Arg| match (&a.base, a.role) {
            _ if a.name == changed.name && changed.array => "no_requests",
            _ if a.name == changed.name => constant,
            (Base::Handle(_), Role::Handle) if a.access == Access::In => "MPI_INTEGER",
            (Base::Logical, _) => "flag",
            (Base::Choice, _) => "buffer",
            (_, Role::Status) => "status",
            (_, Role::Statuses) => "statuses",
            (_, Role::Indices) => "indices",
            (_, Role::Value) => "2",
            _ => "number",
        };
        let given: Vec<&str> = routine.shown().map(actual).collect();
        let _ = writeln!(out, "  call MPI_{name}({}, ierr)", given.join(", "));
        let operator = if right(constant) { "==" } else { "/=" };
        let _ = writeln!(out, "  call expect(ierr {operator} 0, 'MPI_{name} of {constant}')");
    }
    if session {
        out.push_str("#endif\n");
    }
}
