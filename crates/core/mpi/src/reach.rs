//! Who waits long for another process calls it: a firewall may keep that one from calling this process, and not the reverse. What it has
//! sent comes then, or is known to be lost.
//!
//! It makes no difference whether a program waits inside MPI or calls MPI_Test, MPI_Iprobe and the like in a loop. The engine says now and
//! then that a look has found nothing, whatever else moves meanwhile. Receives tell whom they wait for; all else is noted.

mod waits;

use crate::guarded::Guarded;
use crate::runtime::{adi, runtime};
use crate::{awaits, noted, underway};
use std::cell::{Cell, RefCell};
use std::time::Instant;
use tern_adi::{Awaited, Proc};
use tern_pmi::report::Item;
use waits::Waits;

/// Most processes that are called at once because a call waits for any of them. More are called one after another.
const FEW: usize = 64;

/// Times that it looks so in TERN_PEER_TIMEOUT.
const LOOKS: u32 = 32;

struct State {
    /// When it was looked last whom this process waits for.
    looked: Cell<Option<Instant>>,
    waits: RefCell<Waits>,
}

static STATE: Guarded<State> = Guarded::new(State { looked: Cell::new(None), waits: RefCell::new(Waits::new()) });

/// Begins to look, if others are on other nodes. MPI has just come up.
pub fn start() {
    let nodes = &runtime().nodes;
    if nodes.iter().any(|node| *node != nodes[0]) {
        noted::start();
        adi().on_idle(call_long_awaited);
    }
}

/// A call waits for that, and has slept.
pub fn slept(awaited: Awaited) {
    if noted::is_on() {
        noted::note(|| awaited);
        call_long_awaited();
    }
}

/// Calls those that this process has waited for as long as TERN_PEER_TIMEOUT, and again after as long. Who is connected is not called.
fn call_long_awaited() {
    let state = STATE.get();
    let (now, silence) = (Instant::now(), tern_settings::PEER_TIMEOUT.get());
    if state.looked.get().is_some_and(|last| now - last < silence / LOOKS) {
        return;
    }
    state.looked.set(Some(now));
    let (few, many) = awaited_peers();
    let called = state.waits.borrow_mut().see(now, silence, few, many);
    called.into_iter().for_each(|peer| adi().mcm().reach(peer));
}

/// The other processes of this job that this one waits for: those of waits for one or for any of few, and those of waits for any of many.
fn awaited_peers() -> (Vec<Proc>, Vec<Proc>) {
    let (_, pending) = underway::divided(None);
    let noted = noted::take();
    let items = noted.iter().filter_map(underway::alone).chain(pending.iter().map(underway::under_way));
    let (few, many): (Vec<Item>, Vec<Item>) = items.partition(|item| item.peers.len() <= FEW);
    let is_other = |peer: &Proc| *peer < runtime().world_size && *peer != runtime().me;
    let peers = |items: Vec<Item>| items.into_iter().flat_map(|item| item.peers).filter(is_other);
    (peers(few).chain(awaits::procs().into_iter().filter(is_other)).collect(), peers(many).collect())
}
