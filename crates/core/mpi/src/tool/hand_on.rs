//! How events reach the callbacks of tools: at the beginning of the program's next call, when nothing of
//! the core is borrowed. So a callback may call what the program may, and no way is slower for it.

use super::event::{Leaving, Registration};
use super::state;
use crate::constants::*;
use std::sync::atomic::{AtomicBool, Ordering};
use tern_counters::events::{self, Event};

/// Events are being handed on: callbacks that come back here, and other threads, leave it to who does.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Hands on what has happened until now. The caller is inside the library, and nothing of the core is
/// borrowed.
#[cold]
pub fn hand_on() {
    loop {
        // Acquire and release: one thread after the other.
        if BUSY.swap(true, Ordering::Acquire) {
            return;
        }
        crate::mode::forget_events();
        tell();
        BUSY.store(false, Ordering::Release);
        // Somebody may have freed a registration since, and left this to us.
        if state().leaving.is_empty() {
            return;
        }
    }
}

/// Calls the callbacks.
fn tell() {
    let (happened, dropped) = events::take();
    for event in happened {
        registered(|registration| registration.kind == event.kind && registration.since <= event.time)
            .for_each(|handle| call(handle, event));
    }
    for (kind, count) in events::Kind::ALL.into_iter().zip(dropped).filter(|&(_, count)| count > 0) {
        registered(|registration| registration.kind == kind).for_each(|handle| tell_dropped(handle, count));
    }
    let leaving = std::mem::take(&mut state().leaving);
    for Leaving { registration, freed, user_data } in leaving {
        // SAFETY: the tool's function and data.
        unsafe { freed(registration, MPI_T_CB_REQUIRE_NONE, user_data.0) };
    }
}

/// Registrations as they are now; callbacks may change them.
fn registered(is: impl Fn(&Registration) -> bool) -> impl Iterator<Item = usize> {
    let tool = state();
    let found = tool.registrations.handles().filter(|&handle| tool.registrations.get(handle).is_some_and(&is));
    found.collect::<Vec<_>>().into_iter()
}

fn call(registration: usize, event: Event) {
    let mut tool = state();
    // An earlier callback may have freed it.
    let Some((callback, user_data)) = tool.registrations.get(registration).and_then(Registration::callback) else {
        return;
    };
    let instance = tool.instances.insert(event);
    drop(tool);
    // SAFETY: the tool's function and data.
    unsafe { callback(instance, registration, MPI_T_CB_REQUIRE_NONE, user_data.0) };
    state().instances.remove(instance);
}

fn tell_dropped(registration: usize, count: u64) {
    let tool = state();
    let Some(found) = tool.registrations.get(registration) else { return };
    let (Some(dropped), Some((_, user_data))) = (found.dropped, found.callback()) else { return };
    drop(tool);
    // SAFETY: the tool's function and data.
    unsafe { dropped(count as i64, registration, 0, MPI_T_CB_REQUIRE_NONE, user_data.0) };
}
