//! Tuple queues and single copies: the optional part of the contract (design, sections 4 and 5).
//!
//! A receiver publishes a receive under its matching tuple where the sender sees it; the sender
//! delivers straight into it. Whether it may is decided by numbers that the layer above gives: see
//! `tern_adi`'s tuple queues. How the bytes move is the device's choice, by cost.

use std::ops::Range;

/// What a message is matched by between two given processes: context, source, tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The communicator, and what sends in it.
    pub context: u32,
    /// The sender's rank in the communicator.
    pub source: i32,
    /// As the program gives it.
    pub tag: i32,
}

/// Where the bytes of one side of a transfer lie, as the peer can reach them: blocks at a stride,
/// or one run, which is one block. All lengths are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Of the first byte, in its own process.
    pub address: u64,
    /// Bytes of data in all.
    pub len: u64,
    /// Bytes of one block; 0: the shape is too irregular for single copies.
    pub block: u64,
    /// From one block to the next.
    pub stride: i64,
    /// Where `address` lies in the memory that all processes of the node share; 0: it is private.
    pub place: u64,
    /// What a peer on another node shows to reach it (an rkey); 0: it is not registered.
    pub key: u64,
}

impl Memory {
    /// One run of bytes.
    pub fn dense(address: *const u8, len: usize) -> Memory {
        Memory { address: address as u64, len: len as u64, block: len as u64, stride: 0, ..Memory::default() }
    }

    /// Memory that only its owner can make sense of.
    pub fn opaque(len: usize) -> Memory {
        Memory { len: len as u64, ..Memory::default() }
    }

    /// Whether only its owner can make sense of it.
    pub fn is_opaque(&self) -> bool {
        self.block == 0
    }

    /// Whether it is one run.
    pub fn is_dense(&self) -> bool {
        self.block == self.len
    }

    /// Where byte `from` of the data lies, and how many bytes follow it in one run. Not for opaque memory.
    pub fn run_at(&self, from: u64) -> Run {
        let (block, within) = (from / self.block, from % self.block);
        let address = self.address.wrapping_add_signed(block as i64 * self.stride) + within;
        Run { address, len: self.block - within }
    }

    /// The bytes from the lowest to the highest address: where they begin, relative to `address`,
    /// and how many.
    pub fn span(&self) -> (i64, u64) {
        let blocks = self.len.div_ceil(self.block.max(1)).max(1);
        let reach = (blocks - 1) as i64 * self.stride;
        (reach.min(0), reach.unsigned_abs() + self.block)
    }

    /// As six words, for a packet.
    pub fn encode(&self) -> [u8; 48] {
        let mut bytes = [0; 48];
        let words = [self.address, self.len, self.block, self.stride as u64, self.place, self.key];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The reverse; `None` when there are not six words.
    pub fn decode(bytes: &[u8]) -> Option<Memory> {
        let bytes: &[u8; 48] = bytes.try_into().ok()?;
        let word = |at: usize| crate::word::<8>(bytes, at * 8);
        let [address, len, block, stride, place, key] = [0, 1, 2, 3, 4, 5].map(|at| u64::from_le_bytes(word(at)));
        Some(Memory { address, len, block, stride: stride as i64, place, key })
    }
}

/// A message that looks for a published receive.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where the message lies.
    pub source: &'a Memory,
    /// The request that is told of the end.
    pub sender: u32,
    /// The sender waits until the message has left; otherwise it would rather compute.
    pub waits: bool,
    /// Whether one copy is better than packets: for the likes of it that was found to be sooner, where both processes exchange messages, or its
    /// sender computes. `None`: nobody knows.
    pub once: Option<bool>,
}

/// What there will be news of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The receive that is published in a slot.
    Published(u32),
    /// The message that was [left](Delivery::Pending) last to a receive of the peer.
    Left,
    /// Whatever its next packet tells.
    Packet,
}

/// What became of a message that looked for a published receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// There is none that it may use, or packets are better: it goes on the stream.
    Stream,
    /// It is in the receiver's memory.
    Done,
    /// It is on its way there; [`crate::Sink::sent`] tells the end.
    Pending,
    /// The receive is claimed for it; its first bytes, as many as it has room for, go as data
    /// packets for request `receiver`.
    #[allow(missing_docs, reason = "told above")]
    Packets { receiver: u32, room: u64 },
}

/// What became of the wish to take a published receive back ([`Direct::recall`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recall {
    /// It is the receiver's own again, and no longer published.
    Won,
    /// The sender has claimed it: it will be filled.
    Claimed,
    /// The answer takes its time, but nothing of the sender's program. [`crate::Sink::retracted`] tells that it was won;
    /// otherwise it is filled like any other, or a message of the stream is given to it ([`Direct::retract`]).
    Asked,
}

/// What became of an attempt to fetch a message ([`Direct::pull`]), or to put it where it was asked for
/// ([`Direct::push`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pull {
    /// It cannot, or packets are better.
    No,
    /// The bytes are there.
    Done,
    /// They are on their way; [`crate::Sink::pulled`] tells the end, or [`crate::Sink::sent`].
    Pending,
    /// The same, and the sender may copy too: it is to be told this number, for [`Direct::join`]. It learns of the end
    /// there.
    Joint(u64),
    /// As `Pending`, of what was to be copied to the peer; packets sent later may arrive before the bytes until then.
    Unordered,
}

/// Contiguous bytes of some process; laid out as the kernel's `iovec`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Address of the first byte, in its own process.
    pub address: u64,
    /// @
    pub len: u64,
}

/// Which way [`Direct::copy`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From own memory to the peer's.
    Put,
    /// From the peer's memory to our own.
    Get,
}

/// A speculative address: where own memory lay when that was last found out ([`Direct::speculative_address`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpeculativeAddress {
    /// As in [`Memory`].
    pub place: u64,
    /// The kernel has not told that it has moved, and would have.
    pub sure: bool,
}

/// Whether something holds, by what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likely {
    /// It does not.
    No,
    /// It should be tried.
    Perhaps,
    /// It does.
    Yes,
}

/// What the members of a collective with a root have to do with a region that the root declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Members but the root.
    pub others: usize,
    /// Bytes that each of them copies.
    pub len: usize,
    /// Each copies bytes of its own; else all read the same ones.
    pub apart: bool,
    /// They write to the region; else they read from it.
    pub writes: bool,
    /// They have the region mapped; else the kernel copies.
    pub shared: bool,
}

/// Whether a region is sooner than two copies through shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// It is expected to be.
    pub region: bool,
    /// So surely that the other way need not be tried.
    pub sure: bool,
}

/// What memory is used for when it is located ([`Direct::locate_for`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// One message, of which nothing more is known.
    Message,
    /// One message, by a call that waits for nothing else.
    Awaited,
    /// A message of a call that sends and receives.
    Exchange,
    /// A call in which every process copies what comes in, and would copy what goes out as well if the memory were not shared.
    Collective,
}

/// Tuple queues and single copies between processes. `peer` is never this process.
pub trait Direct {
    /// Smallest receive worth publishing, and smallest message worth looking for one, in bytes.
    fn threshold(&self) -> usize;

    /// Of receives whose caller waits, those of fewer bytes from `peer` are not worth publishing where packets go without asking
    /// ([`Direct::ahead`]): into memory that is `shared`, or not.
    fn packets_below(&self, _peer: u32, _shared: bool) -> usize {
        usize::MAX
    }

    /// Whether a receiver that waits had better fetch a message of `len` bytes alone, if it lies in memory that both reach
    /// ([`Direct::pull`]), than publish the receive and copy with the sender. `sure`: for that, the kernel need not be asked where
    /// its own memory lies.
    fn fetches(&self, _peer: u32, _len: usize, _sure: bool) -> bool {
        false
    }

    /// Whether a message of `len` bytes out of memory that `peer` sees, which it would copy from there, may be there sooner in packets:
    /// both ways should be tried. Not where a mechanism was asked for.
    fn suits_both(&self, _peer: u32, _len: usize) -> bool {
        false
    }

    /// Whether the receiver of a message of `len` bytes between private memories, which waits for it, had better have the kernel copy
    /// it alone ([`Direct::fetch`]) than take it in packets.
    fn suits_kernel(&self, _peer: u32, _len: usize) -> Likely {
        Likely::No
    }

    /// Tells `peer` that this process waits in a call for a message of this key, which nothing else can match before, and is going
    /// to fetch it. `taken`: messages of the stream that it has taken from it.
    fn set_ready_to_receive(&self, _peer: u32, _key: &Key, _taken: u32) {}

    /// It does not wait any more.
    fn clear_ready_to_receive(&self, _peer: u32) {}

    /// Whether `peer` waits for the next message of this key, when `sent` messages have gone there on the stream.
    fn is_ready_to_receive(&self, _peer: u32, _key: &Key, _sent: u32) -> bool {
        false
    }

    /// The longest message that goes to `peer` in packets without asking if [`Direct::is_waiting`] says so, beyond the length up
    /// to which all do.
    fn ahead(&self, _peer: u32) -> usize {
        0
    }

    /// Whether `peer` waits in the library now, so that it takes the packets of a message of `len` bytes as they come. Asked where
    /// [`Direct::ahead`] allows that.
    fn is_waiting(&self, _peer: u32, _len: usize) -> bool {
        false
    }

    /// Says that a transfer with `peer` is about to use this memory; returns it with its place, if shared,
    /// or the key by which the peer reaches it. `quiet`: no other transfer of this process is under way.
    fn locate(&self, peer: u32, memory: Memory, quiet: bool) -> Memory;

    /// The same where it is known what the memory is used for.
    fn locate_for(&self, peer: u32, memory: Memory, quiet: bool, _purpose: Purpose) -> Memory {
        self.locate(peer, memory, quiet)
    }

    /// The place that own dense memory had when that was last found out, without asking the kernel. Unless that is sure, a peer may be
    /// told it if it is told afterwards whether [`Direct::is_still`] holds.
    fn speculative_address(&self, _memory: &Memory) -> Option<SpeculativeAddress> {
        None
    }

    /// Whether own memory is at its speculative address, by what the kernel says, and was when the place was told: nothing is done to
    /// bring it there.
    fn is_still(&self, _memory: &Memory, _place: u64) -> bool {
        false
    }

    /// A number that changes when memory begins to be made private that was shared in place, by a fork of another thread too. While
    /// it does not, peers see at its place what this process stores to memory.
    fn demotions(&self) -> u32 {
        0
    }

    /// Peers read memory at places that they were told, until this is called with false as often as with true: beside what transfers
    /// do.
    fn keep_places(&self, _more: bool) {}

    /// Gives back the shared memory that the program has freed since. Called while a call waits. `quiet`: no transfer is under way.
    fn give_back(&self, _quiet: bool) {}

    /// Says that the transfer is over for which [`Direct::locate`] gave memory with a key.
    fn release(&self, _memory: &Memory) {}

    /// Fresh, zeroed memory that peers reach without the kernel's help; `None` when there is no more.
    fn allocate(&self, _len: usize) -> Option<*mut u8> {
        None
    }

    /// The same of memory that the child of a fork has for itself, as private memory.
    fn allocate_apart(&self, _len: usize) -> Option<*mut u8> {
        None
    }

    /// Gives memory of [`Direct::allocate`] or [`Direct::allocate_apart`] back; false when it is none.
    ///
    /// # Safety
    /// Nobody uses the memory any more.
    unsafe fn free(&self, _memory: *mut u8) -> bool {
        false
    }

    // ---- one-sided

    /// True for processes whose shared memory is this one's too: places there mean the same to both.
    fn shares_with(&self, _peer: u32) -> bool {
        false
    }

    /// Where own memory lies in the memory that all processes of the node share, if all of it is of one
    /// [`Direct::allocate`]. It stays there until it is freed.
    fn place(&self, _memory: *const u8, _len: usize) -> Option<u64> {
        None
    }

    /// Where the first byte of a peer's memory lies in this process, if it is shared ([`Memory::place`]) and can be mapped.
    /// The address is good for a few further calls, and longer if only few places are asked for.
    fn view(&self, _memory: &Memory) -> Option<*mut u8> {
        None
    }

    /// Maps `len` bytes that some process has at `place`, until [`Direct::unmap`].
    fn map(&self, _place: u64, _len: usize) -> Option<*mut u8> {
        None
    }

    /// Ends what [`Direct::map`] began, with the address that it gave.
    ///
    /// # Safety
    /// Nobody uses the address any more.
    unsafe fn unmap(&self, _address: *mut u8, _len: usize) {}

    /// True when private memory of `peer` can be read and written without its help. Proven by a
    /// transfer when it is first asked; `peer` has joined.
    fn copies(&self, _peer: u32) -> bool {
        false
    }

    /// Copies between own memory and that of `peer`, each of which is one sequence of bytes, of the same
    /// length; false when not all of it could be reached, and then some of it may have been copied.
    ///
    /// # Safety
    /// Own memory can be read, for [`Direction::Get`] written, and nobody refers to it; that of the
    /// peer is exposed for this.
    unsafe fn copy(&self, _peer: u32, _own: &[Run], _theirs: &[Run], _direction: Direction) -> bool {
        false
    }

    /// Whether a collective with a root had better go by a region of the root's. `members` are all of it, this process too.
    fn advise(&self, _members: &[u32], _group: &Group) -> Advice {
        Advice::default()
    }

    /// False when `peer`, whose memory this process [`Direct::copies`], has ended. Costs a system call.
    fn is_there(&self, _peer: u32) -> bool {
        true
    }

    /// Makes every process of the node pass a full fence: what it has stored before is seen by what this
    /// process loads from now on. False: it cannot.
    fn fence_all(&self) -> bool {
        false
    }

    /// Makes private memory of the program shared in place for all processes of the node, until [`Direct::unpin`]: at which
    /// addresses, perhaps not all, and where these lie now, as [`Direct::place`] would tell. `None`: it stays private.
    fn pin(&self, _memory: *const u8, _len: usize) -> Option<(Range<usize>, u64)> {
        None
    }

    /// Ends what [`Direct::pin`] began, with the addresses that it gave: the memory may become private again.
    fn unpin(&self, _range: &Range<usize>) {}

    /// Says that peers may copy to and from this private memory at any time, until
    /// [`Direct::cover`] with the same arguments.
    fn expose(&self, _memory: *const u8, _len: usize) {}

    /// Ends what [`Direct::expose`] began.
    fn cover(&self, _memory: *const u8, _len: usize) {}

    // ---- both

    /// The program begins to wait for what it has started: what begins from now on is another round. Where it is found out which way is
    /// sooner, all transfers of a round go the same way.
    fn end_round(&self) {}

    // ---- the receiver

    /// Publishes a receive from `peer` for its request `receiver`; `seen` is the number of the last
    /// stream message taken from that peer. `None`: no room, it stays unpublished. Ends by
    /// [`crate::Sink::delivered`], [`Direct::retract`], [`Direct::recall`] or [`Direct::forget`].
    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32>;

    /// True when [`Direct::publish`] refuses for want of room, which others have that end.
    fn may_have_room_later(&self, _peer: u32) -> bool {
        true
    }

    /// Takes a published receive back because a message of the stream has matched it, after which its sender
    /// will not use it; false when it has claimed it before.
    fn retract(&self, peer: u32, slot: u32) -> bool;

    /// The cache line on which there will be news from `peer`, for whoever is going to ask soon; `None` where there is none.
    fn news_line(&self, _peer: u32, _of: News) -> Option<*const u8> {
        None
    }

    /// True where [`Direct::retract`] may be asked though no message of the stream has matched: sender and receiver see the same.
    fn retracts_freely(&self, _peer: u32) -> bool {
        false
    }

    /// Takes a published receive back because the program wants it no more. May be asked again and again.
    fn recall(&self, peer: u32, slot: u32) -> Recall {
        if self.retract(peer, slot) { Recall::Won } else { Recall::Claimed }
    }

    /// If a published receive is filled: the size of its message, and it is published no more, as after
    /// [`crate::Sink::delivered`]. A short way for one who wants to know of this receive only; `None` says nothing.
    /// `room`: bytes of the memory that was published.
    fn take_filled(&self, _peer: u32, _slot: u32, _room: u64) -> Option<u64> {
        None
    }

    /// True when the message of `sender`, which was pending, is over, as after [`crate::Sink::sent`]. A short way for one who wants to know of
    /// this message only; false says nothing.
    fn take_sent(&self, _sender: u32) -> bool {
        false
    }

    /// Frees a receive that was claimed and filled by packets.
    fn forget(&self, peer: u32, slot: u32);

    /// Says that the stream has been taken up to number `seen`. What [`Direct::retract`] has won
    /// back before is seen to be gone by a sender that sees this number.
    fn raise(&self, peer: u32, seen: u32);

    /// Copies from the memory of a sender that has asked to send into our own, which belongs to request
    /// `receiver`.
    fn pull(&self, peer: u32, source: &Memory, target: &Memory, receiver: u32) -> Pull;

    /// Has the kernel copy from the private memory of a sender that has asked to send into our own, both in one piece, at once; false
    /// when it cannot.
    fn fetch(&self, _peer: u32, _source: &Memory, _target: &Memory) -> bool {
        false
    }

    // ---- the sender

    /// False when no receive is published that [`Direct::deliver`] had better deliver a message of `len` bytes into, if that can go
    /// in packets without asking: then it need not be asked.
    fn is_awaited(&self, _peer: u32, _key: &Key, _last: u32, _len: u64) -> bool {
        true
    }

    /// [`Direct::deliver`] copies messages of up to so many bytes to `peer` by itself: their memory need not be located.
    fn copies_up_to(&self, _peer: u32) -> usize {
        0
    }

    /// Takes part in copy `number` that `peer` has begun ([`Pull::Joint`]) from `source`, own memory of request
    /// `sender`. It is done, or [`crate::Sink::sent`] tells the end.
    fn join(&self, _peer: u32, _source: &Memory, _number: u64, _sender: u32) -> Pull {
        Pull::Done
    }

    /// Copies from own memory, that of request `sender`, to where a receiver has asked for it. The source may not
    /// be changed before [`crate::Sink::sent`] if this is pending; packets that are sent to the peer from now on
    /// arrive after the bytes, unless it says that it is unordered.
    fn push(&self, _peer: u32, _source: &Memory, _target: &Memory, _sender: u32) -> Pull {
        Pull::No
    }

    /// Delivers a message into the oldest published receive for `key`, if the receiver has taken the
    /// stream at least up to number `last`.
    fn deliver(&self, peer: u32, key: &Key, last: u32, message: &Outgoing<'_>) -> Delivery;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_survives_a_packet() {
        let memory = Memory { address: 1, len: 2, block: 3, stride: -4, place: u64::MAX, key: 5 };
        assert_eq!(Memory::decode(&memory.encode()), Some(memory));
        assert_eq!(Memory::decode(&[0; 47]), None);
    }

    #[test]
    fn spans_reach_from_the_lowest_byte_to_the_highest() {
        let column = Memory { address: 0, len: 24, block: 8, stride: 100, ..Memory::default() };
        assert_eq!(column.span(), (0, 208));
        assert_eq!(Memory { stride: -100, ..column }.span(), (-200, 208));
        assert_eq!(Memory::dense(std::ptr::null(), 7).span(), (0, 7));
    }
}
