//! A DMA engine that copies between addresses of this process: Intel DSA, by its character device.
//!
//! The kernel's idxd driver gives each work queue that is set up for users a file, `/dev/dsa/wqDEVICE.QUEUE`. A page of it is the
//! queue's portal: a descriptor of 64 bytes that is stored there by one instruction is a copy. Its end is told in a
//! [`Record`] in memory. The layouts are those of `linux/idxd.h`; their meaning is from Intel's public specification of DSA.

mod portal;
#[cfg(test)]
pub(crate) mod standin;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Flags of a descriptor: there is a record, and it is to be written in any case; data goes to the cache.
pub(crate) const FLAGS: u32 = 0x4 | 0x8 | 0x100;
/// Move memory.
pub(crate) const MOVE: u32 = 3;
/// Statuses of a record.
pub(crate) const SUCCESS: u8 = 1;
pub(crate) const PAGE_FAULT: u8 = 3;
/// Without the bit that says whether the fault was a write.
const STATUS: u32 = 0x7f;

/// Length that is measured first: what a copy costs whatever its length.
const SHORT: usize = 4 << 10;
const LONG: usize = 1 << 20;

/// A copy, as the engine reads it.
#[repr(C, align(64))]
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// Address space and privilege: given by the queue.
    pub space: u32,
    /// Flags, with the kind of operation in the highest 8 bits.
    pub operation: u32,
    /// Address of the [`Record`].
    pub record: u64,
    /// Address of the first byte to read.
    pub source: u64,
    /// Address of the first byte to write.
    pub target: u64,
    /// Bytes to copy.
    pub len: u32,
    /// Interrupt and reserved.
    pub none: u32,
    /// Zeros.
    pub reserved: [u64; 3],
}

/// What the engine tells of a copy that is over, in one store.
#[repr(C, align(32))]
#[derive(Debug, Default)]
pub struct Record {
    /// Status in the lowest 8 bits, 0 before the end.
    pub status: AtomicU32,
    /// Bytes that were copied before a page was missing.
    pub moved: AtomicU32,
    /// The address that was missing.
    pub fault: AtomicU64,
    /// For other operations than copies.
    pub rest: [u64; 2],
}

/// Where descriptors go.
pub trait Portal: Send + Sync {
    /// Hands a descriptor over; false when the queue is full. The engine reads and writes the memory that it names until its
    /// record has a status.
    ///
    /// # Safety
    /// The addresses are of a [`Record`] and of memory for this copy, and stay until then.
    unsafe fn submit(&self, descriptor: &Descriptor) -> bool;

    /// One of the copies has ended.
    fn landed(&self);

    /// The longest copy of one descriptor, in bytes.
    fn longest(&self) -> usize;
}

/// What copies cost, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// To hand a descriptor over and to see its end.
    pub hand_over: f64,
    /// Of the engine: for a copy, and for each byte of it.
    pub engine: (f64, f64),
    /// Of the processor.
    pub processor: (f64, f64),
}

impl Cost {
    /// Whether the engine does a copy of `len` bytes that nobody waits for: the processor gets time back by that, and
    /// the copy takes at most twice as long.
    pub fn pays(&self, len: u64) -> bool {
        let time = |(fixed, byte): (f64, f64)| fixed + byte * len as f64;
        let processor = time(self.processor);
        self.hand_over < processor && time(self.engine) <= 2.0 * processor
    }
}

/// How a copy stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is under way.
    Flying,
    /// All bytes are copied.
    Done,
    /// A page was not there after so many bytes.
    Missing(usize),
    /// The engine does not do this copy.
    Refused(u8),
}

/// A copy by the engine. Dropping it waits for its end.
pub struct Flight {
    record: Box<Record>,
    /// Bytes of the copy.
    pub len: usize,
    portal: Arc<dyn Portal>,
}

impl Flight {
    /// How the copy stands now.
    pub fn outcome(&self) -> Outcome {
        // Acquire: the engine writes the bytes before it writes the status.
        let status = self.record.status.load(Ordering::Acquire) & STATUS;
        match status as u8 {
            0 => Outcome::Flying,
            SUCCESS => Outcome::Done,
            PAGE_FAULT => Outcome::Missing((self.record.moved.load(Ordering::Relaxed) as usize).min(self.len)),
            other => Outcome::Refused(other),
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        while self.outcome() == Outcome::Flying {
            std::hint::spin_loop();
            rustix::thread::sched_yield();
        }
        self.portal.landed();
    }
}

/// An engine with its costs.
pub struct Dma {
    portal: Arc<dyn Portal>,
    cost: Cost,
}

impl Dma {
    /// Opens the first work queue that this process may use, and measures what it costs (some milliseconds).
    ///
    /// Errors: NotFound without one; Unsupported on a processor without its instructions; what the kernel says otherwise.
    pub fn open() -> io::Result<Dma> {
        let dma =
            Dma::with(Arc::new(portal::open()?), Cost { hand_over: 0.0, engine: (0.0, 0.0), processor: (0.0, 0.0) });
        let cost = dma.measure().ok_or(io::ErrorKind::Other)?;
        Ok(Dma { cost, ..dma })
    }

    /// An engine whose costs are known.
    pub fn with(portal: Arc<dyn Portal>, cost: Cost) -> Dma {
        Dma { portal, cost }
    }

    /// What copies by this engine cost.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }

    /// Begins to copy; `None` when the queue is full. Not more than [`Dma::longest`] bytes.
    ///
    /// # Safety
    /// The memory is there, and for this copy to read or write, until the flight was dropped. The two do not overlap.
    pub unsafe fn start(&self, from: *const u8, to: *mut u8, len: usize) -> Option<Flight> {
        let record = Box::<Record>::default();
        let descriptor = Descriptor {
            space: 0,
            operation: FLAGS | MOVE << 24,
            record: &raw const *record as u64,
            source: from as u64,
            target: to as u64,
            len: u32::try_from(len).ok()?,
            none: 0,
            reserved: [0; 3],
        };
        // SAFETY: contract of this function; the record stays with the flight, which waits for it.
        let taken = unsafe { self.portal.submit(&descriptor) };
        taken.then(|| Flight { record, len, portal: self.portal.clone() })
    }

    /// The longest copy that one descriptor makes, in bytes.
    pub fn longest(&self) -> usize {
        self.portal.longest().min(u32::MAX as usize)
    }

    /// Times of real copies; `None` when the engine does not do them.
    fn measure(&self) -> Option<Cost> {
        let from = vec![1u8; LONG];
        let mut to = vec![0u8; LONG];
        let long = LONG.min(self.longest());
        let mut engine = |len: usize| {
            best_of(|| {
                // SAFETY: two buffers, which stay until the flight was dropped.
                let flight = unsafe { self.start(from.as_ptr(), to.as_mut_ptr(), len) }?;
                while flight.outcome() == Outcome::Flying {
                    std::hint::spin_loop();
                }
                (flight.outcome() == Outcome::Done).then_some(())
            })
        };
        let engine = line((SHORT, engine(SHORT)?), (long, engine(long)?));
        let mut into = vec![0u8; LONG];
        let mut processor = |len: usize| {
            best_of(|| {
                into[..len].copy_from_slice(&from[..len]);
                std::hint::black_box(&mut into);
                Some(())
            })
        };
        let processor = line((SHORT, processor(SHORT)?), (long, processor(long)?));
        Some(Cost { hand_over: engine.0.max(0.0), engine, processor })
    }
}

/// The shortest time of some tries, in nanoseconds.
fn best_of(mut run: impl FnMut() -> Option<()>) -> Option<f64> {
    let mut best = Duration::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed());
    }
    Some(best.as_nanos() as f64)
}

/// Fixed part and part of each byte, from two points.
fn line((short, quick): (usize, f64), (long, slow): (usize, f64)) -> (f64, f64) {
    let byte = ((slow - quick) / (long - short) as f64).max(0.0);
    ((quick - byte * short as f64).max(0.0), byte)
}

#[cfg(test)]
mod tests;
