//! Error handlers of windows (MPI 5.0 section 9.3.2).

use super::Win;
use crate::args::Out;
use crate::errhandler::{report, set};
use crate::error::Result;
use crate::scope::{Errhandler, ErrhandlerKind, InCharge, Scope};
use std::rc::Rc;

impl InCharge for Win {
    fn handle(&self) -> usize {
        self.handle.get()
    }

    fn errhandler(&self) -> Rc<Errhandler> {
        self.errhandler.borrow().clone()
    }

    fn place(&self) -> Option<String> {
        Some(format!(" in rank {} of {} (size {})", self.comm.rank, self.label(), self.size()))
    }
}

/// MPI_Win_set_errhandler
pub fn win_set_errhandler(win: Rc<Win>, errhandler: Rc<Errhandler>) -> Result<()> {
    set(&win.errhandler, ErrhandlerKind::Win, errhandler)
}

/// MPI_Win_get_errhandler
pub fn win_get_errhandler(win: Rc<Win>, errhandler: Out<usize>) -> Result<()> {
    errhandler.set(win.errhandler.borrow().hand_out());
    Ok(())
}

/// MPI_Win_call_errhandler
pub fn win_call_errhandler(win: Rc<Win>, errorcode: i32) -> Result<()> {
    report(Scope::of(win), "MPI_Win_call_errhandler", errorcode);
    Ok(())
}
