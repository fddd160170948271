//! Where a debugger finds the messages of a stopped process: names with addresses, or with offsets inside a structure, in bytes.
//!
//! No type that the engine uses has a layout of its own for this. The places are those that the compiler has chosen, asked of it or of examples.

use crate::{Adi, Data};
use std::fmt::Write;
use std::mem::size_of;
use tern_layout::Type;

/// `name=number` for each place, in hexadecimal, with blanks between them.
#[derive(Debug, Default)]
pub struct Places(pub String);

impl Places {
    /// A place, or a number that a reader of the places needs.
    pub fn put(&mut self, name: &str, place: usize) {
        write!(self.0, "{name}={place:x} ").expect("a string takes all text");
    }

    /// Where something is now. It must stay there.
    pub fn put_address<T: ?Sized>(&mut self, name: &str, what: &T) {
        self.put(name, std::ptr::from_ref(what).addr());
    }

    /// A vector: where its first element's address is, and where its length is.
    pub fn put_vec<T>(&mut self, name: &str, vec: &Vec<T>) {
        let Some((first, length)) = words_of_vec::<T>() else { return };
        self.put_address(name, vec);
        self.put(&format!("{name}.first"), first);
        self.put(&format!("{name}.length"), length);
    }

    /// How strings lie.
    pub fn put_text(&mut self, name: &str) {
        let text = String::with_capacity(ROOM);
        // SAFETY: a string is a vector: an address, a capacity and a length.
        let words: [usize; 3] = unsafe { words(&text) };
        for (part, value) in [("first", text.as_ptr().addr()), ("length", 0)] {
            if let Some(word) = words.iter().position(|&word| word == value) {
                self.put(&format!("{name}.{part}"), word * WORD);
            }
        }
    }

    /// How elements of a vector of options lie.
    pub fn put_option<T>(&mut self, name: &str) {
        let none: Option<T> = None;
        let inside = none.as_slice().as_ptr().addr() - std::ptr::from_ref(&none).addr();
        self.put(&format!("{name}.size"), size_of::<Option<T>>());
        self.put(&format!("{name}.inside"), inside);
    }
}

const WORD: usize = size_of::<usize>();
/// A capacity that is told from addresses and lengths.
const ROOM: usize = 5;

/// The words of `value`, which has no bytes that are not set.
///
/// # Safety
/// `T` is `N` words long, aligned as words are, and all its bytes are set.
unsafe fn words<T, const N: usize>(value: &T) -> [usize; N] {
    assert!(size_of::<T>() == N * WORD && align_of::<T>() == align_of::<usize>());
    // SAFETY: the caller's.
    unsafe { std::ptr::from_ref(value).cast::<[usize; N]>().read() }
}

/// Offsets of a vector's address and length. Its third word is the capacity.
fn words_of_vec<T>() -> Option<(usize, usize)> {
    if size_of::<T>() == 0 || size_of::<Vec<T>>() != 3 * WORD {
        return None;
    }
    let vec = Vec::<T>::with_capacity(ROOM);
    // SAFETY: a vector is an address, a capacity and a length.
    let found: [usize; 3] = unsafe { words(&vec) };
    let at = |value: usize| found.iter().position(|&word| word == value).map(|word| word * WORD);
    Some((at(vec.as_ptr().addr())?, at(0)?))
}

/// Offsets in [`Data`] of dense bytes: their address, their length, and a word with its value by which they are told from elements of a layout.
fn words_of_bytes() -> Option<[(&'static str, usize); 4]> {
    const BASE: usize = 0x5a5a_1000;
    const LENGTH: usize = 0x5a5a_2001;
    if size_of::<Data>() != 3 * WORD {
        return None;
    }
    let data = Data::Bytes(std::ptr::without_provenance_mut(BASE), LENGTH);
    // SAFETY: the variant has two words, and the third says that it is this variant.
    let found: [usize; 3] = unsafe { words(&data) };
    let at = |value: usize| found.iter().position(|&word| word == value);
    let (base, length) = (at(BASE)?, at(LENGTH)?);
    let kind = 3 - base - length;
    let typed = Data::Typed { base: std::ptr::null_mut(), count: 1, ty: Type::basic(tern_layout::Basic::Byte) };
    // SAFETY: the variant has three words.
    let other: [usize; 3] = unsafe { words(&typed) };
    let told = [("base", base * WORD), ("length", length * WORD), ("kind", kind * WORD), ("dense", found[kind])];
    (other[kind] != found[kind]).then_some(told)
}

/// What there is to know of [`Data`].
pub(crate) fn put_data(places: &mut Places, offset: usize) {
    places.put("data", offset);
    for (name, value) in words_of_bytes().into_iter().flatten() {
        places.put(&format!("data.{name}"), value);
    }
}

impl Adi {
    /// Where the posted receives and the unexpected messages of this process are, as long as it lives. Nothing moves them.
    pub fn places(&self) -> Places {
        let mut places = Places::default();
        let state = self.state.borrow();
        state.matching.put_places(&mut places);
        state.requests.put_places(&mut places);
        state.unexpected.put_places(&mut places);
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_vector_are_where_it_has_them() {
        let (first, length) = words_of_vec::<u32>().expect("a vector has three words");
        let vec = vec![7_u32, 8, 9];
        // SAFETY: a vector is an address, a capacity and a length.
        let found: [usize; 3] = unsafe { words(&vec) };
        assert_eq!((found[first / WORD], found[length / WORD]), (vec.as_ptr().addr(), 3));
    }

    #[test]
    fn dense_bytes_are_told_from_elements() {
        assert!(words_of_bytes().is_some(), "the layout of `Data` has changed");
    }
}
