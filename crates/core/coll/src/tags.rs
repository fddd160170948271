//! The tags of collectives' messages.

use crate::group::{CALLS, Group};

/// Tags of collectives: what is called, the number of the collective among those, and bits for what has to be kept apart. Persistent
/// collectives have a bit. Messages inside the local group of an intercommunicator have one, since a rank alone does not tell the
/// groups apart. Messages among the leaders of nodes have one.
pub(crate) const PERSISTENT: u32 = 1 << 30;
const LOCAL: u32 = 1 << 29;
/// Blocking collectives have numbers of their own: they never match nonblocking ones (MPI 5.0, section 6.12), and
/// programs that order the two kinds differently at different ranks, which they must not, run elsewhere.
const BLOCKING: u32 = 1 << 28;
/// Where the number of the call begins.
const CALL: u32 = 23;
pub(crate) const NUMBERS: u32 = (1 << CALL) - 1;

/// The tag of messages in place of what was to be copied in a turn of the lines: of a call that there is not.
pub(crate) fn tag_of_turn(turn: u64) -> i32 {
    (BLOCKING | (CALLS as u32 - 1) << CALL | (turn as u32 & NUMBERS)) as i32
}

/// How a collective is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    Blocking,
    Nonblocking,
}

impl Group {
    /// The tag of the next collective `call`, which takes its place in the order of those.
    pub(crate) fn next_tag(&self, call: u8, way: CallKind) -> u32 {
        let (numbers, bit) = match way {
            CallKind::Blocking => (&self.blocking, BLOCKING),
            CallKind::Nonblocking => (&self.sequence, 0),
        };
        let next = &numbers[call as usize % CALLS];
        let number = next.replace(next.get().wrapping_add(1));
        bit | u32::from(call) << CALL | (number & NUMBERS)
    }
}

/// The tag of messages with a member of the own group, or of the remote one.
pub(crate) fn tag_among(peers: &Group, tag: u32, remote: bool) -> i32 {
    let apart = if peers.remote.is_some() { !remote } else { peers.leaders };
    (if apart { tag | LOCAL } else { tag }) as i32
}
