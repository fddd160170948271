//! Accesses to the memory of other processes: requests are made as there is room, and completions end them.

use super::State;
use crate::accesses::{Access, End, Own, Piece, What, pieces_of_message, pieces_of_runs};
use crate::fabric::{Change, Posted, There};
use std::ptr::null_mut;
use tern_counters as counters;
use tern_device::runs::{LONGEST, registered, span};
use tern_device::{Direction, Lost, Memory, Pull, Run, Word};

/// What a request belongs to.
#[derive(Clone, Copy)]
pub(super) struct Request {
    access: u32,
    /// The buffer that its bytes were copied to, or are to be copied from: to where, and how many.
    copy: Option<(u32, u64, u32)>,
}

pub(super) const UNUSED: Request = Request { access: 0, copy: None };

impl State {
    fn longest(&self) -> u64 {
        LONGEST.min(self.fabric.offer.endpoint().max_msg_size as u64)
    }

    // ---- messages

    /// Moves a message between own memory and that of a peer, both of which were located for it.
    pub fn move_message(&mut self, peer: u32, own: &Memory, theirs: &Memory, what: What, end: End) -> Pull {
        let len = own.len.min(theirs.len);
        let possible = own.key != 0 && theirs.key != 0 && !own.is_opaque() && !theirs.is_opaque() && len > 0;
        if !possible || self.peers[peer as usize].lost {
            return Pull::No;
        }
        let Some(pieces) = pieces_of_message(own, theirs, len, self.longest()) else { return Pull::No };
        let mut access = Access::new(peer, what, theirs.key, pieces, end);
        if self.registers {
            let (from, bytes) = own.span();
            let start = own.address.wrapping_add_signed(from);
            let Some(registered) = &mut self.registered else { return Pull::No };
            // It was located, and so is found; but not for as long as a request may be under way when a peer is lost.
            let Some(of) = registered.hold(&self.fabric, start, bytes) else { return Pull::No };
            access.own = Own::Here(registered.descriptor(of));
            access.held = Some(of);
        }
        let (count, total) = match what {
            What::Read => (&counters::NETWORK_READ, &counters::NETWORK_READ_BYTES),
            _ => (&counters::NETWORK_WRITTEN, &counters::NETWORK_WRITTEN_BYTES),
        };
        count.add(1);
        total.add(len);
        self.accesses.begin(access);
        self.post_accesses();
        // A later packet may arrive before the bytes are there.
        Pull::Unordered
    }

    // ---- windows

    /// See [`tern_device::RemoteMemory::transfer`].
    pub fn transfer(&mut self, peer: u32, own: &[Run], theirs: &[Run], key: u64, way: Direction) -> Result<u64, Lost> {
        let what = if way == Direction::Get { What::Read } else { What::Write };
        let total: u64 = own.iter().map(|run| run.len).sum();
        if total == 0 {
            return Ok(self.accesses.begun(peer));
        }
        let worth = registered(own, total).filter(|_| self.registers);
        let held = worth.and_then(|(low, len)| self.registered.as_mut()?.hold(&self.fabric, low, len));
        let copied = self.registers && held.is_none();
        let longest = if copied { self.sends.size() as u64 } else { self.longest() };
        let mut access = Access::new(peer, what, key, pieces_of_runs(own, theirs, longest), End::Window);
        access.held = held;
        access.own = match (&self.registered, held) {
            (Some(registered), Some(of)) => Own::Here(registered.descriptor(of)),
            _ if copied => Own::Copied,
            _ => Own::Here(null_mut()),
        };
        self.begin_in_turn(access, span(theirs))
    }

    /// Changes a word; what was there is stored at `was`, unless that is null.
    pub fn change(&mut self, word: Word, change: Change, was: *mut u64) -> Result<u64, Lost> {
        counters::NETWORK_ATOMICS.add(1);
        let pieces = vec![Piece { own: 0, theirs: word.address, len: 8 }];
        let access = Access { was, ..Access::new(word.peer, What::Change(change), word.key, pieces, End::Window) };
        self.begin_in_turn(access, (word.address, 8))
    }

    fn begin_in_turn(&mut self, access: Access, span: (u64, u64)) -> Result<u64, Lost> {
        let peer = access.peer;
        if self.accesses.is_lost(peer) {
            self.let_go(&access);
            return Err(Lost);
        }
        let number = self.accesses.begin_in_turn(access, span);
        self.post_accesses();
        Ok(number)
    }

    // ---- requests

    /// Makes requests, as many as there is room for: to each peer in order, and to others while one has no room.
    pub(super) fn post_accesses(&mut self) {
        let (mut place, mut full) = (0, Vec::new());
        while let Some(&at) = self.accesses.posting.get(place) {
            let access = self.accesses.get(at);
            let (peer, is_last) = (access.peer, access.next + 1 == access.pieces.len());
            if full.contains(&peer) {
                place += 1;
                continue;
            }
            let Some(to) = self.address(peer) else {
                // It is lost, and nothing that goes there stands in the queue any more.
                full.push(peer);
                continue;
            };
            match self.post_next(at, to) {
                Posted::Done if is_last => _ = self.accesses.posting.remove(place),
                Posted::Done => {}
                Posted::Busy if self.unused.is_empty() => return,
                Posted::Busy => {
                    self.gives_up(peer);
                    full.push(peer);
                }
                Posted::Failed(error) => {
                    self.lose_by(peer, error);
                    full.push(peer);
                }
            }
        }
    }

    /// Makes the next request of an access; `to` is the address of its peer.
    fn post_next(&mut self, at: u32, to: u64) -> Posted {
        let access = self.accesses.get(at);
        let (peer, what, key, own, piece) =
            (access.peer, access.what, access.key, access.own, access.pieces[access.next]);
        let Some(&request) = self.unused.last() else { return Posted::Busy };
        let copied = matches!(own, Own::Copied) && !matches!(what, What::Change(_));
        let copy = match copied {
            true => match self.sends.take(peer, piece.len as usize) {
                Some(buffer) => Some((buffer, piece.own, piece.len as u32)),
                None => return Posted::Busy,
            },
            false => None,
        };
        let (address, shown) = self.keys.of_peer(peer, &self.tokens[peer as usize], piece.theirs, key);
        let there = There { to, address, key: shown };
        let (memory, descriptor) = match (copy, own) {
            (Some((buffer, ..)), _) => self.sends.memory(buffer),
            (None, Own::Here(descriptor)) => (piece.own as *mut u8, descriptor),
            (None, Own::Copied) => (null_mut(), null_mut()),
        };
        let (context, len) = (self.requests.context(request), piece.len as usize);
        // SAFETY: own memory is the caller's, which leaves it to the access; a buffer, or a cell, is this request's own. Each
        // request has a context.
        let posted = unsafe {
            match what {
                What::Read => self.fabric.read(memory, len, descriptor, there, context),
                What::Write => {
                    if copy.is_some() {
                        std::ptr::copy_nonoverlapping(piece.own as *const u8, memory, len);
                    }
                    self.fabric.write(memory, len, descriptor, there, context)
                }
                What::Change(change) => {
                    let (cell, descriptor) = self.requests.cell(request);
                    self.fabric.change(change, cell, descriptor, there, context)
                }
            }
        };
        if posted != Posted::Done {
            copy.into_iter().for_each(|(buffer, ..)| self.sends.give(buffer));
            return posted;
        }
        self.unused.pop();
        self.of[request as usize] = Request { access: at, copy };
        let it = &mut self.peers[peer as usize];
        (it.is_reached, it.refused) = (true, None);
        let access = self.accesses.get(at);
        (access.next, access.flying) = (access.next + 1, access.flying + 1);
        if access.end == End::Window {
            counters::NETWORK_REMOTE.add(1);
        }
        posted
    }

    /// A request has ended.
    pub(super) fn end_request(&mut self, request: u32, error: isize) {
        let Request { access: at, copy } = std::mem::replace(&mut self.of[request as usize], UNUSED);
        self.unused.push(request);
        let access = self.accesses.get(at);
        access.flying -= 1;
        let (peer, what, was) = (access.peer, access.what, access.was);
        let well = error == 0 && !access.failed;
        access.failed |= error != 0;
        self.peers[peer as usize].is_heard |= error == 0;
        if let Some((buffer, own, len)) = copy {
            if well && what == What::Read {
                let (from, _) = self.sends.memory(buffer);
                // SAFETY: the buffer holds what was read; the caller leaves its memory to the access.
                unsafe { std::ptr::copy_nonoverlapping(from, own as *mut u8, len as usize) };
            }
            self.sends.give(buffer);
        }
        if let What::Change(_) = what
            && well
            && !was.is_null()
        {
            let (cell, _) = self.requests.cell(request);
            // SAFETY: the provider has written the cell, and the place is the caller's for that.
            unsafe { was.write_unaligned((*cell)[2]) };
        }
        if self.accesses.get(at).is_over() {
            self.end_access(at);
        }
        if error != 0 {
            self.lose_by(peer, error);
        }
    }

    fn end_access(&mut self, at: u32) {
        let access = self.accesses.end(at);
        self.let_go(&access);
        if !access.failed && access.end != End::Window {
            self.ends.push_back(access.end);
        }
        self.news = true;
    }

    fn let_go(&mut self, access: &Access) {
        if let (Some(registered), Some(of)) = (&mut self.registered, access.held) {
            registered.let_go(of);
        }
    }

    /// Nothing that is under way to that peer ends well.
    pub(super) fn fail_accesses(&mut self, peer: u32) {
        for at in self.accesses.lose(peer) {
            self.end_access(at);
        }
    }

    /// Messages that have ended, one at a time.
    pub fn take_end(&mut self) -> Option<End> {
        self.ends.pop_front()
    }
}
