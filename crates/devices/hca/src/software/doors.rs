//! The doors of a software HCA: what comes from outside, and whom it is for.

use super::clock::{NEVER, now};
use super::datagrams::Boxes;
use super::domain::Xrc;
use super::engine::{Host, Tag};
use super::hello::Caller;
use super::shared::Shared;
use super::strangers::Strangers;
use crate::Result;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tern_threads::Mutex;

/// Looks after so long for those who call, when there was no descriptor even to turn them away.
const PAUSE: Duration = Duration::from_millis(100);

pub struct Doors {
    /// It holds the doors, so they do not hold it.
    hca: Weak<Shared>,
    listener: OwnedFd,
    /// Where processes of this machine call, if they can.
    near: Option<OwnedFd>,
    strangers: Strangers,
    /// When to look for those who call, whether or not there is an event; [`NEVER`]: nobody waits.
    again: AtomicU64,
    boxes: Arc<Boxes>,
    /// Domains of XRC, among whose receive queues initiators may ask for one.
    xrc: Mutex<Vec<Weak<Xrc>>>,
}

impl Doors {
    pub fn new(hca: &Arc<Shared>, listener: OwnedFd, near: Option<OwnedFd>) -> Doors {
        Doors {
            hca: Arc::downgrade(hca),
            listener,
            near,
            strangers: Strangers::default(),
            again: AtomicU64::new(NEVER),
            boxes: Arc::default(),
            xrc: Mutex::default(),
        }
    }

    /// Has the engine watch the listeners.
    pub fn watch(&self, hca: &Shared) -> Result<()> {
        hca.engine().watch(&self.listener, Tag::Listener(hca.number()))?;
        match &self.near {
            Some(near) => hca.engine().watch(near, Tag::NearListener(hca.number())),
            None => Ok(()),
        }
    }

    pub fn boxes(&self) -> &Arc<Boxes> {
        &self.boxes
    }

    pub fn add_xrc(&self, domain: &Arc<Xrc>) {
        self.xrc.lock().push(Arc::downgrade(domain));
    }

    /// An initiator has called for a receive queue.
    fn guest(&self, hca: &Arc<Shared>, queue: u32, caller: Caller) {
        let domains: Vec<Arc<Xrc>> = self.xrc.lock().iter().filter_map(Weak::upgrade).collect();
        let found = domains.iter().find(|domain| domain.shared.find(queue).is_some());
        if let Some(domain) = found
            && let Ok(target) = domain.target(hca)
        {
            let pair = target.pair.clone();
            domain.guests.lock().push(target);
            pair.welcome(caller);
        }
    }
}

impl Host for Doors {
    fn called(&self, near: bool) {
        let listener = if near { self.near.as_ref() } else { Some(&self.listener) };
        if let (Some(hca), Some(listener)) = (self.hca.upgrade(), listener)
            && !self.strangers.accept(&hca, listener, near)
        {
            let again = now() + PAUSE.as_nanos() as u64;
            self.again.store(again, Ordering::SeqCst);
            hca.engine().rouse_if_later_than(again);
        }
    }

    fn stranger(&self, number: u32) -> bool {
        let Some(heard) = self.strangers.listen(number) else { return false };
        if let (Some((hello, caller)), Some(hca)) = (heard, self.hca.upgrade()) {
            if hello.receive_queue != 0 {
                self.guest(&hca, hello.receive_queue, caller);
            } else if let Some(pair) = hca.engine().pair(hello.pair) {
                pair.visitor(caller);
            }
        }
        true
    }

    fn datagrams(&self) {
        if let Some(hca) = self.hca.upgrade() {
            self.boxes.sort(&hca);
        }
    }

    fn patience(&self) -> u64 {
        self.strangers.until().min(self.again.load(Ordering::SeqCst))
    }

    fn expire(&self) {
        self.strangers.expire();
        let again = self.again.load(Ordering::SeqCst);
        if now() >= again && self.again.compare_exchange(again, NEVER, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            self.called(false);
            self.called(true);
        }
    }
}
