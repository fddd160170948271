//! A keeper of one node joins the root, which is on another node or on this one.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::{Down, Up, Uplink, prepare};

/// How long to try one address.
const CONNECT: Duration = Duration::from_secs(5);
/// How long the answer may take.
const ANSWER: Duration = Duration::from_secs(10);

impl Uplink {
    /// Joins the root as the keeper of that node, by the first of its addresses where it is found and not somebody else.
    ///
    /// Errors: none of them; the text says what the last one met.
    pub fn join(callers: &str, secret: u64, node: u32) -> Result<Uplink, String> {
        let host = tern_node::hostname();
        let mut last = "it has told no address".to_owned();
        for address in callers.split(',').filter_map(|address| address.parse::<SocketAddr>().ok()) {
            match join(address, secret, node) {
                Ok(socket) => return Ok(Uplink::new(socket, host)),
                Err(error) => last = error.to_string(),
            }
        }
        Err(format!(
            "{host} cannot reach rank 0's node at {callers}: {last}; is there a firewall, or do the nodes have no \
             network in common?"
        ))
    }
}

fn join(address: SocketAddr, secret: u64, number: u32) -> std::io::Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&address, CONNECT)?;
    prepare(&socket);
    socket.set_read_timeout(Some(ANSWER))?;
    Up::Join { secret, number }.send(&socket)?;
    match Down::receive(&socket)? {
        Down::Begin(_) => {}
        _ => return Err(std::io::Error::other("what answers there is no keeper of this version of Tern")),
    }
    socket.set_read_timeout(None)?;
    Ok(socket)
}
