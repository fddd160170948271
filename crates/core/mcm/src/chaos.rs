//! Chaos by a seed, for tests (docs/debugging.md#chaos): around all devices of a process, whichever they are.
//!
//! It does what the contract of devices lets happen, only far more often. The process stops for a while. What peers have sent is kept back
//! while others pass it. What may be refused is refused. At one of its events the process dies.
//!
//! Without TERN_CHAOS nothing of this is in the way: [`crate::Mcm`] then holds the devices themselves.

mod direct;
mod held;
mod plan;
mod remote;
mod taking;

use crate::multi_device::MultiDevice;
use held::Held;
pub use plan::Plan;
use plan::Random;
use rustix::process::{Signal, getpid, kill_process};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;
use taking::Taking;
use tern_device::{
    Abilities, Bound, Channel, ControlSlots, Cut, Direct, Gather, Header, Lending, Payload, RemoteMemory, Sink,
};
use tern_pmi::Job;
use tern_settings::Entry;

/// The longest sleep: whoever has kept something back has to look again, and nobody rings for that.
const NAP: Duration = Duration::from_millis(1);

/// One of so many events stops the process.
const STOPS: u64 = 32;

/// The devices of a process, with chaos around them.
pub struct Chaos {
    multi: MultiDevice,
    me: u32,
    plan: Plan,
    random: Random,
    /// What has happened so far: what this process has sent, accessed or got.
    events: Cell<u64>,
    /// The event at which it dies.
    death: Option<u64>,
    held: Held,
    /// The last one-sided access to each peer whose end was told.
    told: RefCell<HashMap<u32, u64>>,
}

/// The first bytes of a payload that is gathered.
struct Shorter<'a>(&'a mut dyn Gather, usize);

impl Gather for Shorter<'_> {
    fn len(&self) -> usize {
        self.1
    }

    fn write_to(&mut self, out: &mut [u8]) {
        self.0.write_to(out);
    }
}

impl Chaos {
    /// What the user wants, if it is any chaos. Rank 0 says so, for whoever reads of a failure later.
    ///
    /// Errors: TERN_CHAOS cannot be read.
    pub fn wanted(job: &Job) -> std::io::Result<Option<Plan>> {
        let text = tern_settings::CHAOS.get();
        if text.is_empty() {
            return Ok(None);
        }
        let plan = text.parse().map_err(std::io::Error::other)?;
        if job.rank == 0 {
            tern_settings::log::note(format_args!("chaos is on, by {}={text}", tern_settings::CHAOS.name()));
        }
        Ok(Some(plan))
    }

    /// The devices of process `me`, which a program has started or a launcher.
    pub fn new(multi: MultiDevice, plan: Plan, me: u32, spawned: bool) -> Chaos {
        Chaos {
            multi,
            me,
            random: Random::new(plan.seed, me),
            events: Cell::new(0),
            death: plan.death(me, spawned),
            plan,
            held: Held::default(),
            told: RefCell::default(),
        }
    }

    /// The devices.
    pub fn multi(&self) -> &MultiDevice {
        &self.multi
    }

    fn multi_remote(&self) -> Option<&dyn RemoteMemory> {
        self.multi.remote()
    }

    /// Something is refused now that may be.
    fn refuses(&self) -> bool {
        self.plan.refuse.meets(&self.random)
    }

    /// Something is kept back now.
    fn keeps_back(&self) -> bool {
        self.plan.reorder.meets(&self.random)
    }

    /// Something has happened: the process may die of it, or stop for a while.
    fn event(&self, what: &str, peer: Option<u32>) {
        let number = self.events.get() + 1;
        self.events.set(number);
        if self.death == Some(number) {
            self.die(number, what, peer);
        }
        self.pause();
    }

    #[cold]
    fn die(&self, number: u64, what: &str, peer: Option<u32>) {
        let (me, peer) = (self.me, peer.map(|peer| format!(" {peer}")).unwrap_or_default());
        tern_settings::log::note(format_args!("chaos: dies at event {number}, as it {what}{peer}: kill={me}@{number}"));
        let _ = kill_process(getpid(), Signal::KILL);
    }

    /// At times the process stops, as one does that has lost its core.
    fn pause(&self) {
        if self.plan.delay.is_zero() || self.random.below(STOPS) != 0 {
            return;
        }
        match self.random.below(self.plan.delay.as_nanos() as u64) {
            short if short.is_multiple_of(2) => rustix::thread::sched_yield(),
            long => std::thread::sleep(Duration::from_nanos(long)),
        }
    }

    /// Hands on some of what was kept back; returns how much.
    fn release(&self, sink: &mut dyn Sink) -> usize {
        let mut handed_on = 0;
        for peer in self.held.peers() {
            if self.random.below(3) != 0 {
                continue;
            }
            for _ in 0..=self.random.below(self.held.count(peer) as u64) {
                let Some(packet) = self.held.take_packet(peer) else { break };
                self.event("gets a packet from", Some(peer));
                sink.packet(peer, &packet.header, &packet.payload);
                handed_on += 1;
                if sink.has_enough() {
                    return handed_on;
                }
            }
        }
        while self.held.completions() > 0 && self.random.below(3) == 0 {
            let at = self.random.below(self.held.completions() as u64) as usize;
            let Some(completion) = self.held.take_completion(at) else { break };
            self.event("learns of the end of a transfer", None);
            completion.tell(sink);
            handed_on += 1;
        }
        handed_on
    }

    /// A packet whose payload travels with its header, whole or not at all.
    pub fn send_short(&self, peer: u32, header: &Header, payload: &[u8]) -> bool {
        self.pause();
        if self.refuses() || !self.multi.send_short(peer, header, payload) {
            return false;
        }
        self.event("has sent a packet to", Some(peer));
        true
    }

    /// Bytes of a payload that go now, of those that would.
    fn share(&self, peer: u32, len: usize) -> usize {
        match len > self.multi.inline(peer) && self.refuses() {
            true => 1 + self.random.below(len as u64) as usize,
            false => len,
        }
    }
}

impl Channel for Chaos {
    fn abilities(&self) -> &Abilities {
        self.multi.abilities()
    }

    fn reaches(&self, peer: u32) -> bool {
        self.multi.reaches(peer)
    }

    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        self.pause();
        if self.refuses() {
            return None;
        }
        let len = self.share(peer, payload.len());
        let taken = match payload {
            Payload::Bytes(bytes) => self.multi.copy_and_send(peer, header, Payload::Bytes(&bytes[..len])),
            Payload::Part(bytes, _) => self.multi.copy_and_send(peer, header, Payload::Part(bytes, len)),
            Payload::Gather(gather) => {
                self.multi.copy_and_send(peer, header, Payload::Gather(&mut Shorter(gather, len)))
            }
        }?;
        self.event("has sent a packet to", Some(peer));
        Some(taken)
    }

    fn lending(&self, peer: u32, payload: &[u8]) -> Lending {
        if self.refuses() { Lending::No } else { self.multi.lending(peer, payload) }
    }

    unsafe fn send_from(&self, peer: u32, cut: &Cut, payload: &[u8], sender: u32) -> bool {
        self.pause();
        // SAFETY: the contract is the same.
        if self.refuses() || !unsafe { self.multi.send_from(peer, cut, payload, sender) } {
            return false;
        }
        self.held.sends(sender, peer);
        self.event("has lent a message to", Some(peer));
        true
    }

    fn sends_from(&self) -> usize {
        self.multi.sends_from()
    }

    fn poll(&self, sink: &mut dyn Sink) -> usize {
        // Now and then it does not look.
        if self.keeps_back() {
            self.pause();
            return 0;
        }
        let released = self.release(sink);
        if released > 0 && sink.has_enough() {
            return released;
        }
        let mut taking = Taking { chaos: self, sink, handed_on: released };
        self.multi.poll_into(&mut taking);
        taking.handed_on
    }

    fn take_next(&self, peer: u32, looks: u32, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        if self.held.has_packets_of(peer) || self.refuses() {
            return false;
        }
        let took = self.multi.take_from(peer, looks, |header, payload| take(header, payload));
        if took {
            self.event("has taken a packet from", Some(peer));
        }
        took
    }

    fn expect_more(&self, peer: u32) {
        self.multi.expect_more(peer);
    }

    fn glance(&self, looks: u32) {
        self.pause();
        self.multi.glance(looks);
    }

    fn control_slots(&self, peer: u32, index: u32) -> Option<ControlSlots> {
        self.multi.control_slots(peer, index)
    }

    fn tell_bound(&self, parts: [u32; 3]) {
        self.multi.tell_bound(parts);
    }

    fn bound(&self, peer: u32) -> Bound {
        self.multi.bound(peer)
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }

    fn remote(&self) -> Option<&dyn RemoteMemory> {
        self.multi.remote().map(|_| self as &dyn RemoteMemory)
    }

    fn set_waiting(&self, waiting: bool) {
        // Collectives over control lines touch no device; between two of them the program begins to wait.
        self.pause();
        self.multi.set_waiting(waiting);
    }

    fn prepare_sleep(&self) -> u32 {
        self.multi.prepare_sleep()
    }

    fn sleep(&self, token: u32, timeout: Duration) {
        self.multi.sleep(token, timeout.min(NAP));
    }

    fn settle(&self, all: bool, meanwhile: &dyn Fn()) {
        self.multi.settle(all, meanwhile);
    }

    fn reach(&self, peer: u32) {
        self.multi.reach(peer);
    }

    fn look_for_losses(&self) {
        self.multi.look_for_losses();
    }

    fn forget(&self, peer: u32) {
        self.held.forget(peer);
        self.multi.forget(peer);
    }

    fn awake(&self) -> u32 {
        self.multi.awake()
    }

    fn shares_core(&self, peer: u32) -> bool {
        self.multi.shares_core(peer)
    }

    fn balance_cores(&self) {
        self.multi.balance_cores();
    }

    fn end_sleep(&self) {
        self.multi.end_sleep();
    }

    fn ring(&self, peer: u32) {
        self.multi.ring(peer);
    }
}

#[cfg(test)]
mod tests;
