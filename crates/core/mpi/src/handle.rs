//! Handles: how a program names an object of the library.
//!
//! Predefined handles are the standard ABI's constants below 4096. The others carry
//! (kind, generation, index), so that a freed or foreign handle is recognised:
//! bits 0..20 index, 20..26 generation, 26..31 kind + 1, and the index's further bits from 32 on.
//! Values of objects whose index fits in 20 bits fit an `int` (MPI_Comm_toint and the like).

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Comm,
    Group,
    Datatype,
    Op,
    Errhandler,
    Info,
    Request,
    Message,
    Win,
    File,
    Session,
    /// A request of the point-to-point engine, by the engine's own name for it.
    Transfer,
    /// A receive that was complete when it started.
    Received,
    /// Of the tool interface: an enumeration, a variable's handle, a session, an event.
    ToolEnum,
    ToolCvar,
    ToolPvar,
    ToolSession,
    ToolRegistration,
    ToolEvent,
}

/// Objects of one kind by handle. `T` is an `Rc` or a small value.
#[derive(Debug)]
pub struct Table<T> {
    kind: Kind,
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    /// What names it, generation and all.
    handle: usize,
    value: Option<T>,
}

const INDEX_BITS: u32 = 20;
const GENERATIONS: u8 = 64;

/// The handle of object `index` of a kind, of which `generation` is below 64.
#[inline]
pub fn encode(kind: Kind, index: u32, generation: u8) -> usize {
    let low = (index & ((1 << INDEX_BITS) - 1)) as usize;
    let high = (index >> INDEX_BITS) as usize;
    low | (generation as usize) << INDEX_BITS | (kind as usize + 1) << 26 | high << 32
}

/// Index and generation of a handle, if it is of that kind.
#[inline]
pub fn decode(kind: Kind, handle: usize) -> Option<(usize, u8)> {
    let generation = (handle >> INDEX_BITS) & 63;
    ((handle >> 26) & 31 == kind as usize + 1).then_some((index_of(handle), generation as u8))
}

#[inline]
fn index_of(handle: usize) -> usize {
    handle & ((1 << INDEX_BITS) - 1) | (handle >> 32) << INDEX_BITS
}

impl<T> Slot<T> {
    /// The object, which is no longer named.
    #[inline]
    fn take(&mut self, kind: Kind) -> Option<T> {
        let (index, generation) = decode(kind, self.handle)?;
        self.handle = encode(kind, index as u32, (generation + 1) % GENERATIONS);
        self.value.take()
    }
}

impl<T> Table<T> {
    pub const fn new(kind: Kind) -> Table<T> {
        Table { kind, slots: Vec::new(), free: Vec::new() }
    }

    #[inline]
    fn slot_mut(&mut self, handle: usize) -> Option<&mut Slot<T>> {
        self.slots.get_mut(index_of(handle)).filter(|slot| slot.handle == handle)
    }

    /// Stores an object and names it. `make` learns the handle before the object exists.
    pub fn insert_with(&mut self, make: impl FnOnce(usize) -> T) -> usize {
        let handle = self.reserve();
        self.fill(handle, Some(make(handle)));
        handle
    }

    #[inline]
    pub fn insert(&mut self, value: T) -> usize {
        let handle = self.reserve();
        self.slots[index_of(handle)].value = Some(value);
        handle
    }

    /// A handle for an object that is yet to be made (by a nonblocking call): nothing is found
    /// under it until [`Table::fill`].
    #[inline]
    pub fn reserve(&mut self) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.slots.len() as u32;
            self.slots.push(Slot { handle: encode(self.kind, index, 0), value: None });
            index
        });
        let handle = self.slots[index as usize].handle;
        crate::observe::made(handle);
        handle
    }

    /// Puts the object under its reserved handle; `None` gives the handle up.
    pub fn fill(&mut self, handle: usize, value: Option<T>) {
        let kind = self.kind;
        let Some(slot) = self.slot_mut(handle) else { return };
        slot.value = value;
        if slot.value.is_none() {
            slot.take(kind);
            self.free.push(index_of(handle) as u32);
        }
    }

    #[inline]
    pub fn get(&self, handle: usize) -> Option<&T> {
        let slot = self.slots.get(index_of(handle))?;
        if slot.handle == handle { slot.value.as_ref() } else { None }
    }

    pub fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        self.slot_mut(handle)?.value.as_mut()
    }

    /// Takes the object out; its handle is stale from now on.
    #[inline]
    pub fn remove(&mut self, handle: usize) -> Option<T> {
        let kind = self.kind;
        let slot = self.slot_mut(handle).filter(|slot| slot.value.is_some())?;
        let value = slot.take(kind);
        self.free.push(index_of(handle) as u32);
        value
    }

    /// The objects with their handles.
    pub fn with_handles(&self) -> impl Iterator<Item = (usize, &T)> {
        self.slots.iter().filter_map(|slot| Some((slot.handle, slot.value.as_ref()?)))
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.value.as_ref())
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| slot.value.as_mut())
    }

    /// The handles of all objects.
    pub fn handles(&self) -> impl Iterator<Item = usize> {
        self.with_handles().map(|(handle, _)| handle)
    }

    /// Takes out the objects that `is` accepts.
    pub fn remove_if(&mut self, is: impl Fn(&T) -> bool) {
        let found: Vec<usize> = self.handles().filter(|&handle| self.get(handle).is_some_and(&is)).collect();
        found.into_iter().for_each(|handle| _ = self.remove(handle));
    }

    /// Takes out all objects. Their handles stay stale.
    pub fn clear(&mut self) {
        self.remove_if(|_| true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_handle_is_not_found() {
        let mut table = Table::new(Kind::Comm);
        let a = table.insert("a");
        assert_eq!(table.get(a), Some(&"a"));
        assert!((4096..1 << 31).contains(&a));
        assert_eq!(table.remove(a), Some("a"));
        let b = table.insert("b");
        assert_ne!(a, b);
        assert_eq!(table.get(a), None);
        assert_eq!(table.remove(a), None);
        assert_eq!(table.get(b), Some(&"b"));
    }

    #[test]
    fn a_reserved_handle_is_found_once_filled() {
        let mut table = Table::new(Kind::Comm);
        let (a, b) = (table.reserve(), table.reserve());
        assert_eq!(table.get(a), None);
        table.fill(a, Some("a"));
        assert_eq!(table.get(a), Some(&"a"));
        table.fill(b, None);
        let c = table.insert("c");
        assert_ne!(b, c);
        assert_eq!(table.get(b), None);
    }

    #[test]
    fn handles_of_different_kinds_differ() {
        let mut comms = Table::new(Kind::Comm);
        let mut groups = Table::new(Kind::Group);
        let c = comms.insert(1);
        groups.insert(2);
        assert_eq!(groups.get(c), None);
    }

    #[test]
    fn more_objects_than_the_index_bits_hold() {
        let mut table = Table::new(Kind::Request);
        let handles: Vec<usize> = (0..(1 << 20) + 3).map(|i| table.insert(i)).collect();
        for (i, &h) in handles.iter().enumerate() {
            assert_eq!(table.get(h), Some(&i));
        }
    }
}
