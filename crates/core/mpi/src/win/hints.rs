//! Info of windows: the keys that are known, and what they are set to (MPI 5.0 sections 12.2.1 to
//! 12.2.5). Unknown keys, and values that a key does not have, are ignored.

use super::Win;
use crate::args::Out;
use crate::constants::*;
use crate::error::Result;
use crate::info;
use crate::info_map::InfoMap;
use crate::memory_kinds;
use crate::objects::Info;
use std::rc::Rc;

/// The hints in use by a window.
#[derive(Clone, Debug)]
pub struct Hints(InfoMap);

/// Known keys with their defaults.
const COMMON: [(&str, &str); 6] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
];
/// Of windows whose memory is allocated.
const ALIGNMENT: (&str, &str) = ("mpi_minimum_memory_alignment", "64");
/// Of windows of shared memory.
const SHARED: (&str, &str) = ("alloc_shared_noncontig", "false");

impl Hints {
    /// The hints of a window of a flavor (`MPI_WIN_FLAVOR_…`) that is made with `given`.
    pub fn new(flavor: i32, given: &InfoMap) -> Hints {
        let mut known: Vec<_> = COMMON.to_vec();
        if let MPI_WIN_FLAVOR_ALLOCATE | MPI_WIN_FLAVOR_SHARED = flavor {
            known.push(ALIGNMENT);
        }
        if flavor == MPI_WIN_FLAVOR_SHARED {
            known.push(SHARED);
        }
        let mut hints = Hints(known.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect());
        hints.take(given, |_| true);
        hints
    }

    /// Later changes: what concerns the making of the window stays.
    fn change(&mut self, given: &InfoMap) {
        self.take(given, |key| key != ALIGNMENT.0 && key != SHARED.0);
    }

    fn take(&mut self, given: &InfoMap, changes: impl Fn(&str) -> bool) {
        for (key, value) in &mut self.0 {
            if let Some(new) = info::find(given, key)
                && changes(key)
                && is_value(key, new)
            {
                *value = new.trim().to_owned();
            }
        }
        let asserted = info::find(given, memory_kinds::ASSERTED);
        if let Some(kinds) = asserted.filter(|kinds| memory_kinds::can_be_asserted(kinds)) {
            info::put(&mut self.0, memory_kinds::ASSERTED, kinds);
        }
    }

    fn is(&self, key: &str, value: &str) -> bool {
        info::find(&self.0, key) == Some(value)
    }

    /// The program promised not to lock.
    pub fn no_locks(&self) -> bool {
        self.is("no_locks", "true")
    }

    /// Memory of shared windows need not follow that of the rank before.
    pub fn noncontiguous(&self) -> bool {
        self.is(SHARED.0, "true")
    }

    /// Tells the truth about the alignment of allocated memory: no more than `base` has.
    pub fn settle_alignment(&mut self, base: usize) {
        let Some((_, value)) = self.0.iter_mut().find(|(key, _)| key == ALIGNMENT.0) else { return };
        let wanted = value.parse().unwrap_or(1usize);
        *value = wanted.min(1 << base.trailing_zeros().min(62)).to_string();
    }
}

/// Whether `key` can have this value.
fn is_value(key: &str, value: &str) -> bool {
    let value = value.trim();
    match key {
        "accumulate_ordering" => {
            value == "none" || value.split(',').all(|order| ["rar", "raw", "war", "waw"].contains(&order.trim()))
        }
        "accumulate_ops" => matches!(value, "same_op" | "same_op_no_op"),
        "mpi_accumulate_granularity" => value.parse::<u64>().is_ok(),
        "mpi_minimum_memory_alignment" => value.parse::<usize>().is_ok_and(usize::is_power_of_two),
        _ => matches!(value, "true" | "false"),
    }
}

/// MPI_Win_set_info
pub fn win_set_info(win: Rc<Win>, info: Option<Rc<Info>>) -> Result<()> {
    win.hints.borrow_mut().change(&info::map_of(&info));
    win.no_locks.set(win.hints.borrow().no_locks());
    Ok(())
}

/// MPI_Win_get_info
pub fn win_get_info(win: Rc<Win>, info_used: Out<usize>) -> Result<()> {
    info_used.set(info::hand_out(memory_kinds::told(&win.hints.borrow().0, &win.comm.local)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> InfoMap {
        pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }

    #[test]
    fn unknown_keys_and_values_are_ignored() {
        let given = map(&[
            ("no_locks", "yes"),
            ("colour", "green"),
            ("accumulate_ordering", "rar, waw"),
            ("accumulate_ops", "any"),
            ("mpi_minimum_memory_alignment", "100"),
            ("alloc_shared_noncontig", "true"),
        ]);
        let hints = Hints::new(MPI_WIN_FLAVOR_SHARED, &given);
        assert!(!hints.no_locks());
        assert!(hints.noncontiguous());
        assert!(hints.is("mpi_minimum_memory_alignment", "64"));
        assert!(hints.is("accumulate_ordering", "rar, waw"));
        assert!(hints.is("accumulate_ops", "same_op_no_op"));
        assert_eq!(info::find(&hints.0, "colour"), None);
    }

    #[test]
    fn hints_that_made_the_window_cannot_be_changed() {
        let mut hints = Hints::new(MPI_WIN_FLAVOR_SHARED, &map(&[("mpi_minimum_memory_alignment", "128")]));
        hints.change(&map(&[("mpi_minimum_memory_alignment", "4096"), ("no_locks", "true")]));
        assert!(hints.is("mpi_minimum_memory_alignment", "128"));
        assert!(hints.no_locks());
    }

    #[test]
    fn no_more_alignment_is_claimed_than_there_is() {
        let mut hints = Hints::new(MPI_WIN_FLAVOR_ALLOCATE, &map(&[("mpi_minimum_memory_alignment", "4096")]));
        hints.settle_alignment(0);
        assert!(hints.is("mpi_minimum_memory_alignment", "4096"));
        hints.settle_alignment(0x7000_0080);
        assert!(hints.is("mpi_minimum_memory_alignment", "128"));
    }

    #[test]
    fn only_allocating_windows_speak_of_alignment() {
        let created = Hints::new(MPI_WIN_FLAVOR_CREATE, &map(&[("mpi_minimum_memory_alignment", "128")]));
        assert_eq!(info::find(&created.0, "mpi_minimum_memory_alignment"), None);
        assert_eq!(created.0.len(), COMMON.len());
    }
}
