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

    /// Fields of a structure, with their offsets.
    pub fn put_fields(&mut self, name: &str, fields: &[(&str, usize)]) {
        fields.iter().for_each(|(field, offset)| self.put(&format!("{name}.{field}"), *offset));
    }

    /// A vector: where it is, and how it lies.
    pub fn put_vec<T>(&mut self, name: &str, vec: &Vec<T>) {
        if size_of::<T>() > 0 {
            self.put_address(name, vec);
            let example = Vec::<T>::with_capacity(ROOM);
            self.put_words(name, &example, example.as_ptr().addr());
        }
    }

    /// How strings lie.
    pub fn put_text(&mut self, name: &str) {
        let example = String::with_capacity(ROOM);
        self.put_words(name, &example, example.as_ptr().addr());
    }

    /// Where an empty vector or string has the address of its elements, which is `first`, and its length.
    fn put_words<T: Words>(&mut self, name: &str, example: &T, first: usize) {
        if let Some([first, length]) = places_of(example, [first, 0]) {
            self.put_fields(name, &[("first", first), ("length", length)]);
        }
    }

    /// How elements of a vector of options lie.
    pub fn put_option<T>(&mut self, name: &str) {
        let none: Option<T> = None;
        let inside = none.as_slice().as_ptr().addr() - std::ptr::from_ref(&none).addr();
        self.put_fields(name, &[("size", size_of::<Option<T>>()), ("inside", inside)]);
    }
}

const WORD: usize = size_of::<usize>();
/// A capacity that is told from addresses and lengths.
const ROOM: usize = 5;

/// Types whose values leave no byte unset.
///
/// # Safety
/// That is so, as long as they are three words long.
unsafe trait Words {}
// SAFETY: an address, a capacity and a length.
unsafe impl<T> Words for Vec<T> {}
// SAFETY: a vector of bytes.
unsafe impl Words for String {}
// SAFETY: dense bytes are two words, and the third says that it is those; elements of a layout are three.
unsafe impl Words for Data {}

/// The three words of a value, if it has so many.
fn words<T: Words>(value: &T) -> Option<[usize; 3]> {
    let fits = size_of::<T>() == 3 * WORD && align_of::<T>() == align_of::<usize>();
    // SAFETY: the value is three words, of which all bytes are set.
    fits.then(|| unsafe { std::ptr::from_ref(value).cast::<[usize; 3]>().read() })
}

/// Offsets of the words with these values.
fn places_of<T: Words, const N: usize>(value: &T, wanted: [usize; N]) -> Option<[usize; N]> {
    let found = words(value)?;
    let places = wanted.map(|wanted| found.iter().position(|&word| word == wanted).map(|word| word * WORD));
    places.iter().all(Option::is_some).then(|| places.map(Option::unwrap_or_default))
}

/// Offsets in [`Data`] of dense bytes: their address, their length, and a word with its value by which they are told from elements of a layout.
fn places_of_bytes() -> Option<[(&'static str, usize); 4]> {
    const BASE: usize = 0x5a5a_1000;
    const LENGTH: usize = 0x5a5a_2001;
    let data = Data::Bytes(std::ptr::without_provenance_mut(BASE), LENGTH);
    let [base, length] = places_of(&data, [BASE, LENGTH])?;
    let kind = 3 * WORD - base - length;
    let typed = Data::Typed { base: std::ptr::null_mut(), count: 1, ty: Type::basic(tern_layout::Basic::Byte) };
    let [dense, other] = [words(&data)?[kind / WORD], words(&typed)?[kind / WORD]];
    (dense != other).then_some([("base", base), ("length", length), ("kind", kind), ("dense", dense)])
}

/// What there is to know of [`Data`].
pub(crate) fn put_data(places: &mut Places, offset: usize) {
    places.put("data", offset);
    places.put_fields("data", &places_of_bytes().unwrap_or_default());
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
        let empty = Vec::<u32>::with_capacity(ROOM);
        let [first, length] = places_of(&empty, [empty.as_ptr().addr(), 0]).expect("a vector has three words");
        let vec = vec![7_u32, 8, 9];
        let found = words(&vec).expect("a vector has three words");
        assert_eq!((found[first / WORD], found[length / WORD]), (vec.as_ptr().addr(), 3));
    }

    #[test]
    fn dense_bytes_are_told_from_elements() {
        assert!(places_of_bytes().is_some(), "the layout of `Data` has changed");
    }
}
