//! What a fork does with memory that this process shares with its peers and a child must have for itself: promoted memory, and what
//! MPI_Alloc_mem has returned.
//!
//! Nothing that the parent has mapped is replaced: peers, the kernel and devices may be at its pages at any time. The copy for the child
//! is made *before* the fork, in address space that was set aside when the memory became shared ([`reserves`]): the child inherits it as it
//! inherits all memory, and moves it to where the shared pages are. So the parent waits for nobody, and neither copy nor move needs
//! address space or data beyond a limit. A mapping that has grown since then needs more: soft limits are out of the way meanwhile
//! ([`limits`]). Where there is no memory for the copy, the fork fails ([`refuse`]). Never do both share pages.
//!
//! Handlers run in any thread, whatever this library does just then. All they need lies behind a lock ([`lock`]), which nobody holds
//! while a signal handler may run in the same thread. What is mapped they ask the kernel, so they are right whatever the program has
//! unmapped or moved.
//!
//! With other threads a copy is not of one moment: a thread could store to it in the middle. So promoted memory is *frozen* then, if nobody
//! but the program is at its pages ([`Promoted`]).

mod limits;
mod refuse;
mod reserves;

use crate::host;
pub(crate) use crate::node_file::NodeFile;
use crate::quiet::Quiet;
use crate::room::{self, Kept};
use refuse::Obstacle;
pub(crate) use reserves::{Reserves, pointer};
use rustix::fd::BorrowedFd;
use rustix::fs::{self, SeekFrom};
use rustix::io::{self, Errno};
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use tern_node::maps::Vma;

/// Promoted memory, as a fork sees it.
pub(crate) trait Promoted: Sync {
    /// The node's file.
    fn file(&self) -> &NodeFile;

    /// What is promoted now, in order of address, whatever the program has closed. `Err`: the kernel does not say.
    fn promoted_now(&self) -> io::Result<Vec<Vma>>;

    /// For a fork while there are other threads, under the lock: makes promoted mappings private mappings of the same pages, in one step
    /// each, so that no store of a thread is lost and the child sees none that comes later. Promotion is over then. Returns what stays
    /// shared: what is pinned; and all of it where the kernel or a device may be at the pages behind the program's back, which go on
    /// with the old pages when the program stores to one.
    fn freeze(&self, promoted: Vec<Vma>, reserves: &mut Reserves) -> Vec<Vma>;

    /// In a child, which has nothing promoted.
    fn leave(&self);
}

/// What forks need to know.
pub(crate) struct State {
    pub grounds: Vec<&'static dyn Promoted>,
    pub reserves: Reserves,
    held: Vec<Held>,
    list: List,
    room: Kept,
}

impl State {
    /// For a list of all that a fork copies, where the program may not have much more address space. (Parts of one piece that the program
    /// has protected otherwise are several.)
    pub fn make_room(&mut self) {
        // A fork tries again.
        let _ = self.list.make_room(2 * self.reserves.len());
    }
}

/// Memory of a heap that children must not share.
struct Held {
    pages: Range<usize>,
    offset: u64,
    file: Arc<NodeFile>,
}

/// Memory that a fork makes a copy of.
#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    len: usize,
    /// What the program may do there: `PROT_READ` and its like.
    rights: u32,
    offset: u64,
    /// Where the child finds its copy.
    copy: usize,
    file: Option<BorrowedFd<'static>>,
}

/// The fork that is under way. Neither this nor the list of pieces is in memory of malloc's: the child reads it while it shares that with
/// the parent, which goes on.
struct Fork {
    /// Why there is no copy of all of them, and what is to make the fork fail then.
    obstacle: Option<Obstacle>,
    state: MutexGuard<'static, State>,
    _gate: MutexGuard<'static, ()>,
    _quiet: Quiet,
}

/// Pieces, in a mapping of their own.
pub(crate) struct List {
    first: *mut Piece,
    room: usize,
    count: usize,
}

// SAFETY: the mapping is the value's own.
unsafe impl Send for List {}

impl List {
    const EMPTY: List = List { first: std::ptr::null_mut(), room: 0, count: 0 };

    /// Errors: of mmap.
    fn set(&mut self, pieces: &[Piece]) -> io::Result<()> {
        self.make_room(pieces.len())?;
        // SAFETY: there is room, of which nobody else knows.
        unsafe { self.first.copy_from_nonoverlapping(pieces.as_ptr(), pieces.len()) };
        self.count = pieces.len();
        Ok(())
    }

    /// For so many pieces at the least. Errors: of mmap.
    fn make_room(&mut self, least: usize) -> io::Result<()> {
        if least <= self.room {
            return Ok(());
        }
        let room = least.next_power_of_two().max(64);
        // SAFETY: fresh memory, aligned for anything; and the old one, which nobody uses.
        unsafe {
            let len = room * size_of::<Piece>();
            let first = mm::mmap_anonymous(std::ptr::null_mut(), len, READ_WRITE, MapFlags::PRIVATE)?;
            if self.room > 0 {
                let _ = mm::munmap(self.first.cast(), self.room * size_of::<Piece>());
            }
            *self = List { first: first.cast(), room, count: 0 };
        }
        Ok(())
    }

    fn as_slice(&self) -> &[Piece] {
        // SAFETY: as `set` has written them.
        if self.count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(self.first, self.count) } }
    }
}

/// Where the fork is that holds the gate.
struct Slot(UnsafeCell<Option<Fork>>);

// SAFETY: it is used by who holds the gate.
unsafe impl Sync for Slot {}

impl Slot {
    /// # Safety
    /// This thread holds the gate, or is a child's; nothing that was returned is in use.
    #[expect(clippy::mut_from_ref, reason = "contract")]
    unsafe fn get(&self) -> &mut Option<Fork> {
        // SAFETY: contract.
        unsafe { &mut *self.0.get() }
    }
}

static STATE: Mutex<State> = Mutex::new(State {
    grounds: Vec::new(),
    reserves: Reserves::new(),
    held: Vec::new(),
    list: List::EMPTY,
    room: Kept::new(),
});
/// Held by a fork, and by who is not to be disturbed by one. Taken before [`STATE`].
static GATE: Mutex<()> = Mutex::new(());
/// Set while there may be something to do.
static NEEDED: AtomicBool = AtomicBool::new(false);
static FORK: Slot = Slot(UnsafeCell::new(None));
/// The thread that holds it for a fork; 0: none. (The thread of a child has the number of the one that has forked.)
static OWNER: AtomicUsize = AtomicUsize::new(0);

/// No fork begins while the result lives.
pub(crate) fn keep_out() -> MutexGuard<'static, ()> {
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What forks need to know; they wait while the result lives. Signals are to be blocked: a handler could fork.
pub(crate) fn lock() -> MutexGuard<'static, State> {
    // Each change of it is one step.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on forks look at the [`State`]. False if that cannot be had. Signals are to be blocked, as for [`lock`].
pub(crate) fn begin() -> bool {
    lock().room.prepare();
    // Relaxed: what is to be done is found under the lock.
    NEEDED.store(true, Ordering::Relaxed);
    register()
}

/// A child gets a copy of this memory of a heap, which is mapped from `offset` of `file` on, until [`share_again`].
///
/// Errors: of setting address space aside for it.
pub(crate) fn keep_apart(pages: Range<usize>, offset: u64, file: &Arc<NodeFile>) -> io::Result<()> {
    let _quiet = Quiet::new();
    if !begin() {
        return Err(Errno::NOMEM);
    }
    let mut state = lock();
    state.reserves.complete(file.id, offset, pages.len())?;
    state.held.push(Held { pages, offset, file: file.clone() });
    state.make_room();
    Ok(())
}

/// Ends what [`keep_apart`] began at that address.
pub(crate) fn share_again(start: usize) {
    let _quiet = Quiet::new();
    let mut state = lock();
    if let Some(index) = state.held.iter().position(|held| held.pages.start == start) {
        let held = state.held.swap_remove(index);
        state.reserves.end(held.file.id, held.offset..held.offset + held.pages.len() as u64);
    }
}

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>, parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> libc::c_int;
}

/// Registers the handlers once.
fn register() -> bool {
    static REGISTER: Once = Once::new();
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    REGISTER.call_once(|| {
        // SAFETY: functions that may be called at any fork. glibc forgets them when this object is unloaded.
        let result = unsafe { pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
        REGISTERED.store(result == 0, Ordering::Relaxed);
    });
    REGISTERED.load(Ordering::Relaxed)
}

/// Registers them when this object is loaded: handlers that are registered later run before ours in the parent, and after them in the
/// child, so what they store is in the copy.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = {
    extern "C" fn at_load() {
        register();
    }
    at_load
};

unsafe extern "C" fn before_fork() {
    if !NEEDED.load(Ordering::Relaxed) {
        return;
    }
    let quiet = Quiet::new();
    let gate = keep_out();
    let mut state = lock();
    let alone = host::has_one_thread();
    let _raised = limits::Raised::new();
    state.list.count = 0;
    let obstacle = gather(&mut state, alone).and_then(|pieces| list(&mut state, &pieces)).err().map(Obstacle::new);
    // SAFETY: this thread holds the gate.
    let fork = unsafe { FORK.get() }.insert(Fork { obstacle, state, _gate: gate, _quiet: quiet });
    // Relaxed, as where it is read: by this thread, or a child's.
    OWNER.store(own_number(), Ordering::Relaxed);
    // From here on nothing of malloc's is changed: it could be on a page that is copied.
    for piece in fork.state.list.as_slice() {
        // SAFETY: a piece that was gathered just now.
        if !unsafe { copy(piece) } {
            // What the child has of the pieces does not matter: it ends.
            fork.obstacle = Some(Obstacle::new("the copy failed"));
            break;
        }
    }
}

/// What is to be copied for a child. With other threads, what can be frozen is frozen, and does not belong to it.
///
/// Errors: why it is not known or has no room.
fn gather(state: &mut State, alone: bool) -> Result<Vec<Piece>, &'static str> {
    let mut pieces = Vec::new();
    for ground in state.grounds.clone() {
        let promoted = ground.promoted_now().map_err(|_| "/proc/self/maps cannot be read")?;
        let shared = if alone { promoted } else { ground.freeze(promoted, &mut state.reserves) };
        for vma in shared {
            add(&mut state.reserves, &mut pieces, &vma, ground.file())?;
        }
    }
    for held in &state.held {
        let vma = Vma::shared_memory(held.pages.clone(), held.offset, held.file.id);
        add(&mut state.reserves, &mut pieces, &vma, &held.file)?;
    }
    Ok(pieces)
}

fn add(reserves: &mut Reserves, pieces: &mut Vec<Piece>, vma: &Vma, file: &NodeFile) -> Result<(), &'static str> {
    reserves
        .complete(file.id, vma.offset, vma.end - vma.start)
        .map_err(|_| "there is no address space for the copy")?;
    let open = file.open();
    // SAFETY: the descriptor stays open while the lock is held, as it is until the fork is over.
    let open = open.map(|file| unsafe { BorrowedFd::borrow_raw(rustix::fd::AsRawFd::as_raw_fd(&file)) });
    if open.is_none() && vma.rights() & READ == 0 {
        return Err("the program has closed the library's descriptors");
    }
    for (offsets, copy) in reserves.parts(file.id, vma.offset..vma.offset + (vma.end - vma.start) as u64) {
        let start = vma.start + (offsets.start - vma.offset) as usize;
        let len = (offsets.end - offsets.start) as usize;
        pieces.push(Piece { start, len, rights: vma.rights(), offset: offsets.start, copy, file: open });
    }
    Ok(())
}

const READ: u32 = libc::PROT_READ as u32;
const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// Copies of less than this are made without a look at how much memory there is.
const LITTLE: u64 = 256 << 10;

/// Notes the pieces, if there is memory for the copies.
fn list(state: &mut State, pieces: &[Piece]) -> Result<(), &'static str> {
    let bytes = pieces.iter().map(Piece::bytes).sum::<u64>();
    if bytes >= LITTLE && !room::for_copy(bytes, &state.room) {
        return Err("there is too little memory for the copy");
    }
    state.list.set(pieces).map_err(|_| "there is no address space for a list")
}

/// Of this thread.
fn own_number() -> usize {
    // SAFETY: no conditions.
    unsafe { libc::pthread_self() as usize }
}

impl Piece {
    /// Bytes of memory that it takes.
    fn bytes(&self) -> u64 {
        let mut bytes = 0;
        self.each_filled(&mut |part| {
            bytes += part.len() as u64;
            true
        });
        bytes
    }

    /// Shows the parts of its pages that are not known to be empty, until `visit` says false; then false.
    fn each_filled(&self, visit: &mut dyn FnMut(Range<usize>) -> bool) -> bool {
        let Some(file) = self.file else { return visit(self.start..self.start + self.len) };
        let end = self.offset + self.len as u64;
        let mut at = self.offset;
        while at < end {
            let Ok(first) = fs::seek(file, SeekFrom::Data(at)) else { return true };
            let past = fs::seek(file, SeekFrom::Hole(first)).unwrap_or(end).min(end);
            if first >= end {
                return true;
            }
            let address = |offset: u64| self.start + (offset - self.offset) as usize;
            if !visit(address(first)..address(past)) {
                return false;
            }
            at = past;
        }
        true
    }
}

/// Makes the child's copy.
///
/// # Safety
/// `piece` is what is mapped, and its copy is of that length and nobody else's.
unsafe fn copy(piece: &Piece) -> bool {
    piece.each_filled(&mut |part| {
        let skipped = part.start - piece.start;
        let to = pointer(piece.copy + skipped).cast::<u8>();
        let Some(file) = piece.file else {
            // SAFETY: both are mapped; the one may be read (`add`).
            unsafe { std::ptr::copy_nonoverlapping(pointer(part.start).cast::<u8>(), to, part.len()) };
            return true;
        };
        // SAFETY: mapped, and nobody else knows of it.
        let bytes = unsafe { std::slice::from_raw_parts_mut(to, part.len()) };
        let mut done = 0;
        while done < bytes.len() {
            match io::pread(file, &mut bytes[done..], piece.offset + (skipped + done) as u64) {
                Ok(0) => return false,
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    })
}

/// The fork of this thread, which holds the gate; in a child, that of its parent.
fn take() -> Option<Fork> {
    if OWNER.load(Ordering::Relaxed) != own_number() {
        return None;
    }
    OWNER.store(0, Ordering::Relaxed);
    // SAFETY: this thread holds the gate, which `before_fork` has taken.
    unsafe { FORK.get() }.take()
}

/// Also when there is no child, because fork has failed.
unsafe extern "C" fn in_parent() {
    let Some(fork) = take() else { return };
    for piece in fork.state.list.as_slice() {
        reserves::empty(piece.copy, piece.len);
    }
}

unsafe extern "C" fn in_child() {
    let Some(mut fork) = take() else { return };
    if let Some(obstacle) = &fork.obstacle {
        obstacle.end_child();
    }
    let _raised = limits::Raised::new();
    for piece in fork.state.list.as_slice() {
        // SAFETY: the pages are shared ones that the child has inherited, and the copy is its own.
        if !unsafe { replace(piece) } {
            refuse::end_child("its memory cannot be mapped");
        }
    }
    // Its view of /proc/self is the parent's, and it has nothing that is shared.
    fork.state.grounds.drain(..).for_each(Promoted::leave);
    fork.state.held.clear();
    fork.state.reserves.forget();
    fork.state.room.forget();
    fork.state.list.count = 0;
}

/// In a child: puts the copy where the shared pages are.
///
/// # Safety
/// The pages are shared ones, and the copy has what is to be there.
unsafe fn replace(piece: &Piece) -> bool {
    let (copy, pages, len) = (pointer(piece.copy), pointer(piece.start), piece.len);
    // SAFETY: contract; the child's only thread.
    unsafe {
        if mm::mremap_fixed(copy, len, len, MremapFlags::MAYMOVE, pages).is_err() {
            let flags = MapFlags::PRIVATE | MapFlags::FIXED;
            if mm::mmap_anonymous(pages, len, READ_WRITE, flags).is_err() {
                return false;
            }
            std::ptr::copy_nonoverlapping(copy.cast::<u8>(), pages.cast(), len);
            let _ = mm::munmap(copy, len);
        }
        let rights = MprotectFlags::from_bits_retain(piece.rights);
        rights == MprotectFlags::READ | MprotectFlags::WRITE || mm::mprotect(pages, len, rights).is_ok()
    }
}

/// Gives pages of private memory back; they read as zeros then.
fn drop_pages(at: usize, len: usize) {
    // SAFETY: nobody keeps anything in reserves.
    unsafe {
        if mm::madvise(pointer(at), len, Advice::LinuxDontNeed).is_err() {
            // Locked, by mlockall.
            let _ = mm::munlock(pointer(at), len);
            let _ = mm::madvise(pointer(at), len, Advice::LinuxDontNeed);
        }
    }
}
