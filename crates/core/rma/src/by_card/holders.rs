//! Who has a lock that the network card takes, for the picture of what is waited for (TERN_STALL).
//!
//! Who has a member alone stands in the member's word, which the waiter finds when its attempt fails. Those who share a lock are only
//! counted there. While TERN_STALL is set, each of them notes it in a byte of its own beside the words: [`ONE`] at the member, [`ALL`] at
//! the first member for a lock of all. Nobody has to call MPI for a waiter to read that.

use crate::Error;
use crate::card_words::{Change, Found, Kind, Which, owner};
use crate::elements::Side;
use crate::inquiries::patience;
use crate::keys::Keys;
use crate::window::Window;
use std::time::Instant;
use tern_adi::{Awaited, Holding};
use tern_mcm::{Direction, Word};

/// A process shares the lock of the member.
const ONE: u8 = 1;
/// A process shares the locks of all members.
const ALL: u8 = 2;

/// What a call that waits for a lock knows of who has it.
pub(super) struct Lookup {
    pub begun: Instant,
    looked: Instant,
    /// The member whose lock is asked for; none: all of them.
    asked: Option<u32>,
    /// Of which member the lock is that is waited for, as far as that is known.
    rank: Option<u32>,
    found: Found,
    /// By rank.
    holders: Vec<u32>,
}

impl Lookup {
    pub fn new(rank: u32, kind: Kind) -> Lookup {
        let (begun, asked) = (Instant::now(), (kind != Kind::All).then_some(rank));
        Lookup { begun, looked: begun, asked, rank: asked, found: Found::Awaited, holders: Vec::new() }
    }

    /// Another attempt has found that. True where the words do not say all, and it is time to look for that.
    fn finds(&mut self, found: Found) -> bool {
        if self.found != found {
            self.holders.clear();
        }
        if let Found::Owner(holder) = found {
            self.holders = vec![holder];
        }
        self.found = found;
        let due = matches!(found, Found::SomeOwner | Found::Shared(_)) && self.looked.elapsed() >= patience();
        if due {
            self.looked = Instant::now();
        }
        due
    }
}

impl Window {
    /// Notes for others that this process shares a lock, or does no more.
    pub(super) fn note_share_by_card(&self, rank: u32, kind: Kind, shares: bool) {
        let (rank, note) = match kind {
            _ if !self.tells => return,
            Kind::Alone => return,
            Kind::Shared => (rank, ONE),
            Kind::All => (0, ALL),
        };
        let me = u64::from(self.rank());
        let add = u64::from(note) << (me % 8 * 8);
        let change = Change::Add(if shares { add } else { add.wrapping_neg() });
        let at = self.notes(rank);
        let at = Word { address: at.address + me / 8 * 8, ..at };
        // SAFETY: there is no answer. Towards a member that is lost nothing is to be noted.
        let _ = unsafe { self.begin_change(at, change, std::ptr::null_mut()) };
    }

    /// Tells the observer what a call waits for, whose last attempt has found that.
    ///
    /// Errors: the member is lost that would know.
    pub(super) fn tell_by_card(&self, lookup: &mut Lookup, found: Found) -> Result<(), Error> {
        if lookup.finds(found) {
            lookup.holders = match found {
                // Where one member is asked for, others that want to have some member alone are passing by.
                Found::SomeOwner if lookup.asked.is_none() => {
                    let one = self.some_owner(lookup);
                    lookup.rank = one.map(|(rank, _)| rank);
                    Vec::from_iter(one.map(|(_, holder)| holder))
                }
                // Whoever shares the lock of all shares that of each member too.
                _ => {
                    lookup.rank = lookup.asked;
                    let mut holders = self.sharing(lookup, 0, ALL)?;
                    if let Some(rank) = lookup.asked {
                        holders.extend(self.sharing(lookup, rank, ONE)?);
                    }
                    holders.sort_unstable();
                    holders.dedup();
                    holders
                }
            };
        }
        self.adi.tell(lookup.begun.elapsed(), &|| self.awaits_by_card(lookup));
        Ok(())
    }

    /// What it waits for.
    pub(super) fn awaits_by_card(&self, lookup: &Lookup) -> Awaited {
        let held = match lookup.found {
            Found::Owner(_) | Found::SomeOwner => Holding::Alone,
            Found::Shared(_) => Holding::Shared,
            Found::Awaited => Holding::Unknown,
        };
        self.awaits_lock(lookup.rank, held, &lookup.holders)
    }

    /// A member that somebody has alone, and who that is.
    fn some_owner(&self, lookup: &Lookup) -> Option<(u32, u32)> {
        (0..self.peers.size()).find_map(|rank| {
            let mut word = [0u8; 8];
            // A member that is lost tells nothing, and the lock of all does not need it.
            self.read_notes(lookup, rank, self.card().word(rank, Which::Lock), &mut word).ok()?;
            owner(u64::from_ne_bytes(word)).map(|holder| (rank, holder))
        })
    }

    /// The members that have noted at `rank` that they share a lock.
    fn sharing(&self, lookup: &Lookup, rank: u32, note: u8) -> Result<Vec<u32>, Error> {
        let mut notes = vec![0u8; self.shared.plan().notes()];
        self.read_notes(lookup, rank, self.notes(rank), &mut notes)?;
        let words = notes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")));
        let bytes = words.flat_map(u64::to_le_bytes);
        Ok((0..self.peers.size()).zip(bytes).filter(|(_, byte)| byte & note != 0).map(|(rank, _)| rank).collect())
    }

    fn notes(&self, rank: u32) -> Word {
        self.card().notes(rank, self.shared.plan())
    }

    /// Reads bytes from there on, in what the card changes at `rank`.
    fn read_notes(&self, lookup: &Lookup, rank: u32, from: Word, out: &mut [u8]) -> Result<(), Error> {
        let own = Side::Dense(out.as_mut_ptr(), out.len());
        let theirs = Side::Dense(from.address as *mut u8, out.len());
        let number =
            self.card_copy((rank, &Keys::One(from.key)), (&own, 0), (&theirs, 0), out.len(), Direction::Get)?;
        self.await_card_for(Some(lookup), rank, number)
    }
}
