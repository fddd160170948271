//! What the threads of a process share of a space, and what each has of its own.

use super::cell::Question;
use super::flight::Arm;
use super::layout::{CELL, CELLS, HOLDS, Member, PIECES, Piece, Tables};
use super::member::{self, Seat};
use super::offload::Job;
use super::table::About;
use super::{Cookie, Error, Options, Protection, peers::Peer};
use crate::cma::{Beacon, Run};
use crate::dma::Dma;
use crate::heap::Heap;
use crate::module::Module;
use crate::view::Views;
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64 as Mask};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tern_atomics::Ordering;

/// How often a waiting thread looks again before it gives way to others on its core, one of which may
/// be the one it waits for.
const LOOKS: u32 = 50;
/// How often it gives way before it sleeps: together about as long as it takes to wake a sleeper.
const YIELDS: u32 = 150;
/// The longest sleep: then it sees to it that those it waits for still live.
const NAP: Duration = Duration::from_millis(5);

pub struct Shared {
    pub file: OwnedFd,
    pub base: u64,
    pub me: u32,
    pub options: Options,
    pub tables: Tables,
    pub seat: Seat,
    /// Peers look for it by its address, so it stays where it is.
    _beacon: Box<Beacon>,
    pub heap: Mutex<Heap>,
    pub peers: Vec<Peer>,
    /// The kernel module, if it is there and the options want it.
    pub module: Option<Module>,
    /// The DMA engine, looked for when it is first of use.
    arm: OnceLock<Option<Arm>>,
    engines: Mutex<Vec<Engine>>,
    /// Asynchronous copies that have not ended.
    pub jobs: Mutex<Vec<Arc<Job>>>,
    /// The space is being left.
    pub stop: AtomicBool,
    /// One bit for each hold, and each cell, in use by this process.
    holds: Mask,
    cells: Mask,
}

/// What a thread needs to itself while it copies.
pub struct Engine {
    pub views: Views,
    pub from: Vec<Run>,
    pub to: Vec<Run>,
}

/// A lock of this process; after a panic of another holder the data is as good as before.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new(
        (file, base, me): (OwnedFd, u64, u32), options: Options, tables: Tables, seat: Seat,
    ) -> Result<Shared, Error> {
        let shape = tables.shape();
        let heap = Heap::new(file.try_clone()?, base + shape.heap(me), shape.span);
        let beacon = Beacon::new();
        member::sit_down(&tables, &seat, me, &beacon);
        Ok(Shared {
            file,
            base,
            me,
            options,
            tables,
            seat,
            _beacon: beacon,
            heap: Mutex::new(heap),
            peers: (0..shape.members).map(|_| Peer::default()).collect(),
            module: options.module.then(open_module).flatten(),
            arm: OnceLock::new(),
            engines: Mutex::default(),
            jobs: Mutex::default(),
            stop: AtomicBool::new(false),
            holds: Mask::new(0),
            cells: Mask::new(0),
        })
    }

    /// The DMA engine, if one was looked for and found.
    pub fn arm(&self) -> Option<&Arm> {
        self.arm.get()?.as_ref()
    }

    /// The same; looks for one if nobody has.
    pub fn find_arm(&self) -> Option<&Arm> {
        let find = || self.options.dma.then(|| Arm::new(self, Dma::open().ok()?).ok()).flatten();
        self.arm.get_or_init(find).as_ref()
    }

    /// Takes this engine, if none was looked for.
    pub fn use_arm(&self, arm: Arm) {
        let _ = self.arm.set(Some(arm));
    }

    pub fn member(&self) -> &Member {
        self.tables.member(self.me)
    }

    /// An engine for a thread; one that is given back is used again.
    pub fn engine(&self) -> Result<Engine, Error> {
        if let Some(engine) = lock(&self.engines).pop() {
            return Ok(engine);
        }
        Ok(Engine { views: Views::new(self.file.try_clone()?), from: Vec::new(), to: Vec::new() })
    }

    pub fn give_back(&self, engine: Engine) {
        lock(&self.engines).push(engine);
    }

    /// One turn of a thread that has to wait: sleeps only when it has looked often.
    pub fn pause(&self, token: u32, looks: &mut u32) {
        *looks += 1;
        match looks.checked_sub(LOOKS + YIELDS) {
            None if *looks < LOOKS => std::hint::spin_loop(),
            None => rustix::thread::sched_yield(),
            // Not everything that ends a wait rings the bell, so the first naps are short.
            Some(naps) => member::sleep(self.member(), token, NAP / (1 << (6 - naps.min(6)))),
        }
    }

    /// Whether a thread that has looked so often sleeps at its next pause.
    pub fn is_patience_over(looks: u32) -> bool {
        looks + 1 >= LOOKS + YIELDS
    }

    /// Answers what peers have asked; true when there was something.
    pub fn serve(&self) -> bool {
        let mut served = false;
        for (index, word) in self.member().asked.iter().enumerate() {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            // Acquire: pairs with the release in `Transfer::ask`.
            let mut bits = word.swap(0, Ordering::AcqRel);
            while bits != 0 {
                let peer = index as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                served |= self.serve_member(peer);
            }
        }
        served
    }

    fn serve_member(&self, peer: u32) -> bool {
        if peer >= self.tables.shape().members {
            return false;
        }
        let member = self.tables.member(peer);
        let mut served = false;
        for (index, cell) in member.cells.iter().enumerate() {
            if let Some(question) = cell.take(self.me) {
                cell.answer(self.answer(question, self.tables.data(peer, index)));
                member::ring(member);
                served = true;
            }
        }
        served
    }

    /// Moves bytes between a region of this process and a cell's data; returns 0, or what is wrong.
    /// The asker holds the region, or the question is withdrawn before the region is taken back.
    fn answer(&self, question: Question, data: *mut u8) -> u32 {
        let Question { cookie, offset, len, write } = question;
        let about = self.tables.slot(self.me, cookie.slot()).and_then(|slot| slot.serve(cookie));
        let end = offset.checked_add(u64::from(len));
        let access = if write { Protection::Write } else { Protection::Read };
        let sound = |about: &About| {
            len as usize <= CELL && end.is_some_and(|end| end <= about.len) && access.allowed_by(about.access)
        };
        let Some(about) = about.filter(sound) else { return 1 };
        let Some(pieces) = self.pieces(self.me, &about) else { return 1 };
        let mut done = 0;
        let first = pieces.partition_point(|piece| piece.start + piece.len <= offset);
        for piece in &pieces[first..] {
            let skipped = offset + done as u64 - piece.start;
            let part = (piece.len - skipped).min((len as usize - done) as u64) as usize;
            let memory = (piece.address + skipped) as *mut u8;
            // SAFETY: declared memory of this process, which stays while the asker holds the
            // region; the cell's data is ours while we serve it.
            unsafe {
                let cell = data.add(done);
                if write { std::ptr::copy(cell, memory, part) } else { std::ptr::copy(memory, cell, part) }
            }
            done += part;
            if done == len as usize {
                break;
            }
        }
        0
    }

    /// The list that says where a region lies; `None` when it cannot be one. Constant while the
    /// region is held.
    pub fn pieces(&self, member: u32, about: &About) -> Option<&[Piece]> {
        let (first, count) = (usize::try_from(about.first).ok()?, about.pieces as usize);
        (first <= PIECES && count <= PIECES - first).then(|| {
            // SAFETY: inside the member's list, which is mapped while self lives; the owner leaves
            // this part alone while the region is held.
            unsafe { std::slice::from_raw_parts(self.tables.pieces(member).add(first), count) }
        })
    }

    /// Whether a living process uses the region of that name, which this process has closed.
    pub fn is_held(&self, cookie: Cookie) -> bool {
        (0..self.tables.shape().members).any(|index| {
            let member = self.tables.member(index);
            if !member.holds.iter().any(|hold| hold.is_on(cookie)) {
                return false;
            }
            if index == self.me || self.seat.is_alive(index) {
                return true;
            }
            // It has ended. What it has asked must not be served later.
            !member.cells.iter().all(|cell| cell.withdraw_about(cookie))
        })
    }

    /// A hold that nobody in this process uses.
    pub fn take_hold(&self) -> Option<usize> {
        take(&self.holds, HOLDS)
    }

    pub fn free_hold(&self, index: usize) {
        self.member().holds[index].release();
        self.holds.fetch_and(!(1 << index), Ordering::AcqRel);
    }

    /// A cell that nobody in this process uses.
    pub fn take_cell(&self) -> Option<usize> {
        take(&self.cells, CELLS)
    }

    pub fn free_cell(&self, index: usize) {
        member::regain(&self.member().cells[index], &self.seat);
        self.cells.fetch_and(!(1 << index), Ordering::AcqRel);
    }
}

/// Without the module everything goes by other means.
fn open_module() -> Option<Module> {
    Module::open()
        .inspect_err(|error| {
            tern_settings::warn!(
                "/dev/tern cannot be opened: {error}; private memory goes by other means (docs/kernel-module.md tells how the \
                 module is installed)"
            );
        })
        .ok()
}

/// Sets the lowest bit that is not set, of the first `count`.
fn take(mask: &Mask, count: usize) -> Option<usize> {
    let mut bits = mask.load(Ordering::Relaxed);
    loop {
        let index = bits.trailing_ones() as usize;
        if index >= count {
            return None;
        }
        match mask.compare_exchange(bits, bits | 1 << index, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return Some(index),
            Err(now) => bits = now,
        }
    }
}
