//! Registrations of memory: the cache and the watch together.

use crate::cache::{Cache, Limits, Use};
use tern_node::maps::Maps;
use tern_node::maps::watch::Watch;

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Transfers that found their memory registered.
    pub found: u64,
    /// Registrations made, and of those the ones that could not be kept.
    pub made: u64,
    pub unkept: u64,
    /// Unmappings that were told of.
    pub unmapped: u64,
    /// Registrations that were refused when nothing was left to give up for them.
    pub refused: u64,
}

/// Address ranges of the mappings that are watched, from first to past the last byte.
type Mappings = Vec<(u64, u64)>;

/// Tells whether registrations may be kept, by what means.
enum Keeper {
    /// They are of addresses, whatever is mapped there.
    Addresses,
    Kernel(Watch, Maps, Mappings),
    /// Nobody tells of unmappings: a registration lasts as long as its transfer.
    Nobody(&'static str, rustix::io::Errno),
    /// The user does not want it.
    Off,
}

/// The registrations of this process with one protection domain. Dropping an `R` deregisters it.
pub struct Registrations<R> {
    cache: Cache<R>,
    keeper: Keeper,
    page: u64,
    totals: Totals,
}

impl<R> Registrations<R> {
    /// Starts the watch. With no entries in `limits` nothing is kept beyond its transfer, and nothing is
    /// watched.
    pub fn new(limits: Limits) -> Registrations<R> {
        let keeper = match limits.entries {
            0 => Keeper::Off,
            _ => Keeper::find(),
        };
        let page = rustix::param::page_size() as u64;
        Registrations { cache: Cache::new(limits), keeper, page, totals: Totals::default() }
    }

    /// As [`Registrations::new`] if registrations hold pages. Otherwise they stay right when memory is unmapped or moved: nothing is
    /// watched, and the program's mappings stay as it has made them.
    pub fn of(pins: bool, limits: Limits) -> Registrations<R> {
        if pins || limits.entries == 0 {
            return Registrations::new(limits);
        }
        let mut registrations = Registrations::new(Limits { entries: 0, ..limits });
        (registrations.cache, registrations.keeper) = (Cache::new(limits), Keeper::Addresses);
        registrations
    }

    /// As [`Registrations::new`] where the kernel does not tell of unmappings.
    pub fn unwatched(limits: Limits) -> Registrations<R> {
        let keeper = Keeper::Nobody("userfaultfd", rustix::io::Errno::PERM);
        let mut registrations = Registrations::new(Limits { entries: 0, ..limits });
        registrations.keeper = keeper;
        registrations
    }

    /// Why nothing is kept, as a sentence for the user; `None` when registrations are kept, or are not
    /// meant to be.
    pub fn why_not(&self) -> Option<String> {
        let Keeper::Nobody(what, error) = &self.keeper else { return None };
        Some(format!(
            "memory is registered anew for each transfer, since the kernel does not tell when it is unmapped \
             ({what}: {error}); containers often forbid this call"
        ))
    }

    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Uses a registration that holds `len` bytes at `address`, made by `register`, which is given the first
    /// address and how many bytes, all of them whole pages. Registrations that nobody uses are given up
    /// until it succeeds.
    ///
    /// Errors: that of `register` when nothing is left to give up.
    pub fn acquire<E>(
        &mut self, address: u64, len: u64, mut register: impl FnMut(u64, u64) -> Result<R, E>,
    ) -> Result<Use, E> {
        self.sweep();
        let (start, end) = self.pages(address, len);
        if let Some(found) = self.cache.find(start, end) {
            self.totals.found += 1;
            return Ok(found);
        }
        // First the watch: what is unmapped from now on is known.
        let keep = self.keeper.watches(start, end);
        let region = loop {
            match register(start, end - start) {
                Ok(region) => break region,
                // What is given up is deregistered at once, so that there is room.
                Err(_) if self.cache.evict() => self.work(),
                Err(error) => {
                    self.totals.refused += 1;
                    return Err(error);
                }
            }
        };
        self.totals.made += 1;
        self.totals.unkept += !keep as u64;
        let it = self.cache.insert(start, end, region, keep);
        self.work();
        Ok(it)
    }

    /// The registration of a use.
    pub fn get(&self, it: Use) -> &R {
        self.cache.get(it)
    }

    /// Ends one use.
    pub fn release(&mut self, it: Use) {
        self.cache.release(it);
        self.work();
    }

    /// Deregisters what has been unmapped. [`Registrations::acquire`] does so too; this is for a program that
    /// communicates no more for a while: what is registered stays in memory.
    #[inline]
    pub fn sweep(&mut self) {
        if let Keeper::Kernel(watch, ..) = &self.keeper
            && (!watch.is_mine() || watch.has_news())
        {
            self.take_news();
        }
    }

    #[cold]
    fn take_news(&mut self) {
        let Keeper::Kernel(watch, _, mappings) = &mut self.keeper else { return };
        if !watch.is_mine() {
            // A child of fork: all of this is its parent's.
            self.cache.forget();
            self.keeper = Keeper::Nobody("fork", rustix::io::Errno::PERM);
            return;
        }
        let mut unmapped = 0;
        let all_known = watch.take(&mut |start, end| {
            unmapped += 1;
            self.cache.invalidate(start, end);
            mappings.retain(|&(from, to)| from < start || end < to);
        });
        self.totals.unmapped += unmapped;
        if !all_known {
            self.cache.invalidate_all();
        }
        self.work();
    }

    /// Does what the cache has left to do. Deregistering may free memory, and so unmap some: that is
    /// noted for the next time.
    #[inline]
    fn work(&mut self) {
        if !self.cache.has_work() {
            return;
        }
        // Deregisters. What they were of stays watched: parts of a mapping that are watched, or not, would be mappings of their own,
        // which mremap does not move as one.
        drop(self.cache.work());
    }

    /// The whole pages around some bytes.
    fn pages(&self, address: u64, len: u64) -> (u64, u64) {
        let start = address & !(self.page - 1);
        (start, (address + len.max(1)).next_multiple_of(self.page))
    }
}

impl<R> Drop for Registrations<R> {
    /// Nothing stays watched: a child of fork may have the userfaultfd for longer, and then it is not over when it is closed here.
    fn drop(&mut self) {
        self.sweep();
        self.cache.invalidate_all();
        self.work();
        if let Keeper::Kernel(watch, maps, mappings) = &self.keeper
            && watch.is_mine()
        {
            mappings.iter().for_each(|&range| leave(watch, maps, range));
        }
    }
}

/// Watches none of the mappings in a range any more.
fn leave(watch: &Watch, maps: &Maps, (start, end): (u64, u64)) {
    let mut at = start;
    while at < end
        && let Some(vma) = maps.at_or_after(at as usize).filter(|vma| (vma.start as u64) < end)
    {
        watch.leave(at.max(vma.start as u64), end.min(vma.end as u64));
        at = vma.end as u64;
    }
    // Where single mappings cannot be asked for.
    if at == start {
        watch.leave(start, end);
    }
}

impl Keeper {
    fn find() -> Keeper {
        match (Watch::start(), Maps::open()) {
            (Ok(watch), Ok(maps)) => Keeper::Kernel(watch, maps, Vec::new()),
            (Err(error), _) => Keeper::Nobody("userfaultfd", error),
            (_, Err(error)) => Keeper::Nobody("/proc/self/maps", error),
        }
    }

    /// Watches the mappings of these pages, if that is possible: whole ones, so that they stay whole.
    fn watches(&mut self, start: u64, end: u64) -> bool {
        let Keeper::Kernel(watch, maps, mappings) = self else { return matches!(self, Keeper::Addresses) };
        if !maps.are_own(start as usize..end as usize) {
            return false;
        }
        let first = maps.at(start as usize).map_or(start, |vma| vma.start as u64);
        let last = maps.at(end as usize - 1).map_or(end, |vma| vma.end as u64);
        let (first, last) = if watch.watch(first, last).is_ok() { (first, last) } else { (start, end) };
        if (first, last) == (start, end) && watch.watch(start, end).is_err() {
            return false;
        }
        if !mappings.iter().any(|&(from, to)| from <= first && last <= to) {
            mappings.retain(|&(from, to)| from < first || last < to);
            mappings.push((first, last));
        }
        true
    }
}
