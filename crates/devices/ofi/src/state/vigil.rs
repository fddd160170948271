//! Peers whose way is lost after packets have gone over it. The endpoint takes packets for a peer, and says nothing of what becomes of them.

use super::State;
use crate::ways::{self, Way};

/// What has left and has not come, to peers that are there as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rest {
    Nothing,
    /// Machines of peers have not acknowledged all bytes.
    OnItsWay,
    /// And some of them give no sign, and may be lost soon.
    InDoubt,
}

/// Whether an error names the way to a peer, and not that its process is gone.
fn is_of_way(error: isize) -> bool {
    let way = [libc::ETIMEDOUT, libc::EHOSTUNREACH, libc::ENETUNREACH, libc::EHOSTDOWN, libc::ENETDOWN];
    way.iter().any(|number| error.unsigned_abs() == *number as usize)
}

impl State {
    /// Loses the peers whose machines are silent, after it has taken what they have said. `ways`: what the kernel knows of the way to each.
    pub fn look(&mut self, ways: &[Option<Way>]) -> Rest {
        self.progress();
        let mut rest = Rest::Nothing;
        for peer in 0..self.world() {
            let it = &self.peers[peer as usize];
            let Some(way) = ways[peer as usize] else { continue };
            // A way from its machine may be that of another process.
            if peer == self.me || it.lost || it.farewell || !(it.is_reached || it.is_heard) {
                continue;
            }
            if way.is_silent {
                let (provider, silence) = (self.fabric.offer.provider(), self.silence.as_secs_f64());
                let why = format!("it has given no sign over {provider} for {silence} s (TERN_PEER_TIMEOUT)");
                let is_left = way.unacknowledged && it.sent != it.acknowledged;
                self.lose_with(peer, &why, is_left);
            } else if way.unacknowledged {
                rest = rest.max(if way.is_asked { Rest::InDoubt } else { Rest::OnItsWay });
            }
        }
        rest
    }

    /// The provider has failed a request to a peer. Who is gone waits for nothing, so nobody is told that it has not arrived. A card cannot
    /// tell that from a way that is lost.
    pub(super) fn lose_by(&mut self, peer: u32, error: isize) {
        let why = self.why(error);
        let it = &self.peers[peer as usize];
        let may_be_there = is_of_way(error) || !ways::is_over_tcp(&self.fabric.offer.provider());
        let is_left = may_be_there && it.sent != it.acknowledged && !it.farewell;
        self.lose_with(peer, &why, is_left);
    }
}

#[cfg(test)]
mod tests;
