//! A call that this process makes, until the called process has proven itself and was told hello.

use super::line::Line;
use super::words::{Address, Word};
use super::{SILENCE, Shared};
use std::io;
use std::net::SocketAddr;
use std::time::Instant;
use tern_hca::descriptors;
use tern_proof::{Knock, connect};

/// A call that is to be made.
pub struct Wanted {
    pub peer: u32,
    pub address: Address,
    /// It is put off no longer.
    pub until: Instant,
}

/// A call under way.
pub struct Call {
    pub peer: u32,
    pub knock: Knock,
    at: SocketAddr,
    /// The node of the peer.
    node: u32,
    /// There is no descriptor for the connection: the peer, which may wait for it, is told so.
    is_short: bool,
}

impl Call {
    /// Calls a peer, which listens at `address`. `None`: that has failed, and was told; or it is put off, for not even the reserve's
    /// place is free: somebody is turned away there now.
    pub fn begin(shared: &Shared, wanted: Wanted) -> Option<Call> {
        let Wanted { peer, address, until } = &wanted;
        let peer = *peer;
        let at = SocketAddr::new(address.host, address.port);
        let made = descriptors::obtain(|| connect(at, SILENCE));
        let is_short = made.as_ref().is_err_and(descriptors::is_shortage);
        let made = if is_short { shared.reserve.give_way(|| connect(at, SILENCE)) } else { made };
        match made {
            Ok(socket) => {
                let knock =
                    Knock::over(socket, address.token, shared.me, shared.silence).answered_within(shared.patience);
                return Some(Call { peer, knock, at, node: address.node, is_short });
            }
            Err(error) if descriptors::is_shortage(&error) && Instant::now() < *until => {
                shared.wanted.lock().push(wanted)
            }
            Err(_) if is_short => shared.call_failed(peer, descriptors::shortage().unwrap_or_default(), true),
            Err(error) => shared.call_failed(peer, cannot_be_reached(at, &error.into()), false),
        }
        None
    }

    /// Its time is over.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.knock.until()
    }

    /// The called process has proven itself: says what this one wants. `None`: nothing more is to be said there.
    pub fn say_hello(self, shared: &Shared) -> Option<Line> {
        let Call { peer, knock, node, is_short, .. } = self;
        let hello = match shared.hello(peer, node) {
            Ok(hello) => hello?,
            Err(why) => {
                shared.call_failed(peer, why, true);
                return None;
            }
        };
        let gone = || "its process is gone, or the network to it".to_owned();
        let Some(mut line) = knock.into_proven().and_then(|proven| Line::new(proven).ok()) else {
            shared.unanswered(peer, gone());
            return None;
        };
        if is_short {
            let why = descriptors::shortage().unwrap_or_default();
            let _ = line.say(&[hello, Word::Refused(why.clone())]);
            shared.unanswered(peer, why);
            return None;
        }
        match line.say(&[hello]) {
            Ok(()) => Some(line),
            Err(_) => {
                shared.unanswered(peer, gone());
                None
            }
        }
    }

    /// Nobody has answered, or nobody who knows the secret of the peer.
    pub fn fail(self, shared: &Shared, error: &io::Error) {
        let Call { peer, knock, at, .. } = self;
        let why = match error.kind() {
            io::ErrorKind::PermissionDenied => format!("somebody else answers at {at}, who does not know its secret"),
            _ if knock.is_answered() => format!("it does not answer at {at}: {error}"),
            _ => cannot_be_reached(at, error),
        };
        shared.call_failed(peer, why, knock.is_answered());
    }
}

fn cannot_be_reached(at: SocketAddr, error: &io::Error) -> String {
    format!("it cannot be reached at {at}: {error}")
}
