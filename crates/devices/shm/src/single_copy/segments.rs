//! Memory in segments: own regions, and copies out of regions of peers and out of other memory that they have told of.

use super::RegionAccess;
use super::kernel::{as_runs, counted};
use crate::regions::{SEGMENTS, Table};
use crate::segment::Process;
use tern_counters as counters;
use tern_device::runs::Cursor;
use tern_device::{Direction, Memory, Run};
use tern_policy::SegmentsBy;
use tern_policy::costs::Placement;
use tern_region::{Place, cma};

impl RegionAccess {
    /// Opens a region of own memory for this peer, which is there; `own` is this process. `None`: there are too many.
    pub fn open_region(&self, own: &Process, span: &Memory, segments: &[Run], by: (u32, Placement)) -> Option<Memory> {
        let key = self.regions.open(segments, || self.make_table(own))?;
        let declarations =
            self.declarations.as_ref().filter(|declarations| span.place == 0 || declarations.are_asked_for());
        let by = || (by.1, self.has_number(by.0));
        let cookie = declarations.map_or(0, |declarations| declarations.declare(as_runs(segments), by()));
        let &Memory { address, place, .. } = span;
        Some(Memory { address, place, len: sum(segments), key, cookie, ..Memory::default() })
    }

    /// Closes a region of own memory.
    pub fn close_region(&self, region: &Memory) {
        self.regions.close(region.key);
    }

    /// The table of own regions, which stays.
    fn make_table(&self, own: &Process) -> Option<&'static Table> {
        let at = self.heap.allocate(size_of::<Table>()).ok()?;
        own.tell_regions(self.heap.place(at, size_of::<Table>())?.0);
        // SAFETY: fresh zeros at the beginning of a page, which nobody frees; all fields are atomics.
        Some(unsafe { &*at.cast() })
    }

    /// Copies the first bytes of memory of `peer`'s into own memory in these runs; false when that was not possible.
    pub fn copy_segments(&self, peer: u32, process: &Process, by: SegmentsBy, region: &Memory, target: &[Run]) -> bool {
        let len = sum(target);
        let copied = len <= region.len
            && match by {
                SegmentsBy::View => self.copy_by_view(process, region, target).is_some(),
                SegmentsBy::Kernel => self.copy_by_kernel(peer, process, region, target),
            };
        if copied {
            let (messages, bytes) = match by {
                SegmentsBy::View => (&counters::MAPPED, &counters::MAPPED_BYTES),
                SegmentsBy::Kernel => (&counters::KERNEL, &counters::KERNEL_BYTES),
            };
            [messages, &counters::SEGMENTS].iter().for_each(|counter| counter.add(1));
            [bytes, &counters::SEGMENTS_BYTES].iter().for_each(|counter| counter.add(len));
        }
        copied
    }

    /// The segments of memory of a peer's: by its table, if it has that region, or by its words.
    fn segments(&self, process: &Process, region: &Memory) -> Option<Vec<Run>> {
        if !region.is_region() {
            return by_words(region);
        }
        let table = self.views.untouched(Place(process.regions()?), size_of::<Table>()).ok()?;
        // SAFETY: the peer has told where its table lies, which stays; all fields are atomics.
        unsafe { &*table.cast::<Table>() }.read(region.key, region.len)
    }

    fn copy_by_view(&self, process: &Process, region: &Memory, target: &[Run]) -> Option<()> {
        let segments = self.segments(process, region)?;
        let view = match region.is_region() {
            true => self.view_of_region(region, &segments),
            false => self.view(region),
        }?;
        let (mut from, mut to) = (Cursor::new(&segments), Cursor::new(target));
        while let (Some(source), Some(room)) = (from.peek(), to.peek()) {
            let len = source.len.min(room.len);
            // A stride may be negative.
            let source = view.wrapping_add(source.address.wrapping_sub(region.address) as usize);
            // SAFETY: the view has all of the memory, which its owner leaves alone until it is told; the target is the program's, which it leaves to
            // the receive.
            unsafe { tern_copy::plain(room.address as *mut u8, source, len as usize) };
            from.take(len);
            to.take(len);
        }
        Some(())
    }

    /// Where the lowest byte of a region is seen, with all of these segments of it. `None`: one lies before it.
    fn view_of_region(&self, region: &Memory, segments: &[Run]) -> Option<*mut u8> {
        let beyond = |run: &Run| run.address.checked_sub(region.address)?.checked_add(run.len);
        let len = segments.iter().try_fold(0, |len, run| Some(beyond(run)?.max(len)))?;
        self.views.at(Place(region.place), len as usize).ok()
    }

    /// By the module, if the owner has told its cookie: a region of segments in one call, other memory block by block. Else by process number.
    fn copy_by_kernel(&self, peer: u32, process: &Process, region: &Memory, target: &[Run]) -> bool {
        let own = as_runs(target);
        if region.is_region()
            && let Some(declarations) = &self.declarations
            && (region.cookie != 0 || declarations.are_asked_for())
            // SAFETY: own memory is the program's, which it leaves to the receive.
            && unsafe { declarations.read(region.cookie, own) }
        {
            return true;
        }
        let Some(segments) = self.segments(process, region) else { return false };
        let theirs = as_runs(&segments);
        self.move_runs(peer, sum(target), |reached| match region.is_region() {
            // SAFETY: as above.
            true => counted(unsafe { cma::read(reached.pid, own, theirs) }),
            // SAFETY: as above.
            false => unsafe { self.by_kernel(reached, own, (theirs, region.name()), Direction::Get) },
        })
    }
}

/// The blocks of memory that is no region. `None`: they are too many, or only its owner knows them.
fn by_words(memory: &Memory) -> Option<Vec<Run>> {
    let few = !memory.is_opaque() && memory.len.div_ceil(memory.block) <= SEGMENTS as u64;
    few.then(|| memory.runs(memory.len).collect())
}

/// Bytes of all runs.
fn sum(runs: &[Run]) -> u64 {
    runs.iter().map(|run| run.len).sum()
}
