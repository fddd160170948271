//! A connection that has failed.

use rustix::io::Errno;
use std::net::IpAddr;

/// Why a connection was ended from this side: a peer that has given no sign for too long ([`crate::vigil`]), or a connection
/// beside the first one that has failed.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub errno: Errno,
    /// Where the connection leads, if it is not the first.
    pub to: Option<IpAddr>,
}
