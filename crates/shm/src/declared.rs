//! Memory that processes have declared to the kernel module: each tells its regions in the segment, where peers find them by
//! address. A request to send names memory as it does without the module.

use crate::directory::{Directory, REGIONS};
use crate::segment::Segment;
use std::cell::RefCell;
use std::ops::Range;
use tern_counters as counters;
use tern_device::Direction;
use tern_region::Run;
use tern_region::cma::{Beacon, Failed, Why};
use tern_region::module::{self, Module};

/// A region of this process.
struct Region {
    range: Range<u64>,
    declared: module::Declared,
    /// When it was used last.
    used: u64,
    /// Not to be given up for another one.
    kept: u32,
}

/// What this process has declared, and how it reaches what others have.
pub struct Declarations {
    module: Module,
    regions: RefCell<[Option<Region>; REGIONS]>,
    clock: std::cell::Cell<u64>,
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
        let directories = directories.collect();
        let regions = RefCell::new([const { None }; REGIONS]);
        let declarations = Declarations { module, regions, clock: Default::default(), directories, me: me as usize };
        declarations.declare(beacon.address(), size_of::<Beacon>() as u64, true);
        Some(declarations)
    }

    fn directory(&self, process: usize) -> &Directory {
        // SAFETY: the segment outlives self, and is made of atomics.
        unsafe { &*self.directories[process] }
    }

    /// Declares private memory of this process for all peers, if it is not; `keep`: until [`Declarations::end`]. Where the module
    /// cannot take it, peers do not find it.
    pub fn declare(&self, start: u64, len: u64, keep: bool) {
        if len == 0 || start.checked_add(len).is_none() {
            return;
        }
        let mut regions = self.regions.borrow_mut();
        let now = self.clock.get() + 1;
        self.clock.set(now);
        let range = start..start + len;
        for at in 0..REGIONS {
            let Some(region) = &mut regions[at] else { continue };
            if !self.module.is_current(&region.declared) {
                // The memory was unmapped, or somebody else's was that has the same word.
                self.give_up(at, &mut regions[at]);
            } else if region.range.start <= range.start && range.end <= region.range.end {
                region.used = now;
                region.kept += u32::from(keep);
                return;
            }
        }
        let Some(at) = self.room(&mut regions) else { return };
        let Some(declared) = self.create(&mut regions, start, len) else { return };
        self.directory(self.me).tell(at, start, len, declared.cookie);
        regions[at] = Some(Region { range, declared, used: now, kept: u32::from(keep) });
    }

    /// Ends what [`Declarations::declare`] keeps. The memory may be the program's from now on.
    pub fn end(&self, start: u64, len: u64) {
        let mut regions = self.regions.borrow_mut();
        let held = |region: &&mut Option<Region>| {
            let has = |range: &Range<u64>| range.start <= start && start + len <= range.end;
            region.as_ref().is_some_and(|region| region.kept > 0 && has(&region.range))
        };
        if let Some(Some(region)) = regions.iter_mut().find(held) {
            region.kept -= 1;
        }
    }

    /// A free place, or that of the region which was used longest ago.
    fn room(&self, regions: &mut [Option<Region>; REGIONS]) -> Option<usize> {
        if let Some(at) = regions.iter().position(Option::is_none) {
            return Some(at);
        }
        let at = self.oldest(regions)?;
        self.give_up(at, &mut regions[at]);
        Some(at)
    }

    fn oldest(&self, regions: &[Option<Region>; REGIONS]) -> Option<usize> {
        let free = |at: &usize| regions[*at].as_ref().is_some_and(|region| region.kept == 0);
        (0..REGIONS).filter(free).min_by_key(|&at| regions[at].as_ref().map(|region| region.used))
    }

    fn give_up(&self, at: usize, region: &mut Option<Region>) {
        self.directory(self.me).tell(at, 0, 0, 0);
        if let Some(region) = region.take() {
            self.module.destroy(region.declared);
        }
    }

    /// Memory that the program cannot write is for reading alone. When no more may be pinned, older regions go.
    fn create(&self, regions: &mut [Option<Region>; REGIONS], start: u64, len: u64) -> Option<module::Declared> {
        let segment = [Run::new(start as *const u8, len as usize)];
        let mut protection = module::READ | module::WRITE;
        loop {
            match self.module.create(&segment, protection) {
                Ok(declared) => {
                    counters::MODULE_REGIONS.add(1);
                    return Some(declared);
                }
                Err(libc::EFAULT) if protection != module::READ => protection = module::READ,
                Err(libc::ENOMEM | libc::EMFILE) => {
                    let at = self.oldest(regions)?;
                    self.give_up(at, &mut regions[at]);
                }
                Err(libc::EAGAIN | libc::EINTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// Copies between own memory and that of a peer, if the peer has declared it; both lists have the same length. `None`: it is to be
    /// copied in another way.
    ///
    /// # Safety
    /// As for [`Module::read`] or [`Module::write`].
    pub unsafe fn copy(&self, peer: u32, own: &[Run], theirs: &[Run], direction: Direction) -> Option<usize> {
        let directory = self.directory(peer as usize);
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
            // What has ended meanwhile may be declared again in another place.
            let done = directory.find(&Run { len, ..*run }).any(|(cookie, offset)| {
                // SAFETY: contract of this function.
                let result = unsafe {
                    match direction {
                        Direction::Get => self.module.read(cookie, offset, &part),
                        Direction::Put => self.module.write(cookie, offset, &part),
                    }
                };
                result == Ok(len)
            });
            if !done {
                counters::MODULE_MISSED.add(1);
                return None;
            }
            moved += len;
        }
        counters::MODULE_BYTES.add(moved as u64);
        Some(moved)
    }

    /// Proves that the module reaches the process which has this beacon ([`tern_region::cma::probe`]).
    pub fn probe(&self, peer: u32, address: u64, nonce: u64) -> bool {
        let missing = Failed { why: Why::Other, errno: libc::ENOENT, moved: 0 };
        let by = |direction, own: &[Run], theirs: &[Run]| {
            // SAFETY: `probe_by` gives words of its own and those of a beacon.
            unsafe { self.copy(peer, own, theirs, direction) }.ok_or(missing)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_cut_where_runs_end() {
        let run = |at: usize, len| Run::new(at as *const u8, len);
        let own = [run(100, 10), run(200, 0), run(300, 5)];
        let mut rest = Rest { runs: &own, done: 0 };
        let mut take = |len| {
            let mut part = Vec::new();
            rest.take(len, &mut part);
            part
        };
        assert_eq!(take(4), [run(100, 4)]);
        assert_eq!(take(8), [run(104, 6), run(300, 2)]);
        assert_eq!(take(9), [run(302, 3)]);
        assert_eq!(take(1), []);
    }
}
