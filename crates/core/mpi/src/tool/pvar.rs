//! Performance variables: the counters (MPI 5.0 section 15.3.7).
//!
//! A sum (class counter or aggregate) begins at 0 in each handle, and counts while the handle is started;
//! it can be written. A level or high watermark is the process's own: always active, only read. All are
//! unsigned numbers of 8 bytes.

use super::{Tool, at, enter, index_of, need, need_handle, need_place, need_value, put_text, refuse, up};
use crate::args::OptionalOut;
use crate::constants::*;
use crate::error::Result;
use tern_counters::{ALL, Audience, Class, Entry};

/// What messages call them.
const VARIABLES: &str = "performance variables";
const VARIABLES_OF_SESSION: &str = "performance variables in that session";

/// A variable in a session.
pub(super) struct Handle {
    session: usize,
    entry: &'static Entry,
    running: bool,
    /// What was counted in earlier spans.
    sum: u64,
    /// The process's value when this span began.
    base: u64,
}

impl Handle {
    fn value(&self) -> u64 {
        match (self.is_sum(), self.running) {
            (false, _) => self.entry.value(),
            (true, false) => self.sum,
            (true, true) => self.sum.wrapping_add(self.entry.value().wrapping_sub(self.base)),
        }
    }

    /// It can be started, stopped and written.
    fn is_sum(&self) -> bool {
        self.entry.class.is_sum()
    }

    fn start(&mut self) {
        if self.is_sum() && !self.running {
            self.running = true;
            self.base = self.entry.value();
        }
    }

    fn stop(&mut self) {
        if self.is_sum() {
            self.sum = self.value();
            self.running = false;
        }
    }

    /// Gives it a value and returns the one before.
    fn write(&mut self, value: u64) -> u64 {
        let now = self.entry.value();
        let before = if self.running { self.sum.wrapping_add(now.wrapping_sub(self.base)) } else { self.sum };
        (self.sum, self.base) = (value, now);
        before
    }
}

fn class(entry: &Entry) -> i32 {
    match entry.class {
        Class::Counter => MPI_T_PVAR_CLASS_COUNTER,
        Class::Aggregate => MPI_T_PVAR_CLASS_AGGREGATE,
        Class::Level => MPI_T_PVAR_CLASS_LEVEL,
        Class::Peak => MPI_T_PVAR_CLASS_HIGHWATERMARK,
    }
}

/// MPI_T_pvar_get_num
pub fn t_pvar_get_num(num: OptionalOut<i32>) -> Result<()> {
    up()?;
    need_place(num, "num_pvar")?.set(ALL.len() as i32);
    Ok(())
}

/// MPI_T_pvar_get_info
#[allow(clippy::too_many_arguments)]
pub fn t_pvar_get_info(
    index: i32, name: OptionalOut<u8>, name_len: OptionalOut<i32>, verbosity: OptionalOut<i32>,
    var_class: OptionalOut<i32>, datatype: OptionalOut<usize>, enumtype: OptionalOut<usize>, desc: OptionalOut<u8>,
    desc_len: OptionalOut<i32>, bind: OptionalOut<i32>, readonly: OptionalOut<i32>, continuous: OptionalOut<i32>,
    atomic: OptionalOut<i32>,
) -> Result<()> {
    up()?;
    let entry = at(ALL, index, VARIABLES)?;
    put_text(entry.name, name, name_len);
    verbosity.set(match entry.audience {
        Audience::User => MPI_T_VERBOSITY_USER_BASIC,
        Audience::Tuner => MPI_T_VERBOSITY_TUNER_BASIC,
        Audience::Developer => MPI_T_VERBOSITY_MPIDEV_BASIC,
    });
    var_class.set(class(entry));
    datatype.set(MPI_UNSIGNED_LONG_LONG);
    enumtype.set(MPI_T_ENUM_NULL);
    put_text(&format!("{} Unit: {}.", entry.meaning(), entry.unit), desc, desc_len);
    bind.set(MPI_T_BIND_NO_OBJECT);
    let sum = entry.class.is_sum();
    readonly.set(!sum as i32);
    continuous.set(!sum as i32);
    atomic.set(sum as i32);
    Ok(())
}

/// MPI_T_pvar_get_index
pub fn t_pvar_get_index(name: Option<&str>, var_class: i32, index: OptionalOut<i32>) -> Result<()> {
    up()?;
    index_of(ALL, "performance variables of that class", name, index, |entry, name| {
        entry.name == name && class(entry) == var_class
    })
}

/// MPI_T_pvar_session_create
pub fn t_pvar_session_create(session: OptionalOut<usize>) -> Result<()> {
    let mut tool = enter()?;
    need_place(session, "session")?.set(tool.sessions.insert(()));
    Ok(())
}

/// MPI_T_pvar_session_free: with its handles.
pub fn t_pvar_session_free(session: OptionalOut<usize>) -> Result<()> {
    let mut tool = enter()?;
    let own = need_value(session, "session")?;
    need_session(tool.sessions.remove(own), own)?;
    tool.pvars.remove_if(|handle| handle.session == own);
    session.set(MPI_T_PVAR_SESSION_NULL);
    Ok(())
}

fn need_session(found: Option<()>, session: usize) -> Result<()> {
    need(found, MPI_T_ERR_INVALID_SESSION, || format!("{session:#x} is no session: it was freed, or never made"))
}

fn check_session(tool: &Tool, session: usize) -> Result<()> {
    need_session(tool.sessions.get(session).copied(), session)
}

/// The variable of that handle in that session.
fn find(tool: &mut Tool, session: usize, handle: usize) -> Result<&mut Handle> {
    check_session(tool, session)?;
    need_handle(tool.pvars.get_mut(handle).filter(|found| found.session == session), handle, VARIABLES_OF_SESSION)
}

/// The variable must be a sum, or the call fails with `code`.
fn need_sum(found: &Handle, code: i32) -> Result<()> {
    if found.is_sum() {
        return Ok(());
    }
    refuse(
        code,
        format!("{} is a level or high watermark of the process: it is always active, and only read", found.entry.name),
    )
}

/// Does something to one variable, which must be a sum or else gives the error `code`; or to all sums of
/// the session.
fn change(session: usize, handle: usize, code: i32, change: impl Fn(&mut Handle)) -> Result<()> {
    let mut tool = enter()?;
    if handle == MPI_T_PVAR_ALL_HANDLES {
        check_session(&tool, session)?;
        tool.pvars.iter_mut().filter(|handle| handle.session == session && handle.is_sum()).for_each(change);
        return Ok(());
    }
    let found = find(&mut tool, session, handle)?;
    need_sum(found, code)?;
    change(found);
    Ok(())
}

/// MPI_T_pvar_handle_alloc: no variable is bound to an object; each is one number.
pub fn t_pvar_handle_alloc(
    session: usize, index: i32, _object: *mut u8, handle: OptionalOut<usize>, count: OptionalOut<i32>,
) -> Result<()> {
    let mut tool = enter()?;
    check_session(&tool, session)?;
    let entry = at(ALL, index, VARIABLES)?;
    let (handle, count) = (need_place(handle, "handle")?, need_place(count, "count")?);
    handle.set(tool.pvars.insert(Handle { session, entry, running: false, sum: 0, base: 0 }));
    count.set(1);
    Ok(())
}

/// MPI_T_pvar_handle_free
pub fn t_pvar_handle_free(session: usize, handle: OptionalOut<usize>) -> Result<()> {
    let mut tool = enter()?;
    let own = need_value(handle, "handle")?;
    find(&mut tool, session, own)?;
    tool.pvars.remove(own);
    handle.set(MPI_T_PVAR_HANDLE_NULL);
    Ok(())
}

/// MPI_T_pvar_start
pub fn t_pvar_start(session: usize, handle: usize) -> Result<()> {
    change(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, Handle::start)
}

/// MPI_T_pvar_stop
pub fn t_pvar_stop(session: usize, handle: usize) -> Result<()> {
    change(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, Handle::stop)
}

/// MPI_T_pvar_reset
pub fn t_pvar_reset(session: usize, handle: usize) -> Result<()> {
    change(session, handle, MPI_T_ERR_PVAR_NO_WRITE, |handle| _ = handle.write(0))
}

/// Where the value of a variable goes, or comes from.
fn number(buf: *mut u8) -> Result<OptionalOut<u64>> {
    // SAFETY: the program gives an unsigned long long, or null.
    need_place(unsafe { OptionalOut::new(buf.cast()) }, "buf")
}

/// MPI_T_pvar_read
pub fn t_pvar_read(session: usize, handle: usize, buf: *mut u8) -> Result<()> {
    let mut tool = enter()?;
    let found = find(&mut tool, session, handle)?;
    number(buf)?.set(found.value());
    Ok(())
}

/// MPI_T_pvar_write
pub fn t_pvar_write(session: usize, handle: usize, buf: *const u8) -> Result<()> {
    let mut tool = enter()?;
    let found = find(&mut tool, session, handle)?;
    need_sum(found, MPI_T_ERR_PVAR_NO_WRITE)?;
    found.write(need_value(number(buf.cast_mut())?, "buf")?);
    Ok(())
}

/// MPI_T_pvar_readreset
pub fn t_pvar_readreset(session: usize, handle: usize, buf: *mut u8) -> Result<()> {
    let mut tool = enter()?;
    let found = find(&mut tool, session, handle)?;
    need_sum(found, MPI_T_ERR_PVAR_NO_WRITE)?;
    number(buf)?.set(found.write(0));
    Ok(())
}
