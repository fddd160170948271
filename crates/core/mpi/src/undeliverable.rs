//! Messages that have left this process, by calls that have succeeded, and that cannot arrive any more.

use crate::constants::MPI_ERR_PROC_ABORTED;
use crate::errhandler;
use crate::error::Error;
use crate::lost::who;
use crate::objects::objects;
use crate::p2p::lost;
use crate::runtime::{adi, installed};
use crate::scope::Scope;
use std::rc::Rc;
use tern_adi::{Concerned, Proc};

/// Messages that this process had sent to `peer`, by calls that have succeeded, will not arrive. Ends the job, or says so; then these are
/// the contexts in which a call fails. It comes while the engine is borrowed.
#[cold]
pub fn tell(peer: Proc, why: &str) -> Concerned {
    let me = installed().map_or(0, |runtime| runtime.me);
    let text = format!(
        "rank {me} had sent messages to {}, by calls that have succeeded, and they will never arrive: {why}",
        who(peer).trim_end_matches(',')
    );
    if ends_the_job(peer) {
        // As in other calls that find a process lost.
        std::thread::sleep(errhandler::CAUSE);
        let end = format!("{text}. The job ends with code {MPI_ERR_PROC_ABORTED} (MPI_ERR_PROC_ABORTED)");
        crate::abort::abort_inside(MPI_ERR_PROC_ABORTED, &end);
    }
    tern_settings::warn!("{text}. A call that may need them fails with MPI_ERR_PROC_ABORTED");
    Rc::new(move |context| lost::is_programs(context) && lost::takes_part(context, peer))
}

/// Whether the error handler of MPI_COMM_WORLD is in charge of `peer`. In a program with sessions alone there is no such communicator.
fn is_of_world(peer: Proc) -> bool {
    installed().is_none_or(|runtime| peer < runtime.world_size)
        && objects().world.try_borrow().ok().is_none_or(|world| world.is_some())
}

/// Whether every error handler that is in charge of `peer` ends the job: that of MPI_COMM_WORLD, or for a process of another job, or in a
/// program with sessions alone, those of the communicators with it. If there is none any more, no call can need the messages but the last one.
fn ends_the_job(peer: Proc) -> bool {
    let initial = || errhandler::initial().ends_the_job();
    if is_of_world(peer) {
        let world = objects().world.try_borrow().ok();
        let handler = world.and_then(|world| Some(world.as_ref()?.errhandler.borrow().clone()));
        return handler.map_or_else(initial, |handler| handler.ends_the_job());
    }
    let Some(comms) = lost::comms_with(peer) else { return initial() };
    // While MPI comes up, and once MPI_Finalize has taken the communicators, nothing else is in charge.
    let has_session = || objects().sessions.try_borrow().is_ok_and(|sessions| sessions.iter().next().is_some());
    if comms.is_empty() {
        return !has_session() && initial();
    }
    comms.iter().all(|comm| comm.errhandler.borrow().ends_the_job())
}

/// The object that is in charge in MPI_Finalize: MPI_COMM_WORLD, or for a process of another job a communicator with it.
pub fn scope(peer: Proc) -> Scope {
    if is_of_world(peer) {
        return Scope::of(objects().world.borrow().clone().expect("MPI_COMM_WORLD exists"));
    }
    let comms = lost::comms_with(peer).unwrap_or_default();
    comms.first().map_or(Scope::None, |comm| Scope::of(comm.clone()))
}

/// The last call of MPI, `function`, fails for messages that no call has failed for. The error handler of the `scope` of each process is called
/// now, while the program may still call MPI from it. Gives the error that the call returns.
pub fn fail_last_call(function: &str, scope: impl Fn(Proc) -> Scope) -> Option<Box<Error>> {
    let peers = std::iter::from_fn(|| adi().take_undeliverable());
    let failed = peers.map(|peer| {
        let error = Box::new(Error { begun: true, ..*crate::lost::error(peer) });
        errhandler::raise_now(scope(peer), function, error)
    });
    failed.last()
}
