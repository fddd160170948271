//! Failures survived: what a program does about processes that it has lost ("User Level Failure Mitigation").
//!
//! The text that was built is slice 1 as voted for the version after MPI 5.0 (MPI Forum issue 581: MPI_Comm_revoke,
//! MPI_Comm_get_failed, MPI_Comm_ack_failed), and for the rest the proposal as Open MPI 5 ships it (MPIX_Comm_agree, MPIX_Comm_shrink and
//! their kind). docs/fault-tolerance.md has it for users.
//!
//! | file | what it is about |
//! |---|---|
//! | [`failed`] | who has failed, and whose failure the program has acknowledged |
//! | [`revoke`] | communicators that carry no more messages |
//! | [`ranks`] | sets of ranks |
//! | [`tree`] | who hears whom in an agreement |
//! | [`consensus`] | agreement of processes that may die, as a state machine |
//! | [`agreement`] | its messages, for the agreements of communicators |
//! | [`farewell`] | communicators that are freed, and what others need of them |
//! | [`shrink`] | what the living do together |
//! | [`launcher`] | losses that the launcher tells of |
//! | [`notice`] | what processes tell each other, as bytes |

pub mod agreement;
pub mod consensus;
pub mod failed;
pub mod farewell;
pub mod launcher;
pub mod notice;
pub mod ranks;
pub mod revoke;
pub mod shrink;
pub mod tree;

use crate::context::on_gone;
use crate::guarded::Guarded;
use crate::lost::{self, is_survived};
use crate::objects::Comm;
use crate::objects::comm::on_handed_out;
use crate::runtime::{adi, installed};
use notice::{Name, Notice};
use std::cell::Cell;
use std::rc::Rc;
use tern_adi::{Adi, Background, Proc};

pub use failed::{comm_ack_failed, comm_failure_ack, comm_failure_get_acked, comm_get_failed};
pub use revoke::{comm_is_revoked, comm_revoke};
pub use shrink::{comm_agree, comm_iagree, comm_ishrink, comm_shrink};

fn name(comm: &Comm) -> Name {
    Name { id: comm.id.number(), epoch: comm.id.epoch() }
}

/// All members of MPI_COMM_WORLD have come to MPI_Finalize, and this process has no session.
static LEFT: Guarded<Cell<bool>> = Guarded::new(Cell::new(false));

/// What is called at each notice of a loss.
type Told = Cell<Option<fn()>>;

/// Who wants to be told of each loss; see [`when_lost`].
static WHEN_LOST: Guarded<Told> = Guarded::new(Cell::new(None));

/// Calls `tell` at each notice of a loss from now on, in place of what was called before. The engine is borrowed then.
pub fn when_lost(tell: fn()) {
    WHEN_LOST.get().set(Some(tell));
}

/// How many lost processes the agreements have been told of.
static TOLD: Guarded<Cell<usize>> = Guarded::new(Cell::new(0));

/// From now on notices are heard; and the job goes on without processes that are lost, if the user wants that.
pub fn prepare(adi: &Adi) {
    adi.on_notice(|| {
        if let Some(runtime) = installed() {
            runtime.adi.wake_hooks();
            if let Some(tell) = WHEN_LOST.get().get() {
                tell();
            }
        }
    });
    adi.add_hook(Rc::new(|_| attend()));
    on_handed_out(|comm| {
        farewell::made(comm);
        revoke::made(comm);
    });
    on_gone(|id, epoch, met| {
        let name = Name { id, epoch };
        let agreed = agreement::members_of(name);
        let is_kept = agreed.is_some() || revoke::has(name);
        farewell::gone(name, met, agreed, is_kept);
    });
    if is_survived() {
        adi.survive();
        adi.on_idle(launcher::look);
        adi.on_idle(agreement::look);
    }
}

/// What notices are written into.
static BYTES: Guarded<Cell<Vec<u8>>> = Guarded::new(Cell::new(Vec::new()));

/// Sends a notice; what is sent to a process that is lost vanishes.
fn tell(to: Proc, notice: &Notice) {
    let mut bytes = BYTES.get().take();
    notice.encode(&mut bytes);
    adi().send_notice(to, &bytes);
    BYTES.get().set(bytes);
}

/// Does what notices and losses ask for.
fn attend() -> Background {
    let mut moved = false;
    while let Some((from, bytes)) = adi().take_notice() {
        moved = true;
        match Notice::decode(&bytes) {
            Some(Notice::Revoked(name)) => revoke::hear(name),
            Some(Notice::Agree(key, message)) => agreement::hear(from, key, message),
            None => agreement::damaged(from, "its bytes are none"),
        }
    }
    if LEFT.get().get() {
        // Answers to agreements are all that anybody may still need.
        return if moved { Background::Moved } else { Background::Idle };
    }
    moved |= take_leave();
    let fresh = adi().lost_since(TOLD.get().get());
    if !fresh.is_empty() {
        moved = true;
        TOLD.get().set(TOLD.get().get() + fresh.len());
        fresh.iter().for_each(|proc| agreement::died(*proc));
        revoke::spread();
    }
    if moved { Background::Moved } else { Background::Idle }
}

/// Takes leave of the communicators that are gone since the last time, and forgets those that all have left. False when there are none.
fn take_leave() -> bool {
    let gone = farewell::take_gone();
    for (name, members) in &gone {
        revoke::left(*name);
        match members {
            Some(members) => agreement::take_leave(*name, members.clone()),
            None => forget(*name),
        }
    }
    let over = agreement::all_have_left();
    over.iter().for_each(|name| forget(*name));
    !gone.is_empty() || !over.is_empty()
}

fn forget(name: Name) {
    agreement::forget(name);
    revoke::forget(name);
    farewell::forget(name);
}

/// Learns what the devices and the launcher know by now.
fn look() {
    lost::look();
    launcher::look();
}

/// The same for a caller that asks who is lost.
fn look_closely() {
    lost::look_closely();
    launcher::look();
}

/// Whether all others have come to MPI_Finalize, and may have ended.
pub fn has_left() -> bool {
    LEFT.get().get()
}

/// Ends MPI together with the living: whoever still needs this process in an agreement has its answer. Returns whether nobody is lost and it
/// holds for all that they `wish`. From then on nobody waits for what others have to do.
pub fn leave(world: &Rc<Comm>, is_last: bool, wish: bool) -> bool {
    let all_wish = shrink::meet(world, wish);
    LEFT.get().set(is_last);
    farewell::clear();
    if is_last {
        revoke::clear();
    }
    all_wish
}

/// Comes before the last session ends. Whoever has agreed on something may have the only answer that another member needs, and waits until all
/// that live have freed the communicator, or end their last session with it. Nobody is waited for elsewhere (MPI 5.0 section 11.3.1).
pub fn leave_sessions() {
    adi().wait_until(&mut || adi().is_flushed());
    take_leave();
    let mut left = farewell::all_left();
    for (name, members) in farewell::of_sessions() {
        if agreement::has_agreed(name) {
            agreement::take_leave(name, members);
            left.push(name);
        }
    }
    left.retain(|name| agreement::has_agreed(*name));
    adi().wait_until(&mut || {
        agreement::look();
        !left.iter().any(|name| agreement::is_leaving(*name))
    });
}

/// MPI is used again by a process that had left it.
pub fn returns() {
    LEFT.get().set(false);
}
