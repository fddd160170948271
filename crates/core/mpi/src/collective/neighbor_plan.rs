//! What each neighbourhood collective has to do at this process (MPI 5.0 section 8.6).

use crate::args::{Counts, Handles};
use crate::check::active::{Access, Use};
use crate::check::{self, Blocks, Said};
use crate::collective::args::*;
use crate::collective::plan::Plan;
use crate::constants::*;
use crate::error::Result;
use crate::objects::{Comm, Datatype, Topology};
use std::rc::Rc;
use tern_adi::Data;
use tern_coll::lines::refusal::Call as Of;
use tern_coll::{Buffer, BufferV, BufferW, Neighbours};
use tern_layout::Type;

/// The neighbours of this process, in the order of the blocks.
struct Around {
    sources: Vec<i32>,
    destinations: Vec<i32>,
    cartesian: bool,
}

impl Around {
    fn of(comm: &Comm) -> Result<Around> {
        let Some(topology) = comm.topology.borrow().clone() else {
            return err!(MPI_ERR_TOPOLOGY, "the communicator has no topology, so it has no neighbours");
        };
        tern_counters::NEIGHBOR.add(1);
        Ok(match &*topology {
            Topology::Cartesian { dims, periods } => {
                let both = grid_neighbours(dims, periods, comm.rank);
                Around { sources: both.clone(), destinations: both, cartesian: true }
            }
            Topology::Graph { index, edges } => {
                let rank = comm.rank as usize;
                let from = if rank == 0 { 0 } else { index[rank - 1] as usize };
                let both = edges[from..index[rank] as usize].to_vec();
                Around { sources: both.clone(), destinations: both, cartesian: false }
            }
            Topology::Distributed { sources, destinations, .. } => {
                Around { sources: sources.clone(), destinations: destinations.clone(), cartesian: false }
            }
        })
    }

    fn as_neighbours(&self) -> Neighbours<'_> {
        Neighbours { sources: &self.sources, destinations: &self.destinations, cartesian: self.cartesian }
    }
}

/// The memory of one neighbour.
struct Block {
    base: *mut u8,
    count: i64,
    ty: Rc<Type>,
}

/// As many blocks of one size: side by side if they lie `apart`, or else the same one.
fn equal(buffer: &Buffer, neighbours: usize, apart: bool) -> Vec<Block> {
    let Buffer { base, count, ty } = buffer;
    let step = if apart { count.wrapping_mul(ty.extent()) } else { 0 };
    let at = |number: usize| base.wrapping_offset(step.wrapping_mul(number as i64) as isize);
    (0..neighbours).map(|number| Block { base: at(number), count: *count, ty: ty.clone() }).collect()
}

fn each_v(buffer: &BufferV) -> Vec<Block> {
    let BufferV { base, counts, displs, ty } = buffer;
    let at = |displ: i64| base.wrapping_offset(displ.wrapping_mul(ty.extent()) as isize);
    let block = |(&count, &displ): (&i64, &i64)| Block { base: at(displ), count, ty: ty.clone() };
    counts.iter().zip(displs.iter()).map(block).collect()
}

fn each_w(buffer: &BufferW) -> Vec<Block> {
    let BufferW { base, counts, displs, types } = buffer;
    let places = counts.iter().zip(displs.iter()).zip(types.iter());
    let block = |((&count, &displ), ty): ((&i64, &i64), &Rc<Type>)| Block {
        base: base.wrapping_offset(displ as isize),
        count,
        ty: ty.clone(),
    };
    places.map(block).collect()
}

impl Around {
    /// What the members compare, if the program is checked: a block for each neighbour. What has none over an edge is left alone.
    fn said(&self, gives: impl FnOnce() -> Vec<Block>, takes: impl FnOnce() -> Vec<Block>) -> Option<Box<Said>> {
        check::blocks(|| {
            let there = |(rank, _): &(i32, Block)| *rank != MPI_PROC_NULL;
            let out: Vec<(i32, Block)> = self.destinations.iter().copied().zip(gives()).filter(there).collect();
            let mut places: Vec<(i32, Block)> = self.sources.iter().copied().zip(takes()).collect();
            if self.cartesian {
                // What goes in one direction comes from the other one: two blocks of one neighbour meet so.
                places.chunks_exact_mut(2).for_each(|both| both.swap(0, 1));
            }
            let into: Vec<(i32, Block)> = places.into_iter().filter(there).collect();
            let used = |argument, access| {
                move |(_, block): &(i32, Block)| Use {
                    argument,
                    access,
                    data: Data::new(block.base, block.count, &block.ty),
                }
            };
            let reads = out.iter().map(used("sendbuf", Access::Read));
            let uses = reads.chain(into.iter().map(used("recvbuf", Access::Write))).collect();
            let sign = |(rank, block): &(i32, Block)| (*rank, check::sign(&block.ty, block.count));
            let (gives, takes) = (out.iter().map(sign).collect(), into.iter().map(sign).collect());
            Blocks { gives, takes, uses, edges: true, ..Blocks::default() }
        })
    }
}

/// In each dimension the neighbour in negative, then that in positive direction, as
/// MPI_Cart_shift by 1 gives them; MPI_PROC_NULL over an edge. Ranks are in row-major order.
fn grid_neighbours(dims: &[i32], periods: &[bool], rank: i32) -> Vec<i32> {
    let mut neighbours = vec![MPI_PROC_NULL; 2 * dims.len()];
    let mut stride = 1;
    for d in (0..dims.len()).rev() {
        let here = rank / stride % dims[d];
        for (side, step) in [(0, -1), (1, 1)] {
            let there = here + step;
            if periods[d] || (0..dims[d]).contains(&there) {
                neighbours[2 * d + side] = rank + (there.rem_euclid(dims[d]) - here) * stride;
            }
        }
        stride *= dims[d];
    }
    neighbours
}

/// MPI_Neighbor_allgather.
pub(crate) fn allgather(
    sendbuf: *const u8, sendcount: i64, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: &Rc<Datatype>, comm: &Comm,
) -> Result<Plan> {
    let around = Around::of(comm)?;
    let (send, recv) = (buffer(sendbuf, sendcount, sendtype)?, buffer(recvbuf, recvcount, recvtype)?);
    let said =
        around.said(|| equal(&send, around.destinations.len(), false), || equal(&recv, around.sources.len(), true));
    let schedule = tern_coll::neighbor_allgather(&comm.peers, around.as_neighbours(), &send, &recv);
    Ok(Plan::Blocks(Of::NeighborAllgather, None, schedule, said))
}

/// MPI_Neighbor_allgatherv.
#[allow(clippy::too_many_arguments)]
pub(crate) fn allgatherv(
    sendbuf: *const u8, sendcount: i64, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts, displs: Counts,
    recvtype: &Rc<Datatype>, comm: &Comm,
) -> Result<Plan> {
    let around = Around::of(comm)?;
    let send = buffer(sendbuf, sendcount, sendtype)?;
    let recv = buffer_v(recvbuf, recvcounts, displs, recvtype, around.sources.len())?;
    let said = around.said(|| equal(&send, around.destinations.len(), false), || each_v(&recv));
    let schedule = tern_coll::neighbor_allgatherv(&comm.peers, around.as_neighbours(), &send, &recv);
    Ok(Plan::Blocks(Of::NeighborAllgatherv, None, schedule, said))
}

/// MPI_Neighbor_alltoall.
pub(crate) fn alltoall(
    sendbuf: *const u8, sendcount: i64, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: &Rc<Datatype>, comm: &Comm,
) -> Result<Plan> {
    let around = Around::of(comm)?;
    let (send, recv) = (buffer(sendbuf, sendcount, sendtype)?, buffer(recvbuf, recvcount, recvtype)?);
    let said =
        around.said(|| equal(&send, around.destinations.len(), true), || equal(&recv, around.sources.len(), true));
    let schedule = tern_coll::neighbor_alltoall(&comm.peers, around.as_neighbours(), &send, &recv);
    Ok(Plan::Blocks(Of::NeighborAlltoall, None, schedule, said))
}

/// MPI_Neighbor_alltoallv.
#[allow(clippy::too_many_arguments)]
pub(crate) fn alltoallv(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtype: &Rc<Datatype>, recvbuf: *mut u8,
    recvcounts: Counts, rdispls: Counts, recvtype: &Rc<Datatype>, comm: &Comm,
) -> Result<Plan> {
    let around = Around::of(comm)?;
    let send = buffer_v(sendbuf, sendcounts, sdispls, sendtype, around.destinations.len())?;
    let recv = buffer_v(recvbuf, recvcounts, rdispls, recvtype, around.sources.len())?;
    let said = around.said(|| each_v(&send), || each_v(&recv));
    let schedule = tern_coll::neighbor_alltoallv(&comm.peers, around.as_neighbours(), &send, &recv);
    Ok(Plan::Blocks(Of::NeighborAlltoallv, None, schedule, said))
}

/// MPI_Neighbor_alltoallw.
#[allow(clippy::too_many_arguments)]
pub(crate) fn alltoallw(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: *mut u8, recvcounts: Counts,
    rdispls: Counts, recvtypes: Handles, comm: &Comm,
) -> Result<Plan> {
    let around = Around::of(comm)?;
    let send = buffer_w(sendbuf, sendcounts, sdispls, sendtypes, around.destinations.len())?;
    let recv = buffer_w(recvbuf, recvcounts, rdispls, recvtypes, around.sources.len())?;
    let said = around.said(|| each_w(&send), || each_w(&recv));
    let schedule = tern_coll::neighbor_alltoallw(&comm.peers, around.as_neighbours(), &send, &recv);
    Ok(Plan::Blocks(Of::NeighborAlltoallw, None, schedule, said))
}

#[cfg(test)]
mod tests {
    use super::grid_neighbours;
    use crate::constants::MPI_PROC_NULL;

    #[test]
    fn neighbours_in_a_grid_with_one_ring() {
        // 2 x 3, the second dimension periodic: ranks 0 1 2 / 3 4 5.
        assert_eq!(grid_neighbours(&[2, 3], &[false, true], 0), [MPI_PROC_NULL, 3, 2, 1]);
        assert_eq!(grid_neighbours(&[2, 3], &[false, true], 5), [2, MPI_PROC_NULL, 4, 3]);
    }

    #[test]
    fn in_a_ring_of_one_each_is_its_own_neighbour() {
        assert_eq!(grid_neighbours(&[1], &[true], 0), [0, 0]);
        assert_eq!(grid_neighbours(&[1], &[false], 0), [MPI_PROC_NULL, MPI_PROC_NULL]);
    }
}
