//! A Fortran routine, made of a function of the tables.

use tern_table::Tables;
use tern_table::function::Function;
use tern_table::kinds::Kind;

/// The Fortran type of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Base {
    Integer,
    Count,
    Aint,
    Offset,
    Logical,
    /// The handle type, such as `MPI_Comm`.
    Handle(String),
    Status,
    Text,
    /// A buffer of any type and rank.
    Choice,
    /// The name of an abstract interface.
    Procedure(String),
    /// An address that the routine gives: TYPE(C_PTR) in mpi_f08.
    Pointer,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    In,
    Out,
    InOut,
}

/// How the argument becomes one of the C function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// C takes the value.
    Value,
    /// C takes the address.
    Pass,
    Handle,
    Handles,
    Logical,
    Logicals,
    Buffer,
    Status,
    Statuses,
    Weights,
    Text,
    /// An index or several, which count from 1 in Fortran.
    Index,
    Indices,
    /// How many of the indices there are.
    Outcount,
    /// The address of a detached buffer, which only mpi_f08 gives.
    Detached,
    /// C's argument alone: `argc`, `argv`.
    Absent,
}

#[derive(Clone, Debug)]
pub struct Arg {
    pub name: String,
    pub kind: String,
    /// Where it is significant, as in the tables.
    pub at: String,
    pub base: Base,
    pub access: Access,
    pub array: bool,
    /// The argument that counts the elements, or "".
    pub len: String,
    pub role: Role,
    /// The Rust type of C's argument.
    pub ffi: &'static str,
}

#[derive(Debug)]
pub struct Routine<'a> {
    pub function: &'a Function,
    /// `MPI_`; `MPIX_` for the other name of an extension, which is a routine of its own.
    pub prefix: &'static str,
    pub large: bool,
    pub args: Vec<Arg>,
}

/// Written by hand in `runtime/custom.rs`.
const CUSTOM: [&str; 26] = [
    "Attr_get",
    "Attr_put",
    "Cart_sub",
    "Comm_create_keyval",
    "Comm_get_attr",
    "Comm_set_attr",
    "Comm_spawn",
    "Comm_spawn_multiple",
    "Grequest_start",
    "Info_get",
    "Info_get_string",
    "Keyval_create",
    "Pcontrol",
    "Register_datarep",
    "Register_datarep_c",
    "Session_get_nth_pset",
    "Type_create_keyval",
    "Type_get_attr",
    "Type_set_attr",
    "Win_create_keyval",
    "Win_get_attr",
    "Win_set_attr",
    "Aint_add",
    "Aint_diff",
    "Wtick",
    "Wtime",
];

/// Large-count forms with a name of their own, since their procedure arguments alone tell them apart
/// (MPI 5.0 section 19.2).
const LARGE_BY_NAME: [&str; 2] = ["Op_create", "Register_datarep"];

/// All routines of Fortran, large-count forms after the others of their name.
pub fn routines(tables: &Tables) -> Vec<Routine<'_>> {
    let functions = tables.functions().filter(|f| in_fortran(f));
    let named = functions.flat_map(|f| f.prefixes().iter().map(move |&prefix| (f, prefix)));
    named.flat_map(|(f, prefix)| f.forms().iter().map(move |&large| Routine::new(tables, f, prefix, large))).collect()
}

/// The tool interface and the conversions of handles are C's alone.
fn in_fortran(function: &Function) -> bool {
    !function.tool && !function.name.ends_with("_toint") && !function.name.ends_with("_fromint")
}

impl Routine<'_> {
    fn new<'a>(tables: &Tables, function: &'a Function, prefix: &'static str, large: bool) -> Routine<'a> {
        let args = function.params.iter().map(|param| {
            let kind = tables.kind(param);
            let form = if function.name.ends_with("_c") { 1 } else { large as usize };
            arg(function, &fortran_name(function, &param.name), kind, form, &param.len, &param.at)
        });
        Routine { function, prefix, large, args: args.collect() }
    }

    /// The name after [`Routine::prefix`].
    pub fn name(&self) -> String {
        self.function.c_name(self.large)
    }

    /// The name with its prefix, as the C function has it.
    pub fn full_name(&self) -> String {
        format!("{}{}", self.prefix, self.name())
    }

    /// The name by which a program of mpi_f08 calls it: large-count forms have that of the ordinary form.
    pub fn generic(&self) -> String {
        let name = &self.function.name;
        match name.strip_suffix("_c") {
            Some(plain) => plain.into(),
            None if self.large && LARGE_BY_NAME.contains(&name.as_str()) => self.name(),
            None => name.clone(),
        }
    }

    pub fn is_custom(&self) -> bool {
        CUSTOM.contains(&self.name().as_str())
    }

    /// A function's result, or "" for a subroutine.
    pub fn result(&self) -> &str {
        &self.function.returns
    }

    pub fn has_ierror(&self) -> bool {
        self.result().is_empty() && self.function.name != "Pcontrol"
    }

    /// The large-count forms are mpi_f08's alone (section 19.2).
    pub fn is_f08_only(&self) -> bool {
        self.large || self.function.name.ends_with("_c")
    }

    /// Deprecated before mpi_f08 was.
    pub fn in_f08(&self) -> bool {
        !self.function.name.starts_with("Attr_") && !self.function.name.starts_with("Keyval_")
    }

    /// True for the counts of MPI_Psend_init and MPI_Precv_init where there is one form alone, `mpif.h` and the module
    /// `mpi`: they are large there (section 4.2.1), although the ABI's header has two forms.
    pub fn is_wide(&self, arg: &Arg) -> bool {
        matches!(self.function.name.as_str(), "Psend_init" | "Precv_init") && !self.large && arg.name == "count"
    }

    pub fn has_choice(&self) -> bool {
        self.args.iter().any(|a| a.base == Base::Choice)
    }

    /// True if the procedure of mpi_f08 does something else than that of `mpif.h`.
    pub fn differs_in_f08(&self) -> bool {
        self.args.iter().any(|a| a.role == Role::Detached)
    }

    /// What Fortran's routine has, `ierror` left out.
    pub fn shown(&self) -> impl Iterator<Item = &Arg> {
        self.args.iter().filter(|a| a.role != Role::Absent)
    }

    /// Types and shapes, by which a compiler tells two forms of a generic name apart.
    pub fn signature(&self) -> Vec<String> {
        let kind = |base: &Base| match base {
            Base::Count | Base::Aint | Base::Offset => "INTEGER*8".into(),
            other => format!("{other:?}"),
        };
        self.shown().map(|a| format!("{} {}", kind(&a.base), a.array)).collect()
    }
}

/// Names of dummy arguments that differ from C's (annex A).
fn fortran_name(function: &Function, name: &str) -> String {
    let name = match (function.name.as_str(), name) {
        ("Status_get_error" | "Status_set_error", "error") => "err",
        (_, "indx") => "index",
        (_, name) => name,
    };
    name.to_lowercase()
}

fn arg(function: &Function, name: &str, kind: &Kind, form: usize, len: &str, at: &str) -> Arg {
    let c = &kind.c[form];
    let word = c.trim_start_matches("const ").split([' ', '%']).next().unwrap_or_default();
    let points = c.contains('*') || c.contains('[');
    let k = kind.name.as_str();
    let logical = matches!(k, "logical" | "truth" | "flag-out" | "logicals" | "logicals-out")
        || name.starts_with("logical_") && k == "memory";
    let base = match word {
        _ if logical => Base::Logical,
        _ if k == "pointer-out" && name == "attribute_val" => Base::Aint,
        _ if k == "pointer-out" => Base::Pointer,
        _ if k == "state" || k == "extra-state" => Base::Aint,
        "int" => Base::Integer,
        "MPI_Count" => Base::Count,
        "MPI_Aint" => Base::Aint,
        "MPI_Offset" => Base::Offset,
        "MPI_Status" => Base::Status,
        "char" => Base::Text,
        "void" => Base::Choice,
        _ if word.ends_with("_function") || word.ends_with("_function_c") => Base::Procedure(word.into()),
        handle => Base::Handle(handle.into()),
    };
    let access = match () {
        _ if k.ends_with("-out") => Access::Out,
        _ if k.ends_with("-inout") || k == "position" || k == "requests" => Access::InOut,
        _ => Access::In,
    };
    let array = c.contains('[') && base != Base::Text
        || matches!(k, "argv" | "argvs" | "commands" | "statuses-out" | "error-codes-out" | "weights" | "weights-out");
    let role = match (&base, k) {
        (_, "argc" | "argv-inout" | "argument-count" | "arguments") => Role::Absent,
        (Base::Procedure(_), _) => Role::Pass,
        (Base::Handle(_), _) if array => Role::Handles,
        (Base::Handle(_), _) => Role::Handle,
        (Base::Logical, "memory") => Role::Pass,
        (Base::Logical, _) if array => Role::Logicals,
        (Base::Logical, _) => Role::Logical,
        (Base::Choice, _) => Role::Buffer,
        (Base::Status, _) if array => Role::Statuses,
        (Base::Status, _) => Role::Status,
        (Base::Text, _) => Role::Text,
        (Base::Pointer, _) if name == "buffer_addr" => Role::Detached,
        (_, "weights" | "weights-out") => Role::Weights,
        _ if name == "array_of_indices" => Role::Indices,
        (_, "index-out") if name == "index" => Role::Index,
        (_, "index-out") if name == "outcount" => Role::Outcount,
        _ if points => Role::Pass,
        _ => Role::Value,
    };
    let deprecated = function.name.starts_with("Attr_") || function.name.starts_with("Keyval_");
    let base = if deprecated && base == Base::Aint { Base::Integer } else { base };
    Arg {
        name: name.into(),
        kind: k.into(),
        at: at.into(),
        base,
        access,
        array,
        len: len.into(),
        role,
        ffi: kind.ffi(form == 1),
    }
}
