//! The engine: one thread and one epoll instance for all software HCAs of a process.
//!
//! Whoever is at hand moves the traffic. A thread that posts writes to the socket itself; one that polls an empty
//! completion queue reads what has come. So between threads that are at work nothing is handed over. The engine's thread is for
//! the time when nobody polls: the program computes, or sleeps. While somebody polls, it naps, and looks after
//! each nap whether that is still so: 0.1 ms at first, twice as long each time, 0.4 ms at most. When nobody has polled
//! of late, or a completion queue was armed, it watches the sockets, and has peers ring, until somebody polls again.

use super::clock::{NEVER, now};
use super::fork;
use super::regions::Regions;
use crate::{Error, Result};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tern_threads::{Condvar, Mutex, RwLock, Thread};
use watch::Watch;

mod rounds;
mod traffic;
mod watch;

pub use traffic::{Host, News, Reach, Traffic};

/// The engine of this process, and how many HCAs use it. It is changed with forks held off.
static PLACE: Mutex<Option<(Arc<Engine>, usize)>> = Mutex::new(None);

const FIRST_NAP: Duration = Duration::from_micros(100);
const LAST_NAP: Duration = Duration::from_micros(400);
/// Polls after which the engine's thread is told that somebody polls.
const TAKE_OVER: u64 = 4;
/// Events taken from the kernel at once.
const EVENTS: usize = 16;
/// While nothing comes by sockets, a thread that polls looks at them after so many nanoseconds: for new connections and
/// ends of old ones.
const GLANCE: u64 = 20_000;
/// Who has not polled for so long, in nanoseconds, does something else.
const LATELY: u64 = 40_000;
/// What is nearer than this, in nanoseconds, is waited for awake: a thread does not wake up more exactly.
const SOON: u64 = 5_000;

/// What a descriptor in the epoll instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    Wake,
    Listener(u32),
    NearListener(u32),
    Datagrams(u32),
    Stranger(u32),
    Pair(u32),
    /// A connection that a queue pair makes, until the peer has proven itself.
    Calling(u32),
}

impl Tag {
    fn to_data(self) -> EventData {
        let (kind, number) = match self {
            Tag::Wake => (0, 0),
            Tag::Listener(number) => (1, number),
            Tag::Datagrams(number) => (2, number),
            Tag::Stranger(number) => (3, number),
            Tag::Pair(number) => (4, number),
            Tag::NearListener(number) => (5, number),
            Tag::Calling(number) => (6, number),
        };
        EventData::new_u64(kind << 32 | u64::from(number))
    }

    fn from_data(data: EventData) -> Tag {
        let number = data.u64() as u32;
        match data.u64() >> 32 {
            1 => Tag::Listener(number),
            2 => Tag::Datagrams(number),
            3 => Tag::Stranger(number),
            4 => Tag::Pair(number),
            5 => Tag::NearListener(number),
            6 => Tag::Calling(number),
            _ => Tag::Wake,
        }
    }
}

pub struct Engine {
    generation: u32,
    epoll: OwnedFd,
    wake: OwnedFd,
    stopping: AtomicBool,
    thread: Mutex<Option<Thread>>,
    pub regions: Regions,
    pairs: RwLock<HashMap<u32, Arc<dyn Traffic>>>,
    /// Those that are connected through rings; and how many are by sockets.
    near: RwLock<Vec<Arc<dyn Traffic>>>,
    far: AtomicUsize,
    /// When somebody who polls last looked at the sockets.
    looked: AtomicU64,
    hcas: RwLock<HashMap<u32, Weak<dyn Host>>>,
    next_number: AtomicU32,
    /// Queue pairs that want to go on, and those that owe their peers a word.
    ready: List,
    owing: List,
    timers: Mutex<BinaryHeap<Reverse<(u64, u32)>>>,
    next_timer: AtomicU64,
    /// How often somebody has polled; and when the engine began to watch.
    polls: AtomicU64,
    polls_then: AtomicU64,
    /// Completion queues that are armed.
    armed: AtomicU32,
    watch: Watch,
    nap: Mutex<()>,
    nap_ends: Condvar,
}

/// Queue pairs of which something is to be done.
#[derive(Default)]
struct List {
    pairs: Mutex<Vec<Arc<dyn Traffic>>>,
    count: AtomicUsize,
}

impl List {
    fn push(&self, pair: Arc<dyn Traffic>) {
        let mut pairs = self.pairs.lock();
        pairs.push(pair);
        self.count.store(pairs.len(), Ordering::Release);
    }

    fn is_empty(&self) -> bool {
        // Partner of the releases; only a hint.
        self.count.load(Ordering::Acquire) == 0
    }

    fn take(&self) -> Vec<Arc<dyn Traffic>> {
        let mut pairs = self.pairs.lock();
        self.count.store(0, Ordering::Release);
        std::mem::take(&mut pairs)
    }
}

impl Engine {
    /// The engine of this process, which is started if there is none. Every call is followed by
    /// [`leave`](Self::leave).
    pub fn join() -> Result<Arc<Engine>> {
        fork::watch();
        let _gate = fork::hold_off();
        let mut place = PLACE.lock();
        if let Some((engine, users)) = &mut *place
            && engine.generation == fork::generation()
        {
            *users += 1;
            return Ok(engine.clone());
        }
        let engine = Engine::start()?;
        if let Some(of_parent) = place.replace((engine.clone(), 1)) {
            // Its locks may be held by threads that are not here.
            std::mem::forget(of_parent);
        }
        Ok(engine)
    }

    pub fn leave(self: &Arc<Engine>) {
        if self.forked() {
            return;
        }
        {
            let _gate = fork::hold_off();
            let mut place = PLACE.lock();
            let Some((_, users)) = &mut *place else {
                return;
            };
            *users -= 1;
            if *users > 0 {
                return;
            }
            *place = None;
        }
        self.stopping.store(true, Ordering::SeqCst);
        self.rouse();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && !thread.is_current()
        {
            thread.join();
        }
    }

    fn start() -> Result<Arc<Engine>> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Error::Resources(format!("the software HCA got no {what}: {error}"))
        };
        let engine = Arc::new(Engine {
            generation: fork::generation(),
            epoll: epoll::create(CreateFlags::CLOEXEC).map_err(|error| failed("epoll instance", &error))?,
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .map_err(|error| failed("eventfd", &error))?,
            stopping: AtomicBool::new(false),
            thread: Mutex::new(None),
            regions: Regions::default(),
            pairs: RwLock::default(),
            near: RwLock::default(),
            far: AtomicUsize::new(0),
            looked: AtomicU64::new(0),
            hcas: RwLock::default(),
            // Numbers of earlier engines are not used again soon; they have 24 bits, as with cards.
            next_number: AtomicU32::new(super::address::random() as u32 & 0xf_ffff),
            ready: List::default(),
            owing: List::default(),
            timers: Mutex::default(),
            next_timer: AtomicU64::new(NEVER),
            polls: AtomicU64::new(0),
            polls_then: AtomicU64::new(0),
            armed: AtomicU32::new(0),
            watch: Watch::new(),
            nap: Mutex::new(()),
            nap_ends: Condvar::new(),
        });
        epoll::add(&engine.epoll, &engine.wake, Tag::Wake.to_data(), EventFlags::IN)
            .map_err(|error| failed("place in epoll", &error))?;
        let it = engine.clone();
        let thread = Thread::start("tern-hca", 512 << 10, move || it.run());
        *engine.thread.lock() = Some(thread.map_err(|error| failed("thread", &error))?);
        Ok(engine)
    }

    pub fn forked(&self) -> bool {
        self.generation != fork::generation()
    }

    /// A number for a queue pair, a box or an HCA: 24 bits, not 0.
    pub fn number(&self) -> u32 {
        loop {
            let number = self.next_number.fetch_add(1, Ordering::Relaxed) & 0xff_ffff;
            if number != 0 && !self.pairs.read().contains_key(&number) {
                return number;
            }
        }
    }

    pub fn add_pair(&self, pair: Arc<dyn Traffic>) {
        self.pairs.write().insert(pair.number(), pair);
    }

    pub fn remove_pair(&self, number: u32) {
        let pair = self.pairs.write().remove(&number);
        match pair.map(|pair| pair.reach()) {
            Some(Reach::Near) => self.near.write().retain(|pair| pair.number() != number),
            Some(Reach::Far) => {
                self.far.fetch_sub(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// The queue pair has a connection.
    pub fn connected(&self, pair: Arc<dyn Traffic>) {
        if pair.reach() == Reach::Near {
            self.near.write().push(pair);
            // The thread may watch already, and the peer does not know.
            self.rouse_if_later_than(0);
        } else {
            self.far.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn pair(&self, number: u32) -> Option<Arc<dyn Traffic>> {
        self.pairs.read().get(&number).cloned()
    }

    pub fn add_hca(&self, number: u32, hca: &Arc<dyn Host>) {
        self.hcas.write().insert(number, Arc::downgrade(hca));
    }

    pub fn remove_hca(&self, number: u32) {
        self.hcas.write().remove(&number);
    }

    fn hca(&self, number: u32) -> Option<Arc<dyn Host>> {
        self.hcas.read().get(&number)?.upgrade()
    }

    /// None of them is locked meanwhile: what one does may add another.
    fn hcas(&self) -> Vec<Arc<dyn Host>> {
        self.hcas.read().values().filter_map(Weak::upgrade).collect()
    }

    /// Watches a descriptor, which is closed when it is no longer to be watched. Events of queue pairs and listeners come
    /// with each change: what cannot be taken now is no event again and again.
    pub fn watch(&self, descriptor: impl AsFd, tag: Tag) -> Result<()> {
        let flags = match tag {
            Tag::Pair(_) | Tag::Calling(_) => EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET,
            Tag::Listener(_) | Tag::NearListener(_) => EventFlags::IN | EventFlags::ET,
            _ => EventFlags::IN,
        };
        epoll::add(&self.epoll, descriptor, tag.to_data(), flags)
            .map_err(|error| Error::Resources(format!("epoll takes no further descriptor: {error}")))
    }

    /// Gives a socket that is watched already to a queue pair: that of a stranger, or of a call.
    pub fn hand_over(&self, descriptor: impl AsFd, tag: Tag) -> Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::modify(&self.epoll, descriptor, tag.to_data(), flags)
            .map_err(|error| Error::Resources(format!("epoll loses a descriptor: {error}")))
    }

    pub fn forget(&self, descriptor: impl AsFd) {
        let _ = epoll::delete(&self.epoll, descriptor);
    }

    /// The queue pair wants to go on, as soon as others have had their turn.
    pub fn go_on(&self, pair: Arc<dyn Traffic>) {
        self.ready.push(pair);
        self.rouse_if_later_than(0);
    }

    /// The queue pair owes its peer an acknowledgement, if nothing else goes there.
    pub fn owe(&self, pair: Arc<dyn Traffic>) {
        self.owing.push(pair);
        self.rouse_if_later_than(0);
    }

    /// The queue pair is visited at that time.
    pub fn visit_at(&self, time: u64, pair: u32) {
        let mut timers = self.timers.lock();
        timers.push(Reverse((time, pair)));
        if time < self.next_timer.load(Ordering::Relaxed) {
            self.next_timer.store(time, Ordering::SeqCst);
            drop(timers);
            self.rouse_if_later_than(time);
        }
    }

    /// A completion queue was armed: somebody is about to sleep.
    pub fn armed(&self) {
        self.armed.fetch_add(1, Ordering::SeqCst);
        let _nap = self.nap.lock();
        self.nap_ends.notify_all();
    }

    pub fn disarmed(&self) {
        self.armed.fetch_sub(1, Ordering::SeqCst);
    }

    /// The life of the engine's thread.
    fn run(self: Arc<Engine>) {
        // Timers of the link model are short.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let mut nap = FIRST_NAP;
        while !self.stopping.load(Ordering::SeqCst) {
            self.hcas().iter().for_each(|hca| hca.expire());
            let last = self.looked.load(Ordering::Relaxed);
            if now().saturating_sub(last) < LATELY && self.armed.load(Ordering::SeqCst) == 0 {
                self.sleep(nap);
                nap = (nap * 2).min(LAST_NAP);
                continue;
            }
            nap = FIRST_NAP;
            self.watch_until_next(self.polls.load(Ordering::Relaxed));
        }
    }

    fn sleep(&self, nap: Duration) {
        let mut lock = self.nap.lock();
        // Both are changed before the lock is taken to end naps.
        if self.armed.load(Ordering::SeqCst) == 0 && !self.stopping.load(Ordering::SeqCst) {
            self.nap_ends.wait_for(&mut lock, nap);
        }
    }

    /// Waits for the next event or timer, and does what is due.
    fn watch_until_next(&self, polls: u64) {
        let patience = self.hcas().iter().map(|hca| hca.patience()).min().unwrap_or(NEVER);
        let timer = self.next_timer.load(Ordering::SeqCst).min(patience);
        self.polls_then.store(polls, Ordering::Relaxed);
        self.watch.begin(timer);
        self.near.read().iter().for_each(|pair| pair.sleep());
        self.watch.settle();
        let work = !self.ready.is_empty()
            || !self.owing.is_empty()
            || self.near.read().iter().any(|pair| pair.near_news().is_some())
            || self.stopping.load(Ordering::SeqCst);
        let timer = timer.min(self.next_timer.load(Ordering::SeqCst));
        let until = match timer {
            _ if work => Some(0),
            NEVER => None,
            timer if timer <= now() + SOON => Some(0),
            timer => Some(timer),
        };
        self.round(until, true);
        self.watch.end();
        self.near.read().iter().for_each(|pair| pair.awake());
    }

    /// Wakes the engine's thread if it watches, and longer than until `time`.
    pub(super) fn rouse_if_later_than(&self, time: u64) {
        if self.watch.is_longer_than(time) {
            self.rouse();
        }
    }

    fn rouse(&self) {
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
        let _nap = self.nap.lock();
        self.nap_ends.notify_all();
    }
}
