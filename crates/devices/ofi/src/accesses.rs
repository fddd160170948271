//! Accesses to the memory of other processes that are under way: which requests each is made of, and in which order the
//! accesses of windows begin. A data structure: who makes the requests is `state/access.rs`.
//!
//! Providers promise little about the order of accesses. So an access of a window begins when those before it that it must
//! come after have ended: accesses to the same bytes, unless both read, and all before and after an atomic.

use crate::fabric::Change;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::null_mut;
use tern_device::runs::{Cursor, FEWEST};
use tern_device::{Memory, Run};
use tern_registration::Use;

/// Accesses to windows of one peer that have begun and not ended, at most: each that begins looks at them.
const BEGUN: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Read,
    Write,
    Change(Change),
}

/// Who is told of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The request that fetches a message.
    Pulled(u32),
    /// The request that sends one.
    Sent(u32),
    /// Nobody: it is one of the accesses to windows.
    Window,
}

/// One request: bytes of both processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub own: u64,
    pub theirs: u64,
    pub len: u64,
}

/// How a request names own memory.
#[derive(Clone, Copy, Debug)]
pub enum Own {
    /// As it is: the provider asks for nothing, or this is what it is shown.
    Here(*mut c_void),
    /// As a buffer of this crate, where its bytes are copied.
    Copied,
}

#[derive(Debug)]
pub struct Access {
    pub peer: u32,
    pub what: What,
    /// As the peer has handed it out.
    pub key: u64,
    pub pieces: Vec<Piece>,
    pub next: usize,
    pub own: Own,
    /// What is held of own memory.
    pub held: Option<Use>,
    /// Where an atomic stores what was there, unless it is null.
    pub was: *mut u64,
    pub flying: u32,
    pub failed: bool,
    pub end: End,
}

impl Access {
    pub fn new(peer: u32, what: What, key: u64, pieces: Vec<Piece>, end: End) -> Access {
        let own = Own::Here(null_mut());
        Access { peer, what, key, pieces, next: 0, own, held: None, was: null_mut(), flying: 0, failed: false, end }
    }

    pub fn is_over(&self) -> bool {
        self.flying == 0 && (self.failed || self.next == self.pieces.len())
    }
}

/// The requests between lists of runs, each of at most `longest` bytes.
pub fn pieces_of_runs(own: &[Run], theirs: &[Run], longest: u64) -> Vec<Piece> {
    let (mut from, mut to) = (Cursor::new(own), Cursor::new(theirs));
    let mut pieces = Vec::new();
    while let Some(there) = to.peek() {
        let Some(here) = from.take(there.len.min(longest)) else { break };
        to.take(here.len);
        pieces.push(Piece { own: here.address, theirs: there.address, len: here.len });
    }
    pieces
}

/// The requests between two layouts. `None`: they would be too short.
pub fn pieces_of_message(own: &Memory, theirs: &Memory, len: u64, longest: u64) -> Option<Vec<Piece>> {
    let most = (len / FEWEST).max(1);
    let (mut pieces, mut done) = (Vec::new(), 0);
    while done < len {
        let (here, there) = (own.run_at(done), theirs.run_at(done));
        let bytes = here.len.min(there.len).min(len - done).min(longest);
        pieces.push(Piece { own: here.address, theirs: there.address, len: bytes });
        done += bytes;
        if pieces.len() as u64 > most {
            return None;
        }
    }
    Some(pieces)
}

/// An access to a window, in turn with others to memory of the peer.
struct Turn {
    /// `None`: it has ended.
    access: Option<u32>,
    what: What,
    /// Where its bytes begin, and how many there are up to the last.
    span: (u64, u64),
}

impl Turn {
    /// Whether it must come after another that has begun before.
    fn follows(&self, before: &Turn, atomics_in_order: bool) -> bool {
        match (before.what, self.what) {
            (What::Change(_), What::Change(_)) => !atomics_in_order,
            (What::Change(_), _) | (_, What::Change(_)) => true,
            (What::Read, What::Read) => false,
            _ => {
                let ((first, len), (start, bytes)) = (before.span, self.span);
                first < start.saturating_add(bytes) && start < first.saturating_add(len)
            }
        }
    }
}

/// Accesses to windows of one peer. The numbers of those in turn are the last ones that began.
#[derive(Default)]
struct Ordered {
    begun: u64,
    ended: u64,
    turns: VecDeque<Turn>,
    /// So many of them are under way, or over.
    started: usize,
    lost: bool,
}

impl Ordered {
    /// The next one that may begin now.
    fn start(&mut self, atomics_in_order: bool) -> Option<u32> {
        let next = self.turns.get(self.started)?;
        let mut flying = self.turns.iter().take(self.started).filter(|turn| turn.access.is_some());
        let waits = self.lost || self.started >= BEGUN || flying.any(|before| next.follows(before, atomics_in_order));
        if waits {
            return None;
        }
        self.started += 1;
        next.access
    }

    /// An access is over.
    fn end(&mut self, access: u32, well: bool) {
        self.lost |= !well;
        if let Some(turn) = self.turns.iter_mut().find(|turn| turn.access == Some(access)) {
            turn.access = None;
        }
        while self.started > 0 && self.turns.front().is_some_and(|turn| turn.access.is_none()) {
            self.turns.pop_front();
            self.started -= 1;
            if !self.lost {
                self.ended += 1;
            }
        }
    }
}

/// All that are under way.
pub struct Accesses {
    all: Vec<Option<Access>>,
    free: Vec<u32>,
    peers: Vec<Ordered>,
    atomics_in_order: bool,
    /// Those of which requests are to be made, in turn.
    pub posting: VecDeque<u32>,
}

// SAFETY: one thread at a time uses them; the addresses in them belong to no thread.
unsafe impl Send for Accesses {}

impl Accesses {
    pub fn new(world: usize, atomics_in_order: bool) -> Accesses {
        let peers = (0..world).map(|_| Ordered::default()).collect();
        Accesses { all: Vec::new(), free: Vec::new(), peers, atomics_in_order, posting: VecDeque::new() }
    }

    pub fn is_idle(&self) -> bool {
        self.free.len() == self.all.len()
    }

    fn insert(&mut self, access: Access) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.all[at as usize] = Some(access);
                at
            }
            None => {
                self.all.push(Some(access));
                self.all.len() as u32 - 1
            }
        }
    }

    pub fn get(&mut self, at: u32) -> &mut Access {
        self.all[at as usize].as_mut().expect("it is under way")
    }

    /// Begins an access of a message.
    pub fn begin(&mut self, access: Access) {
        let at = self.insert(access);
        self.posting.push_back(at);
    }

    /// Begins an access to a window, in turn; its number. `span`: where the peer's memory lies that it touches, and its length.
    pub fn begin_in_turn(&mut self, access: Access, span: (u64, u64)) -> u64 {
        let (peer, what) = (access.peer as usize, access.what);
        let at = self.insert(access);
        let it = &mut self.peers[peer];
        it.turns.push_back(Turn { access: Some(at), what, span });
        it.begun += 1;
        let number = it.begun;
        self.advance(peer as u32);
        number
    }

    /// Has those posted whose turn it is.
    fn advance(&mut self, peer: u32) {
        while let Some(at) = self.peers[peer as usize].start(self.atomics_in_order) {
            self.posting.push_back(at);
        }
    }

    /// Forgets an access that is over.
    pub fn end(&mut self, at: u32) -> Access {
        let access = self.all[at as usize].take().expect("it was under way");
        self.free.push(at);
        if access.end == End::Window {
            self.peers[access.peer as usize].end(at, !access.failed);
            self.advance(access.peer);
        }
        access
    }

    /// No more begins towards that peer, and nothing of it ends well. Those of which nothing is under way are over.
    pub fn lose(&mut self, peer: u32) -> Vec<u32> {
        self.peers[peer as usize].lost = true;
        let mut over = Vec::new();
        for (at, access) in self.all.iter_mut().enumerate() {
            if let Some(access) = access.as_mut().filter(|access| access.peer == peer) {
                access.failed = true;
                if access.flying == 0 {
                    over.push(at as u32);
                }
            }
        }
        self.posting.retain(|&at| self.all[at as usize].as_ref().is_some_and(|access| !access.failed));
        over
    }

    pub fn begun(&self, peer: u32) -> u64 {
        self.peers[peer as usize].begun
    }

    pub fn ended(&self, peer: u32) -> u64 {
        self.peers[peer as usize].ended
    }

    pub fn is_lost(&self, peer: u32) -> bool {
        self.peers[peer as usize].lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(all: &mut Accesses, what: What, theirs: u64, len: u64) -> u64 {
        let pieces = vec![Piece { own: 0, theirs, len }];
        all.begin_in_turn(Access::new(0, what, 1, pieces, End::Window), (theirs, len))
    }

    fn posted(all: &mut Accesses) -> Vec<u32> {
        all.posting.drain(..).collect()
    }

    const ADD: What = What::Change(Change::Add(1));

    #[test]
    fn accesses_to_the_same_bytes_take_turns() {
        let mut all = Accesses::new(1, false);
        assert_eq!(begin(&mut all, What::Write, 100, 50), 1);
        begin(&mut all, What::Write, 150, 50);
        begin(&mut all, What::Read, 149, 2);
        begin(&mut all, What::Read, 149, 2);
        assert_eq!(posted(&mut all), [0, 1], "they do not overlap");
        all.end(1);
        assert_eq!((all.ended(0), posted(&mut all)), (0, vec![]), "the first is under way");
        all.end(0);
        assert_eq!((all.ended(0), posted(&mut all)), (2, vec![2, 3]), "two that read go together");
        begin(&mut all, ADD, 900, 8);
        let last = begin(&mut all, ADD, 908, 8);
        begin(&mut all, What::Read, 0, 1);
        assert!(posted(&mut all).is_empty(), "an atomic comes behind all");
        all.end(3);
        all.end(2);
        assert_eq!((all.ended(0), posted(&mut all).len()), (4, 1), "one atomic at a time");
        assert_eq!((last, all.begun(0)), (6, 7));
    }

    #[test]
    fn atomics_go_together_where_the_provider_keeps_their_order() {
        let mut all = Accesses::new(1, true);
        begin(&mut all, ADD, 0, 8);
        begin(&mut all, ADD, 0, 8);
        begin(&mut all, What::Write, 64, 8);
        assert_eq!(posted(&mut all), [0, 1]);
    }

    #[test]
    fn what_is_lost_never_ends_well() {
        let mut all = Accesses::new(1, false);
        begin(&mut all, What::Write, 0, 8);
        begin(&mut all, What::Read, 0, 8);
        all.get(0).flying = 1;
        assert_eq!(all.lose(0), [1], "of the first a request is under way");
        all.end(1);
        all.get(0).flying = 0;
        all.end(0);
        assert!(all.is_idle() && all.is_lost(0) && all.ended(0) == 0 && all.posting.is_empty());
    }

    #[test]
    fn layouts_meet_where_requests_are_long_enough() {
        let memory = |block: u64, stride: i64| Memory { address: 4096, len: 8192, block, stride, ..Memory::default() };
        let pieces = pieces_of_message(&memory(8192, 0), &memory(1024, 2000), 8192, 1000).expect("long ones");
        assert_eq!(pieces.len(), 16);
        assert_eq!(pieces[2], Piece { own: 4096 + 1024, theirs: 4096 + 2000, len: 1000 });
        assert_eq!(pieces.iter().map(|piece| piece.len).sum::<u64>(), 8192);
        assert_eq!(pieces_of_message(&memory(8, 64), &memory(8192, 0), 8192, 1 << 30), None, "rather packed");
        let run = |address, len| Run { address, len };
        let pieces = pieces_of_runs(&[run(0, 10), run(100, 10)], &[run(0, 5), run(50, 15)], 8);
        let all: Vec<_> = pieces.iter().map(|piece| (piece.own, piece.theirs, piece.len)).collect();
        assert_eq!(all, [(0, 0, 5), (5, 50, 5), (100, 55, 8), (108, 63, 2)]);
    }
}
