//! Keepers, and what a rank tells one that it starts.

use std::fmt;
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::time::Duration;

use rustix::net::{RecvFlags, SendFlags, SocketType, sockopt};

use super::KEEP;
use crate::secret::{Secret, secret_of, secret_text};
use crate::{Error, Nodes, background};

/// How long a keeper may take to say that it is there.
const ANSWER: Duration = Duration::from_secs(60);

/// Bound of the first message in bytes.
const MOST: usize = 256 << 10;

/// What a keeper is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The ranks of this node.
    Node(u32),
    /// What the keepers of several nodes have in common.
    Root,
}

/// The first message to a keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    /// What it is for.
    pub role: Role,
    /// Random number of the job.
    pub job_id: u64,
    /// What keepers of one job know, and nobody else.
    pub secret: Secret,
    /// Where the root listens: addresses with ports, separated by commas. Empty if there is none.
    pub callers: String,
    /// Which ranks are on which node.
    pub nodes: Nodes,
}

impl fmt::Display for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role {
            Role::Node(node) => write!(f, "{node}")?,
            Role::Root => f.write_str("root")?,
        }
        let Begin { job_id, secret, callers, nodes, .. } = self;
        write!(f, " {job_id:x} {} {nodes} {callers}", secret_text(secret))
    }
}

impl FromStr for Begin {
    type Err = ();

    fn from_str(text: &str) -> Result<Begin, ()> {
        let mut words = text.split(' ');
        let mut word = || words.next().ok_or(());
        let role = match word()? {
            "root" => Role::Root,
            node => Role::Node(node.parse().map_err(|_| ())?),
        };
        let job_id = u64::from_str_radix(word()?, 16).map_err(|_| ())?;
        let secret = secret_of(word()?).ok_or(())?;
        let nodes: Nodes = word()?.parse()?;
        let callers = word()?.to_owned();
        let there = match role {
            Role::Node(node) => node < nodes.count(),
            Role::Root => true,
        };
        there.then_some(Begin { role, job_id, secret, callers, nodes }).ok_or(())
    }
}

/// A keeper that this process has started. It ends when this value is dropped before [`Keeper::settle`].
#[derive(Debug)]
pub(super) struct Keeper(OwnedFd);

impl Keeper {
    /// Starts a keeper and waits until it listens; gives what it answers, for a root where it listens.
    ///
    /// Errors: it cannot be started, or it cannot do what it is for.
    pub(super) fn start(begin: &Begin) -> Result<(Keeper, String), Error> {
        let cannot = |text: String| Error::Keeper { text };
        let purpose = "it keeps the ranks of a node, which another launcher has started";
        let socket =
            background::start(KEEP, SocketType::SEQPACKET, purpose).map_err(|error| cannot(error.to_string()))?;
        let io = |errno: rustix::io::Errno| cannot(format!("mpiexec {KEEP} does not answer: {errno}"));
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(ANSWER)).map_err(io)?;
        rustix::net::send(&socket, begin.to_string().as_bytes(), SendFlags::NOSIGNAL).map_err(io)?;
        match receive(&socket).map_err(io)?.split_once(' ') {
            Some(("ready", callers)) => Ok((Keeper(socket), callers.to_owned())),
            Some(("failed", why)) => Err(cannot(why.to_owned())),
            _ => Err(cannot(format!("mpiexec {KEEP} has ended; is it of this version of Tern?"))),
        }
    }

    /// This process has its place: the keeper goes by its ranks from here on.
    pub(super) fn settle(self) {
        let _ = rustix::net::send(&self.0, b"settled", SendFlags::NOSIGNAL);
    }
}

/// One message as text; empty when the other side has closed.
fn receive(socket: &OwnedFd) -> rustix::io::Result<String> {
    let mut bytes = vec![0u8; MOST];
    let (len, _) = rustix::io::retry_on_intr(|| rustix::net::recv(socket, &mut bytes[..], RecvFlags::empty()))?;
    Ok(String::from_utf8_lossy(&bytes[..len]).into_owned())
}

impl Begin {
    /// For the keeper: the first message.
    ///
    /// Errors: the socket ends; PROTO for something else.
    pub fn receive(socket: &OwnedFd) -> rustix::io::Result<Begin> {
        receive(socket)?.parse().map_err(|()| rustix::io::Errno::PROTO)
    }

    /// For the keeper: it listens (for the root: there), or why not.
    pub fn answer(socket: &OwnedFd, answer: Result<&str, &str>) {
        let text = match answer {
            Ok(callers) => format!("ready {callers}"),
            Err(why) => format!("failed {why}"),
        };
        // If nobody hears it, the socket has closed.
        let _ = rustix::net::send(socket, text.as_bytes(), SendFlags::NOSIGNAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn the_first_message_survives_the_wire() {
        for (role, callers) in [(Role::Node(2), "10.0.0.1:5,127.0.0.1:5"), (Role::Root, "")] {
            let nodes = Nodes::of_sizes([3, 1, 1]).expect("three nodes");
            let begin = Begin { role, job_id: u64::MAX, secret: [7; 32], callers: callers.into(), nodes };
            assert_eq!(begin.to_string().parse(), Ok(begin.clone()));
            let nodes = Nodes::of_numbers(&[0, 1, 2, 0]).expect("three nodes");
            let begin = Begin { nodes, ..begin };
            assert_eq!(begin.to_string().parse(), Ok(begin));
        }
        for text in ["", "3 1 S 3x3 ", "x 1 S 1 ", "0 g S 1 ", "0 1 2 1 ", "0 1 S 0 ", "0 1 S 1"] {
            assert!(text.replace('S', &"07".repeat(32)).parse::<Begin>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_damaged_first_message_is_refused_or_survives(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let text = format!("2 ffff {} 3,1x2 10.0.0.1:5,127.0.0.1:5", "07".repeat(32));
            let text = damage(text.as_bytes(), &changes);
            if let Ok(begin) = String::from_utf8_lossy(&text).parse::<Begin>() {
                prop_assert_eq!(begin.to_string().parse(), Ok(begin));
            }
        }
    }
}
