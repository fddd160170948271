//! Making windows and freeing them (MPI 5.0 sections 12.2.1 to 12.2.5).

use super::checked;
use super::epoch::Epochs;
use super::hints::Hints;
use super::object::{self, Own, Win, lookup, wins};
use super::target;
use crate::args::Out;
use crate::comm::arrive::{self, Arrived, arrive};
use crate::constants::*;
use crate::context::ContextId;
use crate::error::{Error, Result};
use crate::fault::agreement::holds_at_all;
use crate::fault::when_lost;
use crate::lost::is_survived;
use crate::objects::{Attributes, Comm, Info};
use crate::runtime::adi;
use crate::{attribute, check, comm, errhandler, info, task};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tern_layout::{Basic, Type};
use tern_rma::{Exposure, Window};

/// The number of bytes, or MPI_ERR_SIZE.
fn bytes(size: i64) -> Result<usize> {
    match usize::try_from(size) {
        Ok(bytes) => Ok(bytes),
        Err(_) => err!(MPI_ERR_SIZE, "the size is {size}, but must not be negative"),
    }
}

/// Memory of the program's, or MPI_ERR_SIZE or MPI_ERR_BASE.
fn existing(base: *mut u8, size: i64) -> Result<usize> {
    let bytes = bytes(size)?;
    if base.is_null() && bytes > 0 {
        return err!(MPI_ERR_BASE, "the base is a null pointer, but {bytes} bytes are to be there");
    }
    if (base as usize).checked_add(bytes).is_none() {
        return err!(MPI_ERR_SIZE, "{bytes} bytes from {base:p} on go beyond the end of the address space");
    }
    Ok(bytes)
}

fn check_disp_unit(disp_unit: i64) -> Result<()> {
    if disp_unit <= 0 {
        return err!(
            MPI_ERR_DISP,
            try "give the size of an element, or 1",
            "the displacement unit is {disp_unit}, but must be positive"
        );
    }
    Ok(())
}

/// A context id for a window of all processes of `comm`, once all of them have come with right
/// arguments. Where one has wrong ones the call fails at all.
fn meet(comm: Rc<Comm>, wrong: Option<Box<Error>>) -> Result<ContextId> {
    let arrived = arrive(&comm, [wrong.is_some() as i32, 0])?;
    task::run(id(comm, wrong, arrived))
}

async fn id(comm: Rc<Comm>, wrong: Option<Box<Error>>, arrived: Option<Arrived>) -> Result<ContextId> {
    let circle = comm.circle();
    let failed = arrive::failed(&arrived, &circle, wrong.is_some()).await?;
    if let Some(error) = wrong {
        return Err(error);
    }
    if failed {
        return err!(MPI_ERR_OTHER, "the arguments of another process are wrong, so there is no window");
    }
    arrive::id(arrived, &circle).await
}

/// Makes a window over `comm`. Collective; `brought` is what this process brings.
fn make(
    comm: Rc<Comm>, flavor: i32, mut hints: Hints, disp_unit: i64, brought: Result<Exposure>, win: Out<usize>,
) -> Result<Rc<Win>> {
    if comm.is_inter() {
        return err!(MPI_ERR_COMM, "{} is an intercommunicator; windows need an intracommunicator", comm.label());
    }
    check::meet(&comm)?;
    let brought = brought.and_then(|exposure| checked::exists(&exposure).map(|()| exposure));
    let brought = brought.and_then(|exposure| check_disp_unit(disp_unit).map(|_| exposure));
    let id = meet(comm.clone(), brought.as_ref().err().cloned())?;
    let fatal = || errhandler::predefined(MPI_ERRORS_ARE_FATAL);
    let own = Rc::new(Comm::new(id, comm.local.clone(), None, fatal()));
    let window = Window::new(adi(), own.peers.clone(), brought?, disp_unit).map_err(|error| {
        give_up(own.clone());
        target::without_window(&error)
    })?;
    let (rank, size) = (own.rank as u32, own.size() as u32);
    hints.settle_alignment(window.base() as usize);
    let new = |handle| {
        Rc::new(Win {
            handle: Cell::new(handle),
            comm: own.clone(),
            own: Own {
                base: window.base() as usize,
                size: window.bytes(rank) as i64,
                disp_unit: disp_unit.try_into().unwrap_or(i32::MAX),
                flavor,
                model: MPI_WIN_UNIFIED,
            },
            window,
            byte: Type::basic(Basic::Byte),
            epochs: Epochs::new(rank, size),
            errhandler: RefCell::new(fatal()),
            name: RefCell::default(),
            attributes: Attributes::default(),
            no_locks: Cell::new(hints.no_locks()),
            hints: RefCell::new(hints),
            calls: Cell::new(0),
            checked: Default::default(),
            exposed: Default::default(),
            notes: adi().notes_ways(),
            nothing: RefCell::default(),
        })
    };
    when_lost(object::look_again);
    win.set(wins().borrow_mut().insert_with(new));
    lookup(win.get())
}

/// There is no window here. Other members may have it, and wait for all that live when they free it.
fn give_up(own: Rc<Comm>) {
    if !is_survived() {
        return comm::on_free(&own);
    }
    let ended = holds_at_all(&own, false);
    task::start(async move {
        ended.await?;
        comm::on_free(&own);
        Ok(())
    });
}

/// MPI_Win_create
pub fn win_create(
    base: *mut u8, size: i64, disp_unit: i64, info: Option<Rc<Info>>, comm: Rc<Comm>, win: Out<usize>,
) -> Result<()> {
    let hints = Hints::new(MPI_WIN_FLAVOR_CREATE, &info::map_of(&info));
    let exposure = existing(base, size).map(|bytes| Exposure::Existing { base, bytes });
    make(comm, MPI_WIN_FLAVOR_CREATE, hints, disp_unit, exposure, win).map(|_| ())
}

/// MPI_Win_allocate
pub fn win_allocate(
    size: i64, disp_unit: i64, info: Option<Rc<Info>>, comm: Rc<Comm>, baseptr: Out<usize>, win: Out<usize>,
) -> Result<()> {
    let hints = Hints::new(MPI_WIN_FLAVOR_ALLOCATE, &info::map_of(&info));
    let exposure = bytes(size).map(|bytes| Exposure::Allocate { bytes });
    let made = make(comm, MPI_WIN_FLAVOR_ALLOCATE, hints, disp_unit, exposure, win)?;
    baseptr.set(made.own.base);
    Ok(())
}

/// MPI_Win_allocate_shared
pub fn win_allocate_shared(
    size: i64, disp_unit: i64, info: Option<Rc<Info>>, comm: Rc<Comm>, baseptr: Out<usize>, win: Out<usize>,
) -> Result<()> {
    let hints = Hints::new(MPI_WIN_FLAVOR_SHARED, &info::map_of(&info));
    let contiguous = !hints.noncontiguous();
    let exposure = bytes(size).map(|bytes| Exposure::Shared { bytes, contiguous });
    let made = make(comm, MPI_WIN_FLAVOR_SHARED, hints, disp_unit, exposure, win)?;
    baseptr.set(made.own.base);
    Ok(())
}

/// MPI_Win_create_dynamic: displacements are addresses, so the unit is 1.
pub fn win_create_dynamic(info: Option<Rc<Info>>, comm: Rc<Comm>, win: Out<usize>) -> Result<()> {
    let hints = Hints::new(MPI_WIN_FLAVOR_DYNAMIC, &info::map_of(&info));
    make(comm, MPI_WIN_FLAVOR_DYNAMIC, hints, 1, Ok(Exposure::Dynamic), win).map(|_| ())
}

fn check_dynamic(win: &Win) -> Result<()> {
    if !win.is_dynamic() {
        return err!(
            MPI_ERR_RMA_FLAVOR,
            "memory can be attached to windows of MPI_Win_create_dynamic only; {} is none",
            win.label()
        );
    }
    Ok(())
}

/// MPI_Win_attach
pub fn win_attach(win: Rc<Win>, base: *mut u8, size: i64) -> Result<()> {
    check_dynamic(&win)?;
    let bytes = existing(base, size)?;
    if bytes == 0 {
        win.nothing.borrow_mut().push(base);
        return Ok(());
    }
    target::outcome(&win, win.window.attach(base, bytes))
}

/// MPI_Win_detach
pub fn win_detach(win: Rc<Win>, base: *const u8) -> Result<()> {
    check_dynamic(&win)?;
    let detached = win.window.detach(base);
    if detached.is_err() {
        let mut nothing = win.nothing.borrow_mut();
        if let Some(at) = nothing.iter().position(|&attached| attached.cast_const() == base) {
            nothing.swap_remove(at);
            return Ok(());
        }
    }
    target::outcome(&win, detached)
}

/// MPI_Win_free: collective; what the window allocated is gone.
pub fn win_free(win: Out<usize>) -> Result<()> {
    let found = lookup(win.get())?;
    found.judge(|epochs| epochs.free())?;
    checked::compare(&found)?;
    checked::synchronised(&found, None)?;
    attribute::delete_all(&found.attributes, win.get())?;
    let mut all_come = true;
    if is_survived() {
        found.window.flush_living();
        all_come = task::run(holds_at_all(&found.comm, true))?;
    }
    match all_come {
        true => found.window.free(),
        false => found.window.free_without_others(),
    }
    comm::on_free(&found.comm);
    object::remove(win.get());
    win.set(MPI_WIN_NULL);
    Ok(())
}
