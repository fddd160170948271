//! The window as an object.

use super::epoch::{Epochs, Violation};
use super::hints::Hints;
use crate::constants::*;
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use crate::handle::{Kind, Table};
use crate::objects::{Attributes, Comm};
use crate::runtime::adi;
use crate::scope::Errhandler;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::rc::Rc;
use tern_layout::Type;
use tern_rma::Window;

/// Calls between two looks for progress by those that need not wait.
const CALLS: u32 = 64;

/// A window (MPI 5.0 section 12.2).
pub struct Win {
    pub handle: Cell<usize>,
    /// Its processes, and a context of its own. No program has a handle of it.
    pub comm: Rc<Comm>,
    pub window: Rc<Window>,
    pub epochs: Epochs,
    /// The type of a byte, for accesses of which only the length matters.
    pub byte: Rc<Type>,
    /// Where the predefined attributes lie.
    pub own: Own,
    pub errhandler: RefCell<Rc<Errhandler>>,
    pub name: RefCell<String>,
    pub attributes: Attributes,
    pub hints: RefCell<Hints>,
    /// Counts calls that need not wait, for [`Win::look_at_times`].
    pub calls: Cell<u32>,
    /// What the hint `no_locks` says.
    pub no_locks: Cell<bool>,
    /// What TERN_CHECK knows of its accesses; empty without it.
    pub checked: crate::win::checked::Ledger,
    /// The same of epochs of MPI_Win_start and MPI_Win_post.
    pub exposed: crate::win::exposed::Ledger,
    /// It is noted how its accesses are made (TERN_EXPLAIN=used). Then none goes a short way.
    pub notes: bool,
    /// Where no bytes are attached (MPI_Win_attach with size 0).
    pub nothing: RefCell<Vec<*mut u8>>,
}

/// What this process gave to the window, as the predefined attributes show it (section 12.2.6).
#[derive(Clone, Copy, Debug)]
pub struct Own {
    pub base: usize,
    pub size: i64,
    pub disp_unit: i32,
    /// `MPI_WIN_FLAVOR_…`
    pub flavor: i32,
    /// `MPI_WIN_UNIFIED`: a window has one copy of its memory.
    pub model: i32,
}

static WINS: Guarded<RefCell<Table<Rc<Win>>>> = Guarded::new(RefCell::new(Table::new(Kind::Win)));

/// The windows of this process, by handle.
#[inline]
pub fn wins() -> &'static RefCell<Table<Rc<Win>>> {
    WINS.get()
}

/// The window that `handle` names, or MPI_ERR_WIN.
pub fn lookup(handle: usize) -> Result<Rc<Win>> {
    if let Some(win) = wins().borrow().get(handle) {
        return Ok(win.clone());
    }
    match handle {
        MPI_WIN_NULL => err!(MPI_ERR_WIN, "the window is MPI_WIN_NULL"),
        _ => err!(MPI_ERR_WIN, "{handle:#x} is not a window: it was freed, or never made"),
    }
}

/// The window that was found last, by which it is found again with one comparison.
struct Last {
    handle: Cell<usize>,
    /// As long as the table of windows has it under this handle; else null.
    win: Cell<*const Win>,
}

static LAST: Guarded<Last> = Guarded::new(Last { handle: Cell::new(MPI_WIN_NULL), win: Cell::new(ptr::null()) });

/// The window that `handle` names, if there is one and it may be used by a short way, without counting it up and down.
///
/// # Safety
/// It is not used any more when a window may have been freed, so nothing may be waited for meanwhile.
#[inline(always)]
pub unsafe fn find<'a>(handle: usize) -> Option<&'a Win> {
    let last = LAST.get();
    if last.handle.get() != handle {
        remember(handle);
    }
    // SAFETY: the table of windows has it, or it is null (`remember`, `remove`); and contract of this function.
    unsafe { last.win.get().as_ref() }
}

#[cold]
fn remember(handle: usize) {
    let wins = wins().borrow();
    let is_short = |win: &&Rc<Win>| !win.notes && !win.window.misses_members();
    let (handle, win) =
        wins.get(handle).filter(is_short).map_or((MPI_WIN_NULL, ptr::null()), |win| (handle, Rc::as_ptr(win)));
    LAST.get().handle.set(handle);
    LAST.get().win.set(win);
}

/// A process is lost: a window that misses it goes no short way from now on, for those do not look whether their target is there.
#[cold]
pub fn look_again() {
    LAST.get().handle.set(MPI_WIN_NULL);
    LAST.get().win.set(ptr::null());
}

/// Takes a window out of the table.
pub fn remove(handle: usize) {
    look_again();
    wins().borrow_mut().remove(handle);
}

impl Win {
    #[inline]
    pub fn size(&self) -> i32 {
        self.comm.size()
    }

    #[inline]
    pub fn is_dynamic(&self) -> bool {
        self.own.flavor == MPI_WIN_FLAVOR_DYNAMIC
    }

    /// Its name for messages.
    pub fn label(&self) -> String {
        let name = self.name.borrow();
        if name.is_empty() { format!("the window {:#x}", self.handle.get()) } else { name.clone() }
    }

    /// Progress, at every [`CALLS`]th call: a program may call flushes until others have done something,
    /// for which they may need this process (section 2.9), or its core.
    #[inline]
    pub fn look_at_times(&self) {
        if let Some(calls) = self.calls_until_look() {
            return self.calls.set(calls);
        }
        adi().look();
        self.calls.set(0);
    }

    /// The count after this call; `None` when it is time to look.
    #[inline]
    pub fn calls_until_look(&self) -> Option<u32> {
        let calls = self.calls.get() + 1;
        (calls < CALLS).then_some(calls)
    }

    /// What the epochs say of a call, as an error of it.
    #[inline]
    pub fn judge(&self, verdict: impl FnOnce(&Epochs) -> std::result::Result<(), Violation>) -> Result<()> {
        verdict(&self.epochs).map_err(|violation| self.out_of_turn(violation))
    }

    #[cold]
    fn out_of_turn(&self, violation: Violation) -> Box<Error> {
        Error::new(MPI_ERR_RMA_SYNC, format!("on {}: {violation}", self.label()))
    }
}
