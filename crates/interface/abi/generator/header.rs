//! The text of `include/mpi.h`.

use std::fmt::Write;
use tern_table::Tables;
use tern_table::constants::{Constant, Form, Group};
use tern_table::function::{Chapter, Function};

const OPENING: &str = "\
/* mpi.h: the MPI 5.0 standard ABI, as Tern provides it.
 *
 * SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Programs compiled with this header run on every library of the standard ABI (libmpi_abi.so.1). Those that use its
 * extensions, the chapter \"Failures survived\", run on the libraries that have them.
 * Made from crates/interface/table/tables; change it there, then run
 * `UPDATE=1 cargo test -p tern-abi --test generated`.
 */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

/* ---- Types ---- */

/* An address or a distance between addresses. */
typedef intptr_t MPI_Aint;
/* A position in a file. */
typedef int64_t MPI_Offset;
/* A number that counts anything that the other types hold. */
typedef MPI_Offset MPI_Count;

/* What is known about a received message. The first three may be read and written. */
typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;
";

/// The ABI leaves out MPI_Fint, whose size a Fortran compiler chooses. Much C code has functions for callers in Fortran
/// all the same, or passes communicators as integers, and is compiled where there is no Fortran.
const FORTRAN: &str = "
/* ---- Integers of Fortran (MPI 5.0, section 19.3) ---- */

/* These are no part of the ABI. The functions become those above, or need nothing of the library. */

/* A default INTEGER of Fortran; define it yourself for a compiler that makes it larger. */
#ifndef MPI_ABI_Fint
#define MPI_ABI_Fint int
#endif
typedef MPI_ABI_Fint MPI_Fint;
";

/// A status is eight integers in both languages, in the same order.
const FORTRAN_STATUS: &str = "
/* A status of mpi_f08, as C sees it. */
typedef struct {
    MPI_Fint MPI_SOURCE;
    MPI_Fint MPI_TAG;
    MPI_Fint MPI_ERROR;
    MPI_Fint MPI_internal[5];
} MPI_F08_status;

/* What MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE of Fortran are for C: in the library, since their addresses are known
 * when the program runs. */
extern MPI_Fint *MPI_F_STATUS_IGNORE;
extern MPI_Fint *MPI_F_STATUSES_IGNORE;
extern MPI_F08_status *MPI_F08_STATUS_IGNORE;
extern MPI_F08_status *MPI_F08_STATUSES_IGNORE;

static __inline int MPI_ABI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    int i;
    if (!c_status || !f_status)
        return MPI_ERR_ARG;
    f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = c_status->MPI_TAG;
    f_status[MPI_F_ERROR] = c_status->MPI_ERROR;
    for (i = 3; i < MPI_F_STATUS_SIZE; i++)
        f_status[i] = c_status->MPI_internal[i - 3];
    return MPI_SUCCESS;
}

static __inline int MPI_ABI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    int i;
    if (!f_status || !c_status)
        return MPI_ERR_ARG;
    c_status->MPI_SOURCE = (int)f_status[MPI_F_SOURCE];
    c_status->MPI_TAG = (int)f_status[MPI_F_TAG];
    c_status->MPI_ERROR = (int)f_status[MPI_F_ERROR];
    for (i = 3; i < MPI_F_STATUS_SIZE; i++)
        c_status->MPI_internal[i - 3] = (int)f_status[i];
    return MPI_SUCCESS;
}

static __inline int MPI_ABI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    int i;
    if (!c_status || !f08_status)
        return MPI_ERR_ARG;
    f08_status->MPI_SOURCE = c_status->MPI_SOURCE;
    f08_status->MPI_TAG = c_status->MPI_TAG;
    f08_status->MPI_ERROR = c_status->MPI_ERROR;
    for (i = 3; i < MPI_F_STATUS_SIZE; i++)
        f08_status->MPI_internal[i - 3] = c_status->MPI_internal[i - 3];
    return MPI_SUCCESS;
}

static __inline int MPI_ABI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    int i;
    if (!f08_status || !c_status)
        return MPI_ERR_ARG;
    c_status->MPI_SOURCE = (int)f08_status->MPI_SOURCE;
    c_status->MPI_TAG = (int)f08_status->MPI_TAG;
    c_status->MPI_ERROR = (int)f08_status->MPI_ERROR;
    for (i = 3; i < MPI_F_STATUS_SIZE; i++)
        c_status->MPI_internal[i - 3] = (int)f08_status->MPI_internal[i - 3];
    return MPI_SUCCESS;
}

static __inline int MPI_ABI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    int i;
    if (!f_status || !f08_status)
        return MPI_ERR_ARG;
    f08_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
    f08_status->MPI_TAG = f_status[MPI_F_TAG];
    f08_status->MPI_ERROR = f_status[MPI_F_ERROR];
    for (i = 3; i < MPI_F_STATUS_SIZE; i++)
        f08_status->MPI_internal[i - 3] = f_status[i];
    return MPI_SUCCESS;
}

static __inline int MPI_ABI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    int i;
    if (!f08_status || !f_status)
        return MPI_ERR_ARG;
    f_status[MPI_F_SOURCE] = f08_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = f08_status->MPI_TAG;
    f_status[MPI_F_ERROR] = f08_status->MPI_ERROR;
    for (i = 3; i < MPI_F_STATUS_SIZE; i++)
        f_status[i] = f08_status->MPI_internal[i - 3];
    return MPI_SUCCESS;
}

#define MPI_Status_c2f MPI_ABI_Status_c2f
#define MPI_Status_f2c MPI_ABI_Status_f2c
#define MPI_Status_c2f08 MPI_ABI_Status_c2f08
#define MPI_Status_f082c MPI_ABI_Status_f082c
#define MPI_Status_f2f08 MPI_ABI_Status_f2f08
#define MPI_Status_f082f MPI_ABI_Status_f082f
#define PMPI_Status_c2f MPI_ABI_Status_c2f
#define PMPI_Status_f2c MPI_ABI_Status_f2c
#define PMPI_Status_c2f08 MPI_ABI_Status_c2f08
#define PMPI_Status_f082c MPI_ABI_Status_f082c
#define PMPI_Status_f2f08 MPI_ABI_Status_f2f08
#define PMPI_Status_f082f MPI_ABI_Status_f082f
";

/// Functions, not macros: a program that brings its own function of such a name is told so by the compiler, instead of
/// becoming one of the library's functions that calls itself.
const REMOVED: &str = "
/* ---- Names that MPI-3.0 removed ---- */

/* Old programs use them still. These too are no part of the ABI and become the functions above.
 * MPI_LB and MPI_UB are not here: no datatype can do what they did; MPI_Type_create_resized does. */

typedef MPI_Comm_errhandler_function MPI_Handler_function;

static __inline int MPI_Address(void *location, MPI_Aint *address)
{
    return MPI_Get_address(location, address);
}

static __inline int MPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *errhandler)
{
    return MPI_Comm_create_errhandler(function, errhandler);
}

static __inline int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return MPI_Comm_get_errhandler(comm, errhandler);
}

static __inline int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return MPI_Comm_set_errhandler(comm, errhandler);
}

static __inline int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint lb;
    return MPI_Type_get_extent(datatype, &lb, extent);
}

static __inline int MPI_Type_hindexed(int count, int *blocklengths, MPI_Aint *displacements,
        MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return MPI_Type_create_hindexed(count, blocklengths, displacements, oldtype, newtype);
}

static __inline int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride,
        MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

static __inline int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    return MPI_Type_get_extent(datatype, displacement, &extent);
}

static __inline int MPI_Type_struct(int count, int *blocklengths, MPI_Aint *displacements,
        MPI_Datatype *types, MPI_Datatype *newtype)
{
    return MPI_Type_create_struct(count, blocklengths, displacements, types, newtype);
}

static __inline int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint lb, extent;
    int error = MPI_Type_get_extent(datatype, &lb, &extent);
    if (error == MPI_SUCCESS)
        *displacement = lb + extent;
    return error;
}
";

/// Functions, not macros, as above. MPICH's `mpi.h` declares them, and its library of the standard ABI exports none of them.
const GRAPHICS: &str = "
/* ---- Memory of graphics cards ---- */

/* Programs ask other libraries by these names whether they take such memory. Tern takes none. These are no part of the ABI either, and need
 * nothing of the library. */
#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2

static __inline int MPIX_Query_cuda_support(void) { return 0; }
static __inline int MPIX_Query_hip_support(void) { return 0; }
static __inline int MPIX_Query_rocm_support(void) { return 0; }
static __inline int MPIX_Query_ze_support(void) { return 0; }
static __inline int MPIX_GPU_query_support(int gpu_type, int *is_supported)
{
    (void)gpu_type;
    *is_supported = 0;
    return MPI_SUCCESS;
}
";

const CLOSING: &str = "
#ifdef __cplusplus
}
#endif

#endif /* MPI_H_ABI */
";

/// Types of functions that the user writes: result, name without `MPI_`, parameters.
const CALLBACKS: [(&str, &str, &str); 20] = [
    ("void", "User_function", "void *invec, void *inoutvec, int *len, MPI_Datatype *datatype"),
    ("void", "User_function_c", "void *invec, void *inoutvec, MPI_Count *len, MPI_Datatype *datatype"),
    ("int", "Grequest_query_function", "void *extra_state, MPI_Status *status"),
    ("int", "Grequest_free_function", "void *extra_state"),
    ("int", "Grequest_cancel_function", "void *extra_state, int complete"),
    ("int", "Copy_function", "MPI_Comm comm, int keyval, COPY"),
    ("int", "Delete_function", "MPI_Comm comm, int keyval, DELETE"),
    ("int", "Comm_copy_attr_function", "MPI_Comm comm, int comm_keyval, COPY"),
    ("int", "Comm_delete_attr_function", "MPI_Comm comm, int comm_keyval, DELETE"),
    ("int", "Type_copy_attr_function", "MPI_Datatype datatype, int type_keyval, COPY"),
    ("int", "Type_delete_attr_function", "MPI_Datatype datatype, int type_keyval, DELETE"),
    ("int", "Win_copy_attr_function", "MPI_Win win, int win_keyval, COPY"),
    ("int", "Win_delete_attr_function", "MPI_Win win, int win_keyval, DELETE"),
    ("int", "Datarep_extent_function", "MPI_Datatype datatype, MPI_Aint *extent, void *extra_state"),
    (
        "int",
        "Datarep_conversion_function",
        "void *userbuf, MPI_Datatype datatype, int count, void *filebuf, MPI_Offset position, \
         void *extra_state",
    ),
    (
        "int",
        "Datarep_conversion_function_c",
        "void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf, \
         MPI_Offset position, void *extra_state",
    ),
    ("void", "Comm_errhandler_function", "MPI_Comm *comm, int *error_code, ..."),
    ("void", "File_errhandler_function", "MPI_File *file, int *error_code, ..."),
    ("void", "Win_errhandler_function", "MPI_Win *win, int *error_code, ..."),
    ("void", "Session_errhandler_function", "MPI_Session *session, int *error_code, ..."),
];

/// Callbacks of the tool interface, whose types come after its enumerations.
const TOOL_CALLBACKS: [(&str, &str, &str); 3] = [
    (
        "void",
        "T_event_cb_function",
        "MPI_T_event_instance event_instance, MPI_T_event_registration event_registration, \
         MPI_T_cb_safety cb_safety, void *user_data",
    ),
    (
        "void",
        "T_event_free_cb_function",
        "MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, void *user_data",
    ),
    (
        "void",
        "T_event_dropped_cb_function",
        "MPI_Count count, MPI_T_event_registration event_registration, int source_index, \
         MPI_T_cb_safety cb_safety, void *user_data",
    ),
];

const COPY: &str = "void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag";
const DELETE: &str = "void *attribute_val, void *extra_state";

pub fn header(tables: &Tables) -> String {
    let mut out = String::from(OPENING);
    out.push_str("\n/* Handles. */\n");
    for group in &tables.constants {
        if let Form::Handle(name) = &group.form {
            let tag = name.strip_prefix("MPI_").unwrap();
            let _ = writeln!(out, "typedef struct MPI_ABI_{tag} *{name};");
        }
    }
    out.push_str("\n/* Functions that the user writes. */\n");
    callbacks(&mut out, &CALLBACKS);
    for name in ["Comm", "File", "Win", "Session"] {
        let _ = writeln!(out, "typedef MPI_{name}_errhandler_function MPI_{name}_errhandler_fn;");
    }
    out.push_str("\n/* ---- Constants ---- */\n");
    for group in &tables.constants {
        constants(&mut out, group);
    }
    out.push_str("\n/* Tool interface: functions that the user writes. */\n");
    callbacks(&mut out, &TOOL_CALLBACKS);
    out.push_str("\n/* ---- Functions ---- */\n");
    for (prefix, note) in [("", ""), ("P", ": names for tools that wrap those above")] {
        for chapter in &tables.chapters {
            functions(&mut out, tables, chapter, prefix, note);
        }
    }
    out.push_str(FORTRAN);
    for prefix in ["MPI_", "PMPI_"] {
        out.push('\n');
        fortran_handles(&mut out, tables, prefix);
    }
    out.push_str(FORTRAN_STATUS);
    out.push_str(REMOVED);
    out.push_str(GRAPHICS);
    out.push_str(CLOSING);
    out
}

/// Names of the conversions between handles of C and of Fortran.
fn fortran_handles(out: &mut String, tables: &Tables, prefix: &str) {
    for function in tables.functions() {
        let name = function.c_name(false);
        if let Some(object) = name.strip_suffix("_toint") {
            let _ = writeln!(out, "#define {prefix}{object}_c2f {prefix}{object}_toint");
            let _ = writeln!(out, "#define {prefix}{object}_f2c {prefix}{object}_fromint");
        }
    }
}

/// Every C prototype by the function's name, without those of the profiling interface.
pub fn prototypes(tables: &Tables) -> Vec<(String, String)> {
    let mut list = Vec::new();
    for function in tables.functions() {
        for &large in function.forms() {
            let params = parameters(tables, function, large);
            let names = function.full_names(large).into_iter();
            list.extend(names.map(|name| (name.clone(), format!("{} {name}({params});", function.c_return()))));
        }
    }
    list
}

/// The types of functions that the user writes, as C.
pub fn callback_types() -> String {
    let mut out = String::new();
    callbacks(&mut out, &CALLBACKS);
    callbacks(&mut out, &TOOL_CALLBACKS);
    out
}

fn callbacks(out: &mut String, list: &[(&str, &str, &str)]) {
    for (result, name, params) in list {
        let params = params.replace("COPY", COPY).replace("DELETE", DELETE);
        wrapped(out, &format!("typedef {result} (MPI_{name})("), &params, ");", "");
    }
}

fn constants(out: &mut String, group: &Group) {
    if group.constants.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n/* {}. */", group.heading);
    let remark = |c: &Constant| match c.remark.as_str() {
        "" => String::new(),
        text => format!(" /* {text} */"),
    };
    if let Form::Enum(name) = &group.form {
        let _ = match name.as_str() {
            "" => writeln!(out, "enum {{"),
            name => writeln!(out, "typedef enum {name} {{"),
        };
        for (at, c) in group.constants.iter().enumerate() {
            let comma = if at + 1 < group.constants.len() { "," } else { "" };
            let _ = writeln!(out, "    {} = {}{comma}{}", c.name, c.value, remark(c));
        }
        let _ = writeln!(out, "}}{}{name};", if name.is_empty() { "" } else { " " });
        return;
    }
    for c in &group.constants {
        let value = match &group.form {
            Form::Handle(ty) | Form::Pointer(ty) if !c.value.starts_with("MPI_") => {
                format!("(({ty}){})", c.value)
            }
            _ => c.value.clone(),
        };
        let _ = writeln!(out, "#define {} {value}{}", c.name, remark(c));
    }
}

fn functions(out: &mut String, tables: &Tables, chapter: &Chapter, prefix: &str, note: &str) {
    let _ = writeln!(out, "\n/* {}{note}. */", chapter.title);
    for function in &chapter.functions {
        for &large in function.forms() {
            let note = if function.deprecated { " /* deprecated */" } else { "" };
            for name in function.full_names(large) {
                let start = format!("{} {prefix}{name}(", function.c_return());
                wrapped(out, &start, &parameters(tables, function, large), ");", note);
            }
        }
    }
}

/// The parameters of a C prototype, "void" without any.
fn parameters(tables: &Tables, function: &Function, large: bool) -> String {
    let params: Vec<String> =
        function.params.iter().map(|p| tables.kind(p).c[large as usize].replace('%', &p.name)).collect();
    if params.is_empty() { "void".into() } else { params.join(", ") }
}

/// Writes `start params end note`, breaking lines between parameters after 100 columns.
fn wrapped(out: &mut String, start: &str, params: &str, end: &str, note: &str) {
    let mut line = start.to_string();
    let mut parts = params.split(", ").peekable();
    let mut first = true;
    while let Some(part) = parts.next() {
        let tail = if parts.peek().is_some() { "," } else { end };
        let space = if first { "" } else { " " };
        if line.len() + space.len() + part.len() + tail.len() > 100 {
            out.push_str(&line);
            out.push('\n');
            line = format!("        {part}{tail}");
        } else {
            line = format!("{line}{space}{part}{tail}");
        }
        first = false;
    }
    let _ = writeln!(out, "{line}{note}");
}
