//! Windows whose members lie apart and whose memory the network card reaches: the card makes all access to the memory
//! of another member, so that a member may compute meanwhile.
//!
//! Each member has a few words of its own for that ([`Words`]), which the card alone changes, whoever asks, their owner
//! too: a processor's instructions need not be atomic with those of a card. By them locks are taken
//! ([`crate::card_words`]) and accumulates exclude each other. What is attached to a dynamic window is read from the table of its
//! owner. [`crate::by_card`] does all of that.

use crate::card_words::{MOST, Which, Words};
use crate::shared::{Plan, Shared};
use std::cell::RefCell;
use tern_adi::{Adi, Proc};
use tern_mcm::{RemoteMemory, Word};

/// A member as the card sees it.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    pub proc: Proc,
    /// Of its [`Words`] and of its table of attached memory, which lie in memory of one key.
    words: u64,
    pub table: u64,
    pub words_key: u64,
    /// Of its memory; 0: it has none, or attaches it.
    memory_key: u64,
}

/// A window that the card serves.
pub(crate) struct Card {
    pub remote: &'static dyn RemoteMemory,
    pub members: Box<[Member]>,
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
    if procs.len() as u64 > MOST {
        return [0; 4];
    }
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

    /// Where a word of `rank` lies.
    pub fn word(&self, rank: u32, which: Which) -> Word {
        let (rank, offset) = match which {
            Which::Lock => (rank, std::mem::offset_of!(Words, lock)),
            Which::Home => (0, std::mem::offset_of!(Words, home)),
            Which::Guard => (rank, std::mem::offset_of!(Words, guard)),
        };
        let member = &self.members[rank as usize];
        Word { peer: member.proc, address: member.words + offset as u64, key: member.words_key }
    }

    /// Where the bytes begin by which members say at `rank` that they share a lock.
    pub fn notes(&self, rank: u32, plan: &Plan) -> Word {
        let member = &self.members[rank as usize];
        Word { peer: member.proc, address: member.words + plan.notes_after_words(rank) as u64, key: member.words_key }
    }

    /// How many accesses to the memory of `rank` have ended.
    pub fn ended(&self, rank: u32) -> u64 {
        self.remote.ended(self.members[rank as usize].proc)
    }

    /// True when `rank` is lost.
    pub fn is_lost(&self, rank: u32) -> bool {
        self.remote.is_lost(self.members[rank as usize].proc)
    }
}
