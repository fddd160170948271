//! What a fork needs: promoted memory becomes private before it, so that no peer may write to its
//! place in the node's memory any more.

use crate::device::Shm;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The device that has published something, of which there is one in a process that forks.
static DEVICE: AtomicPtr<Shm> = AtomicPtr::new(ptr::null_mut());

/// Remembers the device. It is where it stays.
#[inline]
pub fn watch(device: &Shm) {
    // Relaxed: the handler runs in the thread that publishes, the only one while memory is promoted.
    DEVICE.store(ptr::from_ref(device).cast_mut(), Ordering::Relaxed);
}

/// Forgets the device, which is about to go.
pub fn forget(device: &Shm) {
    let device = ptr::from_ref(device).cast_mut();
    let _ = DEVICE.compare_exchange(device, ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed);
}

/// The handler: no peer writes to promoted memory after this.
pub fn quiesce() {
    // SAFETY: null, or a device that has not gone (`forget`).
    if let Some(device) = unsafe { DEVICE.load(Ordering::Relaxed).as_ref() } {
        device.withdraw_places();
    }
}
