//! Errors of MPI calls: a class of the standard and a message that a person can act on.

use crate::constants::*;
use crate::scope::Scope;
use std::fmt;
use tern_memory::Lack;

/// An error on its way to the error handler (MPI 5.0 section 9.3).
#[derive(Clone)]
pub struct Error {
    /// Error code returned to the program: the class itself, or a code of the user's.
    pub code: i32,
    /// What failed, with which values, and what to try.
    pub message: String,
    /// The object whose error handler is in charge, where the call does not name it: that of a
    /// request which the call has ended.
    pub scope: Scope,
    /// A collective had begun: other processes may have seen it.
    pub begun: bool,
    /// What to try, where that of the class does not fit; empty where the message says all.
    pub advice: Option<&'static str>,
    /// The codes that are in statuses of the call, each with what it is about.
    pub in_statuses: Vec<(i32, String)>,
}

pub type Result<T> = std::result::Result<T, Box<Error>>;

/// What became of a call by a short way ([`crate::fast`]): `None` when it was declined.
pub type Fast = Option<Result<()>>;

impl Error {
    /// An error of class `class` (`MPI_ERR_…`).
    pub fn new(class: i32, message: impl Into<String>) -> Box<Error> {
        let (message, in_statuses) = (message.into(), Vec::new());
        Box::new(Error { code: class, message, scope: Scope::None, begun: false, advice: None, in_statuses })
    }
    /// The same error, with what a person can try.
    pub fn advise(mut self: Box<Error>, advice: &'static str) -> Box<Error> {
        self.advice = Some(advice);
        self
    }
    /// A code that user code returned (callbacks): passed on as it is.
    pub fn from_code(code: i32, message: impl Into<String>) -> Box<Error> {
        Box::new(Error { begun: true, ..*Error::new(code, message) })
    }
}

/// MPI_ERR_NO_MEM: there is no memory for `what`.
#[cold]
pub fn no_memory(what: &str, lack: Lack) -> Box<Error> {
    Error::new(MPI_ERR_NO_MEM, format!("there is no memory for {what}: {lack}"))
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.code, self.message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// `err!(MPI_ERR_TAG, "tag {tag} is negative")` is an `Err` of that class. With `try "…",` behind the class it says what a person can try,
/// where that of the class does not fit ([`crate::advice`]); `try "",` where the message says all.
#[macro_export]
macro_rules! err {
    ($class:expr, try $advice:expr, $($arg:tt)*) => {
        Err($crate::error::Error::new($class, format!($($arg)*)).advise($advice))
    };
    ($class:expr, $($arg:tt)*) => { Err($crate::error::Error::new($class, format!($($arg)*))) };
}

/// The result code of a call.
pub fn code(result: &Result<()>) -> i32 {
    match result {
        Ok(()) => MPI_SUCCESS,
        Err(error) => error.code,
    }
}
