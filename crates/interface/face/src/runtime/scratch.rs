//! Room for converted arrays: on the stack for few elements, on the heap for many.

use crate::types::Face;
use crate::types::{Kind, Ptr, null};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use tern_memory::Lack;

/// `N` elements on the stack, more on the heap.
pub struct Scratch<T, const N: usize> {
    few: [MaybeUninit<T>; N],
    many: Vec<MaybeUninit<T>>,
    len: usize,
    /// Bytes that could not be had; then it has no elements.
    lack: usize,
}

impl<T: Copy, const N: usize> Scratch<T, N> {
    /// Room for `len` elements; none where `len` is negative, which the core refuses.
    #[inline(always)]
    pub fn new(len: i64) -> Scratch<T, N> {
        let len = usize::try_from(len).unwrap_or(0);
        let few = [const { MaybeUninit::uninit() }; N];
        if len <= N {
            return Scratch { few, many: Vec::new(), len, lack: 0 };
        }
        let (many, lack) = more(len);
        Scratch { few, many, len: if lack == 0 { len } else { 0 }, lack }
    }

    /// Whether there is room, which is asked before anything is done with it.
    ///
    /// Errors: there is no memory for so many.
    #[inline(always)]
    pub fn has_room(&self) -> Result<(), Lack> {
        if self.lack == 0 { Ok(()) } else { Err(Lack { bytes: self.lack }) }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub fn pointer(&mut self) -> *mut T {
        if self.len <= N { self.few.as_mut_ptr().cast() } else { self.many.as_mut_ptr().cast() }
    }

    #[inline(always)]
    pub fn set(&mut self, at: usize, value: T) {
        assert!(at < self.len);
        // SAFETY: inside of the room.
        unsafe { self.pointer().add(at).write(value) }
    }

    /// An element that was set.
    #[inline(always)]
    pub fn get(&self, at: usize) -> &T {
        assert!(at < self.len);
        let all = if self.len <= N { &self.few[..] } else { &self.many[..] };
        // SAFETY: all elements are set before one is read.
        unsafe { all[at].assume_init_ref() }
    }
}

/// So many elements, or the bytes that could not be had.
#[cold]
fn more<T: Copy>(len: usize) -> (Vec<MaybeUninit<T>>, usize) {
    match tern_memory::room(len) {
        Ok(mut all) => {
            all.resize(len, MaybeUninit::uninit());
            (all, 0)
        }
        Err(lack) => (Vec::new(), lack.bytes),
    }
}

/// Handles, as the core reads and writes them.
pub struct Handles(Scratch<usize, 32>);

impl Handles {
    /// # Safety
    /// `array` is null or has `len` handles.
    #[inline(always)]
    pub unsafe fn new<F: Face>(kind: Kind, array: Ptr, len: i64) -> Handles {
        let mut all = Scratch::new(if array.is_null() { 0 } else { len });
        for at in 0..all.len() {
            // SAFETY: the caller's.
            all.set(at, F::handle_in(kind, unsafe { array.cast::<F::Handle>().add(at).read_unaligned() }));
        }
        Handles(all)
    }

    /// See [`Scratch::has_room`].
    #[inline(always)]
    pub fn has_room(&self) -> Result<(), Lack> {
        self.0.has_room()
    }

    /// What the core is given: null for null.
    #[inline(always)]
    pub fn place(&mut self, array: Ptr) -> Ptr {
        if array.is_null() { array } else { self.0.pointer().cast() }
    }

    /// Hands on which requests have ended.
    ///
    /// # Safety
    /// As for [`Handles::new`], for writes.
    #[inline(always)]
    pub unsafe fn give_ended<F: Face>(&self, array: Ptr) {
        for at in 0..self.0.len() {
            if *self.0.get(at) == null::REQUEST {
                let none = F::handle_out(Kind::Request, null::REQUEST);
                // SAFETY: the caller's.
                unsafe { array.cast::<F::Handle>().add(at).write_unaligned(none) }
            }
        }
    }
}

/// Ints, converted one by one.
pub struct Ints(Scratch<c_int, 64>);

impl Ints {
    /// # Safety
    /// `array` is null or has `len` ints.
    #[inline]
    pub unsafe fn new(array: Ptr, len: i64, convert: fn(c_int) -> c_int) -> Ints {
        let mut all = Scratch::new(if array.is_null() { 0 } else { len });
        for at in 0..all.len() {
            // SAFETY: the caller's.
            all.set(at, convert(unsafe { *array.cast::<c_int>().add(at) }));
        }
        Ints(all)
    }

    /// See [`Scratch::has_room`].
    #[inline(always)]
    pub fn has_room(&self) -> Result<(), Lack> {
        self.0.has_room()
    }

    pub fn place(&mut self, array: Ptr) -> Ptr {
        if array.is_null() { array } else { self.0.pointer().cast() }
    }
}

/// Converts ints where they lie.
///
/// # Safety
/// `array` has `len` ints.
pub unsafe fn convert_ints(array: Ptr, len: i64, convert: fn(c_int) -> c_int) {
    for at in 0..len {
        // SAFETY: the caller's.
        unsafe {
            let place = array.cast::<c_int>().offset(at as isize);
            *place = convert(*place);
        }
    }
}

/// Converts one int where it lies; null is no place.
///
/// # Safety
/// `place` is null or an int.
#[inline(always)]
pub unsafe fn convert_int(place: Ptr, convert: impl Fn(c_int) -> c_int) {
    let place = place.cast::<c_int>();
    if !place.is_null() {
        // SAFETY: the caller's.
        unsafe { *place = convert(*place) }
    }
}

/// The address of a result of the call's own, or null where the program gave null.
#[inline(always)]
pub fn place<T>(given: Ptr, own: &mut T) -> Ptr {
    if given.is_null() { given } else { (own as *mut T).cast() }
}
