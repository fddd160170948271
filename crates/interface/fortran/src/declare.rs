//! Declarations of arguments, for the module `mpi` (and `mpif.h`) and for mpi_f08.

use crate::routine::{Access, Arg, Base, Role, Routine};

/// Which of the Fortran interfaces.
#[derive(Clone, Copy, PartialEq)]
pub enum Face {
    /// Handles are INTEGER.
    Mpi,
    /// Handles are derived types, buffers descriptors.
    F08,
}

/// Arguments that the procedure uses until the communication is complete: the buffers of these, and the arrays of
/// counts and datatypes (MPI 5.0 section 19.1.17).
pub fn is_asynchronous(routine: &Routine) -> bool {
    let name = routine.function.name.as_str();
    let nonblocking = routine.has_choice() && (name.starts_with('I') || name.starts_with("File_i"));
    nonblocking
        || name.ends_with("_init")
        || name.ends_with("_begin")
        || name.ends_with("_end")
        || name == "F_sync_reg"
        || ["Put", "Get", "Accumulate", "Get_accumulate", "Rput", "Rget", "Raccumulate", "Rget_accumulate"]
            .contains(&name)
        || ["Compare_and_swap", "Fetch_and_op", "Get_address", "Free_mem"].contains(&name)
        || name.ends_with("attach_buffer") && !name.contains("detach")
        || name.starts_with("Win_")
        || name == "Buffer_attach"
}

/// The kind of an integer, as a suffix of INTEGER.
fn kind(base: &Base) -> &'static str {
    match base {
        Base::Count => "(KIND=MPI_COUNT_KIND)",
        Base::Aint => "(KIND=MPI_ADDRESS_KIND)",
        Base::Offset => "(KIND=MPI_OFFSET_KIND)",
        _ => "",
    }
}

fn type_of(arg: &Arg, face: Face, pointers: bool) -> String {
    match &arg.base {
        Base::Integer | Base::Count | Base::Aint | Base::Offset => format!("INTEGER{}", kind(&arg.base)),
        Base::Logical => "LOGICAL".into(),
        Base::Handle(name) if face == Face::F08 => format!("TYPE({name})"),
        Base::Handle(_) => "INTEGER".into(),
        Base::Status if face == Face::F08 => "TYPE(MPI_Status)".into(),
        Base::Status => "INTEGER".into(),
        Base::Text => "CHARACTER(LEN=*)".into(),
        Base::Choice => "TYPE(*)".into(),
        Base::Procedure(name) if face == Face::F08 => format!("PROCEDURE({name})"),
        Base::Procedure(_) => "EXTERNAL".into(),
        Base::Pointer if pointers => "TYPE(C_PTR)".into(),
        Base::Pointer => "INTEGER(KIND=MPI_ADDRESS_KIND)".into(),
    }
}

/// The shape behind the name, or "".
fn shape(arg: &Arg, face: Face) -> String {
    match (&arg.base, arg.kind.as_str()) {
        (Base::Choice, _) => return if face == Face::F08 { "(..)" } else { "(*)" }.into(),
        (_, "ranges") => return "(3, *)".into(),
        (_, "argvs") => return "(count, *)".into(),
        (Base::Status, _) if face == Face::Mpi => {
            return if arg.array { "(MPI_STATUS_SIZE, *)" } else { "(MPI_STATUS_SIZE)" }.into();
        }
        _ => {}
    }
    match arg.array {
        true => "(*)".into(),
        false => String::new(),
    }
}

/// The lines that declare an argument.
pub fn argument(routine: &Routine, arg: &Arg, face: Face, pointers: bool) -> Vec<String> {
    let mut attributes = vec![match face == Face::Mpi && routine.is_wide(arg) {
        true => "INTEGER(KIND=MPI_COUNT_KIND)".into(),
        false => type_of(arg, face, pointers),
    }];
    let procedure = matches!(arg.base, Base::Procedure(_));
    let name = routine.function.name.as_str();
    let reads = match arg.kind.as_str() {
        "memory" => !name.ends_with("_attach") && !name.ends_with("attach_buffer") && name != "Win_create",
        "const-memory" => name != "Get_address",
        kind => kind.starts_with("sendbuf"),
    };
    let own_attributes = face == Face::F08 && !procedure;
    // A status or weights may be a constant to be ignored, so they have no intent (section 19.1.3).
    let ignorable = matches!(arg.role, Role::Status | Role::Statuses)
        || matches!(arg.kind.as_str(), "error-codes-out" | "weights-out");
    if own_attributes {
        let told = name == "Abi_get_fortran_booleans" && arg.base == Base::Logical;
        match (arg.access, &arg.base) {
            _ if told => attributes.push("INTENT(OUT)".into()),
            _ if name == "Cancel" => attributes.push("INTENT(IN)".into()),
            (_, Base::Choice) if reads => attributes.push("INTENT(IN)".into()),
            (_, Base::Choice) => {}
            (Access::In, _) => attributes.push("INTENT(IN)".into()),
            _ if ignorable => {}
            (Access::Out, _) => attributes.push("INTENT(OUT)".into()),
            (Access::InOut, _) => attributes.push("INTENT(INOUT)".into()),
        }
        let array_that_stays = arg.array && arg.access == Access::In && routine.has_choice();
        // A number that C reads and writes until the request is complete.
        let number_that_stays = arg.kind == "int-inout" && routine.args.iter().any(|a| a.kind == "request-out");
        if is_asynchronous(routine) && (arg.base == Base::Choice || array_that_stays) || number_that_stays {
            attributes.push("ASYNCHRONOUS".into());
        }
    }
    let mut lines = vec![format!("{} :: {}{}", attributes.join(", "), arg.name, shape(arg, face))];
    // The address of a detached buffer is a buffer of any type there, and not used (section 3.6.1).
    if face == Face::Mpi && (arg.base == Base::Choice || arg.role == Role::Detached) {
        lines = vec![
            format!("!GCC$ ATTRIBUTES NO_ARG_CHECK :: {}", arg.name),
            format!("!DIR$ IGNORE_TKR {}", arg.name),
            format!("INTEGER :: {}(*)", arg.name),
        ];
    }
    lines
}
