//! Published receives over the network in memory, as unkind as the contract allows: publishing is
//! refused at times, a sender prefers the stream at times, and deliveries take their time.

use super::network::Port;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use tern_device::{
    Delivery, Ended, Event, Exposure, Found, Key, Memory, Outgoing, Pair, PairFacts, PeerState, PublishedReceive, Pull,
    PullTo, PushTo, Recall, RecallReason, Run, SingleCopy, Sink, SpeculativeAddress, TupleQueue, Use,
};
use tern_settings::Mechanism;

thread_local! {
    /// For each buffer that was located: whether its engine said that nothing else is under way.
    pub static QUIET: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
    /// What a process has last said of whether it waits.
    pub static SAID: Cell<bool> = const { Cell::new(false) };
    /// Receives that devices were asked to publish.
    pub static PUBLISHED: Cell<u32> = const { Cell::new(0) };
    /// Messages that their senders have found to be over by themselves.
    pub static TAKEN: Cell<u32> = const { Cell::new(0) };
    /// All processes wait.
    pub static WAITING: Cell<bool> = const { Cell::new(false) };
    /// Who looks for a published receive is told where there is none.
    pub static TELLS: Cell<bool> = const { Cell::new(false) };
    /// Devices carry packets, and nothing else.
    pub static ABSENT: Cell<bool> = const { Cell::new(false) };
    /// Questions about pairs.
    static ASKED: Cell<u32> = const { Cell::new(0) };
    /// Segments of the regions that are open, by cookie.
    static REGIONS: RefCell<HashMap<u64, Vec<Run>>> = RefCell::default();
    /// Memory is exposed to copies by the kernel, as windows need it.
    pub static EXPOSES: Cell<bool> = const { Cell::new(false) };
    /// Messages that were copied out of regions.
    pub static COPIED: Cell<u32> = const { Cell::new(0) };
    /// Whether some memory is seen by all.
    pub static SHARES: Cell<bool> = const { Cell::new(false) };
    /// Messages that were copied out of other memory into irregular blocks.
    pub static SEEN: Cell<u32> = const { Cell::new(0) };
    /// Keys that were given for memory and are not released, and the last one. The lowest byte names the process.
    static KEYS: RefCell<(HashSet<u64>, u64)> = RefCell::default();
}

/// How many keys of these processes are not released.
pub fn keys(of: impl Fn(u32) -> bool) -> usize {
    KEYS.with_borrow(|(live, _)| live.iter().filter(|&&key| of(key as u32 & 0xff)).count())
}

fn new_key(me: u32) -> u64 {
    KEYS.with_borrow_mut(|(live, last)| {
        *last += 1;
        let key = *last << 8 | u64::from(me);
        live.insert(key);
        key
    })
}

/// A world begins.
pub fn forget_keys() {
    KEYS.take();
}

/// Smallest transfer that uses them, in bytes: below and above the eager limits of the tests.
pub const THRESHOLD: usize = 12;
/// Shortest message that a receiver fetches if it waits.
const FETCHED: usize = 16;
/// Speculative addresses, of memory that is there, and of memory that is not.
const RIGHT: u64 = 1;
const WRONG: u64 = 2;
/// Longest message, in bytes, that goes without asking to who waits; also of data with gaps.
pub const AHEAD: usize = 402;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// Its sender sends packets.
    Packets,
    /// It will be filled at some later look of either side, by the message of this request.
    Pending(Memory, u32),
    Filled(u64),
}

struct Published {
    slot: u32,
    key: Key,
    target: Memory,
    receiver: u32,
    stage: Stage,
    /// The receiver has asked for it.
    asked: bool,
}

/// What one process has published for one other.
#[derive(Default)]
pub struct Board {
    /// Oldest first.
    receives: Vec<Published>,
    seen: u32,
    slots: u32,
    /// Messages that the receiver fetches.
    pulls: Vec<Fetch>,
    /// Copies in which the sender may take part so far.
    joint: u64,
    /// Requests of the sender whose message has arrived, unknown to it.
    sent: Vec<u32>,
}

/// A message on its way to a receiver that fetches it.
struct Fetch {
    source: Memory,
    target: Memory,
    receiver: u32,
    /// What its sender is told, if it may take part.
    number: Option<u64>,
    /// It has, and all is copied.
    copied: bool,
    /// Its request, when it waits for the end.
    sender: Option<u32>,
}

/// Copies what fits, byte by byte.
fn copy(source: &Memory, target: &Memory) {
    let at = |memory: &Memory, byte: u64| {
        let offset = (byte / memory.block) as i64 * memory.stride + (byte % memory.block) as i64;
        memory.address.wrapping_add_signed(offset) as *mut u8
    };
    for memory in [source, target] {
        let live = memory.key == 0 || KEYS.with_borrow(|(live, _)| live.contains(&memory.key));
        assert!(live, "memory is used after its transfer");
    }
    for byte in 0..source.len.min(target.len) {
        // SAFETY: the tests keep their buffers while requests are open.
        unsafe { *at(target, byte) = *at(source, byte) };
    }
}

impl Board {
    /// Nothing is under way here: no side will see anything by looking.
    pub fn is_quiet(&self) -> bool {
        let waits = |receive: &Published| receive.asked || !matches!(receive.stage, Stage::Open | Stage::Packets);
        self.pulls.is_empty() && self.sent.is_empty() && !self.receives.iter().any(waits)
    }

    /// The sender has died. What it has claimed stays so: its last packets may be on their way.
    pub fn sender_died(&mut self) {
        self.receives.retain(|receive| receive.stage == Stage::Packets);
        self.pulls.clear();
        self.sent.clear();
    }

    /// Fills what is pending, if it is to be now.
    fn settle(&mut self, now: bool) {
        for receive in &mut self.receives {
            if let Stage::Pending(source, sender) = receive.stage
                && now
            {
                copy(&source, &receive.target);
                receive.stage = Stage::Filled(source.len);
                self.sent.push(sender);
            }
        }
    }
}

/// Tells `sink` of what has ended for this process, as receiver and as sender.
pub fn look(port: &Port, sink: &mut dyn Sink) -> usize {
    let mut ended = 0;
    for peer in 0..port.processes() {
        let now = port.chance(2);
        let filled = port.board(port.me(), peer, |board| {
            board.settle(now);
            let filled = |receive: &Published| matches!(receive.stage, Stage::Filled(_));
            board.receives.iter().position(filled).map(|at| board.receives.remove(at))
        });
        if let Some(Published { receiver, stage: Stage::Filled(size), .. }) = filled {
            sink.delivered(receiver, size);
            ended += 1;
        }
        let asked = port.board(port.me(), peer, |board| {
            let won = |receive: &Published| receive.asked && receive.stage == Stage::Open && now;
            board.receives.iter().position(won).map(|at| board.receives.remove(at))
        });
        if let Some(Published { receiver, .. }) = asked {
            sink.retracted(receiver);
            ended += 1;
        }
        let pull = port.board(port.me(), peer, |board| if now { board.pulls.pop() } else { None });
        if let Some(Fetch { source, target, receiver, copied, sender, .. }) = pull {
            if !copied {
                copy(&source, &target);
            }
            port.board(port.me(), peer, |board| board.sent.extend(sender));
            sink.pulled(receiver);
            ended += 1;
        }
        let now = port.chance(2);
        let sent = port.board(peer, port.me(), |board| {
            board.settle(now);
            board.sent.pop()
        });
        if let Some(sender) = sent {
            sink.sent(sender);
            ended += 1;
        }
    }
    ended
}

impl PairFacts for Port {
    fn pair(&self, _peer: u32) -> Pair {
        // Any two answers may differ; the rest of the world goes on as it would without the question.
        let asked = ASKED.replace(ASKED.get().wrapping_add(1));
        let some = |least: usize| if asked.is_multiple_of(2) { least } else { usize::MAX };
        let asked = if asked.is_multiple_of(3) { Mechanism::Auto } else { Mechanism::Cma };
        Pair {
            kernel: true,
            near: true,
            published_from: [usize::MAX, FETCHED],
            kernel_from: some(FETCHED),
            window: AHEAD,
            fetched_from: FETCHED,
            fetched_to: [usize::MAX; 2],
            asked,
            ..Pair::default()
        }
    }

    fn peer_is(&self, peer: u32, state: PeerState<'_>) -> bool {
        match state {
            PeerState::Waiting(_) | PeerState::Ready { .. } => WAITING.get(),
            PeerState::Alive => !self.is_dead(peer),
        }
    }
}

impl TupleQueue for Port {
    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32> {
        PUBLISHED.set(PUBLISHED.get() + 1);
        if self.chance(8) {
            return None;
        }
        let cut = self.is_cut_from(peer);
        self.board(self.me(), peer, |board| {
            let slot = board.slots;
            board.slots += 1;
            board.seen = seen;
            if cut {
                return Some(slot);
            }
            let (key, target, stage) = (*key, *memory, Stage::Open);
            board.receives.push(Published { slot, key, target, receiver, stage, asked: false });
            Some(slot)
        })
    }

    /// At times the sender may claim a receive that the program wants no more, until the answer has come.
    fn recall(&self, peer: u32, slot: u32, reason: RecallReason) -> Recall {
        let asks = reason == RecallReason::Cancel && !self.chance(2);
        let cut = self.is_cut_from(peer);
        self.board(self.me(), peer, |board| {
            let Some(at) = board.receives.iter().position(|receive| receive.slot == slot) else {
                assert!(cut, "it is published");
                return Recall::Won;
            };
            let stage = board.receives[at].stage;
            match reason {
                RecallReason::Packets => assert!(stage == Stage::Packets, "only packets end this way"),
                _ if asks => {
                    board.receives[at].asked = true;
                    return Recall::Asked;
                }
                _ if stage != Stage::Open => return Recall::Claimed,
                _ => {}
            }
            board.receives.remove(at);
            Recall::Won
        })
    }

    fn take_ended(&self, peer: u32, transfer: Ended) -> Option<u64> {
        match transfer {
            Ended::Receive { .. } if self.is_cut_from(peer) => None,
            Ended::Receive { slot, .. } => self.board(self.me(), peer, |board| {
                let at = board.receives.iter().position(|receive| receive.slot == slot).expect("published");
                let Stage::Filled(size) = board.receives[at].stage else { return None };
                board.receives.remove(at);
                Some(size)
            }),
            Ended::Send(sender) => self.board(peer, self.me(), |board| {
                let at = board.sent.iter().position(|&other| other == sender)?;
                board.sent.remove(at);
                TAKEN.set(TAKEN.get() + 1);
                Some(0)
            }),
        }
    }

    fn raise(&self, peer: u32, seen: u32) {
        self.board(self.me(), peer, |board| board.seen = seen);
    }

    /// At times it finds one that is gone, or never was.
    fn find_published(&self, peer: u32, key: &Key, last: u32, _len: u64) -> Option<Found> {
        let receive = PublishedReceive { is_private: self.chance(2), waits: WAITING.get() };
        let none = WAITING.get() && self.chance(2);
        let slot = self.board(peer, self.me(), |board| {
            let open = |receive: &&Published| receive.stage == Stage::Open && receive.key == *key;
            let found = board.receives.iter().find(open).filter(|_| board.seen.wrapping_sub(last) as i32 >= 0);
            found.map(|found| found.slot)
        });
        let none = none || (slot.is_none() && TELLS.get());
        (!none).then_some(Found { key: *key, last, slot: slot.unwrap_or(u32::MAX), stamp: 0, receive })
    }

    fn deliver(&self, peer: u32, found: &Found, message: &Outgoing<'_>) -> Delivery {
        let Outgoing { source, sender, .. } = *message;
        if self.chance(4) {
            return Delivery::Stream;
        }
        if self.is_cut_from(peer) {
            return Delivery::Pending;
        }
        let (at_once, later) = (self.chance(3), self.chance(2));
        self.board(peer, self.me(), |board| {
            let open = |receive: &&mut Published| receive.stage == Stage::Open && receive.slot == found.slot;
            let Some(receive) = board.receives.iter_mut().find(open) else { return Delivery::Stream };
            if source.is_opaque() || receive.target.is_opaque() || (!at_once && !later) {
                receive.stage = Stage::Packets;
                return Delivery::Packets { receiver: receive.receiver, room: receive.target.len };
            }
            if later {
                receive.stage = Stage::Pending(*source, sender);
                return Delivery::Pending;
            }
            copy(source, &receive.target);
            receive.stage = Stage::Filled(source.len);
            Delivery::Done
        })
    }
}

impl SingleCopy for Port {
    fn locate(&self, _peer: u32, memory: Memory, used: Use) -> Memory {
        if used.bytes != memory.len {
            return self.locate_span(memory, used.bytes);
        }
        QUIET.with_borrow_mut(|all| all.push(used.quiet));
        if memory.is_opaque() || self.chance(3) {
            return memory;
        }
        if SHARES.get() && memory.is_dense() && self.chance(2) {
            return Memory { place: RIGHT, ..memory };
        }
        Memory { key: new_key(self.me()), ..memory }
    }

    fn release(&self, memory: &Memory) {
        let live = KEYS.with_borrow_mut(|(live, _)| live.remove(&memory.key));
        assert!(live, "released twice, or without a key");
        let region = REGIONS.with_borrow_mut(|regions| regions.remove(&memory.key));
        assert_eq!(region.is_some(), memory.is_region());
    }

    fn speculative_address(&self, memory: &Memory) -> Option<SpeculativeAddress> {
        assert!(memory.is_dense(), "it cannot be in one place");
        (!self.chance(4)).then(|| {
            let place = if self.chance(2) { RIGHT } else { WRONG };
            SpeculativeAddress { place, sure: place == RIGHT && self.chance(2) }
        })
    }

    fn is_still(&self, _memory: &Memory, place: u64) -> bool {
        place == RIGHT
    }

    fn expose(&self, memory: &Memory, how: Exposure<'_>) -> Option<Memory> {
        match how {
            Exposure::Segments(_, segments) => self.open_region(memory, segments),
            Exposure::ByKernel(_) if EXPOSES.get() => Some(Memory { key: new_key(self.me()), ..*memory }),
            _ => None,
        }
    }

    fn pull(&self, peer: u32, source: &Memory, target: PullTo<'_>) -> Pull {
        let done = match target {
            PullTo::Receive(target, receiver, _) => return self.get(peer, source, target, receiver),
            PullTo::ByKernel(target) => self.get_by_kernel(peer, source, target),
            PullTo::Runs(target) => self.copy_segments(peer, source, target),
        };
        if done { Pull::Done } else { Pull::No }
    }

    fn hears_of(&self, event: Event) {
        if let Event::Lost(peer) = event {
            self.stop_placing(peer);
        }
    }

    fn push(&self, peer: u32, source: &Memory, target: PushTo<'_>, sender: u32) -> Pull {
        match target {
            PushTo::Memory(target) => self.put(peer, source, target, sender),
            PushTo::Joint(number) => self.join_copy(peer, source, number, sender),
        }
    }
}

impl Port {
    fn get(&self, peer: u32, source: &Memory, target: &Memory, receiver: u32) -> Pull {
        if self.chance(2) {
            return Pull::No;
        }
        if self.is_cut_from(peer) {
            return Pull::Pending;
        }
        if source.place == WRONG && self.chance(2) {
            // Something that no message holds.
            let nothing = vec![0xee; source.len as usize];
            copy(&Memory::dense(nothing.as_ptr(), nothing.len()), target);
            return Pull::Done;
        }
        if source.place == RIGHT || (source.place == 0 && self.chance(2)) {
            copy(source, target);
            return Pull::Done;
        }
        // Memory that has a place is copied now, or by both from where it is.
        let joint = source.place != 0 || self.chance(2);
        self.board(self.me(), peer, |board| {
            board.joint += 1;
            let number = joint.then_some(board.joint);
            let fetch = Fetch { source: *source, target: *target, receiver, number, copied: false, sender: None };
            board.pulls.push(fetch);
            number.map_or(Pull::Pending, Pull::Joint)
        })
    }

    fn locate_span(&self, span: Memory, bytes: u64) -> Memory {
        assert!(span.is_dense() && bytes > 0);
        // Mostly as if it was shared, or the region would not be presumed to be better.
        if self.chance(4) { span } else { Memory { place: span.address, ..span } }
    }

    fn open_region(&self, span: &Memory, segments: &[Run]) -> Option<Memory> {
        if self.chance(4) {
            return None;
        }
        let (key, len) = (new_key(self.me()), segments.iter().map(|run| run.len).sum());
        let within =
            |run: &Run| run.len > 0 && run.address >= span.address && run.address + run.len <= span.address + span.len;
        assert!(segments.iter().all(within), "a segment beyond {span:?}");
        REGIONS.with_borrow_mut(|regions| regions.insert(key, segments.to_vec()));
        Some(Memory { address: span.address, len, key, ..Memory::default() })
    }

    fn copy_segments(&self, peer: u32, region: &Memory, target: &[Run]) -> bool {
        let found = match region.is_region() {
            true => REGIONS.with_borrow(|regions| regions.get(&region.key).cloned()),
            false => (region.place != 0).then(|| region.runs(region.len).collect()),
        };
        let Some(segments) = found.filter(|_| region.len >= target.iter().map(|run| run.len).sum()) else {
            return false;
        };
        let addresses =
            |runs: &[Run]| -> Vec<u64> { runs.iter().flat_map(|run| run.address..run.address + run.len).collect() };
        let can = !self.is_cut_from(peer) && !self.chance(3);
        // Something that no message holds.
        let is_wrong = !region.is_region() && region.place == WRONG && self.chance(2);
        // What was begun before the refusal is there.
        for (from, to) in
            addresses(&segments).into_iter().zip(addresses(target)).take(if can { usize::MAX } else { 1000 })
        {
            // SAFETY: the tests keep their buffers while requests are open.
            unsafe { *(to as *mut u8) = if is_wrong { 0xee } else { *(from as *const u8) } };
        }
        let count = if region.is_region() { &COPIED } else { &SEEN };
        count.set(count.get() + u32::from(can));
        can
    }

    fn get_by_kernel(&self, peer: u32, source: &Memory, target: &Memory) -> bool {
        assert!(source.is_dense() && target.is_dense() && source.place == 0, "the kernel knows addresses");
        let can = !self.is_cut_from(peer) && !self.chance(4);
        if can {
            copy(source, target);
        }
        can
    }

    fn join_copy(&self, peer: u32, source: &Memory, number: u64, sender: u32) -> Pull {
        if self.is_cut_from(peer) {
            return Pull::Pending;
        }
        let now = self.chance(2);
        self.board(peer, self.me(), |board| {
            let Some(fetch) = board.pulls.iter_mut().find(|fetch| fetch.number == Some(number)) else {
                return Pull::Done;
            };
            if now {
                copy(source, &fetch.target);
                fetch.copied = true;
                return Pull::Done;
            }
            fetch.sender = Some(sender);
            Pull::Pending
        })
    }

    fn put(&self, peer: u32, source: &Memory, target: &Memory, sender: u32) -> Pull {
        assert!(source.key != 0 && target.key != 0, "nobody can reach it");
        if self.chance(3) {
            return Pull::No;
        }
        if self.is_cut_from(peer) {
            return Pull::Pending;
        }
        copy(source, target);
        if self.chance(2) {
            return Pull::Done;
        }
        self.board(peer, self.me(), |board| board.sent.push(sender));
        Pull::Pending
    }
}
