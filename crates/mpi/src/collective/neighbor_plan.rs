//! What each neighbourhood collective has to do at this process (MPI 5.0 section 8.6).

use crate::args::{Counts, Handles};
use crate::collective::args::*;
use crate::collective::plan::Plan;
use crate::constants::*;
use crate::error::Result;
use crate::objects::{Comm, Datatype, Topology};
use std::rc::Rc;
use tern_coll::Neighbours;
use tern_coll::lines::refusal::Call as Of;

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
    Ok(Plan::Other(
        Of::NeighborAllgather,
        tern_coll::neighbor_allgather(&comm.peers, around.as_neighbours(), &send, &recv),
    ))
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
    Ok(Plan::Other(
        Of::NeighborAllgatherv,
        tern_coll::neighbor_allgatherv(&comm.peers, around.as_neighbours(), &send, &recv),
    ))
}

/// MPI_Neighbor_alltoall.
pub(crate) fn alltoall(
    sendbuf: *const u8, sendcount: i64, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: &Rc<Datatype>, comm: &Comm,
) -> Result<Plan> {
    let around = Around::of(comm)?;
    let (send, recv) = (buffer(sendbuf, sendcount, sendtype)?, buffer(recvbuf, recvcount, recvtype)?);
    Ok(Plan::Other(
        Of::NeighborAlltoall,
        tern_coll::neighbor_alltoall(&comm.peers, around.as_neighbours(), &send, &recv),
    ))
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
    Ok(Plan::Other(
        Of::NeighborAlltoallv,
        tern_coll::neighbor_alltoallv(&comm.peers, around.as_neighbours(), &send, &recv),
    ))
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
    Ok(Plan::Other(
        Of::NeighborAlltoallw,
        tern_coll::neighbor_alltoallw(&comm.peers, around.as_neighbours(), &send, &recv),
    ))
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
