//! Accesses to the memory of other processes: RDMA writes, reads and atomics on the channel's queue pair. Memory of
//! this process itself is reached in the same way, by a pair of queue pairs that are connected to each other: a
//! processor's instructions need not be atomic with those of the card.
//!
//! Requests of a queue pair end in order, so what they hold (buffers, registrations, places for answers) stands in a
//! queue by their numbers, and only the last request of an access asks for its completion. Over XRC a queue pair leads to
//! all processes of a node; the numbers are each peer's own all the same.

use crate::accesses::{Held, Loop};
use crate::channels::{Channels, Posted};
use crate::send_queue::SendQueue;
use crate::token::Token;
use std::sync::Arc;
use tern_counters as counters;
use tern_device::runs::{Cursor, FEWEST, LONGEST, registered};
use tern_device::{Direction, Lost, Memory, RemoteMemory, Run, Word};
use tern_hca::{Access, Atomics, Connection, Data, Error, Operation, Segment, SendFlags, SendRequest};

/// Segments of a request.
const GATHER: usize = 16;

impl Channels {
    /// Whether windows can be served.
    pub(crate) fn has_atomics(&self) -> bool {
        self.fabric.hca.capabilities().atomics != Atomics::None
    }

    fn own_loop(&self) -> Option<&Loop> {
        let make = || -> tern_hca::Result<Loop> {
            let (pair, other) = (Arc::new(self.fabric.queue_pair()?), Arc::new(self.fabric.queue_pair()?));
            let connection = Connection::default();
            pair.connect(&other.address(), &connection)?;
            other.connect(&pair.address(), &connection)?;
            let depth = pair.limits().depth.min(self.fabric.limits().depth);
            Ok(Loop { pair, sends: SendQueue::new(depth), _other: other })
        };
        self.accesses.own.get_or_init(|| make().ok()).as_ref()
    }

    fn try_post(&self, peer: u32, token: Token, operation: Operation, data: Data<'_>, asks: bool) -> Posted {
        if peer != self.me {
            return self.post(peer, token, operation, data, asks);
        }
        let Some(own) = self.own_loop() else { return Posted::Lost };
        if !own.sends.has_room(1) {
            return Posted::Busy;
        }
        let request = SendRequest { id: token.encode(), operation, data, flags: SendFlags::SIGNALED, receive_queue: 0 };
        match own.pair.post_send(&request) {
            Ok(()) => {
                own.sends.posted(true);
                Posted::Done
            }
            Err(Error::QueueFull) => Posted::Busy,
            Err(_) => Posted::Lost,
        }
    }

    /// Posts a request that holds something; waits for room, which takes no more than the network. `asks`: it is the last of
    /// an access.
    fn request(&self, peer: u32, operation: Operation, data: Data<'_>, held: Held, asks: bool) -> Result<u64, Lost> {
        let it = &self.accesses.peers[peer as usize];
        let number = it.begun.get() + 1;
        let token = Token::Remote { peer, number: number as u32 };
        // What it holds is noted first: it may end while this waits for nothing but that.
        let posted = loop {
            if it.lost.get() {
                break Posted::Lost;
            }
            match self.try_post(peer, token, operation, data, asks) {
                Posted::Busy => _ = self.pump(),
                other => break other,
            }
        };
        if posted == Posted::Lost {
            it.lost.set(true);
            self.give_up_held(held, false);
            return Err(Lost);
        }
        counters::NETWORK_REMOTE.add(1);
        it.begun.set(number);
        it.held.borrow_mut().push_back((number, held));
        Ok(number)
    }

    fn buffer(&self) -> u32 {
        loop {
            // Those that are out come back when what they were posted with has ended.
            match self.take_bounce() {
                Some(buffer) => return buffer,
                None => std::thread::yield_now(),
            }
        }
    }

    fn atomic(&self, peer: u32, operation: Operation, was: *mut u64) -> Result<u64, Lost> {
        counters::NETWORK_ATOMICS.add(1);
        let buffer = self.buffer();
        let segments = [self.bounces.segment(buffer, 8)];
        self.request(peer, operation, Data::Segments(&segments), Held::Answer(buffer, was), true)
    }

    /// Through own memory that is registered from `low` on, for `len` bytes; `None`: it cannot be registered.
    fn transfer_registered(
        &self, peer: u32, (low, len): (u64, u64), (own, theirs): (&[Run], &[Run]), key: u32, way: Direction,
    ) -> Option<Result<u64, Lost>> {
        let memory = self.registered.locate(Memory::dense(low as *const u8, len as usize));
        let local = self.registered.local_key(&memory)?;
        let (mut from, mut to) = (Cursor::new(own), Cursor::new(theirs));
        let mut last = Ok(0);
        let mut memory = Some(memory);
        while let Some(there) = to.peek() {
            let mut room = there.len.min(LONGEST);
            let mut list = [Segment { address: 0, len: 0, key: local }; GATHER];
            let (mut used, mut bytes) = (0, 0);
            while used < self.segments_at_once() && room > 0 {
                let Some(run) = from.take(room) else { break };
                list[used] = Segment { address: run.address, len: run.len as u32, key: local };
                (used, bytes, room) = (used + 1, bytes + run.len, room - run.len);
            }
            to.take(bytes);
            let ends = to.peek().is_none();
            let held = if ends { memory.take().map_or(Held::Nothing, Held::Registered) } else { Held::Nothing };
            last = self.request(peer, towards(way, there.address, key), Data::Segments(&list[..used]), held, ends);
            if last.is_err() {
                break;
            }
        }
        // Its requests are flushed, if it ended early; what they name stays registered until they are.
        if let Some(memory) = memory {
            self.accesses.peers[peer as usize].keep(Held::Registered(memory));
        }
        Some(last)
    }

    /// Through buffers of the device.
    fn transfer_copied(&self, peer: u32, own: &[Run], theirs: &[Run], key: u32, way: Direction) -> Result<u64, Lost> {
        let (mut from, mut to) = (Cursor::new(own), Cursor::new(theirs));
        let mut last = 0;
        while to.peek().is_some() {
            let buffer = self.buffer();
            let part = from.part(self.bounces.size() as u64);
            let bytes: u64 = part.iter().map(|run| run.len).sum();
            if way == Direction::Put {
                let mut at = self.bounces.at(buffer);
                for run in &part {
                    // SAFETY: the caller's memory; the buffer has room for the part.
                    unsafe { std::ptr::copy_nonoverlapping(run.address as *const u8, at, run.len as usize) };
                    at = at.wrapping_add(run.len as usize);
                }
            }
            let whole = self.bounces.segment(buffer, bytes as u32);
            let mut held = Some(match way {
                Direction::Put => Held::Buffer(buffer),
                Direction::Get => Held::Scattered(buffer, part),
            });
            let mut done = 0;
            while done < bytes {
                let Some(there) = to.take(bytes - done) else { break };
                let piece = Segment { address: whole.address + done, len: there.len as u32, ..whole };
                done += there.len;
                let holds = held.take_if(|_| done == bytes).unwrap_or(Held::Nothing);
                let ends = done == bytes;
                match self.request(peer, towards(way, there.address, key), Data::Segments(&[piece]), holds, ends) {
                    Ok(number) => last = number,
                    Err(lost) => {
                        // It may still be written from, or to, until those before it are flushed.
                        held.take().into_iter().for_each(|held| self.accesses.peers[peer as usize].keep(held));
                        return Err(lost);
                    }
                }
            }
        }
        Ok(last)
    }

    fn segments_at_once(&self) -> usize {
        (self.fabric.limits().gather as usize).min(GATHER)
    }
}

fn towards(way: Direction, address: u64, key: u32) -> Operation {
    let remote = tern_hca::Remote { address, key };
    match way {
        Direction::Put => Operation::Write(remote),
        Direction::Get => Operation::Read(remote),
    }
}

impl RemoteMemory for Channels {
    fn reaches(&self, peer: u32) -> bool {
        peer < self.world() && (peer != self.me || self.own_loop().is_some())
    }

    unsafe fn reveal(&self, memory: *mut u8, len: usize) -> Option<u64> {
        // SAFETY: contract of this function.
        let region = unsafe { self.fabric.domain.register(memory, len, Access::ALL) }.ok()?;
        let key = region.remote_key();
        self.accesses.revealed.borrow_mut().insert(key, region);
        Some(u64::from(key))
    }

    fn conceal(&self, key: u64) {
        self.accesses.revealed.borrow_mut().remove(&(key as u32));
    }

    unsafe fn transfer(&self, peer: u32, own: &[Run], theirs: &[Run], key: u64, way: Direction) -> Result<u64, Lost> {
        // Keys of cards have 32 bits.
        let key = key as u32;
        let total: u64 = own.iter().map(|run| run.len).sum();
        let inline = (self.fabric.limits().inline as u64).min(64);
        if let (&[from], &[to], Direction::Put) = (own, theirs, way)
            && total <= inline
        {
            // SAFETY: contract of this function.
            let bytes = [unsafe { std::slice::from_raw_parts(from.address as *const u8, total as usize) }];
            return self.request(peer, towards(way, to.address, key), Data::Inline(&bytes), Held::Nothing, true);
        }
        // Each run has a request of its own, or a part of one.
        if let Some(span) = registered(own, total).filter(|_| total / own.len() as u64 >= FEWEST)
            && let Some(moved) = self.transfer_registered(peer, span, (own, theirs), key, way)
        {
            return moved;
        }
        self.transfer_copied(peer, own, theirs, key, way)
    }

    unsafe fn fetch_add(&self, word: Word, add: u64, was: *mut u64) -> Result<u64, Lost> {
        let remote = tern_hca::Remote { address: word.address, key: word.key as u32 };
        self.atomic(word.peer, Operation::FetchAdd(remote, add), was)
    }

    unsafe fn compare_swap(&self, word: Word, compare: u64, swap: u64, was: *mut u64) -> Result<u64, Lost> {
        let remote = tern_hca::Remote { address: word.address, key: word.key as u32 };
        self.atomic(word.peer, Operation::CompareSwap { remote, compare, swap }, was)
    }

    fn begun(&self, peer: u32) -> u64 {
        self.accesses.peers[peer as usize].begun.get()
    }

    fn ended(&self, peer: u32) -> u64 {
        self.accesses.peers[peer as usize].ended.get()
    }

    fn is_lost(&self, peer: u32) -> bool {
        self.is_access_lost(peer)
    }
}
