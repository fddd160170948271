//! The shared-memory device.

use crate::core_balance::CoreBalance;
use crate::direct;
use crate::doorbell::{self, Alarm, Barrier, Doorbell};
use crate::link::Link;
use crate::per_peer::PerPeer;
use crate::ring::blocks::{Blocks, Division};
use crate::ring::{INLINE, Receiver, Sender};
use crate::segment::{AREAS, Geometry, LARGE, MAX_PROCESSES, Occupation, Segment};
use crate::single_copy::RegionAccess;
use crate::sync::Ordering;
use rustix::fd::BorrowedFd;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;
use tern_device::{Abilities, Device, Direct, Header, LineArea, Payload, Sink};
use tern_tune::Chooser;

/// Packets taken from one ring before the next ring has its turn.
const BURST: usize = 16;

/// The device of one process. Peers are numbered as the segment numbers them.
pub struct Shm {
    pub(crate) segment: Segment,
    pub(crate) me: u32,
    pub(crate) direct: direct::State,
    abilities: Abilities,
    /// Cores that the processes of the node share.
    cores: u32,
    barrier: Barrier,
    /// Threads of this process that sleep or are about to.
    sleepers: Cell<u32>,
    pub(crate) balance: CoreBalance,
    pub(crate) senders: PerPeer<Outbound>,
    pub(crate) receivers: PerPeer<Inbound>,
    /// By peer: the blocks that its ring and ours share.
    pub(crate) blocks: PerPeer<Rc<Blocks>>,
    /// Peers that something has ever come from.
    pub(crate) active: RefCell<Vec<u32>>,
    /// Segments that are shared with processes of other jobs.
    pub(crate) links: RefCell<Vec<Link>>,
    /// Processes of other jobs that this one knows.
    pub(crate) elsewhere: Cell<u32>,
    /// Those of them that were told to be lost.
    pub(crate) told: RefCell<HashSet<u32>>,
    polls: Cell<u8>,
    /// Whoever may not have read all of a long message that was sent: see [`Sender::cldemote`].
    pub(crate) unread: Cell<Option<u32>>,
    /// The contacts already in `active`.
    known: RefCell<Vec<u64>>,
}

/// The way to a peer: its ring, and the doorbell that wakes it.
pub(crate) struct Outbound {
    ring: Sender,
    doorbell: *const Doorbell,
}

/// The way from a peer.
pub(crate) struct Inbound {
    ring: Receiver,
    doorbell: *const Doorbell,
}

impl Outbound {
    #[inline]
    fn doorbell(&self) -> &Doorbell {
        // SAFETY: in the mapping, which lives as long as the device that owns this.
        unsafe { &*self.doorbell }
    }
}

impl Inbound {
    /// Takes a burst of packets, or fewer if the sink has enough.
    #[inline]
    fn drain<S: Sink>(&self, peer: u32, sink: &mut S) -> usize {
        if !self.ring.is_ready() {
            return 0;
        }
        let mut packets = 0;
        while packets < BURST {
            let Some((header, payload)) = self.ring.peek() else { break };
            self.ring.prefetch(if packets > 0 { 2 } else { 1 });
            let long = payload.len() > INLINE;
            if long {
                self.ring.prefetch_payload();
            }
            sink.packet(peer, header, payload);
            self.ring.advance();
            packets += 1;
            if long {
                // Its sender may wait for the room. That of cells is told once per burst.
                self.ring.release();
            }
            if sink.has_enough() {
                break;
            }
        }
        self.release();
        packets
    }

    /// Gives back what was taken, and wakes the sender if it sleeps for that.
    #[inline]
    fn release(&self) {
        self.ring.release();
        if self.ring.is_room_wanted() {
            // SAFETY: as in `Outbound::doorbell`.
            unsafe { &*self.doorbell }.ring();
        }
    }

    /// [`Device::take_next`].
    #[inline]
    fn take_next(&self, looks: u32, take: impl FnOnce(&Header, &[u8]) -> bool) -> bool {
        for look in 0..looks {
            if look > 0 {
                std::hint::spin_loop();
            }
            if let Some((header, payload)) = self.ring.peek() {
                if look == 0 {
                    // Its sender is ahead.
                    self.ring.prefetch(2);
                    if payload.len() > INLINE {
                        self.ring.prefetch_payload();
                    }
                }
                let used = take(header, payload);
                if used {
                    self.ring.advance();
                    self.release();
                }
                return used;
            }
        }
        false
    }
}

impl Shm {
    /// Joins the segment `fd` as process `me` of `processes`, which share `cores`. `ring_data` overrides
    /// the size of each ring's data area.
    ///
    /// Errors: the memory cannot be sized or mapped, or there are too many processes.
    pub fn new(
        fd: BorrowedFd<'_>, me: u32, processes: u32, cores: u32, ring_data: Option<usize>,
    ) -> std::io::Result<Shm> {
        if processes > MAX_PROCESSES {
            return Err(std::io::Error::other(format!(
                "{processes} processes on one node, at most {MAX_PROCESSES} are supported"
            )));
        }
        let geometry = Geometry::new(processes, ring_data);
        let segment = Segment::map(fd, 0, geometry)?;
        let division = Division::new(geometry.data);
        let abilities = Abilities {
            name: "shm",
            packet: division.packet(),
            piece: None,
            eager: 8 * division.long(),
            inline: INLINE,
            latency_ns: 100.0,
            bandwidth: 20.0,
            lines: true,
            look: 1,
            write_back: geometry.data < LARGE,
        };
        let chooser = Rc::new(Chooser::from_settings());
        let access = RegionAccess::new(&segment, fd, me, &chooser)?;
        Ok(Shm {
            segment,
            direct: direct::State::new(access, chooser, processes, division.room() / 4 * 3),
            me,
            abilities,
            cores,
            barrier: doorbell::register(),
            sleepers: Cell::new(0),
            balance: CoreBalance::default(),
            senders: PerPeer::new(processes),
            receivers: PerPeer::new(processes),
            blocks: PerPeer::new(processes),
            active: RefCell::new(Vec::new()),
            links: RefCell::default(),
            elsewhere: Cell::new(0),
            told: RefCell::default(),
            polls: Cell::new(0),
            unread: Cell::new(None),
            known: RefCell::new(vec![0; processes.div_ceil(64) as usize]),
        })
    }

    /// What wakes this process from a thread that is not inside the library.
    ///
    /// # Safety
    /// This device outlives the alarm.
    pub unsafe fn alarm(&self) -> Alarm {
        Alarm(self.segment.doorbell(self.me))
    }

    /// Largest message that goes without asking.
    #[inline]
    pub fn eager(&self) -> usize {
        self.abilities.eager
    }

    /// The blocks that this process and `peer` share.
    fn blocks(&self, peer: u32) -> Rc<Blocks> {
        let new = |segment: &Segment, me: u32, peer: u32| {
            let (low, high) = (me.min(peer), me.max(peer));
            let areas = [segment.ring(low, high).1, segment.ring(high, low).1];
            let division = Division::new(segment.geometry.data);
            // SAFETY: inside the mapping, which lives as long as all that share this (`disconnect`
            // forgets them before it).
            Rc::new(unsafe { Blocks::new(division, areas, me == low) })
        };
        self.blocks.of(peer).get_or_init(|| self.with_way(peer, new)).clone()
    }

    /// Makes all processes pass a fence, if that is possible.
    pub(crate) fn fence_processes(&self) -> bool {
        self.barrier.pass()
    }

    /// Cores that the processes of the node share.
    pub(crate) fn cores(&self) -> u32 {
        self.cores
    }

    /// False if no process of the job has to be woken for what this one has stored before.
    #[inline]
    pub fn anyone_sleeps(&self) -> bool {
        self.segment.node().sleepers.any()
    }

    /// True when more processes are awake than there are cores for.
    pub(crate) fn is_crowded(&self) -> bool {
        self.awake() > self.cores
    }

    /// The way to `peer`, opened on first use.
    #[inline]
    fn sender(&self, peer: u32) -> &Outbound {
        self.senders.of(peer).get_or_init(|| self.open(peer))
    }

    #[cold]
    fn open(&self, peer: u32) -> Outbound {
        let blocks = self.blocks(peer);
        self.with_way(peer, |segment, me, peer| {
            let (ring, _) = segment.ring(me, peer);
            let process = segment.process(peer);
            // Release: pairs with the acquire in `find_contacts`. The ring is empty still, and
            // polling an empty ring is harmless, so the bit may go first.
            process.contacts[me as usize / 64].fetch_or(1 << (me % 64), Ordering::Release);
            // SAFETY: inside the mapping, which lives as long as the sender (`disconnect` forgets it
            // before it); every process is the only sender of its own rings.
            let ring = unsafe { Sender::new(ring, blocks) };
            Outbound { ring, doorbell: segment.doorbell(peer) }
        })
    }

    /// The way from `peer`, opened on first use.
    #[inline]
    fn receiver(&self, peer: u32) -> &Inbound {
        self.receivers.of(peer).get_or_init(|| self.attend(peer))
    }

    #[cold]
    fn attend(&self, peer: u32) -> Inbound {
        let blocks = self.blocks(peer);
        self.with_way(peer, |segment, me, peer| {
            let (ring, _) = segment.ring(peer, me);
            // SAFETY: inside the mapping, which lives as long as this; we are the only receiver.
            let ring = unsafe { Receiver::new(ring, blocks) };
            Inbound { ring, doorbell: segment.doorbell(peer) }
        })
    }

    /// Where the next packet from `peer` comes.
    pub(crate) fn next_cell(&self, peer: u32) -> *const u8 {
        self.receiver(peer).ring.cell(0)
    }

    /// Takes a burst of packets from each ring that something has come from before.
    #[inline]
    fn drain<S: Sink>(&self, sink: &mut S) -> usize {
        self.active.borrow().iter().map(|&peer| self.receiver(peer).drain(peer, sink)).sum()
    }

    /// Takes all packets of `peer`.
    pub(crate) fn take_all<S: Sink>(&self, peer: u32, sink: &mut S) {
        while self.receiver(peer).drain(peer, sink) > 0 {}
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

    /// [`Device::take_next`], for a closure whose type is known.
    #[inline]
    pub fn take_from(&self, peer: u32, looks: u32, take: impl FnOnce(&Header, &[u8]) -> bool) -> bool {
        self.receiver(peer).take_next(looks, take)
    }

    /// [`Device::poll`], for a sink whose type is known.
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
            if self.elsewhere.get() > 0 {
                self.tell_lost(sink);
            }
            return packets + more + self.poll_direct(sink);
        }
        packets + self.poll_direct(sink)
    }

    /// Nothing has come: there is time for [`Sender::cldemote`].
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
        if self.elsewhere.get() > 0 {
            found |= self.find_contacts_elsewhere();
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

impl Drop for Shm {
    fn drop(&mut self) {
        let _forks = self.direct.access.keep_forks_out();
        crate::fork::forget(self);
    }
}

impl Device for Shm {
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

    fn lines(&self, peer: u32, index: u32) -> Option<LineArea> {
        // The device lives as long as the process.
        (self.is_home(peer) && index < AREAS).then(|| self.segment.area(peer, index))
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
            self.segment.node().sleepers.enter();
        }
        for sender in self.senders.made() {
            sender.ring.want_room();
        }
        self.raise_elsewhere();
        self.segment.doorbell(self.me).prepare(self.barrier)
    }

    fn sleep(&self, token: u32, timeout: Duration) {
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

    fn end_sleep(&self) {
        self.sleepers.set(self.sleepers.get() - 1);
        if self.sleepers.get() == 0 {
            self.segment.node().sleepers.leave();
            self.segment.doorbell(self.me).lower();
            self.lower_elsewhere();
        }
    }

    fn ring(&self, peer: u32) {
        self.with_way(peer, |segment, _, peer| segment.doorbell(peer).ring());
    }
}
