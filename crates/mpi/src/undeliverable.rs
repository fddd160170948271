//! Messages that have left this process, by calls that have succeeded, and that cannot arrive any more.

use crate::constants::MPI_ERR_PROC_ABORTED;
use crate::errhandler;
use crate::lost::who;
use crate::objects::objects;
use crate::p2p;
use crate::runtime::installed;
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
    // A process of another job is not of MPI_COMM_WORLD, whose handler has nothing to say of it.
    if installed().is_none_or(|runtime| peer >= runtime.world_size) {
        tern_settings::warn!("{text}");
        return Rc::new(|_| false);
    }
    let world = objects().world.try_borrow().ok().and_then(|world| Some(world.as_ref()?.errhandler.borrow().clone()));
    if world.unwrap_or_else(errhandler::initial).ends_the_job() {
        // As in other calls that find a process lost.
        std::thread::sleep(errhandler::CAUSE);
        let end = format!("{text}. The job ends with code {MPI_ERR_PROC_ABORTED} (MPI_ERR_PROC_ABORTED)");
        crate::abort::abort_inside(MPI_ERR_PROC_ABORTED, &end);
    }
    tern_settings::warn!("{text}. A call that may need them fails with MPI_ERR_PROC_ABORTED");
    Rc::new(move |context| p2p::lost::is_programs(context) && p2p::lost::takes_part(context, peer))
}
