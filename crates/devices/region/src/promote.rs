//! Promotion: private memory that is sent from or received into often becomes shared memory, at the
//! same addresses.
//!
//! Its whole pages are copied to a range of the node's file and that range is mapped over the same
//! addresses. Peers that map the file then copy without a system call. This needs no kernel module, no
//! permission to trace, no descriptor passed on.
//!
//! It changes what the program's memory is, so it is done only where that cannot show:
//!
//! | condition | reason | where |
//! |---|---|---|
//! | one thread | a store during the copy would be lost | `process` |
//! | memory of glibc's malloc: in the main heap, or a chunk with a mapping of its own | other allocators use MADV_DONTNEED and expect zeros; glibc does so in other arenas only, or does not rely on it | `owner` |
//! | no loaded object imports madvise, mremap, brk, clone and their like | the program could do the same itself, or go past malloc and fork | `imports` |
//! | private, anonymous, readable and writable, no unusual flag, no huge page, no NUMA policy | the program asked for it | `maps`, `flags`, `process` |
//! | no descriptor or mapping of a device, an io_uring, AIO; no page that is pinned | the kernel or a device may write to the old pages | `process`, `hidden` |
//! | no limit on the size of files | the kernel would send SIGXFSZ | `process` |
//! | core dumps treat shared memory like private memory | its contents would be missing | `process` |
//! | memory to spare, in the machine and the cgroup | for a moment there are two copies; and a fork makes one of all that is promoted | `process` |
//! | no transfer by a peer into those pages | it would be lost | the caller ([`Promoter::set_in_use`]) |
//!
//! What cannot be found out counts as no. A fork copies it for the child (`crate::fork`), and replaces nothing in the parent; with other
//! threads it freezes what is not pinned (`pins`).
//! Before each use the kernel is asked what is at the address, or it tells by itself what the program unmaps or moves
//! ([`Promoter::tell_me`]); nothing is hooked or patched.
//!
//! What is left: a program that calls MADV_DONTNEED on malloc's memory, or clone, by a system call in
//! assembly, through a name that it looks up at run time, or from an object that it loads after the
//! promotion, can tell the difference. So can one that asks realloc for more than the machine has: shared
//! memory is given to it, private memory might not be.
//!
//! This process must not map its own promoted memory a second time: the kernel's answer would not
//! tell the one from the other.

mod attempt;
mod flags;
mod ground;
mod hidden;
mod huge;
mod imports;
mod owner;
mod pages;
mod pinning;
mod pins;
mod process;
mod ready;
mod records;
mod refusal;
mod told;

pub use ground::Quiesce;
pub use refusal::Refusal;
pub use told::tells;

use crate::fork;
use crate::heap::{Heap, Place};
use crate::quiet::Quiet;
use imports::Imports;
use ready::Ready;
use records::Records;
use std::ops::Range;
use std::rc::Rc;
use std::sync::MutexGuard;
use tern_counters as counters;
use tern_node::maps::Vma;
use tern_policy::promote::{BufferUses, Due, Use};
use told::Told;

/// What promotion costs and saves.
pub use tern_policy::promote::Costs;

/// When to promote: never; when it pays, by [`Costs`], and cannot show; or at the first use, and
/// without looking at which functions the program imports, for which the user vouches.
pub use tern_settings::Promote as Policy;

/// Pieces of memory that are promoted at a time; the kernel allows 65,530 mappings.
const MOST_RECORDS: usize = 1024;

/// Asked whether a peer may be writing into the pages of a range. Asked for all addresses: whether any
/// transfer is under way that a peer knows the place of.
pub type InUse = Box<dyn Fn(Range<usize>) -> bool>;

/// Whether memory has left the caches that was used so many bytes of other messages ago.
pub type IsLate = Box<dyn Fn(u64) -> bool>;

/// What happened so far.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Promotions.
    pub promoted: u64,
    /// Bytes that are promoted now, as far as known.
    pub bytes: u64,
    /// Attempts that were refused.
    pub refused: u64,
    /// Promoted pieces that the program has since freed or moved.
    pub gone: u64,
}

/// Promotes the buffers of one process. There is one in a process; it belongs to whoever holds the
/// library's lock.
///
/// Dropping it leaves what is promoted as it is.
pub struct Promoter {
    heap: Rc<Heap>,
    policy: Policy,
    uses: BufferUses,
    in_use: Option<InUse>,
    quiesce: Option<Quiesce>,
    imports: Imports,
    /// Made at the first attempt.
    ready: Option<Ready>,
    records: Records,
    told: Told,
    refusal: Option<Refusal>,
    counts: Counts,
    /// Uses until the records are compared with the kernel's.
    until_refresh: usize,
    /// Something was freed while a transfer was under way, and has not been given back yet.
    owes: bool,
    /// Calls of [`Promoter::give_back`] since the kernel was asked.
    idle: usize,
    /// Of the node, which may all promote.
    processes: u32,
    /// See [`Promoter::set_late`].
    is_late: IsLate,
}

impl Promoter {
    /// `heap` gives the offsets. Does nothing yet: what the machine allows is found out when the
    /// first buffer is due.
    pub fn new(heap: Rc<Heap>, policy: Policy, costs: Costs) -> Promoter {
        Promoter {
            heap,
            policy,
            uses: BufferUses::new(policy == Policy::Always, rustix::param::page_size(), costs),
            in_use: None,
            quiesce: None,
            imports: Imports::default(),
            ready: None,
            records: Records::default(),
            told: Told::default(),
            refusal: None,
            counts: Counts::default(),
            until_refresh: 64,
            owes: false,
            idle: 0,
            processes: 1,
            is_late: Box::new(|bytes| bytes >= 8 << 20),
        }
    }

    /// Without this, no peer ever writes to this process's private memory.
    ///
    /// Promotion takes whole pages, so the range that is asked about may begin before and end after
    /// the buffer, up to the whole of its malloc chunk.
    pub fn set_in_use(&mut self, in_use: InUse) {
        self.in_use = Some(in_use);
    }

    /// What keeps peers away from memory that a fork is about to freeze. To be set before the first use.
    pub fn set_quiesce(&mut self, quiesce: Quiesce) {
        self.quiesce = Some(quiesce);
    }

    /// How it is told what has left the caches. Without this, memory has after 8 MiB of other messages.
    pub fn set_late(&mut self, is_late: IsLate) {
        self.is_late = is_late;
    }

    /// So many processes of the node may promote as much as this one, this one included.
    pub fn set_processes(&mut self, processes: u32) {
        self.processes = processes;
    }

    /// From the first promotion on the kernel tells of what this process unmaps or moves, if it does that, and is not asked at each
    /// use. What the program unmaps of promoted memory takes it some microseconds longer.
    pub fn tell_me(&mut self) {
        self.told = Told::Wanted;
    }

    /// What promotion costs and saves where memory is used in another way than for a single message. Ways have numbers, in this order,
    /// from 1 on.
    pub fn add_costs(&mut self, costs: Costs) {
        self.uses.add_costs(costs);
    }

    /// Counts one use of the buffer for a message, and promotes it when the rule says so, together with those beside it if that pays
    /// sooner. `Some`: the kernel
    /// said just now that these bytes are shared, at that place.
    pub fn used(&mut self, address: *const u8, len: usize) -> Option<Place> {
        self.used_for(address, len, len, 0)
    }

    /// Counts one use of the buffer at its [speculative place](Promoter::speculative_place); false if the kernel says
    /// that it is not there. It is promoted no more then: who was told the place has perhaps looked there already.
    pub fn is_still_used(&mut self, address: *const u8, len: usize, place: Place) -> bool {
        self.records.used(address.addr(), len);
        self.verify(address, len, place)
    }

    /// The same of a use of that number ([`Promoter::add_costs`]), for a message that has `moved` bytes of the buffer: a column of a matrix.
    pub fn used_for(&mut self, address: *const u8, len: usize, moved: usize, way: usize) -> Option<Place> {
        if self.policy == Policy::Off || len == 0 || self.is_over() {
            return None;
        }
        self.until_refresh -= 1;
        if self.until_refresh == 0 {
            self.refresh();
        }
        if let Some(place) = self.known(address, len) {
            return Some(place);
        }
        let start = address.addr();
        let buffer = Use { start, len, moved, way };
        if !self.uses.can_pay(&buffer) {
            return None;
        }
        if let Some(place) = self.records.used(start, len).map(Place)
            && self.verify(address, len, place)
        {
            return Some(place);
        }
        let in_use = self.in_use.as_ref();
        let is_free =
            |start, len| whole_pages(start, len).is_some_and(|pages| !in_use.is_some_and(|in_use| in_use(pages)));
        let due = self.uses.used(&buffer, &self.is_late, is_free)?;
        let place = self.try_promote(&due)?;
        self.uses.promoted(&due);
        if due.is_row() { self.speculative_place(address, len) } else { Some(place) }
    }

    /// [`Promoter::promote`]; notes why it has refused.
    fn try_promote(&mut self, &Due { start, len, needed, .. }: &Due) -> Option<Place> {
        match self.promote(start, len, needed) {
            Ok(place) => Some(place),
            Err(refusal) => {
                self.counts.refused += 1;
                counters::PROMOTION_REFUSED.add(1);
                self.uses.failed(start, len);
                self.refusal = Some(refusal);
                None
            }
        }
    }

    /// The place the bytes had when that was last found out, without asking the kernel. A message
    /// may be offered by it before the kernel is asked; [`Promoter::verify`] must be called before
    /// anybody relies on it.
    #[inline]
    pub fn speculative_place(&self, address: *const u8, len: usize) -> Option<Place> {
        self.records.place(address.addr(), len).map(Place)
    }

    /// Whether the bytes are at that place of the file now, by what the kernel says, or has told.
    pub fn verify(&mut self, address: *const u8, len: usize, place: Place) -> bool {
        if self.is_told() {
            return self.speculative_place(address, len) == Some(place);
        }
        let start = address.addr();
        let Some(ready) = &self.ready else {
            return false;
        };
        if ready.ground.is_over() {
            return false;
        }
        let vma = ready.ground.maps.at(start);
        let holds = vma.is_some_and(|vma| {
            vma.is_shared(ready.ground.file.id)
                && vma.offset + (start - vma.start) as u64 == place.0
                && len <= vma.end - start
        });
        if !holds {
            self.refresh();
        }
        holds
    }

    /// The place of the bytes, if that is known without asking the kernel; counts as a use of them.
    #[inline]
    pub fn known(&mut self, address: *const u8, len: usize) -> Option<Place> {
        if self.is_told() { self.records.used(address.addr(), len).map(Place) } else { None }
    }

    /// Whether the records say what is mapped now.
    #[inline]
    fn is_told(&mut self) -> bool {
        match self.told.news() {
            told::News::Unknown => false,
            told::News::None => self.ready.as_ref().is_some_and(|ready| !ready.ground.is_over()),
            told::News::Some => self.hear(),
        }
    }

    /// The program has unmapped or moved something. Whether the records say what is mapped now.
    #[cold]
    fn hear(&mut self) -> bool {
        // First what is told: what the program's other threads unmap from now on is news again.
        self.told.take();
        self.refresh();
        self.records.pieces().for_each(|pages| self.told.watch(pages));
        self.told.is_on() && self.ready.as_ref().is_some_and(|ready| !ready.ground.is_over())
    }

    /// Gives back what the program has freed of promoted memory. For calls that wait, which may call it often.
    pub fn give_back(&mut self) {
        /// Calls until the kernel is asked of one mapping, where it does not tell.
        const IDLE: usize = 64;
        if self.records.is_empty() && !self.owes {
            return;
        }
        match self.told.news() {
            told::News::Some => {
                self.hear();
            }
            told::News::None if !self.owes => {}
            told::News::None | told::News::Unknown => {
                self.idle += 1;
                if self.idle >= IDLE * (1 + self.records.len()) {
                    self.idle = 0;
                    self.refresh();
                }
            }
        }
    }

    /// Why the last attempt was refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        Counts { bytes: self.records.bytes(), ..self.counts }
    }

    /// Memory that is shared in place stays so while the result lives, whatever other threads do. `None`: there are none that could
    /// fork meanwhile.
    pub fn keep_forks_out(&self) -> Option<MutexGuard<'static, ()>> {
        self.ready.as_ref()?.ground.keep_forks_out()
    }

    /// Changes when a fork begins to freeze memory, in whichever thread. Equal before and after this process has stored to memory
    /// that was at its place: peers see it there.
    pub fn demotions(&self) -> u32 {
        self.ready.as_ref().map_or(0, |ready| ready.ground.demotions())
    }

    fn is_over(&self) -> bool {
        self.ready.as_ref().is_some_and(|ready| ready.ground.is_over())
            || self.refusal.as_ref().is_some_and(Refusal::is_final)
    }

    /// Has set aside for forks what `mapped` needs, and no more. (What cannot be had now the fork asks for.)
    fn set_aside(&self, mapped: &[Vma]) {
        let Some(ready) = &self.ready else { return };
        let used: Vec<_> = mapped.iter().map(|vma| vma.offset..vma.offset + (vma.end - vma.start) as u64).collect();
        let _quiet = Quiet::new();
        let mut state = fork::lock();
        let reserves = &mut state.reserves;
        reserves.retain(ready.ground.file.id, &ready.ground.area, &used);
        for offsets in used {
            let len = (offsets.end - offsets.start) as usize;
            let _ = reserves.complete(ready.ground.file.id, offsets.start, len);
        }
        state.make_room();
    }

    /// Compares the records with what the kernel says, gives back the memory of what is mapped no
    /// more, and tells the table of uses what has paid.
    fn refresh(&mut self) {
        let Some(ready) = &mut self.ready else {
            self.until_refresh = 64;
            return;
        };
        if ready.ground.is_over() {
            self.records = Records::default();
            counters::PROMOTED_NOW.set(0);
            self.until_refresh = usize::MAX;
            return;
        }
        let Ok(mapped) = ready.ground.promoted() else {
            // Nobody knows what is mapped, so nothing may be given back.
            ready.ground.end();
            return self.refresh();
        };
        // What the program has given up may still be on its way to a peer, which then reads from the
        // file, as after a fork. It is given back when nothing is under way.
        let everything = 0..usize::MAX;
        let busy = self.in_use.as_ref().is_some_and(|in_use| in_use(everything));
        for gone in self.records.keep(&mapped) {
            self.counts.gone += 1;
            counters::PROMOTED_GONE.add(1);
            match gone.has_paid() {
                Some(true) => self.uses.paid(gone.address, gone.len),
                Some(false) => self.uses.failed(gone.address, gone.len),
                None => {}
            }
            // The slot of a chunk is given back as a whole; in the heap's, what is unmapped.
            if ready.slot_of(gone.offset) == 0 {
                ready.unused.push(gone.offset..gone.offset + gone.pages.len() as u64);
            }
        }
        self.owes = ready.give_back(&mapped, busy);
        self.set_aside(&mapped);
        counters::PROMOTED_NOW.set(self.records.bytes());
        // One question to the kernel for each mapping: spread over four times as many uses. Who is told asks for what is busy alone.
        self.until_refresh = if self.told.is_on() && !busy { usize::MAX } else { 64 + 4 * mapped.len() };
    }
}

impl Drop for Promoter {
    /// What is promoted stays so, until the program unmaps it: somebody may have a hold on its pages.
    fn drop(&mut self) {
        if let Some(ready) = &self.ready {
            ready.ground.end();
        }
    }
}

/// The whole pages that hold these bytes.
fn whole_pages(start: usize, len: usize) -> Option<Range<usize>> {
    let page = rustix::param::page_size();
    Some(start & !(page - 1)..start.checked_add(len)?.checked_next_multiple_of(page)?)
}
