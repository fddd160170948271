//! Part of the engine: messages that no receive had matched when they arrived, and the cap on the memory that they take.

use crate::cap::{BESIDE, Cap};
use crate::packet::Synchronous;
use crate::slab::Slab;
use crate::{Data, Places, Proc, Tuple};
use std::collections::HashSet;
use tern_counters as counters;
use tern_mcm::Memory;

/// A message that no receive had matched when it arrived.
#[derive(Debug)]
pub struct Arrival {
    pub tuple: Tuple,
    pub from: Proc,
    pub size: u64,
    pub body: Body,
}

impl Arrival {
    /// Bytes that are kept here for it, or will be.
    fn memory(&self) -> u64 {
        if self.is_here() { self.size } else { 0 }
    }

    /// True when its bytes are kept here, or will be.
    fn is_here(&self) -> bool {
        matches!(self.body, Body::Short(_) | Body::Bytes { .. })
    }

    /// What it counts for the cap: one that waits elsewhere, and one of this process `me`, for nothing.
    fn capped(&self, me: Proc) -> Option<u64> {
        (self.is_here() && self.from != me).then(|| self.memory() + BESIDE)
    }
}

/// Longest message that is kept without further memory: what fits into the room of the other bodies.
pub const SHORT: usize = 39;

// Programs send a million messages ahead of the awaited one: this is what each of them takes, beside its place in matching.
const _: () = assert!(size_of::<Option<Arrival>>() <= 64);

/// What there is of a message.
#[derive(Debug)]
pub enum Body {
    /// All bytes of a short message.
    Short([u8; SHORT]),
    /// The bytes so far; of a synchronous send, the request to acknowledge.
    Bytes { bytes: Vec<u8>, sync: Option<Synchronous> },
    /// It waits at its sender.
    Waiting { sender: Synchronous, source: Box<Memory> },
    /// It is this process's own send.
    Own { request: u32, mark: u32 },
    /// There is none, only this word in its place.
    Missing(u32),
}

impl Body {
    /// Of a message of at most [`SHORT`] bytes.
    pub fn short(payload: &[u8]) -> Body {
        let mut bytes = [0; SHORT];
        bytes[..payload.len()].copy_from_slice(payload);
        Body::Short(bytes)
    }

    /// Of a message to this process itself.
    pub fn gathered(data: &Data) -> Body {
        if data.len() <= SHORT {
            let mut bytes = [0; SHORT];
            data.gather(0, &mut bytes[..data.len()]);
            return Body::Short(bytes);
        }
        let mut bytes = vec![0; data.len()];
        data.gather(0, &mut bytes);
        Body::Bytes { bytes, sync: None }
    }

    /// Of a message that is here as a whole.
    pub fn whole(bytes: Vec<u8>) -> Body {
        if bytes.len() <= SHORT { Body::short(&bytes) } else { Body::Bytes { bytes, sync: None } }
    }

    /// True when nothing of a message of `size` bytes is still to come from its sender.
    pub fn is_whole(&self, size: u64) -> bool {
        match self {
            Body::Bytes { bytes, .. } => bytes.len() as u64 == size,
            Body::Waiting { .. } => false,
            Body::Short(_) | Body::Own { .. } | Body::Missing(_) => true,
        }
    }

    /// The send of its sender's that it belongs to, if that waits for an answer.
    pub fn answers(&self) -> Option<u32> {
        match self {
            Body::Waiting { sender, .. } => Some(sender.request),
            Body::Bytes { sync, .. } => sync.map(|sender| sender.request),
            Body::Short(_) | Body::Own { .. } | Body::Missing(_) => None,
        }
    }
}

/// Tells how many bytes this process may take for messages beside what it has, as things are now.
pub type FreeMemory = Box<dyn Fn() -> u64>;

/// All messages that are kept.
pub struct Unexpected {
    arrivals: Slab<Arrival>,
    cap: Cap,
    /// Where the cap may be raised when there is more memory.
    free_memory: Option<FreeMemory>,
}

impl Unexpected {
    pub fn new(peers: usize) -> Unexpected {
        Unexpected { arrivals: Slab::new(), cap: Cap::new(peers), free_memory: None }
    }

    /// Makes room for further peers.
    pub fn grow(&mut self, peers: usize) {
        self.cap.grow(peers);
    }

    /// Where everything is, for a debugger.
    pub fn put_places(&self, places: &mut Places) {
        self.arrivals.put_places("arrivals", places);
        places.put("arrival.bytes", std::mem::offset_of!(Arrival, size));
    }

    /// See [`crate::Adi::cap_unexpected`] and [`crate::Adi::cap_unexpected_by`].
    pub fn set_cap(&mut self, bytes: u64, free: Option<FreeMemory>) {
        self.cap.set(bytes);
        self.free_memory = free;
    }

    /// The cap, in bytes.
    pub fn cap(&self) -> u64 {
        self.cap.limit()
    }

    /// Keeps a message, in process `me`. Its number, and whether its sender is to be told to ask from now on.
    pub fn keep(&mut self, arrival: Arrival, me: Proc) -> (u32, bool) {
        counters::UNEXPECTED_EVER.add(1);
        counters::UNEXPECTED.raise(1);
        counters::UNEXPECTED_BYTES.raise(arrival.memory());
        let full = arrival.capped(me).is_some_and(|bytes| self.count(arrival.from, bytes));
        (self.arrivals.insert(arrival), full)
    }

    fn count(&mut self, from: Proc, bytes: u64) -> bool {
        while self.free_memory.is_some() && self.cap.is_short_of(bytes) {
            self.raise_cap();
        }
        self.cap.keep(from, bytes)
    }

    /// Doubles the cap if there is memory for that, or leaves it as it is for good.
    #[cold]
    fn raise_cap(&mut self) {
        let limit = self.cap.limit();
        if self.free_memory.as_ref().is_some_and(|free| free() >= limit) {
            self.cap.set(limit.saturating_mul(2));
        } else {
            self.free_memory = None;
        }
    }

    /// Takes a message that was kept. `release` is told of each peer that need not ask any more.
    pub fn take(&mut self, arrival: u32, me: Proc, release: impl FnMut(Proc)) -> Arrival {
        let arrival = self.arrivals.remove(arrival);
        counters::UNEXPECTED.lower(1);
        counters::UNEXPECTED_BYTES.lower(arrival.memory());
        if let Some(bytes) = arrival.capped(me) {
            self.cap.give_up(arrival.from, bytes, release);
        }
        self.arrivals.trim();
        arrival
    }

    /// The message of that number.
    pub fn get(&self, arrival: u32) -> &Arrival {
        self.arrivals.get(arrival)
    }

    /// Whether that is a message of process `from` that is kept, and of which `len` bytes or more are missing.
    pub fn misses(&self, from: Proc, arrival: u32, len: usize) -> bool {
        self.arrivals.find(arrival).is_some_and(|arrival| {
            let missing = |bytes: &Vec<u8>| arrival.size.saturating_sub(bytes.len() as u64);
            arrival.from == from && matches!(&arrival.body, Body::Bytes { bytes, .. } if len as u64 <= missing(bytes))
        })
    }

    /// The next bytes of a message have come.
    pub fn append(&mut self, arrival: u32, payload: &[u8]) {
        if let Body::Bytes { bytes, .. } = &mut self.arrivals.get_mut(arrival).body {
            bytes.extend_from_slice(payload);
        }
    }

    /// `peer` is told nothing any more.
    pub fn forget(&mut self, peer: Proc) {
        self.cap.forget(peer);
    }

    /// Of `messages`, the oldest first, those of `peer` that nobody gets any more, now that it is lost: those of which not all has come, and
    /// those behind them in their contexts. A receive could take one of these in place of one that was cut off.
    pub fn cut_off<T>(&self, peer: Proc, messages: impl Iterator<Item = (T, u32, Tuple)>) -> Vec<(T, u32)> {
        let mut contexts = HashSet::new();
        let mut is_cut_off = |message: u32, context: u32| {
            let Arrival { from, size, ref body, .. } = *self.get(message);
            if from == peer && !body.is_whole(size) {
                contexts.insert(context);
            }
            from == peer && contexts.contains(&context)
        };
        let cut_off = messages.filter(|(_, message, tuple)| is_cut_off(*message, tuple.context));
        cut_off.map(|(at, message, _)| (at, message)).collect()
    }

    /// How many messages are kept, and their bytes here.
    pub fn amount(&self) -> (usize, usize) {
        let bytes = self.arrivals.iter().map(|arrival| match &arrival.body {
            Body::Short(_) => arrival.size as usize,
            Body::Bytes { bytes, .. } => bytes.len(),
            _ => 0,
        });
        (self.arrivals.len(), bytes.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUPLE: Tuple = Tuple { context: 1, source: 0, tag: 2 };

    fn message(from: Proc, size: u64, here: usize) -> Arrival {
        Arrival { tuple: TUPLE, from, size, body: Body::Bytes { bytes: vec![0; here], sync: None } }
    }

    #[test]
    fn senders_are_told_at_the_cap_and_when_there_is_room() {
        let mut unexpected = Unexpected::new(2);
        unexpected.set_cap(1000, None);
        let (first, full) = unexpected.keep(message(1, 600, 600), 0);
        assert!(!full && !unexpected.keep(message(0, 5000, 5000), 0).1, "its own messages are not counted");
        assert!(unexpected.keep(message(1, 600, 600), 0).1, "past the cap");
        let mut released = Vec::new();
        assert_eq!(unexpected.take(first, 0, |peer| released.push(peer)).size, 600);
        assert!(released.is_empty() && unexpected.amount() == (2, 5600));
        unexpected.forget(1);
    }

    #[test]
    fn the_cap_is_raised_while_there_is_memory() {
        let mut unexpected = Unexpected::new(2);
        unexpected.set_cap(1000, Some(Box::new(|| 2000)));
        (0..5).for_each(|_| assert!(!unexpected.keep(message(1, 600, 600), 0).1));
        assert_eq!(unexpected.cap(), 4000);
        assert!(unexpected.keep(message(1, 600, 600), 0).1, "there is no more");
        assert_eq!(unexpected.cap(), 4000);
    }

    #[test]
    fn a_message_is_cut_off_while_bytes_are_missing_here_or_before_it() {
        let mut unexpected = Unexpected::new(3);
        let mut keep = |from, here| unexpected.keep(message(from, 10, here), 0).0;
        let [whole, part, behind, other, elsewhere] = [keep(1, 10), keep(1, 4), keep(1, 10), keep(2, 4), keep(1, 10)];
        let messages = [(whole, 1), (other, 1), (part, 1), (behind, 1), (elsewhere, 7)];
        let messages = messages.map(|(number, context)| ((), number, Tuple { context, ..TUPLE }));
        assert_eq!(unexpected.cut_off(1, messages.into_iter()), [((), part), ((), behind)]);
        assert_eq!(unexpected.cut_off(2, messages.into_iter()), [((), other)]);
        assert!(unexpected.misses(1, part, 6) && !unexpected.misses(1, part, 7) && !unexpected.misses(2, part, 6));
        unexpected.append(part, &[0; 6]);
        assert!(unexpected.cut_off(1, messages.into_iter()).is_empty());
    }

    #[test]
    fn who_waits_for_an_answer_is_known() {
        let sender = Synchronous { request: 5, mark: 0 };
        let bytes = |sync| Body::Bytes { bytes: Vec::new(), sync };
        assert_eq!(bytes(Some(sender)).answers(), Some(5));
        assert_eq!(Body::Waiting { sender, source: Box::new(Memory::opaque(1)) }.answers(), Some(5));
        assert_eq!(bytes(None).answers(), None);
        assert_eq!(Body::Own { request: 5, mark: 0 }.answers(), None);
        assert!(!Body::whole(vec![0; SHORT + 1]).is_whole(SHORT as u64) && Body::whole(vec![1]).is_whole(1));
    }
}
