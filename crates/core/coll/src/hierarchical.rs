//! Blocking collectives in two levels, where a communicator spans several nodes: over control lines inside each node,
//! and by messages between the nodes' leaders.
//!
//! The policy says which calls go so ([`CollWay::Levels`](tern_policy::collective::CollWay)).

use crate::blocks::{bcast_over, get, own, put};
use crate::buffers::{Buffer, BufferV, Operator, Root};
use crate::group::Group;
use crate::lines::{Farewell, Lines, Mismatch, Vector};
use crate::operation::Failure;
use crate::schedule::Schedule;
use std::rc::Rc;
use tern_adi::Adi;
use tern_layout::{Basic, Type};
use tern_policy::collective::{Beside, has_levels};

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
        if !has_levels(nodes.ranks.len(), nodes.widest()) {
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
        bcast_over(lines, adi, place, buffer, None)
    }

    /// The reduction of the vectors of this node, into `out` at its leader, and at others too where it is longer than the part that one turn combines.
    ///
    /// # Safety
    /// `input` and `out` hold the vector; they may be the same memory.
    unsafe fn reduce_here(
        &self, adi: &Adi, (vector, part): (&Vector, usize), input: *const u8, out: *mut u8,
    ) -> Result<(), Mismatch> {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.local {
                Some(lines) if vector.bytes > part => lines.allreduce_long(adi, vector, input, out),
                Some(lines) => lines.reduce(adi, Some(0), vector, input, out),
                None => {
                    std::ptr::copy(input, out, vector.bytes);
                    Ok(())
                }
            }
        }
    }

    /// What the members have beside messages.
    pub(crate) fn beside(&self) -> Beside {
        Beside::Levels { capacity: self.capacity, widest: self.nodes.widest() }
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
    pub fn bcast(&self, adi: &Adi, buffer: &Buffer, root: u32) -> Result<(), Mismatch> {
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
    }

    /// See [`crate::reduce`]. `input` is this member's vector, and `recv` matters at the root. A node combines `part` bytes in one turn.
    ///
    /// # Safety
    /// `input`, and `recv` at the root, hold the vector.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn reduce(
        &self, adi: &Adi, rank: u32, (vector, part): (&Vector, usize), input: *const u8, recv: &Buffer, op: &Operator,
        root: u32,
    ) -> Result<(), Mismatch> {
        let (node, place) = self.nodes.places[root as usize];
        let mut space: Vec<u64> = Vec::new();
        let out = match rank == root {
            true => recv.base,
            false => {
                space.resize(vector.bytes.div_ceil(8), 0);
                space.as_mut_ptr().cast()
            }
        };
        let result = Buffer { base: out, ..recv.clone() };
        // SAFETY: the caller's promise; `out` is its memory or as long.
        unsafe { self.reduce_here(adi, (vector, part), input, out) }?;
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
    }

    /// See [`crate::allreduce`]. `input` is this member's vector. A node combines `part` bytes in one turn.
    ///
    /// # Safety
    /// `input` and `recv` hold the vector.
    pub unsafe fn allreduce(
        &self, adi: &Adi, (vector, part): (&Vector, usize), input: *const u8, recv: &Buffer, op: &Operator,
    ) -> Result<(), Mismatch> {
        // SAFETY: the caller's promise.
        unsafe { self.reduce_here(adi, (vector, part), input, recv.base) }?;
        self.lead_all(adi, recv.bytes(), |leaders| crate::allreduce(leaders, None, recv, op))?;
        self.tell(adi, 0, recv)
    }

    /// See [`crate::allgather`]. `send` is `None` for MPI_IN_PLACE.
    pub fn allgather(&self, adi: &Adi, rank: u32, send: Option<&Buffer>, recv: &Buffer) -> Result<(), Mismatch> {
        let len = recv.bytes();
        let all = len * self.nodes.places.len();
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
        done
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
    }
}
