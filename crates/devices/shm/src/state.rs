//! The shared-memory device of one process: its parts, and the ways to its peers.

use crate::core_balance;
use crate::doorbell::{Alarm, Barrier, Doorbell};
use crate::link::Link;
use crate::per_peer::PerPeer;
use crate::ring::blocks::{Blocks, Division};
use crate::ring::{INLINE, Receiver, Sender};
use crate::segment::Segment;
use crate::transfers::Transfers;
use crate::vigil::Vigil;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use tern_atomics::Ordering;
use tern_device::{Abilities, Channel, Header, Sink};

/// Packets taken from one ring before the next ring has its turn.
const BURST: usize = 16;

/// The device of one process. Peers are numbered as the segment numbers them.
pub struct Shm {
    pub(crate) segment: Segment,
    pub(crate) me: u32,
    pub(crate) direct: Transfers,
    pub(crate) abilities: Abilities,
    /// Cores that the processes of the node share.
    pub(crate) cores: u32,
    pub(crate) barrier: Barrier,
    /// Threads of this process that sleep or are about to.
    pub(crate) sleepers: Cell<u32>,
    pub(crate) balance: tern_policy::CoreBalance,
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
    /// Whether processes of the own job are still there; `None`: the job ends when one is lost, and nobody looks.
    pub(crate) vigil: Option<Box<Vigil>>,
    /// There is a vigil, or there are processes of other jobs.
    pub(crate) watches: Cell<bool>,
    /// Processes that were told to be lost.
    pub(crate) told: RefCell<HashSet<u32>>,
    pub(crate) polls: Cell<u8>,
    /// Whoever may not have read all of a long message that was sent: see [`Sender::cldemote`].
    pub(crate) unread: Cell<Option<u32>>,
    /// The contacts already in `active`.
    pub(crate) known: RefCell<Vec<u64>>,
}

/// The way to a peer: its ring, and the doorbell that wakes it.
pub(crate) struct Outbound {
    pub(crate) ring: Sender,
    doorbell: *const Doorbell,
}

/// The way from a peer.
pub(crate) struct Inbound {
    pub(crate) ring: Receiver,
    doorbell: *const Doorbell,
}

impl Outbound {
    #[inline]
    pub(crate) fn doorbell(&self) -> &Doorbell {
        // SAFETY: in the mapping, which lives as long as the device that owns this.
        unsafe { &*self.doorbell }
    }
}

impl Inbound {
    /// Takes a burst of packets, or fewer if the sink has enough.
    #[inline]
    pub(crate) fn drain<S: Sink>(&self, peer: u32, sink: &mut S) -> usize {
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

    /// [`tern_device::Channel::take_next`].
    #[inline]
    pub(crate) fn take_next(&self, looks: u32, take: impl FnOnce(&Header, &[u8]) -> bool) -> bool {
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
    /// Runs `look` with the segment in which `peer` is reached, and the places there of this process
    /// and of the peer.
    ///
    /// # Panics
    /// When this process has left that segment.
    pub(crate) fn with_way<R>(&self, peer: u32, look: impl FnOnce(&Segment, u32, u32) -> R) -> R {
        if self.is_home(peer) {
            return look(&self.segment, self.me, peer);
        }
        let links = self.links.borrow();
        let link = links.iter().find(|link| link.numbers.contains(&peer)).expect("the process is connected");
        let place = link.number.iter().position(|&number| number == peer).expect("every number has a place");
        look(&link.segment, link.me, place as u32)
    }

    /// True for processes of this job.
    #[inline(always)]
    pub(crate) fn is_home(&self, peer: u32) -> bool {
        peer < self.segment.geometry.processes
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
    pub(crate) fn sender(&self, peer: u32) -> &Outbound {
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
    pub(crate) fn receiver(&self, peer: u32) -> &Inbound {
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
    pub(crate) fn drain<S: Sink>(&self, sink: &mut S) -> usize {
        self.active.borrow().iter().map(|&peer| self.receiver(peer).drain(peer, sink)).sum()
    }

    /// Takes all packets of `peer`.
    pub(crate) fn take_all<S: Sink>(&self, peer: u32, sink: &mut S) {
        while self.receiver(peer).drain(peer, sink) > 0 {}
    }

    /// Says on which core this process waits, and returns that.
    #[inline]
    pub fn wait_here(&self) -> u32 {
        core_balance::wait_here(&self.segment, self.me)
    }

    /// Whether `peer` has last waited on `core`, or nobody knows.
    #[inline]
    pub fn is_on(&self, peer: u32, core: u32) -> bool {
        !self.is_home(peer) || self.segment.status(peer).core().is_none_or(|other| other == core)
    }

    /// To be called before each change of process: now and then this one goes where there are fewer.
    #[inline]
    pub fn balance_now_and_then(&self) {
        core_balance::now_and_then(&self.balance, &self.segment, self.me);
    }
}
