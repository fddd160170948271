//! Memory that processes have declared to the kernel module. Whoever tells a peer of memory tells the cookie of its region too: a request
//! to send, a published receive, a collective, a window.

#[cfg(test)]
mod standin;
mod table;
#[cfg(test)]
mod tests;

use crate::segment::{Introduction, Node};
use std::cell::RefCell;
use table::{Calls, Table};
use tern_counters as counters;
use tern_device::{Direction, Memory, Name};
use tern_region::Run;
use tern_region::cma::{Failed, Why};
use tern_region::module::Module;

/// What this process has declared, and how it reaches what others have.
pub struct Declarations<M: Calls = Module> {
    module: M,
    table: RefCell<Table>,
}

impl Declarations {
    /// `None`, and a line on the standard error, where there is no module.
    pub fn open(node: &Node) -> Option<Declarations> {
        match Module::open() {
            Ok(module) => Some(Declarations::new(module)),
            Err(error) => {
                if node.first_to_tell() {
                    tern_settings::warn!(
                        "TERN_MECHANISM=module: /dev/tern cannot be opened: {error}. Messages are copied as with \
                         TERN_MECHANISM=cma; docs/kernel-module.md tells how the module is installed"
                    );
                }
                None
            }
        }
    }
}

impl<M: Calls> Declarations<M> {
    fn new(module: M) -> Declarations<M> {
        Declarations { module, table: RefCell::default() }
    }

    /// Own memory, which is not opaque, with the cookie of its region. Where the module cannot take it, without one.
    pub fn named(&self, memory: &Memory) -> Memory {
        let (start, (_, len)) = (memory.name().start, memory.span());
        let cookie = self.table.borrow_mut().declare(&self.module, start, len);
        Memory { cookie: cookie.unwrap_or(0), ..*memory }
    }

    /// Declares own memory in pieces, none of which is empty, as one region: its cookie; 0: the module does not take it.
    pub fn declare(&self, segments: &[Run]) -> u64 {
        self.table.borrow_mut().declare_segments(&self.module, segments).unwrap_or(0)
    }

    /// Copies the first bytes of the region that a peer has declared in pieces to own memory. False: it is to be copied in another way.
    ///
    /// # Safety
    /// As for [`Module::read`].
    pub unsafe fn read(&self, cookie: u64, own: &[Run]) -> bool {
        let len = own.iter().map(|run| run.len).sum::<usize>();
        // SAFETY: contract of this function.
        let copied = cookie != 0 && unsafe { self.module.read(cookie, 0, own) } == Ok(len);
        match copied {
            true => counters::MODULE_BYTES.add(len as u64),
            false => counters::MODULE_MISSED.add(1),
        }
        copied
    }

    /// Declares private memory of this process for all peers, until [`Declarations::cover`]: the cookie of a region that begins at `start`
    /// and has all of it; 0: the module does not take it.
    pub fn expose(&self, start: u64, len: u64) -> u64 {
        self.table.borrow_mut().keep(&self.module, start, len).unwrap_or(0)
    }

    /// Ends what [`Declarations::expose`] began, which gave this cookie. The memory may be the program's from now on.
    pub fn cover(&self, start: u64, cookie: u64) {
        self.table.borrow_mut().end(start, cookie);
    }

    /// Copies between own memory and that of a peer, if the peer has declared it; both lists have the same length. `None`: it is to be
    /// copied in another way.
    ///
    /// # Safety
    /// As for [`Module::read`] or [`Module::write`].
    pub unsafe fn copy(&self, own: &[Run], (theirs, name): (&[Run], Name), direction: Direction) -> Option<usize> {
        let mut rest = Rest { runs: own, done: 0 };
        let mut moved = 0;
        let mut part = Vec::with_capacity(own.len().min(16));
        for run in theirs {
            part.clear();
            rest.take(run.len, &mut part);
            let len: usize = part.iter().map(|run| run.len).sum();
            if len == 0 {
                break;
            }
            let offset = (run.at as u64).wrapping_sub(name.start);
            // SAFETY: contract of this function.
            let copied = name.cookie != 0 && unsafe { self.call(name.cookie, offset, &part, direction) } == Ok(len);
            if !copied {
                counters::MODULE_MISSED.add(1);
                return None;
            }
            moved += len;
        }
        counters::MODULE_BYTES.add(moved as u64);
        Some(moved)
    }

    /// # Safety
    /// As for [`Module::read`] or [`Module::write`].
    unsafe fn call(&self, cookie: u64, offset: u64, own: &[Run], direction: Direction) -> Result<usize, Failed> {
        // SAFETY: contract of this function.
        unsafe {
            match direction {
                Direction::Get => self.module.read(cookie, offset, own),
                Direction::Put => self.module.write(cookie, offset, own),
            }
        }
    }

    /// Proves that the module reaches the process which has this beacon ([`tern_region::cma::probe`]).
    pub fn probe(&self, introduced: &Introduction) -> bool {
        let &Introduction { address, nonce, cookie, .. } = introduced;
        let name = Name { cookie, start: address };
        let missing = Failed { why: Why::Other, errno: libc::ENOENT, moved: 0 };
        let by = |direction, own: &[Run], theirs: &[Run]| {
            // SAFETY: `probe_by` gives words of its own and those of a beacon.
            unsafe { self.copy(own, (theirs, name), direction) }.ok_or(missing)
        };
        let (get, put) = (
            |own: &[Run], theirs: &[Run]| by(Direction::Get, own, theirs),
            |own: &[Run], theirs: &[Run]| by(Direction::Put, own, theirs),
        );
        tern_region::cma::probe_by(address, nonce, get, put).is_ok()
    }
}

/// What is left of a list.
struct Rest<'a> {
    runs: &'a [Run],
    /// Bytes of its first run that are taken.
    done: usize,
}

impl Rest<'_> {
    /// Takes the next `len` bytes, or as many as there are.
    fn take(&mut self, mut len: usize, part: &mut Vec<Run>) {
        while let Some(run) = self.runs.first().filter(|_| len > 0) {
            let next = (run.len - self.done).min(len);
            if next > 0 {
                part.push(Run { at: run.at.wrapping_add(self.done), len: next });
            }
            len -= next;
            self.done += next;
            if self.done == run.len {
                self.runs = &self.runs[1..];
                self.done = 0;
            }
        }
    }
}
