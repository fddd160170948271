//! The device: the contract.

use crate::Settings;
use crate::accesses::End;
use crate::address::Address;
use crate::fabric::Fabric;
use crate::library::Library;
use crate::packet::Token;
use crate::provider;
use crate::service::{self, Shared, timespec};
use crate::state::{Loss, Rest, State};
use crate::ways::Ways;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::cell::Cell;
use std::io::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tern_counters as counters;
use tern_device::{Abilities, Channel, Direct, Header, Payload, RemoteMemory, Sink};
use tern_node::random;
use tern_threads::{Thread, without_signals};

/// How long a process that ends waits until what it sent has left, where peers may be silent for a shorter time.
const SETTLE: Duration = Duration::from_secs(5);
/// The longest time between two looks whether it has come.
const LONG_NAP: Duration = Duration::from_millis(50);
/// How long it waits for its peers' answers.
const ANSWERS: Duration = Duration::from_secs(2);
/// Sleep of a process whose provider has no descriptor.
const NAP: Duration = Duration::from_micros(200);
/// [`Abilities::look`]: as long as one of providers that ask a socket each time.
const LOOK: u32 = 20;

/// A process with an endpoint that does not know its peers yet.
pub struct Endpoint {
    me: u32,
    world: u32,
    settings: Settings,
    fabric: Fabric,
    address: Address,
}

impl Endpoint {
    /// Opens an endpoint, as process `me` of `world`.
    ///
    /// Errors: there is no libfabric, or it has no provider that Tern takes; with what can be done.
    pub fn open(me: u32, world: u32, settings: &Settings) -> Result<Endpoint> {
        if world >= 1 << 24 {
            return Err(Error::other(format!("the ofi device carries at most {} processes", 1 << 24)));
        }
        let library = Library::get(settings.library.as_deref()).map_err(Error::other)?;
        let choice = provider::choose(library, settings.provider.as_deref(), settings.domain.as_deref());
        let offer = choice.map_err(Error::other)?;
        let provider = offer.provider();
        // Threads that the provider starts get no signals of the program's.
        let fabric = without_signals(|| Fabric::open(library, offer, world as usize))?;
        let token: Token = random()?;
        let address = Address { token, provider, name: fabric.name()? };
        Ok(Endpoint { me, world, settings: settings.clone(), fabric, address })
    }

    /// What the others have to know.
    pub fn address(&self) -> Vec<u8> {
        self.address.encode()
    }

    /// The provider, and the card or interface.
    pub fn names(&self) -> (String, String) {
        (self.fabric.offer.provider(), self.fabric.offer.domain_name())
    }

    /// The device, with the addresses of all processes, by rank.
    ///
    /// Errors: an address is something else, or of another provider; memory cannot be registered; no thread can be started.
    pub fn join(self, addresses: &[impl AsRef<[u8]>]) -> Result<Ofi> {
        let all: Vec<Address> = addresses.iter().map(|bytes| Address::decode(bytes.as_ref())).collect::<Result<_>>()?;
        if all.len() != self.world as usize {
            return Err(Error::other(format!("{} addresses for {} processes", all.len(), self.world)));
        }
        if let Some(other) = all.iter().position(|address| address.provider != self.address.provider) {
            return Err(Error::other(format!(
                "rank {} uses libfabric's provider {} and rank {other} {}: name one that all have with TERN_OFI_PROVIDER",
                self.me, self.address.provider, all[other].provider
            )));
        }
        let tokens = all.iter().map(|address| address.token).collect();
        let names: Vec<_> = all.into_iter().map(|address| address.name).collect();
        let offer = &self.fabric.offer;
        let longest = offer.endpoint().max_msg_size.saturating_sub(crate::packet::HEAD);
        let packet =
            self.settings.packet.min(longest).min(provider::most(&self.address.provider) - crate::packet::HEAD);
        let inject = offer.tx().inject_size.min(crate::state::INJECT).saturating_sub(crate::packet::HEAD);
        let abilities = Abilities {
            name: "ofi",
            packet,
            piece: Some(packet),
            eager: self.settings.eager,
            // Shorter ones go without asking.
            direct_from: self.settings.eager + 1,
            inline: inject.clamp(64, packet),
            latency_ns: 3000.0,
            bandwidth: 5.0,
            lines: false,
            look: LOOK,
            write_back: false,
        };
        let silence = self.settings.silence;
        let ways = Ways::new(&self.address.provider, &self.address.name, &names, silence);
        let state = without_signals(|| State::new(self.me, self.fabric, &self.settings, packet, tokens, names))?;
        let (accesses, atomics) = (state.registered.is_some(), state.fabric.has_atomics());
        let shared = Arc::new(Shared::new(state, ways, silence)?);
        let ready = ready(&shared)?;
        let its = shared.clone();
        let thread = Thread::start("tern-ofi", 256 << 10, move || service::run(&its))?;
        Ok(Ofi {
            me: self.me,
            world: self.world,
            accesses,
            atomics: accesses && atomics,
            abilities,
            shared,
            thread: Some(thread),
            ready,
            settle: silence.max(SETTLE),
            answers: ANSWERS,
            settled: Cell::new(None),
        })
    }
}

impl tern_device::Endpoint for Endpoint {
    fn address(&self) -> Vec<u8> {
        self.address()
    }

    fn join(self: Box<Self>, addresses: &[&[u8]]) -> std::io::Result<Box<dyn Channel>> {
        Ok(Box::new((*self).join(addresses)?))
    }
}

/// What is readable when the endpoint has something or the bell was rung, where the provider has a descriptor.
fn ready(shared: &Shared) -> Result<Option<OwnedFd>> {
    let state = shared.call();
    let Some(descriptor) = state.fabric.descriptor() else { return Ok(None) };
    let ready = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&ready, descriptor, EventData::new_u64(0), EventFlags::IN)?;
    epoll::add(&ready, &shared.bell, EventData::new_u64(1), EventFlags::IN)?;
    Ok(Some(ready))
}

/// The ofi device of a process.
pub struct Ofi {
    pub(crate) me: u32,
    pub(crate) world: u32,
    /// What the provider has.
    accesses: bool,
    atomics: bool,
    pub(crate) abilities: Abilities,
    pub(crate) shared: Arc<Shared>,
    thread: Option<Thread>,
    ready: Option<OwnedFd>,
    /// How long it waits, when it ends, until what it sent has left.
    settle: Duration,
    /// And for the answers of its peers.
    answers: Duration,
    /// How much had begun when it waited last.
    settled: Cell<Option<u64>>,
}

impl Ofi {
    /// Works until `done`, for a time at most.
    fn work_until(&self, time: Duration, done: impl Fn(&State) -> bool) {
        let until = Instant::now() + time;
        loop {
            let mut state = self.shared.call();
            state.progress();
            if done(&state) || Instant::now() >= until {
                return;
            }
            drop(state);
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// All have come to their end: they are told that this process ends too. Who has heard that does not wait for it, nor call it again. It is
    /// waited for, because a connection that ends while something is unread takes along what was sent over it.
    fn part(&self) {
        self.shared.call().bid_farewell();
        self.shared.call().mark();
        self.work_until(SETTLE, |state| state.has_left(false));
        self.work_until(self.answers, |state| state.is_answered(false));
        self.wait_for_machines();
    }

    /// Waits until the machines of the peers have what has left: a few seconds at most for one that has no room, and for one that gives no
    /// sign until it is lost.
    fn wait_for_machines(&self) {
        let (until, mut nap) = (Instant::now() + SETTLE, NAP);
        loop {
            match self.shared.look() {
                Rest::Nothing => return,
                Rest::OnItsWay if Instant::now() >= until => return,
                _ => std::thread::sleep(nap),
            }
            nap = (2 * nap).min(LONG_NAP);
        }
    }
}

impl Channel for Ofi {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn reaches(&self, peer: u32) -> bool {
        peer < self.world && peer != self.me
    }

    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        let sent = self.shared.call().send(peer, header, payload);
        if let Some(len) = sent {
            counters::OFI_PACKETS.add(1);
            counters::OFI_BYTES.add(len as u64);
        }
        sent
    }

    fn poll(&self, sink: &mut dyn Sink) -> usize {
        let mut state = self.shared.call();
        state.progress();
        let mut packets = 0;
        // The sink may send, so it is called without the lock. What comes meanwhile stands behind what came before.
        while let Some(arrived) = state.take_arrived(None) {
            let payload = state.payload(&arrived);
            drop(state);
            // SAFETY: it stays until it is released.
            sink.packet(arrived.peer, &arrived.header, unsafe { &*payload });
            packets += 1;
            state = self.shared.call();
            state.release(&arrived);
            if sink.has_enough() {
                break;
            }
        }
        while let Some(end) = state.take_end() {
            drop(state);
            match end {
                End::Pulled(request) => sink.pulled(request),
                End::Sent(request) => sink.sent(request),
                End::Window => {}
            }
            packets += 1;
            state = self.shared.call();
        }
        let losses = state.take_losses();
        drop(state);
        for Loss { peer, why, undeliverable } in losses {
            if undeliverable {
                sink.undeliverable(peer);
            }
            sink.lost(peer, &why);
        }
        packets
    }

    fn direct(&self) -> Option<&dyn Direct> {
        self.accesses.then_some(self)
    }

    fn remote(&self) -> Option<&dyn RemoteMemory> {
        self.atomics.then_some(self)
    }

    fn take_next(&self, peer: u32, looks: u32, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        for _ in 0..looks.min(4) {
            let mut state = self.shared.call();
            state.progress();
            let Some(arrived) = state.take_arrived(Some(peer)) else { continue };
            let payload = state.payload(&arrived);
            drop(state);
            // SAFETY: it stays until it is released.
            let used = take(&arrived.header, unsafe { &*payload });
            let mut state = self.shared.call();
            match used {
                true => state.release(&arrived),
                // No packet of the same peer stands before it.
                false => state.put_back(arrived),
            }
            return used;
        }
        false
    }

    fn prepare_sleep(&self) -> u32 {
        // Relaxed: the lock below comes between this and what the thread does under it.
        if self.shared.sleepers.fetch_add(1, Ordering::Relaxed) == 0 {
            let _ = rustix::io::read(&self.shared.bell, &mut [0u8; 8]);
        }
        // Acquire: pairs with the release in `ring`.
        let token = self.shared.rung.load(Ordering::Acquire);
        let mut state = self.shared.call();
        state.news = false;
        if state.has_something() || self.ready.is_some() && !state.fabric.try_wait() {
            self.shared.ring();
        }
        token
    }

    fn sleep(&self, token: u32, timeout: Duration) {
        // Acquire: pairs with the release in `ring`.
        if self.shared.rung.load(Ordering::Acquire) != token {
            return;
        }
        // A packet, a ring, a signal and the timeout all mean: look for work again.
        let _ = match &self.ready {
            Some(ready) => poll(&mut [PollFd::new(ready, PollFlags::IN)], Some(&timespec(timeout))),
            None => poll(&mut [PollFd::new(&self.shared.bell, PollFlags::IN)], Some(&timespec(timeout.min(NAP)))),
        };
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.ready.as_ref().map(AsFd::as_fd)
    }

    fn settle(&self, all: bool, _meanwhile: &dyn Fn()) {
        let begun = Some(self.shared.call().begun());
        let is_settled = self.settled.replace(begun) == begun;
        if !all {
            if !is_settled {
                self.part();
            }
            return;
        }
        self.shared.call().mark();
        let has_left = |state: &State| state.has_left(true);
        // A peer that is there may be slow; what it has not taken when this process ends is lost.
        self.work_until(self.settle, has_left);
        while self.shared.call().is_calling() {
            self.work_until(NAP, has_left);
        }
        if !has_left(&self.shared.call()) {
            self.shared.give_up_rest(self.settle);
        }
        self.wait_for_machines();
    }

    fn reach(&self, peer: u32) {
        self.shared.call().reach(peer);
    }

    fn forget(&self, peer: u32) {
        self.shared.call().forget(peer);
    }

    fn awake(&self) -> u32 {
        // Nothing is known of the others.
        1
    }

    fn end_sleep(&self) {
        // Relaxed: a ring too many is none that matters.
        self.shared.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    fn ring(&self, peer: u32) {
        if peer == self.me {
            self.shared.ring();
        } else {
            self.shared.call().owe_bell(peer);
        }
    }
}

impl Drop for Ofi {
    fn drop(&mut self) {
        let begun = self.shared.call().begun();
        if self.settled.get() != Some(begun) {
            self.settle(true, &|| ());
        }
        self.shared.call().bid_farewell();
        self.work_until(self.answers, |state| state.is_answered(true));
        self.work_until(self.answers, |state| state.has_left(true));
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
