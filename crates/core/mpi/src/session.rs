//! Sessions (MPI 5.0 section 11.3): MPI without MPI_COMM_WORLD. The process sets are those that
//! the standard names, the world of this job and this process, and the living of the world where the job goes on when it loses some.

use crate::args::{Out, TextOut};
use crate::constants::*;
use crate::error::Result;
use crate::group::{hand_out, of_set, psets};
use crate::info_map::InfoMap;
use crate::lost::is_survived;
use crate::objects::{Group, Info, Session, objects};
use crate::runtime::adi;
use crate::scope::{Errhandler, ErrhandlerKind, Scope};
use crate::{forked, info, init, memory_kinds, undeliverable};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The session that `handle` names, or MPI_ERR_SESSION.
pub fn lookup(handle: usize) -> Result<Rc<Session>> {
    if let Some(session) = objects().sessions.borrow().get(handle) {
        return Ok(session.clone());
    }
    if handle == MPI_SESSION_NULL {
        return err!(MPI_ERR_SESSION, "the session is MPI_SESSION_NULL");
    }
    err!(MPI_ERR_SESSION, "{handle:#x} is not a session: it was finalised, or never initialised")
}

/// Names of thread levels, as the info key `thread_level` has them (section 11.3.1).
const LEVELS: [(&str, i32); 4] = [
    ("MPI_THREAD_SINGLE", MPI_THREAD_SINGLE),
    ("MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED),
    ("MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED),
    ("MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE),
];

/// The thread level that `info` asks for. What is not said or not known is the lowest, or the highest where MPI works
/// at that already (`multiple`).
fn level_of(info: &InfoMap, multiple: bool) -> (&'static str, i32) {
    let asked = info::find(info, "thread_level");
    LEVELS.into_iter().find(|(name, _)| asked == Some(name)).unwrap_or(LEVELS[if multiple { 3 } else { 0 }])
}

/// The info key by which a program asks whether the job goes on when processes are lost.
const FT: &str = "mpi_ft";

/// The true answer to that. It is the user's choice, for all processes, and was made before the first one started.
fn survives(asked: &InfoMap) -> &'static str {
    if !is_survived() && info::find(asked, FT).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        tern_settings::info!(
            "a session asks for {FT}, but the job does not go on when it loses processes: mpiexec --with-ft"
        );
    }
    if is_survived() { "true" } else { "false" }
}

/// MPI_Session_init
pub fn session_init(info: Option<Rc<Info>>, errhandler: Rc<Errhandler>, session: Out<usize>) -> Result<()> {
    forked::check()?;
    errhandler.check_kind(ErrhandlerKind::Session)?;
    let given = info::map_of(&info);
    let (name, thread_level) = level_of(&given, tern_mcm::lock::enabled());
    init::acquire(thread_level)?;
    let mut used = InfoMap::new();
    info::put(&mut used, "thread_level", name);
    info::put(&mut used, memory_kinds::KINDS, &memory_kinds::of_session(&given));
    info::put(&mut used, FT, survives(&given));
    session.set(objects().sessions.borrow_mut().insert_with(|handle| {
        Rc::new(Session {
            handle: Cell::new(handle),
            errhandler: RefCell::new(errhandler),
            info: RefCell::new(used),
            thread_level,
            buffer: RefCell::default(),
        })
    }));
    Ok(())
}

/// MPI_Session_finalize: what this process has sent is on its way first. The last one of MPI fails as MPI_Finalize does for what will not
/// arrive, and the session is in charge.
pub fn session_finalize(session: Out<usize>) -> Result<()> {
    let found = lookup(session.get())?;
    crate::objects::pool::release(&found.buffer);
    if is_survived() && init::is_last() {
        crate::fault::leave_sessions();
    }
    adi().wait_until(&mut || adi().is_flushed());
    let mut failed = None;
    if init::is_last() {
        init::settle();
        failed = undeliverable::fail_last_call("MPI_Session_finalize", |_| Scope::of(found.clone()));
    }
    // The error handler may have finalised the session itself.
    if objects().sessions.borrow_mut().remove(session.get()).is_none() {
        return failed.map_or(Ok(()), Err);
    }
    session.set(MPI_SESSION_NULL);
    init::release();
    failed.map_or(Ok(()), Err)
}

/// MPI_Session_get_info
pub fn session_get_info(session: Rc<Session>, info_used: Out<usize>) -> Result<()> {
    info_used.set(info::hand_out(session.info.borrow().clone()));
    Ok(())
}

/// MPI_Session_get_num_psets
pub fn session_get_num_psets(_session: Rc<Session>, _info: Option<Rc<Info>>, npset_names: Out<i32>) -> Result<()> {
    npset_names.set(psets().len() as i32);
    Ok(())
}

/// MPI_Session_get_nth_pset: `pset_len` is the room for the name with its final 0, and becomes
/// what it needs; 0 asks for that only.
pub fn session_get_nth_pset(
    _session: Rc<Session>, _info: Option<Rc<Info>>, n: i32, pset_len: Out<i32>, pset_name: TextOut,
) -> Result<()> {
    let Some(name) = usize::try_from(n).ok().and_then(|n| psets().get(n)) else {
        return err!(MPI_ERR_ARG, "process set {n} was asked for; there are {}, counted from 0", psets().len());
    };
    pset_name.check_room(pset_len.get())?;
    pset_name.set(name, pset_len.get());
    pset_len.set(name.len() as i32 + 1);
    Ok(())
}

/// MPI_Session_get_pset_info
pub fn session_get_pset_info(_session: Rc<Session>, pset_name: &str, info: Out<usize>) -> Result<()> {
    let group = of_set(pset_name)?;
    let mut map = InfoMap::new();
    info::put(&mut map, "mpi_size", &group.size().to_string());
    info.set(info::hand_out(map));
    Ok(())
}

/// MPI_Group_from_session_pset
pub fn group_from_session_pset(session: Rc<Session>, pset_name: &str, newgroup: Out<usize>) -> Result<()> {
    let procs = of_set(pset_name)?.procs.clone();
    newgroup.set(hand_out(Rc::new(Group { procs, session: Some(session), bridges: Vec::new() })));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_level_comes_from_the_info() {
        let info = |level: &str| vec![("thread_level".to_owned(), level.to_owned())];
        for multiple in [false, true] {
            assert_eq!(level_of(&info("MPI_THREAD_MULTIPLE"), multiple).1, MPI_THREAD_MULTIPLE);
            assert_eq!(level_of(&info("MPI_THREAD_FUNNELED"), multiple).1, MPI_THREAD_FUNNELED);
        }
        assert_eq!(level_of(&info("many"), false).1, MPI_THREAD_SINGLE);
        assert_eq!(level_of(&InfoMap::new(), false).1, MPI_THREAD_SINGLE);
        assert_eq!(level_of(&InfoMap::new(), true).1, MPI_THREAD_MULTIPLE);
    }
}
