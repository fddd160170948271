//! Where processes call that know nothing of each other but a secret, as the one in the name of a port.

use crate::Settings;
use crate::listen::listen;
use std::io::Result;
use std::net::SocketAddr;
use tern_proof::{Door, Token};

/// Callers that have not proven themselves yet, at a time.
const MOST_STRANGERS: usize = 128;

/// Begins to listen; gives the addresses where, the most likely one first.
///
/// Errors: no port is free, or there are no sockets.
pub fn open_door(settings: &Settings, secret: Token) -> Result<(Door, Vec<SocketAddr>)> {
    let listener = listen(settings)?;
    let port = SocketAddr::try_from(rustix::net::getsockname(&listener)?)?.port();
    let addresses = settings.addresses.iter().map(|&ip| SocketAddr::new(ip, port)).collect();
    Ok((Door::new(listener, secret, MOST_STRANGERS, settings.silence), addresses))
}
