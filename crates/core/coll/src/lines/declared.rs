//! Own memory that is declared to the kernel, so that other members may read it or write to it.

use crate::reach::is_exposed;
use tern_adi::Adi;
use tern_mcm::{Direction, Exposure, Memory};

/// Bytes of this process: null if they are in no one piece.
pub type Own = (*const u8, usize);

/// Own memory that others may be at by the kernel, until it is covered.
#[derive(Clone, Copy)]
pub(crate) struct Bare {
    memory: Own,
    /// Of the module's region that begins there; 0: there is none.
    pub cookie: u64,
}

impl Bare {
    pub fn new(adi: &Adi, memory: Own) -> Bare {
        let own = Memory::dense(memory.0, memory.1);
        let exposed = adi.mcm().direct().and_then(|direct| direct.expose(&own, Exposure::ByKernel));
        Bare { memory, cookie: exposed.map_or(0, |exposed| exposed.cookie) }
    }

    pub fn cover(self, adi: &Adi) {
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
    let there = |at| own.get(at).filter(|own: &&Own| is_exposed(Direction::Get) && !own.0.is_null());
    [0, 1].map(|at| there(at).map(|&memory| Bare::new(adi, memory)))
}

/// The same until this is dropped.
pub(super) fn declared<'a>(adi: &'a Adi, own: &[Own]) -> [Option<Exposed<'a>>; 2] {
    declare(adi, own).map(|bare| bare.map(|bare| Exposed::until_dropped(adi, bare)))
}

/// What is told of it.
pub(super) fn cookies(declared: &[Option<Exposed<'_>>; 2]) -> [u64; 2] {
    [0, 1].map(|at| declared[at].as_ref().map_or(0, Exposed::cookie))
}
