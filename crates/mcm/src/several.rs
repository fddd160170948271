//! Two devices: shared memory for the processes of this node, a network for those of the others.
//!
//! Three ways to number processes meet here. The layers above number those of the world by their rank and others
//! behind them, as they come. The network numbers ranks of the world. Shared memory numbers the ranks of the node
//! from 0 on, and processes of other jobs behind them. Mostly a node's ranks are consecutive, so all of it is addition.

mod direct;
mod numbers;
mod watch;

use numbers::{Numbers, Way};
use std::cell::OnceCell;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use tern_device::{Abilities, Cut, Device, Direct, Header, Lending, LineArea, Payload, Place, Remote, Sink};
use tern_shm::Shm;
use watch::Watch;

/// The longest sleep on shared memory when the network has no descriptor to watch.
const NAP: Duration = Duration::from_micros(500);

/// Shared memory and one network.
pub struct Several {
    /// First, so that it ends first: it rings a bell in the memory of `shm`.
    watch: OnceCell<Option<Watch>>,
    shm: Shm,
    network: Box<dyn Device>,
    numbers: Numbers,
    abilities: Abilities,
    /// Processes of this machine for each one of this node: more than one where nodes are simulated.
    share: f32,
}

/// A sink that is told the numbers of the layers above by a device that has its own.
struct Translated<'a, S: Sink + ?Sized> {
    sink: &'a mut S,
    numbers: Numbers,
}

impl<S: Sink + ?Sized> Sink for Translated<'_, S> {
    #[inline]
    fn packet(&mut self, from: u32, header: &Header, payload: &[u8]) {
        self.sink.packet(self.numbers.up(from), header, payload);
    }
    fn place(&mut self, from: u32, header: &Header, len: usize) -> Option<Place> {
        self.sink.place(self.numbers.up(from), header, len)
    }
    fn placed(&mut self, token: u32, len: usize) {
        self.sink.placed(token, len);
    }
    #[inline]
    fn has_enough(&mut self) -> bool {
        self.sink.has_enough()
    }
    fn delivered(&mut self, receiver: u32, size: u64) {
        self.sink.delivered(receiver, size);
    }
    fn sent(&mut self, sender: u32) {
        self.sink.sent(sender);
    }
    fn undelivered(&mut self, peer: u32, sender: u32, receiver: u32, room: u64) {
        self.sink.undelivered(self.numbers.up(peer), sender, receiver, room);
    }
    fn retracted(&mut self, receiver: u32) {
        self.sink.retracted(receiver);
    }
    fn pulled(&mut self, receiver: u32) {
        self.sink.pulled(receiver);
    }
    fn lost(&mut self, peer: u32, why: &str) {
        self.sink.lost(self.numbers.up(peer), why);
    }
}

impl Several {
    /// For a process of a world of `world` ranks, those in `node` on its own node. `machine` of them share its cores.
    pub fn new(shm: Shm, network: Box<dyn Device>, node: Vec<u32>, world: u32, machine: u32) -> Several {
        // Whichever of the two takes a packet.
        let packet = shm.abilities().packet.min(network.abilities().packet);
        let abilities = Abilities { name: "several", packet, ..shm.abilities().clone() };
        let share = machine as f32 / node.len() as f32;
        let numbers = Numbers::new(node, world);
        Several { watch: OnceCell::new(), shm, network, numbers, abilities, share }
    }

    /// See [`Shm::connect`].
    pub fn connect(
        &self, file: BorrowedFd<'_>, offset: u64, me: u32, processes: u32, newcomers: &[u32],
    ) -> std::io::Result<u32> {
        Ok(self.numbers.up(self.shm.connect(file, offset, me, processes, newcomers)?))
    }

    /// See [`Shm::disconnect`].
    pub fn disconnect(&self, first: u32) {
        if let Way::Shm(first) = self.numbers.way(first) {
            self.shm.disconnect(first);
        }
    }

    /// See [`Shm::part`].
    pub fn part(&self, first: u32) {
        if let Way::Shm(first) = self.numbers.way(first) {
            self.shm.part(first);
        }
    }

    /// The shared memory.
    pub fn shm(&self) -> &Shm {
        &self.shm
    }

    /// See [`Shm::awaited`].
    pub fn awaited(&self) -> Vec<u32> {
        self.shm.awaited().into_iter().map(|peer| self.numbers.up(peer)).collect()
    }

    /// Processes that share this one's cores, and others that it knows.
    pub fn known(&self) -> u32 {
        let local = self.numbers.local();
        (local as f32 * self.share) as u32 + self.shm.known() - local
    }

    /// Largest message to `peer` that should go without asking.
    #[inline]
    pub fn eager(&self, peer: u32) -> usize {
        match self.numbers.way(peer) {
            Way::Shm(_) => self.abilities.eager,
            Way::Network => self.network.abilities().eager,
        }
    }

    /// As [`crate::Mcm::piece`].
    #[inline]
    pub fn piece(&self, peer: u32) -> Option<usize> {
        match self.numbers.way(peer) {
            Way::Shm(_) => self.abilities.piece,
            Way::Network => self.network.abilities().piece,
        }
    }

    /// A packet whose payload travels with its header, whole or not at all.
    #[inline]
    pub fn send_short(&self, peer: u32, header: &Header, payload: &[u8]) -> bool {
        match self.numbers.way(peer) {
            Way::Shm(peer) => self.shm.send_short(peer, header, payload),
            // A device that takes more than the header takes what travels with it.
            Way::Network => {
                payload.len() <= self.network.abilities().inline
                    && self.network.copy_and_send(peer, header, Payload::Bytes(payload)).is_some()
            }
        }
    }

    /// [`Device::poll`], for a sink whose type is known.
    #[inline]
    pub fn poll_into<S: Sink>(&self, sink: &mut S) -> usize {
        let near = self.shm.poll_into(&mut Translated { sink, numbers: self.numbers });
        near + self.network.poll(sink)
    }

    /// [`Device::take_next`], for a closure whose type is known.
    #[inline]
    pub fn take_from(&self, peer: u32, looks: u32, mut take: impl FnMut(&Header, &[u8]) -> bool) -> bool {
        match self.numbers.way(peer) {
            Way::Shm(peer) => self.shm.take_from(peer, looks, take),
            Way::Network => self.network.take_next(peer, looks, &mut take),
        }
    }

    /// What wakes this process when something comes from the network, if the network has a descriptor for that. Made
    /// at the first sleep.
    fn watch(&self) -> Option<&Watch> {
        let begin = || {
            let descriptor = self.network.descriptor()?;
            // SAFETY: the watch ends before the device of shared memory does: it is the first field.
            let alarm = unsafe { self.shm.alarm() };
            Watch::new(descriptor, alarm).ok()
        };
        self.watch.get_or_init(begin).as_ref()
    }
}

impl Device for Several {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn reaches(&self, peer: u32) -> bool {
        match self.numbers.way(peer) {
            Way::Shm(peer) => self.shm.reaches(peer),
            Way::Network => self.network.reaches(peer),
        }
    }

    #[inline]
    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        match self.numbers.way(peer) {
            Way::Shm(peer) => self.shm.copy_and_send(peer, header, payload),
            Way::Network => self.network.copy_and_send(peer, header, payload),
        }
    }

    fn sends_from(&self) -> usize {
        self.shm.sends_from().min(self.network.sends_from())
    }

    fn lending(&self, peer: u32, payload: &[u8]) -> Lending {
        match self.numbers.way(peer) {
            Way::Shm(peer) => self.shm.lending(peer, payload),
            Way::Network => self.network.lending(peer, payload),
        }
    }

    unsafe fn send_from(&self, peer: u32, cut: &Cut, payload: &[u8], sender: u32) -> bool {
        // SAFETY: the contract is the same.
        unsafe {
            match self.numbers.way(peer) {
                Way::Shm(peer) => self.shm.send_from(peer, cut, payload, sender),
                Way::Network => self.network.send_from(peer, cut, payload, sender),
            }
        }
    }

    fn poll(&self, mut sink: &mut dyn Sink) -> usize {
        self.poll_into(&mut sink)
    }

    fn expect_more(&self, peer: u32) {
        match self.numbers.way(peer) {
            Way::Shm(peer) => self.shm.expect_more(peer),
            Way::Network => self.network.expect_more(peer),
        }
    }

    fn take_next(&self, peer: u32, looks: u32, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        self.take_from(peer, looks, take)
    }

    fn glance(&self, looks: u32) {
        self.shm.glance(looks);
        self.network.glance(1);
    }

    fn lines(&self, peer: u32, index: u32) -> Option<LineArea> {
        match self.numbers.way(peer) {
            Way::Shm(peer) => self.shm.lines(peer, index),
            Way::Network => None,
        }
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }

    /// The network reaches ranks of this node too, and one agent for all is what makes its atomics atomic. It numbers as the
    /// layers above do.
    fn remote(&self) -> Option<&dyn Remote> {
        self.network.remote()
    }

    fn set_waiting(&self, waiting: bool) {
        self.shm.set_waiting(waiting);
        self.network.set_waiting(waiting);
    }

    fn prepare_sleep(&self) -> u32 {
        self.watch();
        self.network.prepare_sleep();
        self.shm.prepare_sleep()
    }

    fn sleep(&self, token: u32, timeout: Duration) {
        // Without the lock: what is touched here may be used by several threads.
        match self.watch.get() {
            Some(Some(watch)) => {
                watch.arm();
                self.shm.sleep(token, timeout);
            }
            _ => self.shm.sleep(token, timeout.min(NAP)),
        }
    }

    fn settle(&self) {
        self.network.settle();
    }

    fn awake(&self) -> u32 {
        // Of other nodes nothing is known: let theirs be awake as ours are.
        (self.shm.awake() as f32 * self.share) as u32
    }

    fn shares_core(&self, peer: u32) -> bool {
        match self.numbers.way(peer) {
            Way::Shm(peer) => self.shm.shares_core(peer),
            Way::Network => true,
        }
    }

    fn spread(&self) {
        self.shm.spread();
    }

    fn end_sleep(&self) {
        self.network.end_sleep();
        self.shm.end_sleep();
    }

    fn ring(&self, peer: u32) {
        match self.numbers.way(peer) {
            Way::Shm(peer) => self.shm.ring(peer),
            Way::Network => self.network.ring(peer),
        }
    }
}
