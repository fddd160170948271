//! What matches the partitioned sends and receives of a communicator (MPI 5.0 chapter 4): see [`crate::p2p::partitioned`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use tern_adi::Proc;

/// What tells the partitioned operations with a peer apart: the peer's process, the tag, and how
/// many with this peer and tag were initialised before.
pub type Key = (Proc, i32, u32);

/// The channels of a communicator.
#[derive(Default)]
pub struct Channels {
    /// Channels that this process has chosen.
    pub chosen: Cell<u32>,
    /// How many sends have been initialised, by peer and tag; and receives.
    pub sends: RefCell<HashMap<(Proc, i32), u32>>,
    pub receives: RefCell<HashMap<(Proc, i32), u32>>,
    /// Channels that peers have announced and no receive has taken.
    pub announced: RefCell<HashMap<Key, u32>>,
}
