//! What a fork of a process with several threads needs: promoted memory becomes private before it. Stores go to other pages then, so no
//! peer may write to them meanwhile: neither at their place in the node's memory nor, where a receive in private memory shares a page with
//! promoted memory, by the kernel. (A fork of a process with one thread changes nothing in it.)
//!
//! Any thread may fork, whatever the one inside the library is doing. So this looks at the posted receives alone, and at nothing else that
//! other threads change; and while there are such, who publishes keeps forks out ([`tern_region::Promoter::keep_forks_out`]).

use crate::state::Shm;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The device that has published something, of which there is one in a process that forks.
static DEVICE: AtomicPtr<Shm> = AtomicPtr::new(ptr::null_mut());

/// Remembers the device. It is where it stays.
#[inline]
pub fn watch(device: &Shm) {
    // Release: pairs with the acquire in `quiesce`.
    DEVICE.store(ptr::from_ref(device).cast_mut(), Ordering::Release);
}

/// Forgets the device, which is about to go.
fn forget(device: &Shm) {
    let device = ptr::from_ref(device).cast_mut();
    let _ = DEVICE.compare_exchange(device, ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed);
}

/// No peer writes to these pages, as [`tern_region::promote::Quiesce`] asks.
pub fn quiesce(pages: &[Range<usize>]) -> Box<dyn FnOnce()> {
    // SAFETY: null, or a device that has not gone: who lets one go keeps forks out meanwhile.
    let device: Option<&'static Shm> = unsafe { DEVICE.load(Ordering::Acquire).as_ref() };
    let Some(device) = device else { return Box::new(|| ()) };
    let held = device.hold_receives(pages);
    Box::new(move || device.release_receives(&held))
}

impl Drop for Shm {
    fn drop(&mut self) {
        let _forks = self.direct.access.keep_forks_out();
        forget(self);
        // The thread goes before the segment.
        drop(self.direct.copier.take());
    }
}
