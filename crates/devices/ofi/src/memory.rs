//! The program's memory that is registered: for messages, kept as long as that pays, and for windows, as long as they last.

use crate::abi::{FI_READ, FI_REMOTE_READ, FI_REMOTE_WRITE, FI_WRITE};
use crate::fabric::{Fabric, Refused, Region};
use crate::keys::{self, Keys};
use crate::packet::Token;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::rc::Rc;
use tern_device::Memory;
use tern_registration::{Limits, Registrations, Use};

/// What may be done to the memory.
const ACCESS: u64 = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
/// Numbers whose keys were found to be taken, before it is given up. Keys of 8 bytes never are.
const ATTEMPTS: usize = 8;
const ENOKEY: isize = libc::ENOKEY as isize;
/// Errors that tell of the memory itself, as of that of constants: there is nothing that a user could do.
const OF_MEMORY: [isize; 3] = [libc::EFAULT as isize, libc::EACCES as isize, libc::EINVAL as isize];

/// Registered memory with the key that peers are told.
struct Known {
    region: Region,
    key: u64,
    _share: Share,
}

/// Bytes of one registration among those of all.
struct Share(Rc<Cell<u64>>, u64);

impl Drop for Share {
    fn drop(&mut self) {
        self.0.set(self.0.get() - self.1);
    }
}

/// Makes registrations.
struct Maker {
    token: Token,
    /// Keys of the provider's; otherwise bits of a key.
    theirs: bool,
    mask: u64,
    number: u32,
    /// Bytes that are registered, and how many may be.
    total: Rc<Cell<u64>>,
    most: u64,
}

impl Maker {
    fn make(&mut self, fabric: &Fabric, start: u64, len: u64) -> Result<Known, isize> {
        if self.total.get().saturating_add(len) > self.most {
            return Err(-(libc::ENOMEM as isize));
        }
        for _ in 0..ATTEMPTS {
            let number = if self.number == 0 { 1 } else { self.number };
            self.number = keys::after(number);
            let shown = keys::secret(&self.token, number, self.mask);
            // SAFETY: the program has given the memory to a transfer; what is done to it the transfer asks for. What is kept
            // beyond that is used by no request.
            match unsafe { fabric.try_register(start as *const u8, len as usize, ACCESS, shown) } {
                Ok(region) => {
                    let key = if self.theirs { Some(region.key()) } else { keys::encode(start, number) };
                    let key = key.filter(|&key| key != 0).ok_or(-(libc::EINVAL as isize))?;
                    self.total.set(self.total.get() + len);
                    return Ok(Known { region, key, _share: Share(self.total.clone(), len) });
                }
                Err(Refused { error, .. }) if error == -ENOKEY && !self.theirs => {}
                Err(Refused { error, .. }) => return Err(error),
            }
        }
        Err(-ENOKEY)
    }
}

/// See the module.
pub struct Registered {
    all: Registrations<Known>,
    /// By key: which use, and how often it was located.
    located: HashMap<u64, (Use, u32)>,
    revealed: HashMap<u64, Known>,
    maker: Maker,
    told: bool,
}

// SAFETY: one thread at a time uses it, under the lock of the state; nothing in it belongs to a thread.
unsafe impl Send for Registered {}

impl Registered {
    /// At most so many bytes stay registered that no transfer uses, and `most` at once, as where locked memory is limited. `pins`: a
    /// registration holds pages.
    pub fn new(keys: &Keys, token: Token, pins: bool, bytes: u64, most: u64) -> Registered {
        let all = Registrations::of(pins, Limits::keeping(bytes));
        if let Some(why) = all.why_not() {
            tern_settings::warn!("{why}");
        }
        let Keys { theirs, mask, .. } = *keys;
        let maker = Maker { token, theirs, mask, number: 1, total: Rc::default(), most };
        Registered { all, located: HashMap::new(), revealed: HashMap::new(), maker, told: false }
    }

    /// The memory with its key; without one when it cannot be registered.
    pub fn locate(&mut self, fabric: &Fabric, memory: Memory) -> Memory {
        if memory.is_opaque() || memory.len == 0 {
            return memory;
        }
        let (from, len) = memory.span();
        let Some(of) = self.hold(fabric, memory.address.wrapping_add_signed(from), len) else { return memory };
        let key = self.all.get(of).key;
        let (_, uses) = self.located.entry(key).or_insert((of, 0));
        *uses += 1;
        Memory { key, ..memory }
    }

    /// Ends what [`Registered::locate`] began.
    pub fn release(&mut self, memory: &Memory) {
        let Some((of, uses)) = self.located.get_mut(&memory.key) else { return };
        let of = *of;
        *uses -= 1;
        if *uses == 0 {
            self.located.remove(&memory.key);
        }
        self.all.release(of);
    }

    /// Uses a registration of these bytes. `None`: they cannot be registered.
    pub fn hold(&mut self, fabric: &Fabric, address: u64, len: u64) -> Option<Use> {
        let Registered { all, maker, .. } = self;
        all.acquire(address, len, |start, len| maker.make(fabric, start, len))
            .inspect_err(|&error| self.refused(fabric, error))
            .ok()
    }

    /// Ends what [`Registered::hold`] began.
    pub fn let_go(&mut self, of: Use) {
        self.all.release(of);
    }

    /// What requests of this process show for the memory.
    pub fn descriptor(&self, of: Use) -> *mut c_void {
        self.all.get(of).region.descriptor()
    }

    /// Registers memory until it is concealed; its key.
    pub fn reveal(&mut self, fabric: &Fabric, memory: *mut u8, len: usize) -> Option<u64> {
        let (address, end) = (memory as u64, memory as u64 + len as u64);
        let whole = !self.maker.theirs;
        let start = if whole { address & !(keys::ALIGN - 1) } else { address };
        let known = self.maker.make(fabric, start, end - start).ok()?;
        let key = known.key;
        self.revealed.insert(key, known);
        Some(key)
    }

    /// Ends what [`Registered::reveal`] began.
    pub fn conceal(&mut self, key: u64) {
        self.revealed.remove(&key);
    }

    /// Whether peers may be about to reach for memory.
    pub fn is_reached(&self) -> bool {
        !self.located.is_empty() || !self.revealed.is_empty()
    }

    /// Says, once, that no more can be registered.
    #[cold]
    fn refused(&mut self, fabric: &Fabric, error: isize) {
        if !OF_MEMORY.contains(&-error) && !std::mem::replace(&mut self.told, true) {
            tern_settings::warn!(
                "messages are copied and go in packets where libfabric's provider {} registers no more memory: {}; raise the \
                 limit of locked memory (ulimit -l)",
                fabric.offer.provider(),
                fabric.library.error(error)
            );
        }
    }
}
