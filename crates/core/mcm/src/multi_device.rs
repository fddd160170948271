//! Two devices: shared memory for the processes of this node, a network for those of the others.
//!
//! Three ways to number processes meet here. The layers above number those of the world by their rank and others
//! behind them, as they come. The network numbers ranks of the world. Shared memory numbers the ranks of the node
//! from 0 on, and processes of other jobs behind them. Mostly a node's ranks are consecutive, so all of it is addition.

mod direct;
mod numbers;
mod watch;

use crate::far::{Endpoint, Far, Fars};
use numbers::Numbers;
use std::cell::{Cell, OnceCell};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::time::Duration;
use tern_device::{
    Abilities, Bound, Channel, ControlSlots, Cut, Direct, Header, Lending, Payload, Place, RemoteMemory, Sink,
};
use tern_shm::Shm;
use watch::{Many, Watch};

/// The longest sleep on shared memory when the network has no descriptor to watch.
const NAP: Duration = Duration::from_micros(500);

/// Shared memory and one network.
pub struct MultiDevice {
    /// First, so that it ends first: it rings a bell in the memory of `shm`.
    watch: OnceCell<Option<Watch>>,
    /// The same for what comes from other jobs on other machines, once there are such.
    far_watch: OnceLock<Option<(Watch, Many)>>,
    shm: Shm,
    network: Box<dyn Channel>,
    numbers: Numbers,
    /// All of the world is on this node.
    alone: bool,
    abilities: Abilities,
    /// Processes of this machine for each one of this node: more than one where nodes are simulated.
    share: f32,
    /// Processes of other jobs on other machines.
    far: Fars,
    /// Threads that sleep or are about to.
    sleepers: Cell<u32>,
}

/// Which device reaches a process, and the number that it has there.
enum Via {
    Shm(u32),
    Network,
    /// One of [`MultiDevice::far`].
    Far,
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
    fn undeliverable(&mut self, peer: u32) {
        self.sink.undeliverable(self.numbers.up(peer));
    }
    fn lost(&mut self, peer: u32, why: &str) {
        self.sink.lost(self.numbers.up(peer), why);
    }
}

impl MultiDevice {
    /// For a process of a world of `world` ranks, those in `node` on its own node. `machine` of them share its cores.
    pub fn new(shm: Shm, network: Box<dyn Channel>, node: Vec<u32>, world: u32, machine: u32) -> MultiDevice {
        let (near, far) = (shm.abilities(), network.abilities());
        // Whichever of the two takes a packet.
        let (packet, direct_from) = (near.packet.min(far.packet), near.direct_from.min(far.direct_from));
        let abilities = Abilities { name: "several", packet, direct_from, ..near.clone() };
        let alone = node.len() == world as usize;
        let share = machine as f32 / node.len() as f32;
        let numbers = Numbers::new(node, world);
        MultiDevice {
            watch: OnceCell::new(),
            far_watch: OnceLock::new(),
            shm,
            network,
            numbers,
            alone,
            abilities,
            share,
            far: Fars::default(),
            sleepers: Cell::new(0),
        }
    }

    #[inline(always)]
    fn way(&self, peer: u32) -> Via {
        match self.numbers.way(peer) {
            numbers::Route::Shm(peer) => Via::Shm(peer),
            numbers::Route::Network => Via::Network,
            numbers::Route::Beyond(_) if self.far.of(peer).is_some() => Via::Far,
            numbers::Route::Beyond(peer) => Via::Shm(peer),
        }
    }

    /// Runs `with` on the device that reaches a process of another job on another machine.
    #[cold]
    fn with_far<R>(&self, peer: u32, with: impl FnOnce(&tern_tcp::Tcp, u32) -> R) -> Option<R> {
        self.far.of(peer).map(|far| far.with(peer, with))
    }

    /// See [`Shm::connect`].
    pub fn connect(
        &self, file: BorrowedFd<'_>, offset: u64, me: u32, processes: u32, newcomers: &[u32],
    ) -> std::io::Result<u32> {
        Ok(self.numbers.up(self.shm.connect(file, offset, me, processes, newcomers)?))
    }

    /// See [`crate::Mcm::connect_far`].
    pub fn connect_far(&self, endpoint: Endpoint, addresses: &[Vec<u8>], newcomers: &[u32]) -> std::io::Result<u32> {
        let first = self.numbers.up(self.shm.reserve(newcomers.len() as u32));
        let far = Far::new(endpoint, addresses, newcomers, first)?;
        if let (Some(descriptor), Some((_, many))) = (far.device().descriptor(), self.far_watch()) {
            many.add(descriptor)?;
        }
        // Each of the threads that sleep will say that it does no more.
        (0..self.sleepers.get()).for_each(|_| _ = far.device().prepare_sleep());
        self.far.push(far);
        Ok(first)
    }

    /// See [`crate::Mcm::has_met_all`].
    pub fn has_met_all(&self, first: u32) -> bool {
        self.far.of(first).is_none_or(|far| far.has_met_all())
    }

    /// See [`crate::Mcm::disconnect`].
    pub fn disconnect(&self, first: u32) {
        match self.far.remove(first) {
            Some(far) => far.leave(),
            None => self.near(first, Shm::disconnect),
        }
    }

    /// See [`Shm::part`].
    pub fn part(&self, first: u32) {
        match self.far.of(first) {
            Some(far) => far.leave(),
            None => self.near(first, Shm::part),
        }
    }

    fn near(&self, first: u32, on: impl Fn(&Shm, u32)) {
        if let numbers::Route::Beyond(first) = self.numbers.way(first) {
            on(&self.shm, first);
        }
    }

    /// See [`Shm::end`].
    pub fn end(&self) {
        self.shm.end();
        self.far.all().iter().for_each(|far| far.end());
    }

    /// See [`Shm::ended`].
    pub fn ended(&self) {
        self.shm.ended();
        self.far.take_all().iter().for_each(|far| far.leave());
    }

    /// The shared memory.
    pub fn shm(&self) -> &Shm {
        &self.shm
    }

    /// See [`Shm::awaited`].
    pub fn awaited(&self) -> Vec<u32> {
        let near = self.shm.awaited().into_iter().map(|peer| self.numbers.up(peer));
        near.chain(self.far.all().iter().flat_map(|far| far.awaited().collect::<Vec<_>>())).collect()
    }

    /// Processes that share this one's cores, and others that it knows.
    pub fn known(&self) -> u32 {
        let local = self.numbers.local();
        (local as f32 * self.share) as u32 + self.shm.known() - local
    }

    /// [`Abilities::look`] of the device whose looks take longest.
    pub fn look(&self) -> u32 {
        let fars = self.far.all();
        fars.iter().map(|far| far.look()).fold(self.network.abilities().look, u32::max)
    }

    /// Largest message to `peer` that should go without asking.
    #[inline]
    pub fn eager(&self, peer: u32) -> usize {
        match self.way(peer) {
            Via::Shm(_) => self.abilities.eager,
            Via::Network => self.network.abilities().eager,
            Via::Far => self.with_far(peer, |far, _| far.abilities().eager).unwrap_or(0),
        }
    }

    /// Payload bytes that travel with a header to `peer` at no further cost.
    pub fn inline(&self, peer: u32) -> usize {
        match self.way(peer) {
            Via::Shm(_) => self.abilities.inline,
            Via::Network => self.network.abilities().inline,
            Via::Far => self.with_far(peer, |far, _| far.abilities().inline).unwrap_or(0),
        }
    }

    /// As [`crate::Mcm::piece`].
    #[inline]
    pub fn piece(&self, peer: u32) -> Option<usize> {
        match self.way(peer) {
            Via::Shm(_) => self.abilities.piece,
            Via::Network => self.network.abilities().piece,
            Via::Far => self.with_far(peer, |far, _| far.abilities().piece).flatten(),
        }
    }

    /// A packet whose payload travels with its header, whole or not at all.
    #[inline]
    pub fn send_short(&self, peer: u32, header: &Header, payload: &[u8]) -> bool {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.send_short(peer, header, payload),
            // A device that takes more than the header takes what travels with it.
            Via::Network => {
                payload.len() <= self.network.abilities().inline
                    && self.network.copy_and_send(peer, header, Payload::Bytes(payload)).is_some()
            }
            Via::Far => {
                let send = |far: &tern_tcp::Tcp, peer| {
                    payload.len() <= far.abilities().inline
                        && far.copy_and_send(peer, header, Payload::Bytes(payload)).is_some()
                };
                self.with_far(peer, send).unwrap_or(false)
            }
        }
    }

    /// [`Channel::poll`], for a sink whose type is known.
    #[inline]
    pub fn poll_into<S: Sink>(&self, sink: &mut S) -> usize {
        let near = self.shm.poll_into(&mut Translated { sink, numbers: self.numbers });
        let all = near + self.network.poll(sink);
        if self.far.any() { all + self.poll_far(sink) } else { all }
    }

    #[cold]
    fn poll_far(&self, sink: &mut dyn Sink) -> usize {
        self.far.all().iter().map(|far| far.poll(sink)).sum()
    }

    /// [`Channel::take_next`], for a closure whose type is known.
    #[inline]
    pub fn take_from(&self, peer: u32, looks: u32, mut take: impl FnMut(&Header, &[u8]) -> bool) -> bool {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.take_from(peer, looks, take),
            Via::Network => self.network.take_next(peer, looks, &mut take),
            // A look at all of them finds it.
            Via::Far => false,
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

    /// The same for other jobs on other machines.
    fn far_watch(&self) -> Option<&(Watch, Many)> {
        let begin = || {
            let many = Many::new().ok()?;
            // SAFETY: as above.
            let alarm = unsafe { self.shm.alarm() };
            Some((Watch::new(many.descriptor(), alarm).ok()?, many))
        };
        self.far_watch.get_or_init(begin).as_ref()
    }
}

impl Channel for MultiDevice {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn reaches(&self, peer: u32) -> bool {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.reaches(peer),
            Via::Network => self.network.reaches(peer),
            Via::Far => true,
        }
    }

    #[inline]
    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.copy_and_send(peer, header, payload),
            Via::Network => self.network.copy_and_send(peer, header, payload),
            Via::Far => self.with_far(peer, |far, peer| far.copy_and_send(peer, header, payload)).flatten(),
        }
    }

    fn sends_from(&self) -> usize {
        self.shm.sends_from().min(self.network.sends_from())
    }

    fn lending(&self, peer: u32, payload: &[u8]) -> Lending {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.lending(peer, payload),
            Via::Network => self.network.lending(peer, payload),
            Via::Far => Lending::No,
        }
    }

    unsafe fn send_from(&self, peer: u32, cut: &Cut, payload: &[u8], sender: u32) -> bool {
        // SAFETY: the contract is the same.
        unsafe {
            match self.way(peer) {
                Via::Shm(peer) => self.shm.send_from(peer, cut, payload, sender),
                Via::Network => self.network.send_from(peer, cut, payload, sender),
                Via::Far => false,
            }
        }
    }

    fn poll(&self, mut sink: &mut dyn Sink) -> usize {
        self.poll_into(&mut sink)
    }

    fn expect_more(&self, peer: u32) {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.expect_more(peer),
            Via::Network => self.network.expect_more(peer),
            Via::Far => {}
        }
    }

    fn take_next(&self, peer: u32, looks: u32, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        self.take_from(peer, looks, take)
    }

    fn glance(&self, looks: u32) {
        self.shm.glance(looks);
        self.network.glance(1);
    }

    fn control_slots(&self, peer: u32, index: u32) -> Option<ControlSlots> {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.control_slots(peer, index),
            Via::Network | Via::Far => None,
        }
    }

    fn tell_bound(&self, parts: [u32; 3]) {
        self.shm.tell_bound(parts);
    }

    fn bound(&self, peer: u32) -> Bound {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.bound(peer),
            Via::Network | Via::Far => Bound::Nowhere,
        }
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }

    /// The network reaches ranks of this node too, and one agent for all is what makes its atomics atomic. It numbers as the
    /// layers above do.
    fn remote(&self) -> Option<&dyn RemoteMemory> {
        self.network.remote()
    }

    fn set_waiting(&self, waiting: bool) {
        self.shm.set_waiting(waiting);
        self.network.set_waiting(waiting);
    }

    fn prepare_sleep(&self) -> u32 {
        self.watch();
        self.network.prepare_sleep();
        self.sleepers.set(self.sleepers.get() + 1);
        self.far.all().iter().for_each(|far| _ = far.device().prepare_sleep());
        self.shm.prepare_sleep()
    }

    fn sleep(&self, token: u32, timeout: Duration) {
        // Without the lock: what is touched here may be used by several threads.
        let mut watched = true;
        match self.watch.get() {
            Some(Some(watch)) => watch.arm(),
            _ => watched = self.alone,
        }
        match self.far_watch.get() {
            Some(Some((watch, _))) => watch.arm(),
            Some(None) => watched = false,
            None => {}
        }
        self.shm.sleep(token, if watched { timeout } else { timeout.min(NAP) });
    }

    fn settle(&self, all: bool, meanwhile: &dyn Fn()) {
        self.network.settle(all, meanwhile);
        self.far.all().iter().for_each(|far| far.device().settle(all, meanwhile));
    }

    fn reach(&self, peer: u32) {
        // All in another job call each other at once, and a node needs no call.
        if let Via::Network = self.way(peer) {
            self.network.reach(peer);
        }
    }

    fn look_for_losses(&self) {
        // The others are told by their connections.
        self.shm.look_for_losses();
    }

    fn forget(&self, peer: u32) {
        match self.way(peer) {
            // It hears of that by [`Direct`].
            Via::Shm(_) => {}
            Via::Network => self.network.forget(peer),
            Via::Far => drop(self.far.of(peer).map(|far| far.forget(peer))),
        }
    }

    fn awake(&self) -> u32 {
        // Of other nodes nothing is known: let theirs be awake as ours are.
        (self.shm.awake() as f32 * self.share) as u32
    }

    fn shares_core(&self, peer: u32) -> bool {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.shares_core(peer),
            Via::Network | Via::Far => true,
        }
    }

    fn balance_cores(&self) {
        self.shm.balance_cores();
    }

    fn end_sleep(&self) {
        self.network.end_sleep();
        self.sleepers.set(self.sleepers.get() - 1);
        self.far.all().iter().for_each(|far| far.device().end_sleep());
        self.shm.end_sleep();
    }

    fn ring(&self, peer: u32) {
        match self.way(peer) {
            Via::Shm(peer) => self.shm.ring(peer),
            Via::Network => self.network.ring(peer),
            Via::Far => _ = self.with_far(peer, |far, peer| far.ring(peer)),
        }
    }
}
