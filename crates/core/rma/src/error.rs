//! What can go wrong.

use std::fmt;
#[cfg(not(loom))]
use tern_mcm::NotCopied;

/// The error class of the standard that an error belongs to (MPI 5.0, section 12.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// MPI_ERR_RMA_RANGE: target memory is not part of the window.
    Range,
    /// MPI_ERR_RMA_ATTACH: memory cannot be attached.
    Attach,
    /// MPI_ERR_RMA_SHARED: some processes cannot share memory.
    Shared,
    /// MPI_ERR_NO_MEM.
    NoMemory,
    /// MPI_ERR_OP: the operation does not take elements of this type.
    Operation,
    /// MPI_ERR_TYPE: elements of more than one basic type in an accumulate.
    Type,
    /// MPI_ERR_ARG: for example what is to be moved is longer than its place.
    Argument,
    /// MPI_ERR_PROC_ABORTED: this process cannot be reached any more.
    Lost { process: u32 },
    /// MPI_ERR_OTHER.
    Other,
}

/// What failed, with which values. Nothing was moved, but when a process is lost: then nothing is known of what was under way.
#[derive(Clone, Debug)]
pub struct Error {
    pub class: Class,
    pub message: String,
}

impl Error {
    #[cold]
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Error {
        Error { class, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// There is no memory for a copy of the data.
#[cfg(not(loom))]
impl From<tern_memory::Lack> for Error {
    #[cold]
    fn from(lack: tern_memory::Lack) -> Error {
        Error::new(Class::NoMemory, format!("there is no memory for a copy of the elements or of their places: {lack}"))
    }
}

/// Why an access by the kernel was not made.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) enum NotMade {
    /// The kernel has not copied: the access may go another way.
    NotCopied(NotCopied),
    /// It cannot be made at all.
    Error(Error),
}

#[cfg(not(loom))]
impl From<NotCopied> for NotMade {
    fn from(why: NotCopied) -> NotMade {
        NotMade::NotCopied(why)
    }
}

#[cfg(not(loom))]
impl From<Error> for NotMade {
    fn from(error: Error) -> NotMade {
        NotMade::Error(error)
    }
}
