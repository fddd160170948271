//! The contract that every communication device implements.
//!
//! A device carries packets between processes: a header of 32 bytes that it does not look into,
//! and a payload. Packets of one pair of processes arrive whole and in order. The layers above
//! know a peer only by its number; a device knows nothing of communicators.

#![warn(missing_docs)]

pub mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
mod control_slots;
mod direct;
pub mod hint;
mod memory;
mod pair;
pub mod queue;
mod remote_memory;
pub mod runs;
mod shared_memory;
mod single_copy;
pub mod table;
mod tuple_queue;
#[cfg(feature = "lines-seen")]
pub use control_slots::seen;
pub use control_slots::{ControlSlots, DEPTH, Occupied};
pub use direct::{Direct, way_from, way_into};
pub use memory::{Direction, Exposure, Key, Lease, Memory, Name, Run, SpeculativeAddress, Use};
pub use pair::{Copying, PairFacts, PeerState, Then};
pub use remote_memory::{Lost, RemoteMemory, Word};
pub use shared_memory::{AfterFork, NotCopied, SharedMemory, unmap};
pub use single_copy::{Event, Pull, PullTo, PushTo, SingleCopy};
pub use tern_policy::pair::{Group, Pair, Times};
pub use tern_policy::transfer::{Chooser, Deliver, Get, Situation};
pub use tern_policy::{CopyMode, PublishedReceive, Purpose};
pub use tuple_queue::{Delivery, Ended, Found, Outgoing, Recall, RecallReason, TupleQueue};

use std::os::fd::BorrowedFd;

/// What travels in front of a payload: opaque to devices.
pub type Header = [u64; 4];

/// The payload of a packet, on the sending side.
pub enum Payload<'a> {
    /// Bytes that lie in one run.
    Bytes(&'a [u8]),
    /// The first so many of bytes that lie in one run: the next packets have what follows.
    Part(&'a [u8], usize),
    /// Bytes that the caller writes straight into the device's memory (datatype gather).
    Gather(&'a mut dyn Gather),
}

impl Payload<'_> {
    /// Bytes of it.
    pub fn len(&self) -> usize {
        match self {
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Part(_, len) => *len,
            Payload::Gather(gather) => gather.len(),
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the first `out.len()` bytes of the payload.
    pub fn write_to(&mut self, out: &mut [u8]) {
        match self {
            Payload::Bytes(bytes) | Payload::Part(bytes, _) => copy_short(&bytes[..out.len()], out),
            Payload::Gather(gather) => gather.write_to(out),
        }
    }
}

/// A payload that is gathered on its way out.
pub trait Gather {
    /// Bytes in all.
    fn len(&self) -> usize;
    /// Whether it has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Writes the first `out.len()` bytes, where `out.len() <= self.len()`.
    fn write_to(&mut self, out: &mut [u8]);
}

/// Takes what has come.
pub trait Sink {
    /// A packet. The payload is the device's own memory and valid during the call only.
    fn packet(&mut self, from: u32, header: &Header, payload: &[u8]);

    /// Where the payload of a packet, which has `len` bytes and is on its way, belongs. `Some`: the packet counts as come, the device writes the
    /// payload there, and then calls [`Sink::placed`]; [`Sink::packet`] is not called for it. No other packet of this sender is handed on before.
    /// For long payloads only, by devices that can save a copy so; a device may ask again when the answer was `None`.
    fn place(&mut self, _from: u32, _header: &Header, _len: usize) -> Option<Place> {
        None
    }

    /// The payload of `len` bytes is in the place that has this token.
    fn placed(&mut self, _token: u32, _len: usize) {}

    /// Asked after a packet: true when nobody waits for the next one, so that it had better stay where it is until the
    /// device is polled again. A device may go on all the same.
    #[inline]
    fn has_enough(&mut self) -> bool {
        false
    }

    /// The published receive of request `receiver` has been filled by a message of `size` bytes,
    /// of which it holds the first ones. Comes only from devices with [`Direct`].
    fn delivered(&mut self, _receiver: u32, _size: u64) {}

    /// The published receive of request `receiver`, which was asked back ([`TupleQueue::recall`]), is no longer published
    /// and will not be filled.
    fn retracted(&mut self, _receiver: u32) {}

    /// The message of request `sender`, whose delivery was pending, is in the receiver's memory.
    fn sent(&mut self, _sender: u32) {}

    /// The message of request `sender`, whose delivery to `peer` was pending, goes in packets after all, to the receive of
    /// request `receiver` with room for `room` bytes.
    fn undelivered(&mut self, _peer: u32, _sender: u32, _receiver: u32, _room: u64) {}

    /// The message that request `receiver` fetches ([`SingleCopy::pull`]) is in its memory.
    fn pulled(&mut self, _receiver: u32) {}

    /// Packets that the device has taken for `peer` will not arrive, and `peer` may know nothing of them. [`Sink::lost`] follows.
    fn undeliverable(&mut self, _peer: u32) {}

    /// `peer` cannot be reached any more; `why` is a sentence for the user. Nothing comes from it after this.
    fn lost(&mut self, _peer: u32, _why: &str) {}
}

impl<S: Sink + ?Sized> Sink for &mut S {
    #[inline]
    fn packet(&mut self, from: u32, header: &Header, payload: &[u8]) {
        (**self).packet(from, header, payload);
    }
    fn place(&mut self, from: u32, header: &Header, len: usize) -> Option<Place> {
        (**self).place(from, header, len)
    }
    fn placed(&mut self, token: u32, len: usize) {
        (**self).placed(token, len);
    }
    #[inline]
    fn has_enough(&mut self) -> bool {
        (**self).has_enough()
    }
    fn delivered(&mut self, receiver: u32, size: u64) {
        (**self).delivered(receiver, size);
    }
    fn sent(&mut self, sender: u32) {
        (**self).sent(sender);
    }
    fn undelivered(&mut self, peer: u32, sender: u32, receiver: u32, room: u64) {
        (**self).undelivered(peer, sender, receiver, room);
    }
    fn retracted(&mut self, receiver: u32) {
        (**self).retracted(receiver);
    }
    fn pulled(&mut self, receiver: u32) {
        (**self).pulled(receiver);
    }
    fn undeliverable(&mut self, peer: u32) {
        (**self).undeliverable(peer);
    }
    fn lost(&mut self, peer: u32, why: &str) {
        (**self).lost(peer, why);
    }
}

/// Memory for the payload of one packet ([`Sink::place`]).
#[derive(Debug)]
pub struct Place {
    at: *mut u8,
    token: u32,
}

impl Place {
    /// # Safety
    /// `at` is valid for writes of the payload's length until [`Sink::placed`] is called, or [`Sink::lost`] for the sender, or
    /// [`Channel::forget`] of the sender. Nobody else uses these bytes until then.
    pub unsafe fn new(at: *mut u8, token: u32) -> Place {
        Place { at, token }
    }

    /// Where the payload begins.
    pub fn at(&self) -> *mut u8 {
        self.at
    }

    /// What [`Sink::placed`] is told.
    pub fn token(&self) -> u32 {
        self.token
    }
}

/// Which parts of the machine a process is bound to ([`Channel::bound`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// This device does not tell of that process.
    Nowhere,
    /// It has not told yet.
    NotYet,
    /// Its package, NUMA node and third-level cache, by numbers that mean the same to all processes of the machine.
    To([u32; 3]),
}

/// What a device can do and what it costs.
#[derive(Clone, Debug)]
pub struct Abilities {
    /// How reports and settings call the device.
    pub name: &'static str,
    /// Payload bytes that one packet has room for, whoever it goes to.
    pub packet: usize,
    /// Payload bytes of a packet of a long message, where each packet has a cost of its own, such as a system call. `None`: shorter ones
    /// pay, since the receiver copies one out while the sender copies the next one in. Longer than `packet` where what is
    /// [lent](Channel::send_from) has longer packets.
    pub piece: Option<usize>,
    /// Bytes of a message that may go without asking: the device has room for as much.
    pub eager: usize,
    /// Smallest receive worth publishing, and smallest message worth looking for one, in bytes, where the device has [`Channel::direct`].
    pub direct_from: usize,
    /// Payload bytes that travel with the header at no further cost. A packet of no more goes whole or not at all.
    pub inline: usize,
    /// Time for an empty packet, one way, in nanoseconds.
    pub latency_ns: f64,
    /// Bytes per nanosecond of a long stream of packets.
    pub bandwidth: f64,
    /// How many looks at shared memory take as long as one look for packets of this device: 1, or more where each look is
    /// a system call. A wait looks less often before it lets others on the core.
    pub look: u32,
    /// Shared control lines for collectives ([`Channel::control_slots`]).
    pub lines: bool,
    /// Whoever has copied a long payload should write its lines back to memory, since its place is
    /// filled again while they are still cached.
    pub write_back: bool,
}

/// Whether a payload had better be sent from where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lending {
    /// Copying it costs less.
    No,
    /// That costs so many nanoseconds less than copying it, but for a sender that does nothing else until it may change
    /// it again.
    Saves(u32),
    /// In any case.
    Always,
}

/// How a message is cut into packets that leave one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// The header of the first packet, and of each of the others.
    pub first: Header,
    /// The header of all packets after the first.
    pub rest: Header,
    /// Payload bytes of a packet; the last has what is left. More than 0.
    pub len: usize,
}

/// A process that has opened a network, and does not know its peers yet.
pub trait Endpoint {
    /// What peers must know to reach this process; any bytes.
    fn address(&self) -> Vec<u8>;

    /// The device, with the addresses of all processes of the world, by rank.
    ///
    /// Errors: an address is something else; no memory, descriptor or thread is left.
    fn join(self: Box<Self>, addresses: &[&[u8]]) -> std::io::Result<Box<dyn Channel>>;
}

/// A way to carry packets. Not thread-safe: callers hold the library's lock.
pub trait Channel {
    /// What the device can do, and what that costs.
    fn abilities(&self) -> &Abilities;

    /// True when packets to `peer` can go through this device.
    fn reaches(&self, peer: u32) -> bool;

    /// Sends a packet: the header, and as much of the payload as the device takes at once.
    /// Returns how many payload bytes went (the caller sends the rest in further packets), or
    /// `None` when not even the header found room: try again after [`Channel::poll`].
    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize>;

    /// Whether a message should leave by [`Channel::send_from`]. Counts a use of its memory: what is used often enough need
    /// not be copied.
    fn lending(&self, _peer: u32, _payload: &[u8]) -> Lending {
        Lending::No
    }

    /// Sends a payload, whole, in packets, while it stays where it is until [`Sink::sent`] names request `sender`.
    /// False: nothing has happened, and [`Channel::copy_and_send`] is the way.
    ///
    /// # Safety
    /// The payload is valid and not changed until then.
    unsafe fn send_from(&self, _peer: u32, _cut: &Cut, _payload: &[u8], _sender: u32) -> bool {
        false
    }

    /// Smallest payload, in bytes, for which [`Channel::lending`] is worth asking.
    fn sends_from(&self) -> usize {
        usize::MAX
    }

    /// Hands what has arrived to `sink`; returns the number of packets. Never blocks.
    fn poll(&self, sink: &mut dyn Sink) -> usize;

    /// Offers the next packet of `peer`, which is not this process, to `take`, as soon as there is one, and gives it up when `take`
    /// says that it has used it. For one who waits for nothing else: it looks at this peer alone,
    /// `looks` times. True when the packet was used; it may say false at any time.
    fn take_next(&self, _peer: u32, _looks: u32, _take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        false
    }

    /// Another packet of `peer` most likely comes right behind the one that is being offered: to ask for it early pays though its sender
    /// may still have to write it.
    fn expect_more(&self, _peer: u32) {}

    /// Looks up to `looks` times whether a known peer has sent something, and returns at once when
    /// so. Less than a poll, for one who has nothing else to do; it may miss what a poll finds.
    fn glance(&self, _looks: u32) {
        std::hint::spin_loop();
    }

    /// The shared area `index` of process `peer`, or `None` when the device has none for it.
    /// Areas begin as zeros; only their owner writes to them.
    fn control_slots(&self, _peer: u32, _index: u32) -> Option<ControlSlots> {
        None
    }

    /// Tells the peers which parts of the machine this process is bound to.
    fn tell_bound(&self, _parts: [u32; 3]) {}

    /// Which parts of the machine `peer` has told that it is bound to.
    fn bound(&self, _peer: u32) -> Bound {
        Bound::Nowhere
    }

    /// Tuple queues and single copies, where the device has them.
    fn direct(&self) -> Option<&dyn Direct> {
        None
    }

    /// Memory of other processes by the card alone, where the device has one that can do that.
    fn remote(&self) -> Option<&dyn RemoteMemory> {
        None
    }

    /// Says whether this process waits inside the library, so that peers may count on its help.
    fn set_waiting(&self, _waiting: bool) {}

    /// Says that the process is about to sleep. After this a peer that sends will wake it, and so
    /// will one that makes room where a packet was refused. The caller polls, and sends what was
    /// refused, once more before it calls [`Channel::sleep`] with the token. Every call is followed
    /// by [`Channel::end_sleep`].
    fn prepare_sleep(&self) -> u32;

    /// Sleeps until a peer has rung since `token` was given, or `timeout` passes. The one
    /// function that is called without the library's lock.
    fn sleep(&self, token: u32, timeout: std::time::Duration);

    /// What is readable while something waits to be polled, or a refused packet would find room, from
    /// [`Channel::prepare_sleep`] to [`Channel::end_sleep`]: for one who sleeps on several devices at once, and so calls
    /// no [`Channel::sleep`]. Devices without it are looked at again and again.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Waits until everything that was sent has left this process for good: it may exit after this. It waits a few seconds at most for
    /// a peer that is there, and for others as long as it takes to find out. What did not leave is told at the next poll. `all`: also
    /// what was sent to peers to which there is no connection yet. Else all have come to their end: what goes to those is given up, and the others
    /// are told that this process ends too, so that they do not lose it. `meanwhile` polls: a peer that waits in the same way needs room for what
    /// it sends here, or both would wait for as long as they may.
    fn settle(&self, _all: bool, _meanwhile: &dyn Fn()) {}

    /// Finds out whether `peer` can be reached, for one who has waited for it long: what it has sent may be kept by a firewall that lets
    /// packets out. A peer that cannot be reached is lost.
    fn reach(&self, _peer: u32) {}

    /// The next polls look for peers that have ended without a word, however short a while ago the last look was. For a caller that asks who is lost.
    fn look_for_losses(&self) {}

    /// The layers above have lost `peer`, which others than this device may have told of. What waits for it is given up, and no payload of it goes
    /// to its place any more. Nobody waits for it when this process ends, and a sink is told nothing of it. A sink may call this.
    fn forget(&self, _peer: u32) {}

    /// How many processes that share this one's cores do not sleep, about.
    fn awake(&self) -> u32;

    /// Whether `peer` needs the core that this process runs on, as far as that is known: then it gets on only when this
    /// one passes the core on.
    fn shares_core(&self, _peer: u32) -> bool {
        true
    }

    /// To be called by a process that waits, each time before it passes its core on: now and then, where the processes are
    /// badly spread over the cores, it goes to another one.
    fn balance_cores(&self) {}

    /// Says that this thread no longer sleeps, nor is about to.
    fn end_sleep(&self);

    /// Wakes `peer` (which may be this process, for its other threads) when it sleeps. `copy_and_send` does this by itself.
    fn ring(&self, peer: u32);
}

/// Copies bytes of which there are most often a few: up to 32 without a call.
#[inline]
pub fn copy_short(from: &[u8], to: &mut [u8]) {
    let len = from.len();
    if len != to.len() || len > 32 {
        return to.copy_from_slice(from);
    }
    // Two words that overlap in the middle.
    match len {
        16.. => ends::<16>(from, to),
        8.. => ends::<8>(from, to),
        4.. => ends::<4>(from, to),
        2.. => ends::<2>(from, to),
        1 => to[0] = from[0],
        0 => {}
    }
}

/// Copies the first and the last `N` bytes, which are all there are when `N` is half or more.
#[inline]
fn ends<const N: usize>(from: &[u8], to: &mut [u8]) {
    let last = from.len() - N;
    let words = (word::<N>(from, 0), word::<N>(from, last));
    to[..N].copy_from_slice(&words.0);
    to[last..last + N].copy_from_slice(&words.1);
}

#[inline]
fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("the range has that length")
}

#[cfg(test)]
mod tests {
    #[test]
    fn short_copies_are_whole() {
        for len in 0..70 {
            let from: Vec<u8> = (1..=len).collect();
            let mut to = vec![0; len as usize];
            super::copy_short(&from, &mut to);
            assert_eq!(from, to);
        }
    }
}
