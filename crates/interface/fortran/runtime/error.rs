//! Errors that the Fortran layer finds by itself. They go to the error handler of the call's object, under a code of
//! their own with a text.

use super::text::Text;
use super::{P, set_ierror};
use crate::face::{self, Handle};
use std::ffi::c_int;
use std::fmt::Write;
use std::sync::Mutex;

/// The object that an error is raised on.
#[derive(Clone, Copy)]
pub enum Scope {
    Comm(Handle),
    Win(Handle),
    File(face::File),
    None,
}

/// What is wrong with an argument: error class and text.
#[derive(Clone, Copy)]
pub struct Fault {
    pub class: c_int,
    pub why: &'static str,
    /// Bytes that could not be had; 0 where memory is not what is wrong.
    pub bytes: usize,
}

/// Codes made so far, by their text.
static CODES: Mutex<Vec<(String, c_int)>> = Mutex::new(Vec::new());

/// The error code of a text.
fn code(class: c_int, text: String) -> c_int {
    let mut codes = CODES.lock().unwrap_or_else(|e| e.into_inner());
    if let Some((_, code)) = codes.iter().find(|(known, _)| *known == text) {
        return *code;
    }
    let mut code = class;
    // SAFETY: the result lies here, the text ends with a null.
    unsafe {
        if crate::c::PMPI_Add_error_code(class, (&raw mut code).cast()) != 0 {
            return class;
        }
        crate::c::PMPI_Add_error_string(code, Text::of(text.as_bytes()).address());
    }
    codes.push((text, code));
    code
}

/// Raises an error; when the handler returns, `ierror` gets the code.
#[cold]
pub unsafe fn refuse(function: &str, argument: &str, fault: Fault, scope: Scope, ierror: P) {
    let mut text = format!("{function}: argument {argument} {}", fault.why);
    if fault.bytes > 0 {
        let _ = write!(text, ": {}", tern_memory::Lack { bytes: fault.bytes });
    }
    let code = code(fault.class, text);
    // SAFETY: the handles are the program's; C checks them.
    unsafe {
        match scope {
            Scope::Comm(comm) => crate::c::PMPI_Comm_call_errhandler(comm, code),
            Scope::Win(win) => crate::c::PMPI_Win_call_errhandler(win, code),
            Scope::File(file) => crate::c::PMPI_File_call_errhandler(file, code),
            Scope::None => crate::c::PMPI_Comm_call_errhandler(face::comm_self(), code),
        };
        set_ierror(ierror, code);
    }
}
