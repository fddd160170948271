//! The memory that the two measuring processes and their parent share.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags};

use super::disturbance::{Signs, median};
use super::{LARGEST, MOVERS, SIZES};
use super::{PINNED, PROMOTED};

/// Bytes of a part of a piped message.
pub(super) const PART: usize = 8 << 10;
/// Blocks for parts: enough for any message.
pub(super) const BLOCKS: usize = LARGEST / PART;
/// From block to block.
const STRIDE: usize = PART + 512;

/// Bytes of a cache line, or less.
pub(super) const LINE: usize = 64;

/// A word with a cache line, and the one that processors fetch beside it, of its own.
#[repr(C, align(128))]
pub(super) struct Line(pub AtomicU64);

/// The same for a word that a process can sleep on.
#[repr(C, align(128))]
pub(super) struct Ball(pub AtomicU32);

/// The words. All begin as zeros.
#[repr(C, align(4096))]
pub(super) struct Words {
    /// How many steps the sender and the receiver have taken.
    pub steps: [Line; 2],
    /// Whose turn it is, said by each of the two.
    pub balls: [Ball; 2],
    /// The core of the sender.
    pub core: AtomicU32,
    /// The next chunk of a message that both copy.
    pub claim: Line,
    /// The step in which the sender has last copied its last chunk.
    pub done: Line,
    /// The step in which the kernel has last refused to copy for the sender.
    pub refused: Line,
    /// Raised when all movers were measured; what comes after that may fail.
    pub complete: Line,
    /// Raised when the time is over.
    pub stop: Line,
    /// Process number of the sender, and where its private buffer is.
    pub sender: [AtomicU64; 2],
    /// The cookie of the sender's private buffer as a region of the kernel module, and 1 if the receiver has the module too; else 0.
    pub module: [AtomicU64; 2],
    /// Where the receiver's private buffer is, and its process number.
    pub receiver: [AtomicU64; 2],
    /// Says which part is in each block.
    pub filled: [Line; BLOCKS],
    /// Nanoseconds as the bits of a float; 0 for what was not measured.
    moves: [[[AtomicU64; SIZES.len()]; 2]; MOVERS.len()],
    packet: AtomicU64,
    piece: AtomicU64,
    kernel_piece: AtomicU64,
    wake: AtomicU64,
    switch: AtomicU64,
    lookup: AtomicU64,
    promote: [AtomicU64; PROMOTED.len()],
    pins: [[AtomicU64; PINNED.len()]; 3],
    /// Whether copies are made by vectors: 0 unknown, 1 no, 2 yes.
    pub vectors: Line,
    /// Which part of the time the sender and the receiver were off their cores.
    lost: [AtomicU64; 2],
    /// See [`Signs::spread`].
    spread: AtomicU64,
}

#[repr(C, align(4096))]
struct Layout {
    words: Words,
    blocks: [u8; BLOCKS * STRIDE],
    source: [u8; LARGEST],
    target: [u8; LARGEST],
}

/// What one run has found, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// By number in [`MOVERS`], warmth, and number in [`SIZES`].
    pub moves: [[[Option<f64>; SIZES.len()]; 2]; MOVERS.len()],
    /// A cache line from one core to the other.
    pub packet: Option<f64>,
    /// More for each piece, in user space and in the kernel.
    pub piece: Option<f64>,
    pub kernel_piece: Option<f64>,
    /// To wake a process on another core, and to switch to one on the same core.
    pub wake: Option<f64>,
    pub switch: Option<f64>,
    /// To look up a promoted buffer, and to promote one, by number in [`PROMOTED`].
    pub lookup: Option<f64>,
    pub promote: [Option<f64>; PROMOTED.len()],
    /// To declare memory to the kernel module, to give that up, and to map it, by number in [`PINNED`].
    pub pins: [[Option<f64>; PINNED.len()]; 3],
    /// Copies of some KiB are faster by vectors.
    pub vectors: Option<f64>,
    /// What was seen of others.
    pub signs: Signs,
}

impl Found {
    /// The median of each figure over those rounds that have it.
    pub fn median(rounds: &[Found]) -> Found {
        let sign = |of: &dyn Fn(&Signs) -> f64| {
            let mut all: Vec<f64> = rounds.iter().map(|found| of(&found.signs)).collect();
            median(&mut all).unwrap_or(0.0)
        };
        let figure =
            |of: &dyn Fn(&Found) -> Option<f64>| median(&mut rounds.iter().filter_map(of).collect::<Vec<f64>>());
        let mut found = Found {
            packet: figure(&|found| found.packet),
            piece: figure(&|found| found.piece),
            kernel_piece: figure(&|found| found.kernel_piece),
            wake: figure(&|found| found.wake),
            switch: figure(&|found| found.switch),
            lookup: figure(&|found| found.lookup),
            promote: std::array::from_fn(|size| figure(&|found| found.promote[size])),
            pins: std::array::from_fn(|of| std::array::from_fn(|size| figure(&|found| found.pins[of][size]))),
            vectors: figure(&|found| found.vectors),
            signs: Signs {
                lost: sign(&|signs| signs.lost),
                stolen: sign(&|signs| signs.stolen),
                spread: sign(&|signs| signs.spread),
            },
            ..Found::default()
        };
        for (mover, warmths) in found.moves.iter_mut().enumerate() {
            for (warmth, sizes) in warmths.iter_mut().enumerate() {
                for (size, ns) in sizes.iter_mut().enumerate() {
                    *ns = figure(&|found| found.moves[mover][warmth][size]);
                }
            }
        }
        found
    }
}

/// The mapping.
pub(super) struct Arena(*mut Layout);

impl Arena {
    pub fn new() -> rustix::io::Result<Arena> {
        // SAFETY: a new mapping.
        let at = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                size_of::<Layout>(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )?
        };
        Ok(Arena(at.cast()))
    }

    pub fn words(&self) -> &Words {
        // SAFETY: mapped while self lives; zeros are valid words; all of them are atomic.
        unsafe { &(*self.0).words }
    }

    /// The block of a part: `PART` bytes.
    pub fn block(&self, part: usize) -> *mut u8 {
        assert!(part < BLOCKS, "no block {part}");
        self.0.wrapping_byte_add(offset_of!(Layout, blocks) + part * STRIDE).cast()
    }

    /// Calls `look` with each line of the blocks of a message.
    pub fn each_line(&self, size: usize, look: impl Fn(*mut u8)) {
        for at in (0..size).step_by(LINE) {
            look(self.block(at / PART).wrapping_add(at % PART));
        }
    }

    /// The sender's shared buffer.
    pub fn source(&self) -> *mut u8 {
        self.0.wrapping_byte_add(offset_of!(Layout, source)).cast()
    }

    /// The receiver's shared buffer.
    pub fn target(&self) -> *mut u8 {
        self.0.wrapping_byte_add(offset_of!(Layout, target)).cast()
    }

    /// Has every page mapped into this process: a fork leaves shared pages to be found anew.
    pub fn touch(&self) {
        for offset in (0..size_of::<Layout>()).step_by(4096) {
            let byte = self.0.wrapping_byte_add(offset).cast::<AtomicU8>();
            // SAFETY: inside the mapping; what is there is left as it is.
            unsafe { (*byte).fetch_or(0, Ordering::Relaxed) };
        }
    }

    pub fn found(&self) -> Found {
        let words = self.words();
        let read = |word: &AtomicU64| match word.load(Ordering::Relaxed) {
            0 => None,
            bits => Some(f64::from_bits(bits)),
        };
        let moves = words.moves.each_ref();
        Found {
            moves: moves.map(|two| two.each_ref().map(|sizes| sizes.each_ref().map(read))),
            packet: read(&words.packet),
            piece: read(&words.piece),
            kernel_piece: read(&words.kernel_piece),
            wake: read(&words.wake),
            switch: read(&words.switch),
            lookup: read(&words.lookup),
            promote: words.promote.each_ref().map(read),
            pins: words.pins.each_ref().map(|sizes| sizes.each_ref().map(read)),
            vectors: words.vectors.0.load(Ordering::Relaxed).checked_sub(1).map(|vectors| vectors as f64),
            signs: Signs {
                lost: words.lost.iter().filter_map(read).fold(0.0, f64::max),
                stolen: 0.0,
                spread: read(&words.spread).unwrap_or(0.0),
            },
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, which nothing borrows any more.
        let _ = unsafe { rustix::mm::munmap(self.0.cast(), size_of::<Layout>()) };
    }
}

impl Words {
    pub fn set_move(&self, mover: usize, warmth: usize, size: usize, ns: f64) {
        store(&self.moves[mover][warmth][size], ns);
    }

    pub fn set_lost(&self, own: usize, part: f64) {
        store(&self.lost[own], part);
    }

    pub fn set_spread(&self, spread: f64) {
        store(&self.spread, spread);
    }

    pub fn set_packet(&self, ns: f64) {
        store(&self.packet, ns);
    }

    pub fn set_turns(&self, wake: f64, switch: f64) {
        store(&self.wake, wake);
        store(&self.switch, switch);
    }

    pub fn set_lookup(&self, ns: f64) {
        store(&self.lookup, ns);
    }

    pub fn set_promote(&self, size: usize, ns: f64) {
        store(&self.promote[size], ns);
    }

    pub fn set_pins(&self, size: usize, [pin, unpin]: [f64; 2], attach: Option<f64>) {
        store(&self.pins[0][size], pin);
        store(&self.pins[1][size], unpin);
        if let Some(ns) = attach {
            store(&self.pins[2][size], ns);
        }
    }

    pub fn set_pieces(&self, user: f64, kernel: Option<f64>) {
        store(&self.piece, user);
        if let Some(ns) = kernel {
            store(&self.kernel_piece, ns);
        }
    }
}

/// Relaxed: the parent reads after the process has ended.
fn store(word: &AtomicU64, ns: f64) {
    word.store(ns.max(f64::MIN_POSITIVE).to_bits(), Ordering::Relaxed);
}
