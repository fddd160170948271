//! What can go wrong with a file, in the classes of the standard.

use std::fmt;
use std::path::Path;

use rustix::io::Errno;
use tern_memory::Lack;

/// The error classes that a file operation can have (MPI 5.0, section 14.7, and section 9.4 for the
/// last four). Each is MPI_ERR_ and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    NoSuchFile,
    FileExists,
    Access,
    ReadOnly,
    NoSpace,
    Quota,
    BadFile,
    FileInUse,
    Io,
    Amode,
    NotSame,
    UnsupportedDatarep,
    UnsupportedOperation,
    DupDatarep,
    Conversion,
    /// The user's buffer is not memory that may be read, or written.
    Buffer,
    /// There is no memory for data on its way.
    NoMemory,
    /// The etype or filetype is none.
    Type,
    /// A displacement, offset or size is none.
    Argument,
}

/// A file operation that failed: what was tried, and why it did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub class: Class,
    /// What the system said, if it was the system.
    pub errno: Option<i32>,
    /// What was tried with which values, and why not.
    pub text: String,
}

impl Error {
    pub(crate) fn new(class: Class, text: String) -> Error {
        Error { class, errno: None, text }
    }

    /// There is no memory for `what`.
    #[cold]
    pub(crate) fn memory(what: &str, lack: Lack) -> Error {
        Error::new(Class::NoMemory, format!("there is no memory for {what}: {lack}"))
    }

    /// The system refused `what`, a verb phrase such as "write 8 bytes at offset 0".
    pub(crate) fn system(what: &str, path: &Path, errno: Errno) -> Error {
        let text = format!("cannot {what} ({}): {}", path.display(), reason(errno));
        Error { class: class_of(errno), errno: Some(errno.raw_os_error()), text }
    }
}

/// The system's words, and what to look at where they are not plain.
fn reason(errno: Errno) -> String {
    let words = std::io::Error::from(errno);
    match errno {
        Errno::FBIG => format!("{words}; is it above the limit of RLIMIT_FSIZE (ulimit -f) or of the file system?"),
        Errno::MFILE => {
            let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
            let most = most.map_or_else(|| "unlimited".to_string(), |most| most.to_string());
            format!("{words}: RLIMIT_NOFILE is {most}; close files, or raise the limit (ulimit -n)")
        }
        Errno::NFILE => format!("{words}: the machine has no more (sysctl fs.file-max)"),
        Errno::NOLCK => format!("{words}; the file system has no locks"),
        _ => words.to_string(),
    }
}

fn class_of(errno: Errno) -> Class {
    match errno {
        Errno::NOENT => Class::NoSuchFile,
        Errno::EXIST => Class::FileExists,
        Errno::ACCESS | Errno::PERM => Class::Access,
        Errno::ROFS => Class::ReadOnly,
        Errno::NOSPC | Errno::FBIG => Class::NoSpace,
        Errno::DQUOT => Class::Quota,
        Errno::NAMETOOLONG | Errno::ISDIR | Errno::NOTDIR | Errno::LOOP | Errno::ILSEQ => Class::BadFile,
        Errno::TXTBSY | Errno::BUSY => Class::FileInUse,
        Errno::FAULT => Class::Buffer,
        Errno::NOMEM => Class::NoMemory,
        Errno::OPNOTSUPP | Errno::NOSYS | Errno::SPIPE => Class::UnsupportedOperation,
        _ => Class::Io,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
