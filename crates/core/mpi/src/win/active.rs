//! Active target synchronisation: fences, and post-start-complete-wait (MPI 5.0 sections 12.5.1
//! and 12.5.2).

use super::object::Win;
use super::ranks::Ranks;
use super::target;
use crate::args::Out;
use crate::constants::*;
use crate::error::Result;
use crate::lost::is_survived;
use crate::noted;
use crate::objects::Group;
use crate::win::{checked, exposed};
use std::rc::Rc;
use tern_adi::Awaited;

/// Names of the assertions, for messages.
const ASSERTIONS: [(i32, &str); 5] = [
    (MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"),
    (MPI_MODE_NOSTORE, "MPI_MODE_NOSTORE"),
    (MPI_MODE_NOPUT, "MPI_MODE_NOPUT"),
    (MPI_MODE_NOPRECEDE, "MPI_MODE_NOPRECEDE"),
    (MPI_MODE_NOSUCCEED, "MPI_MODE_NOSUCCEED"),
];

/// MPI_ERR_ASSERT unless `assert` is made of `allowed` (section 12.5.5).
pub fn check_assert(assert: i32, allowed: i32) -> Result<()> {
    let wrong = assert & !allowed;
    if wrong == 0 {
        return Ok(());
    }
    match ASSERTIONS.iter().find(|(bit, _)| wrong & bit != 0) {
        Some((_, name)) => err!(MPI_ERR_ASSERT, "{name} has no meaning in this call (assert is {assert:#x})"),
        None => err!(MPI_ERR_ASSERT, "assert is {assert:#x}, of which {wrong:#x} is no MPI_MODE_… of windows"),
    }
}

/// MPI_Win_fence. MPI_MODE_NOSTORE and MPI_MODE_NOPUT save nothing: a window has one copy of its memory.
pub fn win_fence(assert: i32, win: Rc<Win>) -> Result<()> {
    check_assert(assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)?;
    let (precedes, succeeds) = (assert & MPI_MODE_NOPRECEDE == 0, assert & MPI_MODE_NOSUCCEED == 0);
    win.judge(|epochs| epochs.fence(precedes, succeeds))?;
    checked::fences(&win, precedes);
    checked::compare(&win)?;
    let late = checked::late(&win)?;
    target::outcome(&win, win.window.fence(precedes, succeeds))?;
    drop(late);
    checked::fenced(&win, succeeds)
}

/// The ranks in the window of a group's processes, or MPI_ERR_GROUP.
fn ranks(win: &Win, group: &Group) -> Result<Vec<u32>> {
    let rank = |&proc| win.comm.local.rank_of(proc).map(|rank| rank as u32);
    let ranks: Option<Vec<u32>> = group.procs.iter().map(rank).collect();
    match ranks {
        Some(ranks) => Ok(ranks),
        None => err!(MPI_ERR_GROUP, "the group has a process that is not in the group of {}", win.label()),
    }
}

/// MPI_Win_start
pub fn win_start(group: Rc<Group>, assert: i32, win: Rc<Win>) -> Result<()> {
    check_assert(assert, MPI_MODE_NOCHECK)?;
    let targets = ranks(&win, &group)?;
    win.judge(|epochs| epochs.start(Ranks::from_iter(targets.iter().copied())))?;
    exposed::started(&win, &targets, assert);
    let started = target::outcome(&win, win.window.start(&targets, assert & MPI_MODE_NOCHECK == 0));
    if started.is_err() && is_survived() {
        win.judge(|epochs| epochs.complete())?;
    }
    started
}

/// MPI_Win_complete
pub fn win_complete(win: Rc<Win>) -> Result<()> {
    win.judge(|epochs| epochs.complete())?;
    target::outcome(&win, win.window.complete())?;
    exposed::completed(&win);
    checked::synchronised(&win, None)
}

/// MPI_Win_post
pub fn win_post(group: Rc<Group>, assert: i32, win: Rc<Win>) -> Result<()> {
    check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)?;
    let origins = ranks(&win, &group)?;
    win.judge(|epochs| epochs.post())?;
    exposed::posted(&win, &origins, assert);
    win.window.post(&origins, assert & MPI_MODE_NOCHECK == 0);
    Ok(())
}

/// MPI_Win_wait
pub fn win_wait(win: Rc<Win>) -> Result<()> {
    win.judge(|epochs| epochs.awaits())?;
    let waited = target::outcome(&win, win.window.wait());
    if waited.is_ok() || is_survived() {
        win.epochs.waited();
    }
    waited?;
    exposed::waited(&win)
}

/// MPI_Win_test
pub fn win_test(win: Rc<Win>, flag: Out<i32>) -> Result<()> {
    win.judge(|epochs| epochs.awaits())?;
    let over = target::outcome(&win, win.window.test());
    if over.is_err() && is_survived() {
        win.epochs.waited();
    }
    let over = over?;
    if over {
        win.epochs.waited();
        exposed::waited(&win)?;
    } else {
        let peers = win.window.peers();
        noted::note(|| Awaited::Members { context: peers.context, procs: peers.procs.to_vec() });
    }
    flag.set(over as i32);
    Ok(())
}
