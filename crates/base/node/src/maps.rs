//! This process's mappings, as the kernel tells them: PROCMAP_QUERY (Linux 6.11) on /proc/self/maps, or its text; and what
//! this process unmaps, told before the unmapping call returns ([`watch`]).

mod query;
mod vma;
pub mod watch;

pub use vma::{FileId, Vma};

use rustix::fd::OwnedFd;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::{self, Errno};
use std::ops::Range;

/// This process's mappings. In a child of fork it still answers for the parent: do not use it there.
pub struct Maps(OwnedFd, FileId);

impl Maps {
    /// Errors: of opening /proc/self/maps.
    pub fn open() -> io::Result<Maps> {
        let file = fs::open("/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let id = FileId::of(&file)?;
        Ok(Maps(file, id))
    }

    /// False if the program has closed the descriptor, as one that it does not know.
    pub fn is_open(&self) -> bool {
        FileId::of(&self.0).is_ok_and(|id| id == self.1)
    }

    /// The same where single mappings can be asked for. Errors: ENOTTY, or what a sandbox says, where they cannot.
    pub fn open_exact() -> io::Result<Maps> {
        let maps = Maps::open()?;
        // Something that is surely mapped: this process's stack.
        let here = (&raw const maps).addr();
        maps.query(here, query::COVERING)?.ok_or(Errno::NOTTY)?;
        Ok(maps)
    }

    /// The mapping that `address` lies in; `None` too where the kernel does not say.
    #[inline]
    pub fn at(&self, address: usize) -> Option<Vma> {
        self.query(address, query::COVERING).ok()?
    }

    /// That one, or the next after it.
    pub fn at_or_after(&self, address: usize) -> Option<Vma> {
        self.query(address, query::NEXT).ok()?
    }

    /// All mappings that are shared and of a file, in order of address.
    pub fn shared(&self) -> io::Result<Vec<Vma>> {
        let mut all = Vec::new();
        let mut address = 0;
        loop {
            match self.query(address, query::NEXT_SHARED_FILE) {
                Ok(None) => return Ok(all),
                Ok(Some(vma)) => {
                    address = vma.end;
                    all.push(vma);
                }
                // It did answer once; a sandbox may have come since.
                Err(_) => return self.shared_by_text(),
            }
        }
    }

    fn shared_by_text(&self) -> io::Result<Vec<Vma>> {
        let mut all = self.by_text()?;
        all.retain(Vma::is_shared_file);
        Ok(all)
    }

    /// True when all of `range` is mapped, may be written, and is this process's alone and of no file: the pages of
    /// other memory can go without an unmapping that this process makes (another process truncates the file).
    pub fn are_own(&self, range: Range<usize>) -> bool {
        let mut at = range.start;
        while at < range.end {
            match self.query(at, query::COVERING) {
                Ok(Some(vma)) if vma.is_own() => at = vma.end,
                Ok(_) => return false,
                // Older kernels, and sandboxes.
                Err(_) => return self.are_own_by_text(range),
            }
        }
        true
    }

    fn are_own_by_text(&self, range: Range<usize>) -> bool {
        let Ok(all) = self.by_text() else { return false };
        let mut at = range.start;
        for vma in all.iter().filter(|vma| vma.end > range.start) {
            if at >= range.end {
                break;
            }
            if vma.start > at || !vma.is_own() {
                return false;
            }
            at = vma.end;
        }
        at >= range.end
    }

    /// All of them, in order of address, by the text.
    pub fn by_text(&self) -> io::Result<Vec<Vma>> {
        let mut text = Vec::new();
        let mut part = [0; 4096];
        loop {
            match io::pread(&self.0, &mut part, text.len() as u64)? {
                0 => break,
                count => text.extend_from_slice(&part[..count]),
            }
        }
        let text = String::from_utf8_lossy(&text);
        text.lines().map(|line| Vma::parse(line).ok_or(Errno::INVAL)).collect()
    }
}

#[cfg(test)]
mod tests;
