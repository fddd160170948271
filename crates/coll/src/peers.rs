//! Who takes part in a collective, and with which memory.

use crate::choose::Policy;
use crate::hierarchical::Levels;
use crate::lines::refusal::Call;
use crate::lines::{Farewell, Lines};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use tern_adi::{Adi, Data, Proc};
use tern_layout::Type;

/// One more than the largest number of a [`Call`]; 0 is that of the library's own.
pub(crate) const CALLS: usize = 32;

/// Collectives between the first ones of communicators with one context: a prime, so that they do not come round to the same numbers.
const EPOCH: u32 = 65_537;

/// The processes of one communicator as collectives see them. One per communicator.
#[derive(Debug)]
pub struct Peers {
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
    /// Algorithms that the user forces.
    pub policy: Policy,
    /// A number that no earlier communicator with the same context had at any member: it tells
    /// this communicator's turns on the control lines from theirs.
    pub epoch: u32,
    /// The control lines, looked for at first use.
    lines: OnceCell<Option<Lines>>,
    /// The two levels of a communicator that has no lines, looked for at first use.
    levels: OnceCell<Option<Box<Levels>>>,
    /// These are the leaders of the nodes of a communicator, whose messages are apart from its own.
    pub(crate) leaders: bool,
}

impl Peers {
    /// A communicator on which no collective has run, with the algorithms that TERN_COLL asks
    /// for. The context must be one that only collectives use; both sides of an
    /// intercommunicator must have the same one.
    pub fn new(context: u32, rank: u32, procs: Rc<[Proc]>, remote: Option<Rc<[Proc]>>, epoch: u32) -> Peers {
        // What nobody has taken of a freed communicator of this context must not be taken for one of this.
        let first = epoch.wrapping_mul(EPOCH);
        Peers {
            context,
            rank,
            procs,
            remote,
            sequence: std::array::from_fn(|_| Cell::new(first)),
            blocking: std::array::from_fn(|_| Cell::new(first)),
            persistent: Cell::new(0),
            refused: RefCell::default(),
            policy: Policy::from_settings(),
            epoch,
            lines: OnceCell::new(),
            levels: OnceCell::new(),
            leaders: false,
        }
    }

    /// Makes these the leaders of a communicator with the same context.
    pub(crate) fn lead(&mut self) {
        self.leaders = true;
    }

    /// The two levels of a communicator that spans several nodes, if it has them and they are not switched off.
    pub fn levels(&self, adi: &Adi) -> Option<&Levels> {
        let find = || {
            // Leaders have one process on each node, and two levels are no case for what is checked by schedules.
            let wanted = !self.leaders && tern_settings::COLL_LINES.get() && !tern_settings::CHECK.get();
            wanted.then(|| Levels::new(adi, self).map(Box::new)).flatten()
        };
        self.levels.get_or_init(find).as_deref()
    }

    /// The control lines of this communicator, if it has them and they are not switched off.
    #[inline]
    pub fn lines(&self, adi: &Adi) -> Option<&Lines> {
        let find = || {
            // What is checked by schedules is not checked again on the lines.
            let wanted = tern_settings::COLL_LINES.get() && !tern_settings::CHECK.get();
            wanted.then(|| Lines::new(adi, self, self.epoch)).flatten()
        };
        self.lines.get_or_init(find).as_ref()
    }

    /// Leaves the control lines for good, if there are some: called by all members when the communicator is freed, each
    /// in its own time. Until that is over its id must not be used again.
    pub fn leave(&self, adi: &Adi) -> Option<Farewell> {
        match self.lines(adi) {
            Some(lines) => {
                // Whoever waits for this process in a call that it has refused is told so.
                self.refused.take().iter().for_each(|_| lines.refuse_next(adi));
                Some(lines.leave())
            }
            None => self.levels(adi)?.leave(),
        }
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

/// The root of a rooted collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The process of this rank: in the local group of an intracommunicator, in the remote group
    /// of an intercommunicator.
    Rank(u32),
    /// This process is the root, the data is in the other group (MPI_ROOT).
    Root,
    /// The root is another process of this group (MPI_PROC_NULL).
    None,
}

/// Memory of one side of a collective: `count` elements of `ty` at `base`. Where a collective
/// has a block for each rank, `count` is that of one block, and blocks are one after another.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub base: *mut u8,
    pub count: i64,
    pub ty: Rc<Type>,
}

impl Buffer {
    /// How many bytes travel.
    pub fn bytes(&self) -> usize {
        self.count as usize * self.ty.size() as usize
    }

    /// Whether a reduction by `op` takes it as a vector of elements of a basic type.
    pub fn is_vector(&self, op: &Operator) -> bool {
        crate::fast::any_vector(op, &self.ty, self.count).is_some()
    }

    pub(crate) fn data(&self) -> Data {
        Data::new(self.base, self.count, &self.ty)
    }
}

/// Memory of a v-collective: rank r has `counts[r]` elements at `displs[r]` (in extents of `ty`).
#[derive(Clone, Debug)]
pub struct BufferV {
    pub base: *mut u8,
    pub counts: Rc<[i64]>,
    pub displs: Rc<[i64]>,
    pub ty: Rc<Type>,
}

/// Memory of alltoallw: rank r has `counts[r]` elements of `types[r]` at byte `displs[r]`.
#[derive(Clone, Debug)]
pub struct BufferW {
    pub base: *mut u8,
    pub counts: Rc<[i64]>,
    pub displs: Rc<[i64]>,
    pub types: Rc<[Rc<Type>]>,
}

/// The neighbours of this process in a topology (MPI 5.0, section 8.6), in the order of the
/// blocks. A negative rank is MPI_PROC_NULL; a rank may come more than once.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours<'a> {
    pub sources: &'a [i32],
    pub destinations: &'a [i32],
    /// A Cartesian topology: neighbours come in pairs, one for each direction of a dimension, and
    /// what goes one way arrives from the other, so block s of the sender becomes block s^1 of
    /// the receiver even where both neighbours are one process (example 8.10). Else the k-th
    /// block for a process becomes its k-th block from there.
    pub cartesian: bool,
}

/// Applies a reduction to `count` elements: `inout[i] = input[i] op inout[i]`.
pub type UserFunction = dyn Fn(*const u8, *mut u8, i64, &Rc<Type>);

/// A reduction operation.
#[derive(Clone)]
pub enum Operator {
    Predefined(crate::ops::Op),
    User { function: Rc<UserFunction>, commutative: bool },
}

impl Operator {
    /// True when operands may change places.
    pub fn is_commutative(&self) -> bool {
        match self {
            Operator::Predefined(op) => op.is_commutative(),
            Operator::User { commutative, .. } => *commutative,
        }
    }
}
