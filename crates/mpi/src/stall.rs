//! What this process waits for, told when nothing has moved for TERN_STALL or when the launcher asks.
//!
//! A call that waits says so after each of its sleeps ([`tern_adi::Observer`]); a program that calls
//! MPI_Test or MPI_Iprobe in a loop is noticed where its calls begin. Nothing of that runs unless
//! TERN_STALL is set. Between nodes, who waits long finds out besides whether those that it waits for can be reached.

use crate::guarded::Guarded;
use crate::identity::{self, Identity};
use crate::objects::{Comm, objects};
use crate::observe::{self, ACTIVITY};
use crate::runtime::{adi, installed, runtime};
use crate::win::{Win, wins};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tern_adi::{Awaited, Holding, Pattern, Pending, PendingKind, UNKNOWN};
use tern_pmi::report::{Item, Other, Report, What};

/// How often a program that does not wait inside MPI looks whether it was asked.
const LOOK: Duration = Duration::from_millis(100);

/// How many transfers and messages a report lists besides those that are waited for.
const LISTED: usize = 6;

struct State {
    /// The wait that goes on has been told already.
    told: Cell<bool>,
    /// How long nothing had moved at the last sleep.
    idle: Cell<Duration>,
    /// How long nothing had moved when it was found out whether others can be reached.
    reached: Cell<Duration>,
    /// Since when calls that look have found nothing.
    vain: Cell<Option<Instant>>,
    looked: Cell<Option<Instant>>,
}

static STATE: Guarded<State> = Guarded::new(State {
    told: Cell::new(false),
    idle: Cell::new(Duration::ZERO),
    reached: Cell::new(Duration::ZERO),
    vain: Cell::new(None),
    looked: Cell::new(None),
});

/// Begins to watch, if TERN_STALL is set or if others are on other nodes. MPI has just come up.
pub fn start() {
    let are_apart = runtime().nodes.iter().any(|node| *node != runtime().nodes[0]);
    if tern_settings::STALL.get().is_zero() {
        if are_apart {
            adi().observe(Rc::new(|_, idle, awaited| reach(idle, &awaited)));
        }
        return;
    }
    ACTIVITY.note(true, "MPI_Init");
    ACTIVITY.note(false, "MPI_Init");
    adi().observe(Rc::new(move |_, idle, awaited| {
        slept(idle, &awaited);
        if are_apart {
            reach(idle, &awaited);
        }
    }));
    if let Some(control) = &runtime().job.control {
        control.observed(&ACTIVITY);
    }
}

/// Most processes that are called because a call waits for any of them.
const CALLED: usize = 64;

/// A call has slept, and nothing has moved for `idle`. After TERN_PEER_TIMEOUT, and as often again, it finds out whether those that it
/// waits for can be reached. One of them may have sent something, and be unable to reach this process.
fn reach(idle: Duration, awaited: &Awaited) {
    let state = STATE.get();
    let silence = tern_settings::PEER_TIMEOUT.get();
    if idle < state.reached.get() {
        // Another wait.
        state.reached.set(Duration::ZERO);
    }
    if idle < state.reached.get() + silence {
        return;
    }
    state.reached.set(idle);
    let (waits, _) = divided(Some(awaited));
    for item in waits.iter().filter(|item| item.peers.len() <= CALLED) {
        let ranks = item.peers.iter().filter(|&&peer| peer < runtime().world_size && peer != runtime().me);
        ranks.for_each(|&peer| adi().mcm().reach(peer));
    }
}

/// A call has slept, and nothing has moved for `idle`.
fn slept(idle: Duration, awaited: &Awaited) {
    let state = STATE.get();
    let limit = tern_settings::STALL.get();
    if idle < state.idle.replace(idle) {
        // Another wait.
        state.told.set(false);
    }
    let asked = is_asked();
    if asked || (idle >= limit && !state.told.get()) {
        // Told once; not again on its own, even if it was asked before its time.
        state.told.set(true);
        tell(&Report { idle, asked, ..report(Some(awaited)) });
    }
}

/// A call of `function` begins: is it one of many that find nothing?
pub fn called(function: &'static str) {
    if installed().is_none() || tern_settings::STALL.get().is_zero() {
        return;
    }
    let state = STATE.get();
    let now = Instant::now();
    let looks = ["MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status"];
    let polls = looks.iter().any(|start| function.starts_with(start)) && adi().mcm().vain() > 0;
    let since = match (polls, state.vain.get()) {
        (true, Some(since)) => since,
        (true, None) => now,
        (false, _) => {
            state.vain.set(None);
            return;
        }
    };
    if state.vain.replace(Some(since)).is_none() {
        state.told.set(false);
    }
    if state.looked.get().is_some_and(|last| now - last < LOOK) {
        return;
    }
    state.looked.set(Some(now));
    let idle = now - since;
    let asked = is_asked();
    if asked || (idle >= tern_settings::STALL.get() && !state.told.replace(true)) {
        tell(&Report { idle, asked, polls: true, ..report(None) });
    }
}

fn is_asked() -> bool {
    runtime().job.control.as_ref().is_some_and(|control| control.is_asked())
}

/// To the launcher, who makes one picture of all; or to the user, if there is none.
fn tell(report: &Report) {
    match &runtime().job.control {
        Some(control) => control.stalled(report),
        None => {
            let limit = tern_settings::STALL.get();
            let lines = report.lines().join("\n  ");
            tern_settings::warn!("nothing has moved for {limit:?} (TERN_STALL)\n  this process, {lines}");
        }
    }
}

/// What this process waits for and has under way.
fn report(awaited: Option<&Awaited>) -> Report {
    let (waits, besides) = divided(awaited);
    let besides: Vec<Item> = held_locks().into_iter().chain(besides.iter().map(under_way)).collect();
    let listed = besides[..besides.len().min(LISTED)].to_vec();
    Report {
        function: observe::function().to_owned(),
        any: matches!(awaited, Some(Awaited::Any(_))),
        others: others(waits.iter().chain(&listed)),
        waits,
        more: besides.len().saturating_sub(LISTED) as u32,
        besides: listed,
        ..Report::default()
    }
}

/// What is waited for, and what is under way besides.
fn divided(awaited: Option<&Awaited>) -> (Vec<Item>, Vec<Pending>) {
    let pending = adi().pending();
    let mut waits = Vec::new();
    let is_awaited = |entry: &Pending| match awaited {
        Some(Awaited::Transfers(ids) | Awaited::Any(ids)) => entry.request.is_some_and(|id| ids.contains(&id)),
        Some(Awaited::Own) => !entry.named && entry.what != PendingKind::Message,
        _ => false,
    };
    match awaited {
        Some(Awaited::Members { context, procs }) => waits.push(members(*context, procs)),
        Some(Awaited::Lock { context, rank, held, holders }) => waits.push(lock(*context, *rank, *held, holders)),
        Some(Awaited::Message { from, pattern, bytes }) => {
            let what = if bytes.is_some() { What::Receive } else { What::Probe };
            let known = (*from != UNKNOWN).then_some(*from);
            waits.push(item(what, known, Some(*pattern), *bytes));
        }
        _ => {}
    }
    let (awaited, besides): (Vec<Pending>, Vec<Pending>) = pending.into_iter().partition(is_awaited);
    waits.extend(awaited.iter().map(under_way));
    (waits, besides)
}

/// Who the processes of other jobs are that these items name.
fn others<'a>(items: impl Iterator<Item = &'a Item>) -> Vec<Other> {
    let mut numbers: Vec<u32> = items.flat_map(|item| item.peers.iter().copied()).collect();
    numbers.retain(|&number| number >= runtime().world_size);
    numbers.sort_unstable();
    numbers.dedup();
    let who = |number| {
        let Identity { job, rank } = identity::of(number);
        Other { number, job, rank }
    };
    numbers.into_iter().map(who).collect()
}

fn under_way(entry: &Pending) -> Item {
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
    };
    let wins = wins().borrow();
    let comm = match wins.iter().find(|win| win.window.peers().context == context) {
        Some(win) => lock_name(win, rank),
        None => String::new(),
    };
    Item { what, peers: holders.to_vec(), tag: None, bytes: None, comm }
}

/// "rank 1 of the window counters"
fn lock_name(win: &Win, rank: Option<u32>) -> String {
    let of = rank.map_or("all ranks".into(), |rank| format!("rank {rank}"));
    match win.name.borrow().as_str() {
        "" => format!("{of} of {}", win.label()),
        name => format!("{of} of the window {name}"),
    }
}

/// The locks that this process has.
fn held_locks() -> Vec<Item> {
    let wins = wins().borrow();
    let of_one = |win: &Rc<Win>| {
        let item = |(rank, alone): (Option<u32>, bool)| Item {
            what: if alone { What::HasAlone } else { What::HasShared },
            peers: Vec::new(),
            tag: None,
            bytes: None,
            comm: lock_name(win, rank),
        };
        win.window.held_locks().into_iter().map(item).collect::<Vec<_>>()
    };
    wins.iter().flat_map(of_one).collect()
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
