//! Published receives and single copies: memory is registered with the HCA, and moved by it.

use crate::Verbs;
use std::cell::{Cell, RefCell};
use tern_device::{Delivery, Direct, Key, Memory, Outgoing, Pull, Recall};
use tern_hca::{Access, Error, MemoryRegion, ProtectionDomain};
use tern_registration::{Limits, Registrations, Use};

/// The registrations of memory that transfers use.
pub(crate) struct Registered {
    domain: ProtectionDomain,
    all: RefCell<Registrations<MemoryRegion>>,
    /// It was said that no more can be registered.
    told: Cell<bool>,
}

impl Registered {
    /// At most so many bytes stay registered that no transfer uses.
    pub fn new(domain: &ProtectionDomain, bytes: u64) -> Registered {
        let all = Registrations::new(Limits::keeping(bytes));
        if let Some(why) = all.why_not() {
            tern_settings::warn!("{why}");
        }
        Registered { domain: domain.clone(), all: RefCell::new(all), told: Cell::new(false) }
    }

    /// The memory with its key; without one when it cannot be registered. The key is what a peer shows, and in its upper
    /// half one more than the number of the use.
    pub fn locate(&self, memory: Memory) -> Memory {
        if memory.is_opaque() || memory.len == 0 {
            return memory;
        }
        let (from, len) = memory.span();
        let start = memory.address.wrapping_add_signed(from);
        let mut all = self.all.borrow_mut();
        let register = |start: u64, len: u64| {
            // SAFETY: the program has given the memory to a transfer; what the card does to it the transfer asks for.
            // What is kept beyond that is used by no request.
            unsafe { self.domain.register(start as *mut u8, len as usize, Access::ALL) }
        };
        match all.acquire(start, len, register) {
            Ok(of) => Memory { key: u64::from(of.0 + 1) << 32 | u64::from(all.get(of).remote_key()), ..memory },
            Err(error) => {
                self.refused(&error);
                memory
            }
        }
    }

    /// Says, once, that the card takes no more memory. Where the memory itself is the cause, as that of constants may
    /// be, there is nothing that a user could do.
    #[cold]
    fn refused(&self, error: &Error) {
        if matches!(error, Error::Resources(_)) && !self.told.replace(true) {
            tern_settings::warn!(
                "messages are copied and go in packets where no more memory can be registered: {error}"
            );
        }
    }

    fn of(memory: &Memory) -> Option<Use> {
        ((memory.key >> 32) as u32).checked_sub(1).map(Use)
    }

    pub fn release(&self, memory: &Memory) {
        if let Some(of) = Registered::of(memory) {
            self.all.borrow_mut().release(of);
        }
    }

    /// The key for requests of this process.
    pub fn local_key(&self, memory: &Memory) -> Option<u32> {
        Registered::of(memory).map(|of| self.all.borrow().get(of).local_key())
    }
}

impl Verbs {
    /// Receives are published in queues of the card.
    fn uses_queues(&self) -> bool {
        self.settings.queues > 0 && self.fabric.ways.is_some()
    }
}

impl Direct for Verbs {
    fn threshold(&self) -> usize {
        self.settings.direct
    }

    fn locate(&self, _peer: u32, memory: Memory, _quiet: bool) -> Memory {
        self.registered.locate(memory)
    }

    fn release(&self, memory: &Memory) {
        self.registered.release(memory);
    }

    fn publish(&self, peer: u32, key: &Key, memory: &Memory, receiver: u32, seen: u32) -> Option<u32> {
        let pays = self.settings.tuples && memory.len >= self.settings.direct as u64;
        match self.uses_queues() {
            _ if !pays => None,
            true => self.queues.publish(self, peer, key, memory, receiver, seen),
            false => self.tuples.publish(self, peer, key, memory, receiver, seen),
        }
    }

    fn may_have_room_later(&self, _peer: u32) -> bool {
        // Queues are for tuples that are used often, and each refusal counts as a use.
        !self.uses_queues()
    }

    fn retract(&self, peer: u32, slot: u32) -> bool {
        if self.uses_queues() {
            self.queues.retract(peer, slot);
            return true;
        }
        self.tuples.retract(peer, slot)
    }

    fn recall(&self, peer: u32, slot: u32) -> Recall {
        if self.uses_queues() { self.queues.recall(self, peer, slot) } else { self.tuples.recall(self, peer, slot) }
    }

    fn forget(&self, peer: u32, slot: u32) {
        self.tuples.forget(peer, slot);
    }

    fn raise(&self, peer: u32, seen: u32) {
        if self.uses_queues() {
            self.queues.raise(peer, seen);
        } else {
            self.tuples.raise(peer, seen);
        }
    }

    fn pull(&self, peer: u32, source: &Memory, target: &Memory, receiver: u32) -> Pull {
        self.fetch(peer, source, target, receiver)
    }

    fn push(&self, peer: u32, source: &Memory, target: &Memory, sender: u32) -> Pull {
        self.put(peer, source, target, sender)
    }

    fn copies_up_to(&self, _peer: u32) -> usize {
        self.settings.tuple_copy
    }

    fn deliver(&self, peer: u32, key: &Key, last: u32, message: &Outgoing<'_>) -> Delivery {
        // SAFETY: the sender's memory is the program's, which leaves it to the transfer.
        unsafe {
            match self.uses_queues() {
                true => self.queues.deliver(self, peer, key, last, message),
                false => self.tuples.deliver(self, peer, key, last, message),
            }
        }
    }
}
