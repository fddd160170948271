//! What each collective has to do at this process: arguments in, schedule out. The blocking,
//! nonblocking and persistent forms share these (MPI 5.0 chapter 6).

use crate::args::{Counts, Handles};
use crate::check::active::Access::{Read, Write};
use crate::check::active::Use;
use crate::check::{self, Blocks, Said, blocks, each, each_v, each_w, for_all, uses, with};
use crate::collective::args::*;
use crate::error::Result;
use crate::objects::{Comm, Datatype, Operation};
use std::rc::Rc;
use tern_adi::Adi;
use tern_coll::fast::{self, Taken};
use tern_coll::lines::refusal::{Call as Of, Known};
use tern_coll::{Buffer, Operator, Peers, Root, Schedule, What};
use tern_counters as counters;

/// A collective with its arguments at this process, checked.
pub(crate) enum Plan {
    Barrier,
    Bcast {
        buffer: Buffer,
        root: Root,
    },
    Gather {
        send: Option<Buffer>,
        recv: Option<Buffer>,
        root: Root,
    },
    Scatter {
        send: Option<Buffer>,
        recv: Option<Buffer>,
        root: Root,
    },
    Allgather {
        send: Option<Buffer>,
        recv: Buffer,
    },
    Alltoall {
        send: Option<Buffer>,
        recv: Buffer,
    },
    Reduce {
        send: Option<Buffer>,
        recv: Option<Buffer>,
        op: Operator,
        root: Root,
    },
    Allreduce {
        send: Option<Buffer>,
        recv: Buffer,
        op: Operator,
    },
    Scan {
        send: Option<Buffer>,
        recv: Buffer,
        op: Operator,
        exclusive: bool,
    },
    /// `recv` is one block, the send side has one for each rank.
    ReduceScatterBlock {
        send: Option<Buffer>,
        recv: Buffer,
        op: Operator,
    },
    /// What no fast path knows, with its root, if there is one, and with what the members compare if the program is checked.
    Blocks(Of, Option<Root>, Schedule, Option<Box<Said>>),
}

/// The vector of one side, null where there is none or it is in place.
fn base(buffer: &Option<Buffer>) -> *mut u8 {
    buffer.as_ref().map_or(std::ptr::null_mut(), |buffer| buffer.base)
}

impl Plan {
    /// What has to be sent, received and computed.
    pub(crate) fn schedule(self, peers: &Peers) -> Schedule {
        match self {
            Plan::Barrier => tern_coll::barrier(peers),
            Plan::Bcast { buffer, root } => tern_coll::bcast(peers, &buffer, root),
            Plan::Gather { send, recv, root } => tern_coll::gather(peers, send.as_ref(), recv.as_ref(), root),
            Plan::Scatter { send, recv, root } => tern_coll::scatter(peers, send.as_ref(), recv.as_ref(), root),
            Plan::Allgather { send, recv } => tern_coll::allgather(peers, send.as_ref(), &recv),
            Plan::Alltoall { send, recv } => tern_coll::alltoall(peers, send.as_ref(), &recv),
            Plan::Reduce { send, recv, op, root } => tern_coll::reduce(peers, send.as_ref(), recv.as_ref(), &op, root),
            Plan::Allreduce { send, recv, op } => tern_coll::allreduce(peers, send.as_ref(), &recv, &op),
            Plan::Scan { send, recv, op, exclusive: false } => tern_coll::scan(peers, send.as_ref(), &recv, &op),
            Plan::Scan { send, recv, op, exclusive: true } => tern_coll::exscan(peers, send.as_ref(), &recv, &op),
            Plan::ReduceScatterBlock { send, recv, op } => {
                tern_coll::reduce_scatter_block(peers, send.as_ref(), &recv, &op)
            }
            Plan::Blocks(_, _, schedule, _) => schedule,
        }
    }

    /// What it is as a persistent collective over lines of its own, if these serve it.
    pub(crate) fn repeated(&self) -> Option<What> {
        match self {
            Plan::Barrier => Some(What::Barrier),
            Plan::Allgather { send, recv } => Some(What::Allgather { send: send.clone(), recv: recv.clone() }),
            Plan::Alltoall { send, recv } => Some(What::Alltoall { send: send.clone(), recv: recv.clone() }),
            Plan::Allreduce { send, recv, op } => {
                What::reduction(base(send), recv.base, recv.count, &recv.ty, op, false)
            }
            Plan::ReduceScatterBlock { send, recv, op } => {
                What::reduction(base(send), recv.base, recv.count, &recv.ty, op, true)
            }
            _ => None,
        }
    }

    /// What all members know of it.
    pub(crate) fn known(&self) -> Known {
        let rank = |root: &Root| if let Root::Rank(rank) = root { *rank } else { 0 };
        let of = |call, root: Option<&Root>, buffer: Option<&Buffer>| Known {
            call,
            root: root.map_or(0, rank),
            bytes: buffer.map_or(0, Buffer::bytes),
        };
        // Of what is no vector, the members do not ask whether it lies in shared memory.
        let vector = |op: &Operator, buffer| Some(buffer).filter(|buffer: &&Buffer| buffer.is_vector(op));
        match self {
            Plan::Barrier => of(Of::Barrier, None, None),
            Plan::Bcast { buffer, root } => of(Of::Bcast, Some(root), Some(buffer)),
            Plan::Gather { send, recv, root } => of(Of::Gather, Some(root), send.as_ref().or(recv.as_ref())),
            Plan::Scatter { send, recv, root } => of(Of::Scatter, Some(root), recv.as_ref().or(send.as_ref())),
            Plan::Allgather { recv, .. } => of(Of::Allgather, None, Some(recv)),
            Plan::Alltoall { recv, .. } => of(Of::Alltoall, None, Some(recv)),
            Plan::Reduce { send, recv, root, op } => {
                of(Of::Reduce, Some(root), send.as_ref().or(recv.as_ref()).and_then(|buffer| vector(op, buffer)))
            }
            Plan::Allreduce { recv, op, .. } => of(Of::Allreduce, None, vector(op, recv)),
            Plan::Scan { recv, op, exclusive: false, .. } => of(Of::Scan, None, vector(op, recv)),
            Plan::Scan { recv, op, exclusive: true, .. } => of(Of::Exscan, None, vector(op, recv)),
            Plan::ReduceScatterBlock { recv, op, .. } => of(Of::ReduceScatterBlock, None, vector(op, recv)),
            Plan::Blocks(call, root, ..) => of(*call, root.as_ref(), None),
        }
    }

    /// Does it by what there is beside messages, if that serves it; `None`: it has messages alone.
    #[inline]
    pub(crate) fn fast(&self, adi: &Adi, peers: &Peers) -> Option<Taken> {
        Some(match self {
            Plan::Barrier => fast::barrier(adi, peers),
            Plan::Bcast { buffer, root: Root::Rank(root) } => fast::bcast(adi, peers, buffer, *root),
            Plan::Gather { send, recv, root: Root::Rank(root) } => {
                fast::gather(adi, peers, send.as_ref(), recv.as_ref(), *root)
            }
            Plan::Scatter { send, recv, root: Root::Rank(root) } => {
                fast::scatter(adi, peers, send.as_ref(), recv.as_ref(), *root)
            }
            Plan::Allgather { send, recv } => fast::allgather(adi, peers, send.as_ref(), recv),
            Plan::Alltoall { send, recv } => fast::alltoall(adi, peers, send.as_ref(), recv),
            Plan::Reduce { send, recv, op, root: Root::Rank(root) } => {
                let Buffer { count, ty, .. } = send.as_ref().or(recv.as_ref())?;
                fast::reduce(adi, peers, base(send), base(recv), *count, ty, op, *root)
            }
            Plan::Allreduce { send, recv, op } => fast::allreduce(adi, peers, base(send), recv, op),
            Plan::Scan { send, recv, op, exclusive } => {
                fast::scan(adi, peers, *exclusive, base(send), recv.base, recv.count, &recv.ty, op)
            }
            Plan::ReduceScatterBlock { send, recv, op } => {
                fast::reduce_scatter_block(adi, peers, base(send), recv.base, recv.count, &recv.ty, op)
            }
            _ => return None,
        })
    }
}

/// All memory of a call.
fn memory(one: impl IntoIterator<Item = Use>, other: impl IntoIterator<Item = Use>) -> Vec<Use> {
    one.into_iter().chain(other).collect()
}

/// MPI_Barrier (section 6.3).
pub(crate) fn barrier() -> Plan {
    counters::BARRIER.add(1);
    Plan::Barrier
}

/// MPI_Bcast (section 6.4).
pub(crate) fn bcast(base: *mut u8, count: i64, datatype: &Rc<Datatype>, root: i32, comm: &Comm) -> Result<Plan> {
    counters::BCAST.add(1);
    let root = self::root(root, comm)?;
    let buffer = match root {
        Root::None => Buffer { base, count: 0, ty: datatype.layout.clone() },
        _ => buffer(base, count, datatype)?,
    };
    Ok(Plan::Bcast { buffer, root })
}

/// MPI_Gather (section 6.5).
#[allow(clippy::too_many_arguments)]
pub(crate) fn gather(
    sendbuf: *const u8, sendcount: i64, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: &Rc<Datatype>, root: i32, comm: &Comm,
) -> Result<Plan> {
    counters::GATHER.add(1);
    let root = self::root(root, comm)?;
    let part = part(root, comm);
    check_in_place(sendbuf, part)?;
    let send = if part.leaf { input(sendbuf, sendcount, sendtype)? } else { None };
    let recv = if part.root { Some(buffer(recvbuf, recvcount, recvtype)?) } else { None };
    if let Some(recv) = recv.as_ref().filter(|_| part.leaf) {
        check_input_apart(send.as_ref(), first_for(recv, comm.rank))?;
    }
    Ok(Plan::Gather { send, recv, root })
}

/// MPI_Gatherv (section 6.5).
#[allow(clippy::too_many_arguments)]
pub(crate) fn gatherv(
    sendbuf: *const u8, sendcount: i64, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts, displs: Counts,
    recvtype: &Rc<Datatype>, root: i32, comm: &Comm,
) -> Result<Plan> {
    counters::GATHER.add(1);
    let root = self::root(root, comm)?;
    let part = part(root, comm);
    check_in_place(sendbuf, part)?;
    let send = if part.leaf { input(sendbuf, sendcount, sendtype)? } else { None };
    let recv = if part.root { Some(buffer_v(recvbuf, recvcounts, displs, recvtype, ranks(comm))?) } else { None };
    if let Some(recv) = recv.as_ref().filter(|_| part.leaf) {
        check_input_apart(send.as_ref(), first_for_v(recv, comm.rank as usize))?;
    }
    let call = blocks(|| Blocks {
        root: Some(root),
        gives: with(root, send.as_ref()),
        takes: each_v(recv.as_ref()),
        op: None,
        uses: memory(uses::whole("sendbuf", Read, send.as_ref(), 1), uses::each_v("recvbuf", Write, recv.as_ref())),
        edges: false,
    });
    Ok(Plan::Blocks(Of::Gatherv, Some(root), tern_coll::gatherv(&comm.peers, send.as_ref(), recv.as_ref(), root), call))
}

/// MPI_Scatter (section 6.6).
#[allow(clippy::too_many_arguments)]
pub(crate) fn scatter(
    sendbuf: *const u8, sendcount: i64, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: &Rc<Datatype>, root: i32, comm: &Comm,
) -> Result<Plan> {
    counters::SCATTER.add(1);
    let root = self::root(root, comm)?;
    let part = part(root, comm);
    check_in_place(recvbuf, part)?;
    let send = if part.root { Some(buffer(sendbuf, sendcount, sendtype)?) } else { None };
    let recv = if part.leaf { input(recvbuf, recvcount, recvtype)? } else { None };
    if let Some(send) = send.as_ref().filter(|_| part.leaf) {
        check_input_apart(recv.as_ref(), first_for(send, comm.rank))?;
    }
    Ok(Plan::Scatter { send, recv, root })
}

/// MPI_Scatterv (section 6.6).
#[allow(clippy::too_many_arguments)]
pub(crate) fn scatterv(
    sendbuf: *const u8, sendcounts: Counts, displs: Counts, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: &Rc<Datatype>, root: i32, comm: &Comm,
) -> Result<Plan> {
    counters::SCATTER.add(1);
    let root = self::root(root, comm)?;
    let part = part(root, comm);
    check_in_place(recvbuf, part)?;
    let send = if part.root { Some(buffer_v(sendbuf, sendcounts, displs, sendtype, ranks(comm))?) } else { None };
    let recv = if part.leaf { input(recvbuf, recvcount, recvtype)? } else { None };
    if let Some(send) = send.as_ref().filter(|_| part.leaf) {
        check_input_apart(recv.as_ref(), first_for_v(send, comm.rank as usize))?;
    }
    let call = blocks(|| Blocks {
        root: Some(root),
        gives: each_v(send.as_ref()),
        takes: with(root, recv.as_ref()),
        op: None,
        uses: memory(uses::whole("recvbuf", Write, recv.as_ref(), 1), uses::each_v("sendbuf", Read, send.as_ref())),
        edges: false,
    });
    Ok(Plan::Blocks(
        Of::Scatterv,
        Some(root),
        tern_coll::scatterv(&comm.peers, send.as_ref(), recv.as_ref(), root),
        call,
    ))
}

/// MPI_Allgather (section 6.7).
pub(crate) fn allgather(
    sendbuf: *const u8, sendcount: i64, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: &Rc<Datatype>, comm: &Comm,
) -> Result<Plan> {
    counters::ALLGATHER.add(1);
    let send = input(sendbuf, sendcount, sendtype)?;
    let recv = buffer(recvbuf, recvcount, recvtype)?;
    if !comm.is_inter() {
        check_input_apart(send.as_ref(), first_for(&recv, comm.rank))?;
    }
    Ok(Plan::Allgather { send, recv })
}

/// MPI_Allgatherv (section 6.7).
#[allow(clippy::too_many_arguments)]
pub(crate) fn allgatherv(
    sendbuf: *const u8, sendcount: i64, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcounts: Counts, displs: Counts,
    recvtype: &Rc<Datatype>, comm: &Comm,
) -> Result<Plan> {
    counters::ALLGATHER.add(1);
    let send = input(sendbuf, sendcount, sendtype)?;
    let recv = buffer_v(recvbuf, recvcounts, displs, recvtype, ranks(comm))?;
    if !comm.is_inter() {
        check_input_apart(send.as_ref(), first_for_v(&recv, comm.rank as usize))?;
    }
    let call = blocks(|| Blocks {
        gives: for_all(send.as_ref()),
        takes: each_v(Some(&recv)),
        uses: memory(uses::whole("sendbuf", Read, send.as_ref(), 1), uses::each_v("recvbuf", Write, Some(&recv))),
        ..Blocks::default()
    });
    Ok(Plan::Blocks(Of::Allgatherv, None, tern_coll::allgatherv(&comm.peers, send.as_ref(), &recv), call))
}

/// MPI_Alltoall (section 6.8).
pub(crate) fn alltoall(
    sendbuf: *const u8, sendcount: i64, sendtype: &Rc<Datatype>, recvbuf: *mut u8, recvcount: i64,
    recvtype: &Rc<Datatype>,
) -> Result<Plan> {
    counters::ALLTOALL.add(1);
    let send = input(sendbuf, sendcount, sendtype)?;
    let recv = buffer(recvbuf, recvcount, recvtype)?;
    check_input_apart(send.as_ref(), first_of(&recv))?;
    Ok(Plan::Alltoall { send, recv })
}

/// MPI_Alltoallv (section 6.8).
#[allow(clippy::too_many_arguments)]
pub(crate) fn alltoallv(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtype: &Rc<Datatype>, recvbuf: *mut u8,
    recvcounts: Counts, rdispls: Counts, recvtype: &Rc<Datatype>, comm: &Comm,
) -> Result<Plan> {
    counters::ALLTOALL.add(1);
    let send = match is_in_place(sendbuf) {
        true => None,
        false => Some(buffer_v(sendbuf, sendcounts, sdispls, sendtype, ranks(comm))?),
    };
    let recv = buffer_v(recvbuf, recvcounts, rdispls, recvtype, ranks(comm))?;
    if let Some(send) = &send {
        (0..ranks(comm)).try_for_each(|rank| check_apart(first_for_v(send, rank), first_for_v(&recv, rank)))?;
    }
    let call = blocks(|| {
        let gives = each_v(Some(send.as_ref().unwrap_or(&recv)));
        let sends = uses::each_v("sendbuf", Read, send.as_ref());
        let uses = memory(sends, uses::each_v("recvbuf", Write, Some(&recv)));
        Blocks { gives, takes: each_v(Some(&recv)), uses, ..Blocks::default() }
    });
    Ok(Plan::Blocks(Of::Alltoallv, None, tern_coll::alltoallv(&comm.peers, send.as_ref(), &recv), call))
}

/// MPI_Alltoallw (section 6.8).
#[allow(clippy::too_many_arguments)]
pub(crate) fn alltoallw(
    sendbuf: *const u8, sendcounts: Counts, sdispls: Counts, sendtypes: Handles, recvbuf: *mut u8, recvcounts: Counts,
    rdispls: Counts, recvtypes: Handles, comm: &Comm,
) -> Result<Plan> {
    counters::ALLTOALL.add(1);
    let send = match is_in_place(sendbuf) {
        true => None,
        false => Some(buffer_w(sendbuf, sendcounts, sdispls, sendtypes, ranks(comm))?),
    };
    let recv = buffer_w(recvbuf, recvcounts, rdispls, recvtypes, ranks(comm))?;
    if let Some(send) = &send {
        (0..ranks(comm)).try_for_each(|rank| check_apart(first_for_w(send, rank), first_for_w(&recv, rank)))?;
    }
    let call = blocks(|| {
        let gives = each_w(Some(send.as_ref().unwrap_or(&recv)));
        let sends = uses::each_w("sendbuf", Read, send.as_ref());
        let uses = memory(sends, uses::each_w("recvbuf", Write, Some(&recv)));
        Blocks { gives, takes: each_w(Some(&recv)), uses, ..Blocks::default() }
    });
    Ok(Plan::Blocks(Of::Alltoallw, None, tern_coll::alltoallw(&comm.peers, send.as_ref(), &recv), call))
}

/// MPI_Reduce (section 6.9.1).
pub(crate) fn reduce(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: &Rc<Datatype>, op: &Operation, root: i32, comm: &Comm,
) -> Result<Plan> {
    counters::REDUCE.add(1);
    let root = self::root(root, comm)?;
    let part = part(root, comm);
    check_in_place(sendbuf, part)?;
    let send = if part.leaf { input(sendbuf, count, datatype)? } else { None };
    let recv = if part.root { Some(buffer(recvbuf, count, datatype)?) } else { None };
    if let Some(recv) = &recv {
        check_input_apart(send.as_ref(), first_of(recv))?;
    }
    if root == Root::None {
        return Ok(Plan::Reduce { send: None, recv: None, op: unused_operator(), root });
    }
    Ok(Plan::Reduce { send, recv, op: op.on(datatype)?, root })
}

/// An operator where none is applied.
fn unused_operator() -> tern_coll::Operator {
    tern_coll::Operator::Predefined(tern_coll::ops::Op::Sum)
}

/// MPI_Allreduce (section 6.9.6).
pub(crate) fn allreduce(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: &Rc<Datatype>, op: &Operation,
) -> Result<Plan> {
    counters::ALLREDUCE.add(1);
    let (send, recv) = vectors(sendbuf, recvbuf, count, datatype)?;
    Ok(Plan::Allreduce { send, recv, op: op.on(datatype)? })
}

/// The input, unless in place, and the output of a reduction to all.
fn vectors(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: &Rc<Datatype>,
) -> Result<(Option<Buffer>, Buffer)> {
    let send = input(sendbuf, count, datatype)?;
    let recv = buffer(recvbuf, count, datatype)?;
    check_input_apart(send.as_ref(), first_of(&recv))?;
    Ok((send, recv))
}

/// MPI_Reduce_scatter_block (section 6.10.1).
pub(crate) fn reduce_scatter_block(
    sendbuf: *const u8, recvbuf: *mut u8, recvcount: i64, datatype: &Rc<Datatype>, op: &Operation, comm: &Comm,
) -> Result<Plan> {
    counters::REDUCE_SCATTER.add(1);
    let counts = || vec![recvcount; comm.size() as usize];
    if check::is_on() {
        return scatter_blocks(sendbuf, recvbuf, &counts(), datatype, op, comm);
    }
    let send = input(sendbuf, recvcount * i64::from(comm.size()), datatype)?;
    let recv = buffer(recvbuf, recvcount, datatype)?;
    check_input_apart(send.as_ref(), first_of(&recv))?;
    Ok(Plan::ReduceScatterBlock { send, recv, op: op.on(datatype)? })
}

/// MPI_Reduce_scatter (section 6.10.2).
pub(crate) fn reduce_scatter(
    sendbuf: *const u8, recvbuf: *mut u8, recvcounts: Counts, datatype: &Rc<Datatype>, op: &Operation, comm: &Comm,
) -> Result<Plan> {
    counters::REDUCE_SCATTER.add(1);
    scatter_blocks(sendbuf, recvbuf, &block_counts(recvcounts, comm)?, datatype, op, comm)
}

fn scatter_blocks(
    sendbuf: *const u8, recvbuf: *mut u8, counts: &[i64], datatype: &Rc<Datatype>, op: &Operation, comm: &Comm,
) -> Result<Plan> {
    let send = input(sendbuf, counts.iter().sum(), datatype)?;
    let recv = buffer(recvbuf, counts[comm.rank as usize], datatype)?;
    check_input_apart(send.as_ref(), first_of(&recv))?;
    let op = op.on(datatype)?;
    let call = blocks(|| Blocks {
        op: Some(&op),
        gives: each(counts, &datatype.layout),
        takes: for_all(Some(&recv)),
        root: None,
        uses: memory(uses::whole("sendbuf", Read, send.as_ref(), 1), uses::whole("recvbuf", Write, Some(&recv), 1)),
        edges: false,
    });
    Ok(Plan::Blocks(
        Of::ReduceScatter,
        None,
        tern_coll::reduce_scatter(&comm.peers, send.as_ref(), &recv, counts, &op),
        call,
    ))
}

/// MPI_Scan (section 6.11.1).
pub(crate) fn scan(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: &Rc<Datatype>, op: &Operation, comm: &Comm,
) -> Result<Plan> {
    counters::SCAN.add(1);
    check_intra(comm, "MPI_Scan")?;
    let (send, recv) = vectors(sendbuf, recvbuf, count, datatype)?;
    Ok(Plan::Scan { send, recv, op: op.on(datatype)?, exclusive: false })
}

/// MPI_Exscan (section 6.11.2). The result of rank 0 is not significant.
pub(crate) fn exscan(
    sendbuf: *const u8, recvbuf: *mut u8, count: i64, datatype: &Rc<Datatype>, op: &Operation, comm: &Comm,
) -> Result<Plan> {
    counters::SCAN.add(1);
    check_intra(comm, "MPI_Exscan")?;
    let (send, recv) = match comm.rank == 0 && !is_in_place(sendbuf) {
        // Rank 0 gets nothing, so it need not give a place for it. But one that the other ranks' calls would be refused for
        // is refused here too, so that all ranks are told.
        true => {
            let (send, recv) =
                (input(sendbuf, count, datatype)?, Buffer { base: recvbuf, count, ty: datatype.layout.clone() });
            check_input_apart(send.as_ref(), if recvbuf.is_null() { recvbuf } else { first_of(&recv) })?;
            (send, recv)
        }
        false => vectors(sendbuf, recvbuf, count, datatype)?,
    };
    Ok(Plan::Scan { send, recv, op: op.on(datatype)?, exclusive: true })
}
