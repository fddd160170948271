//! The contract of all devices, and sleeping.

use crate::device::Verbs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tern_device::{Abilities, Channel, Cut, Direct, Header, Lending, Payload, RemoteMemory, Sink};

impl Channel for Verbs {
    fn abilities(&self) -> &Abilities {
        &self.channels.abilities
    }

    fn reaches(&self, peer: u32) -> bool {
        peer < self.channels.world() && peer != self.channels.me
    }

    #[inline]
    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        self.channels.send(peer, header, payload)
    }

    fn sends_from(&self) -> usize {
        self.frequent.lends_from(&self.channels)
    }

    fn lending(&self, _peer: u32, payload: &[u8]) -> Lending {
        self.frequent.lends(&self.channels, payload)
    }

    unsafe fn send_from(&self, peer: u32, cut: &Cut, payload: &[u8], sender: u32) -> bool {
        // SAFETY: the contract is the same.
        unsafe { self.frequent.send_in_place(&self.channels, peer, cut, payload, sender) }
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }

    fn remote(&self) -> Option<&dyn RemoteMemory> {
        self.channels.has_atomics().then_some(&self.channels)
    }

    fn poll(&self, sink: &mut dyn Sink) -> usize {
        self.deliver(sink)
    }

    fn take_next(&self, peer: u32, looks: u32, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        self.channels.offer(peer, looks, take)
    }

    fn glance(&self, looks: u32) {
        for _ in 0..looks {
            if !self.channels.inbound.borrow().is_empty() || self.channels.pump() > 0 {
                return;
            }
            std::hint::spin_loop();
        }
    }

    fn prepare_sleep(&self) -> u32 {
        if self.channels.sleepers.replace(self.channels.sleepers.get() + 1) == 0 {
            self.channels.hush();
        }
        self.channels.fabric.notices.drain();
        self.channels.hear_events();
        // A queue that cannot be armed cannot wake anybody: then nobody sleeps.
        let armed = self.channels.fabric.completions.arm().is_ok();
        // Acquire: pairs with the release in `ring_self`.
        let token = self.channels.rung.load(Ordering::Acquire);
        self.channels.pause_rings();
        while self.channels.pump() > 0 {}
        if !armed || !self.channels.inbound.borrow().is_empty() {
            self.channels.ring_self();
        }
        token
    }

    fn sleep(&self, token: u32, timeout: Duration) {
        // Acquire: pairs with the release in `ring_self`.
        if self.channels.rung.load(Ordering::Acquire) != token {
            return;
        }
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos() as i64 };
        // A notice, a ring, a signal and the timeout all mean: look for work again.
        let _ = poll(&mut [PollFd::new(&self.channels.sleep, PollFlags::IN)], Some(&timeout));
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.channels.sleep.as_fd())
    }

    fn settle(&self, all: bool, _meanwhile: &dyn Fn()) {
        self.channels.settle_all();
        if !all {
            self.channels.connections.say_farewell();
        }
        if self.channels.fabric.ways.is_some() {
            self.settled.set(true);
            self.channels.connections.settle();
        }
    }

    fn reach(&self, peer: u32) {
        self.channels.reach(peer);
    }

    fn awake(&self) -> u32 {
        // Nothing is known of the others.
        1
    }

    fn end_sleep(&self) {
        self.channels.sleepers.set(self.channels.sleepers.get() - 1);
    }

    fn ring(&self, peer: u32) {
        if peer == self.channels.me {
            self.channels.ring_self();
        } else {
            self.channels.send_bell(peer);
        }
    }
}
