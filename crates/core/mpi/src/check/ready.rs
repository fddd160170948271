//! Ready sends whose receive was not there (TERN_CHECK; MPI 5.0 section 3.4).
//!
//! The message of a ready send says so. A receive that is posted when it waits already was not posted when the send began, for
//! nothing but a message of its own takes a receive away. One that is posted before the message has come proves nothing.

use crate::guarded::Guarded;
use crate::observe;
use crate::runtime::adi;
use std::cell::Cell;
use tern_adi::{Pattern, Status};

/// A persistent ready send is being started.
static STARTED: Guarded<Cell<bool>> = Guarded::new(Cell::new(false));

/// Runs `start`, which starts a persistent send: of which kind, the name of the call does not tell.
pub fn during<R>(ready: bool, start: impl FnOnce() -> R) -> R {
    let before = STARTED.get().replace(ready);
    let started = start();
    STARTED.get().set(before);
    started
}

/// Whether the send that begins is a ready one.
pub fn is_sent() -> bool {
    let function = observe::function();
    STARTED.get().get() || function.starts_with("MPI_Rsend") || function.starts_with("MPI_Irsend")
}

/// Whether a message waits already that a receive takes which is about to be posted. A message that a probe has found has waited.
pub fn waits(pattern: Option<Pattern>) -> bool {
    let Some(pattern) = pattern else { return true };
    adi().progress();
    adi().probe(pattern).is_some()
}

/// A receive, of which `receive` tells the call, has got the message of a ready send, which has waited for it.
pub fn tell(receive: &str, status: &Status) {
    tern_settings::warn!(
        "{receive}: the message from rank {} with tag {} was sent by MPI_Rsend or another ready send, and had come before this \
         receive was posted: a ready send may begin only when its receive is there, or else the outcome is undefined (section 3.4)",
        status.source,
        status.tag
    );
}
