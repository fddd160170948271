//! Making communicators with a topology (MPI 5.0 sections 8.5.1 to 8.5.4 and 8.5.8).

use crate::args::{Counts, Out, Weights};
use crate::comm::create::subset;
use crate::comm::split::split;
use crate::comm::{hand_out, hints};
use crate::constants::*;
use crate::context::allocate;
use crate::error::{Result, no_memory};
use crate::exchange::{pack, unpack};
use crate::objects::{Comm, Group, Info, Topology};
use crate::runtime::runtime;
use crate::task::run;
use crate::topology::reorder::{self, Edge, Location};
use crate::topology::{coordinates, grid};
use std::rc::Rc;

fn check_intra(comm: &Comm) -> Result<()> {
    if comm.is_inter() {
        return err!(MPI_ERR_COMM, "{} is an intercommunicator, which cannot have a topology", comm.label());
    }
    Ok(())
}

/// A communicator of the first `size` processes of `comm`, with a topology. With `reorder` they change their
/// places so that ends of `edges` share caches.
fn with_topology(
    comm: Rc<Comm>, size: i32, topology: Topology, edges: Vec<Edge>, reorder: bool, newcomm: Out<usize>,
) -> Result<()> {
    let order = match reorder {
        true => run(arranged(comm.clone(), size as usize, edges))?,
        false => (0..size as usize).collect(),
    };
    let group = comm.local.derive(order.iter().map(|&old| comm.local.procs[old]).collect());
    give(subset(comm, group)?, Some(topology), newcomm)
}

/// For each of `size` new ranks the rank in `comm` of the process that takes it. All members call it, and
/// come to the same.
async fn arranged(comm: Rc<Comm>, size: usize, edges: Vec<Edge>) -> Result<Vec<usize>> {
    crate::check::met(&comm).await?;
    let host = runtime().nodes.get(runtime().me as usize).copied().unwrap_or(0);
    let own = Location::of(host, &tern_node::affinity());
    let all = comm.circle().gather(&pack(&own.0)).await?;
    let place = |bytes: &Vec<u8>| {
        let levels = unpack(bytes);
        Location(std::array::from_fn(|level| levels[level]))
    };
    let places: Vec<Location> = all[..size].iter().map(place).collect();
    Ok(reorder::reorder(&places, &edges))
}

/// The edges of a grid: to the next place in each dimension, in both directions.
fn grid_edges(dims: &[i32], periods: &[bool]) -> Vec<Edge> {
    let size: i32 = dims.iter().product();
    let mut edges = Vec::new();
    for from in 0..size {
        let mut stride = size;
        for (&dim, &periodic) in dims.iter().zip(periods) {
            stride /= dim;
            let here = from / stride % dim;
            let next = if here + 1 < dim { from + stride } else { from - here * stride };
            if here + 1 < dim || periodic {
                let (from, to) = (from as usize, next as usize);
                edges.extend([Edge { from, to, weight: 1 }, Edge { from: to, to: from, weight: 1 }]);
            }
        }
    }
    edges
}

/// The edges of a graph whose nodes have their neighbours in `edges` up to `index`.
fn graph_edges(index: &[i32], edges: &[i32]) -> Vec<Edge> {
    let mut all = Vec::with_capacity(edges.len());
    let mut at = 0;
    for (from, &end) in index.iter().enumerate() {
        all.extend(edges[at..end as usize].iter().map(|&to| Edge { from, to: to as usize, weight: 1 }));
        at = end as usize;
    }
    all
}

/// Hands out what was made, with its topology.
fn give(made: Option<Comm>, topology: Option<Topology>, newcomm: Out<usize>) -> Result<()> {
    newcomm.set(made.map_or(MPI_COMM_NULL, |new| {
        *new.topology.borrow_mut() = topology.map(Rc::new);
        hand_out(new)
    }));
    Ok(())
}

/// Errors: MPI_ERR_NO_MEM.
fn ints(array: &Counts, len: usize) -> Result<Vec<i32>> {
    let values = tern_memory::collect((0..len).map(|index| array.get(index) as i32));
    values.map_err(|lack| no_memory("a copy of an array of the call", lack))
}

/// The number of processes in a grid; it must not have more than `comm`.
fn grid_size(dims: &[i32], comm: &Comm) -> Result<i32> {
    if let Some(dim) = dims.iter().find(|&&dim| dim <= 0) {
        return err!(MPI_ERR_DIMS, "the dimension {dim} of the grid {dims:?} is not above 0");
    }
    let size = dims.iter().try_fold(1i32, |product, &dim| product.checked_mul(dim));
    match size.filter(|&size| size <= comm.size()) {
        Some(size) => Ok(size),
        None => {
            err!(MPI_ERR_DIMS, "the grid {dims:?} has more places than {} has processes, {}", comm.label(), comm.size())
        }
    }
}

/// MPI_Cart_create
pub fn cart_create(
    comm: Rc<Comm>, ndims: i32, dims: Counts, periods: Counts, reorder: i32, comm_cart: Out<usize>,
) -> Result<()> {
    check_intra(&comm)?;
    let dims = ints(&dims, ndims as usize)?;
    let periods: Vec<bool> = periods.list(ndims as usize)?.into_iter().map(|p| p != 0).collect();
    let size = grid_size(&dims, &comm).inspect_err(|_| comm_cart.set(MPI_COMM_NULL))?;
    let edges = if reorder != 0 { grid_edges(&dims, &periods) } else { Vec::new() };
    with_topology(comm, size, Topology::Cartesian { dims, periods }, edges, reorder != 0, comm_cart)
}

/// MPI_Cart_map: processes keep their ranks.
pub fn cart_map(comm: Rc<Comm>, ndims: i32, dims: Counts, _periods: Counts, newrank: Out<i32>) -> Result<()> {
    check_intra(&comm)?;
    let size = grid_size(&ints(&dims, ndims as usize)?, &comm)?;
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
    give(split(comm, color, key)?, Some(topology), newcomm)
}

/// Reads a graph. MPI_ERR_TOPOLOGY when its index falls, MPI_ERR_RANK for an edge to no node.
fn read_graph(comm: &Comm, nnodes: i32, index: &Counts, edges: &Counts) -> Result<(Vec<i32>, Vec<i32>)> {
    check_intra(comm)?;
    if nnodes > comm.size() {
        return err!(
            MPI_ERR_TOPOLOGY,
            try "start more processes, or make the graph smaller",
            "the graph has {nnodes} nodes, but {} only {} processes",
            comm.label(),
            comm.size()
        );
    }
    let index = ints(index, nnodes as usize)?;
    if index.iter().try_fold(0, |last, &next| (next >= last).then_some(next)).is_none() {
        return err!(
            MPI_ERR_TOPOLOGY,
            try "give, for each node, how many edges it and the nodes before it have",
            "the index {index:?} of the graph does not grow from 0 on"
        );
    }
    let edges = ints(edges, index.last().map_or(0, |&n| n as usize))?;
    if let Some(edge) = edges.iter().find(|edge| !(0..nnodes).contains(*edge)) {
        return err!(
            MPI_ERR_RANK,
            try "check the edges against the number of nodes",
            "an edge of the graph goes to {edge}; nodes are 0 to {}",
            nnodes - 1
        );
    }
    Ok((index, edges))
}

/// MPI_Graph_create
pub fn graph_create(
    comm: Rc<Comm>, nnodes: i32, index: Counts, edges: Counts, reorder: i32, comm_graph: Out<usize>,
) -> Result<()> {
    let (index, edges) = read_graph(&comm, nnodes, &index, &edges)?;
    let links = if reorder != 0 { graph_edges(&index, &edges) } else { Vec::new() };
    with_topology(comm, nnodes, Topology::Graph { index, edges }, links, reorder != 0, comm_graph)
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
        Weights::Given(array) => ints(&array, count)?,
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
        Some(rank) => err!(
            MPI_ERR_RANK,
            "an edge of the graph names rank {rank}, but {} has {} processes",
            comm.label(),
            comm.size()
        ),
        None => Ok(()),
    }
}

/// MPI_Dist_graph_create_adjacent
#[allow(clippy::too_many_arguments)]
pub fn dist_graph_create_adjacent(
    comm: Rc<Comm>, indegree: i32, sources: Counts, sourceweights: Weights, outdegree: i32, destinations: Counts,
    destweights: Weights, info: Option<Rc<Info>>, reorder: i32, comm_dist_graph: Out<usize>,
) -> Result<()> {
    check_intra(&comm)?;
    let sources = ints(&sources, indegree as usize)?;
    let destinations = ints(&destinations, outdegree as usize)?;
    check_ranks(&sources, &comm)?;
    check_ranks(&destinations, &comm)?;
    let topology = Topology::Distributed {
        source_weights: weights(sourceweights, sources.len())?,
        destination_weights: weights(destweights, destinations.len())?,
        sources,
        destinations,
    };
    let (group, topology) = match reorder {
        0 => (comm.local.clone(), topology),
        _ => run(exchange_places(comm.clone(), topology))?,
    };
    let made = subset(comm, group)?;
    if let Some(new) = &made {
        new.add_hints(&hints::taken(&info));
    }
    give(made, Some(topology), comm_dist_graph)
}

/// A new order of the processes of `comm`, of which each names the edges of its own rank, and the edges of the
/// rank that this process gets.
async fn exchange_places(comm: Rc<Comm>, own: Topology) -> Result<(Rc<Group>, Topology)> {
    crate::check::met(&comm).await?;
    let all = comm.circle().gather(&pack(&to_numbers(&own))).await?;
    let nodes: Vec<Topology> = all.iter().map(|bytes| from_numbers(&unpack(bytes))).collect();
    let edges = nodes.iter().enumerate().flat_map(|(from, node)| {
        let Topology::Distributed { destinations, destination_weights, .. } = node else { return Vec::new() };
        let weight = |i: usize| destination_weights.as_ref().map_or(1, |weights| weights[i] as u64);
        let edge = |(i, &to): (usize, &i32)| Edge { from, to: to as usize, weight: weight(i) };
        destinations.iter().enumerate().map(edge).collect::<Vec<_>>()
    });
    let order = arranged(comm.clone(), nodes.len(), edges.collect()).await?;
    let new_rank = order.iter().position(|&old| old as i32 == comm.rank).expect("a permutation");
    let group = comm.local.derive(order.iter().map(|&old| comm.local.procs[old]).collect());
    let topology = nodes.into_iter().nth(new_rank).expect("one for each rank");
    Ok((group, topology))
}

/// The edges of one node as numbers: both counts, whether there are weights, then the lists.
fn to_numbers(node: &Topology) -> Vec<i32> {
    let Topology::Distributed { sources, source_weights, destinations, destination_weights } = node else {
        return vec![0; 4];
    };
    let weighted = [source_weights, destination_weights].map(|weights| weights.is_some() as i32);
    let mut numbers = vec![sources.len() as i32, destinations.len() as i32, weighted[0], weighted[1]];
    let lists = [Some(sources), Some(destinations), source_weights.as_ref(), destination_weights.as_ref()];
    lists.into_iter().flatten().for_each(|list| numbers.extend(list));
    numbers
}

fn from_numbers(numbers: &[i32]) -> Topology {
    let (head, mut rest) = numbers.split_at(4);
    let mut take = |count: i32| {
        let (list, after) = rest.split_at(count as usize);
        rest = after;
        list.to_vec()
    };
    let (sources, destinations) = (take(head[0]), take(head[1]));
    let source_weights = (head[2] != 0).then(|| take(head[0]));
    let destination_weights = (head[3] != 0).then(|| take(head[1]));
    Topology::Distributed { sources, source_weights, destinations, destination_weights }
}

/// MPI_Dist_graph_create: any process may name any edge.
#[allow(clippy::too_many_arguments)]
pub fn dist_graph_create(
    comm: Rc<Comm>, n: i32, sources: Counts, degrees: Counts, destinations: Counts, weights_given: Weights,
    info: Option<Rc<Info>>, reorder: i32, comm_dist_graph: Out<usize>,
) -> Result<()> {
    check_intra(&comm)?;
    let sources = ints(&sources, n as usize)?;
    let degrees = ints(&degrees, n as usize)?;
    if let Some(negative) = degrees.iter().find(|&&degree| degree < 0) {
        return err!(MPI_ERR_ARG, "the degree {negative} of a node is negative");
    }
    let count: usize = degrees.iter().map(|&degree| degree as usize).sum();
    if destinations.is_null() && count > 0 {
        return err!(MPI_ERR_ARG, "destinations is a null pointer");
    }
    let destinations = ints(&destinations, count)?;
    check_ranks(&sources, &comm)?;
    check_ranks(&destinations, &comm)?;
    let weights = weights(weights_given, count)?;
    let starts = sources.iter().zip(&degrees).flat_map(|(&source, &degree)| vec![source; degree as usize]);
    let mut edges = vec![weights.is_some() as i32];
    for (i, (source, &destination)) in starts.zip(&destinations).enumerate() {
        edges.extend([source, destination, weights.as_ref().map_or(1, |w| w[i])]);
    }
    let hints = hints::taken(&info);
    let (made, topology) = run(distribute(comm, edges, reorder != 0))?;
    made.add_hints(&hints);
    give(Some(made), Some(topology), comm_dist_graph)
}

/// Gives every process all edges, of which each keeps its own. `edges` is whether they have
/// weights, then triples of source, destination and weight.
async fn distribute(comm: Rc<Comm>, edges: Vec<i32>, reorder: bool) -> Result<(Comm, Topology)> {
    crate::check::met(&comm).await?;
    let circle = comm.circle();
    let all = circle.gather(&pack(&edges)).await?;
    let all: Vec<Vec<i32>> = all.iter().map(|part| unpack(part)).collect();
    let group = match reorder {
        false => comm.local.clone(),
        true => {
            let parts = all.iter().flat_map(|part| part[1..].chunks_exact(3));
            let edge = |e: &[i32]| Edge { from: e[0] as usize, to: e[1] as usize, weight: e[2] as u64 };
            let order = arranged(comm.clone(), all.len(), parts.map(edge).collect()).await?;
            comm.local.derive(order.iter().map(|&old| comm.local.procs[old]).collect())
        }
    };
    let rank = group.rank_of(runtime().me).expect("all members are in it");
    let topology = own_edges(&all, rank);
    let id = allocate(&circle).await?;
    let errhandler = comm.errhandler.borrow().clone();
    Ok((Comm::new(id, group, None, errhandler), topology))
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
    fn a_node_survives_its_numbers() {
        for weights in [None, Some(vec![7, 9])] {
            let node = Topology::Distributed {
                sources: vec![3, 1],
                source_weights: weights.clone(),
                destinations: vec![],
                destination_weights: weights.map(|_| vec![]),
            };
            assert_eq!(from_numbers(&to_numbers(&node)), node);
        }
    }

    #[test]
    fn grids_and_graphs_have_their_edges() {
        let ends = |edges: Vec<Edge>| edges.iter().map(|edge| (edge.from, edge.to)).collect::<Vec<_>>();
        let row = ends(grid_edges(&[3], &[false]));
        assert_eq!(row, [(0, 1), (1, 0), (1, 2), (2, 1)]);
        let ring = ends(grid_edges(&[1, 3], &[false, true]));
        assert!(ring.contains(&(2, 0)) && ring.contains(&(0, 2)) && ring.len() == 6);
        let plane = ends(grid_edges(&[2, 2], &[false, false]));
        assert!(plane.contains(&(0, 2)) && plane.contains(&(1, 3)) && plane.len() == 8);
        assert_eq!(ends(graph_edges(&[2, 2, 3], &[1, 2, 0])), [(0, 1), (0, 2), (2, 0)]);
    }

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
