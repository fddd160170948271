//! The regions that this process has declared to the module, found by where they begin: those of messages are kept for the next
//! message from there, for as long as the limits allow.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::AtomicU32;
use tern_counters as counters;
use tern_region::Run;
use tern_region::cma::Failed;
use tern_region::module::{self, Beside, Declared, Module};

/// Regions at a time: as many as the module has words that tell whether memory is still the same.
const MOST: usize = 4096;
/// Uses of memory after a refusal before the module is asked again for as much: to ask takes all other regions.
const PATIENCE: u64 = 1000;
/// Uses of memory for which a region stays whose word has changed. Another region with this word may have gone instead, and messages of
/// this one be on their way.
const GRACE: u64 = 64;

/// The calls of the module. Tests have others that answer them.
pub trait Calls {
    /// [`Module::create`].
    fn create(&self, segments: &[Run], protection: u32) -> Result<Declared, c_int>;
    /// [`Module::is_current`].
    fn is_current(&self, declared: &Declared) -> bool;
    /// [`Module::destroy`].
    fn destroy(&self, declared: Declared);
    /// [`Module::read`].
    ///
    /// # Safety
    /// As there.
    unsafe fn read(&self, cookie: u64, offset: u64, local: &[Run]) -> Result<usize, Failed>;
    /// [`Module::write`].
    ///
    /// # Safety
    /// As there.
    unsafe fn write(&self, cookie: u64, offset: u64, local: &[Run]) -> Result<usize, Failed>;
    /// [`Module::start`].
    ///
    /// # Safety
    /// As there.
    unsafe fn start(
        &self, _at: (u64, u64), _local: &[Run], _writes: bool, _beside: Beside, _status: *const AtomicU32,
    ) -> Result<(), c_int> {
        Err(libc::EOPNOTSUPP)
    }
}

impl Calls for Module {
    fn create(&self, segments: &[Run], protection: u32) -> Result<Declared, c_int> {
        Module::create(self, segments, protection)
    }
    fn is_current(&self, declared: &Declared) -> bool {
        Module::is_current(self, declared)
    }
    fn destroy(&self, declared: Declared) {
        Module::destroy(self, declared);
    }
    unsafe fn read(&self, cookie: u64, offset: u64, local: &[Run]) -> Result<usize, Failed> {
        // SAFETY: contract of this function.
        unsafe { Module::read(self, cookie, offset, local) }
    }
    unsafe fn write(&self, cookie: u64, offset: u64, local: &[Run]) -> Result<usize, Failed> {
        // SAFETY: contract of this function.
        unsafe { Module::write(self, cookie, offset, local) }
    }
    unsafe fn start(
        &self, at: (u64, u64), local: &[Run], writes: bool, beside: Beside, status: *const AtomicU32,
    ) -> Result<(), c_int> {
        // SAFETY: contract of this function.
        unsafe { Module::start(self, at, local, writes, beside, status) }
    }
}

/// Address of the first byte, bytes in all, and when it was declared.
type Key = (u64, u64, u64);

struct Region {
    declared: Declared,
    /// When it was used last.
    used: u64,
    /// Not to be given up.
    kept: u32,
    /// Its segments, if there are several.
    pieces: Box<[Run]>,
}

/// Why memory has no region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It does not pay yet.
    NotDue,
    /// The module does not take it.
    Refused,
}

/// The regions of this process.
#[derive(Default)]
pub struct Table {
    regions: BTreeMap<Key, Region>,
    clock: u64,
    /// Memory of so many bytes was refused while nothing could be given up for it, and when.
    refused: Option<(u64, u64)>,
}

impl Table {
    /// The cookie of a region that begins at `start` and has at least `len` bytes, which is declared now if there is none and that is `due`.
    ///
    /// Errors: there is none.
    pub fn declare(
        &mut self, module: &impl Calls, start: u64, len: u64, due: impl FnOnce() -> bool,
    ) -> Result<u64, Missing> {
        self.region(module, &one(start, len), due).map(|region| region.declared.cookie)
    }

    /// The same of a region of these segments and no more.
    pub fn declare_segments(
        &mut self, module: &impl Calls, segments: &[Run], due: impl FnOnce() -> bool,
    ) -> Result<u64, Missing> {
        self.region(module, segments, due).map(|region| region.declared.cookie)
    }

    /// The same of a region that is not given up before [`Table::end`].
    pub fn keep(
        &mut self, module: &impl Calls, start: u64, len: u64, due: impl FnOnce() -> bool,
    ) -> Result<u64, Missing> {
        let region = self.region(module, &one(start, len), due)?;
        region.kept += 1;
        Ok(region.declared.cookie)
    }

    /// Ends what [`Table::keep`] began, which gave this cookie.
    pub fn end(&mut self, start: u64, cookie: u64) {
        let mut regions = self.regions.range_mut((start, 0, 0)..=(start, u64::MAX, u64::MAX));
        if let Some((_, region)) = regions.find(|(_, region)| region.declared.cookie == cookie) {
            region.kept -= 1;
            self.refused = None;
        }
    }

    /// Ends the region of this cookie, kept or not: when it returns, nobody touches the memory by it.
    pub fn forget(&mut self, module: &impl Calls, start: u64, cookie: u64) {
        let mut regions = self.regions.range((start, 0, 0)..=(start, u64::MAX, u64::MAX));
        let key = regions.find(|(_, region)| region.declared.cookie == cookie).map(|(&key, _)| key);
        key.inspect(|key| self.give_up(module, key));
    }

    fn region(
        &mut self, module: &impl Calls, segments: &[Run], due: impl FnOnce() -> bool,
    ) -> Result<&mut Region, Missing> {
        let start = segments.first().ok_or(Missing::Refused)?.at as u64;
        let len = segments.iter().map(|run| run.len as u64).sum();
        start.checked_add(len).filter(|_| len > 0).ok_or(Missing::Refused)?;
        self.clock += 1;
        let key = match self.find(module, segments, (start, len)) {
            Some(key) => key,
            None if !due() => return Err(Missing::NotDue),
            None => self.add(module, segments, (start, len)).ok_or(Missing::Refused)?,
        };
        let region = self.regions.get_mut(&key).ok_or(Missing::Refused)?;
        region.used = self.clock;
        Ok(region)
    }

    /// The region of these segments; of one segment, the shortest from there that is long enough. Memory that was unmapped since is declared no
    /// more, after a while.
    fn find(&mut self, module: &impl Calls, segments: &[Run], (start, len): (u64, u64)) -> Option<Key> {
        let mut gone = Vec::new();
        let clock = self.clock;
        let (pieces, longest) = if segments.len() > 1 { (segments, len) } else { (&[][..], u64::MAX) };
        let regions = self.regions.range((start, len, 0)..=(start, longest, u64::MAX));
        let mut longer = regions.filter(|(_, region)| *region.pieces == *pieces);
        let found = longer.find_map(|(&key, region)| {
            if module.is_current(&region.declared) {
                return Some(key);
            }
            gone.extend((region.kept == 0 && clock - region.used >= GRACE).then_some(key));
            None
        });
        gone.iter().for_each(|key| self.give_up(module, key));
        found
    }

    fn add(&mut self, module: &impl Calls, segments: &[Run], (start, len): (u64, u64)) -> Option<Key> {
        let refused = self.refused.is_some_and(|(least, when)| len >= least && self.clock - when < PATIENCE);
        if refused {
            return None;
        }
        if self.regions.len() >= MOST {
            self.give_up_oldest(module);
        }
        let declared = self.create(module, segments, len)?;
        counters::MODULE_REGIONS.add(1);
        let key = (start, len, self.clock);
        let pieces = if segments.len() > 1 { segments.into() } else { Box::default() };
        self.regions.insert(key, Region { declared, used: 0, kept: 0, pieces });
        Some(key)
    }

    /// Memory that the program cannot write is for reading alone. When no more may be pinned, older regions go.
    fn create(&mut self, module: &impl Calls, segments: &[Run], len: u64) -> Option<Declared> {
        let mut protection = module::READ | module::WRITE;
        loop {
            match module.create(segments, protection) {
                Ok(declared) => return Some(declared),
                Err(libc::EFAULT) if protection != module::READ => protection = module::READ,
                Err(libc::ENOMEM | libc::EMFILE) => {
                    if !self.give_up_oldest(module) {
                        self.refused = Some((len, self.clock));
                        return None;
                    }
                }
                Err(libc::EAGAIN | libc::EINTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// Gives up an eighth of the regions, those that were used longest ago; false when all are kept.
    fn give_up_oldest(&mut self, module: &impl Calls) -> bool {
        let free = self.regions.iter().filter(|(_, region)| region.kept == 0);
        let mut free: Vec<(u64, Key)> = free.map(|(&key, region)| (region.used, key)).collect();
        free.sort_unstable();
        let some = free.len().div_ceil(8);
        free[..some].iter().for_each(|(_, key)| self.give_up(module, key));
        some > 0
    }

    fn give_up(&mut self, module: &impl Calls, key: &Key) {
        if let Some(region) = self.regions.remove(key) {
            module.destroy(region.declared);
        }
    }
}

/// Memory in one piece.
fn one(start: u64, len: u64) -> [Run; 1] {
    [Run::new(start as *const u8, len as usize)]
}
