//! Regions of segments: own memory that lies in pieces, and that peers copy out of by a cookie. The request to send tells nothing of the pieces.
//!
//! A process has a table of regions in its part of the node's file. It alone opens and closes them. Readers leave nothing there, so one that is
//! killed leaves nothing behind. The cookie of a region is never that of another one: who comes late finds that.

use std::cell::{Cell, OnceCell, RefCell};
use tern_atomics::{AtomicU64, Ordering, fence};
use tern_device::Run;

/// Regions that a process has at a time, and segments of each: a table is too short for huge pages. The model checker tries few.
pub const MOST: usize = if cfg!(loom) { 2 } else { 24 };
pub const SEGMENTS: usize = if cfg!(loom) { 2 } else { tern_policy::MOST_SEGMENTS as usize };

/// One region, in shared memory. Zeros are one that is closed.
#[repr(C, align(4096))]
pub struct Entry {
    /// 0 while it is closed.
    cookie: AtomicU64,
    /// Segments.
    count: AtomicU64,
    /// Address and bytes of each.
    segments: [[AtomicU64; 2]; SEGMENTS],
}

/// The regions of a process, in shared memory.
#[repr(C)]
pub struct Table([Entry; MOST]);

impl Entry {
    // Relaxed, what is no fence: a reader that has seen a word of a later region finds behind its fence that the cookie has gone.
    fn open(&self, cookie: u64, segments: &[Run]) {
        // Release: pairs with the acquire fence in `read`.
        fence(Ordering::Release);
        for (to, run) in self.segments.iter().zip(segments) {
            to[0].store(run.address, Ordering::Relaxed);
            to[1].store(run.len, Ordering::Relaxed);
        }
        self.count.store(segments.len() as u64, Ordering::Relaxed);
        // Release: pairs with the first load in `read`.
        self.cookie.store(cookie, Ordering::Release);
    }

    fn close(&self) {
        self.cookie.store(0, Ordering::Relaxed);
    }

    fn read(&self, cookie: u64) -> Option<Vec<Run>> {
        // Acquire: pairs with the last store in `open`.
        if self.cookie.load(Ordering::Acquire) != cookie {
            return None;
        }
        let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let run = |words: &[AtomicU64; 2]| Run { address: word(&words[0]), len: word(&words[1]) };
        let segments = self.segments.get(..word(&self.count) as usize)?.iter().map(run).collect();
        // Acquire: pairs with the release fence in `open`.
        fence(Ordering::Acquire);
        (word(&self.cookie) == cookie).then_some(segments)
    }
}

impl Table {
    /// The entry that a cookie names.
    fn entry(&self, cookie: u64) -> &Entry {
        &self.0[cookie as usize % MOST]
    }

    /// The segments of a region of `len` bytes. `None`: the cookie names none.
    pub fn read(&self, cookie: u64, len: u64) -> Option<Vec<Run>> {
        let segments = self.entry(cookie).read(cookie).filter(|_| cookie != 0)?;
        let sum = segments.iter().try_fold(0u64, |sum, run| sum.checked_add(run.len));
        (sum == Some(len)).then_some(segments)
    }
}

/// The own regions of a process.
#[derive(Default)]
pub struct Regions {
    /// Where its table lies; `None`: there is no room for one.
    table: OnceCell<Option<&'static Table>>,
    /// Entries that are closed.
    free: RefCell<Vec<u64>>,
    /// Regions so far.
    opened: Cell<u64>,
}

impl Regions {
    /// Opens a region; gives its cookie, which is not 0. The first one makes the table, by `make`, in memory of zeros that stays. `None`: there is none,
    /// or there are too many regions or segments.
    pub fn open(&self, segments: &[Run], make: impl FnOnce() -> Option<&'static Table>) -> Option<u64> {
        let table = (*self.table.get_or_init(|| {
            self.free.replace((0..MOST as u64).collect());
            make()
        }))?;
        if segments.len() > SEGMENTS {
            return None;
        }
        let entry = self.free.borrow_mut().pop()?;
        self.opened.set(self.opened.get() + 1);
        let cookie = self.opened.get() * MOST as u64 + entry;
        table.entry(cookie).open(cookie, segments);
        Some(cookie)
    }

    /// Closes a region that is open.
    pub fn close(&self, cookie: u64) {
        if let Some(Some(table)) = self.table.get() {
            table.entry(cookie).close();
            self.free.borrow_mut().push(cookie % MOST as u64);
        }
    }

    /// Regions that are open.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.table.get().map_or(0, |_| MOST - self.free.borrow().len())
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Table>() < 2 << 20);

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
