//! What a collective says of itself where the program is checked ([`crate::check`]).

use super::plan::Plan;
use crate::check::call::{ALL, Call};
use crate::check::{function, one, rank, reduction, sign};
use crate::objects::Comm;
use tern_coll::Root;

/// What this process says of the collective that it calls.
pub(crate) fn describe(comm: &Comm, plan: &Plan) -> Call {
    let mut call = match plan {
        // Ranks of two groups are not told apart here.
        _ if comm.is_inter() => Call::default(),
        Plan::Blocks(.., call) => call.as_deref().cloned().unwrap_or_default(),
        // Made only where nothing is compared.
        Plan::Barrier | Plan::Other(..) | Plan::ReduceScatterBlock { .. } => Call::default(),
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
