//! Values by small number, reused: no allocation once warm.

use crate::Places;

/// Entries whose memory is kept for the next ones.
const KEPT: usize = 1024;

/// A slab of `T`.
#[derive(Debug)]
pub struct Slab<T> {
    entries: Vec<Option<T>>,
    /// How often each number was freed, by which a later use is told from an earlier one.
    generations: Vec<u8>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab { entries: Vec::new(), generations: Vec::new(), free: Vec::new() }
    }

    /// The number that the next value gets.
    #[inline]
    pub fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.entries.len() as u32)
    }

    // Always: so the value is made where it stays, and no copy waits for what was stored in parts just before.
    #[inline(always)]
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = Some(value);
            return index;
        }
        self.entries.push(Some(value));
        self.generations.push(0);
        self.entries.len() as u32 - 1
    }

    #[inline]
    pub fn get(&self, index: u32) -> &T {
        self.entries[index as usize].as_ref().expect("a live entry")
    }

    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        self.entries[index as usize].as_mut().expect("a live entry")
    }

    /// Frees the entry without looking at it again.
    #[inline]
    pub fn free(&mut self, index: u32) {
        self.entries[index as usize] = None;
        self.outdate(index);
        self.free.push(index);
    }

    #[inline]
    pub fn remove(&mut self, index: u32) -> T {
        let value = self.entries[index as usize].take().expect("a live entry");
        self.outdate(index);
        self.free.push(index);
        value
    }

    /// Gives memory back if nothing lives where much has. Numbers are told from earlier uses no more.
    #[inline]
    pub fn trim(&mut self) {
        if self.entries.len() > KEPT && self.entries.len() == self.free.len() {
            *self = Slab::new();
        }
    }

    /// Which use of the number this is; wraps.
    #[inline]
    pub fn generation(&self, index: u32) -> u8 {
        self.generations[index as usize]
    }

    /// Makes the entry another generation.
    #[inline]
    pub fn outdate(&mut self, index: u32) {
        let generation = &mut self.generations[index as usize];
        *generation = generation.wrapping_add(1);
    }

    /// The entry, if there is one.
    #[inline]
    pub fn find(&self, index: u32) -> Option<&T> {
        self.entries.get(index as usize)?.as_ref()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten()
    }

    /// Those that live, with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        let numbered = self.entries.iter().enumerate();
        numbered.filter_map(|(index, entry)| Some((index as u32, entry.as_ref()?)))
    }

    /// Where its entries are, for a debugger.
    pub fn put_places(&self, name: &str, places: &mut Places) {
        places.put_vec(name, &self.entries);
        places.put_option::<T>(name);
    }

    /// How many live.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}
