//! Memory that processes have declared to the kernel module. Whoever tells a peer of memory tells the cookie of its region too: a request
//! to send, a published receive, a collective, a window.

#[cfg(test)]
mod standin;
mod table;
#[cfg(test)]
mod tests;

use crate::memcheck;
use crate::segment::{Introduction, Node};
use std::cell::RefCell;
use std::io::ErrorKind;
use std::sync::atomic::AtomicU32;
use table::{Calls, Missing, Table};
use tern_counters as counters;
use tern_device::{Direction, Memory, Name};
use tern_policy::costs::Placement;
use tern_policy::declaration::{Declaration, DeclaredFor, Use};
use tern_region::Run;
use tern_region::cma::{Failed, Why};
use tern_region::module::{Beside, Module};
use tern_settings::Mechanism;

/// What this process has declared, and how it reaches what others have.
pub struct Declarations<M: Calls = Module> {
    module: M,
    policy: RefCell<Declaration>,
    table: RefCell<Table>,
}

/// The module, where the user's setting allows it and it is there. Where it cannot be opened a line says so: on the standard error if the user
/// has asked for it.
pub fn open(node: &Node, asked: Mechanism) -> Option<Module> {
    // Valgrind does not know the module's calls.
    let is_wanted = asked == Mechanism::Module || asked == Mechanism::Auto && !memcheck::is_running();
    let error = match is_wanted.then(Module::open)? {
        Ok(module) => return Some(module),
        Err(error) => error,
    };
    if asked == Mechanism::Module && node.first_to_tell() {
        tern_settings::warn!(
            "TERN_MECHANISM=module: /dev/tern cannot be opened: {error}. Messages are copied as with \
             TERN_MECHANISM=cma; docs/kernel-module.md tells how the module is installed"
        );
    } else if asked == Mechanism::Auto && error.kind() != ErrorKind::NotFound && node.first_to_tell() {
        tern_settings::info!(
            "/dev/tern is there and cannot be opened: {error}. Messages are copied without the kernel module"
        );
    }
    None
}

impl<M: Calls> Declarations<M> {
    pub fn new(module: M, policy: Declaration) -> Declarations<M> {
        Declarations { module, policy: RefCell::new(policy), table: RefCell::default() }
    }

    /// Whether each copy by the kernel goes by the module, because the user has asked for it.
    pub fn are_asked_for(&self) -> bool {
        self.policy.borrow().is_asked()
    }

    /// Whether a copy of so many bytes of declared memory goes by the module ([`Declaration::takes`]).
    #[inline]
    pub fn takes(&self, len: usize, by_number: bool) -> bool {
        self.policy.borrow().takes(len, by_number)
    }

    /// Own memory, which is not opaque, with the cookie of its region. Where the module cannot take it, or where that does not pay, without one.
    /// `by`: who copies, and whether the kernel copies for it by the number of this process too.
    pub fn named(&self, memory: &Memory, by: (Placement, bool)) -> Memory {
        let (start, (_, len)) = (memory.name().start, memory.span());
        // Of memory at long strides most of what would be pinned is not copied.
        let pays = memory.place == 0 && memory.len >= len / 2;
        if !pays && !self.are_asked_for() {
            return *memory;
        }
        let of = used(start, len, by, DeclaredFor::Transfer);
        let cookie = self.ask(&of, |table, due| table.declare(&self.module, start, len, due));
        Memory { cookie, ..*memory }
    }

    /// Declares own memory in pieces, none of which is empty, as one region: its cookie; 0: it has none.
    pub fn declare(&self, segments: &[Run], by: (Placement, bool)) -> u64 {
        let len = segments.iter().map(|run| run.len as u64).sum();
        let of = used(segments.first().map_or(0, |run| run.at as u64), len, by, DeclaredFor::Transfer);
        self.ask(&of, |table, due| table.declare_segments(&self.module, segments, due))
    }

    /// Declares private memory of this process for all peers, until [`Declarations::cover`]: the cookie of a region that begins at `start`
    /// and has all of it; 0: it has none.
    pub fn expose(&self, start: u64, len: u64, by: (Placement, bool), purpose: DeclaredFor) -> u64 {
        let of = used(start, len, by, purpose);
        self.ask(&of, |table, due| table.keep(&self.module, start, len, due))
    }

    /// The same of what every peer has to reach.
    pub fn introduce(&self, start: u64, len: u64) -> u64 {
        self.table.borrow_mut().keep(&self.module, start, len, || true).unwrap_or(0)
    }

    /// The cookie that the table gives, which asks whether it is time to declare the memory; 0: there is none.
    fn ask(&self, of: &Use, find: impl FnOnce(&mut Table, &mut dyn FnMut() -> bool) -> Result<u64, Missing>) -> u64 {
        let mut policy = self.policy.borrow_mut();
        let found = find(&mut self.table.borrow_mut(), &mut || policy.is_due(of));
        if found == Err(Missing::Refused) {
            policy.refused(of.start, of.len);
        }
        found.unwrap_or(0)
    }

    /// Ends what [`Declarations::expose`] began, which gave this cookie. The memory may be the program's from now on.
    pub fn cover(&self, start: u64, cookie: u64) {
        self.table.borrow_mut().end(start, cookie);
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
            false => self.count_missed(cookie),
        }
        copied
    }

    /// Where the user has not asked for the module, memory may well have no region.
    fn count_missed(&self, cookie: u64) {
        if cookie != 0 || self.are_asked_for() {
            counters::MODULE_MISSED.add(1);
        }
    }

    /// See [`Table::forget`].
    pub fn forget(&self, start: u64, cookie: u64) {
        self.table.borrow_mut().forget(&self.module, start, cookie);
    }

    /// Starts a copy between own memory and the beginning of a region of a peer's, into the region where `writes` says so; false: it cannot
    /// be started.
    ///
    /// # Safety
    /// As for [`Module::start`].
    pub unsafe fn start(
        &self, own: &[Run], cookie: u64, writes: bool, beside: Beside, status: *const AtomicU32,
    ) -> bool {
        // SAFETY: contract of this function.
        cookie != 0 && unsafe { self.module.start((cookie, 0), own, writes, beside, status) }.is_ok()
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
                self.count_missed(name.cookie);
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

/// A use of memory, of which the placement of the other process is known, and whether CMA works between the two.
fn used(start: u64, len: u64, (placement, by_number): (Placement, bool), purpose: DeclaredFor) -> Use {
    Use { start: start as usize, len: len as usize, placement, by_number, purpose }
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
