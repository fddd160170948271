//! Frequently used buffers: short messages that leave from where they lie, without a copy ("Improving RDMA-based MPI
//! Eager Protocol for Frequently-used Buffers", 2009).
//!
//! Which buffers those are is decided by [`tern_policy::frequent`]. The front of a packet, prefix and header, is built
//! in registered memory as ever; the card gathers it and its part of the program's buffer into one packet. What it costs to
//! register and to copy is measured when the device is made.
//!
//! A card reads the buffer until the packet is acknowledged, since it may have to repeat it; so does the software HCA. So a
//! sender that waits until it may change the buffer waits for the way there and back, which is more than the copy
//! costs, unless it would wait for an answer anyway. That is found out above ([`Lending::Saves`]).

use crate::channel::Channel;
use crate::channels::Channels;
use crate::incoming::Incoming;
use crate::registered::Registered;
use crate::settings::Settings;
use crate::token::Token;
use crate::wire::Kind;
use std::cell::{OnceCell, RefCell};
use std::time::Instant;
use tern_counters as counters;
use tern_device::{Cut, Header, Lending, Memory, Sink};
use tern_hca::{Access, Data, Error, Operation, ProtectionDomain, Segment, Status};
use tern_policy::frequent::{Costs, Counts, SHORTEST, Uses};

/// Nanoseconds that no look-up takes.
const SLOW: f64 = 2000.0;
/// No buffer.
const NONE: u32 = u32::MAX;
/// Packets of a message, at most.
const PARTS: usize = 4;

/// What is known of frequently used buffers.
pub struct Frequent {
    counts: OnceCell<Counts>,
    uses: RefCell<Uses>,
    lent: RefCell<Vec<Option<Lent>>>,
    free: RefCell<Vec<u32>>,
}

/// A buffer that the card reads.
struct Lent {
    memory: Memory,
    /// Where the fronts of its packets lie.
    fronts: [u32; PARTS],
    /// Packets that have not ended, and whether one of the others has failed.
    left: u8,
    failed: bool,
    /// The request that is told of the end.
    sender: u32,
}

impl Frequent {
    pub fn new() -> Frequent {
        Frequent {
            counts: OnceCell::new(),
            uses: RefCell::new(Uses::new()),
            lent: RefCell::default(),
            free: RefCell::default(),
        }
    }

    fn lend(&self, lent: Lent) -> u32 {
        let mut all = self.lent.borrow_mut();
        match self.free.borrow_mut().pop() {
            Some(at) => {
                all[at as usize] = Some(lent);
                at
            }
            None => {
                all.push(Some(lent));
                all.len() as u32 - 1
            }
        }
    }

    /// The front of that packet has been taken over.
    fn keep_front(&self, at: u32, part: usize) {
        let lent = &mut self.lent.borrow_mut()[at as usize];
        lent.as_mut().expect("it was lent").fronts[part] = NONE;
    }

    /// One of its packets has ended. Gives it back with the last of them.
    fn ended(&self, at: u32, status: Status) -> Option<Lent> {
        let mut all = self.lent.borrow_mut();
        let lent = all[at as usize].as_mut().expect("it was lent");
        lent.left -= 1;
        lent.failed |= status != Status::Success;
        if lent.left > 0 {
            return None;
        }
        self.free.borrow_mut().push(at);
        all[at as usize].take()
    }
}

impl Frequent {
    /// [`tern_device::Channel::sends_from`].
    pub(crate) fn lends_from(&self, channels: &Channels) -> usize {
        if channels.settings.frequent { SHORTEST } else { usize::MAX }
    }

    /// [`tern_device::Channel::lending`].
    pub(crate) fn lends(&self, channels: &Channels, payload: &[u8]) -> Lending {
        let Some(counts) = self.counts.get() else { return Lending::No };
        let Some(needed) = counts.needed(payload.len()) else { return Lending::No };
        if !self.uses.borrow_mut().used(payload.as_ptr() as u64, payload.len() as u64, needed) {
            return Lending::No;
        }
        if channels.settings.frequent_share == 0 {
            Lending::Always
        } else {
            Lending::Saves(counts.saves(payload.len()))
        }
    }

    /// [`tern_device::Channel::send_from`].
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn send_in_place(
        &self, channels: &Channels, peer: u32, cut: &Cut, payload: &[u8], sender: u32,
    ) -> bool {
        let (address, len) = (payload.as_ptr(), payload.len());
        let memory = channels.registered.locate(Memory::dense(address, len));
        let Some(key) = channels.registered.local_key(&memory) else {
            self.uses.borrow_mut().failed(address as u64, len as u64);
            return false;
        };
        let gone = self.gather(channels, peer, cut, &memory, key, sender);
        if !gone {
            channels.registered.release(&memory);
        }
        gone
    }

    /// Sends packets whose payload lies in registered memory. False: nothing has happened.
    fn gather(&self, channels: &Channels, peer: u32, cut: &Cut, memory: &Memory, key: u32, sender: u32) -> bool {
        let Some(channel) = channels.channel(peer) else { return false };
        let (len, parts) = (memory.len as usize, (memory.len as usize).div_ceil(cut.len));
        if parts > PARTS || len.min(cut.len) > channel.packet.min(channels.abilities.packet) {
            return false;
        }
        let Some(fronts) = self.take_fronts(channels, channel, parts) else { return false };
        let at = self.lend(Lent { memory: *memory, fronts, left: parts as u8, failed: false, sender });
        let token = Token::Frequent { peer, value: at };
        for (part, &buffer) in fronts[..parts].iter().enumerate() {
            let from = part * cut.len;
            let address = memory.address + from as u64;
            let payload = Segment { address, len: (len - from).min(cut.len) as u32, key };
            let header = if part == 0 { &cut.first } else { &cut.rest };
            if !self.gather_part(channels, channel, token, header, buffer, payload) {
                self.keep_front(at, part);
            }
        }
        counters::SENT_FREQUENT.add(1);
        counters::SENT_FREQUENT_BYTES.add(memory.len);
        true
    }

    /// Buffers for the fronts of so many packets, which may all go now.
    fn take_fronts(&self, channels: &Channels, channel: &Channel, parts: usize) -> Option<[u32; PARTS]> {
        let mut fronts = [NONE; PARTS];
        let may_go = || channel.may_send_all(parts as u32) && !channel.lost.get();
        if !may_go() {
            channels.pump();
        }
        let taken =
            fronts[..parts].iter_mut().all(|front| channels.take_bounce().inspect(|&buffer| *front = buffer).is_some());
        if taken && may_go() {
            return Some(fronts);
        }
        fronts.iter().filter(|&&front| front != NONE).for_each(|&front| channels.bounces.give(front));
        None
    }

    /// Sends one of the packets. Its end comes in any case. False: its front's buffer is in other hands.
    fn gather_part(
        &self, channels: &Channels, channel: &Channel, token: Token, header: &Header, buffer: u32, payload: Segment,
    ) -> bool {
        let credits = channel.credits.borrow_mut().spend();
        let front = channels.build_front(channel, buffer, Kind::Packet, credits, Some(header));
        let data = [channels.bounces.segment(buffer, front as u32), payload];
        counters::NETWORK_PACKETS.add(1);
        counters::NETWORK_BYTES.add(front as u64 + u64::from(payload.len));
        let operation = Operation::SendWithImmediate(channels.me);
        // What is numbered goes in order.
        let posted = match channel.backlog.borrow().is_empty() {
            true => channel.post(token.encode(), operation, Data::Segments(&data), true),
            false => Err(Error::QueueFull),
        };
        let status = match posted {
            Ok(()) => return true,
            Err(Error::QueueFull) => {
                // As a copy then, for which nobody has to wait.
                let len = payload.len as usize;
                // SAFETY: the caller's payload; a free buffer that is longer than any packet that a channel lets pass.
                unsafe {
                    let to = channels.bounces.at(buffer).add(front);
                    std::ptr::copy_nonoverlapping(payload.address as *const u8, to, len);
                }
                channels.hold_back(channel, buffer, front + len);
                Status::Success
            }
            Err(error) => {
                channels.lose(channel.peer, &format!("a packet was refused: {error}"));
                Status::Flushed
            }
        };
        channels.inbound.borrow_mut().push_back(Incoming::Completed { token, status, len: 0 });
        status == Status::Flushed
    }

    /// A packet with a lent payload has ended.
    pub(crate) fn end_lent(&self, channels: &Channels, at: u32, status: Status, sink: &mut dyn Sink) {
        let Some(lent) = self.ended(at, status) else { return };
        lent.fronts.iter().filter(|&&front| front != NONE).for_each(|&front| channels.bounces.give(front));
        channels.registered.release(&lent.memory);
        // What failed is told by the loss of the peer.
        if !lent.failed {
            sink.sent(lent.sender);
        }
    }

    /// Measures from which use on a buffer is worth registering.
    pub(crate) fn calibrate(&self, channels: &Channels) {
        if !channels.settings.frequent {
            return;
        }
        let Settings { frequent_share: share, explain, link, .. } = channels.settings;
        // What may go without asking, and not in too many packets.
        let most = channels.abilities.eager.min(PARTS * channels.abilities.packet);
        let unknown = Costs { register: 0.0, copy: 0.0, look_up: 0.0 };
        let cost = |size| match share {
            0 if !explain => unknown,
            _ => {
                let costs = measure(&channels.fabric.domain, &channels.registered, size, most);
                Costs { copy: costs.copy.max(link.copy_of(size).as_nanos() as f64), ..costs }
            }
        };
        let counts = Counts::new(cost, share);
        if explain && channels.me == 0 {
            eprintln!("{counts}");
        }
        let _ = self.counts.set(counts);
    }
}

/// The least of a few times, in nanoseconds.
fn least(times: u32, mut act: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        act();
        start.elapsed().as_nanos() as f64
    };
    (0..times).map(time).fold(f64::INFINITY, f64::min)
}

/// What messages of that size cost; above `most` bytes they do not go like this.
fn measure(domain: &ProtectionDomain, registered: &Registered, size: usize, most: usize) -> Costs {
    const ROUNDS: u32 = 16;
    if size > most {
        return Costs { register: f64::INFINITY, copy: 0.0, look_up: 0.0 };
    }
    let (mut from, mut to) = (vec![1_u8; size], vec![0_u8; size]);
    let register = least(3, || {
        // SAFETY: no request uses it.
        let region = unsafe { domain.register(from.as_mut_ptr(), size, Access::ALL) };
        drop(std::hint::black_box(region));
    });
    let copy = least(5, || {
        for _ in 0..ROUNDS {
            std::hint::black_box(&mut to).copy_from_slice(std::hint::black_box(&from));
        }
    });
    let mut uses = Uses::new();
    let look_up = least(5, || {
        for buffer in 0..ROUNDS {
            std::hint::black_box(uses.used(u64::from(buffer) << 12, size as u64, u32::MAX));
        }
    });
    let memory = Memory::dense(from.as_ptr(), size);
    let find = |times: u32| (0..times).for_each(|_| registered.release(&registered.locate(memory)));
    // Where nothing stays registered, this is as slow as registering, and never pays; nor need it be measured well.
    let once = least(2, || find(1));
    let find = if once > SLOW { once } else { least(5, || find(ROUNDS)) / f64::from(ROUNDS) };
    Costs { register, copy: copy / f64::from(ROUNDS), look_up: look_up / f64::from(ROUNDS) + find }
}
