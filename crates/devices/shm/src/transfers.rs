//! What a process has published, what it delivers, and what it has learned of its peers meanwhile.

use crate::copier::{Copier, Offload};
use crate::memcheck;
use crate::posted_receives::Word;
use crate::single_copy::RegionAccess;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use tern_policy::costs::{ByPlacement, Costs, Recency};
use tern_policy::transfer::Chooser;
use tern_policy::{Gauge, PeerLooks};
use tern_tune::{OwnCacheRoom, Places};

/// What this process has published and what it delivers.
pub struct Transfers {
    pub access: RegionAccess,
    pub chooser: Rc<Chooser>,
    pub places: Places,
    /// By peer: how often a sender looks at what it is about to do.
    pub looks: Vec<PeerLooks>,
    /// The last message that this process has moved in one copy was copied by the kernel.
    pub by_kernel: Cell<bool>,
    /// Receives published since the beginning.
    pub order: Cell<u32>,
    /// Peers with published receives, and how many.
    pub published: RefCell<Vec<(u32, u32)>>,
    /// By peer: whether a receive was ever published for it.
    pub posted: Vec<AtomicBool>,
    /// Valgrind wants to know what peers write.
    pub checked: bool,
    /// See [`tern_device::Pair::window`].
    pub window: usize,
    /// By placement: from which lengths on receives are published, in private and in shared memory, and the kernel's copy may be sooner.
    pub lengths: ByPlacement<([usize; 2], usize)>,
    /// Of own memory.
    pub recency: RefCell<Recency>,
    /// What its caches hold.
    pub room: Rc<OwnCacheRoom>,
    pub pending: RefCell<Vec<Pending>>,
    /// What the targets of long messages are.
    pub gauge: RefCell<Gauge>,
    /// Whether a thread of this process may copy, and the thread. Any thread may ask it.
    pub offload: Cell<Offload>,
    pub copier: OnceLock<Copier>,
}

/// A message that both sides copy and that is not finished.
pub struct Pending {
    pub peer: u32,
    pub slot: u32,
    pub word: Word,
    pub sender: u32,
    pub len: u64,
    /// Looks before this side does what the other one has not begun.
    pub looks: u32,
    /// This side could not copy a part.
    pub failed: bool,
}

impl Transfers {
    /// `window`: the bytes that a ring takes while its receiver takes none of them, or somewhat fewer.
    pub fn new(
        access: RegionAccess, chooser: Rc<Chooser>, room: Rc<OwnCacheRoom>, processes: u32, window: usize,
    ) -> Transfers {
        Transfers {
            window,
            gauge: RefCell::new(Gauge::new(chooser.coordinator())),
            chooser,
            looks: vec![PeerLooks::default(); processes as usize],
            access,
            places: Places::new(processes as usize),
            by_kernel: Cell::new(false),
            order: Cell::new(0),
            published: RefCell::default(),
            posted: (0..processes).map(|_| AtomicBool::new(false)).collect(),
            checked: memcheck::is_running(),
            lengths: ByPlacement::default(),
            recency: RefCell::default(),
            room,
            pending: RefCell::default(),
            offload: Cell::new(Offload::Unasked),
            copier: OnceLock::new(),
        }
    }

    /// What the choice is made by.
    pub fn costs(&self) -> &Costs {
        self.chooser.costs()
    }

    /// Nothing is published or pending: there is nothing to look at.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.published.borrow().is_empty() && self.pending.borrow().is_empty()
    }

    /// Notes that one receive more is published for `peer`.
    pub fn count(&self, peer: u32) {
        // Relaxed: who publishes keeps forks out, and nobody else looks.
        self.posted[peer as usize].store(true, Ordering::Relaxed);
        let mut published = self.published.borrow_mut();
        match published.iter_mut().find(|(other, _)| *other == peer) {
            Some((_, count)) => *count += 1,
            None => published.push((peer, 1)),
        }
    }

    /// Notes that there is one less.
    #[inline]
    pub fn discount(&self, peer: u32) {
        let mut published = self.published.borrow_mut();
        let at = published.iter().position(|&(other, _)| other == peer).expect("counted when it was published");
        match published[at].1 {
            // Not lowered first: it is moved about as one word with what stands beside it, which would wait for that store.
            1 => _ = published.swap_remove(at),
            count => published[at].1 = count - 1,
        }
    }
}
