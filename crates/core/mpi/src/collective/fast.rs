//! The short ways of collectives; see [`crate::fast`], of which this is a part. They serve
//! what goes over control lines and is dense: other types, intercommunicators and errors go the general way.

// The functions have the parameters of the standard.
#![allow(clippy::too_many_arguments)]

use crate::collective::args::is_in_place;
use crate::collective::mismatched;
use crate::datatype::predefined::{dense_basic, dense_size};
use crate::error::Fast;
use crate::mode::is_single;
use crate::objects::comm;
use crate::op;
use crate::runtime::adi;
use std::ptr::null_mut;
use std::rc::Rc;
use tern_adi::Adi;
use tern_coll::dense;
use tern_coll::ops::Op;
use tern_coll::{Peers, lines};
use tern_counters::{self as counters, Counter};

/// Addresses below are no memory: null, MPI_IN_PLACE and their like.
const FIRST_PAGE: usize = 4096;

/// Most elements served, so that no number of bytes overflows.
const MOST: i64 = 1 << 32;

/// The engine and who takes part, for a call that needs no lock.
#[inline(always)]
fn peers(comm: usize) -> Option<(&'static Adi, Rc<Peers>)> {
    let adi = is_single().then(adi)?;
    let peers = comm::find(comm, |comm| comm.quick.get().then(|| comm.peers.clone()))?;
    Some((adi, peers))
}

/// A root that exists, and whether this process is it.
#[inline(always)]
fn is_root(peers: &Peers, root: i32) -> Option<bool> {
    ((root as u32) < peers.size()).then_some(root as u32 == peers.rank)
}

/// The bytes of dense elements that are there.
#[inline(always)]
fn bytes(buf: *const u8, count: i64, datatype: usize) -> Option<usize> {
    let there = buf as usize >= FIRST_PAGE && (1..MOST).contains(&count);
    there.then_some(count as usize * dense_size(datatype)?)
}

/// What has become of a call over the lines.
#[inline(always)]
fn done(served: lines::Fast, counter: &Counter, comm: usize) -> Fast {
    let done = served?;
    counter.add(1);
    counters::COLLECTIVE_LINES.add(1);
    Some(done.map_err(|mismatch| mismatched(&comm::lookup(comm).expect("found before"), mismatch)))
}

/// One side of a gather or a scatter: memory, count and type.
type Side = (*mut u8, i64, usize);

/// This process's own memory in a gather or a scatter, null if it is in place at the root, and the bytes that each member has.
/// `all` is the side that matters at the root only. There both sides must agree, unless the own one is in place;
/// elsewhere only the own side matters.
#[inline(always)]
fn own_block(peers: &Peers, root: i32, own: Side, all: Side) -> Option<(*mut u8, usize)> {
    let (memory, count, datatype) = own;
    let len = bytes(memory, count, datatype);
    if !is_root(peers, root)? {
        return if is_in_place(memory) { None } else { Some((memory, len?)) };
    }
    let whole = bytes(all.0, all.1, all.2)?;
    if is_in_place(memory) {
        return Some((null_mut(), whole));
    }
    let apart = all.0.wrapping_add(whole * peers.rank as usize) != memory;
    (len == Some(whole) && apart).then_some((memory, whole))
}

#[inline(always)]
pub fn gather(
    send: *mut u8, send_count: i64, send_type: usize, recv: *mut u8, recv_count: i64, recv_type: usize, root: i32,
    comm: usize,
) -> Fast {
    let (adi, peers) = peers(comm)?;
    let (send, len) = own_block(&peers, root, (send, send_count, send_type), (recv, recv_count, recv_type))?;
    // SAFETY: the program's buffers, which are there as MPI asks.
    let served = unsafe { dense::gather(adi, &peers, send, recv, len, root as u32) };
    done(served, &counters::GATHER, comm)
}

#[inline(always)]
pub fn scatter(
    send: *mut u8, send_count: i64, send_type: usize, recv: *mut u8, recv_count: i64, recv_type: usize, root: i32,
    comm: usize,
) -> Fast {
    let (adi, peers) = peers(comm)?;
    let (recv, len) = own_block(&peers, root, (recv, recv_count, recv_type), (send, send_count, send_type))?;
    // SAFETY: the program's buffers, which are there as MPI asks.
    let served = unsafe { dense::scatter(adi, &peers, send, recv, len, root as u32) };
    done(served, &counters::SCATTER, comm)
}

/// A reduction to the root, or to all if there is none.
#[inline(always)]
fn reduction(
    send: *mut u8, recv: *mut u8, count: i64, datatype: usize, op: usize, root: Option<i32>, comm: usize,
    counter: &Counter,
) -> Fast {
    let (adi, peers) = peers(comm)?;
    let basic = dense_basic(datatype)?;
    let op = op::known(op).filter(|op| !matches!(op, Op::Replace | Op::NoOp))?;
    let here = match root {
        Some(root) => is_root(&peers, root)?,
        None => true,
    };
    let in_place = here && is_in_place(send);
    let send = if in_place { null_mut() } else { send };
    if !in_place {
        bytes(send, count, datatype)?;
    }
    if here {
        bytes(recv, count, datatype).filter(|_| recv != send)?;
    }
    let root = root.map(|root| root as u32);
    // SAFETY: the program's buffers, which are there as MPI asks.
    let served = unsafe { dense::reduce(adi, &peers, send, recv, count as usize, (op, basic), root) };
    done(served, counter, comm)
}

#[inline(always)]
pub fn reduce(send: *mut u8, recv: *mut u8, count: i64, datatype: usize, op: usize, root: i32, comm: usize) -> Fast {
    reduction(send, recv, count, datatype, op, Some(root), comm, &counters::REDUCE)
}

#[inline(always)]
pub fn allreduce(send: *mut u8, recv: *mut u8, count: i64, datatype: usize, op: usize, comm: usize) -> Fast {
    reduction(send, recv, count, datatype, op, None, comm, &counters::ALLREDUCE)
}

#[inline(always)]
pub fn barrier(comm: usize) -> Fast {
    let (adi, peers) = peers(comm)?;
    let served = peers.lines(adi).filter(|lines| !lines.have_trees()).map(|lines| lines.barrier(adi));
    done(served, &counters::BARRIER, comm)
}

#[inline(always)]
pub fn bcast(buf: *mut u8, count: i64, datatype: usize, root: i32, comm: usize) -> Fast {
    let (adi, peers) = peers(comm)?;
    is_root(&peers, root)?;
    let len = bytes(buf, count, datatype)?;
    // SAFETY: the program's buffer, which is there as MPI asks.
    let served = unsafe { dense::bcast(adi, &peers, buf, len, root as u32) };
    done(served, &counters::BCAST, comm)
}
