//! What is under way in this process and what its calls wait for, with the processes at the other end: for reports, and for who calls those
//! that it waits for.

use crate::objects::{Comm, objects};
use crate::runtime::{adi, runtime};
use crate::win::{Win, wins};
use std::rc::Rc;
use tern_adi::{Awaited, Holding, Pattern, Pending, PendingKind, UNKNOWN};
use tern_pmi::report::{Item, What};

/// What is waited for, and what is under way besides.
pub fn divided(awaited: Option<&Awaited>) -> (Vec<Item>, Vec<Pending>) {
    let pending = adi().pending();
    let is_awaited = |entry: &Pending| match awaited {
        Some(Awaited::Transfers(ids) | Awaited::Any(ids)) => entry.request.is_some_and(|id| ids.contains(&id)),
        Some(Awaited::Own) => !entry.named && entry.what != PendingKind::Message,
        _ => false,
    };
    let mut waits: Vec<Item> = awaited.and_then(alone).into_iter().collect();
    let (awaited, besides): (Vec<Pending>, Vec<Pending>) = pending.into_iter().partition(is_awaited);
    waits.extend(awaited.iter().map(under_way));
    (waits, besides)
}

/// What is waited for without a transfer.
pub fn alone(awaited: &Awaited) -> Option<Item> {
    Some(match awaited {
        Awaited::Members { context, procs } => members(*context, procs),
        Awaited::Lock { context, rank, held, holders } => lock(*context, *rank, *held, holders),
        Awaited::Message { from, pattern, bytes } => {
            let what = if bytes.is_some() { What::Receive } else { What::Probe };
            let known = (*from != UNKNOWN).then_some(*from);
            item(what, known, Some(*pattern), *bytes)
        }
        Awaited::Own | Awaited::Transfers(_) | Awaited::Any(_) => return None,
    })
}

/// A transfer, or a message that nobody has received.
pub fn under_way(entry: &Pending) -> Item {
    let what = match entry.what {
        PendingKind::Send => What::Send,
        PendingKind::Receive => What::Receive,
        PendingKind::Message => What::Message,
    };
    item(what, entry.peer, entry.pattern, Some(entry.bytes))
}

/// `peer` is the process at the other end, if it is known without the pattern's source.
fn item(what: What, peer: Option<u32>, pattern: Option<Pattern>, bytes: Option<u64>) -> Item {
    let comm = pattern.and_then(|pattern| find(pattern.context));
    let peers = match (peer, pattern, &comm) {
        (Some(peer), _, _) => vec![peer],
        (None, Some(Pattern { source, .. }), Some((_, procs))) if source >= 0 => {
            procs.get(source as usize).copied().into_iter().collect()
        }
        (None, Some(_), Some((_, procs))) => procs.iter().copied().filter(|&proc| proc != runtime().me).collect(),
        _ => Vec::new(),
    };
    // Tags of collectives are numbers of their own.
    let inside = pattern.is_some_and(|pattern| pattern.context % 2 == 1);
    let tag = pattern.map(|pattern| pattern.tag).filter(|_| !inside);
    let mut name = comm.map(|(label, _)| label).unwrap_or_default();
    if inside {
        name = format!("a collective on {name}");
    }
    Item { what, peers, tag, bytes, comm: name }
}

fn members(context: u32, procs: &[u32]) -> Item {
    let comm = find(context).map(|(label, _)| label).unwrap_or_default();
    Item { what: What::Member, peers: procs.to_vec(), tag: None, bytes: None, comm }
}

/// The lock of a member of the window with that context, or of all.
fn lock(context: u32, rank: Option<u32>, held: Holding, holders: &[u32]) -> Item {
    let what = match held {
        Holding::Unknown => What::Lock,
        Holding::Alone => What::LockAlone,
        Holding::Shared => What::LockShared,
        Holding::Unanswered => What::LockUnanswered,
    };
    let wins = wins().borrow();
    let comm = match wins.iter().find(|win| win.window.peers().context == context) {
        Some(win) => lock_name(win, rank),
        None => String::new(),
    };
    Item { what, peers: holders.to_vec(), tag: None, bytes: None, comm }
}

/// "rank 1 of the window counters"
pub fn lock_name(win: &Win, rank: Option<u32>) -> String {
    let of = rank.map_or("all ranks".into(), |rank| format!("rank {rank}"));
    match win.name.borrow().as_str() {
        "" => format!("{of} of {}", win.label()),
        name => format!("{of} of the window {name}"),
    }
}

/// The communicator with that context, or whose collectives have it, or the window: its name, and the processes that it sends to.
fn find(context: u32) -> Option<(String, Rc<[u32]>)> {
    let is = |comm: &Comm| comm.context / 2 == context / 2;
    let objects = objects();
    let (world, own, comms) = (objects.world.borrow(), objects.own.borrow(), objects.comms.borrow());
    if let Some(comm) = world.iter().chain(own.iter()).chain(comms.iter()).find(|comm| is(comm)) {
        return Some((comm.label(), comm.target().procs.clone()));
    }
    let wins = wins().borrow();
    let win = wins.iter().find(|win| is(&win.comm))?;
    Some((win.label(), win.comm.target().procs.clone()))
}
