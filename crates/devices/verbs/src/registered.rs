//! Registrations of memory that transfers use.

use std::cell::{Cell, RefCell};
use tern_device::Memory;
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
    /// At most so many bytes stay registered that no transfer uses. `pins`: a registration holds pages.
    pub fn new(domain: &ProtectionDomain, pins: bool, bytes: u64) -> Registered {
        let all = Registrations::of(pins, Limits::keeping(bytes));
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
