//! The processes that spawned this one (MPI 5.0 section 11.8.1).

use crate::args::Out;
use crate::bridge::Roster;
use crate::comm::{self, hand_out};
use crate::constants::*;
use crate::context::{BOOTSTRAP, reserved_tag};
use crate::errhandler;
use crate::error::{Error, Result};
use crate::exchange::Circle;
use crate::forked;
use crate::guarded::Guarded;
use crate::lost::{self, is_survived};
use crate::meeting::gate::{Name, call};
use crate::meeting::introduce::introduce;
use crate::objects::{Comm, Group, objects};
use crate::process::spawn::family;
use crate::runtime::{adi, runtime};
use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Tells the messages of that meeting from others.
const PARENTS: u32 = 1;

/// Meets the processes that spawned this one, if any did: they wait for all that they have started. Where the job goes on when processes are
/// lost, one that cannot be met ends this process, which nobody waits for any more.
pub fn meet() -> Result<()> {
    if !is_survived() {
        return meet_all();
    }
    if runtime().parents.borrow().is_some() {
        MEETS.get().set(true);
        adi().on_idle(give_up);
    }
    let outcome = meet_all();
    MEETS.get().set(false);
    outcome.inspect_err(|error| end(error))
}

/// This process meets those that spawned it.
static MEETS: Guarded<Cell<bool>> = Guarded::new(Cell::new(false));

/// Ends this process if it meets others of which one is lost. Those that live may have given the meeting up, and answer no more.
fn give_up() {
    if MEETS.get().get()
        && let Some(proc) = adi().lost().first()
    {
        end(&lost::error(*proc));
    }
}

fn end(error: &Error) {
    forked::end(1, &format!("this process ends, for it cannot meet those that spawned it: {}", error.message));
}

fn meet_all() -> Result<()> {
    let runtime = runtime();
    let Some(file) = runtime.parents.take() else { return Ok(()) };
    let local = Group::new((0..runtime.world_size).collect());
    let made = match port(&file) {
        Some(port) => connect(&port, local)?,
        None => {
            let roster = Roster::read(&file)?;
            let bridge = roster.join(&file)?;
            let me = roster.first + runtime.me as usize;
            let made = family(&roster, me, local, errhandler::initial())?;
            drop(bridge); // the group of the parents has it now
            made
        }
    };
    *made.name.borrow_mut() = "MPI_COMM_PARENT".to_owned();
    let parent = comm::lookup(hand_out(made))?;
    objects().parent.replace(Rc::downgrade(&parent));
    Ok(())
}

/// The name of the port where the parents wait, if the file has one and is no memory.
fn port(file: &OwnedFd) -> Option<String> {
    let mut text = [0; MPI_MAX_PORT_NAME as usize];
    let length = rustix::io::pread(file, &mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    Name::parse(text).ok().map(|_| text.to_owned())
}

/// Rank 0 connects to the port of the parents, for all.
fn connect(port: &str, local: Rc<Group>) -> Result<Comm> {
    let me = runtime().me as usize;
    let tag = reserved_tag(PARENTS);
    let circle = Circle { context: BOOTSTRAP, tag, me, procs: local.procs.clone() };
    let line = (me == 0).then(|| Name::parse(port).and_then(|name| call(&name, None)));
    introduce(local, &circle, 0, line, errhandler::initial())
}

/// MPI_Comm_get_parent: MPI_COMM_NULL in a process that was not spawned, and after the communicator was
/// freed or disconnected.
pub fn comm_get_parent(parent: Out<usize>) -> Result<()> {
    let found = objects().parent.borrow().upgrade().map(|comm| comm.handle.get());
    parent.set(found.filter(|&handle| comm::lookup(handle).is_ok()).unwrap_or(MPI_COMM_NULL));
    Ok(())
}
