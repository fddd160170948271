//! Who takes part in a collective.

use crate::asked;
use crate::calls::Call;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tern_adi::Proc;
use tern_policy::collective::Selection;

/// One more than the largest number of a [`Call`]; 0 is that of the library's own.
pub(crate) const CALLS: usize = 32;

/// Collectives between the first ones of communicators with one context: a prime, so that they do not come round to the same numbers.
const EPOCH: u32 = 65_537;

/// The processes of one communicator as schedules and lines see them.
#[derive(Debug)]
pub struct Group {
    /// Context of collective messages: apart from the point-to-point one, so tags are free.
    pub context: u32,
    /// This process's rank in the local group.
    pub rank: u32,
    /// The local group: process of each rank.
    pub procs: Rc<[Proc]>,
    /// The remote group when this is an intercommunicator.
    pub remote: Option<Rc<[Proc]>>,
    /// Number of nonblocking collectives started, for each kind of call: gives each its tag. All members agree, since MPI asks
    /// that all call collectives in the same order (MPI 5.0, section 6.14). That a member has refused one does not
    /// put the other kinds out of step.
    pub sequence: [Cell<u32>; CALLS],
    /// The same for blocking ones that take schedules.
    pub blocking: [Cell<u32>; CALLS],
    /// Number of persistent collectives made: each keeps its tag for all its starts, since
    /// members may start them in different orders (section 6.13).
    pub persistent: Cell<u32>,
    /// Calls that this process has refused since its last collective, the first one first; see [`crate::lines::refusal`].
    pub refused: RefCell<Vec<Call>>,
    /// Ways that the user forces.
    pub selection: Selection,
    /// All members are on one node, and are more than it has cores. All must know alike.
    pub crowded: bool,
    /// A number that no earlier communicator with the same context had at any member: it tells
    /// this communicator's turns on the control lines from theirs.
    pub epoch: u32,
    /// These are the leaders of the nodes of a communicator, whose messages are apart from its own.
    pub(crate) leaders: bool,
}

impl Group {
    /// As [`crate::Peers::new`].
    pub(crate) fn new(context: u32, rank: u32, procs: Rc<[Proc]>, remote: Option<Rc<[Proc]>>, epoch: u32) -> Group {
        // What nobody has taken of a freed communicator of this context must not be taken for one of this.
        let first = epoch.wrapping_mul(EPOCH);
        Group {
            context,
            rank,
            procs,
            remote,
            sequence: std::array::from_fn(|_| Cell::new(first)),
            blocking: std::array::from_fn(|_| Cell::new(first)),
            persistent: Cell::new(0),
            refused: RefCell::default(),
            selection: asked::selection(),
            crowded: false,
            epoch,
            leaders: false,
        }
    }

    /// Makes these the leaders of a communicator with the same context.
    pub(crate) fn lead(&mut self) {
        self.leaders = true;
    }

    /// Processes in the local group.
    pub fn size(&self) -> u32 {
        self.procs.len() as u32
    }

    /// Processes in the remote group; 0 for an intracommunicator.
    pub fn remote_size(&self) -> u32 {
        self.remote.as_ref().map_or(0, |r| r.len() as u32)
    }
}

/// What has a group: a communicator, or a group itself.
pub trait Member {
    fn group(self: &Rc<Self>) -> &Rc<Group>;
}

impl Member for Group {
    fn group(self: &Rc<Self>) -> &Rc<Group> {
        self
    }
}
