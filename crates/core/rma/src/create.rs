//! Making and ending windows.
//!
//! ```text
//! create ── terms      what the members agree on
//!        ├─ steps      how the window takes its memory, step by step
//!        └─ together   what they tell each other, and what is given back if a step fails
//! ```

mod steps;
mod terms;
mod together;

pub(crate) use together::barrier;

use crate::apart::needs_shared_memory;
use crate::attached::Table;
use crate::card::Card;
use crate::inquiries::Inquiries;
use crate::memory::Belongings;
use crate::messages::Messages;
use crate::remote::{Means, Remote};
use crate::shared::{PAGE, Shared};
use crate::turns::Turns;
use crate::window::{Exposure, Window};
use crate::{Class, Error};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use steps::Making;
use terms::{Terms, Wanted};
use tern_adi::{Adi, Background};
use tern_coll::Peers;
use tern_policy::{Gauge, one_sided};
use tern_settings::Mechanism;
use together::Unfinished;

/// What has been made for a window.
struct Parts {
    shared: Shared,
    remotes: Box<[Remote]>,
    belongings: Belongings,
    card: Option<Card>,
    fences: bool,
}

impl Parts {
    fn window(self, adi: &'static Adi, peers: Rc<Peers>, terms: &Terms) -> Rc<Window> {
        let (dynamic, Wanted { mechanism, apart, .. }) = (terms.is_dynamic(), terms.wanted);
        let at_once = !dynamic && !apart && self.remotes.iter().all(|remote| remote.way.get() == Means::Mapped);
        let (tells, survives) = (!tern_settings::STALL.get().is_zero(), tern_settings::FT.get());
        let mark = peers.rank + 1;
        let messages = Messages::new(adi, peers.context - 1, peers.rank, peers.procs.clone());
        let coordinator = adi.coordinator();
        Rc::new_cyclic(|weak| Window {
            adi,
            peers,
            shared: self.shared,
            remotes: self.remotes,
            messages,
            dynamic,
            kernel: terms.kernel,
            owners: one_sided::may_ask_owners(mechanism, terms.kernel),
            map: terms.map,
            at_once,
            apart,
            card: self.card,
            turns: RefCell::new(Turns::new()),
            inquiries: Inquiries::default(),
            fences: self.fences,
            tells,
            survives,
            notes: tells || survives,
            aside: apart || survives,
            mark,
            over: Cell::new(false),
            attends: Cell::new(false),
            weak: weak.clone(),
            belongings: self.belongings,
            attached: RefCell::default(),
            started: RefCell::default(),
            gathered: Cell::new(0),
            room: Cell::default(),
            gauges: [(); 2].map(|()| RefCell::new(Gauge::new(&coordinator))),
            by_owner: Cell::new(0),
            stored: Cell::new(false),
            awaited: Cell::new(0),
            all: Cell::new(false),
        })
    }
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
        let apart = !peers.procs.iter().all(|&peer| direct.pair(peer).near);
        Window::make(adi, peers, Wanted { exposure, disp_unit, mechanism, apart })
    }

    /// As [`Window::new`] makes it for members that do not all share memory, even if they do.
    pub fn apart(adi: &'static Adi, peers: Rc<Peers>, exposure: Exposure, disp_unit: i64) -> Result<Rc<Window>, Error> {
        Window::make(adi, peers, Wanted { exposure, disp_unit, mechanism: Mechanism::Auto, apart: true })
    }

    fn make(adi: &'static Adi, peers: Rc<Peers>, wanted: Wanted) -> Result<Rc<Window>, Error> {
        let direct = adi.mcm().direct().ok_or_else(needs_shared_memory)?;
        let terms = Terms::agree(adi, &peers, wanted)?;
        let mut making = Making { adi, peers: &peers, direct, terms: &terms, unfinished: Unfinished::new(direct) };
        let common = making.words()?;
        let own = making.own(&common);
        let places = making.tell_places(&own)?;
        // SAFETY: allocated for this, and unmapped when the window is over.
        let shared = unsafe { Shared::new(own.words, terms.plan) };
        making.expose(&own, &places);
        let serves_itself = terms.is_dynamic() || !making.unfinished.belongings.exposed.is_empty();
        making.offer_card(&shared, &own)?;
        let mut remotes: Box<[Remote]> = (0..peers.size()).map(|rank| making.remote(rank, &own, &places)).collect();
        let outcome = making.conclude(&own, &mut remotes)?;
        let (belongings, card) = making.unfinished.finish();
        let parts = Parts { shared, remotes, belongings, card, fences: outcome.fences };
        let window = parts.window(adi, peers.clone(), &terms);
        if places.lacks() {
            window.end(true);
            let what = format!("memory for a window of {} processes could not be allocated", terms.bytes.len());
            return Err(Error::new(Class::NoMemory, what));
        }
        if outcome.serves {
            window.attend();
        }
        if terms.kernel && serves_itself {
            let weak = Rc::downgrade(&window);
            adi.add_helper(Rc::new(move |_| help(&weak)));
        }
        Ok(window)
    }

    /// Ends the window: collective. What it allocated is gone.
    pub fn free(&self) {
        // Those that are done with all others may still have to serve these.
        let _ = self.flush_all();
        let _ = barrier(self.adi, &self.peers);
        self.end(true);
    }

    /// As [`Window::free`], where not all members can come: some are lost, or have failed to make it. The caller knows that all others that live have
    /// come, and access nothing any more.
    pub fn free_without_others(&self) {
        self.flush_living();
        self.end(false);
    }

    /// Gives everything back, when nobody uses it any more. `meets`: all members come.
    fn end(&self, meets: bool) {
        self.over.set(true);
        self.adi.wait_until(&mut || self.messages.is_sent());
        let direct = self.direct();
        for old in self.attached.borrow_mut().drain(..) {
            self.detached(&old);
        }
        for remote in &self.remotes {
            for (piece, here) in remote.found.borrow_mut().mapped.drain(..) {
                // SAFETY: mapped for this window, which is over.
                unsafe { tern_mcm::unmap(here, piece.len as usize) };
            }
        }
        self.card.iter().for_each(Card::end);
        self.belongings.give_back(direct);
        if meets {
            // All have unmapped it before its owner gives it to somebody else.
            let _ = barrier(self.adi, &self.peers);
        }
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
