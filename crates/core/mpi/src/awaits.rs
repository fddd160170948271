//! Whose messages the agreements and partitioned receives that go on here wait for: for whoever asks what a call waits for.

use crate::guarded::Guarded;
use std::cell::RefCell;
use tern_adi::{Awaited, Proc};

/// Whose messages are waited for, in which context.
static AWAITED: Guarded<RefCell<Vec<(u32, Proc)>>> = Guarded::new(RefCell::new(Vec::new()));

/// The members without whom an agreement cannot go on.
pub fn awaited() -> Awaited {
    let waits = AWAITED.get().borrow();
    let Some(&(context, _)) = waits.last() else { return Awaited::Own };
    Awaited::Members { context, procs: waits.iter().filter(|wait| wait.0 == context).map(|wait| wait.1).collect() }
}

/// Everybody whose messages are waited for, in any context.
pub fn procs() -> Vec<Proc> {
    AWAITED.get().borrow().iter().map(|wait| wait.1).collect()
}

/// A member is waited for, until this is dropped.
pub struct Awaiting(u32, Proc);

impl Awaiting {
    /// A message of `proc` in that context.
    pub fn new(context: u32, proc: Proc) -> Awaiting {
        AWAITED.get().borrow_mut().push((context, proc));
        Awaiting(context, proc)
    }
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        let mut waits = AWAITED.get().borrow_mut();
        if let Some(at) = waits.iter().position(|wait| *wait == (self.0, self.1)) {
            waits.remove(at);
        }
    }
}
