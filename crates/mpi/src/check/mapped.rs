//! Whether memory that a call names is there at all (TERN_CHECK).

use crate::check::active::{Access, Run};
use crate::guarded::Guarded;
use std::cell::RefCell;
use tern_maps::{Maps, Vma};

const READ: u32 = 1;
const WRITE: u32 = 2;

/// The mappings of this process when memory was last not found in them.
static KNOWN: Guarded<RefCell<Vec<Vma>>> = Guarded::new(RefCell::new(Vec::new()));

/// The first address of `runs` that this process cannot read or write; `None` as well where the kernel does not tell.
pub fn missing(access: Access, runs: &[Run]) -> Option<i64> {
    let need = if access == Access::Read { READ } else { WRITE };
    let mut known = KNOWN.get().borrow_mut();
    first_missing(&known, need, runs)?;
    *known = Maps::open().and_then(|maps| maps.by_text()).unwrap_or_default();
    if known.is_empty() { None } else { first_missing(&known, need, runs) }
}

/// The first address of memory that was there before and cannot be read any more.
pub fn gone(runs: &[Run]) -> Option<i64> {
    KNOWN.get().borrow_mut().clear();
    missing(Access::Read, runs)
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
        static TEXT: &str = "read only";
        let at = TEXT.as_ptr() as i64;
        assert_eq!(missing(Access::Read, &[(at, at + 4)]), None);
        assert_eq!(missing(Access::Write, &[(at, at + 4)]), Some(at));
    }
}
