//! Memory of one process of the node that another one copies from, or to, where it lies: by a mapping of shared memory, or by the
//! kernel.

use tern_adi::{Adi, Data, Proc};
use tern_copy::{Source, Target};
use tern_mcm::{Direct, Direction, Exposure, Lease, Memory, NotCopied, Run};
use tern_policy::collective::NoRegion;
use tern_settings::Mechanism;

/// Bytes that are moved at a time of data that is not dense.
const STEP: usize = 256 << 10;
/// Data with pieces of fewer bytes on average is packed for the kernel, which takes some time for each piece.
const PIECE: usize = 1 << 10;

/// Shortest block of memory that is told as a region: shorter ones are packed by their owner.
const BLOCK: u64 = 256;

/// Whether the user's setting lets memory be mapped.
pub(crate) fn may_map() -> bool {
    matches!(tern_settings::MECHANISM.get(), Mechanism::Auto | Mechanism::Mapped)
}

/// Whether it lets the kernel copy: itself, or by its module.
pub(crate) fn may_ask_kernel() -> bool {
    asks_kernel(tern_settings::MECHANISM.get())
}

fn asks_kernel(asked: Mechanism) -> bool {
    matches!(asked, Mechanism::Auto | Mechanism::Cma | Mechanism::Module)
}

/// Memory that another member may copy from or to, of a regular shape. Its place is 0 where it cannot be mapped, its address 0 where
/// the kernel is not to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region(Memory);

impl Region {
    pub const TOLD: usize = Memory::WORDS;

    /// One run of bytes, and the cookie of a region of the kernel module that begins there.
    pub fn dense(place: u64, address: u64, len: usize, cookie: u64) -> Region {
        Region(Memory { place, cookie, ..Memory::dense(address as *const u8, len) })
    }

    /// The same with the cookie that [`tern_mcm::SingleCopy::expose`] has given for its span.
    pub fn named(self, cookie: u64) -> Region {
        Region(Memory { cookie, ..self.0 })
    }

    pub fn encode(self) -> [u8; Region::TOLD] {
        self.0.encode()
    }

    /// `None`: there is no region.
    pub fn decode(told: &[u8]) -> Option<Region> {
        Memory::decode(told)
            .filter(|memory| (memory.place != 0 || memory.address != 0) && !memory.is_opaque())
            .map(Region)
    }

    /// What is told in place of a region.
    pub fn none(why: NoRegion) -> [u8; Region::TOLD] {
        let mut told = [0; Region::TOLD];
        told[Region::TOLD - 1] = why.number();
        told
    }

    /// The reverse.
    pub fn why_none(told: &[u8]) -> NoRegion {
        told.last().and_then(|&number| NoRegion::numbered(number)).unwrap_or(NoRegion::OutOfReach)
    }

    pub fn len(&self) -> usize {
        self.0.len as usize
    }

    /// Declares the memory of `data` for `peer`, until [`Region::end`]: to be read ([`Direction::Get`]), or to be written to. `None`
    /// if its shape is irregular, or `peer` cannot reach it.
    pub fn declare(adi: &Adi, peer: Proc, data: &Data, direction: Direction) -> Option<Region> {
        let direct = adi.mcm().direct().filter(|direct| direct.pair(peer).near)?;
        let region = Region::of(adi, peer, data, direction, || may_ask_kernel() && direct.pair(peer).kernel)?;
        if direction == Direction::Get {
            adi.keep_places(true);
        }
        let how = match is_exposed(direction) {
            true => Some(Exposure::ByKernel(Lease::Brief)),
            false if region.is_shared() => None,
            false => Some(Exposure::Named),
        };
        let exposed = how.and_then(|how| direct.expose(&span(data), how));
        Some(region.named(exposed.map_or(0, |exposed| exposed.cookie)))
    }

    /// The memory of `data` as others may reach it; `kernel` says whether the kernel copies to or from them.
    pub fn of(
        adi: &Adi, peer: Proc, data: &Data, direction: Direction, kernel: impl FnOnce() -> bool,
    ) -> Option<Region> {
        let direct = adi.mcm().direct()?;
        let memory = data.memory();
        if memory.block < BLOCK {
            return None;
        }
        let place = match direction {
            _ if !may_map() => 0,
            Direction::Get => adi.locate(peer, memory),
            // Only what never becomes private again may be written to where it lies.
            Direction::Put => placed(direct, &memory).unwrap_or(0),
        };
        // Of short blocks, the kernel takes longer than packing them.
        let address = if memory.block >= PIECE as u64 && kernel() { memory.address } else { 0 };
        (place != 0 || address != 0).then_some(Region(Memory { place, address, ..memory }))
    }

    /// Others have it mapped.
    pub fn is_shared(&self) -> bool {
        self.0.place != 0
    }

    /// Ends it: the peer has done with the memory.
    pub fn end(&self, adi: &Adi, data: &Data, direction: Direction) {
        if direction == Direction::Get {
            adi.keep_places(false);
        }
        if is_exposed(direction) {
            let exposed = Memory { cookie: self.0.cookie, ..span(data) };
            adi.mcm().direct().inspect(|direct| direct.release(&exposed));
        }
    }

    /// `len` bytes from byte `at` on of a region in one piece.
    fn part(&self, at: usize, len: usize) -> Memory {
        let from = |word: u64| if word == 0 { 0 } else { word + at as u64 };
        let Memory { place, address, .. } = self.0;
        Memory { place: from(place), ..Memory::dense(from(address) as *const u8, len) }
    }

    /// The runs of `len` bytes from byte `at` on: where each begins, counted from the first byte, and its bytes.
    fn runs(&self, at: usize, len: usize) -> impl Iterator<Item = (i64, usize)> {
        let memory = self.0;
        let (mut next, end) = (at as u64, (at + len) as u64);
        std::iter::from_fn(move || {
            let run = (next < end).then(|| memory.run_at(next))?;
            let some = run.len.min(end - next);
            next += some;
            Some((run.address.wrapping_sub(memory.address) as i64, some as usize))
        })
    }
}

/// Whether memory is exposed to others who copy from or to it, and kept so. What they write to must not come to be shared meanwhile. Where the
/// module alone copies, it copies only what was declared to it. What is read otherwise may have a name all the same ([`Exposure::Named`]).
pub(crate) fn is_exposed(direction: Direction) -> bool {
    direction == Direction::Put || tern_settings::MECHANISM.get() == Mechanism::Module
}

/// All memory from the first to the last byte of data.
pub(crate) fn span(data: &Data) -> Memory {
    let memory = data.memory();
    let (low, len) = memory.span();
    Memory::dense(memory.address.wrapping_add_signed(low) as *const u8, len as usize)
}

/// Where all of the memory lies in what the node shares for good.
fn placed(direct: &dyn Direct, memory: &Memory) -> Option<u64> {
    let (low, len) = memory.span();
    let start = memory.address.wrapping_add_signed(low) as *const u8;
    direct.place(start, len as usize).map(|place| place.wrapping_add_signed(-low))
}

/// How the memory of another process is reached.
pub(crate) struct Reach<'a> {
    pub direct: &'a dyn Direct,
    pub peer: Proc,
    pub direction: Direction,
}

impl Reach<'_> {
    /// Copies `len` bytes between `data` from byte `from` on and the region from its byte `at` on.
    ///
    /// Errors: not all could be reached.
    pub fn copy(&self, region: &Region, at: usize, data: &Data, from: usize, len: usize) -> Result<(), NotCopied> {
        match self.copy_mapped(region, at, data, from, len) {
            true => Ok(()),
            false => self.copy_by_kernel(region, at, data, from, len),
        }
    }

    /// The same if the region can be mapped; false if not.
    pub fn copy_mapped(&self, region: &Region, at: usize, data: &Data, from: usize, len: usize) -> bool {
        if region.0.place == 0 {
            return false;
        }
        let dense = region.0.is_dense();
        let memory = if dense { region.part(at, len) } else { region.0 };
        let Some(there) = self.direct.map(&memory, Lease::Brief) else { return false };
        if dense {
            self.copy_here(there, data, from, len);
            return true;
        }
        let mut done = from;
        for (offset, some) in region.runs(at, len) {
            self.copy_here(there.wrapping_offset(offset as isize), data, done, some);
            done += some;
        }
        true
    }

    /// Copies `len` bytes of `data` from byte `from` on, and of the region at `there`, where it is mapped.
    fn copy_here(&self, there: *mut u8, data: &Data, from: usize, len: usize) {
        // SAFETY: the owner leaves its memory to the members until all have said that they are done, and it is mapped for now. Own
        // memory is the program's, which leaves it to the collective.
        unsafe {
            match (data, self.direction) {
                (Data::Bytes(base, _), Direction::Get) => tern_copy::plain(base.add(from), there, len),
                (Data::Bytes(base, _), Direction::Put) => {
                    tern_copy::copy(there, base.add(from), len, Source::Any, Target::Peer);
                }
                (Data::Typed { base, count, ty }, Direction::Get) => {
                    ty.unpack(*base, *count, from as u64, std::slice::from_raw_parts(there, len));
                }
                (Data::Typed { base, count, ty }, Direction::Put) => {
                    ty.pack(*base, *count, from as u64, std::slice::from_raw_parts_mut(there, len));
                }
            }
        }
    }

    /// The same by the kernel.
    pub fn copy_by_kernel(
        &self, region: &Region, at: usize, data: &Data, from: usize, len: usize,
    ) -> Result<(), NotCopied> {
        if region.0.address == 0 || !self.direct.pair(self.peer).kernel {
            return Err(NotCopied::Refused);
        }
        match data {
            Data::Bytes(base, _) if region.0.is_dense() => {
                self.call(region, at, &[run(base.wrapping_add(from), len)], len)
            }
            _ => (0..len).step_by(STEP).try_for_each(|done| {
                let some = STEP.min(len - done);
                self.copy_pieces(region, at + done, data, from + done, some)
            }),
        }
    }

    /// The same of some bytes: by their pieces, or packed if these are short.
    fn copy_pieces(&self, region: &Region, at: usize, data: &Data, from: usize, len: usize) -> Result<(), NotCopied> {
        let Data::Typed { base, count, ty } = data else {
            let Data::Bytes(base, _) = data else { return Err(NotCopied::NotThere) };
            return self.call(region, at, &[run(base.wrapping_add(from), len)], len);
        };
        let pieces: Vec<Run> = ty
            .segments(0, *count, from as u64, len as u64)
            .take(len / PIECE + 1)
            .map(|(at, len)| run(base.wrapping_offset(at as isize), len as usize))
            .collect();
        if pieces.iter().map(|piece| piece.len).sum::<u64>() == len as u64 {
            return self.call(region, at, &pieces, len);
        }
        let mut packed = vec![0u8; len];
        let own = [run(packed.as_mut_ptr(), len)];
        // SAFETY: the program's buffer holds the data (MPI's own rule); `packed` is as long.
        unsafe {
            if self.direction == Direction::Put {
                ty.pack(*base, *count, from as u64, &mut packed);
                return self.call(region, at, &own, len);
            }
            self.call(region, at, &own, len)?;
            ty.unpack(*base, *count, from as u64, &packed);
        }
        Ok(())
    }

    fn call(&self, region: &Region, at: usize, own: &[Run], len: usize) -> Result<(), NotCopied> {
        let address = |offset: i64| region.0.address.wrapping_add_signed(offset);
        let theirs: Vec<Run>;
        let one = [Run { address: region.0.address + at as u64, len: len as u64 }];
        let theirs = match region.0.is_dense() {
            true => &one[..],
            false => {
                let runs = region.runs(at, len);
                theirs = runs.map(|(offset, len)| Run { address: address(offset), len: len as u64 }).collect();
                &theirs
            }
        };
        // SAFETY: own memory is the program's or as above, and the owner has told that its memory is there for this.
        unsafe { self.direct.copy(self.peer, own, (theirs, region.0.name()), self.direction) }
    }
}

fn run(at: *const u8, len: usize) -> Run {
    Run { address: at as u64, len: len as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_told_and_none_is_no_region() {
        let region = Region::dense(0, 0x7f00_0000_1000, 1 << 20, 5);
        assert_eq!(Region::decode(&region.encode()), Some(region));
        assert_eq!(Region::decode(&[0; Region::TOLD]), None);
        assert_eq!(region.part(4096, 8), Memory::dense(0x7f00_0000_2000 as *const u8, 8));
    }

    #[test]
    fn a_part_of_a_region_in_blocks_is_its_runs() {
        let region = Region(Memory { address: 1000, len: 24, block: 8, stride: 100, ..Memory::default() });
        assert_eq!(region.runs(0, 24).collect::<Vec<_>>(), [(0, 8), (100, 8), (200, 8)]);
        assert_eq!(region.runs(6, 11).collect::<Vec<_>>(), [(6, 2), (100, 8), (200, 1)]);
    }

    #[test]
    fn the_kernel_is_asked_with_its_module_too() {
        let asks: Vec<bool> = [Mechanism::Auto, Mechanism::Cma, Mechanism::Module, Mechanism::Mapped, Mechanism::Pipe]
            .into_iter()
            .map(asks_kernel)
            .collect();
        assert_eq!(asks, [true, true, true, false, false]);
    }
}
