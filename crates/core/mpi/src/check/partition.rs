//! The memory of partitioned communication (TERN_CHECK; MPI 5.0 section 4.2).
//!
//! A partition belongs to the library from MPI_Pready on, and to a receive until MPI_Parrived or the end of the round tells that it
//! has come. The bytes of a receive stay with the library until then, so that what the program writes there is seen.

use crate::check::active::{self, Held, Use};
use crate::check::is_on;
use crate::constants::MPI_ERR_TRUNCATE;
use crate::error::{Error, Result};
use crate::objects::Datatype;
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::{Data, Status};

/// All partitions of one side of an operation.
pub struct Partitions {
    base: *mut u8,
    /// Elements of each.
    count: i64,
    pub datatype: Rc<Datatype>,
    number: usize,
    /// Of each that the library has.
    held: RefCell<Vec<Option<Rc<Held>>>>,
    changed: RefCell<Option<Box<Error>>>,
    /// Of a receive.
    bytes: RefCell<Box<[u8]>>,
}

impl Partitions {
    pub fn new(base: *const u8, number: usize, count: i64, datatype: Rc<Datatype>) -> Partitions {
        let held = RefCell::new(vec![None; if is_on() { number } else { 0 }]);
        let base = base.cast_mut();
        Partitions { base, count, datatype, number, held, changed: RefCell::default(), bytes: RefCell::default() }
    }

    /// The elements of all.
    pub fn elements(&self) -> i64 {
        self.count * self.number as i64
    }

    fn data(&self, partition: usize) -> Data {
        let step = self.count.wrapping_mul(self.datatype.layout.extent());
        let base = self.base.wrapping_offset(step.wrapping_mul(partition as i64) as isize);
        Data::new(base, self.count, &self.datatype.layout)
    }

    fn hold(&self, partition: usize, used: Use) -> Result<()> {
        let held = active::hold(used)?;
        self.held.borrow_mut()[partition] = Some(held);
        Ok(())
    }

    /// A partition is ready: its memory must not change until the round has ended.
    ///
    /// Errors: an operation that is under way writes to it (MPI_ERR_BUFFER).
    pub fn ready(&self, partition: usize) -> Result<()> {
        if !is_on() {
            return Ok(());
        }
        self.hold(partition, Use::reads("buf", self.data(partition)))
    }

    /// A receive begins a round. Gives the memory in which it receives, if that is not the program's.
    ///
    /// Errors: an operation that is under way has some of the memory (MPI_ERR_BUFFER).
    pub fn begin(&self) -> Result<Option<Data>> {
        if !is_on() {
            return Ok(None);
        }
        for partition in 0..self.number {
            if let Err(error) = self.hold(partition, Use::writes("buf", self.data(partition))) {
                self.give_up();
                return Err(error);
            }
        }
        let size = self.datatype.layout.size() as usize * self.elements() as usize;
        let mut bytes = vec![0; size].into_boxed_slice();
        let data = Data::Bytes(bytes.as_mut_ptr(), size);
        self.bytes.replace(bytes);
        Ok(Some(data))
    }

    /// The library gives a partition back, and blames the program if it has changed it before.
    fn give_back(&self, partition: usize) -> Option<Rc<Held>> {
        let held = self.held.borrow_mut().get_mut(partition)?.take()?;
        let mut changed = self.changed.borrow_mut();
        *changed = changed.take().or_else(|| held.error());
        held.release();
        Some(held)
    }

    /// A round has failed: the library gives everything back, and says nothing of it.
    pub fn give_up(&self) {
        if !is_on() {
            return;
        }
        (0..self.number).for_each(|partition| _ = self.give_back(partition));
        self.changed.take();
    }

    /// The program is told that a partition of a receive has come, if it was not told before.
    pub fn land(&self, partition: usize) {
        let Some(held) = self.give_back(partition) else { return };
        let size = held.used.data.len();
        active::restore(&held.used.data, &self.bytes.borrow()[partition * size..][..size]);
    }

    /// A send has ended its round. The error of a program that has changed memory of it.
    pub fn sent(&self) -> Option<Box<Error>> {
        if !is_on() {
            return None;
        }
        (0..self.number).for_each(|partition| _ = self.give_back(partition));
        self.changed.take()
    }

    /// A receive has ended its round, with this status. The error of a program that has changed its memory; or that of the two
    /// sides, which have not the same amount of data.
    pub fn received(&self, status: &Status) -> Option<Box<Error>> {
        if !is_on() {
            return None;
        }
        if status.aborted().is_some() || status.cancelled {
            self.give_up();
            return None;
        }
        (0..self.number).for_each(|partition| self.land(partition));
        let own = self.bytes.take().len() as u64;
        self.changed.take().or_else(|| (status.bytes < own).then(|| shorter(status, own)))
    }
}

fn shorter(status: &Status, own: u64) -> Box<Error> {
    let text = format!(
        "the partitions of rank {} with tag {} have {} bytes together, but those of this receive have {own}: both sides must \
         have the same amount of data, however it is divided",
        status.source, status.tag, status.bytes
    );
    Error::new(MPI_ERR_TRUNCATE, text).advise("")
}
