//! Whether memory that a call names is there at all (TERN_CHECK).

use crate::check::active::{Access, Run};
use crate::guarded::Guarded;
use rustix::mm::{MsyncFlags, msync};
use std::cell::RefCell;
use std::ffi::c_void;
use tern_node::maps::{Maps, Vma};

const READ: u32 = 1;
const WRITE: u32 = 2;

/// The mappings of this process when memory was last not found in them.
static KNOWN: Guarded<RefCell<Vec<Vma>>> = Guarded::new(RefCell::new(Vec::new()));

/// The first address of `runs` that this process cannot read or write; `None` as well where the kernel does not tell.
pub fn missing(access: Access, runs: &[Run]) -> Option<i64> {
    let need = if access == Access::Read { READ } else { WRITE };
    let mut known = KNOWN.get().borrow_mut();
    if first_missing(&known, need, runs).is_none() && is_still_there(runs) {
        return None;
    }
    *known = Maps::open().and_then(|maps| maps.by_text()).unwrap_or_default();
    if known.is_empty() { None } else { first_missing(&known, need, runs) }
}

/// The first address of memory that was there before and cannot be read any more.
pub fn gone(runs: &[Run]) -> Option<i64> {
    missing(Access::Read, runs)
}

/// So many runs are asked about one by one; of more, all from the first to the last.
const FEW: usize = 16;

/// Whether the kernel still has mappings where there were some. It is asked without a look at the list of all, which takes long.
fn is_still_there(runs: &[Run]) -> bool {
    let mapped = |low: i64, high: i64| {
        let page = rustix::param::page_size();
        let start = low as usize & !(page - 1);
        // SAFETY: MS_ASYNC writes nothing, and only finds out whether there are holes.
        unsafe { msync(start as *mut c_void, high as usize - start, MsyncFlags::ASYNC) }.is_ok()
    };
    if runs.len() <= FEW {
        return runs.iter().all(|&(low, high)| low >= high || mapped(low, high));
    }
    // With holes between them the list of all decides.
    mapped(runs[0].0, runs[runs.len() - 1].1)
}

fn first_missing(known: &[Vma], need: u32, runs: &[Run]) -> Option<i64> {
    runs.iter().find_map(|&(low, high)| {
        let mut at = low as usize;
        let mut next = known.partition_point(|vma| vma.end <= at);
        while at < high as usize {
            match known.get(next) {
                Some(vma) if vma.start <= at && vma.rights() & need == need => at = vma.end,
                _ => return Some(at as i64),
            }
            next += 1;
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_mapped_or_not_to_be_written_is_missing() {
        let own = [0u8; 8];
        let at = own.as_ptr() as i64;
        assert_eq!(missing(Access::Write, &[(at, at + 8)]), None);
        assert_eq!(missing(Access::Read, &[(at, at + 8), (8, 16)]), Some(8));
        let rights = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
        let private = rustix::mm::MapFlags::PRIVATE;
        // SAFETY: fresh memory, which nobody uses once it is gone.
        let at = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), 1 << 20, rights, private) }.expect("memory");
        let run = [(at as i64, at as i64 + (1 << 20))];
        assert_eq!(missing(Access::Write, &run), None);
        // SAFETY: as above.
        unsafe { rustix::mm::munmap(at, 1 << 20) }.expect("unmapped");
        assert_eq!(missing(Access::Read, &run), Some(at as i64), "it was there before");
        static TEXT: &str = "read only";
        let at = TEXT.as_ptr() as i64;
        assert_eq!(missing(Access::Read, &[(at, at + 4)]), None);
        assert_eq!(missing(Access::Write, &[(at, at + 4)]), Some(at));
    }
}
