//! The protocol state of one process: requests, arrivals, and what waits to be sent.

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
mod unexpected;
mod ways;

pub use arrive::{Arrival, Body};
pub use outbox::PIECE;
pub use unexpected::FreeMemory;

use crate::matching::{Matching, Place};
use crate::slab::Slab;
use crate::tuple;
use crate::unexpected::Cap;
use crate::{Damaged, Data, Members, Name, Owner, Proc, Rendezvous, Status, Tuple};
use arrive::Incoming;
use deferred_post::Late;
use direct::Published;
use outbox::Outbox;
use ready_to_receive::Fetching;
use rendezvous::{Fetch, Fin};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use tern_copy::{Source, Target};
use tern_mcm::{Mcm, Memory, lock};
use tern_policy::{Copies, Gauge, Habits, LendingTrials, Order, Round, ShortPath, Ways};

/// No number of anything.
const NONE: u32 = u32::MAX;

/// The transfer of a receive that its call only waits for: always there, never posted.
pub const EXPECTED: u32 = 0;

/// A transfer of this process's.
#[derive(Debug)]
pub struct Transfer {
    pub data: Data,
    pub status: Status,
    pub done: bool,
    /// Free the entry as soon as it is done.
    pub released: bool,
    /// Of one that the layer above has named.
    pub owner: Option<Owner>,
    pub side: Side,
}

impl Transfer {
    /// A message of `size` bytes from process `from` has matched this receive: notes it in the status.
    #[inline]
    fn begin(&mut self, from: Proc, source: i32, tag: i32, size: u64) {
        tern_counters::received(size as usize);
        self.status = self.data.received(source, tag, size);
        self.side =
            Side::Receive { place: None, from, published: Published::NOT, received: 0, expected: size as usize };
    }
}

#[derive(Debug)]
pub enum Side {
    Send {
        to: Proc,
        tuple: Tuple,
        /// Waits for the news that the receive has matched.
        awaits_match: bool,
        /// Has bytes that did not go yet (or a request to send that is not answered).
        unsent: bool,
    },
    Receive {
        /// Where it is posted; none once a message has matched.
        place: Option<Place>,
        /// The process that it names, or whose message has matched; [`crate::UNKNOWN`] for a wildcard.
        from: Proc,
        /// Where its sender sees it.
        published: Published,
        /// Bytes that have arrived, and that will in all.
        received: usize,
        expected: usize,
    },
}

impl Side {
    /// A receive from `from` that nothing has happened to.
    #[inline]
    fn receive(from: Proc) -> Side {
        Side::Receive { place: None, from, published: Published::NOT, received: 0, expected: 0 }
    }
}

/// What the call that is under way exchanges with processes of this node: messages to which most likely both sides come at the same time,
/// so that each had better copy its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchanges {
    /// Nothing, as far as is known.
    Nothing,
    /// What may go without asking.
    Short,
    /// Everything: it sends as well as it receives.
    All,
}

/// Nanoseconds since some moment.
pub type Clock = fn() -> u64;

/// All of it.
pub struct State {
    pub mcm: Rc<Mcm>,
    pub matching: Matching,
    pub transfers: Slab<Transfer>,
    pub arrivals: Slab<Arrival>,
    /// Longest message that goes without asking, if it is the same to all.
    eager_limit: Option<usize>,
    /// What synchronous sends are marked with.
    pub mark: u32,
    /// The caller waits for what it starts, before the program goes on.
    pub waits: bool,
    /// Messages that go with the packet's header; closed while there is something that the shortest ways do not ask.
    short: ShortPath,
    incoming: Vec<Incoming>,
    /// What went to each peer, and came from it, on the stream.
    streams: Vec<tuple::Sender>,
    taken: Vec<tuple::Receiver>,
    /// Receives that are to be published later.
    late: Late,
    /// Whether publishing pays.
    pub habits: Habits,
    /// Whether to look for messages pays when receives are started.
    pub order: Order,
    /// Receives of this length and more are published, and messages of it look for one.
    pub direct_from: usize,
    /// Eager messages of this length and more may go from where they lie.
    lends_from: usize,
    /// Memory of messages that no receive has asked for.
    kept: Cap,
    /// Where that may take more when there is more.
    free_memory: Option<FreeMemory>,
    /// Peers to which nothing goes without asking, because they keep too much.
    full: HashSet<Proc>,
    /// Times that the library has looked at everything, and by peer what that was when a send was last to do so.
    pub looks: u32,
    looked: Vec<u32>,
    /// Whether calls that wait lend what they send, by the length of that; and the choice of the call that is under way.
    trials: LendingTrials,
    pub lends_now: Option<bool>,
    /// Messages on their way to receives that fetch them.
    fetches: Vec<Fetch>,
    /// What receivers copy themselves while they wait.
    fetching: Fetching,
    /// Which messages they had better copy, the kernel for them or they themselves.
    copies: Copies,
    /// How the last messages of each peer have come.
    ways: Vec<Ways>,
    round: Round,
    /// Messages on their way from here whose receivers are to be told of the end.
    fins: HashMap<u32, Fin>,
    /// Processes that cannot be reached any more, and why.
    lost: HashMap<Proc, String>,
    /// Which processes take part in a context, if anybody knows.
    pub members: Option<Members>,
    /// Told of packets that cannot be right.
    pub on_damage: Box<dyn Fn(&Damaged)>,
    /// How long messages travel, where there is a choice.
    pub rendezvous: Rendezvous,
    /// Memory of transfers under way that peers have a key to.
    located: HashMap<u32, Memory>,
    /// What packets' payloads are to whoever copies them.
    payload: Source,
    /// What the memory of the last long message seems to be.
    target: Target,
    gauge: Gauge,
    outboxes: Vec<Outbox>,
    /// Peers whose outbox is not empty.
    busy: Vec<Proc>,
    /// Something has completed or moved since this was last cleared.
    pub moved: bool,
    /// Something has completed since the device last asked whether more is wanted.
    ended: bool,
    /// Looks of [`State::take_ended`].
    pub(super) quick: u32,
    /// Transfer [`EXPECTED`] is in use, from its start to the end of its call.
    expecting: bool,
    /// A message has matched it.
    expected_begun: bool,
    /// Where the memory of the receive that is about to be published lies, if that was found out just now.
    expected_at: Option<Memory>,
    /// What the caller exchanges.
    pub exchanges: Exchanges,
    clock: Clock,
}

/// All transfers: none but [`EXPECTED`].
fn transfers() -> Slab<Transfer> {
    let mut transfers = Slab::new();
    let side = Side::receive(NONE);
    let (data, status) = (Data::none(), Status::default());
    let first = transfers.insert(Transfer { data, status, done: true, released: false, owner: None, side });
    assert_eq!(first, EXPECTED);
    transfers
}

impl State {
    /// `clock`: what time it is, in nanoseconds; it does not go back.
    pub fn new(mcm: Rc<Mcm>, eager_limit: Option<usize>, clock: Clock) -> State {
        let peers = mcm.size() as usize;
        let payload = if mcm.write_back() { Source::Peer } else { Source::Fresh };
        let direct_from = mcm.direct().map_or(usize::MAX, |direct| direct.threshold());
        let longest = eager_limit.unwrap_or(usize::MAX - 1).min(mcm.inline());
        let short = (longest + 1).min(direct_from).min(tern_counters::Lengths::END);
        State {
            clock,
            short: ShortPath::new(short),
            kept: Cap::new(peers),
            free_memory: None,
            full: HashSet::new(),
            looks: 0,
            looked: vec![0; peers],
            matching: Matching::new(),
            transfers: transfers(),
            arrivals: Slab::new(),
            eager_limit,
            mark: 0,
            waits: false,
            incoming: vec![Incoming::Nowhere; peers],
            streams: vec![tuple::Sender::default(); peers],
            taken: vec![tuple::Receiver::default(); peers],
            late: Late::default(),
            habits: Habits::default(),
            order: Order::default(),
            direct_from,
            lends_from: mcm.sends_from(),
            trials: LendingTrials::default(),
            lends_now: None,
            fetches: Vec::new(),
            fetching: Fetching::default(),
            copies: Copies::default(),
            ways: vec![Ways::default(); peers],
            round: Round::default(),
            fins: HashMap::new(),
            lost: HashMap::new(),
            members: None,
            on_damage: Box::new(|damaged| panic!("process {} has sent {damaged}", damaged.from)),
            rendezvous: Rendezvous::Auto,
            located: HashMap::new(),
            payload,
            target: Target::Soon,
            gauge: Gauge::default(),
            outboxes: (0..peers).map(|_| Outbox::default()).collect(),
            busy: Vec::new(),
            moved: false,
            ended: false,
            quick: 0,
            expecting: false,
            expected_begun: false,
            expected_at: None,
            exchanges: Exchanges::Nothing,
            mcm,
        }
    }

    /// The program starts something long; `alone`: what it started before it has waited for, or a call begins.
    #[inline]
    pub fn starts(&mut self, alone: bool) {
        if self.round.ends(alone) {
            self.copies.end_round();
            self.gauge.end_round();
            self.direct().end_round();
        }
    }

    /// A call that has waited for what it had started is over.
    pub fn end_call(&mut self) {
        (self.waits, self.exchanges) = (false, Exchanges::Nothing);
    }

    /// The longest message that may go to `peer` without asking, if that waits: see [`tern_policy::pair::ahead`].
    #[inline]
    fn waiting_limit(&self, peer: Proc) -> usize {
        let ahead = || self.mcm.direct().map_or(0, |direct| tern_policy::pair::ahead(direct.window(peer)));
        self.eager_limit.unwrap_or_else(|| self.mcm.eager(peer).max(ahead()))
    }

    /// Longest message to `peer` that goes without asking.
    #[inline]
    fn eager_limit(&self, peer: Proc) -> usize {
        self.eager_limit.unwrap_or_else(|| self.mcm.eager(peer))
    }

    /// Makes room for all processes that the devices know by now.
    pub fn grow(&mut self) {
        let peers = self.mcm.size() as usize;
        self.incoming.resize(peers, Incoming::Nowhere);
        self.streams.resize(peers, tuple::Sender::default());
        self.looked.resize(peers, 0);
        self.ways.resize(peers, Ways::default());
        self.taken.resize(peers, tuple::Receiver::default());
        self.kept.grow(peers);
        self.outboxes.resize_with(peers, Outbox::default);
    }

    /// True when nothing waits to be sent to these processes.
    pub fn is_flushed_to(&self, peers: &std::ops::Range<Proc>) -> bool {
        !self.busy.iter().any(|peer| peers.contains(peer))
    }

    /// Names a transfer; keeps `owner` until it is freed.
    #[inline]
    pub fn name(&mut self, request: u32, owner: Owner) -> Name {
        self.transfers.get_mut(request).owner = Some(owner);
        Name { index: request, generation: self.transfers.generation(request) % Name::GENERATIONS }
    }

    /// The transfer of that name, unless it was freed.
    #[inline]
    pub fn named(&self, name: Name) -> Option<&Transfer> {
        let transfer = self.transfers.find(name.index).filter(|transfer| transfer.owner.is_some())?;
        (self.transfers.generation(name.index) % Name::GENERATIONS == name.generation).then_some(transfer)
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
        self.ended = true;
        self.wake_others();
        if !self.located.is_empty() {
            self.unlocate(request);
        }
    }

    #[inline]
    fn complete(&mut self, request: u32) {
        self.note_end(request);
        let transfer = self.transfers.get_mut(request);
        transfer.done = true;
        if let Data::Typed { .. } = transfer.data {
            // The program may free the type, which nobody needs any more.
            transfer.data = Data::none();
        }
        if transfer.released {
            self.transfers.remove(request);
        }
    }
}
