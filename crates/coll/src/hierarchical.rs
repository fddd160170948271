//! Blocking collectives in two levels, where a communicator spans several nodes: over control lines inside each node,
//! and by messages between the nodes' leaders.
//!
//! Each function returns `None` when the schedules over all processes must do it; the answer depends only on what all
//! members know, so all of them take the same way.

use crate::blocks::{bcast_over, get, own, put};
use crate::buffers::{Buffer, BufferV, Operator, Root};
use crate::group::Group;
use crate::lines::limits::ALL_TO_ALL;
use crate::lines::{Farewell, Fast, Lines, Mismatch, Vector};
use crate::operation::Failure;
use crate::schedule::Schedule;
use std::rc::Rc;
use tern_adi::Adi;
use tern_layout::{Basic, Type};

/// Longest data that goes so: for the rest the copies inside the nodes cost more than the messages that they save.
const LONGEST: usize = 4 << 20;

/// The nodes of a communicator: the ranks on each, in order. The first one leads.
#[derive(Debug, PartialEq, Eq)]
struct Nodes {
    ranks: Vec<Vec<u32>>,
    /// For each rank its node, and its place there.
    places: Vec<(usize, usize)>,
}

impl Nodes {
    /// From the node of each rank, by any numbers.
    fn new(node_of: &[u32]) -> Nodes {
        let mut numbers: Vec<u32> = Vec::new();
        let mut ranks: Vec<Vec<u32>> = Vec::new();
        let mut places = Vec::with_capacity(node_of.len());
        for (rank, node) in (0..).zip(node_of) {
            let at = numbers.iter().position(|number| number == node).unwrap_or_else(|| {
                numbers.push(*node);
                ranks.push(Vec::new());
                numbers.len() - 1
            });
            places.push((at, ranks[at].len()));
            ranks[at].push(rank);
        }
        Nodes { ranks, places }
    }

    /// Ranks on the node that has most of them.
    fn widest(&self) -> usize {
        self.ranks.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// True when there is something to win: several nodes, and several processes on one of them.
    fn is_worth_it(&self) -> bool {
        self.ranks.len() > 1 && self.widest() > 1
    }
}

/// The two levels of one communicator, as one of its processes sees them.
#[derive(Debug)]
pub struct Levels {
    nodes: Nodes,
    /// The node of this process.
    node: usize,
    /// Its lines, if it is not alone there.
    local: Option<Lines>,
    /// The leaders, if this process is one; each has the number of its node for a rank.
    leaders: Option<Rc<Group>>,
    /// Payload of one turn of the lines, on every node.
    capacity: usize,
}

impl Levels {
    /// The levels of `peers`, if there are two and every node has lines for this communicator.
    pub fn new(adi: &Adi, peers: &Group) -> Option<Levels> {
        if peers.remote.is_some() || peers.size() < 3 {
            return None;
        }
        let node_of: Vec<u32> = peers.procs.iter().map(|&proc| adi.mcm().node(proc)).collect::<Option<_>>()?;
        let nodes = Nodes::new(&node_of);
        if !nodes.is_worth_it() {
            return None;
        }
        // All processes have areas for the same communicators.
        let capacity = adi.mcm().control_slots(adi.me(), peers.context / 2)?.capacity();
        let (node, place) = nodes.places[peers.rank as usize];
        let part = |rank: usize, ranks: &mut dyn Iterator<Item = u32>| {
            let procs = ranks.map(|rank| peers.procs[rank as usize]).collect();
            Group::new(peers.context, rank as u32, procs, None, peers.epoch)
        };
        let neighbours = part(place, &mut nodes.ranks[node].iter().copied());
        let local = match neighbours.size() {
            1 => None,
            _ => Some(Lines::new(adi, &neighbours, peers.epoch)?),
        };
        let leaders = (place == 0).then(|| {
            let mut leaders = part(node, &mut nodes.ranks.iter().map(|ranks| ranks[0]));
            leaders.lead();
            Rc::new(leaders)
        });
        Some(Levels { nodes, node, local, leaders, capacity })
    }

    /// Runs what the leaders do among themselves, if this process is one.
    fn lead(&self, adi: &Adi, schedule: impl FnOnce(&Group) -> Schedule) -> Result<(), Mismatch> {
        let Some(leaders) = &self.leaders else { return Ok(()) };
        crate::run(adi, leaders, schedule(leaders)).map_err(|failure| match failure {
            Failure::Truncated(wrong) => Mismatch::Bytes {
                rank: self.nodes.ranks[wrong.source as usize][0] as usize,
                own: wrong.room as u32,
                theirs: wrong.sent as u32,
            },
            Failure::Lost(process) => Mismatch::Lost { process },
            Failure::Lack(lack) => Mismatch::Lack(lack),
            Failure::Refused(node) => Mismatch::Refused { rank: self.nodes.ranks[node as usize][0] as usize },
        })
    }

    /// The same where all processes of this node wait for what comes of it, which is `len` bytes: they are told too if
    /// a process is lost.
    fn lead_all(&self, adi: &Adi, len: usize, schedule: impl FnOnce(&Group) -> Schedule) -> Result<(), Mismatch> {
        self.lead(adi, schedule).inspect_err(|wrong| {
            if let (Mismatch::Lost { process }, Some(lines)) = (wrong, &self.local) {
                lines.lose(adi, len, *process);
            }
        })
    }

    /// Tells all processes of this node what the one in `place` has.
    fn tell(&self, adi: &Adi, place: usize, buffer: &Buffer) -> Result<(), Mismatch> {
        let Some(lines) = &self.local else { return Ok(()) };
        bcast_over(lines, adi, place, buffer)
    }

    /// The vector of a reduction by a predefined operation, if the lines of every node serve it, and whether it takes
    /// them several turns.
    fn vector(&self, op: &Operator, ty: &Type, count: i64) -> Option<(Vector, bool)> {
        let Operator::Predefined(op) = op else { return None };
        let vector = Vector::new(*op, ty, count).filter(|vector| vector.bytes <= LONGEST)?;
        let long = vector.bytes > self.capacity || vector.bytes * self.nodes.widest() > ALL_TO_ALL;
        Some((vector, long))
    }

    /// The reduction of the vectors of this node, into `out` at its leader, and where it is long at others too.
    ///
    /// # Safety
    /// `input` and `out` hold the vector; they may be the same memory.
    unsafe fn reduce_here(
        &self, adi: &Adi, vector: &Vector, long: bool, input: *const u8, out: *mut u8,
    ) -> Result<(), Mismatch> {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.local {
                Some(lines) if long => lines.allreduce_long(adi, vector, input, out),
                Some(lines) => lines.reduce(adi, Some(0), vector, input, out),
                None => {
                    std::ptr::copy(input, out, vector.bytes);
                    Ok(())
                }
            }
        }
    }

    /// See [`crate::Peers::leave`].
    pub(crate) fn leave(&self) -> Option<Farewell> {
        Some(self.local.as_ref()?.leave())
    }

    /// See [`crate::barrier`].
    pub fn barrier(&self, adi: &Adi) -> Result<(), Mismatch> {
        if let Some(lines) = &self.local {
            lines.gather(adi, 0, 0, |_| (), |_, _| ())?;
        }
        self.lead_all(adi, 0, crate::barrier)?;
        match &self.local {
            Some(lines) => lines.bcast(adi, 0, 0, |_, _| (), |_, _| ()),
            None => Ok(()),
        }
    }

    /// See [`crate::bcast`].
    pub fn bcast(&self, adi: &Adi, buffer: &Buffer, root: u32) -> Fast {
        (buffer.bytes() <= LONGEST).then(|| {
            let (node, place) = self.nodes.places[root as usize];
            let home = self.node == node;
            if home && place != 0 {
                self.tell(adi, place, buffer)?;
            }
            let among = |leaders: &Group| crate::bcast(leaders, buffer, Root::Rank(node as u32));
            if home && place != 0 {
                return self.lead(adi, among);
            }
            self.lead_all(adi, buffer.bytes(), among)?;
            self.tell(adi, 0, buffer)
        })
    }

    /// See [`crate::reduce`]. `send` is null for MPI_IN_PLACE (at the root); `recv` matters at the root.
    #[allow(clippy::too_many_arguments)]
    pub fn reduce(
        &self, adi: &Adi, rank: u32, send: *const u8, recv: *mut u8, count: i64, ty: &Rc<Type>, op: &Operator,
        root: u32,
    ) -> Fast {
        let (vector, long) = self.vector(op, ty, count)?;
        let input = if send.is_null() { recv.cast_const() } else { send };
        let (node, place) = self.nodes.places[root as usize];
        let mut space: Vec<u64> = Vec::new();
        let out = match rank == root {
            true => recv,
            false => {
                space.resize(vector.bytes.div_ceil(8), 0);
                space.as_mut_ptr().cast()
            }
        };
        let result = Buffer { base: out, count, ty: ty.clone() };
        // SAFETY: the program's buffers hold `count` elements (MPI's own rule), and `out` is one of them or as long.
        let done = unsafe { self.reduce_here(adi, &vector, long, input, out) }.and_then(|()| {
            let among = |leaders: &Group| {
                let output = (self.node == node).then_some(&result);
                let input = (self.node != node).then_some(&result);
                crate::reduce(leaders, input, output, op, Root::Rank(node as u32))
            };
            if self.node != node || place == 0 {
                return self.lead(adi, among);
            }
            self.lead_all(adi, result.bytes(), among)?;
            self.tell(adi, 0, &result)
        });
        Some(done)
    }

    /// See [`crate::allreduce`]. `send` is null for MPI_IN_PLACE.
    pub fn allreduce(&self, adi: &Adi, send: *const u8, recv: &Buffer, op: &Operator) -> Fast {
        let (vector, long) = self.vector(op, &recv.ty, recv.count)?;
        let input = if send.is_null() { recv.base.cast_const() } else { send };
        // SAFETY: the program's buffers hold `count` elements (MPI's own rule).
        let done = unsafe { self.reduce_here(adi, &vector, long, input, recv.base) }.and_then(|()| {
            self.lead_all(adi, recv.bytes(), |leaders| crate::allreduce(leaders, None, recv, op))?;
            self.tell(adi, 0, recv)
        });
        Some(done)
    }

    /// See [`crate::allgather`]. `send` is `None` for MPI_IN_PLACE.
    pub fn allgather(&self, adi: &Adi, rank: u32, send: Option<&Buffer>, recv: &Buffer) -> Fast {
        let len = recv.bytes();
        let all = len * self.nodes.places.len();
        if len > self.capacity || len * self.nodes.widest() > ALL_TO_ALL || all > LONGEST {
            return None;
        }
        // All blocks, packed, those of a node together.
        let mut packed = vec![0u8; all];
        let mut starts = vec![0];
        self.nodes.ranks.iter().for_each(|ranks| starts.push(starts[starts.len() - 1] + ranks.len() * len));
        let (node, place) = self.nodes.places[rank as usize];
        if let Some(send) = send {
            own(send, 0, recv, rank as usize);
        }
        let at = |place: usize| starts[node] + place * len;
        let mut mine = vec![0u8; len];
        get(recv, rank as usize, &mut mine);
        packed[at(place)..][..len].copy_from_slice(&mine);
        let done = (|| {
            if let Some(lines) = &self.local {
                let give = |out: &mut [u8]| out.copy_from_slice(&mine);
                lines.gather(adi, 0, len, give, |from, bytes| packed[at(from)..][..len].copy_from_slice(bytes))?;
            }
            let ty = Type::basic(Basic::Byte);
            let base = packed.as_mut_ptr();
            self.lead_all(adi, all, |leaders| {
                let counts = self.nodes.ranks.iter().map(|ranks| (ranks.len() * len) as i64).collect();
                let displs = starts[..self.nodes.ranks.len()].iter().map(|&start| start as i64).collect();
                crate::allgatherv(leaders, None, &BufferV { base, counts, displs, ty: ty.clone() })
            })?;
            self.tell(adi, 0, &Buffer { base, count: all as i64, ty })
        })();
        if done.is_ok() {
            for (other, &(node, place)) in self.nodes.places.iter().enumerate() {
                if other != rank as usize {
                    put(recv, other, &packed[starts[node] + place * len..][..len]);
                }
            }
        }
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_a_place_on_its_node() {
        let nodes = Nodes::new(&[7, 3, 7, 7, 3, 9]);
        assert_eq!(nodes.ranks, [vec![0, 2, 3], vec![1, 4], vec![5]]);
        assert_eq!(nodes.places, [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1), (2, 0)]);
        assert_eq!(nodes.widest(), 3);
        assert!(nodes.is_worth_it());
    }

    #[test]
    fn one_node_or_one_process_on_each_is_no_case_for_two_levels() {
        assert!(!Nodes::new(&[1, 1, 1]).is_worth_it());
        assert!(!Nodes::new(&[1, 2, 3]).is_worth_it());
        assert!(Nodes::new(&[1, 2, 1]).is_worth_it());
    }
}
