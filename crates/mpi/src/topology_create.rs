//! Making communicators with a topology (MPI 5.0 sections 8.5.1 to 8.5.4 and 8.5.8).

use crate::args::{Counts, Out, Weights};
use crate::comm::hand_out;
use crate::comm_create::{split, subset};
use crate::constants::*;
use crate::context::allocate;
use crate::error::Result;
use crate::exchange::{pack, unpack};
use crate::info;
use crate::objects::{Comm, Info};
use crate::task::run;
use crate::topology::{Topology, coordinates, grid};
use std::rc::Rc;

fn check_intra(comm: &Comm) -> Result<()> {
    if comm.is_inter() {
        return err!(MPI_ERR_COMM, "{} is an intercommunicator, which cannot have a topology", comm.label());
    }
    Ok(())
}

/// A communicator of the first `size` processes of `comm`, with a topology.
fn with_topology(comm: Rc<Comm>, size: i32, topology: Topology, newcomm: Out<usize>) -> Result<()> {
    let group = comm.local.derive(comm.local.procs[..size as usize].to_vec());
    give(run(subset(comm, group))?, Some(topology), newcomm)
}

/// Hands out what was made, with its topology.
fn give(made: Option<Comm>, topology: Option<Topology>, newcomm: Out<usize>) -> Result<()> {
    newcomm.set(made.map_or(MPI_COMM_NULL, |new| {
        *new.topology.borrow_mut() = topology.map(Rc::new);
        hand_out(new)
    }));
    Ok(())
}

fn ints(array: &Counts, len: usize) -> Vec<i32> {
    array.to_vec(len).into_iter().map(|value| value as i32).collect()
}

/// The number of processes in a grid; it must not have more than `comm`.
fn grid_size(dims: &[i32], comm: &Comm) -> Result<i32> {
    if let Some(dim) = dims.iter().find(|&&dim| dim <= 0) {
        return err!(MPI_ERR_DIMS, "the dimension {dim} of the grid {dims:?} is not above 0");
    }
    let size = dims.iter().try_fold(1i32, |product, &dim| product.checked_mul(dim));
    match size.filter(|&size| size <= comm.size()) {
        Some(size) => Ok(size),
        None => err!(MPI_ERR_DIMS, "the grid {dims:?} has more places than {} has processes, {}",
            comm.label(), comm.size()),
    }
}

/// MPI_Cart_create
pub fn cart_create(
    comm: Rc<Comm>,
    ndims: i32,
    dims: Counts,
    periods: Counts,
    _reorder: i32,
    comm_cart: Out<usize>,
) -> Result<()> {
    check_intra(&comm)?;
    let dims = ints(&dims, ndims as usize);
    let periods = periods.to_vec(ndims as usize).into_iter().map(|p| p != 0).collect();
    let size = grid_size(&dims, &comm)?;
    with_topology(comm, size, Topology::Cartesian { dims, periods }, comm_cart)
}

/// MPI_Cart_map: processes keep their ranks.
pub fn cart_map(comm: Rc<Comm>, ndims: i32, dims: Counts, _periods: Counts, newrank: Out<i32>) -> Result<()> {
    check_intra(&comm)?;
    let size = grid_size(&ints(&dims, ndims as usize), &comm)?;
    newrank.set(if comm.rank < size { comm.rank } else { MPI_UNDEFINED });
    Ok(())
}

/// MPI_Cart_sub
pub fn cart_sub(comm: Rc<Comm>, remain_dims: Counts, newcomm: Out<usize>) -> Result<()> {
    let (color, topology) = grid(&comm, |dims, periods| {
        if remain_dims.is_null() && !dims.is_empty() {
            return err!(MPI_ERR_ARG, "remain_dims is a null pointer");
        }
        let coords = coordinates(dims, comm.rank);
        let (mut color, mut kept) = (0, (Vec::new(), Vec::new()));
        for d in 0..dims.len() {
            if remain_dims.get(d) != 0 {
                kept.0.push(dims[d]);
                kept.1.push(periods[d]);
            } else {
                color = color * dims[d] + coords[d];
            }
        }
        Ok((color, Topology::Cartesian { dims: kept.0, periods: kept.1 }))
    })?;
    let key = comm.rank;
    give(run(split(comm, color, key))?, Some(topology), newcomm)
}

/// Reads a graph. MPI_ERR_TOPOLOGY when its index falls, MPI_ERR_RANK for an edge to no node.
fn read_graph(comm: &Comm, nnodes: i32, index: &Counts, edges: &Counts) -> Result<(Vec<i32>, Vec<i32>)> {
    check_intra(comm)?;
    if nnodes > comm.size() {
        return err!(MPI_ERR_TOPOLOGY, "the graph has {nnodes} nodes, but {} only {} processes",
            comm.label(), comm.size());
    }
    let index = ints(index, nnodes as usize);
    if index.iter().try_fold(0, |last, &next| (next >= last).then_some(next)).is_none() {
        return err!(MPI_ERR_TOPOLOGY, "the index {index:?} of the graph does not grow from 0 on");
    }
    let edges = ints(edges, index.last().map_or(0, |&n| n as usize));
    if let Some(edge) = edges.iter().find(|edge| !(0..nnodes).contains(*edge)) {
        return err!(MPI_ERR_RANK, "an edge of the graph goes to {edge}; nodes are 0 to {}", nnodes - 1);
    }
    Ok((index, edges))
}

/// MPI_Graph_create
pub fn graph_create(
    comm: Rc<Comm>,
    nnodes: i32,
    index: Counts,
    edges: Counts,
    _reorder: i32,
    comm_graph: Out<usize>,
) -> Result<()> {
    let (index, edges) = read_graph(&comm, nnodes, &index, &edges)?;
    with_topology(comm, nnodes, Topology::Graph { index, edges }, comm_graph)
}

/// MPI_Graph_map: processes keep their ranks.
pub fn graph_map(comm: Rc<Comm>, nnodes: i32, index: Counts, edges: Counts, newrank: Out<i32>) -> Result<()> {
    read_graph(&comm, nnodes, &index, &edges)?;
    newrank.set(if comm.rank < nnodes { comm.rank } else { MPI_UNDEFINED });
    Ok(())
}

/// The weights of `count` edges; `None` when there are none.
fn weights(given: Weights, count: usize) -> Result<Option<Vec<i32>>> {
    let weights = match given {
        Weights::Unweighted => return Ok(None),
        Weights::Empty => Vec::new(),
        Weights::Given(array) => ints(&array, count),
    };
    if weights.len() < count {
        return err!(MPI_ERR_ARG, "MPI_WEIGHTS_EMPTY is given for {count} edges; use MPI_UNWEIGHTED");
    }
    if let Some(negative) = weights.iter().find(|&&weight| weight < 0) {
        return err!(MPI_ERR_ARG, "the weight {negative} of an edge is negative");
    }
    Ok(Some(weights))
}

fn check_ranks(ranks: &[i32], comm: &Comm) -> Result<()> {
    match ranks.iter().find(|rank| !(0..comm.size()).contains(*rank)) {
        Some(rank) => err!(MPI_ERR_RANK, "an edge of the graph names rank {rank}, but {} has {} processes",
            comm.label(), comm.size()),
        None => Ok(()),
    }
}

/// MPI_Dist_graph_create_adjacent
#[allow(clippy::too_many_arguments)]
pub fn dist_graph_create_adjacent(
    comm: Rc<Comm>,
    indegree: i32,
    sources: Counts,
    sourceweights: Weights,
    outdegree: i32,
    destinations: Counts,
    destweights: Weights,
    info: Option<Rc<Info>>,
    _reorder: i32,
    comm_dist_graph: Out<usize>,
) -> Result<()> {
    check_intra(&comm)?;
    let sources = ints(&sources, indegree as usize);
    let destinations = ints(&destinations, outdegree as usize);
    check_ranks(&sources, &comm)?;
    check_ranks(&destinations, &comm)?;
    let topology = Topology::Distributed {
        source_weights: weights(sourceweights, sources.len())?,
        destination_weights: weights(destweights, destinations.len())?,
        sources,
        destinations,
    };
    let group = comm.local.clone();
    let made = run(subset(comm, group))?;
    if let Some(new) = &made {
        *new.info.borrow_mut() = info::map_of(&info);
    }
    give(made, Some(topology), comm_dist_graph)
}

/// MPI_Dist_graph_create: any process may name any edge.
#[allow(clippy::too_many_arguments)]
pub fn dist_graph_create(
    comm: Rc<Comm>,
    n: i32,
    sources: Counts,
    degrees: Counts,
    destinations: Counts,
    weights_given: Weights,
    info: Option<Rc<Info>>,
    _reorder: i32,
    comm_dist_graph: Out<usize>,
) -> Result<()> {
    check_intra(&comm)?;
    let sources = ints(&sources, n as usize);
    let degrees = ints(&degrees, n as usize);
    if let Some(negative) = degrees.iter().find(|&&degree| degree < 0) {
        return err!(MPI_ERR_ARG, "the degree {negative} of a node is negative");
    }
    let count: usize = degrees.iter().map(|&degree| degree as usize).sum();
    if destinations.is_null() && count > 0 {
        return err!(MPI_ERR_ARG, "destinations is a null pointer");
    }
    let destinations = ints(&destinations, count);
    check_ranks(&sources, &comm)?;
    check_ranks(&destinations, &comm)?;
    let weights = weights(weights_given, count)?;
    let starts = sources.iter().zip(&degrees).flat_map(|(&source, &degree)| vec![source; degree as usize]);
    let mut edges = vec![weights.is_some() as i32];
    for (i, (source, &destination)) in starts.zip(&destinations).enumerate() {
        edges.extend([source, destination, weights.as_ref().map_or(1, |w| w[i])]);
    }
    let hints = info::map_of(&info);
    let (made, topology) = run(distribute(comm, edges))?;
    *made.info.borrow_mut() = hints;
    give(Some(made), Some(topology), comm_dist_graph)
}

/// Gives every process all edges, of which each keeps its own. `edges` is whether they have
/// weights, then triples of source, destination and weight.
async fn distribute(comm: Rc<Comm>, edges: Vec<i32>) -> Result<(Comm, Topology)> {
    crate::check::met(&comm).await?;
    let circle = comm.circle();
    let all = circle.gather(&pack(&edges)).await;
    let all: Vec<Vec<i32>> = all.iter().map(|part| unpack(part)).collect();
    let topology = own_edges(&all, comm.rank);
    let id = allocate(&circle).await;
    let errhandler = comm.errhandler.borrow().clone();
    Ok((Comm::new(id, comm.local.clone(), None, errhandler), topology))
}

/// The edges that end or start at `rank`, of those that each process named.
fn own_edges(all: &[Vec<i32>], rank: i32) -> Topology {
    let weighted = all.iter().all(|part| part[0] != 0);
    let edges = || all.iter().flat_map(|part| part[1..].chunks_exact(3)).map(|e| (e[0], e[1], e[2]));
    let incoming: Vec<_> = edges().filter(|edge| edge.1 == rank).collect();
    let outgoing: Vec<_> = edges().filter(|edge| edge.0 == rank).collect();
    Topology::Distributed {
        sources: incoming.iter().map(|edge| edge.0).collect(),
        source_weights: weighted.then(|| incoming.iter().map(|edge| edge.2).collect()),
        destinations: outgoing.iter().map(|edge| edge.1).collect(),
        destination_weights: weighted.then(|| outgoing.iter().map(|edge| edge.2).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_keeps_the_edges_that_touch_it() {
        // Process 0 names 0->1 and 2->1, process 1 names 1->0.
        let all = [vec![1, 0, 1, 5, 2, 1, 6], vec![1, 1, 0, 7], vec![1]];
        let expected = Topology::Distributed {
            sources: vec![0, 2],
            source_weights: Some(vec![5, 6]),
            destinations: vec![0],
            destination_weights: Some(vec![7]),
        };
        assert_eq!(own_edges(&all, 1), expected);
        let nobody = own_edges(&[vec![0], vec![0]], 0);
        let Topology::Distributed { sources, source_weights, .. } = nobody else { panic!("a distributed graph") };
        assert!(sources.is_empty() && source_weights.is_none());
    }
}
