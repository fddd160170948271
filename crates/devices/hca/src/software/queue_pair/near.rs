//! What is special about a peer of this machine: it is looked for without the lock.

use super::super::clock::now;
use super::super::near;
use super::*;

impl Pair {
    pub fn reach(&self) -> Reach {
        if self.rings.get().is_some() {
            Reach::Near
        } else if self.far.load(Ordering::Relaxed) {
            Reach::Far
        } else {
            Reach::Not
        }
    }

    /// What can be done now about rings, if anything.
    #[inline]
    pub fn near_news(&self) -> Option<News> {
        let rings = self.rings.get()?;
        if !self.open.load(Ordering::Relaxed) {
            return None;
        }
        let reads = self.phase() == READY && rings.has_data() && {
            let hold = self.hold.load(Ordering::Relaxed);
            hold == 0 || now() >= hold
        };
        let writes = rings.is_blocked() && rings.has_room();
        (reads || writes).then_some(News { readable: reads, writable: writes, ended: false, rung: false })
    }

    /// The peer is to wake this side from now on.
    pub fn sleep(&self) {
        if let Some(rings) = self.rings.get() {
            rings.sleep();
        }
    }

    pub fn awake(&self) {
        if let Some(rings) = self.rings.get() {
            rings.awake();
        }
    }

    /// Forgets what has woken this side.
    pub fn hush(&self, inner: &Inner) {
        if self.reach() == Reach::Near
            && let Some(socket) = &inner.socket
        {
            near::hush(socket);
        }
    }
}

pub fn wake_peer(socket: &Option<OwnedFd>) {
    if let Some(socket) = socket {
        near::wake(socket);
    }
}
