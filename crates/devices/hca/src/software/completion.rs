//! Completion queues and channels of the software HCA.

use super::shared::Shared;
use crate::{Completion, Error, Result};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tern_threads::Mutex;

/// A completion, and the slots of a send queue that are free when it has been polled.
struct Entry {
    completion: Completion,
    slots: Option<(Arc<AtomicU32>, u32)>,
}

struct Ring {
    entries: VecDeque<Entry>,
    armed: bool,
}

pub struct Queue {
    ring: Mutex<Ring>,
    /// How many there are, for those who look without the lock.
    count: AtomicUsize,
    overrun: AtomicBool,
    depth: usize,
    /// See [`crate::Faults::early_room`].
    early_room: bool,
    channel: Option<Arc<Channel>>,
    hca: Arc<Shared>,
}

impl Queue {
    /// Adds a completion. `slots` are counted down when it is polled.
    pub fn push(&self, completion: Completion, mut slots: Option<(Arc<AtomicU32>, u32)>) {
        if self.early_room
            && let Some((used, slots)) = slots.take()
        {
            used.fetch_sub(slots, Ordering::Relaxed);
        }
        let mut ring = self.ring.lock();
        if ring.entries.len() == self.depth {
            self.overrun.store(true, Ordering::Relaxed);
        } else {
            ring.entries.push_back(Entry { completion, slots });
            self.count.store(ring.entries.len(), Ordering::Release);
        }
        if std::mem::take(&mut ring.armed) {
            drop(ring);
            self.hca.engine().disarmed();
            if let Some(channel) = &self.channel {
                channel.notify();
            }
        }
    }

    fn take(&self, into: &mut [Completion]) -> usize {
        // Partner of the release in `push`: only a hint, the lock does the rest.
        if self.count.load(Ordering::Acquire) == 0 {
            return 0;
        }
        let mut ring = self.ring.lock();
        let count = ring.entries.len().min(into.len());
        for (place, entry) in into.iter_mut().zip(ring.entries.drain(..count)) {
            *place = entry.completion;
            if let Some((used, slots)) = entry.slots {
                used.fetch_sub(slots, Ordering::Relaxed);
            }
        }
        self.count.store(ring.entries.len(), Ordering::Release);
        count
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if !self.hca.forked() && self.ring.get_mut().armed {
            self.hca.engine().disarmed();
        }
    }
}

#[derive(Clone)]
pub struct CompletionQueue(pub(super) Arc<Queue>);

impl CompletionQueue {
    pub fn new(hca: &Arc<Shared>, depth: u32, channel: Option<&CompletionChannel>) -> CompletionQueue {
        CompletionQueue(Arc::new(Queue {
            ring: Mutex::new(Ring { entries: VecDeque::new(), armed: false }),
            count: AtomicUsize::new(0),
            overrun: AtomicBool::new(false),
            depth: depth.max(1) as usize,
            early_room: hca.faults().early_room,
            channel: channel.map(|channel| channel.0.clone()),
            hca: hca.clone(),
        }))
    }

    pub fn poll(&self, into: &mut [Completion]) -> Result<usize> {
        let queue = &*self.0;
        queue.hca.alive()?;
        let count = queue.take(into);
        if count > 0 {
            return Ok(count);
        }
        if queue.overrun.load(Ordering::Relaxed) {
            return Err(Error::Overrun);
        }
        queue.hca.engine().progress();
        Ok(queue.take(into))
    }

    pub fn arm(&self) -> Result<()> {
        let queue = &*self.0;
        queue.hca.alive()?;
        if queue.channel.is_none() {
            return Err(Error::Invalid("a completion queue without a channel is armed".into()));
        }
        let armed = std::mem::replace(&mut queue.ring.lock().armed, true);
        if !armed {
            queue.hca.engine().armed();
        }
        Ok(())
    }
}

pub struct Channel {
    event: OwnedFd,
    waker: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Channel {
    pub fn notify(&self) {
        // It is full only when nobody has drained it for ever, and then it is readable too.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        if let Some(wake) = self.waker.get() {
            wake();
        }
    }
}

#[derive(Clone)]
pub struct CompletionChannel(pub(super) Arc<Channel>);

impl CompletionChannel {
    pub fn new() -> Result<CompletionChannel> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| Error::Resources(format!("no descriptor for a completion channel: {error}")))?;
        Ok(CompletionChannel(Arc::new(Channel { event, waker: OnceLock::new() })))
    }

    pub fn drain(&self) -> bool {
        let mut count = [0; 8];
        rustix::io::read(&self.0.event, &mut count).is_ok()
    }

    pub fn set_waker(&self, wake: Box<dyn Fn() + Send + Sync>) -> Result<()> {
        self.0.waker.set(wake).map_err(|_| Error::Invalid("the channel has a waker already".into()))
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}
