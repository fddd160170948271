//! Part of the engine: long messages on their way, and the memory that peers may reach meanwhile.

use crate::Proc;
use std::collections::HashMap;
use tern_mcm::Memory;

/// A message that a receive is getting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Get {
    pub receiver: u32,
    pub from: Proc,
    /// The sender's request.
    pub sender: u32,
}

/// The end of a message that its receiver is to be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fin {
    pub to: Proc,
    pub receiver: u32,
}

/// What is on its way.
#[derive(Debug)]
pub struct Rendezvous {
    /// How long messages travel, where there is a choice.
    pub way: crate::Rendezvous,
    /// Messages on their way to receives that get them.
    gets: Vec<Get>,
    /// Messages on their way from here whose receivers are to be told of the end, by the send.
    fins: HashMap<u32, Fin>,
    /// Memory of transfers under way that peers have a key to.
    located: HashMap<u32, Memory>,
}

impl Rendezvous {
    pub fn new() -> Rendezvous {
        Rendezvous { way: crate::Rendezvous::Auto, gets: Vec::new(), fins: HashMap::new(), located: HashMap::new() }
    }

    /// Where the data of a transfer lies that peers have a key to.
    pub fn located(&self, request: u32) -> Option<&Memory> {
        self.located.get(&request)
    }

    /// The data of a transfer was located: what has a key stays reachable until the transfer is over.
    pub fn keep_located(&mut self, request: u32, memory: &Memory) {
        if memory.key != 0 {
            self.located.insert(request, *memory);
        }
    }

    /// True while peers have a key to some memory.
    #[inline]
    pub fn has_located(&self) -> bool {
        !self.located.is_empty()
    }

    /// Nobody reaches for the memory of a transfer any more: what has a key, which is to be given back.
    pub fn take_located(&mut self, request: u32) -> Option<Memory> {
        self.located.remove(&request)
    }

    /// The message of receive `receiver` is on its way.
    pub fn start_get(&mut self, get: Get) {
        self.gets.push(get);
    }

    /// It has come. `None`: its sender was told otherwise.
    pub fn end_get(&mut self, receiver: u32) -> Option<Get> {
        let at = self.gets.iter().position(|get| get.receiver == receiver)?;
        Some(self.gets.swap_remove(at))
    }

    /// The message of send `request` is on its way; its receiver is to be told of the end.
    pub fn start_put(&mut self, request: u32, fin: Fin) {
        self.fins.insert(request, fin);
    }

    /// It is where it belongs. `None`: its receiver was told already.
    pub fn end_put(&mut self, request: u32) -> Option<Fin> {
        if self.fins.is_empty() {
            return None;
        }
        self.fins.remove(&request)
    }

    /// `peer` is lost.
    pub fn forget(&mut self, peer: Proc) {
        self.gets.retain(|get| get.from != peer);
        self.fins.retain(|_, fin| fin.to != peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_to_be_told_is_told_once() {
        let mut rendezvous = Rendezvous::new();
        let (near, far) = (Get { receiver: 5, from: 1, sender: 9 }, Get { receiver: 6, from: 2, sender: 9 });
        rendezvous.start_get(near);
        rendezvous.start_get(far);
        assert_eq!((rendezvous.end_get(5), rendezvous.end_get(5)), (Some(near), None));
        let fin = Fin { to: 1, receiver: 3 };
        rendezvous.start_put(7, fin);
        assert_eq!((rendezvous.end_put(7), rendezvous.end_put(7)), (Some(fin), None));
        rendezvous.start_put(8, Fin { to: 2, receiver: 4 });
        rendezvous.forget(2);
        assert_eq!((rendezvous.end_get(6), rendezvous.end_put(8)), (None, None), "a lost peer is told nothing");
    }

    #[test]
    fn memory_with_a_key_is_kept_and_given_back_once() {
        let mut rendezvous = Rendezvous::new();
        rendezvous.keep_located(1, &Memory::opaque(100));
        assert!(rendezvous.located(1).is_none() && rendezvous.take_located(1).is_none(), "nobody has a key to it");
        rendezvous.keep_located(1, &Memory { key: 4, ..Memory::opaque(100) });
        assert!(rendezvous.located(1).is_some());
        assert_eq!(rendezvous.take_located(1).map(|memory| memory.key), Some(4));
        assert!(rendezvous.take_located(1).is_none());
    }
}
