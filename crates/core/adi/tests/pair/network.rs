//! A network in memory that is as unkind as the contract of devices allows: short queues, packets
//! taken in part, peers polled in any order and not always. All of it follows from one seed.

use super::direct::{self, Board};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use tern_device::{Abilities, Channel, Cut, Direct, Header, Lending, Payload, Place, Sink};

thread_local! {
    /// Comes at the end of each look, where processes take turns.
    pub static TURN: Cell<fn()> = const { Cell::new(|| ()) };
}

/// How unkind.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    pub seed: u64,
    /// Payload bytes of a packet at most.
    pub packet: usize,
    /// Packets under way from one process to another at most.
    pub queue: usize,
}

/// Numbers that follow from a seed (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }
}

type Packets = VecDeque<(Header, Bytes)>;

/// A payload: copied, or lent by its sender until it arrives.
enum Bytes {
    Copied(Vec<u8>),
    /// Who is told, if it is the last of a message.
    Lent {
        at: *const u8,
        len: usize,
        sender: Option<u32>,
    },
}

impl Bytes {
    /// What was lent is copied.
    fn own(&mut self) {
        if let Bytes::Lent { at, len, .. } = *self {
            // SAFETY: the sender keeps it until it is told.
            *self = Bytes::Copied(unsafe { std::slice::from_raw_parts(at, len) }.to_vec());
        }
    }
}

/// A payload on its way to its place: the bytes that are missing, and what has come of it by now.
struct Placing {
    place: Place,
    payload: Vec<u8>,
    done: usize,
}

struct Network {
    manners: Manners,
    random: Random,
    /// Under way, by sender and receiver.
    queues: Vec<Vec<Packets>>,
    /// Published receives, by receiver and sender.
    boards: Vec<Vec<Board>>,
    /// By receiver and sender: a payload that goes to its place in parts.
    placing: Vec<Vec<Option<Placing>>>,
    /// By process: its requests whose payload was lent, and has arrived at a peer.
    returned: Vec<Vec<(u32, u32)>>,
    /// Pairs that do not reach each other any more.
    cut: Vec<[u32; 2]>,
    /// By process: peers that are lost, unknown to it.
    losses: Vec<Vec<u32>>,
    /// By process: it has died.
    dead: Vec<bool>,
}

/// Cuts connections, and does other harm.
pub struct Scissors(Rc<RefCell<Network>>);

impl Scissors {
    /// A packet that process `from` has never sent comes to process `to`, before all others.
    pub fn forge(&self, from: u32, to: u32, header: Header, payload: &[u8]) {
        let queues = &mut self.0.borrow_mut().queues;
        queues[from as usize][to as usize].push_front((header, Bytes::Copied(payload.to_vec())));
    }

    /// What is under way between these two is lost; both come to know it at some time.
    pub fn cut(&self, one: u32, other: u32) {
        let network = &mut *self.0.borrow_mut();
        if one == other || network.is_cut(one, other) {
            return;
        }
        network.cut.push([one, other]);
        for (a, b) in [(one as usize, other as usize), (other as usize, one as usize)] {
            network.queues[a][b].clear();
            network.placing[a][b] = None;
            network.boards[a][b] = Board::default();
            network.returned[a].retain(|&(peer, _)| peer as usize != b);
            network.losses[a].push(b as u32);
        }
    }

    /// Process `who` dies. What it has sent to each peer arrives up to some packet, or all of it; everybody comes to know of the death when it has.
    pub fn kill(&self, who: u32) {
        let network = &mut *self.0.borrow_mut();
        let processes = network.queues.len();
        for peer in (0..processes).filter(|&peer| peer != who as usize) {
            let (me, other) = (who as usize, peer as u32);
            if !network.is_cut(who, other) {
                network.cut.push([who, other]);
                network.losses[peer].push(who);
            }
            network.queues[peer][me].clear();
            let sent = network.queues[me][peer].len() as u64;
            let arrives = network.random.below(sent + 1) as usize;
            network.queues[me][peer].truncate(arrives);
            // It keeps nothing that it has lent.
            network.queues[me][peer].iter_mut().for_each(|(_, bytes)| bytes.own());
            network.returned[peer].retain(|&(other, _)| other != who);
            network.placing[me][peer] = None;
            network.boards[peer][me].sender_died();
            network.boards[me][peer] = Board::default();
        }
        network.losses[who as usize].clear();
        network.dead[who as usize] = true;
    }

    /// No look of any of these processes would find anything: what none of them has now will never come.
    pub fn is_quiet(&self, lives: impl Fn(u32) -> bool) -> bool {
        let network = self.0.borrow();
        let living: Vec<usize> = (0..network.queues.len()).filter(|&at| lives(at as u32)).collect();
        living.iter().all(|&me| {
            let others = 0..network.queues.len();
            network.losses[me].is_empty()
                && network.returned[me].is_empty()
                && others.clone().all(|from| network.queues[from][me].is_empty() && network.placing[me][from].is_none())
                && living.iter().all(|&peer| network.boards[me][peer].is_quiet())
        })
    }
}

impl Network {
    fn is_cut(&self, one: u32, other: u32) -> bool {
        self.cut.iter().any(|&pair| pair == [one, other] || pair == [other, one])
    }

    /// Takes the next packet from `from` to `to`.
    fn take(&mut self, from: usize, to: usize) -> Option<(Header, Vec<u8>)> {
        let (header, bytes) = self.queues[from][to].pop_front()?;
        let bytes = match bytes {
            Bytes::Copied(bytes) => bytes,
            Bytes::Lent { at, len, sender } => {
                self.returned[from].extend(sender.map(|sender| (to as u32, sender)));
                // SAFETY: the sender keeps it until it is told.
                unsafe { std::slice::from_raw_parts(at, len) }.to_vec()
            }
        };
        Some((header, bytes))
    }

    /// Peers that process `me` has lost, of which nothing more comes.
    fn take_losses(&mut self, me: usize) -> Vec<u32> {
        let all = std::mem::take(&mut self.losses[me]);
        let comes = |peer: &u32| {
            let peer = *peer as usize;
            !self.queues[peer][me].is_empty() || self.placing[me][peer].is_some()
        };
        let (later, now) = all.into_iter().partition(comes);
        self.losses[me] = later;
        now
    }

    /// How much of a payload goes: mostly what fits, often less, at times none of it.
    fn share(&mut self, len: usize) -> usize {
        let len = len.min(self.manners.packet) as u64;
        match self.random.below(4) {
            0 => self.random.below(len + 1) as usize,
            _ => len as usize,
        }
    }
}

/// The network as one process sees it.
pub struct Port {
    network: Rc<RefCell<Network>>,
    me: u32,
    abilities: Abilities,
}

/// Ports for `processes` that reach each other.
pub fn ports(processes: u32, manners: Manners) -> (Vec<Port>, Scissors) {
    let row = || (0..processes).map(|_| Packets::new()).collect();
    let network = Rc::new(RefCell::new(Network {
        manners,
        random: Random(manners.seed.wrapping_mul(2) | 1),
        queues: (0..processes).map(|_| row()).collect(),
        placing: (0..processes).map(|_| (0..processes).map(|_| None).collect()).collect(),
        returned: vec![Vec::new(); processes as usize],
        cut: Vec::new(),
        losses: vec![Vec::new(); processes as usize],
        dead: vec![false; processes as usize],
        boards: (0..processes).map(|_| (0..processes).map(|_| Board::default()).collect()).collect(),
    }));
    let abilities = Abilities {
        name: "memory",
        packet: manners.packet,
        // In some worlds what is asked for is lent.
        piece: (manners.seed >> 16).is_multiple_of(2).then_some(manners.packet),
        eager: manners.packet,
        direct_from: direct::THRESHOLD,
        inline: 0,
        latency_ns: 1.0,
        bandwidth: 1.0,
        lines: false,
        look: 1,
        write_back: true,
    };
    let port = |me| Port { network: network.clone(), me, abilities: abilities.clone() };
    ((0..processes).map(port).collect(), Scissors(network.clone()))
}

impl Port {
    pub fn me(&self) -> u32 {
        self.me
    }

    pub fn processes(&self) -> u32 {
        self.network.borrow().queues.len() as u32
    }

    /// True when nothing goes to that process any more.
    pub fn is_cut_from(&self, peer: u32) -> bool {
        self.network.borrow().is_cut(self.me, peer)
    }

    /// True when that process has died.
    pub fn is_dead(&self, peer: u32) -> bool {
        self.network.borrow().dead[peer as usize]
    }

    /// True once in `times`, at random.
    pub fn chance(&self, times: u64) -> bool {
        self.network.borrow_mut().random.below(times) == 0
    }

    /// A packet goes to the sink, or begins to go to its place.
    fn hand_on(&self, from: usize, header: &Header, payload: Vec<u8>, sink: &mut dyn Sink) {
        let place =
            if self.chance(2) && !payload.is_empty() { sink.place(from as u32, header, payload.len()) } else { None };
        match place {
            Some(place) => {
                let placing = Placing { place, payload, done: 0 };
                self.network.borrow_mut().placing[self.me as usize][from] = Some(placing);
                self.go_on_placing(from, sink);
            }
            None => sink.packet(from as u32, header, &payload),
        }
    }

    /// Some more bytes go to their place. False while a payload of this sender is on its way there.
    fn go_on_placing(&self, from: usize, sink: &mut dyn Sink) -> bool {
        let mut network = self.network.borrow_mut();
        let Some(mut placing) = network.placing[self.me as usize][from].take() else { return true };
        let Placing { place, payload, done } = &mut placing;
        let count = network.random.below((payload.len() - *done + 1) as u64) as usize;
        // SAFETY: the sink keeps the place for all of the payload until it is told of its end.
        unsafe { std::ptr::copy_nonoverlapping(payload[*done..].as_ptr(), place.at().add(*done), count) };
        *done += count;
        if *done < payload.len() {
            network.placing[self.me as usize][from] = Some(placing);
            return false;
        }
        drop(network);
        sink.placed(placing.place.token(), placing.payload.len());
        true
    }

    /// Nothing goes to memory any more that a transfer with `peer` had.
    pub fn stop_placing(&self, peer: u32) {
        let network = &mut *self.network.borrow_mut();
        network.placing[self.me as usize][peer as usize] = None;
        network.boards[self.me as usize][peer as usize] = Board::default();
    }

    /// Does something to what `receiver` has published for `sender`.
    pub fn board<R>(&self, receiver: u32, sender: u32, act: impl FnOnce(&mut Board) -> R) -> R {
        act(&mut self.network.borrow_mut().boards[receiver as usize][sender as usize])
    }
}

impl Channel for Port {
    fn direct(&self) -> Option<&dyn Direct> {
        (!direct::ABSENT.get()).then_some(self as &dyn Direct)
    }

    fn awake(&self) -> u32 {
        1
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn reaches(&self, peer: u32) -> bool {
        peer != self.me && (peer as usize) < self.network.borrow().queues.len()
    }

    fn copy_and_send(&self, peer: u32, header: &Header, mut payload: Payload<'_>) -> Option<usize> {
        assert!(self.reaches(peer), "no way from {} to {peer}", self.me);
        let (room, len) = {
            let mut network = self.network.borrow_mut();
            let waiting = network.queues[self.me as usize][peer as usize].len();
            // At times it says no although there is room.
            let room = waiting < network.manners.queue && network.random.below(8) != 0;
            (room, network.share(payload.len()))
        };
        if !room {
            return None;
        }
        let mut bytes = vec![0; len];
        payload.write_to(&mut bytes);
        let mut network = self.network.borrow_mut();
        if !network.is_cut(self.me, peer) {
            network.queues[self.me as usize][peer as usize].push_back((*header, Bytes::Copied(bytes)));
        }
        Some(len)
    }

    fn sends_from(&self) -> usize {
        3
    }

    fn lending(&self, _peer: u32, _payload: &[u8]) -> Lending {
        [Lending::No, Lending::Saves(100), Lending::Always][self.network.borrow_mut().random.below(3) as usize]
    }

    unsafe fn send_from(&self, peer: u32, cut: &Cut, payload: &[u8], sender: u32) -> bool {
        let mut network = self.network.borrow_mut();
        let parts = payload.chunks(cut.len.min(network.manners.packet));
        let waiting = network.queues[self.me as usize][peer as usize].len();
        if waiting + parts.len() > network.manners.queue || network.random.below(2) == 0 {
            return false;
        }
        if network.is_cut(self.me, peer) {
            return true;
        }
        let last = parts.len() - 1;
        for (number, part) in parts.enumerate() {
            let sender = (number == last).then_some(sender);
            let lent = Bytes::Lent { at: part.as_ptr(), len: part.len(), sender };
            let header = if number == 0 { cut.first } else { cut.rest };
            network.queues[self.me as usize][peer as usize].push_back((header, lent));
        }
        true
    }

    fn poll(&self, sink: &mut dyn Sink) -> usize {
        let mut packets = 0;
        let processes = self.network.borrow().queues.len();
        let first = self.network.borrow_mut().random.below(processes as u64) as usize;
        for step in 0..processes {
            let from = (first + step) % processes;
            let burst = self.network.borrow_mut().random.below(4);
            for _ in 0..burst {
                if !self.go_on_placing(from, sink) {
                    break;
                }
                let packet = self.network.borrow_mut().take(from, self.me as usize);
                let Some((header, payload)) = packet else { break };
                // The sink may send: nothing is borrowed here.
                self.hand_on(from, &header, payload, sink);
                packets += 1;
                if sink.has_enough() {
                    break;
                }
            }
        }
        if self.chance(2) {
            let returned = std::mem::take(&mut self.network.borrow_mut().returned[self.me as usize]);
            packets += returned.len();
            returned.into_iter().for_each(|(_, sender)| sink.sent(sender));
        }
        if self.chance(4) {
            let losses = self.network.borrow_mut().take_losses(self.me as usize);
            losses.into_iter().for_each(|peer| sink.lost(peer, "somebody has cut the cable"));
        }
        packets += direct::look(self, sink);
        TURN.get()();
        packets
    }

    fn take_next(&self, peer: u32, _looks: u32, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        assert_ne!(peer, self.me, "what a process sends to itself passes no device");
        if self.network.borrow().placing[self.me as usize][peer as usize].is_some() {
            return false;
        }
        // Whoever takes a packet may send one: nothing is borrowed then. What is lent comes by the other way.
        let next = match self.network.borrow().queues[peer as usize][self.me as usize].front() {
            Some((header, Bytes::Copied(payload))) => Some((*header, payload.clone())),
            _ => None,
        };
        let used = next.is_some_and(|(header, payload)| take(&header, &payload));
        if used {
            self.network.borrow_mut().queues[peer as usize][self.me as usize].pop_front();
        }
        used
    }

    fn set_waiting(&self, waiting: bool) {
        direct::SAID.set(waiting);
    }

    fn prepare_sleep(&self) -> u32 {
        panic!("a driver in one thread never waits")
    }

    fn sleep(&self, _token: u32, _timeout: Duration) {}

    fn end_sleep(&self) {}

    fn ring(&self, _peer: u32) {}
}
