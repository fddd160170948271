//! Virtual topologies of communicators (MPI 5.0 chapter 8): what they are and what is asked of
//! them. How communicators with one are made is in [`crate::topology::create`], how dimensions
//! are chosen in [`crate::topology::dims`].
//!
//! Processes keep their ranks: `reorder` gives the library leave, not an order.

pub mod create;
pub mod dims;
pub mod reorder;

use crate::args::{Counts, Out, OutArray};
use crate::constants::*;
use crate::error::Result;
use crate::objects::{Comm, Topology};
use std::rc::Rc;

/// Coordinates of `rank` in a grid.
pub fn coordinates(dims: &[i32], rank: i32) -> Vec<i32> {
    let mut rest = rank;
    let mut coords = vec![0; dims.len()];
    for (coord, &dim) in coords.iter_mut().zip(dims).rev() {
        *coord = rest % dim;
        rest /= dim;
    }
    coords
}

/// Rank at `coords`, which wrap around in periodic dimensions; `None` outside of the grid.
pub fn rank_at(dims: &[i32], periods: &[bool], coords: &[i32]) -> Option<i32> {
    let mut rank = 0;
    for ((&dim, &periodic), &coord) in dims.iter().zip(periods).zip(coords) {
        let coord = if periodic { coord.rem_euclid(dim) } else { coord };
        if !(0..dim).contains(&coord) {
            return None;
        }
        rank = rank * dim + coord;
    }
    Some(rank)
}

/// How many neighbours send to this process, and how many it sends to; `None` without a topology.
pub fn degrees(comm: &Comm) -> Option<(usize, usize)> {
    Some(match &**comm.topology.borrow().as_ref()? {
        Topology::Cartesian { dims, .. } => (2 * dims.len(), 2 * dims.len()),
        Topology::Graph { index, edges } => {
            let count = neighbours(index, edges, comm.rank).len();
            (count, count)
        }
        Topology::Distributed { sources, destinations, .. } => (sources.len(), destinations.len()),
    })
}

/// The grid of a communicator that has one.
pub(crate) fn grid<T>(comm: &Comm, then: impl FnOnce(&[i32], &[bool]) -> Result<T>) -> Result<T> {
    match comm.topology.borrow().as_deref() {
        Some(Topology::Cartesian { dims, periods }) => then(dims, periods),
        _ => err!(MPI_ERR_TOPOLOGY, "{} has no Cartesian topology (see MPI_Cart_create)", comm.label()),
    }
}

/// Index and edges of a communicator that has a graph.
fn graph<T>(comm: &Comm, then: impl FnOnce(&[i32], &[i32]) -> Result<T>) -> Result<T> {
    match comm.topology.borrow().as_deref() {
        Some(Topology::Graph { index, edges }) => then(index, edges),
        _ => err!(MPI_ERR_TOPOLOGY, "{} has no graph topology (see MPI_Graph_create)", comm.label()),
    }
}

fn check_room(what: &str, room: i32, needed: usize) -> Result<()> {
    if (room as i64) < needed as i64 {
        return err!(MPI_ERR_ARG, "there is room for {room} {what}, but {needed} are needed");
    }
    Ok(())
}

/// MPI_Topo_test
pub fn topo_test(comm: Rc<Comm>, status: Out<i32>) -> Result<()> {
    status.set(match comm.topology.borrow().as_deref() {
        None => MPI_UNDEFINED,
        Some(Topology::Cartesian { .. }) => MPI_CART,
        Some(Topology::Graph { .. }) => MPI_GRAPH,
        Some(Topology::Distributed { .. }) => MPI_DIST_GRAPH,
    });
    Ok(())
}

/// MPI_Cartdim_get
pub fn cartdim_get(comm: Rc<Comm>, ndims: Out<i32>) -> Result<()> {
    grid(&comm, |dims, _| {
        ndims.set(dims.len() as i32);
        Ok(())
    })
}

/// MPI_Cart_get
pub fn cart_get(
    comm: Rc<Comm>, maxdims: i32, dims_out: OutArray<i32>, periods_out: OutArray<i32>, coords_out: OutArray<i32>,
) -> Result<()> {
    grid(&comm, |dims, periods| {
        check_room("dimensions", maxdims, dims.len())?;
        let coords = coordinates(dims, comm.rank);
        for d in 0..dims.len() {
            dims_out.set(d, dims[d]);
            periods_out.set(d, periods[d] as i32);
            coords_out.set(d, coords[d]);
        }
        Ok(())
    })
}

/// MPI_Cart_rank
pub fn cart_rank(comm: Rc<Comm>, coords: Counts, rank: Out<i32>) -> Result<()> {
    grid(&comm, |dims, periods| {
        if coords.is_null() && !dims.is_empty() {
            return err!(MPI_ERR_ARG, "coords is a null pointer");
        }
        let coords: Vec<i32> = coords.list(dims.len())?.into_iter().map(|c| c as i32).collect();
        match rank_at(dims, periods, &coords) {
            Some(found) => rank.set(found),
            None => {
                return err!(
                    MPI_ERR_ARG,
                    "coordinates {coords:?} lie outside of the grid {dims:?}, \
                    and that dimension is not periodic"
                );
            }
        }
        Ok(())
    })
}

/// MPI_Cart_coords
pub fn cart_coords(comm: Rc<Comm>, rank: i32, maxdims: i32, coords: OutArray<i32>) -> Result<()> {
    grid(&comm, |dims, _| {
        check_room("dimensions", maxdims, dims.len())?;
        for (d, coord) in coordinates(dims, rank).into_iter().enumerate() {
            coords.set(d, coord);
        }
        Ok(())
    })
}

/// MPI_Cart_shift
pub fn cart_shift(comm: Rc<Comm>, direction: i32, disp: i32, rank_source: Out<i32>, rank_dest: Out<i32>) -> Result<()> {
    grid(&comm, |dims, periods| {
        let Some(&dim) = usize::try_from(direction).ok().and_then(|d| dims.get(d)) else {
            return err!(MPI_ERR_ARG, "direction {direction} was asked for; the grid has {} dimensions", dims.len());
        };
        let d = direction as usize;
        let here = coordinates(dims, comm.rank);
        let at = |steps: i64| {
            let there = here[d] as i64 + steps;
            let there = if periods[d] { there.rem_euclid(dim as i64) } else { there };
            let mut coords = here.clone();
            coords[d] = i32::try_from(there).ok()?;
            rank_at(dims, periods, &coords)
        };
        rank_source.set(at(-(disp as i64)).unwrap_or(MPI_PROC_NULL));
        rank_dest.set(at(disp as i64).unwrap_or(MPI_PROC_NULL));
        Ok(())
    })
}

/// MPI_Graphdims_get
pub fn graphdims_get(comm: Rc<Comm>, nnodes: Out<i32>, nedges: Out<i32>) -> Result<()> {
    graph(&comm, |index, edges| {
        nnodes.set(index.len() as i32);
        nedges.set(edges.len() as i32);
        Ok(())
    })
}

/// MPI_Graph_get
pub fn graph_get(
    comm: Rc<Comm>, maxindex: i32, maxedges: i32, index_out: OutArray<i32>, edges_out: OutArray<i32>,
) -> Result<()> {
    graph(&comm, |index, edges| {
        check_room("indices", maxindex, index.len())?;
        check_room("edges", maxedges, edges.len())?;
        store(index_out, index);
        store(edges_out, edges);
        Ok(())
    })
}

fn store(to: OutArray<i32>, values: &[i32]) {
    values.iter().enumerate().for_each(|(i, &value)| to.set(i, value));
}

/// The neighbours of `rank`.
fn neighbours<'a>(index: &[i32], edges: &'a [i32], rank: i32) -> &'a [i32] {
    let from = if rank == 0 { 0 } else { index[rank as usize - 1] };
    &edges[from as usize..index[rank as usize] as usize]
}

/// MPI_Graph_neighbors_count
pub fn graph_neighbors_count(comm: Rc<Comm>, rank: i32, nneighbors: Out<i32>) -> Result<()> {
    graph(&comm, |index, edges| {
        nneighbors.set(neighbours(index, edges, rank).len() as i32);
        Ok(())
    })
}

/// MPI_Graph_neighbors
pub fn graph_neighbors(comm: Rc<Comm>, rank: i32, maxneighbors: i32, out: OutArray<i32>) -> Result<()> {
    graph(&comm, |index, edges| {
        let found = neighbours(index, edges, rank);
        // As many as there is room for (section 8.5.5).
        store(out, &found[..found.len().min(maxneighbors as usize)]);
        Ok(())
    })
}

/// MPI_Dist_graph_neighbors_count
pub fn dist_graph_neighbors_count(
    comm: Rc<Comm>, indegree: Out<i32>, outdegree: Out<i32>, weighted: Out<i32>,
) -> Result<()> {
    distributed(&comm, |sources, destinations| {
        indegree.set(sources.0.len() as i32);
        outdegree.set(destinations.0.len() as i32);
        weighted.set(sources.1.is_some() as i32);
        Ok(())
    })
}

/// Ranks of neighbours and the weights of their edges.
type Edges<'a> = (&'a [i32], Option<&'a [i32]>);

fn distributed<T>(comm: &Comm, then: impl FnOnce(Edges, Edges) -> Result<T>) -> Result<T> {
    match comm.topology.borrow().as_deref() {
        Some(Topology::Distributed { sources, source_weights, destinations, destination_weights }) => {
            then((sources, source_weights.as_deref()), (destinations, destination_weights.as_deref()))
        }
        _ => err!(MPI_ERR_TOPOLOGY, "{} has no distributed graph topology (see MPI_Dist_graph_create)", comm.label()),
    }
}

/// MPI_Dist_graph_neighbors
pub fn dist_graph_neighbors(
    comm: Rc<Comm>, maxindegree: i32, sources_out: OutArray<i32>, sourceweights: Option<OutArray<i32>>,
    maxoutdegree: i32, destinations_out: OutArray<i32>, destweights: Option<OutArray<i32>>,
) -> Result<()> {
    let give = |(ranks, weights): Edges, room: i32, ranks_out: OutArray<i32>, weights_out: Option<OutArray<i32>>| {
        let count = ranks.len().min(room as usize);
        store(ranks_out, &ranks[..count]);
        if let (Some(weights), Some(out)) = (weights, weights_out) {
            store(out, &weights[..count]);
        }
    };
    distributed(&comm, |sources, destinations| {
        give(sources, maxindegree, sources_out, sourceweights);
        give(destinations, maxoutdegree, destinations_out, destweights);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_coordinates_are_each_others_inverse() {
        let dims = [3, 1, 4];
        for rank in 0..12 {
            let coords = coordinates(&dims, rank);
            assert_eq!(rank_at(&dims, &[false; 3], &coords), Some(rank));
        }
        assert_eq!(coordinates(&dims, 7), [1, 0, 3]);
        assert_eq!(rank_at(&[], &[], &[]), Some(0));
    }

    #[test]
    fn coordinates_wrap_in_periodic_dimensions_only() {
        assert_eq!(rank_at(&[3, 4], &[true, false], &[-1, 2]), Some(10));
        assert_eq!(rank_at(&[3, 4], &[true, false], &[7, 0]), Some(4));
        assert_eq!(rank_at(&[3, 4], &[true, false], &[0, 4]), None);
        assert_eq!(rank_at(&[3, 4], &[true, false], &[0, -1]), None);
    }

    #[test]
    fn a_graph_lists_neighbours_by_node() {
        // The graph of example 8.3 of the standard.
        let (index, edges) = ([2, 3, 4, 6], [1, 3, 0, 3, 0, 2]);
        assert_eq!(neighbours(&index, &edges, 0), [1, 3]);
        assert_eq!(neighbours(&index, &edges, 2), [3]);
        assert_eq!(neighbours(&index, &edges, 3), [0, 2]);
    }
}
