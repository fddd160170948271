//! Allocations that can be refused.
//!
//! They ask the system's allocator, past the global one of the library, which would end the process. What is large leaves some memory
//! free, so that what is small, and cannot be refused, finds it.

use crate::words::Limits;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;

/// So many bytes cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lack {
    pub bytes: usize,
}

/// The rest of a sentence that begins with what they are for.
impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of memory cannot be had{Limits}", self.bytes)
    }
}

/// From so many bytes on memory is large, and how much is left free then.
const LARGE: usize = 256 << 10;
const FREE: Layout = match Layout::from_size_align(512 << 10, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("a layout"),
};

/// Memory of that layout, which is not empty: zeros, or with anything in it. The system's allocator frees it.
pub fn raw(layout: Layout, zeroed: bool) -> Result<*mut u8, Lack> {
    let lack = Lack { bytes: layout.size() };
    // SAFETY: the caller's word.
    let start = unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } };
    if start.is_null() {
        return Err(lack);
    }
    if layout.size() >= LARGE && !can_have(FREE) {
        // SAFETY: as it was allocated.
        unsafe { System.dealloc(start, layout) };
        return Err(lack);
    }
    Ok(start)
}

/// Whether so many bytes can be had, in pieces, which are then allocated as usual.
pub fn probe(bytes: usize) -> Result<(), Lack> {
    let wanted = bytes.saturating_add(FREE.size());
    match Layout::from_size_align(wanted, FREE.align()) {
        Ok(layout) if bytes < LARGE || can_have(layout) => Ok(()),
        _ => Err(Lack { bytes }),
    }
}

fn can_have(layout: Layout) -> bool {
    // SAFETY: the layout is not empty, and what is there is freed as it was allocated.
    unsafe {
        // Without this the compiler leaves the two calls out, and takes it that there is memory.
        let start = std::hint::black_box(System.alloc(layout));
        if !start.is_null() {
            System.dealloc(start, layout);
        }
        !start.is_null()
    }
}

/// No elements yet, and room for so many.
pub fn room<T>(len: usize) -> Result<Vec<T>, Lack> {
    made(len, false)
}

/// So many zeros.
pub fn zeroed(len: usize) -> Result<Vec<u8>, Lack> {
    let mut bytes = made(len, true)?;
    // SAFETY: there is room for them, and they are zeros.
    unsafe { bytes.set_len(len) };
    Ok(bytes)
}

/// A copy of a list.
pub fn copy<T: Copy>(list: &[T]) -> Result<Vec<T>, Lack> {
    let mut all = room(list.len())?;
    all.extend_from_slice(list);
    Ok(all)
}

/// All that an iterator gives.
pub fn collect<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>, Lack> {
    let items = items.into_iter();
    let mut all = room(items.size_hint().0)?;
    for item in items {
        push(&mut all, item)?;
    }
    Ok(all)
}

/// Appends an element. Where there is no room for it, the list stays as it is.
#[inline]
pub fn push<T>(list: &mut Vec<T>, item: T) -> Result<(), Lack> {
    reserve(list, 1)?;
    list.push(item);
    Ok(())
}

/// Makes the list `len` elements long, new ones with that value.
pub fn resize<T: Copy>(list: &mut Vec<T>, len: usize, value: T) -> Result<(), Lack> {
    reserve(list, len.saturating_sub(list.len()))?;
    list.resize(len, value);
    Ok(())
}

/// Has room for so many elements more.
#[inline]
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), Lack> {
    if list.capacity() - list.len() >= more { Ok(()) } else { grow(list, more) }
}

#[cold]
fn grow<T>(list: &mut Vec<T>, more: usize) -> Result<(), Lack> {
    let least = list.len().saturating_add(more);
    let by = |part: usize| least.max(list.capacity().saturating_add(list.capacity() / part)).max(4);
    // Still so much that a list that grows element by element is not copied for each of them.
    let mut grown = room(by(1)).or_else(|_| room(by(8)))?;
    grown.append(list);
    *list = grown;
    Ok(())
}

fn made<T>(len: usize, zeroed: bool) -> Result<Vec<T>, Lack> {
    let lack = Lack { bytes: len.saturating_mul(size_of::<T>()) };
    if lack.bytes == 0 {
        return Ok(Vec::new());
    }
    let start = raw(Layout::array::<T>(len).map_err(|_| lack)?, zeroed)?.cast::<T>();
    // SAFETY: what the system's allocator gave for that layout. It is freed by the global one, which is the system's or hands all on
    // to it.
    Ok(unsafe { Vec::from_raw_parts(start, 0, len) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_told() {
        assert_eq!(zeroed(3), Ok(vec![0; 3]));
        assert_eq!(zeroed(0), Ok(Vec::new()));
        assert_eq!(zeroed(isize::MAX as usize), Err(Lack { bytes: isize::MAX as usize }));
        assert_eq!(zeroed(usize::MAX), Err(Lack { bytes: usize::MAX }));
        assert_eq!(room::<u64>(usize::MAX / 4), Err(Lack { bytes: usize::MAX }));
        assert!(room::<u16>(9).is_ok_and(|list| list.is_empty() && list.capacity() == 9));
        assert_eq!(probe(1 << 20), Ok(()));
        assert_eq!(probe(usize::MAX), Err(Lack { bytes: usize::MAX }));
        assert_eq!(probe(isize::MAX as usize / 2), Err(Lack { bytes: isize::MAX as usize / 2 }));
        assert!(Lack { bytes: 77 }.to_string().starts_with("77 bytes of memory cannot be had"));
    }

    #[test]
    fn lists_grow_and_keep_what_they_have() {
        let mut list = copy(&[1, 2, 3]).expect("room");
        (4..100).for_each(|item| push(&mut list, item).expect("room"));
        assert_eq!(Ok(list.clone()), collect(1..100));
        assert!(reserve(&mut list, usize::MAX / 64).is_err());
        assert_eq!(list.len(), 99);
        resize(&mut list, 101, 7).expect("room");
        resize(&mut list, 100, 7).expect("room");
        assert_eq!((list.len(), list[98], list[99]), (100, 99, 7));
        assert_eq!(collect((0..9).filter(|n| n % 3 == 0)), Ok(vec![0, 3, 6]));
    }

    #[test]
    fn a_list_that_may_not_grow_stays() {
        struct Large(#[allow(dead_code, reason = "for its size")] [u8; 1 << 20]);
        let endless = std::iter::repeat_with(|| Large([0; 1 << 20])).take(usize::MAX);
        assert!(collect(endless).is_err(), "its length is known to be too much");
    }
}
