//! Layouts on both sides of an access: as bytes, and as elements of one basic type.

use std::rc::Rc;
use tern_adi::Data;
use tern_layout::{Basic, Cursor, Type};
use tern_mcm::Run;
use tern_memory::Lack;

/// Memory of either side.
#[derive(Clone, Copy)]
pub enum Side<'a> {
    /// One run of bytes.
    Dense(*mut u8, usize),
    /// `count` elements of a layout.
    Typed { base: *mut u8, count: i64, ty: &'a Rc<Type> },
}

impl<'a> Side<'a> {
    #[inline]
    pub fn of(data: &'a Data) -> Side<'a> {
        match data {
            Data::Bytes(base, len) => Side::Dense(*base, *len),
            Data::Typed { base, count, ty } => Side::new(*base, *count, ty),
        }
    }

    /// Dense where the elements are.
    #[inline]
    pub fn new(base: *mut u8, count: i64, ty: &'a Rc<Type>) -> Side<'a> {
        match ty.dense_run(count) {
            Some((at, len)) => Side::Dense(base.wrapping_offset(at as isize), len as usize),
            None => Side::Typed { base, count, ty },
        }
    }

    /// The address of its first element.
    pub fn start(&self) -> *mut u8 {
        match *self {
            Side::Dense(base, _) | Side::Typed { base, .. } => base,
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Side::Dense(_, len) => *len,
            Side::Typed { count, ty, .. } => *count as usize * ty.size() as usize,
        }
    }

    /// Copies from `other` as many bytes as both have.
    ///
    /// # Safety
    /// Both are memory of this process, valid for that.
    #[inline]
    pub unsafe fn copy_from(&self, other: &Side<'_>) {
        // SAFETY: contract of this function.
        unsafe {
            match (*self, *other) {
                (Side::Dense(to, room), Side::Dense(from, len)) => copy(from, to, len.min(room)),
                (Side::Dense(to, room), Side::Typed { base, count, ty }) => {
                    ty.pack(base, count, 0, std::slice::from_raw_parts_mut(to, room));
                }
                (Side::Typed { base, count, ty }, Side::Dense(from, len)) => {
                    let room = count as usize * ty.size() as usize;
                    ty.unpack(base, count, 0, std::slice::from_raw_parts(from, len.min(room)));
                }
                (Side::Typed { base, count, ty }, Side::Typed { base: from, count: of, ty: from_ty }) => {
                    Type::copy(from_ty, from, of, ty, base, count);
                }
            }
        }
    }

    /// Packs the bytes from byte `from` of the data on.
    ///
    /// # Safety
    /// It is memory of this process, readable.
    pub unsafe fn gather(&self, from: usize, out: &mut [u8]) {
        match *self {
            // SAFETY: contract of this function; the caller asks for no more than there is.
            Side::Dense(base, _) => unsafe { copy(base.wrapping_add(from), out.as_mut_ptr(), out.len()) },
            Side::Typed { base, count, ty } => {
                // SAFETY: as above.
                unsafe { ty.pack(base, count, from as u64, out) };
            }
        }
    }

    /// The reverse.
    ///
    /// # Safety
    /// It is memory of this process, writable.
    pub unsafe fn scatter(&self, from: usize, bytes: &[u8]) {
        match *self {
            // SAFETY: contract of this function; the caller brings no more than there is room for.
            Side::Dense(base, _) => unsafe { copy(bytes.as_ptr(), base.wrapping_add(from), bytes.len()) },
            Side::Typed { base, count, ty } => {
                // SAFETY: as above.
                unsafe { ty.unpack(base, count, from as u64, bytes) };
            }
        }
    }

    /// Whether `len` bytes from byte `from` of the data on lie one behind the other.
    pub fn is_one_run(&self, from: usize, len: usize) -> bool {
        let mut runs = 0;
        self.runs(from, len, |_, _| runs += 1);
        runs == 1
    }

    /// Calls `each` with address and length of the contiguous runs of `len` bytes from byte `from` of the
    /// data on.
    pub fn runs(&self, from: usize, len: usize, mut each: impl FnMut(u64, usize)) {
        match *self {
            Side::Dense(base, _) => each(base.wrapping_add(from) as u64, len),
            Side::Typed { base, count, ty } => {
                let runs = ty.segments(base as i64, count, from as u64, len as u64);
                runs.for_each(|(at, len)| each(at as u64, len as usize));
            }
        }
    }
}

/// Copies bytes, of which there are most often a few, that may overlap.
///
/// # Safety
/// Both are valid for `len` bytes.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // A word is moved by one instruction, so that those who look at it see all or nothing of it.
    // SAFETY: contract of this function.
    unsafe {
        match len {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => std::ptr::copy(from, to, len),
        }
    }
}

/// Elements of `basic`, one extent apart, as kernels take them: the program's own memory, or a copy.
pub struct Row {
    start: *mut u8,
    /// What it points to, if it is a copy.
    _copy: Option<Vec<u8>>,
}

impl Row {
    #[inline]
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// True when [`Row::finish`] has something to do.
    pub fn is_copy(&self) -> bool {
        self._copy.is_some()
    }

    /// The elements of `data` where they lie, if they lie as they should.
    #[inline]
    fn in_place(data: &Data, basic: Basic) -> Option<*mut u8> {
        match data {
            Data::Bytes(base, _) => (basic.size() == basic.extent()).then_some(*base),
            Data::Typed { base, ty, .. } => (ty.named() == Some(basic)).then_some(*base),
        }
    }

    /// To read the `count` elements of `data`.
    ///
    /// Errors: there is no memory for a copy.
    ///
    /// # Safety
    /// They are readable, and stay so while the row is used.
    #[inline]
    pub unsafe fn of(data: &Data, basic: Basic, count: usize) -> Result<Row, Lack> {
        if let Some(start) = Row::in_place(data, basic) {
            return Ok(Row { start, _copy: None });
        }
        // SAFETY: contract of this function.
        Row::apart(basic, count).map(|row| unsafe { row.copied(data, basic, count) })
    }

    /// The same of few elements, in the middle of an access.
    ///
    /// # Safety
    /// As of [`Row::of`].
    pub unsafe fn of_few(data: &Data, basic: Basic, count: usize) -> Row {
        match Row::in_place(data, basic) {
            Some(start) => Row { start, _copy: None },
            // SAFETY: contract of this function.
            None => unsafe { Row::room(basic, count).copied(data, basic, count) },
        }
    }

    /// # Safety
    /// The elements of `data` are readable, and as many as there is room for.
    unsafe fn copied(self, data: &Data, basic: Basic, count: usize) -> Row {
        let ty = Type::basic(basic);
        // SAFETY: contract of this function.
        unsafe { Side::new(self.start, count as i64, &ty).copy_from(&Side::of(data)) };
        self
    }

    /// To receive `count` elements, which [`Row::finish`] then puts into `data`.
    ///
    /// Errors: there is no memory for a copy.
    #[inline]
    pub fn into(data: &Data, basic: Basic, count: usize) -> Result<Row, Lack> {
        match Row::in_place(data, basic) {
            Some(start) => Ok(Row { start, _copy: None }),
            None => Row::apart(basic, count),
        }
    }

    /// For `count` elements, all zeros.
    #[cold]
    fn apart(basic: Basic, count: usize) -> Result<Row, Lack> {
        let mut copy = tern_memory::zeroed(count.saturating_mul(basic.extent() as usize))?;
        Ok(Row { start: copy.as_mut_ptr(), _copy: Some(copy) })
    }

    /// The same of few elements, in the middle of an access.
    #[cold]
    pub fn room(basic: Basic, count: usize) -> Row {
        let mut copy = vec![0; count * basic.extent() as usize];
        Row { start: copy.as_mut_ptr(), _copy: Some(copy) }
    }

    /// # Safety
    /// `data` is writable; the row holds `count` elements, and was made for this.
    #[inline]
    pub unsafe fn finish(self, data: &Data, basic: Basic, count: usize) {
        if self._copy.is_some() {
            let ty = Type::basic(basic);
            // SAFETY: contract of this function.
            unsafe { Side::of(data).copy_from(&Side::new(self.start, count as i64, &ty)) };
        }
    }
}

/// Calls `each` with the offsets of the first `elements` elements of `basic` in `count` of `ty`, whose
/// only basic type it is, and how many lie there one extent apart; until it fails.
#[inline]
pub fn runs<E>(
    ty: &Type, count: i64, basic: Basic, elements: usize, mut each: impl FnMut(i64, usize) -> Result<(), E>,
) -> Result<(), E> {
    if ty.named().is_some() {
        return each(0, elements);
    }
    let size = basic.size() as u64;
    let Some((first, _, second)) = basic.pair() else {
        if let Some((at, _)) = ty.dense_run(count) {
            return each(at, elements);
        }
        return ty
            .segments(0, count, 0, elements as u64 * size)
            .try_for_each(|(at, len)| each(at, (len / size) as usize));
    };
    // The two parts of a pair need not lie side by side.
    let mut cursor = Cursor::new(ty, count);
    for _ in 0..elements {
        let Some((at, _)) = cursor.next_run(first.size() as u64) else { break };
        cursor.next_run(second.size() as u64);
        each(at, 1)?;
    }
    Ok(())
}

/// The bytes from the lowest to the highest of `count` elements, relative to their address; `None`
/// beyond 64 bits.
#[inline]
pub fn span(ty: &Type, count: i64) -> Option<(i64, i64)> {
    if ty.is_contiguous() {
        return Some((0, ty.size().checked_mul(count)?));
    }
    let reach = (count - 1).checked_mul(ty.extent())?;
    let low = ty.true_lb().checked_add(reach.min(0))?;
    Some((low, ty.true_ub().checked_add(reach.max(0))?))
}

/// Bytes that go to the kernel at once where one side has gaps: each run takes 16 bytes in a list.
const CHUNK: usize = 128 << 10;

/// Calls `copy` with the runs of both sides, from the given bytes of both on; where one of them has gaps, for a part after
/// the other.
pub(crate) fn in_parts<E>(
    (own, own_from): (&Side<'_>, usize), (theirs, their_from): (&Side<'_>, usize), len: usize,
    mut copy: impl FnMut(&[Run], &[Run]) -> Result<(), E>,
) -> Result<(), E> {
    if let (Side::Dense(own, _), Side::Dense(theirs, _)) = (own, theirs) {
        let run = |at: *mut u8, from: usize| [Run { address: at.wrapping_add(from) as u64, len: len as u64 }];
        return copy(&run(*own, own_from), &run(*theirs, their_from));
    }
    let mut done = 0;
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    while done < len {
        let part = (len - done).min(CHUNK);
        ours.clear();
        others.clear();
        own.runs(own_from + done, part, |address, len| ours.push(Run { address, len: len as u64 }));
        theirs.runs(their_from + done, part, |address, len| others.push(Run { address, len: len as u64 }));
        copy(&ours, &others)?;
        done += part;
    }
    Ok(())
}
