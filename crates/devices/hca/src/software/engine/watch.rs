//! Whether the engine's thread watches the sockets, and who has to tell it that there is more to do.

use tern_atomics::{AtomicBool, AtomicU64, Ordering, fence};

pub struct Watch {
    /// It waits for events, or is about to.
    on: AtomicBool,
    /// It wakes up by itself at this time.
    until: AtomicU64,
}

impl Watch {
    pub fn new() -> Watch {
        Watch { on: AtomicBool::new(false), until: AtomicU64::new(0) }
    }

    /// The engine's thread is going to wait for events until that time. It has then to ask peers to ring, to call
    /// [`settle`](Self::settle), and to look once more at all that there may be to do.
    pub fn begin(&self, until: u64) {
        self.until.store(until, Ordering::SeqCst);
        self.on.store(true, Ordering::SeqCst);
    }

    /// Whoever adds work looks at the watch after that, a peer whether this side sleeps; and here it is the other
    /// way round. Pairs with the fences of `publish`, of `block`, and of `is_longer_than`.
    pub fn settle(&self) {
        fence(Ordering::SeqCst);
    }

    pub fn end(&self) {
        self.on.store(false, Ordering::SeqCst);
    }

    /// The engine's thread may be waiting for events.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::SeqCst)
    }

    /// After something was added that is to be done at `time`: the engine's thread has to be roused.
    pub fn is_longer_than(&self, time: u64) -> bool {
        // Pairs with the fence in `settle`.
        fence(Ordering::SeqCst);
        self.is_on() && self.until.load(Ordering::SeqCst) > time
    }

    /// Another thread than the engine's has taken an event of a peer that has rung. Such a peer takes this side to be
    /// awake. If the engine's thread goes on watching, `ask` is called, to ask the peer to ring once more. What has
    /// come is looked at after this.
    pub fn event_is_taken(&self, ask: impl FnOnce()) {
        if self.is_on() {
            ask();
            self.settle();
        }
    }

    /// Somebody who polls does the work from now on. True if the engine's thread has to be roused to know that.
    pub fn take_over(&self) -> bool {
        self.on.load(Ordering::Relaxed) && self.on.swap(false, Ordering::SeqCst)
    }
}

#[cfg(all(test, loom))]
mod model;
