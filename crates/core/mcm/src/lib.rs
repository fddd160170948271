//! The devices of one process behind one object, waiting, and the library's lock.
//!
//! The layers above call [`Mcm`] with the number of a process. It finds the device: shared memory for processes of this node, one
//! network for all others. A pair of processes uses one device, so devices need no common order.
//!
//! # Objects
//!
//! ```text
//! Mcm ── MultiDevice ─┬─ Shm       processes of this node, and of other jobs that share memory
//!  │                  ├─ network   one of verbs, tcp, ofi, pipes: TERN_NETWORK, or what the machine has; Nobody on one node
//!  │                  └─ far       processes of other jobs on other machines, by TCP
//!  ├── Chaos                       around MultiDevice where TERN_CHAOS is set, for tests
//!  ├── Patience                    how long a wait spins and yields before it sleeps
//!  └── nodes                       which process is where
//! ```
//!
//! [`Mcm::new`] takes any device instead: tests of the layers above give a made-up one.
//!
//! # What it offers
//!
//! - **Packets**: [`Mcm::send_short`], [`Mcm::copy_and_send`], [`Mcm::poll`] into a [`Sink`]. A send that finds no room takes nothing.
//! - **More than packets**, where a device has it: [`Mcm::direct`] (published receives, single copies, shared memory),
//!   [`Mcm::remote`] (windows by a card), [`Mcm::control_slots`] (lines for collectives).
//! - **Waiting**: [`Mcm::wait`] calls a step again and again. It spins, yields, and sleeps on all devices at once
//!   (docs/parts/waiting.md). [`Mcm::ring`] wakes a process.
//! - **Processes of other jobs**: [`Mcm::connect`], [`Mcm::connect_far`], [`Mcm::disconnect`].
//!
//! # Rules
//!
//! - One thread at a time is inside, and holds the [`lock`]. A thread that waits lets others in between two looks.
//! - On one node shared memory is called by name, without a look at the network. A short message pays no dynamic call.
//! - Numbers of processes are of this process alone. Devices have numbers of their own; [`MultiDevice`] converts.
//! - A new network is one line in `network.rs`: docs/adding-a-device.md.

mod chaos;
mod far;
pub mod lock;
mod multi_device;
mod network;
mod nobody;
pub mod place;
mod wait;

pub use chaos::{Chaos, Plan};
pub use far::Endpoint;
pub use multi_device::MultiDevice;
pub use network::door;
pub use tern_device::clock::ticks;
pub use tern_device::hint::as_stored;
pub use tern_device::{
    AfterFork, Bound, ControlSlots, Cut, DEPTH, Delivery, Direct, Direction, Ended, Event, Exposure, Found, Gather,
    Group, Header, Key, Lease, Lending, Lost, Memory, Name, NotCopied, Occupied, Outgoing, PairFacts, Payload,
    PeerState, Place, Pull, PullTo, Purpose, PushTo, Recall, RecallReason, RemoteMemory, Run, SharedMemory, SingleCopy,
    Sink, SpeculativeAddress, Then, Times, TupleQueue, Use, Word, copy_short, unmap, way_from, way_into,
};
pub use tern_proof::{Door, Knock, Progress, Proven, Sealer, TAG};
pub use tern_shm::News;
pub use wait::{Patience, Step};

use std::cell::Cell;
use std::io::{Error, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use tern_device::{Channel, hint};
use tern_pmi::Nodes;
use tern_policy::{CoreContention, VainLooks};
use tern_shm::Shm;

/// The devices of this process: shared memory, and a network if the world has several nodes.
pub struct Mcm {
    devices: Devices,
    /// Shared memory alone reaches all. Packets go through it so often that it is called by name. It changes once, when a
    /// process of another machine is connected; a thread that sleeps meanwhile is woken.
    near: AtomicBool,
    me: u32,
    size: Cell<u32>,
    /// Of the processes of the own world.
    nodes: Nodes,
    patience: Cell<Patience>,
    contention: CoreContention,
    /// Cores that the processes of the node share.
    cores: u32,
    vain: VainLooks,
    /// Waits that sleep tell so.
    watched: Cell<bool>,
    /// One wait follows the other.
    keeps_waiting: Cell<bool>,
    /// The last line on which somebody was to wait for news, or some line of this process's.
    news: Cell<*const u8>,
}

/// What there is. It stays in its place, whatever is in use of it.
#[allow(clippy::large_enum_variant, reason = "there is one of it, and no box is in the way of a packet")]
enum Devices {
    MultiDevice(MultiDevice),
    Chaos(Box<Chaos>),
    Other(Box<dyn Channel>),
}

/// The device in use.
enum Carrier<'a> {
    Shm(&'a Shm),
    MultiDevice(&'a MultiDevice),
    Chaos(&'a Chaos),
    Other(&'a dyn Channel),
}

impl Mcm {
    /// The devices for a process of `job`, with the settings that concern them. With several nodes it waits for
    /// all processes of the world.
    ///
    /// Errors: the job's shared memory cannot be sized or mapped; no network.
    pub fn open(job: &tern_pmi::Job) -> std::io::Result<Mcm> {
        if let Some(costs) = &job.costs {
            tern_tune::store::tell(costs.clone());
        }
        let ring = tern_settings::RING_SIZE.get().map(|bytes| bytes as usize);
        // Where nodes are simulated, they share the machine's cores.
        let node_cores = tern_atomics::cores().unwrap_or(job.node_cores);
        let cores = (node_cores * job.local_size / job.machine_size).max(1);
        let shm = Shm::new(job.segment.as_fd(), job.local_rank, job.local_size, cores, ring)
            .map_err(|error| Error::new(error.kind(), format!("the job's shared memory: {error}")))?;
        if tern_settings::EXPLAIN.get() == tern_settings::Explain::Choices && job.rank == 0 && job.size > 1 {
            // All of it in one write, so that lines of other ranks do not come between.
            let text = format!("{}\n{}", shm.explain(), tern_policy::rules::explain());
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
        let near = job.nodes.count() == 1;
        let network = if near { Box::new(nobody::Nobody) } else { network::open(job)? };
        let node = job.nodes.members(job.node);
        let patience = Patience::as_set(job.machine_size, node_cores, network.abilities().look);
        let multi = MultiDevice::new(shm, network, node, job.size, job.machine_size);
        let devices = match Chaos::wanted(job)? {
            Some(plan) => Devices::Chaos(Box::new(Chaos::new(multi, plan, job.rank, job.parents.is_some()))),
            None => Devices::MultiDevice(multi),
        };
        let (nodes, near) = (job.nodes.clone(), near && matches!(devices, Devices::MultiDevice(_)));
        Ok(Mcm { cores: node_cores, nodes, ..Mcm::over(devices, near, job.rank, job.size, patience) })
    }

    /// `me` of `size` processes, reached through `device`.
    pub fn new(device: Box<dyn Channel>, me: u32, size: u32, patience: Patience) -> Mcm {
        Mcm::over(Devices::Other(device), false, me, size, patience)
    }

    fn over(devices: Devices, near: bool, me: u32, size: u32, patience: Patience) -> Mcm {
        let nodes = Nodes::one(size);
        let (size, patience) = (Cell::new(size), Cell::new(patience));
        Mcm {
            devices,
            near: AtomicBool::new(near),
            me,
            size,
            nodes,
            patience,
            contention: CoreContention::default(),
            cores: u32::MAX,
            vain: VainLooks::default(),
            watched: Cell::new(false),
            keeps_waiting: Cell::new(false),
            news: Cell::new((&raw const tern_counters::SHORT).cast()),
        }
    }

    #[inline(always)]
    fn carrier(&self) -> Carrier<'_> {
        // Relaxed: it is written under the library's lock. Who sleeps without it may see the old value, and is woken.
        if self.near.load(Ordering::Relaxed) {
            let Devices::MultiDevice(multi) = &self.devices else {
                // SAFETY: `near` is true for devices with shared memory alone (`over`).
                unsafe { std::hint::unreachable_unchecked() }
            };
            return Carrier::Shm(multi.shm());
        }
        match &self.devices {
            Devices::MultiDevice(multi) => Carrier::MultiDevice(multi),
            Devices::Chaos(chaos) => Carrier::Chaos(chaos),
            Devices::Other(other) => Carrier::Other(&**other),
        }
    }

    #[inline(always)]
    fn multi(&self) -> Option<&MultiDevice> {
        match &self.devices {
            Devices::MultiDevice(multi) => Some(multi),
            Devices::Chaos(chaos) => Some(chaos.multi()),
            Devices::Other(_) => None,
        }
    }

    /// The number of this process.
    #[inline]
    pub fn me(&self) -> u32 {
        self.me
    }

    /// The node of a process of the own world, if it is one.
    pub fn node(&self, peer: u32) -> Option<u32> {
        (peer < self.nodes.size()).then(|| self.nodes.of(peer))
    }

    /// The number of processes.
    pub fn size(&self) -> u32 {
        self.size.get()
    }

    /// See [`Shm::connect`]: further processes are known by numbers from [`Mcm::size`] on.
    pub fn connect(
        &self, file: BorrowedFd<'_>, offset: u64, me: u32, processes: u32, newcomers: &[u32],
    ) -> std::io::Result<u32> {
        let first = self.between_jobs()?.connect(file, offset, me, processes, newcomers)?;
        self.size.set(first + newcomers.len() as u32);
        self.know();
        Ok(first)
    }

    /// The same for processes of which some are on other machines: `endpoint` is this process's, and `addresses` has
    /// those of all, by place. Those in the places `newcomers`, which rise, are known from now on.
    ///
    /// Errors: an address is something else; no descriptor or thread is left.
    pub fn connect_far(&self, endpoint: Endpoint, addresses: &[Vec<u8>], newcomers: &[u32]) -> std::io::Result<u32> {
        let first = self.between_jobs()?.connect_far(endpoint, addresses, newcomers)?;
        self.size.set(first + newcomers.len() as u32);
        self.near.store(false, Ordering::Relaxed);
        // Other threads go to sleep again, on all there is.
        self.ring(self.me);
        self.know();
        Ok(first)
    }

    fn between_jobs(&self) -> std::io::Result<&MultiDevice> {
        self.multi().ok_or_else(|| std::io::Error::other("this device reaches no process of another job"))
    }

    /// Whether there is a connection to each of the processes of a [`Mcm::connect_far`], or the process is lost.
    pub fn has_met_all(&self, first: u32) -> bool {
        self.multi().is_none_or(|multi| multi.has_met_all(first))
    }

    /// Forgets the processes of one connect, whose numbers are not used any more: see [`Shm::disconnect`].
    pub fn disconnect(&self, first: u32) {
        self.multi().inspect(|multi| multi.disconnect(first));
        self.know();
    }

    /// See [`Shm::part`].
    pub fn part(&self, first: u32) {
        self.multi().inspect(|multi| multi.part(first));
    }

    /// See [`Shm::end`].
    pub fn end(&self) {
        self.multi().inspect(|multi| multi.end());
    }

    /// See [`Shm::ended`].
    pub fn ended(&self) {
        self.multi().inspect(|multi| multi.ended());
    }

    /// See [`Shm::returns`].
    pub fn returns(&self) {
        self.multi().inspect(|multi| multi.shm().returns());
    }

    /// See [`Shm::awaited`].
    pub fn awaited(&self) -> Vec<u32> {
        self.multi().map(MultiDevice::awaited).unwrap_or_default()
    }

    #[inline]
    fn shm(&self) -> Option<&Shm> {
        self.multi().map(MultiDevice::shm)
    }

    /// Other processes are known now than before.
    fn know(&self) {
        if let Some(multi) = self.multi() {
            self.patience.set(Patience::as_set(multi.known(), self.cores, multi.look()));
        }
    }

    #[inline]
    fn device(&self) -> &dyn Channel {
        match self.carrier() {
            Carrier::Shm(shm) => shm,
            Carrier::MultiDevice(multi) => multi,
            Carrier::Chaos(chaos) => chaos,
            Carrier::Other(other) => other,
        }
    }

    /// Largest message to `peer` that should go without asking.
    #[inline]
    pub fn eager(&self, peer: u32) -> usize {
        match self.carrier() {
            Carrier::Shm(shm) => shm.eager(),
            Carrier::MultiDevice(multi) => multi.eager(peer),
            Carrier::Chaos(chaos) => chaos.multi().eager(peer),
            Carrier::Other(other) => other.abilities().eager,
        }
    }

    /// Payload bytes of a packet of a long message to `peer` ([`tern_device::Abilities::piece`]).
    #[inline]
    pub fn piece(&self, peer: u32) -> Option<usize> {
        match self.carrier() {
            Carrier::Shm(_) => None,
            Carrier::MultiDevice(multi) => multi.piece(peer),
            Carrier::Chaos(chaos) => chaos.multi().piece(peer),
            Carrier::Other(other) => other.abilities().piece,
        }
    }

    /// Smallest receive worth publishing, and smallest message worth looking for one, in bytes; [`usize::MAX`] where none are published.
    pub fn direct_from(&self) -> usize {
        self.direct().map_or(usize::MAX, |_| self.device().abilities().direct_from)
    }

    /// Payload bytes that travel with a header at no further cost.
    pub fn inline(&self) -> usize {
        self.device().abilities().inline
    }

    /// Sends a packet whose payload travels with the header, whole or not at all.
    #[inline(always)]
    pub fn send_short(&self, peer: u32, header: &Header, payload: &[u8]) -> bool {
        match self.carrier() {
            Carrier::Shm(shm) => shm.send_short(peer, header, payload),
            Carrier::MultiDevice(multi) => multi.send_short(peer, header, payload),
            Carrier::Chaos(chaos) => chaos.send_short(peer, header, payload),
            // A device that takes more than the header takes what travels with it.
            Carrier::Other(_) if !payload.is_empty() => false,
            Carrier::Other(other) => other.copy_and_send(peer, header, Payload::Bytes(&[])).is_some(),
        }
    }

    /// True when whoever has copied a long payload should write its lines back
    /// ([`tern_device::Abilities::write_back`]).
    pub fn write_back(&self) -> bool {
        self.device().abilities().write_back
    }

    /// Sends a packet as [`Channel::copy_and_send`] does, on the device that reaches `peer`.
    #[inline]
    pub fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        match self.carrier() {
            Carrier::Shm(shm) => shm.copy_and_send(peer, header, payload),
            Carrier::MultiDevice(multi) => multi.copy_and_send(peer, header, payload),
            Carrier::Chaos(chaos) => chaos.copy_and_send(peer, header, payload),
            Carrier::Other(other) => other.copy_and_send(peer, header, payload),
        }
    }

    /// See [`Channel::sends_from`].
    pub fn sends_from(&self) -> usize {
        self.device().sends_from()
    }

    /// See [`Channel::lending`].
    pub fn lending(&self, peer: u32, payload: &[u8]) -> Lending {
        self.device().lending(peer, payload)
    }

    /// See [`Channel::send_from`].
    ///
    /// # Safety
    /// The payload is valid and not changed until [`Sink::sent`] names `sender`.
    pub unsafe fn send_from(&self, peer: u32, cut: &Cut, payload: &[u8], sender: u32) -> bool {
        // SAFETY: handed on.
        unsafe { self.device().send_from(peer, cut, payload, sender) }
    }

    /// Hands what has arrived on any device to `sink`; returns the number of packets.
    #[inline]
    pub fn poll<S: Sink>(&self, sink: &mut S) -> usize {
        match self.carrier() {
            Carrier::Shm(shm) => shm.poll_into(sink),
            Carrier::MultiDevice(multi) => multi.poll_into(sink),
            Carrier::Chaos(chaos) => chaos.poll(sink),
            Carrier::Other(other) => other.poll(sink),
        }
    }

    /// See [`Channel::take_next`].
    #[inline]
    pub fn take_next(&self, peer: u32, looks: u32, mut take: impl FnMut(&Header, &[u8]) -> bool) -> bool {
        let looks = tern_atomics::looks(looks);
        match self.carrier() {
            Carrier::Shm(shm) => shm.take_from(peer, looks, take),
            Carrier::MultiDevice(multi) => multi.take_from(peer, looks, take),
            Carrier::Chaos(chaos) => chaos.take_next(peer, looks, &mut take),
            Carrier::Other(other) => other.take_next(peer, looks, &mut take),
        }
    }

    /// See [`Channel::expect_more`].
    #[inline]
    pub fn expect_more(&self, peer: u32) {
        match self.carrier() {
            Carrier::Shm(shm) => shm.expect_more(peer),
            Carrier::MultiDevice(multi) => multi.expect_more(peer),
            Carrier::Chaos(chaos) => chaos.expect_more(peer),
            Carrier::Other(other) => other.expect_more(peer),
        }
    }

    /// See [`Channel::glance`].
    #[inline]
    pub fn glance(&self, looks: u32) {
        let looks = tern_atomics::looks(looks);
        match self.carrier() {
            Carrier::Shm(shm) => shm.glance(looks),
            Carrier::MultiDevice(multi) => multi.glance(looks),
            Carrier::Chaos(chaos) => chaos.glance(looks),
            Carrier::Other(other) => other.glance(looks),
        }
    }

    /// See [`Channel::reach`].
    pub fn reach(&self, peer: u32) {
        self.device().reach(peer);
    }

    /// See [`Channel::look_for_losses`].
    pub fn look_for_losses(&self) {
        self.device().look_for_losses();
    }

    /// See [`Channel::forget`].
    pub fn forget(&self, peer: u32) {
        self.device().forget(peer);
    }

    /// See [`Channel::settle`].
    pub fn settle(&self, all: bool, meanwhile: &dyn Fn()) {
        self.device().settle(all, meanwhile);
    }

    /// See [`Channel::tell_bound`].
    pub fn tell_bound(&self, parts: [u32; 3]) {
        self.device().tell_bound(parts);
    }

    /// See [`Channel::bound`].
    pub fn bound(&self, peer: u32) -> Bound {
        self.device().bound(peer)
    }

    /// See [`Channel::control_slots`].
    pub fn control_slots(&self, peer: u32, index: u32) -> Option<ControlSlots> {
        self.device().control_slots(peer, index)
    }

    /// One wait follows the other: in between this process counts as one that waits, until it is over.
    pub fn keep_waiting(&self, on: bool) {
        self.keeps_waiting.set(on);
        self.set_waiting(on);
    }

    /// Whether [`Mcm::keep_waiting`] is on.
    #[inline]
    pub fn keeps_waiting(&self) -> bool {
        self.keeps_waiting.get()
    }

    /// See [`Channel::set_waiting`]. [`Mcm::wait`] lowers it when it ends, unless [`Mcm::keep_waiting`] is on.
    #[inline]
    pub fn set_waiting(&self, waiting: bool) {
        self.device().set_waiting(waiting);
    }

    /// See [`Channel::direct`].
    #[inline]
    pub fn direct(&self) -> Option<&dyn Direct> {
        match self.carrier() {
            // By name: the compiler sees what it is.
            Carrier::Shm(shm) => shm.direct(),
            _ => self.device().direct(),
        }
    }

    /// The program has started something, and is going to wait for what `peer` has to say of it.
    #[inline]
    pub fn await_news(&self, peer: u32, of: News) {
        let line = match self.carrier() {
            Carrier::Shm(shm) => shm.news_line(peer, of),
            Carrier::MultiDevice(multi) => multi.news_line(peer, of),
            Carrier::Chaos(_) | Carrier::Other(_) => None,
        };
        if let Some(line) = line {
            self.news.set(line);
        }
    }

    /// Fetches the line of the last [`Mcm::await_news`], for a call that is about to wait: a peer has most likely written there, and the call
    /// has enough to do before it looks.
    #[inline(always)]
    pub fn expect_news(&self) {
        hint::prefetch(self.news.get());
    }

    /// See [`Channel::remote`].
    pub fn remote(&self) -> Option<&dyn RemoteMemory> {
        self.device().remote()
    }

    /// See [`Shm::anyone_sleeps`].
    #[inline]
    pub fn anyone_sleeps(&self) -> bool {
        self.shm().is_none_or(Shm::anyone_sleeps)
    }

    /// Whether all other processes sleep now. It is known where shared memory alone reaches them all. One of several threads sleeps when its
    /// thread that waits in MPI does.
    pub fn all_others_sleep(&self) -> bool {
        matches!(self.carrier(), Carrier::Shm(shm) if shm.awake() <= 1)
    }

    /// See [`Shm::is_on`].
    #[inline]
    pub fn is_on(&self, peer: u32, core: u32) -> bool {
        match self.carrier() {
            Carrier::Shm(shm) => shm.is_on(peer, core),
            _ => true,
        }
    }

    /// See [`Channel::shares_core`].
    pub fn shares_core(&self, peer: u32) -> bool {
        self.device().shares_core(peer)
    }

    /// These processes are all of the own world and node, and more than it has cores: each of them finds the same.
    pub fn crowds(&self, procs: &[u32]) -> bool {
        let node = self.node(self.me);
        procs.len() > self.cores as usize && procs.iter().all(|&proc| self.node(proc) == node)
    }

    /// See [`Channel::ring`].
    #[inline]
    pub fn ring(&self, peer: u32) {
        self.device().ring(peer);
    }
}
