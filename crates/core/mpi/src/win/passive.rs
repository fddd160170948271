//! Passive target synchronisation: locks and flushes (MPI 5.0 sections 12.5.3 and 12.5.4). A lock
//! of MPI_PROC_NULL, and all that follows from it, does nothing.

use super::active::check_assert;
use super::object::Win;
use super::target;
use crate::constants::*;
use crate::error::Result;
use crate::win::checked;
use std::rc::Rc;

/// A program that promised not to lock breaks its promise, which does no harm here. Checked programs (TERN_CHECK) are
/// told so.
fn check_locks(win: &Win) -> Result<()> {
    if win.no_locks.get() && crate::check::is_on() {
        return err!(
            MPI_ERR_RMA_SYNC,
            try "",
            "{} has the info key no_locks set, so it cannot be locked: set it to false with MPI_Win_set_info",
            win.label()
        );
    }
    Ok(())
}

/// MPI_Win_lock
pub fn win_lock(lock_type: i32, rank: i32, assert: i32, win: Rc<Win>) -> Result<()> {
    let exclusive = match lock_type {
        MPI_LOCK_EXCLUSIVE => true,
        MPI_LOCK_SHARED => false,
        _ => return err!(MPI_ERR_LOCKTYPE, "lock_type is {lock_type}, neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED"),
    };
    check_assert(assert, MPI_MODE_NOCHECK)?;
    let Some(rank) = target::rank(&win, rank)? else { return Ok(()) };
    check_locks(&win)?;
    win.judge(|epochs| epochs.locks(rank))?;
    match assert & MPI_MODE_NOCHECK {
        0 => target::outcome(&win, win.window.lock(rank, exclusive))?,
        _ => win.window.assume_lock(),
    }
    checked::locked(&win, rank, exclusive);
    win.epochs.locked(rank);
    Ok(())
}

/// MPI_Win_unlock
pub fn win_unlock(rank: i32, win: Rc<Win>) -> Result<()> {
    let Some(rank) = target::rank(&win, rank)? else { return Ok(()) };
    win.judge(|epochs| epochs.unlock(rank))?;
    win.look_at_times();
    target::outcome(&win, win.window.unlock(rank))?;
    checked::unlocked(&win, rank)
}

/// MPI_Win_lock_all
pub fn win_lock_all(assert: i32, win: Rc<Win>) -> Result<()> {
    check_assert(assert, MPI_MODE_NOCHECK)?;
    check_locks(&win)?;
    win.judge(|epochs| epochs.may_lock_all())?;
    match assert & MPI_MODE_NOCHECK {
        0 => target::outcome(&win, win.window.lock_all())?,
        _ => win.window.assume_lock(),
    }
    checked::begun(&win);
    win.judge(|epochs| epochs.lock_all())
}

/// MPI_Win_unlock_all
pub fn win_unlock_all(win: Rc<Win>) -> Result<()> {
    win.judge(|epochs| epochs.unlock_all())?;
    win.look_at_times();
    target::outcome(&win, win.window.unlock_all())?;
    checked::synchronised(&win, None)
}

/// MPI_Win_flush
pub fn win_flush(rank: i32, win: Rc<Win>) -> Result<()> {
    let Some(rank) = target::rank(&win, rank)? else { return Ok(()) };
    win.judge(|epochs| epochs.passive(rank))?;
    win.look_at_times();
    target::outcome(&win, win.window.flush(rank))?;
    checked::synchronised(&win, Some(rank))
}

/// MPI_Win_flush_all
pub fn win_flush_all(win: Rc<Win>) -> Result<()> {
    win.judge(|epochs| epochs.passive_all())?;
    win.look_at_times();
    target::outcome(&win, win.window.flush_all())?;
    checked::synchronised(&win, None)
}

/// MPI_Win_flush_local
pub fn win_flush_local(rank: i32, win: Rc<Win>) -> Result<()> {
    let Some(rank) = target::rank(&win, rank)? else { return Ok(()) };
    win.judge(|epochs| epochs.passive(rank))?;
    win.look_at_times();
    target::outcome(&win, win.window.flush_local(rank))?;
    checked::synchronised(&win, Some(rank))
}

/// MPI_Win_flush_local_all
pub fn win_flush_local_all(win: Rc<Win>) -> Result<()> {
    win.judge(|epochs| epochs.passive_all())?;
    win.look_at_times();
    target::outcome(&win, win.window.flush_local_all())?;
    checked::synchronised(&win, None)
}

/// MPI_Win_sync: loads and stores on the memory of the window before it come before those after it.
pub fn win_sync(win: Rc<Win>) -> Result<()> {
    win.judge(|epochs| epochs.passive_all())?;
    win.look_at_times();
    win.window.sync();
    Ok(())
}
