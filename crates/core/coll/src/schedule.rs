//! What a collective has to do on one process, as a list of actions.

use crate::buffers::Operator;
use crate::group::Group;
use crate::memory::{ALIGN, Temp, at};
use crate::transport::TOLD;
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use tern_adi::{Data, Exchanges};
use tern_layout::Type;
use tern_mcm::Direction;
use tern_memory::Lack;
use tern_policy::collective::{Algorithm, Collective, Forced, Messages, algorithm};

/// One step. Transfers start when the list comes to them; copies and reductions are done there
/// and then. A fence is passed when every transfer before it is complete: it ends a round.
#[derive(Debug)]
pub(crate) enum Action {
    Send {
        peer: Peer,
        data: Data,
    },
    Recv {
        peer: Peer,
        data: Data,
    },
    /// A receive of a block that is too short for a region on this side. A peer with more bytes tells of one all the same.
    Short {
        peer: Peer,
        data: Data,
        direction: Direction,
    },
    /// The peer is told where `data` lies, and gets it from there, or puts it there.
    Declare {
        peer: Peer,
        data: Data,
        direction: Direction,
    },
    /// The other side of it: this process copies to `data` what the peer has declared, or from `data` to there.
    Copied {
        peer: Peer,
        data: Data,
        direction: Direction,
    },
    /// `inout = input op inout` on `count` elements of the schedule's reduction.
    Reduce {
        input: *const u8,
        inout: *mut u8,
        count: i64,
    },
    Copy {
        from: Data,
        to: Data,
    },
    Fence,
}

/// A process by rank, in the local or in the remote group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub rank: u32,
    pub remote: bool,
}

/// The operation and the type of a reduction.
#[derive(Clone)]
pub(crate) struct Reduction {
    pub op: Operator,
    pub ty: Rc<Type>,
    pub commutative: bool,
}

/// The actions of one collective on one process, with the temporaries they use. It does not
/// change by being run, so it can be run again (persistent collectives), once at a time.
pub struct Schedule {
    pub(crate) actions: Vec<Action>,
    pub(crate) reduction: Option<Reduction>,
    /// What this process exchanges with others.
    pub(crate) exchanges: Exchanges,
    /// Some of it moves by regions.
    pub(crate) has_regions: bool,
    /// The algorithm that was chosen, where there was a choice.
    algorithm: Option<Algorithm>,
    /// There is no memory for its temporaries: it cannot be run.
    lack: Option<Lack>,
    _temps: Vec<Temp>,
}

impl Schedule {
    /// Whether it can be run.
    ///
    /// Errors: there is no memory for its temporaries, and so many bytes were the first of them that could not be had.
    pub fn has_memory(&self) -> Result<(), Lack> {
        self.lack.map_or(Ok(()), Err)
    }

    /// Bytes of the longest message.
    pub(crate) fn longest(&self) -> usize {
        let len = |action: &Action| match action {
            Action::Send { data, .. } | Action::Recv { data, .. } | Action::Short { data, .. } => data.len(),
            _ => 0,
        };
        self.actions.iter().map(len).max().unwrap_or(0)
    }

    /// The algorithm that was chosen for it, where there was a choice.
    pub fn algorithm(&self) -> Option<Algorithm> {
        self.algorithm
    }

    /// True when there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }
}

/// The actions, one per line.
impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.actions).finish()
    }
}

/// Everything, if there is a round in which this process sends as well as it receives. Else long messages had better be copied by both.
fn exchanges(actions: &[Action]) -> Exchanges {
    let mut rounds = actions.split(|action| matches!(action, Action::Fence));
    let has = |round: &[Action], is: fn(&Action) -> bool| round.iter().any(is);
    let both = rounds.any(|round| {
        has(round, |action| matches!(action, Action::Send { .. }))
            && has(round, |action| matches!(action, Action::Recv { .. } | Action::Short { .. }))
    });
    if both { Exchanges::All } else { Exchanges::Short }
}

/// Writes a schedule. Messages between two processes are matched in the order in which each side
/// lists them. So algorithms must list them in one order on both sides. Empty messages are left
/// out on both sides, since MPI asks for equal signatures; [`Builder::signal`] sends one anyway.
pub(crate) struct Builder<'a> {
    peers: &'a Group,
    /// This process and the number of processes in the local group.
    pub rank: usize,
    pub size: usize,
    actions: Vec<Action>,
    reduction: Option<Reduction>,
    temps: Vec<Temp>,
    algorithm: Cell<Option<Algorithm>>,
    lack: Option<Lack>,
    /// A transfer has been listed since the last fence.
    open: bool,
}

impl<'a> Builder<'a> {
    pub fn new(peers: &'a Group) -> Builder<'a> {
        Builder {
            peers,
            rank: peers.rank as usize,
            size: peers.procs.len(),
            actions: Vec::with_capacity(8),
            reduction: None,
            temps: Vec::new(),
            algorithm: Cell::new(None),
            lack: None,
            open: false,
        }
    }

    /// A schedule that reduces with `op` on elements of `ty`.
    pub fn reducing(peers: &'a Group, op: &Operator, ty: &Rc<Type>) -> Builder<'a> {
        let mut b = Builder::new(peers);
        let commutative = op.is_commutative();
        b.reduction = Some(Reduction { op: op.clone(), ty: ty.clone(), commutative });
        b
    }

    pub fn finish(self) -> Schedule {
        let exchanges = exchanges(&self.actions);
        let by_region =
            |action: &Action| matches!(action, Action::Declare { .. } | Action::Copied { .. } | Action::Short { .. });
        let has_regions = self.actions.iter().any(by_region);
        let Builder { actions, reduction, lack, temps, algorithm, .. } = self;
        let algorithm = algorithm.get();
        Schedule { actions, reduction, exchanges, has_regions, algorithm, lack, _temps: temps }
    }

    /// Size of the remote group, when this is an intercommunicator.
    pub fn remote_size(&self) -> Option<usize> {
        self.peers.remote.as_ref().map(|r| r.len())
    }

    /// The algorithm for `collective` in the local group, `bytes` as [`Messages`] defines it.
    pub fn pick(&self, collective: Collective, bytes: usize) -> Algorithm {
        let commutative = self.reduction.as_ref().is_none_or(|r| r.commutative);
        let Group { crowded, ref selection, .. } = *self.peers;
        let two_groups = self.peers.remote.is_some();
        let messages = Messages { processes: self.size, bytes, commutative, crowded, two_groups };
        let algorithm = algorithm(selection, collective, messages);
        self.algorithm.set(Some(algorithm));
        algorithm
    }

    pub fn send(&mut self, to: usize, data: Data) {
        self.transfer(to, false, data, true);
    }

    pub fn recv(&mut self, from: usize, data: Data) {
        self.transfer(from, false, data, false);
    }

    /// Whether `collective` goes by regions, of blocks that are long enough.
    pub fn has_regions(&self, collective: Collective) -> bool {
        self.peers.remote.is_none() && self.peers.selection.forced(collective) == Some(Forced::Region)
    }

    /// Gives `data` to a member, which gets it by itself if `by_region`.
    pub fn give(&mut self, to: usize, data: Data, by_region: bool) {
        self.either(to, data, true, by_region.then_some((true, Direction::Get)));
    }

    /// Takes `data` from a member; the other side of [`Builder::give`].
    pub fn take(&mut self, from: usize, data: Data, by_region: bool) {
        self.either(from, data, false, by_region.then_some((false, Direction::Get)));
    }

    /// Gives `data` to a member: puts it where that has declared its memory, if `by_region`.
    pub fn put(&mut self, to: usize, data: Data, by_region: bool) {
        self.either(to, data, true, by_region.then_some((false, Direction::Put)));
    }

    /// Takes `data` from a member; the other side of [`Builder::put`].
    pub fn accept(&mut self, from: usize, data: Data, by_region: bool) {
        self.either(from, data, false, by_region.then_some((true, Direction::Put)));
    }

    /// A message, or with `region` a declaration (of this process, or of the peer) and a copy. Both sides should know the length.
    /// No message has [`TOLD`] bytes, so that a receiver knows a region that is told in place of one.
    fn either(&mut self, rank: usize, data: Data, out: bool, region: Option<(bool, Direction)>) {
        let Some((declares, direction)) = region.filter(|_| !data.is_empty()) else {
            return self.transfer(rank, false, data, out);
        };
        let is_long = data.len() >= self.peers.selection.regions_from || data.len() == TOLD;
        self.open = true;
        let peer = Peer { rank: rank as u32, remote: false };
        self.act(match (is_long, declares) {
            (true, true) => Action::Declare { peer, data, direction },
            (true, false) => Action::Copied { peer, data, direction },
            (false, _) if out => Action::Send { peer, data },
            (false, _) => Action::Short { peer, data, direction },
        });
    }

    pub fn send_remote(&mut self, to: usize, data: Data) {
        self.transfer(to, true, data, true);
    }

    pub fn recv_remote(&mut self, from: usize, data: Data) {
        self.transfer(from, true, data, false);
    }

    fn transfer(&mut self, rank: usize, remote: bool, data: Data, out: bool) {
        if !data.is_empty() {
            self.push_transfer(Peer { rank: rank as u32, remote }, data, out);
        }
    }

    fn push_transfer(&mut self, peer: Peer, data: Data, out: bool) {
        self.open = true;
        self.act(match out {
            true => Action::Send { peer, data },
            false => Action::Recv { peer, data },
        });
    }

    /// Sends a message without data.
    pub fn signal(&mut self, to: usize, remote: bool) {
        self.push_transfer(Peer { rank: to as u32, remote }, Data::none(), true);
    }

    /// Receives a message without data.
    pub fn await_signal(&mut self, from: usize, remote: bool) {
        self.push_transfer(Peer { rank: from as u32, remote }, Data::none(), false);
    }

    /// Ends the round: what follows starts when every transfer so far is complete.
    pub fn fence(&mut self) {
        if self.open {
            self.act(Action::Fence);
            self.open = false;
        }
    }

    pub fn copy(&mut self, from: Data, to: Data) {
        if !from.is_empty() && !to.is_empty() {
            self.act(Action::Copy { from, to });
        }
    }

    fn act(&mut self, action: Action) {
        if let Err(lack) = tern_memory::push(&mut self.actions, action) {
            self.lack.get_or_insert(lack);
        }
    }

    /// A temporary of `bytes` bytes. Where there is no memory for it, the schedule is one that cannot be run.
    pub fn temp(&mut self, bytes: usize) -> *mut u8 {
        let temp = Temp::new(bytes).map(|temp| {
            let start = temp.start();
            (temp, start)
        });
        self.keep(temp)
    }

    /// Keeps a temporary, if there is one, and gives the address to use for it, at which nothing is before the schedule runs.
    fn keep(&mut self, temp: Result<(Temp, *mut u8), Lack>) -> *mut u8 {
        match temp {
            Ok((temp, base)) => {
                self.temps.push(temp);
                base
            }
            Err(lack) => {
                self.lack.get_or_insert(lack);
                std::ptr::without_provenance_mut(ALIGN)
            }
        }
    }

    /// The reduction. Only builders made by [`Builder::reducing`] have one.
    fn reduction(&self) -> &Reduction {
        match &self.reduction {
            Some(r) => r,
            None => unreachable!("a reduction without an operation"),
        }
    }

    pub fn commutative(&self) -> bool {
        self.reduction().commutative
    }

    /// Size in bytes of one element of the reduction.
    pub fn element_size(&self) -> usize {
        self.reduction().ty.size() as usize
    }

    /// A temporary for `count` elements of the reduction.
    pub fn temp_elements(&mut self, count: i64) -> *mut u8 {
        let temp = Temp::elements(count, &self.reduction().ty);
        self.keep(temp)
    }

    /// The address of element `first` of a vector at `base`.
    pub fn element(&self, base: *mut u8, first: i64) -> *mut u8 {
        at(base, first, &self.reduction().ty)
    }

    /// Elements `first` to `end` (excluded) of a vector at `base`.
    pub fn elements(&self, base: *mut u8, first: i64, end: i64) -> Data {
        Data::new(self.element(base, first), end - first, &self.reduction().ty)
    }

    /// `inout = input op inout` on elements `first` to `end` (excluded) of both vectors.
    pub fn reduce(&mut self, input: *mut u8, inout: *mut u8, first: i64, end: i64) {
        if end > first {
            let (input, inout) = (self.element(input, first), self.element(inout, first));
            self.act(Action::Reduce { input, inout, count: end - first });
        }
    }

    /// Copies elements `first` to `end` (excluded) of one vector to another, unless they are one.
    pub fn copy_elements(&mut self, from: *mut u8, to: *mut u8, first: i64, end: i64) {
        if from != to {
            self.copy(self.elements(from, first, end), self.elements(to, first, end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_adi::Data;

    #[test]
    fn a_schedule_without_memory_for_its_temporaries_says_so() {
        let group = Group::new(1, 0, vec![0, 1].into(), None, 0);
        let mut builder = Builder::new(&group);
        let start = builder.temp(100);
        builder.send(1, Data::Bytes(start, 100));
        assert_eq!(builder.finish().has_memory(), Ok(()));
        let mut builder = Builder::new(&group);
        let start = builder.temp(usize::MAX / 2);
        builder.send(1, Data::Bytes(start, 100));
        builder.temp(usize::MAX / 4);
        assert_eq!(builder.finish().has_memory(), Err(Lack { bytes: usize::MAX / 2 }));
    }
}
