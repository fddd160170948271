//! What is known of a pair of processes: facts and costs, by which the layers above decide.

use crate::tuple_queue::Found;
use crate::{Group, Key, Memory, Pair, Times};
use std::rc::Rc;
use tern_policy::transfer::{Chooser, Situation};

/// What may be true of a peer at the moment ([`PairFacts::peer_is`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerState<'a> {
    /// It waits in the library, so that it takes the packets of a message of so many bytes as they come. Asked where [`Pair::window`] has room
    /// for the message.
    Waiting(usize),
    /// It waits for the next message of this key, and would fetch it ([`crate::TupleQueue::tell_ready`]).
    Ready {
        /// What the message is matched by.
        key: &'a Key,
        /// Messages that have gone to the peer on the stream.
        sent: u32,
    },
    /// It has not ended, nor left, where it says so. Costs a system call. Asked of a peer that the kernel copies for ([`Pair::kernel`]).
    Alive,
}

/// A copy of a message whose receive is known ([`PairFacts::situation`]).
#[derive(Clone, Copy, Debug)]
pub enum Copying<'a> {
    /// Out of own memory, into a published receive that was found.
    IntoPublished {
        /// Where the message lies.
        source: &'a Memory,
        /// The receive.
        found: &'a Found,
    },
    /// Out of memory of a sender that has asked to send, into own memory.
    FromSender {
        /// Where the message lies.
        source: &'a Memory,
        /// Where it belongs.
        target: &'a Memory,
    },
}

/// What the program does after the call in which a transfer begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It waits for what it has started, or most likely will at once.
    Waits,
    /// It most likely computes first: a copy that a thread makes costs it nothing.
    Computes,
}

/// Facts of pairs. `peer` is never this process.
pub trait PairFacts {
    /// What this process and `peer` can do for each other, and at which lengths the ways between them cost as much.
    fn pair(&self, _peer: u32) -> Pair {
        Pair::default()
    }

    /// Looks whether something is true of `peer` now. A device that cannot tell takes a peer for alive, and for nothing else.
    fn peer_is(&self, _peer: u32, state: PeerState<'_>) -> bool {
        state == PeerState::Alive
    }

    /// By which mechanism the last message between this process and `peer` was moved in one copy, for the user.
    fn mechanism(&self, _peer: u32) -> &'static str {
        "network card"
    }

    /// The facts by which a way is [chosen](PairFacts::chooser) for a copy that begins now. `None`: there is one way only, that of a network card.
    fn situation(&self, _peer: u32, _copying: Copying<'_>, _then: Then) -> Option<Situation> {
        None
    }

    /// What single copies cost on this machine, and what was learned of them: the policy chooses their ways by that. `None`: nothing is known.
    fn chooser(&self) -> Option<Rc<Chooser>> {
        None
    }

    /// How long a collective with a root takes by each of its ways. `members` are all of it, this process too. `None`: it goes over
    /// other devices as well, or nothing is known.
    fn times(&self, _members: &[u32], _group: &Group) -> Option<Times> {
        None
    }
}
