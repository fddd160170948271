//! Attached buffers for buffered sends (MPI 5.0 section 3.6), and what is under way from them.

use super::Comm;
use crate::runtime::adi;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The address that stands for an automatic buffer (`MPI_BUFFER_AUTOMATIC`).
const AUTOMATIC: usize = 2;

/// An attached buffer.
pub struct Pool {
    pub address: *mut u8,
    pub size: i64,
    pub used: Cell<i64>,
    pending: RefCell<Vec<Buffered>>,
}

/// A message that is under way, whose bytes the library holds. Its communicator stays as long.
struct Buffered {
    id: tern_adi::Request,
    _comm: Rc<Comm>,
    bytes: Vec<u8>,
}

/// Where an object has its buffer.
pub type PoolSlot = RefCell<Option<Rc<Pool>>>;

impl Pool {
    /// A buffer of the program's of `size` bytes.
    pub fn new(address: *mut u8, size: i64) -> Rc<Pool> {
        Rc::new(Pool { address, size, used: Cell::new(0), pending: RefCell::default() })
    }

    pub fn is_automatic(&self) -> bool {
        self.address as usize == AUTOMATIC
    }

    /// Keeps `bytes` until the transfer `id` is complete.
    pub fn keep(&self, id: tern_adi::Request, comm: Rc<Comm>, bytes: Vec<u8>) {
        self.used.set(self.used.get() + cost(bytes.len()));
        adi().promise(id);
        self.pending.borrow_mut().push(Buffered { id, _comm: comm, bytes });
    }

    /// Frees what has been sent.
    pub fn sweep(&self) {
        self.pending.borrow_mut().retain(|Buffered { id, bytes, .. }| {
            if !adi().is_done(*id) {
                return true;
            }
            // If the receiver is lost, that was told (`promise`).
            let _ = adi().take(*id);
            self.used.set(self.used.get() - cost(bytes.len()));
            false
        });
    }

    pub fn is_empty(&self) -> bool {
        self.sweep();
        self.pending.borrow().is_empty()
    }

    /// Waits until all of it has been sent (MPI_Buffer_flush).
    pub fn flush(&self) {
        adi().wait_until(&mut || self.is_empty());
    }
}

/// What a message takes of the allowance beside its bytes: less than MPI_BSEND_OVERHEAD of any binary interface, as
/// programs count by that of the one for which they are compiled.
const OVERHEAD: i64 = 32;

/// What a message takes of the allowance.
pub fn cost(bytes: usize) -> i64 {
    bytes as i64 + OVERHEAD
}

/// Sends what is left in a communicator's or a session's buffer, and detaches it, as the object is
/// freed (section 3.6).
pub fn release(place: &PoolSlot) {
    let pool = place.borrow_mut().take();
    if let Some(pool) = pool {
        pool.flush();
    }
}
