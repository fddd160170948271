//! Values by small number, reused: no allocation once warm.

/// A slab of `T`.
#[derive(Debug)]
pub struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab { entries: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = Some(value);
            return index;
        }
        self.entries.push(Some(value));
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
        self.free.push(index);
    }

    #[inline]
    pub fn remove(&mut self, index: u32) -> T {
        let value = self.entries[index as usize].take().expect("a live entry");
        self.free.push(index);
        value
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten()
    }

    /// How many live.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}
