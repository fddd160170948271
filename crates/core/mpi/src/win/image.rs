//! The window's memory at this process, kept to see what the program stores to it (TERN_CHECK).

use crate::check::active::Run;
use crate::check::mapped;
use crate::constants::*;
use crate::win::object::{Win, wins};
use std::rc::Rc;

/// Larger windows are not kept.
const COPIED: usize = 16 << 20;

/// The memory as it is now; empty if it is large, or is that of another window too.
pub fn of(win: &Win) -> Vec<u8> {
    let (base, size) = (win.own.base, win.own.size as usize);
    let overlaps = |other: &Rc<Win>| {
        !std::ptr::eq(&**other, win) && other.own.base < base + size && base < other.own.base + other.own.size as usize
    };
    let alone = matches!(win.own.flavor, MPI_WIN_FLAVOR_CREATE | MPI_WIN_FLAVOR_ALLOCATE)
        && !wins().borrow().iter().any(overlaps);
    match alone && (1..=COPIED).contains(&size) {
        // SAFETY: the memory is this process's, and all accesses to it are over.
        true => unsafe { std::slice::from_raw_parts(base as *const u8, size) }.to_vec(),
        false => Vec::new(),
    }
}

/// The bytes of the window, from its beginning, that are not as they were.
pub fn changed(win: &Win, before: &[u8]) -> Vec<Run> {
    if before.is_empty() {
        return Vec::new();
    }
    let base = win.own.base as i64;
    if let Some(at) = mapped::gone(&[(base, base + before.len() as i64)]) {
        tern_settings::warn!(
            "the memory of {} at {at:#x} is gone: it must stay until the window is freed",
            win.label()
        );
        return Vec::new();
    }
    // SAFETY: the window's memory is this process's, as was just seen, and no access to it is under way.
    let now = unsafe { std::slice::from_raw_parts(win.own.base as *const u8, before.len()) };
    let mut changed: Vec<Run> = Vec::new();
    for at in (0..before.len()).filter(|&at| before[at] != now[at]).map(|at| at as i64) {
        match changed.last_mut() {
            Some(last) if last.1 == at => last.1 += 1,
            _ => changed.push((at, at + 1)),
        }
    }
    changed
}
