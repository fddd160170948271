//! Own memory that is declared to the kernel, so that other members may read it or write to it.

use crate::reach::is_exposed;
use tern_adi::Adi;
use tern_mcm::{Direction, Exposure, Lease, Memory};

/// Bytes of this process: null if they are in no one piece.
pub type Own = (*const u8, usize);

/// Own memory that others may be at by the kernel, until it is covered.
#[derive(Clone, Copy)]
pub(crate) struct Bare {
    memory: Own,
    /// Of the module's region that begins there; 0: there is none.
    pub cookie: u64,
    /// It is kept so until it is covered.
    kept: bool,
}

impl Bare {
    pub fn new(adi: &Adi, memory: Own) -> Bare {
        let own = Memory::dense(memory.0, memory.1);
        let exposed = adi.mcm().direct().and_then(|direct| direct.expose(&own, Exposure::ByKernel(Lease::Brief)));
        Bare { memory, cookie: exposed.map_or(0, |exposed| exposed.cookie), kept: true }
    }

    /// Own memory that others read. `None`: it has no name for them.
    pub fn for_reading(adi: &Adi, memory: Own) -> Option<Bare> {
        if is_exposed(Direction::Get) {
            return Some(Bare::new(adi, memory));
        }
        let named = adi.mcm().direct()?.expose(&Memory::dense(memory.0, memory.1), Exposure::Named)?;
        Some(Bare { memory, cookie: named.cookie, kept: false })
    }

    pub fn cover(self, adi: &Adi) {
        if !self.kept {
            return;
        }
        let (memory, len) = self.memory;
        let exposed = Memory { cookie: self.cookie, ..Memory::dense(memory, len) };
        adi.mcm().direct().inspect(|direct| direct.release(&exposed));
    }
}

/// The same until this is dropped.
pub(super) struct Exposed<'a>(&'a Adi, Bare);

impl<'a> Exposed<'a> {
    pub fn new(adi: &'a Adi, memory: Own) -> Exposed<'a> {
        Exposed(adi, Bare::new(adi, memory))
    }

    /// Memory that others read ([`Direction::Get`]), or write to.
    pub fn of(adi: &'a Adi, memory: Own, direction: Direction) -> Option<Exposed<'a>> {
        match direction {
            Direction::Put => Some(Exposed::new(adi, memory)),
            Direction::Get => Bare::for_reading(adi, memory).map(|bare| Exposed(adi, bare)),
        }
    }

    pub fn until_dropped(adi: &'a Adi, bare: Bare) -> Exposed<'a> {
        Exposed(adi, bare)
    }

    pub fn cookie(&self) -> u64 {
        self.1.cookie
    }
}

impl Drop for Exposed<'_> {
    fn drop(&mut self) {
        self.1.cover(self.0);
    }
}

/// What others are to read, declared to the kernel's module, where that copies.
pub(crate) fn declare(adi: &Adi, own: &[Own]) -> [Option<Bare>; 2] {
    let there = |at| own.get(at).filter(|own: &&Own| !own.0.is_null());
    [0, 1].map(|at| there(at).and_then(|&memory| Bare::for_reading(adi, memory)))
}

/// The same until this is dropped.
pub(super) fn declared<'a>(adi: &'a Adi, own: &[Own]) -> [Option<Exposed<'a>>; 2] {
    declare(adi, own).map(|bare| bare.map(|bare| Exposed::until_dropped(adi, bare)))
}

/// What is told of it.
pub(super) fn cookies(declared: &[Option<Exposed<'_>>; 2]) -> [u64; 2] {
    [0, 1].map(|at| declared[at].as_ref().map_or(0, Exposed::cookie))
}
