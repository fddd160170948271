//! A program that is ready to be executed.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// One program, ready to execute.
pub struct Planned {
    /// File to execute.
    pub file: CString,
    /// Arguments.
    pub args: Vec<CString>,
    /// Environment without what differs by rank.
    pub env: Vec<CString>,
    /// Working directory.
    pub wdir: Option<CString>,
    /// How many processes run it.
    pub count: u32,
    /// Its name as the user gave it.
    pub name: String,
}

/// `NAME=VALUE`.
pub fn entry(name: &OsStr, value: &OsStr) -> CString {
    c_string(OsString::from_vec([name.as_bytes(), b"=", value.as_bytes()].concat()))
}

/// Arguments and environment come from C strings, so they hold no zero byte.
pub fn c_string(text: OsString) -> CString {
    let mut bytes = text.into_vec();
    bytes.retain(|byte| *byte != 0);
    CString::new(bytes).expect("no zero byte is left")
}
