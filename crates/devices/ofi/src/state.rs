//! What a process knows of its peers, and what is under way. One thread at a time uses it: that of the program, or that of
//! the device (`service`).
//!
//! Each peer may have [`WINDOW`] packets under way to this process, which it takes before it says so. A packet that was
//! taken from the program stands in a buffer, so it goes though the endpoint has no room now, or no way to the peer yet.

mod access;
mod arrive;
mod leave;
mod vigil;

use crate::Settings;
use crate::accesses::{Accesses, End};
use crate::buffers::{Place, Requests, Ring, Sends};
use crate::fabric::Fabric;
use crate::keys::Keys;
use crate::memory::Registered;
use crate::packet::{HEAD, Token};
use crate::{abi, provider};
use std::collections::{BTreeMap, VecDeque};
use std::io::Result;
use std::time::{Duration, Instant};
use tern_device::Header;

pub use vigil::Rest;

/// Packets to one peer that it has not told to have taken.
pub const WINDOW: u32 = 64;
/// Buffers to send from.
const SENDS: usize = 256;
/// Requests at the memory of others that are under way, at most.
const REQUESTS: usize = 256;
/// Buffers to receive into, for one packet each.
const RECEIVES: usize = 64;
/// Buffers to receive into, for several packets each, and their bytes.
const AREAS: usize = 4;
const AREA: usize = 1 << 20;
/// The shortest and the longest time for which a peer that was never heard may refuse.
const PATIENCE: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(60)];
/// Most bytes that are injected: they are put together on the stack.
pub const INJECT: usize = 512;

/// A packet that has come and was not handed on.
pub struct Arrived {
    pub peer: u32,
    pub header: Header,
    pub payload: Bytes,
}

/// Where the bytes of a packet with its head are.
pub enum Bytes {
    InRing(Place),
    /// Copied out, since the ring was short.
    Own(Vec<u8>),
}

/// What is known of one peer.
#[derive(Default)]
struct Peer {
    /// Its name, and what that stands for as soon as it is used.
    name: Vec<u8>,
    address: Option<u64>,
    /// What packets to it show, and packets from it.
    passes: Option<(u64, u64)>,
    /// Packets that were sent to it, and those of them that it has taken.
    sent: u32,
    acknowledged: u32,
    /// Packets that have come from it, were handed on, and were told to it.
    came: u32,
    taken: u32,
    told: u32,
    /// Buffers that go to it, the oldest first.
    outbox: VecDeque<u32>,
    /// The endpoint has refused its packets since.
    refused: Option<Instant>,
    /// Some packet to it was accepted, by the endpoint.
    is_reached: bool,
    /// Some packet has come from it, or a request at its memory has ended well.
    is_heard: bool,
    /// Something was injected that nothing completed after.
    injected: bool,
    /// Packets with data that were injected since something has completed.
    short: u32,
    /// Buffers that the endpoint has and that have not completed.
    posted: u32,
    /// What is to be told to it as soon as there is room.
    owes: Owed,
    /// Packets that have overtaken others.
    early: BTreeMap<u32, Vec<u8>>,
    /// It has said that it ends.
    farewell: bool,
    /// It has answered our farewell.
    goodbye: bool,
    lost: bool,
}

/// A peer that is lost, and why.
pub struct Loss {
    pub peer: u32,
    pub why: String,
    /// Packets for it were taken, and it may know nothing of them.
    pub undeliverable: bool,
}

#[derive(Clone, Copy, Default)]
struct Owed {
    credit: bool,
    bell: bool,
    goodbye: bool,
}

impl Owed {
    fn is_any(self) -> bool {
        self.credit || self.bell || self.goodbye
    }
}

/// See the module.
pub struct State {
    pub me: u32,
    // Buffers before the fabric: their registrations end before its domain does. See `drop`.
    sends: Sends,
    ring: Ring,
    requests: Requests,
    /// Registrations of the program's memory, if others can reach it.
    pub registered: Option<Registered>,
    pub fabric: Fabric,
    tokens: Vec<Token>,
    peers: Vec<Peer>,
    arrived: VecDeque<Arrived>,
    losses: Vec<Loss>,
    /// Packets that the endpoint has taken and that have not completed.
    under_way: usize,
    /// It has told its peers that it ends.
    is_leaving: bool,
    /// Peers with something in their outboxes, in turn; and those that are owed something.
    queued: VecDeque<u32>,
    owed: Vec<u32>,
    /// Most bytes that the endpoint injects.
    inject: usize,
    packet: usize,
    keeps_order: bool,
    /// Own memory has to be registered before a request names it.
    registers: bool,
    /// How long a peer may give no sign, and how long one that was never heard may refuse.
    silence: Duration,
    patience: Duration,
    keys: Keys,
    accesses: Accesses,
    /// Of each request; and those that are not under way.
    of: Vec<access::Request>,
    unused: Vec<u32>,
    /// Messages that have ended, and that nobody was told of.
    ends: VecDeque<End>,
    /// Something has happened that a sleeping process waits for.
    pub news: bool,
}

impl State {
    /// # Errors
    /// No memory, or it cannot be registered.
    pub fn new(
        me: u32, mut fabric: Fabric, settings: &Settings, packet: usize, tokens: Vec<Token>, names: Vec<Vec<u8>>,
    ) -> Result<State> {
        let offer = &fabric.offer;
        let registers = offer.asks(abi::FI_MR_LOCAL) || settings.registers;
        let several = offer.has(abi::FI_MULTI_RECV) && provider::fills(&offer.provider());
        let (inject, keeps_order) = (offer.tx().inject_size.min(INJECT), offer.keeps(abi::FI_ORDER_SAS));
        let receives = offer.rx().size.clamp(2, RECEIVES);
        // Whole cache lines, so that no two packets share one.
        let size = (HEAD + packet).next_multiple_of(64);
        let (theirs, absolute) = (offer.asks(abi::FI_MR_PROV_KEY), offer.asks(abi::FI_MR_VIRT_ADDR));
        let keys = Keys::new(theirs, absolute, offer.key_mask());
        // Providers that do not ask for it take memory that is not there yet, and so by its addresses.
        let pins = offer.asks(abi::FI_MR_ALLOCATED);
        let accesses = Accesses::new(names.len(), offer.keeps(provider::ATOMICS));
        let count = REQUESTS.min(offer.tx().size / 2).max(1);
        let has_accesses = fabric.has_accesses();
        let reached = settings.accesses && has_accesses;
        let requests = Requests::new(&mut fabric, count, registers && has_accesses)?;
        let (of, unused) = (vec![access::UNUSED; count], (0..count as u32).rev().collect());
        let (own, kept, most) = (tokens[me as usize], settings.registered, settings.locked.unwrap_or(u64::MAX));
        let registered = reached.then(|| Registered::new(&keys, own, pins, kept, most));
        let sends = Sends::new(&mut fabric, SENDS, size, registers)?;
        if several {
            fabric.set_least_room(size)?;
        }
        let (count, area) = if several { (AREAS, AREA.max(4 * size)) } else { (receives, size) };
        let ring = Ring::new(&mut fabric, count, area, several, registers)?;
        let peers = names.into_iter().map(|name| Peer { name, ..Peer::default() }).collect();
        Ok(State {
            me,
            sends,
            ring,
            requests,
            registered,
            fabric,
            tokens,
            peers,
            arrived: VecDeque::new(),
            losses: Vec::new(),
            under_way: 0,
            is_leaving: false,
            queued: VecDeque::new(),
            owed: Vec::new(),
            inject,
            packet,
            keeps_order,
            registers,
            silence: settings.silence,
            patience: (2 * settings.silence).clamp(PATIENCE[0], PATIENCE[1]),
            keys,
            accesses,
            of,
            unused,
            ends: VecDeque::new(),
            news: false,
        })
    }

    pub fn world(&self) -> u32 {
        self.peers.len() as u32
    }

    /// Lets the endpoint work, takes what it has done, and gives it what waits.
    pub fn progress(&mut self) {
        self.take_completions();
        self.post_accesses();
        self.flush();
        if let Err(error) = self.ring.post(&self.fabric) {
            // Nothing more can come from anybody.
            for peer in 0..self.world() {
                self.lose(peer, &error.to_string());
            }
        }
    }

    /// Begun and ended accesses to windows of a peer, and whether it is lost to them.
    pub fn accesses_to(&self, peer: u32) -> (u64, u64, bool) {
        (self.accesses.begun(peer), self.accesses.ended(peer), self.accesses.is_lost(peer))
    }

    /// Whether peers may be about to reach for memory of this process.
    pub fn is_reached(&self) -> bool {
        self.registered.as_ref().is_some_and(Registered::is_reached)
    }

    /// Whether something waits for the endpoint: it may need to be asked again and again.
    pub fn is_busy(&self) -> bool {
        self.under_way > 0 || !self.queued.is_empty() || !self.owed.is_empty() || !self.accesses.is_idle()
    }

    /// Peers that cannot be reached any more, and why: those that were not asked for yet.
    pub fn take_losses(&mut self) -> Vec<Loss> {
        std::mem::take(&mut self.losses)
    }

    /// Whether the process had better look before it sleeps.
    pub fn has_something(&self) -> bool {
        !self.arrived.is_empty() || !self.losses.is_empty() || !self.ends.is_empty()
    }

    /// Nothing more goes to that peer, nor comes from it. This process itself is not lost, but no access to its memory that is
    /// under way ends well.
    pub fn lose(&mut self, peer: u32, why: &str) {
        self.lose_with(peer, why, false);
    }

    /// The same; `is_left`: messages to it that were taken have not left.
    fn lose_with(&mut self, peer: u32, why: &str, is_left: bool) {
        if peer == self.me {
            return self.fail_accesses(peer);
        }
        let it = &mut self.peers[peer as usize];
        if std::mem::replace(&mut it.lost, true) {
            return;
        }
        let undeliverable =
            is_left || !it.farewell && it.sent != it.acknowledged && (!it.outbox.is_empty() || !it.is_reached);
        self.drop_outbox(peer);
        self.owed.retain(|owed| *owed != peer);
        self.fail_accesses(peer);
        self.losses.push(Loss { peer, why: why.to_owned(), undeliverable });
        self.news = true;
    }

    /// Others have told that this peer is lost: the same, and nobody asks for it.
    pub fn forget(&mut self, peer: u32) {
        let asked = self.losses.len();
        self.lose(peer, "others have lost it");
        self.losses.truncate(asked);
    }

    /// What waits for a peer does not go.
    fn drop_outbox(&mut self, peer: u32) {
        for buffer in std::mem::take(&mut self.peers[peer as usize].outbox) {
            self.sends.give(buffer);
        }
        self.queued.retain(|queued| *queued != peer);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Registrations of an endpoint end before it; the memory, and other registrations, after it.
        if self.fabric.offer.asks(abi::FI_MR_ENDPOINT) {
            self.sends.unregister();
            self.ring.unregister();
            self.requests.unregister();
            self.registered = None;
        }
        self.fabric.close_endpoint();
    }
}
