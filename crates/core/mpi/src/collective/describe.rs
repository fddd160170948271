//! What a collective says of itself where the program is checked ([`crate::check`]).

use super::plan::Plan;
use crate::check::active::{Access, Use};
use crate::check::call::{ALL, Call};
use crate::check::{function, one, rank, reduction, sign, uses};
use crate::objects::Comm;
use tern_coll::Root;

/// What this process says of the collective that it calls.
pub(crate) fn describe(comm: &Comm, plan: &Plan) -> Call {
    let mut call = match plan {
        // Ranks of two groups are not told apart here.
        _ if comm.is_inter() => Call::default(),
        Plan::Blocks(.., said) => said.as_ref().map(|said| said.call.clone()).unwrap_or_default(),
        // Made only where nothing is compared.
        Plan::Barrier | Plan::ReduceScatterBlock { .. } => Call::default(),
        Plan::Bcast { buffer, root } => {
            let (sign, is_root) = (sign(&buffer.ty, buffer.count), *root == Root::Rank(comm.rank as u32));
            let blocks = vec![(if is_root { ALL } else { rank(*root).unwrap_or(ALL) }, sign)];
            let (gives, takes) = if is_root { (blocks, Vec::new()) } else { (Vec::new(), blocks) };
            Call { root: rank(*root), gives, takes, ..Call::default() }
        }
        Plan::Gather { send, recv, root } => {
            Call { root: rank(*root), gives: one(rank(*root), send), takes: one(Some(ALL), recv), ..Call::default() }
        }
        Plan::Scatter { send, recv, root } => {
            Call { root: rank(*root), gives: one(Some(ALL), send), takes: one(rank(*root), recv), ..Call::default() }
        }
        Plan::Allgather { send, recv } | Plan::Alltoall { send, recv } => {
            let recv = Some(recv.clone());
            let gives = one(Some(ALL), if send.is_some() { send } else { &recv });
            Call { gives, takes: one(Some(ALL), &recv), ..Call::default() }
        }
        Plan::Reduce { send, recv, op, root } => {
            Call { root: rank(*root), ..reduction(send.as_ref().or(recv.as_ref()), op) }
        }
        Plan::Allreduce { recv, op, .. } | Plan::Scan { recv, op, .. } => reduction(Some(recv), op),
    };
    call.function = function();
    call
}

/// The memory that this process gives to the collective.
pub(crate) fn memory(comm: &Comm, plan: &Plan) -> Vec<Use> {
    let ranks = i64::from(comm.target().size());
    let reads = |buffer: &Option<_>, blocks| uses::whole("sendbuf", Access::Read, buffer.as_ref(), blocks);
    let writes = |buffer: Option<&_>, blocks| uses::whole("recvbuf", Access::Write, buffer, blocks);
    let both = match plan {
        Plan::Barrier => [None, None],
        Plan::Blocks(.., said) => return said.as_ref().map_or_else(Vec::new, |said| said.uses.clone()),
        Plan::Bcast { root: Root::None, .. } => [None, None],
        Plan::Bcast { buffer, root } => {
            let is_root = *root == Root::Root || !comm.is_inter() && *root == Root::Rank(comm.rank as u32);
            [uses::whole("buffer", if is_root { Access::Read } else { Access::Write }, Some(buffer), 1), None]
        }
        Plan::Gather { send, recv, .. } => [reads(send, 1), writes(recv.as_ref(), ranks)],
        Plan::Scatter { send, recv, .. } => [reads(send, ranks), writes(recv.as_ref(), 1)],
        Plan::Allgather { send, recv } => [reads(send, 1), writes(Some(recv), ranks)],
        Plan::Alltoall { send, recv } => [reads(send, ranks), writes(Some(recv), ranks)],
        Plan::Reduce { send, recv, .. } => [reads(send, 1), writes(recv.as_ref(), 1)],
        Plan::ReduceScatterBlock { send, recv, .. } => [reads(send, ranks), writes(Some(recv), 1)],
        // Rank 0 gets nothing: its recvbuf may be no memory, or holds its part and stays as it is.
        Plan::Scan { send, recv, exclusive: true, .. } if comm.rank == 0 => match send {
            Some(_) => [reads(send, 1), None],
            None => [uses::whole("recvbuf", Access::Read, Some(recv), 1), None],
        },
        Plan::Allreduce { send, recv, .. } | Plan::Scan { send, recv, .. } => [reads(send, 1), writes(Some(recv), 1)],
    };
    both.into_iter().flatten().collect()
}
