//! The memory of operations that are under way (TERN_CHECK): which call reads or writes it, and what it held when the call began.
//!
//! Memory that an operation reads may be read by others, but must not change; memory that it writes belongs to it alone until
//! it is complete (MPI 5.0 sections 3.7.2, 6.12 and 12.3).

use crate::check::mapped;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use crate::observe;
use crate::runtime::adi;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tern_adi::Data;

/// What a call does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

impl Access {
    fn verb(self) -> &'static str {
        match self {
            Access::Read => "reads",
            Access::Write => "writes",
        }
    }
}

/// Memory that a call is given as its argument `argument`.
#[derive(Clone, Debug)]
pub struct Use {
    pub argument: &'static str,
    pub access: Access,
    pub data: Data,
}

impl Use {
    pub fn reads(argument: &'static str, data: Data) -> Use {
        Use { argument, access: Access::Read, data }
    }

    pub fn writes(argument: &'static str, data: Data) -> Use {
        Use { argument, access: Access::Write, data }
    }
}

/// The first address of some bytes, and the one behind them.
pub type Run = (i64, i64);

/// Memory with more pieces than this is not looked at: that would take longer than the transfer.
const PIECES: usize = 1 << 16;

/// The pieces of memory that data lies in, by address; none if there are too many.
pub fn runs(data: &Data) -> Vec<Run> {
    let runs: Vec<Run> = match data {
        Data::Bytes(_, 0) => Vec::new(),
        Data::Bytes(base, len) => vec![(*base as i64, *base as i64 + *len as i64)],
        Data::Typed { base, count, ty } => {
            let bytes = ty.size() as u64 * (*count).max(0) as u64;
            let pieces = ty.segments(*base as i64, *count, 0, bytes).take(PIECES + 1);
            pieces.map(|(at, len)| (at, at.wrapping_add_unsigned(len))).collect()
        }
    };
    if runs.len() > PIECES {
        return Vec::new();
    }
    merged(runs)
}

/// The same bytes by address, in pieces that do not touch each other.
pub fn merged(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable();
    runs.dedup_by(|next, last| {
        let touch = next.0 <= last.1;
        if touch {
            last.1 = last.1.max(next.1);
        }
        touch
    });
    runs
}

/// The first bytes that both have, each as [`merged`].
pub fn common(one: &[Run], other: &[Run]) -> Option<Run> {
    let (first, last) = (one.first()?, one.last()?);
    if other.last()?.1 <= first.0 || last.1 <= other.first()?.0 {
        return None;
    }
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    loop {
        let (a, b) = (one.peek()?, other.peek()?);
        let (low, high) = (a.0.max(b.0), a.1.min(b.1));
        if low < high {
            return Some((low, high));
        }
        if a.1 <= b.1 {
            one.next()
        } else {
            other.next()
        };
    }
}

/// The bytes of data, as they travel.
pub fn image(data: &Data) -> Vec<u8> {
    match data {
        Data::Bytes(_, 0) => Vec::new(),
        // SAFETY: the program's memory holds the data that it names (MPI's own rule).
        Data::Bytes(base, len) => unsafe { std::slice::from_raw_parts(*base, *len) }.to_vec(),
        Data::Typed { base, count, ty } => {
            let mut bytes = vec![0; ty.size() as usize * (*count).max(0) as usize];
            // SAFETY: as above.
            unsafe { ty.pack(*base, *count, 0, &mut bytes) };
            bytes
        }
    }
}

/// Stores such bytes where they belong.
pub fn restore(data: &Data, bytes: &[u8]) {
    match data {
        // SAFETY: the program's memory has room for the data that it names (MPI's own rule), and the bytes are no more than that.
        Data::Bytes(base, len) => unsafe { base.copy_from(bytes.as_ptr(), bytes.len().min(*len)) },
        // SAFETY: as above.
        Data::Typed { base, count, ty } => _ = unsafe { ty.unpack(*base, *count, 0, bytes) },
    }
}

/// Memory that an operation has until it is complete.
pub struct Held {
    number: u64,
    /// The call that began the operation.
    pub function: &'static str,
    pub used: Use,
    runs: Vec<Run>,
    image: RefCell<Vec<u8>>,
}

/// Told of memory of this process that a call reads or writes.
pub type Touched = fn(Access, &[Run]);

struct Table {
    last: Cell<u64>,
    held: RefCell<Vec<Rc<Held>>>,
    touched: Cell<Option<Touched>>,
}

static TABLE: Guarded<Table> =
    Guarded::new(Table { last: Cell::new(0), held: RefCell::new(Vec::new()), touched: Cell::new(None) });

/// From now on `touched` is told what calls use: the memory may be in a window.
pub fn tell(touched: Touched) {
    TABLE.get().touched.set(Some(touched));
}

/// Notes that an operation which the current call begins has this memory.
///
/// Errors: another one has it already.
pub fn hold(used: Use) -> Result<Rc<Held>> {
    may(&used)?;
    let table = TABLE.get();
    table.last.set(table.last.get() + 1);
    let (runs, image) = (runs(&used.data), RefCell::new(image(&used.data)));
    let held = Rc::new(Held { number: table.last.get(), function: observe::function(), used, runs, image });
    table.held.borrow_mut().push(held.clone());
    Ok(held)
}

/// Whether the current call may use this memory.
///
/// Errors: an operation that is under way has it (MPI_ERR_BUFFER).
pub fn may(used: &Use) -> Result<()> {
    let own = runs(&used.data);
    if let Some(at) = mapped::missing(used.access, &own) {
        let (argument, verb, low) = (used.argument, used.access.verb(), own[0].0);
        return err!(
            MPI_ERR_BUFFER,
            "{argument} begins at {low:#x} and has {} bytes, which this call {verb}, but from {at:#x} on there is no such memory in \
             this process: are count and datatype right, and was the memory freed?",
            used.data.len()
        );
    }
    let bytes: i64 = own.iter().map(|run| run.1 - run.0).sum();
    if used.access == Access::Write && !own.is_empty() && bytes < used.data.len() as i64 {
        return err!(
            MPI_ERR_TYPE,
            "the {} bytes that this call writes to {} lie in {bytes} bytes of memory: entries of the datatype overlap, which it must \
             not where it is written to (section 5.1)",
            used.data.len(),
            used.argument
        );
    }
    if let Some(touched) = TABLE.get().touched.get() {
        touched(used.access, &own);
    }
    let Some((other, bytes)) = taken(used.access, &own) else { return Ok(()) };
    // One that the program has given up (MPI_Request_free) may have ended.
    adi().look();
    if !TABLE.get().held.borrow().iter().any(|held| held.number == other.number) {
        return may(used);
    }
    clash(used, other.function, &other.used, bytes)
}

fn clash(used: &Use, function: &str, other: &Use, (low, high): Run) -> Result<()> {
    err!(
        MPI_ERR_BUFFER,
        try "",
        "the {} bytes at {low:#x} of {}, which this call {}, are also in {} of {function}, which {} them until it is complete: \
         memory of an operation that is under way must be left alone (wait for it first)",
        high - low,
        used.argument,
        used.access.verb(),
        other.argument,
        other.access.verb(),
    )
}

fn taken(access: Access, own: &[Run]) -> Option<(Rc<Held>, Run)> {
    let table = TABLE.get().held.borrow();
    table.iter().find_map(|held| {
        let clash = access == Access::Write || held.used.access == Access::Write;
        let bytes = if clash { common(own, &held.runs) } else { None };
        bytes.map(|bytes| (held.clone(), bytes))
    })
}

/// Whether memory that one call is given in two arguments may be the same.
///
/// Errors: it has bytes in common, and one of them is written (MPI_ERR_BUFFER).
pub fn apart(one: &Use, other: &Use) -> Result<()> {
    if one.access == Access::Read && other.access == Access::Read {
        return Ok(());
    }
    match common(&runs(&one.data), &runs(&other.data)) {
        Some(bytes) => clash(one, "the same call", other, bytes),
        None => Ok(()),
    }
}

impl Held {
    /// The number of the first byte that differs from what it was when the operation began.
    pub fn changed(&self) -> Option<usize> {
        let now = image(&self.used.data);
        now.iter().zip(self.image.borrow().iter()).position(|(now, then)| now != then)
    }

    /// The error of a program that has changed the memory.
    pub fn error(&self) -> Option<Box<Error>> {
        let byte = self.changed()?;
        let Use { argument, access, .. } = &self.used;
        let text = format!(
            "byte {byte} of the data in {argument} of {} was changed by the program before the operation was complete, which {} it \
             until then: wait for it first",
            self.function,
            access.verb(),
        );
        Some(Error::new(MPI_ERR_BUFFER, text).advise(""))
    }

    /// What the memory was does not matter any more.
    pub fn release_image(&self) {
        self.image.take();
    }

    /// The operation does not have the memory any more.
    pub fn release(&self) {
        self.image.take();
        TABLE.get().held.borrow_mut().retain(|held| held.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_layout::{Basic, Type};

    #[test]
    fn bytes_in_common_are_found_and_interleaved_ones_are_not() {
        assert_eq!(common(&[(0, 4), (8, 12)], &[(4, 8), (12, 16)]), None);
        assert_eq!(common(&[(0, 4), (8, 12)], &[(4, 9)]), Some((8, 9)));
        assert_eq!(common(&[(0, 100)], &[(20, 30)]), Some((20, 30)));
        assert_eq!(common(&[], &[(0, 1)]), None);
        assert_eq!(merged(vec![(8, 9), (0, 40), (40, 41), (50, 60)]), [(0, 41), (50, 60)]);
        let column = Type::vector(3, 1, 2, &Type::basic(Basic::Int32)).unwrap();
        let at = |base: usize| runs(&Data::Typed { base: base as *mut u8, count: 1, ty: column.clone() });
        assert_eq!(at(4096), [(4096, 4100), (4104, 4108), (4112, 4116)]);
        assert_eq!(common(&at(4096), &at(4100)), None);
        assert_eq!(common(&at(4096), &at(4104)), Some((4104, 4108)));
    }

    #[test]
    fn an_image_goes_back_to_its_place() {
        let mut memory = [1i32, 2, 3, 4];
        let column = Type::vector(2, 1, 2, &Type::basic(Basic::Int32)).unwrap();
        let data = Data::Typed { base: memory.as_mut_ptr().cast(), count: 1, ty: column };
        let bytes = image(&data);
        assert_eq!(bytes, [1i32, 3].map(i32::to_ne_bytes).concat());
        memory[2] = 7;
        assert_ne!(image(&data), bytes);
        restore(&data, &bytes);
        assert_eq!(memory, [1, 2, 3, 4]);
    }
}
