//! A keeper of one node joins the root, which is on another node or on this one.

use tern_pmi::Secret;

use super::{Down, Up, Uplink, call};

impl Uplink {
    /// Joins the root as the keeper of that node.
    ///
    /// Errors: it is at none of the addresses; the text says what came of each.
    pub fn join(callers: &str, secret: Secret, node: u32) -> Result<Uplink, String> {
        let host = tern_node::hostname();
        let join = || {
            let line = call(callers, secret, node)?;
            line.prepare();
            Down::receive_first(&line)?;
            Up::Begun.send(&line)?;
            Ok(line)
        };
        match join() {
            Ok(line) => Ok(Uplink::new(line, host)),
            Err(error) => {
                let error: std::io::Error = error;
                Err(format!(
                    "{host} cannot reach rank 0's node: {error}; is there a firewall, or do the nodes have no network in \
                     common?"
                ))
            }
        }
    }
}
