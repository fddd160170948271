//! Windows whose members lie apart and whose memory the network card reaches: the card makes all access to the memory
//! of another member, so that a member may compute meanwhile.
//!
//! Each member has a few words of its own for that ([`Words`]), which the card alone changes, whoever asks, their owner
//! too: a processor's instructions need not be atomic with those of a card. By them locks are taken ([`locks`]) and
//! accumulates exclude each other ([`combine`]). What is attached to a dynamic window is read from the table of its owner
//! ([`lookup`]).

mod combine;
mod keys;
pub mod locks;
mod lookup;
mod neighbours;

use crate::access::in_parts;
use crate::elements::Side;
use crate::shared::Shared;
use crate::target::Ticket;
use crate::window::Window;
use crate::{Class, Error, Started};
use std::cell::RefCell;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tern_adi::{Adi, Proc};
use tern_mcm::{Direction, Remote, Run, Word, lock};

pub(crate) use keys::{Key, Keys};

/// Of so many attempts at a lock, all but the first few are announced.
const ANNOUNCING: u32 = 64;
const FIRST_ATTEMPTS: u32 = 8;

/// What the card changes at a member.
#[repr(C, align(64))]
pub struct Words {
    /// The lock of the member's memory; at the first member also that of the whole window.
    pub lock: AtomicU64,
    pub home: AtomicU64,
    /// Accumulates are made by one process at a time while it is 1.
    pub guard: AtomicU64,
}

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    Lock,
    /// Of the whole window.
    Home,
    Guard,
}

/// How a word is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    Add(u64),
    Swap { compare: u64, swap: u64 },
}

/// A member as the card sees it.
#[derive(Clone, Copy)]
struct Member {
    proc: Proc,
    /// Of its [`Words`] and of its table of attached memory, which lie in memory of one key.
    words: u64,
    table: u64,
    words_key: u64,
    /// Of its memory; 0: it has none, or attaches it.
    memory_key: u64,
}

/// A window that the card serves.
pub(crate) struct Card {
    remote: &'static dyn Remote,
    members: Box<[Member]>,
    /// Keys to give back: of the words, of the memory, of what is attached and where.
    own: [u64; 2],
    attached: RefCell<Vec<(usize, u64)>>,
}

/// Numbers that each member tells the others, see [`offer`].
pub(crate) type Offer = [u64; 4];

/// What the card of this process can do for a window: all zeros if nothing. All members have to agree.
pub(crate) fn offer(
    adi: &'static Adi, procs: &[Proc], rank: u32, shared: &Shared, len: usize, memory: (*mut u8, usize),
) -> Offer {
    let Some(remote) = adi.mcm().remote().filter(|remote| procs.iter().all(|&proc| remote.reaches(proc))) else {
        return [0; 4];
    };
    let reveal = |at: *mut u8, len: usize| match len {
        0 => Some(0),
        // SAFETY: the window's memory, concealed when it ends.
        _ => unsafe { remote.reveal(at, len) },
    };
    let own = shared.member(rank);
    let table = if shared.is_dynamic() { shared.table(rank) as *const _ as u64 } else { 0 };
    match (reveal(shared.start, len), reveal(memory.0, memory.1)) {
        (Some(words), Some(memory)) => [&raw const own.card as u64, table, words, memory],
        (words, memory) => {
            tern_settings::warn!(
                "the network card cannot register the {} bytes of a window: it is served by messages, for which its members \
                 have to call MPI now and then; raise the limit of locked memory (ulimit -l)",
                len.max(1)
            );
            [words, memory].into_iter().flatten().filter(|&key| key != 0).for_each(|key| remote.conceal(key));
            [0; 4]
        }
    }
}

/// Gives up what was offered.
pub(crate) fn take_back(adi: &'static Adi, offer: &Offer) {
    let keys = offer[2..].iter().copied().filter(|&key| key != 0);
    keys.for_each(|key| adi.mcm().remote().iter().for_each(|remote| remote.conceal(key)));
}

impl Card {
    /// From what all members have offered, if all can. What was offered is taken back otherwise.
    pub fn agree(adi: &'static Adi, procs: &[Proc], rank: u32, offers: &[Offer]) -> Option<Card> {
        let remote = adi.mcm().remote()?;
        let own = [2, 3].map(|at| offers[rank as usize][at]);
        if offers.iter().any(|offer| offer[0] == 0) {
            take_back(adi, &offers[rank as usize]);
            return None;
        }
        let member = |(&proc, offer): (&Proc, &Offer)| {
            let &[words, table, words_key, memory_key] = offer;
            Member { proc, words, table, words_key, memory_key }
        };
        let members = procs.iter().zip(offers).map(member).collect();
        Some(Card { remote, members, own, attached: RefCell::default() })
    }

    /// Nobody accesses the window any more.
    pub fn end(&self) {
        let attached = self.attached.take().into_iter().map(|(_, key)| key);
        self.own.into_iter().filter(|&key| key != 0).chain(attached).for_each(|key| self.remote.conceal(key));
    }

    /// The key of the memory of `rank`.
    pub fn key(&self, rank: u32) -> u64 {
        self.members[rank as usize].memory_key
    }

    /// The key of memory that is attached; 0: it cannot be registered, and is served by messages.
    pub fn attach(&self, base: *mut u8, bytes: usize) -> u64 {
        // SAFETY: the program leaves it to the window until it is detached.
        let Some(key) = (unsafe { self.remote.reveal(base, bytes) }) else {
            tern_settings::warn!(
                "the network card cannot register {bytes} bytes at {base:p} for a window: accesses there need their owner to \
                 call MPI now and then; raise the limit of locked memory (ulimit -l)"
            );
            return 0;
        };
        self.attached.borrow_mut().push((base as usize, key));
        key
    }

    pub fn detach(&self, base: usize) {
        let mut attached = self.attached.borrow_mut();
        if let Some(at) = attached.iter().position(|&(start, _)| start == base) {
            self.remote.conceal(attached.swap_remove(at).1);
        }
    }

    fn word(&self, rank: u32, which: Which) -> Word {
        let (rank, offset) = match which {
            Which::Lock => (rank, std::mem::offset_of!(Words, lock)),
            Which::Home => (0, std::mem::offset_of!(Words, home)),
            Which::Guard => (rank, std::mem::offset_of!(Words, guard)),
        };
        let member = &self.members[rank as usize];
        Word { peer: member.proc, address: member.words + offset as u64, key: member.words_key }
    }

    fn ended(&self, rank: u32) -> u64 {
        self.remote.ended(self.members[rank as usize].proc)
    }

    fn is_lost(&self, rank: u32) -> bool {
        self.remote.is_lost(self.members[rank as usize].proc)
    }
}

impl Window {
    /// The card, where there is one.
    pub(crate) fn card(&self) -> &Card {
        self.card.as_ref().expect("the window is served by the card")
    }

    // ---- ends

    /// True when an access by the card is over, well or not.
    pub(crate) fn is_over(&self, rank: u32, number: u64) -> bool {
        let card = self.card();
        card.ended(rank) >= number || card.is_lost(rank)
    }

    /// Waits for an access.
    ///
    /// Errors: the member is lost.
    pub(crate) fn await_card(&self, rank: u32, number: u64) -> Result<(), Error> {
        if self.card().ended(rank) >= number {
            return Ok(());
        }
        self.adi.wait_until(&mut || self.is_over(rank, number));
        if self.card().ended(rank) >= number { Ok(()) } else { Err(self.lost(rank)) }
    }

    /// Waits for all accesses to the memory of `rank`.
    #[inline]
    pub(crate) fn flush_card(&self, rank: u32) -> Result<(), Error> {
        let Some(card) = &self.card else { return Ok(()) };
        let last = card.remote.begun(card.members[rank as usize].proc);
        if card.ended(rank) >= last { Ok(()) } else { self.await_card(rank, last) }
    }

    /// The error of an access to a member that is lost.
    #[cold]
    pub(crate) fn lost(&self, rank: u32) -> Error {
        let process = self.peers.procs[rank as usize];
        // The reason comes with the next polls.
        for _ in 0..1000 {
            if self.adi.why_lost(process).is_some() {
                break;
            }
            self.adi.progress();
            lock::outside(std::thread::yield_now);
        }
        Error::new(Class::Lost { process }, format!("rank {rank} of the window is lost"))
    }

    /// Lets others go on before the next attempt at something that somebody else has.
    pub(crate) fn pause(&self, attempt: u32) -> Result<(), Error> {
        self.adi.progress();
        self.check_lost()?;
        match attempt {
            0..20 => lock::outside(std::thread::yield_now),
            // Not in step with others that try.
            _ => {
                let nap = 50 * attempt.min(40) + 17 * (self.rank() % 16);
                lock::outside(|| std::thread::sleep(Duration::from_micros(u64::from(nap.min(1000)))));
            }
        }
        Ok(())
    }

    // ---- words

    /// Changes a word and waits for what was there.
    fn change(&self, rank: u32, which: Which, change: Change) -> Result<u64, Error> {
        let at = self.card().word(rank, which);
        let rank = if which == Which::Home { 0 } else { rank };
        self.change_word(rank, at, change)
    }

    fn change_word(&self, rank: u32, at: Word, change: Change) -> Result<u64, Error> {
        let mut was = 0u64;
        // SAFETY: it lives until the access has ended; one that has failed is not answered.
        let begun = unsafe { self.begin_change(at, change, &mut was) };
        self.await_card(rank, begun.map_err(|_| self.lost(rank))?)?;
        // SAFETY: the card has written it.
        Ok(unsafe { std::ptr::read_volatile(&was) })
    }

    /// # Safety
    /// `was` is null, or lives until the access has ended.
    unsafe fn begin_change(&self, at: Word, change: Change, was: *mut u64) -> Result<u64, tern_mcm::Lost> {
        let remote = self.card().remote;
        // SAFETY: contract of this function.
        unsafe {
            match change {
                Change::Add(add) => remote.fetch_add(at, add, was),
                Change::Swap { compare, swap } => remote.compare_swap(at, compare, swap, was),
            }
        }
    }

    /// Changes a word; nobody waits for it.
    fn change_later(&self, rank: u32, which: Which, change: Change) {
        // SAFETY: there is no answer. Towards a member that is lost nothing is to be changed.
        let _ = unsafe { self.begin_change(self.card().word(rank, which), change, std::ptr::null_mut()) };
    }

    // ---- locks

    /// Takes a lock.
    ///
    /// Errors: a member is lost.
    pub(crate) fn take_by_card(&self, rank: u32, kind: locks::Kind) -> Result<(), Error> {
        let mut taking = locks::Taking::new(kind);
        for attempt in 0.. {
            let mut was = 0;
            let taken = loop {
                match taking.next(was) {
                    locks::Step::Change(which, change) => was = self.change(rank, which, change)?,
                    locks::Step::Taken => break true,
                    locks::Step::Busy => break false,
                }
            };
            if taken {
                break;
            }
            self.pause(attempt)?;
            taking.again((attempt + 1) % ANNOUNCING > FIRST_ATTEMPTS);
        }
        Ok(())
    }

    /// Gives up a lock. What was done under it has ended.
    pub(crate) fn give_up_by_card(&self, rank: u32, kind: locks::Kind) {
        for &(which, change) in locks::give_up(kind) {
            self.change_later(rank, which, change);
        }
    }

    // ---- bytes

    /// Moves `len` bytes between own memory and that of `rank` with these keys, from the given bytes of both on. Own memory
    /// belongs to it until the access with that number has ended.
    ///
    /// Errors: the member is lost.
    pub(crate) fn card_copy(
        &self, (rank, keys): (u32, &Keys), own: (&Side<'_>, usize), theirs: (&Side<'_>, usize), len: usize,
        way: Direction,
    ) -> Result<u64, Error> {
        let (remote, peer) = (self.card().remote, self.peers.procs[rank as usize]);
        let mut last = 0;
        keys.stretches(theirs, len, |key, done, len| {
            in_parts((own.0, own.1 + done), (theirs.0, theirs.1 + done), len, |own: &[Run], theirs: &[Run]| {
                // SAFETY: own memory is the program's, which leaves it to the access; that of the member lies in the
                // window.
                last = unsafe { remote.transfer(peer, own, theirs, key, way) }.map_err(|_| self.lost(rank))?;
                Ok(())
            })
        })?;
        Ok(last)
    }

    /// An access by the card that has begun.
    pub(crate) fn begun(&self, rank: u32, number: u64) -> Started {
        Started::Pending(Ticket(number, Some(rank)))
    }
}
