//! The composer of the engine. [`State`] alone sees all [`parts`]: it tells them of events, and does what they answer.

mod arrive;
mod cancel;
mod completion_fast;
mod damaged;
mod deferred_post;
mod direct;
mod facts;
mod lost;
mod outbox;
mod pending;
mod placing;
mod ready_to_receive;
mod receive;
mod rendezvous;
mod send;
mod send_context;
mod survival;
mod unexpected;
mod used;

use crate::matching::Matching;
use crate::{Concerned, Damaged, Proc, parts};
use std::rc::Rc;
use tern_copy::Source;
use tern_mcm::{Event, Mcm, lock};
use tern_policy::transfer::Chooser;
use tern_policy::{Learned, SharedCoordinator, ShortPath, Used};

/// Nanoseconds since some moment.
pub type Clock = fn() -> u64;

/// The engine of one process: its parts, the devices below, and the limits of lengths.
pub struct State {
    pub mcm: Rc<Mcm>,
    pub requests: parts::Requests,
    pub matching: Matching,
    pub unexpected: parts::Unexpected,
    queues: parts::TupleQueues,
    deferred: parts::DeferredPosts,
    pub stream: parts::Stream,
    pub rendezvous: parts::Rendezvous,
    ready: parts::ReadyToReceive,
    unconfirmed: parts::Unconfirmed,
    pub loss: parts::Loss,
    pub notices: parts::Notices,
    pub call: parts::Call,
    /// What the policy has learned.
    pub learned: Learned,
    /// What single copies cost, and what was learned of them, if any device makes such.
    pub chooser: Option<Rc<Chooser>>,
    /// The coordinator that all trials of this process ask.
    pub coordinator: SharedCoordinator,
    /// Which ways were taken, if the user wants to know (TERN_EXPLAIN=used).
    pub used: Option<Box<Used>>,
    /// Messages that go with the packet's header; closed while there is something that the short paths do not ask.
    short: ShortPath,
    /// Longest message that goes without asking, if it is the same to all.
    eager_limit: Option<usize>,
    /// Receives of this length and more are published, and messages of it look for one.
    pub direct_from: usize,
    /// Eager messages of this length and more may go from where they lie.
    lends_from: usize,
    /// What packets' payloads are to whoever copies them.
    payload: Source,
    /// Something has completed or moved since this was last cleared.
    pub moved: bool,
    /// Told of packets that cannot be right.
    pub on_damage: Box<dyn Fn(&Damaged)>,
    /// Told of a peer, and why what has left for it will not arrive; says which communicators that concerns.
    pub on_undeliverable: Undeliverable,
    /// Told when a notice has come, or a process is lost.
    pub on_notice: Box<dyn Fn()>,
    /// A process that is lost next, and for which messages had left that will not arrive.
    undeliverable: Option<Proc>,
    clock: Clock,
}

/// What [`State::on_undeliverable`] calls.
type Undeliverable = Box<dyn Fn(Proc, &str) -> Concerned>;

impl State {
    /// `clock`: what time it is, in nanoseconds; it does not go back.
    pub fn new(mcm: Rc<Mcm>, eager_limit: Option<usize>, clock: Clock) -> State {
        let peers = mcm.size() as usize;
        let direct_from = mcm.direct_from();
        let longest = eager_limit.unwrap_or(usize::MAX - 1).min(mcm.inline());
        let chooser = mcm.direct().and_then(|direct| direct.chooser());
        let coordinator = chooser.as_ref().map(|chooser| chooser.coordinator().clone()).unwrap_or_default();
        let short = (longest + 1).min(direct_from).min(tern_counters::Lengths::END);
        State {
            requests: parts::Requests::new(),
            matching: Matching::new(),
            unexpected: parts::Unexpected::new(peers),
            queues: parts::TupleQueues::new(peers),
            deferred: parts::DeferredPosts::default(),
            stream: parts::Stream::new(peers),
            rendezvous: parts::Rendezvous::new(),
            ready: parts::ReadyToReceive::default(),
            unconfirmed: parts::Unconfirmed::default(),
            loss: parts::Loss::default(),
            notices: parts::Notices::default(),
            call: parts::Call::new(),
            learned: Learned::new(peers, &coordinator),
            chooser,
            coordinator,
            used: None,
            short: ShortPath::new(short),
            eager_limit,
            direct_from,
            lends_from: mcm.sends_from(),
            payload: if mcm.write_back() { Source::Peer } else { Source::Fresh },
            moved: false,
            on_damage: Box::new(|damaged| panic!("process {} has sent {damaged}", damaged.from)),
            on_undeliverable: Box::new(|_, _| Rc::new(|_| false)),
            on_notice: Box::new(|| ()),
            undeliverable: None,
            clock,
            mcm,
        }
    }

    /// Makes room for all processes that the devices know by now.
    pub fn grow(&mut self) {
        let peers = self.mcm.size() as usize;
        self.unexpected.grow(peers);
        self.queues.grow(peers);
        self.stream.grow(peers);
        self.learned.grow(peers);
    }

    /// The program starts something long; `alone`: what it started before it has waited for, or a call begins.
    #[inline]
    pub fn starts(&mut self, alone: bool) {
        if self.learned.starts(alone) {
            self.direct().hears_of(Event::RoundEnds);
        }
    }

    /// The longest message that may go to `peer` without asking, if that waits: see [`tern_policy::pair::ahead`].
    #[inline]
    fn waiting_limit(&self, peer: Proc) -> usize {
        let window = || self.mcm.direct().map_or(0, |direct| direct.pair(peer).window);
        self.waiting_limit_by(peer, window)
    }

    /// The same, of a peer with that [window](tern_policy::pair::Pair::window).
    #[inline]
    fn waiting_limit_by(&self, peer: Proc, window: impl FnOnce() -> usize) -> usize {
        self.eager_limit.unwrap_or_else(|| self.mcm.eager(peer).max(tern_policy::pair::ahead(window())))
    }

    /// Longest message to `peer` that goes without asking.
    #[inline]
    fn eager_limit(&self, peer: Proc) -> usize {
        self.eager_limit.unwrap_or_else(|| self.mcm.eager(peer))
    }

    /// The short paths ask nothing: they are closed while something is to be asked.
    fn close_shortest(&mut self) {
        self.short.set_open(self.loss.is_none() && self.stream.is_free());
    }

    /// Something has happened that another thread may sleep for.
    #[inline]
    pub fn wake_others(&self) {
        if lock::enabled() {
            self.mcm.ring(self.mcm.me());
        }
    }

    /// A transfer is over.
    #[inline]
    fn note_end(&mut self, request: u32) {
        self.moved = true;
        self.wake_others();
        if self.rendezvous.has_located() {
            self.unlocate(request);
        }
    }

    #[inline]
    fn complete(&mut self, request: u32) {
        self.note_end(request);
        self.requests.complete(request);
    }
}
