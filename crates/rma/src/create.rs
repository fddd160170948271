//! Making and ending windows: what the members tell each other.

use crate::apart::needs_shared_memory;
use crate::attached::Table;
use crate::card::{self, Card};
use crate::memory::{Belongings, parts, private, shared_in_place};
use crate::messages::Messages;
use crate::remote::{Found, Held, Remote, Way};
use crate::request::Patience;
use crate::shared::{PAGE, Plan, Shared};
use crate::turns::Turns;
use crate::window::{Exposure, Window};
use crate::{Class, Error};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::{Rc, Weak};
use tern_adi::{Adi, Background, Proc};
use tern_coll::lines::Mismatch;
use tern_coll::{Failure, Peers};
use tern_mcm::Direct;
use tern_policy::one_sided::{self, Mappable, MemberFacts};
use tern_settings::Mechanism;

/// What a window that is being made has taken. It is given back if the window is not finished.
struct Unfinished<'a> {
    direct: &'a dyn Direct,
    belongings: Belongings,
    card: Option<Card>,
}

impl Unfinished<'_> {
    fn finish(mut self) -> (Belongings, Option<Card>) {
        (std::mem::take(&mut self.belongings), self.card.take())
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.card.iter().for_each(Card::end);
        self.belongings.give_back(self.direct);
        if let Some(at) = self.belongings.allocated {
            // SAFETY: there is no window that anybody could use it by.
            unsafe { self.direct.free(at) };
        }
    }
}

/// Tells all members some numbers, and returns those of all.
///
/// Errors: one of them is lost. None of the others waits for this one in what they tell each other later.
fn tell<const N: usize>(adi: &Adi, peers: &Rc<Peers>, mine: [u64; N]) -> Result<Vec<[u64; N]>, Error> {
    tern_coll::together(adi, peers, mine).map_err(lost)
}

fn lost(process: Proc) -> Error {
    Error::new(Class::Lost { process }, "a member of the window is lost")
}

/// Waits for all members.
///
/// Errors: one of them is lost.
pub(crate) fn barrier(adi: &Adi, peers: &Rc<Peers>) -> Result<(), Error> {
    match tern_coll::fast::barrier(adi, peers) {
        Some(Err(Mismatch::Lost { process })) => Err(lost(process)),
        Some(done) => {
            done.expect("all members meet");
            Ok(())
        }
        None => tern_coll::run(adi, peers, tern_coll::barrier(peers)).map_err(|failure| match failure {
            Failure::Lost(process) => lost(process),
            Failure::Truncated(_) | Failure::Refused(_) => unreachable!("no data is sent"),
        }),
    }
}

/// The memory that all share, as this process sees it.
struct Common {
    start: *mut u8,
    /// It holds the memory of the window too.
    holds_memory: bool,
    owned: bool,
    len: usize,
}

/// The first member allocates, all map.
fn allocate(
    adi: &Adi, peers: &Rc<Peers>, direct: &dyn Direct, words: usize, memory: usize,
) -> Result<Option<Common>, Error> {
    let first = peers.rank == 0;
    let whole = words.checked_add(memory);
    let take = |len: usize| direct.allocate(len).map(|at| (at, len));
    let mine = if first { whole.and_then(take).or_else(|| take(words)) } else { None };
    let place = mine.and_then(|(at, len)| direct.place(at, len));
    let told = tell(adi, peers, [place.unwrap_or(0), mine.map_or(0, |(_, len)| len as u64)]);
    let told = told.inspect_err(|_| {
        // SAFETY: nobody has used it.
        mine.iter().for_each(|(start, _)| _ = unsafe { direct.free(*start) });
    })?;
    let [place, len] = told[0];
    let len = len as usize;
    let start = match mine {
        Some((at, _)) => Some(at),
        None if place == 0 => None,
        None => direct.map(place, len),
    };
    let well = tell(adi, peers, [u64::from(start.is_some())]).map(|all| all.iter().all(|[well]| *well == 1));
    if let Ok(true) = well {
        return Ok(start.map(|start| Common { start, holds_memory: memory == 0 || len > words, owned: first, len }));
    }
    match (start, first) {
        // SAFETY: nobody has used it.
        (Some(start), true) => drop(unsafe { direct.free(start) }),
        // SAFETY: mapped above, and not used.
        (Some(start), false) => unsafe { direct.unmap(start, len) },
        (None, _) => {}
    }
    well.map(|_| None)
}

impl Window {
    /// Makes a window; collective over `peers`, an intracommunicator that only this window uses, with
    /// its collective context `peers.context` and the point-to-point context below it,
    /// `peers.context - 1`. `disp_unit` may differ from rank to rank.
    ///
    /// Errors, the same at all members: no memory, or the members cannot share it.
    pub fn new(adi: &'static Adi, peers: Rc<Peers>, exposure: Exposure, disp_unit: i64) -> Result<Rc<Window>, Error> {
        Window::with(adi, peers, exposure, disp_unit, tern_settings::MECHANISM.get())
    }

    /// As [`Window::new`], with bytes moved by `mechanism` alone, as far as that is possible ([`Mechanism::Pipe`]: by messages).
    pub fn with(
        adi: &'static Adi, peers: Rc<Peers>, exposure: Exposure, disp_unit: i64, mechanism: Mechanism,
    ) -> Result<Rc<Window>, Error> {
        let direct = adi.mcm().direct().ok_or_else(needs_shared_memory)?;
        let apart = !peers.procs.iter().all(|&peer| direct.shares_with(peer));
        Window::make(adi, peers, exposure, disp_unit, mechanism, apart)
    }

    /// As [`Window::new`] makes it for members that do not all share memory, even if they do.
    pub fn apart(adi: &'static Adi, peers: Rc<Peers>, exposure: Exposure, disp_unit: i64) -> Result<Rc<Window>, Error> {
        Window::make(adi, peers, exposure, disp_unit, Mechanism::Auto, true)
    }

    fn make(
        adi: &'static Adi, peers: Rc<Peers>, exposure: Exposure, disp_unit: i64, mechanism: Mechanism, apart: bool,
    ) -> Result<Rc<Window>, Error> {
        let direct = adi.mcm().direct().ok_or_else(needs_shared_memory)?;
        if apart && matches!(exposure, Exposure::Shared { .. }) {
            return Err(needs_shared_memory());
        }
        let kernel = !apart && matches!(mechanism, Mechanism::Auto | Mechanism::Cma | Mechanism::Module);
        let map =
            matches!(mechanism, Mechanism::Auto | Mechanism::Mapped) || matches!(exposure, Exposure::Shared { .. });
        let map = map && !apart;
        let facts = tell(adi, &peers, [exposure.bytes() as u64, disp_unit as u64, u64::from(map)])?;
        // A setting may differ from process to process; what memory is must not.
        let map = facts.iter().all(|[_, _, map]| *map == 1);
        let bytes: Vec<usize> = facts.iter().map(|[bytes, _, _]| *bytes as usize).collect();

        let dynamic = exposure == Exposure::Dynamic;
        let plan = Plan::new(bytes.len(), dynamic);
        let ours = matches!(exposure, Exposure::Allocate { .. } | Exposure::Shared { .. });
        let (starts, total) = parts(&bytes, matches!(exposure, Exposure::Shared { contiguous: true, .. }));
        let memory = if ours && map { total } else { 0 };
        let words = if apart { private(plan.memory()) } else { None };
        let common = match apart {
            true => words.map(|(start, _)| Common { start, holds_memory: false, owned: false, len: 0 }),
            false => allocate(adi, &peers, direct, plan.memory(), memory)?,
        };
        let mut unfinished = Unfinished { direct, belongings: Belongings::default(), card: None };
        unfinished.belongings.private[1] = words;
        match &common {
            Some(common) if common.owned => unfinished.belongings.allocated = Some(common.start),
            Some(common) if !apart => unfinished.belongings.mapped.get_mut().push((common.start, common.len)),
            _ => {}
        }
        if apart && tell(adi, &peers, [u64::from(words.is_some())])?.iter().any(|[well]| *well == 0) {
            let what = format!(
                "{} bytes for the words of a window of {} processes could not be allocated",
                plan.memory(),
                bytes.len()
            );
            return Err(Error::new(Class::NoMemory, what));
        }
        let common =
            common.filter(|common| apart || common.holds_memory || matches!(exposure, Exposure::Allocate { .. }));
        let Some(common) = common else {
            let what = format!(
                "{} bytes of shared memory for a window of {} processes could not be allocated",
                plan.memory() + memory,
                bytes.len()
            );
            return Err(Error::new(Class::NoMemory, what));
        };
        let in_common = ours && map && common.holds_memory;
        let (base, private) = match exposure {
            Exposure::Existing { base, .. } => (base, None),
            Exposure::Dynamic => (std::ptr::null_mut(), None),
            _ if in_common => (common.start.wrapping_add(plan.memory() + starts[peers.rank as usize]), None),
            _ => {
                let private = private(exposure.bytes());
                (private.map_or(std::ptr::null_mut(), |(at, _)| at), private)
            }
        };
        unfinished.belongings.private[0] = private;
        let (place, within, pinned) = match exposure {
            Exposure::Existing { base, bytes } if map && bytes > 0 => shared_in_place(direct, base, bytes),
            _ => (0, 0..0, None),
        };
        unfinished.belongings.pinned = pinned;
        let lacks = ours && base.is_null();
        // Memory that is mapped in part needs the kernel for the rest, and guards that all turn to.
        let mixes =
            kernel && (0..peers.size()).all(|rank| rank == peers.rank || direct.copies(peers.procs[rank as usize]));
        let mixes = mixes && direct.fence_all();
        let mine = [base as u64, place, u64::from(lacks), within.start as u64, within.end as u64, u64::from(mixes)];
        let told = tell(adi, &peers, mine)?;
        let mixes = told.iter().all(|[.., mixes]| *mixes == 1);
        // Bytes of a member that all can map.
        let within = |index: usize| {
            let [_, place, _, start, end, _] = told[index];
            let range = start as usize..end as usize;
            if place != 0 && (mixes || range == (0..bytes[index])) { range } else { 0..0 }
        };
        // What was put there in vain stays pinned as well: a fork must not replace pages that peers write to by the kernel.
        let own = within(peers.rank as usize);
        // SAFETY: allocated for this, and unmapped when the window is over.
        let shared = unsafe { Shared::new(common.start, plan) };
        if !in_common && !dynamic && !base.is_null() {
            let private = [0..own.start, own.end..exposure.bytes()].into_iter().filter(|range| !range.is_empty());
            let expose = |range: Range<usize>| {
                let (at, len) = (base.wrapping_add(range.start).cast_const(), range.len());
                (at, len, direct.expose(at, len))
            };
            unfinished.belongings.exposed = private.map(expose).collect();
        }
        let serves_itself = dynamic || !unfinished.belongings.exposed.is_empty();
        if apart {
            let memory = (base, if base.is_null() { 0 } else { exposure.bytes() });
            let offer = card::offer(adi, &peers.procs, peers.rank, &shared, plan.memory(), memory);
            let offers = tell(adi, &peers, offer).inspect_err(|_| card::take_back(adi, &offer))?;
            unfinished.card = Card::agree(adi, &peers.procs, peers.rank, &offers);
        }
        let remotes = (0..peers.size()).map(|rank| {
            let index = rank as usize;
            let [address, place, ..] = told[index];
            let within = within(index);
            let whole = within == (0..bytes[index]);
            let mut here = match () {
                () if rank == peers.rank => base,
                () if in_common => common.start.wrapping_add(plan.memory() + starts[index]),
                () => std::ptr::null_mut(),
            };
            let member = MemberFacts {
                near: rank == peers.rank || in_common || bytes[index] == 0,
                card: unfinished.card.is_some(),
                mappable: match whole {
                    _ if within.is_empty() => Mappable::Nothing,
                    true => Mappable::All,
                    false => Mappable::Part,
                },
            };
            let map = || match direct.map(place, within.len()) {
                Some(mapped) => {
                    unfinished.belongings.mapped.borrow_mut().push((mapped, within.len()));
                    here = mapped.wrapping_sub(within.start);
                    true
                }
                None => false,
            };
            let way = one_sided::way_to(member, map, || kernel && direct.copies(peers.procs[index]));
            let near = match way {
                _ if dynamic || here.is_null() => 0..0,
                Way::Mapped => 0..bytes[index],
                _ => within.clone(),
            };
            Remote {
                way: Cell::new(way),
                atomic: if in_common { 0..bytes[index] } else { within },
                here,
                address,
                cookie: 0,
                bytes: bytes[index],
                near,
                unit: facts[index][1] as i64,
                held: Cell::new(Held::Not),
                taken: Cell::new(0),
                found: RefCell::new(Found::default()),
                patience: Patience::default(),
                puts: RefCell::default(),
            }
        });
        let mut remotes: Box<[Remote]> = remotes.collect();
        let needs = remotes.iter().any(|remote| remote.way.get() == Way::Messages)
            || (dynamic
                && !(kernel
                    && (0..peers.size()).all(|rank| rank == peers.rank || direct.copies(peers.procs[rank as usize]))));
        // Where the module copies, nothing is mapped: there is one part, all of it.
        let whole = unfinished.belongings.exposed.first().filter(|&&(at, ..)| at == base);
        let cookie = whole.map_or(0, |&(_, _, cookie)| cookie);
        let facts = tell(adi, &peers, [u64::from(needs), u64::from(direct.fence_all()), cookie])?;
        let serves = apart || facts.iter().any(|[needs, ..]| *needs == 1);
        let fences = facts.iter().all(|[_, fences, _]| *fences == 1);
        for (remote, &[.., cookie]) in remotes.iter_mut().zip(&facts) {
            remote.cookie = cookie;
        }
        let owners = mechanism == Mechanism::Auto && kernel;
        let at_once = !dynamic && !apart && remotes.iter().all(|remote| remote.way.get() == Way::Mapped);
        let (belongings, card) = unfinished.finish();
        let messages = Messages::new(adi, peers.context - 1, peers.rank, peers.procs.clone());
        let window = Rc::new_cyclic(|weak| Window {
            adi,
            peers,
            shared,
            remotes,
            messages,
            dynamic,
            kernel,
            owners,
            map,
            at_once,
            apart,
            card,
            turns: RefCell::new(Turns::new()),
            fences,
            over: Cell::new(false),
            attends: Cell::new(false),
            weak: weak.clone(),
            belongings,
            attached: RefCell::default(),
            started: RefCell::default(),
            gathered: Cell::new(0),
            room: Cell::default(),
            gauges: Default::default(),
            stored: Cell::new(false),
            awaited: Cell::new(0),
            all: Cell::new(false),
        });
        if told.iter().any(|[_, _, lacks, ..]| *lacks == 1) {
            window.end();
            let what = format!("memory for a window of {} processes could not be allocated", bytes.len());
            return Err(Error::new(Class::NoMemory, what));
        }
        if serves {
            window.attend();
        }
        if kernel && serves_itself {
            let weak = Rc::downgrade(&window);
            adi.add_helper(Rc::new(move |_| help(&weak)));
        }
        Ok(window)
    }

    /// Ends the window: collective. What it allocated is gone.
    pub fn free(&self) {
        // Those that are done with all others may still have to serve these.
        let _ = self.flush_all();
        // Without those that are lost.
        let _ = barrier(self.adi, &self.peers);
        self.end();
    }

    /// Gives everything back, when nobody uses it any more.
    fn end(&self) {
        self.over.set(true);
        self.adi.wait_until(&mut || self.messages.is_sent());
        let direct = self.direct();
        for old in self.attached.borrow_mut().drain(..) {
            self.detached(&old);
        }
        for remote in &self.remotes {
            for (piece, here) in remote.found.borrow_mut().mapped.drain(..) {
                // SAFETY: mapped for this window, which is over.
                unsafe { direct.unmap(here, piece.len as usize) };
            }
        }
        self.card.iter().for_each(Card::end);
        self.belongings.give_back(direct);
        // All have unmapped it before its owner gives it to somebody else.
        let _ = barrier(self.adi, &self.peers);
        if let Some(at) = self.belongings.allocated {
            // SAFETY: nobody uses it any more.
            unsafe { direct.free(at) };
        }
    }
}

/// What a call does that waits: it does what an origin asks of this process.
fn help(window: &Weak<Window>) -> Background {
    match window.upgrade() {
        Some(window) if !window.over.get() => {
            if window.answer_origins() | window.attend_if_asked() {
                Background::Moved
            } else {
                Background::Waiting
            }
        }
        _ => Background::Over,
    }
}

const _: () = assert!(size_of::<Table>().is_multiple_of(PAGE));
