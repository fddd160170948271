//! The shared-memory device: how it begins, and the contract of all devices.

use crate::declared;
use crate::doorbell;
use crate::fork;
use crate::per_peer::PerPeer;
use crate::ring::INLINE;
use crate::ring::blocks::Division;
use crate::segment::{AREAS, Geometry, LARGE, MAX_PROCESSES, Occupation, Segment};
use crate::single_copy::RegionAccess;
use crate::state::Shm;
use crate::transfers::Transfers;
use crate::vigil::Vigil;
use rustix::fd::BorrowedFd;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tern_atomics::Ordering;
use tern_device::{Abilities, Bound, Channel, ControlSlots, Direct, Header, Payload, Sink};
use tern_policy::pair::DIRECT_FROM;
use tern_tune::OwnCacheRoom;

impl Shm {
    /// [`Shm::join`], as TERN_FT says whether the job survives its processes.
    ///
    /// Errors: see there.
    pub fn new(
        fd: BorrowedFd<'_>, me: u32, processes: u32, cores: u32, ring_data: Option<usize>,
    ) -> std::io::Result<Shm> {
        Shm::join(fd, me, processes, cores, ring_data, tern_settings::FT.get())
    }

    /// Joins the segment `fd` as process `me` of `processes`, which share `cores`. `ring_data` overrides
    /// the size of each ring's data area. `survives`: the job goes on when one of them is lost, and all of them look for that.
    ///
    /// Errors: the memory cannot be sized or mapped, or there are too many processes.
    pub fn join(
        fd: BorrowedFd<'_>, me: u32, processes: u32, cores: u32, ring_data: Option<usize>, survives: bool,
    ) -> std::io::Result<Shm> {
        if processes > MAX_PROCESSES {
            return Err(std::io::Error::other(format!(
                "{processes} processes on one node, at most {MAX_PROCESSES} are supported"
            )));
        }
        let geometry = Geometry::new(processes, ring_data);
        let segment = Segment::map(fd, 0, geometry)?;
        // First of all: whatever peers see of this process from now on, they see that it is there too.
        let vigil = if survives { Vigil::begin(&segment, fd, me).map(Box::new) } else { None };
        let division = Division::new(geometry.data);
        let abilities = Abilities {
            name: "shm",
            packet: division.packet(),
            piece: None,
            eager: 8 * division.long(),
            direct_from: DIRECT_FROM,
            inline: INLINE,
            latency_ns: 100.0,
            bandwidth: 20.0,
            lines: true,
            look: 1,
            write_back: geometry.data < LARGE,
        };
        let module = declared::open(segment.node(), tern_settings::MECHANISM.get());
        let chooser = Rc::new(tern_tune::chooser(module.is_some()));
        let room = Rc::new(OwnCacheRoom::new(processes.into()));
        let access = RegionAccess::new(&segment, fd, me, &chooser, room.clone(), fork::quiesce, module)?;
        Ok(Shm {
            segment,
            direct: Transfers::new(access, chooser, room, processes, division.room() / 4 * 3),
            me,
            abilities,
            cores,
            barrier: doorbell::register(),
            sleepers: Cell::new(0),
            balance: Default::default(),
            senders: PerPeer::new(processes),
            receivers: PerPeer::new(processes),
            blocks: PerPeer::new(processes),
            active: RefCell::new(Vec::new()),
            links: RefCell::default(),
            elsewhere: Cell::new(0),
            watches: Cell::new(vigil.is_some()),
            vigil,
            told: RefCell::default(),
            polls: Cell::new(0),
            unread: Cell::new(None),
            known: RefCell::new(vec![0; processes.div_ceil(64) as usize]),
        })
    }

    /// Sends a packet of no more payload than a cell has room for; false when the ring is full.
    #[inline(always)]
    pub fn send_short(&self, peer: u32, header: &Header, payload: &[u8]) -> bool {
        let outbound = self.sender(peer);
        if !outbound.ring.send_short(header, payload) {
            return false;
        }
        outbound.doorbell().ring();
        true
    }

    /// [`Channel::take_next`], for a closure whose type is known.
    #[inline]
    pub fn take_from(&self, peer: u32, looks: u32, take: impl FnOnce(&Header, &[u8]) -> bool) -> bool {
        self.receiver(peer).take_next(looks, take)
    }

    /// [`Channel::poll`], for a sink whose type is known.
    #[inline]
    pub fn poll_into<S: Sink>(&self, sink: &mut S) -> usize {
        self.expect_filled();
        let packets = self.drain(sink);
        if packets == 0 && self.unread.get().is_some() {
            self.cldemote();
        }
        // New senders are looked for when the known ones are quiet, and now and then.
        self.polls.set(self.polls.get().wrapping_add(1));
        if (packets == 0 || self.polls.get().is_multiple_of(16)) && self.find_contacts() {
            let more = self.drain(sink);
            if self.watches.get() {
                self.tell_lost(sink);
            }
            return packets + more + self.poll_direct(sink);
        }
        packets + self.poll_direct(sink)
    }

    /// Nothing has come: there is time for `Sender::cldemote` of the ring.
    #[cold]
    fn cldemote(&self) {
        self.unread.set(self.unread.get().filter(|&peer| self.sender(peer).ring.cldemote()));
    }

    /// Adds rings of processes that have sent for the first time; true when there were any.
    #[inline]
    fn find_contacts(&self) -> bool {
        let mut found = false;
        for word in 0..self.segment.geometry.processes.div_ceil(64) as usize {
            // Acquire: pairs with the release in `open`.
            let bits = self.segment.process(self.me).contacts[word].load(Ordering::Acquire);
            if bits != self.known.borrow()[word] {
                self.add_contacts(word, bits);
                found = true;
            }
        }
        if self.watches.get() {
            found |= self.look_further();
        }
        found
    }

    #[cold]
    fn add_contacts(&self, word: usize, bits: u64) {
        let mut fresh = bits & !self.known.borrow()[word];
        self.known.borrow_mut()[word] = bits;
        while fresh != 0 {
            let peer = word as u32 * 64 + fresh.trailing_zeros();
            fresh &= fresh - 1;
            self.active.borrow_mut().push(peer);
        }
    }
}

impl Channel for Shm {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn reaches(&self, peer: u32) -> bool {
        peer < self.senders.len() && peer != self.me
    }

    #[inline]
    fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        let outbound = self.sender(peer);
        let part = matches!(payload, Payload::Part(..));
        let taken = outbound.ring.send(header, payload)?;
        outbound.doorbell().ring();
        if part && outbound.ring.cldemotes() {
            self.unread.set(Some(peer));
        }
        Some(taken)
    }

    #[inline]
    fn poll(&self, mut sink: &mut dyn Sink) -> usize {
        self.poll_into(&mut sink)
    }

    fn take_next(&self, peer: u32, looks: u32, take: &mut dyn FnMut(&Header, &[u8]) -> bool) -> bool {
        self.take_from(peer, looks, take)
    }

    #[inline]
    fn expect_more(&self, peer: u32) {
        // Those behind it are left alone: to ask for a line before it is written costs its writer time.
        self.receiver(peer).ring.prefetch(1);
    }

    #[inline]
    fn glance(&self, looks: u32) {
        let active = self.active.borrow();
        for _ in 0..looks {
            if active.iter().any(|&peer| self.receiver(peer).ring.is_ready()) {
                return;
            }
            std::hint::spin_loop();
        }
    }

    fn control_slots(&self, peer: u32, index: u32) -> Option<ControlSlots> {
        // The device lives as long as the process.
        (self.is_home(peer) && index < AREAS).then(|| self.segment.area(peer, index))
    }

    fn tell_bound(&self, parts: [u32; 3]) {
        self.segment.process(self.me).tell_bound(parts);
    }

    fn bound(&self, peer: u32) -> Bound {
        match self.is_home(peer) {
            true => self.segment.process(peer).bound().map_or(Bound::NotYet, Bound::To),
            false => Bound::Nowhere,
        }
    }

    #[inline]
    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }

    fn set_waiting(&self, waiting: bool) {
        let occupation = if waiting { Occupation::Waits } else { Occupation::Computes };
        self.segment.process(self.me).set_occupation(occupation);
    }

    fn prepare_sleep(&self) -> u32 {
        self.sleepers.set(self.sleepers.get() + 1);
        if self.sleepers.get() == 1 {
            self.segment.node().sleepers.enter(&self.segment.status(self.me).asleep);
        }
        for sender in self.senders.made() {
            sender.ring.want_room();
        }
        self.raise_elsewhere();
        self.segment.doorbell(self.me).prepare(self.barrier)
    }

    fn sleep(&self, token: u32, timeout: Duration) {
        // Nobody rings for a process that is lost.
        let timeout = self.nap(self.vigil.as_ref().map_or(timeout, |vigil| timeout.min(vigil.longest_sleep())));
        if !self.sleep_everywhere(token, self.barrier, timeout) {
            self.segment.doorbell(self.me).sleep(token, self.barrier, timeout);
        }
    }

    #[inline]
    fn awake(&self) -> u32 {
        let sleepers = self.segment.node().sleepers.count();
        self.segment.geometry.processes.saturating_sub(sleepers) + self.elsewhere.get()
    }

    fn shares_core(&self, peer: u32) -> bool {
        self.is_on(peer, self.wait_here())
    }

    fn balance_cores(&self) {
        self.balance_now_and_then();
    }

    fn look_for_losses(&self) {
        self.vigil.iter().for_each(|vigil| vigil.make_due());
        self.links.borrow_mut().iter_mut().for_each(|link| link.make_due());
    }

    fn end_sleep(&self) {
        self.sleepers.set(self.sleepers.get() - 1);
        if self.sleepers.get() == 0 {
            self.segment.node().sleepers.leave(&self.segment.status(self.me).asleep);
            self.segment.doorbell(self.me).lower();
            self.lower_elsewhere();
        }
        if let Some(vigil) = &self.vigil {
            vigil.has_slept();
        }
    }

    fn ring(&self, peer: u32) {
        self.with_way(peer, |segment, _, peer| segment.doorbell(peer).ring());
    }
}
