//! Memory that processes have declared to the kernel module. A request to send tells the cookie of its memory, and so does a published
//! receive. Memory that peers may be at for longer, of windows and collectives, is told in the segment, where they find it by
//! address.

#[cfg(test)]
mod standin;
mod table;
#[cfg(test)]
mod tests;

use crate::directory::{Directory, REGIONS};
use crate::segment::Segment;
use std::cell::RefCell;
use table::{Calls, Table};
use tern_counters as counters;
use tern_device::{Direction, Memory};
use tern_region::Run;
use tern_region::cma::{Beacon, Failed, Why};
use tern_region::module::Module;

/// By what the module knows memory of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Its owner has told no cookie.
    None,
    /// The region of this cookie, which begins at this address.
    Cookie(u64, u64),
    /// It is exposed for longer than one message, and is looked for among what is.
    Exposed,
}

impl Name {
    /// That of memory that a peer has told.
    pub fn of(memory: &Memory) -> Name {
        match memory.cookie {
            0 => Name::None,
            cookie => Name::Cookie(cookie, start(memory)),
        }
    }
}

/// The lowest address.
fn start(memory: &Memory) -> u64 {
    memory.address.wrapping_add_signed(memory.span().0)
}

/// Memory that peers find in the segment.
struct Exposed {
    start: u64,
    len: u64,
    cookie: u64,
    /// So often it was exposed.
    times: u32,
}

/// What this process has declared, and how it reaches what others have.
pub struct Declarations<M: Calls = Module> {
    module: M,
    table: RefCell<Table>,
    exposed: RefCell<[Option<Exposed>; REGIONS]>,
    /// Of all processes of the node.
    directories: Vec<*const Directory>,
    me: usize,
}

impl Declarations {
    /// For process `me` of a segment that outlives the value; `None`, and a line on the standard error, where there is no module.
    pub fn open(segment: &Segment, me: u32, beacon: &Beacon) -> Option<Declarations> {
        let module = match Module::open() {
            Ok(module) => module,
            Err(error) => {
                if segment.node().first_to_tell() {
                    tern_settings::warn!(
                        "TERN_MECHANISM=module: /dev/tern cannot be opened: {error}. Messages are copied as with \
                         TERN_MECHANISM=cma; docs/kernel-module.md tells how the module is installed"
                    );
                }
                return None;
            }
        };
        let directories = (0..segment.geometry.processes).map(|process| &raw const segment.process(process).declared);
        let declarations = Declarations::new(module, directories.collect(), me as usize);
        declarations.expose(beacon.address(), size_of::<Beacon>() as u64);
        Some(declarations)
    }
}

impl<M: Calls> Declarations<M> {
    /// The directories outlive the value.
    fn new(module: M, directories: Vec<*const Directory>, me: usize) -> Declarations<M> {
        let exposed = RefCell::new([const { None }; REGIONS]);
        Declarations { module, table: RefCell::default(), exposed, directories, me }
    }

    fn directory(&self, process: usize) -> &Directory {
        // SAFETY: the segment outlives self, and is made of atomics.
        unsafe { &*self.directories[process] }
    }

    /// Own memory, which is not opaque, with the cookie of its region. Where the module cannot take it, without one.
    pub fn named(&self, memory: &Memory) -> Memory {
        let (start, (_, len)) = (start(memory), memory.span());
        let cookie = self.table.borrow_mut().declare(&self.module, start, len);
        Memory { cookie: cookie.unwrap_or(0), ..*memory }
    }

    /// Declares private memory of this process for all peers, until [`Declarations::cover`]. Where the module cannot take it, or too
    /// much is exposed, peers do not find it.
    pub fn expose(&self, start: u64, len: u64) {
        let mut exposed = self.exposed.borrow_mut();
        if let Some(known) = exposed.iter_mut().flatten().find(|known| (known.start, known.len) == (start, len)) {
            known.times += 1;
            return;
        }
        let Some(at) = exposed.iter().position(Option::is_none) else { return };
        let Some((cookie, room)) = self.table.borrow_mut().keep(&self.module, start, len) else { return };
        exposed[at] = Some(Exposed { start, len, cookie, times: 1 });
        // All of the region: a peer may be at this memory and what lies behind it, which is exposed apart, in one copy.
        self.directory(self.me).tell(at, start, room, cookie);
    }

    /// Ends what [`Declarations::expose`] began. The memory may be the program's from now on.
    pub fn cover(&self, start: u64, len: u64) {
        let mut exposed = self.exposed.borrow_mut();
        let is_it =
            |known: &Option<Exposed>| known.as_ref().is_some_and(|known| (known.start, known.len) == (start, len));
        let Some(at) = exposed.iter().position(is_it) else { return };
        let Some(known) = &mut exposed[at] else { return };
        known.times -= 1;
        if known.times == 0 {
            self.directory(self.me).tell(at, 0, 0, 0);
            self.table.borrow_mut().end(start, known.cookie);
            exposed[at] = None;
        }
    }

    /// Copies between own memory and that of a peer, if the peer has declared it; both lists have the same length. `None`: it is to be
    /// copied in another way.
    ///
    /// # Safety
    /// As for [`Module::read`] or [`Module::write`].
    pub unsafe fn copy(
        &self, peer: u32, own: &[Run], (theirs, name): (&[Run], Name), direction: Direction,
    ) -> Option<usize> {
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
            // SAFETY: contract of this function.
            let copies = |cookie, offset| unsafe { self.call(cookie, offset, &part, direction) } == Ok(len);
            let done = match name {
                Name::None => false,
                Name::Cookie(cookie, start) => copies(cookie, (run.at as u64).wrapping_sub(start)),
                // What has ended meanwhile may be declared again in another place.
                Name::Exposed => {
                    let directory = self.directory(peer as usize);
                    directory.find(&Run { len, ..*run }).any(|(cookie, offset)| copies(cookie, offset))
                }
            };
            if !done {
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
    pub fn probe(&self, peer: u32, address: u64, nonce: u64) -> bool {
        let missing = Failed { why: Why::Other, errno: libc::ENOENT, moved: 0 };
        let by = |direction, own: &[Run], theirs: &[Run]| {
            // SAFETY: `probe_by` gives words of its own and those of a beacon.
            unsafe { self.copy(peer, own, (theirs, Name::Exposed), direction) }.ok_or(missing)
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
