//! What can go wrong in a space.

use std::fmt;
use std::io;

/// Why an operation did not take place, or not wholly.
///
/// `NoRegion`, `Bounds`, `Protection`, `NotOwner`, `Busy` and `Full` are found before anything is moved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No region has this name: it was destroyed, used up, or never there.
    NoRegion,
    /// The range asked for does not lie in the region or the local segments.
    Bounds {
        /// Where the range begins, in bytes from the start.
        offset: u64,
        /// Bytes of the range.
        bytes: u64,
        /// Bytes that there are.
        len: u64,
    },
    /// The region is not declared for this access.
    Protection,
    /// Only the process that has created a region destroys it.
    NotOwner,
    /// Too many uses of regions are under way in this process; try again when some have ended.
    Busy,
    /// This process has as many regions, or segments of regions, as there is room for.
    Full,
    /// The process that the region belongs to has ended. Some of the bytes may have been moved.
    PeerGone {
        /// Its number in the space.
        member: u32,
    },
    /// The declared memory is not there or does not allow the access. Some bytes may have been moved.
    Fault {
        /// The process whose memory it is, by its number in the space.
        member: u32,
    },
    /// Another process takes part as this member already.
    Taken {
        /// The number in the space.
        member: u32,
    },
    /// A space cannot have this shape, or not at this place of the file.
    Shape,
    /// The operating system does not give what is needed.
    System {
        /// As in errno(3).
        errno: i32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoRegion => f.write_str("no region has this name (any more)"),
            Error::Bounds { offset, bytes, len } => {
                write!(f, "{bytes} bytes at offset {offset} of memory of {len} bytes")
            }
            Error::Protection => f.write_str("the region is not declared for this access"),
            Error::NotOwner => f.write_str("the region belongs to another process"),
            Error::Busy => f.write_str("too many uses of regions are under way"),
            Error::Full => f.write_str("this process can have no more regions or segments"),
            Error::PeerGone { member } => write!(f, "process {member} has ended"),
            Error::Fault { member } => {
                write!(f, "the memory that process {member} has declared is not there, or not for this access")
            }
            Error::Taken { member } => write!(f, "another process is member {member} already"),
            Error::Shape => f.write_str("a space cannot have this shape at this place"),
            Error::System { errno } => write!(f, "{}", io::Error::from_raw_os_error(*errno)),
        }
    }
}

impl std::error::Error for Error {}

impl From<rustix::io::Errno> for Error {
    fn from(errno: rustix::io::Errno) -> Error {
        Error::System { errno: errno.raw_os_error() }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::System { errno: error.raw_os_error().unwrap_or(libc::EIO) }
    }
}
