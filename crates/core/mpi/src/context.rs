//! Context ids: the numbers that keep the messages of communicators apart (MPI 5.0 section 7.2.3).
//!
//! A communicator has one id, `n`: its point-to-point messages travel in context `2n`, those of
//! its collectives in `2n + 1`. All its processes use the same id, so it must be one that is free
//! at each of them: they join what each has in use and take the lowest that is left.
//!
//! A process may take part in several such agreements at a time (threads, MPI_Comm_idup), and
//! must not offer the same id twice. Each round of an agreement asks for the process's set of
//! ids, which only one may hold; if some process cannot give it, all of them try again. The
//! set goes to the agreement with the lowest key that the process takes part in. All agreements
//! are ordered alike at all processes, so the lowest one of the job always gets on; and nobody
//! enters before all its processes have arrived, so a round never waits for one that is not
//! there yet.
//!
//! Where nothing else in a process can ask for its ids until an agreement is over, it may offer them as it arrives. So one
//! exchange is enough for most communicators ([`crate::comm::arrive`]).

use crate::error::Result;
use crate::exchange::Circle;
use crate::guarded::Guarded;
use crate::identity::{self, Identity};
use crate::task::{self, stepped, until};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use tern_coll::Farewell;

/// Id of MPI_COMM_WORLD.
pub const WORLD: u32 = 0;
/// Id of MPI_COMM_SELF. Its collectives send nothing, so their context also serves agreements
/// that have no communicator yet, under tags below 0 ([`reserved_tag`]).
pub const OWN: u32 = 1;
/// See [`OWN`].
pub const BOOTSTRAP: u32 = 2 * OWN + 1;

/// A tag for each `number` that the program chose, apart from those of collectives, which are 0
/// and above, and from wildcards.
pub fn reserved_tag(number: u32) -> i32 {
    i32::MIN + (number & 0x3fff_ffff) as i32
}

/// The same for numbers from a communicator's sequence of collectives.
pub fn sequence_tag(number: u32) -> i32 {
    i32::MIN + 0x4000_0000 + (number & 0x1fff_ffff) as i32
}

/// The same for channels of partitioned communication ([`crate::p2p::partitioned`]).
pub fn channel_tag(number: u32) -> i32 {
    i32::MIN + 0x6000_0000 + (number & 0x0fff_ffff) as i32
}

/// The same for numbers that the program chose for the leaders of intercommunicators: a group of the communicator may use
/// the number at that time too ([`reserved_tag`]).
pub fn leaders_tag(number: u32) -> i32 {
    i32::MIN + 0x7000_0000 + (number & 0x07ff_ffff) as i32
}

/// The ids that this process uses, as bits; no trailing zero bytes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Ids(Vec<u8>);

impl Ids {
    fn insert(&mut self, id: u32) {
        let byte = id as usize / 8;
        if self.0.len() <= byte {
            self.0.resize(byte + 1, 0);
        }
        self.0[byte] |= 1 << (id % 8);
    }

    fn contains(&self, id: u32) -> bool {
        self.0.get(id as usize / 8).is_some_and(|byte| byte & (1 << (id % 8)) != 0)
    }

    fn remove(&mut self, id: u32) {
        if let Some(byte) = self.0.get_mut(id as usize / 8) {
            *byte &= !(1 << (id % 8));
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    fn join(&mut self, other: &[u8]) {
        join(&mut self.0, other);
    }

    fn lowest_free(&self) -> u32 {
        let full = self.0.iter().take_while(|&&byte| byte == 0xff).count();
        8 * full as u32 + self.0.get(full).map_or(0, |byte| byte.trailing_ones())
    }
}

fn join(all: &mut Vec<u8>, other: &[u8]) {
    if all.len() < other.len() {
        all.resize(other.len(), 0);
    }
    all.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
}

/// What a process brings to a round: whether its ids count, its epoch, and its ids.
fn offer(counts: bool, epoch: u32, ids: &[u8]) -> Vec<u8> {
    let mut bytes = vec![!counts as u8];
    bytes.extend_from_slice(&epoch.to_be_bytes());
    bytes.extend_from_slice(if counts { ids } else { &[] });
    bytes
}

/// Where the ids begin in an offer.
const IDS: usize = 5;

/// All offers together: do all count, the latest epoch, the ids of all.
pub fn join_offers(all: &mut Vec<u8>, other: &[u8]) {
    // Where another call of the program's has come to the agreement, what it brought is no offer, and none counts.
    if all.len() < IDS || other.len() < IDS {
        *all = offer(false, 0, &[]);
        return;
    }
    // Big-endian numbers compare as their bytes do.
    let latest = std::cmp::max(&all[1..IDS], &other[1..IDS]).to_vec();
    join(all, other);
    all[1..IDS].copy_from_slice(&latest);
}

/// What orders agreements: context and tag of their messages, and their first process.
pub type Key = (u32, i32, Identity);

/// Hears of the id and the epoch of a communicator that is gone, and whether its members have met for that.
type Gone = fn(u32, u32, bool);

struct State {
    used: RefCell<Ids>,
    /// The latest epoch of a communicator of this process ([`ContextId::epoch`]).
    epoch: Cell<u32>,
    /// Agreements that this process takes part in.
    active: RefCell<BTreeSet<Key>>,
    /// True while one of them holds `used`.
    held: Cell<bool>,
    /// Ids of communicators that this process has freed, but maybe not all others.
    leaving: RefCell<Vec<(u32, Farewell)>>,
    /// Ids of communicators that there are or will be in a moment, with their epochs.
    alive: RefCell<BTreeSet<(u32, u32)>>,
    /// Told of each that is alive no longer.
    gone: Cell<Gone>,
}

// Ids 0 and 1 are in use from the start.
static STATE: Guarded<State> = Guarded::new(State {
    used: RefCell::new(Ids(Vec::new())),
    epoch: Cell::new(0),
    active: RefCell::new(BTreeSet::new()),
    held: Cell::new(false),
    leaving: RefCell::new(Vec::new()),
    alive: RefCell::new(BTreeSet::new()),
    gone: Cell::new(|_, _, _| ()),
});

/// From now on `told` hears of each communicator that is gone, within the call that drops the last of it. Those that were never handed out are
/// told as well.
pub fn on_gone(told: Gone) {
    STATE.get().gone.set(told);
}

/// Whether a communicator that this process is or was a member of is gone here. One that it will learn of yet is not: whoever agrees on a new
/// one finds a later epoch than any that this process has.
pub fn is_gone(id: u32, epoch: u32) -> bool {
    let state = STATE.get();
    id > OWN && epoch <= state.epoch.get() && !state.alive.borrow().contains(&(id, epoch))
}

/// An id that this process has freed is never used again. False when it is in use already.
pub fn retire(id: u32) -> bool {
    let mut used = STATE.get().used.borrow_mut();
    let is_free = !used.contains(id);
    if is_free {
        used.insert(id);
    }
    is_free
}

impl State {
    /// Frees the ids of communicators that all their processes have left.
    fn sweep(&self) {
        self.leaving.borrow_mut().retain(|(id, farewell)| {
            let over = farewell.is_over();
            if over {
                self.used.borrow_mut().remove(*id);
            }
            !over
        });
    }

    /// Notes what was agreed on.
    fn take(&self, id: u32, epoch: u32) {
        self.used.borrow_mut().insert(id);
        self.epoch.set(epoch.max(self.epoch.get()));
    }

    fn try_hold(&self, key: Key) -> bool {
        let free = !self.held.get() && self.active.borrow().first() == Some(&key);
        if free {
            self.held.set(true);
        }
        free
    }

    fn give_back(&self) {
        self.held.set(false);
        stepped();
    }
}

/// An id in use by this process. Free again when dropped, and when the processes of its communicator have left what they
/// share under it.
#[derive(Debug)]
pub struct ContextId {
    id: u32,
    epoch: u32,
    farewell: RefCell<Option<Farewell>>,
    kept: Cell<bool>,
    met: Cell<bool>,
}

impl ContextId {
    /// The id of a predefined communicator.
    pub fn predefined(id: u32) -> ContextId {
        ContextId { id, epoch: 0, farewell: RefCell::new(None), kept: Cell::new(false), met: Cell::new(false) }
    }

    fn new(id: u32, epoch: u32) -> ContextId {
        STATE.get().alive.borrow_mut().insert((id, epoch));
        ContextId { id, epoch, farewell: RefCell::new(None), kept: Cell::new(false), met: Cell::new(false) }
    }

    /// What must be over before another communicator gets the id.
    pub fn leave(&self, farewell: Option<Farewell>) {
        self.farewell.replace(farewell);
    }

    /// Context of point-to-point messages.
    pub fn point_to_point(&self) -> u32 {
        2 * self.id
    }

    /// Context of collectives.
    pub fn collective(&self) -> u32 {
        2 * self.id + 1
    }

    /// The id itself.
    pub fn number(&self) -> u32 {
        self.id
    }

    /// The id is never used again: messages of its communicator may still come.
    pub fn keep(&self) {
        self.kept.set(true);
    }

    /// All members of its communicator have met to end it.
    pub fn meet(&self) {
        self.met.set(true);
    }

    /// Later than that of any communicator that a process of this one had before: tells the uses
    /// of an id apart.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }
}

impl Drop for ContextId {
    fn drop(&mut self) {
        if self.id <= OWN {
            return;
        }
        let state = STATE.get();
        state.alive.borrow_mut().remove(&(self.id, self.epoch));
        match self.farewell.take() {
            _ if self.kept.get() => {}
            Some(farewell) => state.leaving.borrow_mut().push((self.id, farewell)),
            None => state.used.borrow_mut().remove(self.id),
        }
        (state.gone.get())(self.id, self.epoch, self.met.get());
    }
}

/// Agrees on an id. Every process of `circle` has arrived: some exchange among them, which none
/// could leave before all had entered, is over.
///
/// Errors: one of them is lost. This process uses no further id then; one that had agreed before has the id.
pub async fn allocate(circle: &Circle) -> Result<ContextId> {
    let key = (circle.context, circle.tag, identity::of(circle.procs[0]));
    allocate_by(key, circle.procs.len() == 1, async |own| circle.agree(own, join_offers).await).await
}

/// The same where `agree` joins the offers of all by [`join_offers`]; `alone`: there are no others.
///
/// Errors: those of `agree`.
pub async fn allocate_by(
    key: Key, alone: bool, mut agree: impl AsyncFnMut(Vec<u8>) -> Result<Vec<u8>>,
) -> Result<ContextId> {
    let state = STATE.get();
    state.active.borrow_mut().insert(key);
    let outcome = loop {
        let mine = match alone {
            true => until(|| state.try_hold(key).then_some(true)).await,
            false => state.try_hold(key),
        };
        state.sweep();
        let own = offer(mine, state.epoch.get(), &state.used.borrow().0);
        let agreed = agree(own).await.map(|all| outcome_of(&all));
        if let Ok(Some((id, epoch))) = agreed {
            state.take(id, epoch);
        }
        if mine {
            state.give_back();
        }
        match agreed {
            Ok(None) => {}
            Ok(Some(agreed)) => break Ok(agreed),
            Err(error) => break Err(error),
        }
    };
    state.active.borrow_mut().remove(&key);
    stepped();
    outcome.map(|(id, epoch)| ContextId::new(id, epoch))
}

/// An offer that does not count.
pub fn no_offer() -> Vec<u8> {
    offer(false, STATE.get().epoch.get(), &[])
}

/// Bytes of an offer that is made early.
pub const EARLY: usize = 104;

/// What this process offers before it knows that the others have arrived. It counts if no other thread and nothing in the
/// background can take part in an agreement meanwhile, which would wait for this one.
pub fn offer_early() -> [u8; EARLY] {
    let state = STATE.get();
    state.sweep();
    let used = state.used.borrow();
    let alone = !tern_mcm::lock::enabled() && task::is_idle() && state.active.borrow().is_empty();
    let own = offer(alone && IDS + used.0.len() <= EARLY, state.epoch.get(), &used.0);
    let mut early = [0; EARLY];
    early[..own.len()].copy_from_slice(&own);
    early
}

/// The id that the early offers of all give, if all count. This process has made its own just before.
pub fn agree_early<'a>(mut offers: impl Iterator<Item = &'a [u8]>) -> Option<ContextId> {
    let mut all = offers.next()?.to_vec();
    offers.for_each(|other| join_offers(&mut all, other));
    let (id, epoch) = outcome_of(&all)?;
    STATE.get().take(id, epoch);
    Some(ContextId::new(id, epoch))
}

/// The id and its epoch that all offers together give, if all count.
fn outcome_of(all: &[u8]) -> Option<(u32, u32)> {
    // What another call of the program's has brought is no offer.
    let latest = u32::from_be_bytes(all.get(1..IDS)?.try_into().expect("four bytes"));
    let mut ids = Ids::default();
    ids.insert(WORLD);
    ids.insert(OWN);
    ids.join(&all[IDS..]);
    (all[0] == 0).then(|| (ids.lowest_free(), latest + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_id_is_found_among_all() {
        let mut ids = Ids::default();
        assert_eq!(ids.lowest_free(), 0);
        for id in 0..20 {
            ids.insert(id);
        }
        assert_eq!(ids.lowest_free(), 20);
        ids.remove(9);
        assert_eq!(ids.lowest_free(), 9);
        let mut other = Ids::default();
        other.insert(9);
        other.insert(20);
        other.insert(40);
        ids.join(&other.0);
        assert_eq!(ids.lowest_free(), 21);
    }

    #[test]
    fn offers_join_to_the_latest_epoch_and_all_ids() {
        let mut all = offer(true, 0x0102, &[1]);
        join_offers(&mut all, &offer(true, 0x00ff, &[2, 4]));
        assert_eq!(all, offer(true, 0x0102, &[3, 4]));
        join_offers(&mut all, &offer(false, 0x1000, &[8]));
        assert_eq!(all[0], 1);
        assert_eq!(&all[1..IDS], 0x1000u32.to_be_bytes());
    }

    #[test]
    fn freed_ids_leave_no_trailing_zeros() {
        let mut ids = Ids::default();
        ids.insert(3);
        ids.insert(100);
        ids.remove(100);
        assert_eq!(ids.0, [1 << 3]);
        ids.remove(3);
        ids.remove(3);
        assert_eq!(ids, Ids::default());
    }

    #[test]
    fn reserved_tags_are_no_wildcards() {
        for number in [0, 1, 0x3fff_ffff, u32::MAX] {
            assert!(reserved_tag(number) < sequence_tag(0));
            assert!(sequence_tag(number) < channel_tag(0));
            assert!(channel_tag(number) < leaders_tag(0));
            assert!(leaders_tag(number) < tern_adi::ANY_TAG);
        }
    }

    #[test]
    fn early_offers_give_an_id_if_all_count() {
        let early = offer_early();
        let id = agree_early([&early[..], &early].into_iter()).expect("all count");
        assert_eq!((id.id, &STATE.get().used.borrow().0[..]), (2, &[1 << 2][..]));
        let mut busy = early;
        busy[0] = 1;
        assert!(agree_early([&early[..], &busy].into_iter()).is_none());
        // Another process has more in use than this one.
        let mut more = early;
        (0..9).for_each(|byte| more[IDS + byte] = 0xff);
        let later = agree_early([&more[..], &offer_early()].into_iter()).expect("all count");
        assert!(later.id == 72 && later.epoch > id.epoch);
        // What does not fit does not count.
        STATE.get().used.borrow_mut().insert(8 * EARLY as u32);
        assert_eq!(offer_early()[0], 1);
        STATE.get().used.borrow_mut().remove(8 * EARLY as u32);
        assert_eq!(offer_early()[0], 0);
    }

    #[test]
    fn a_communicator_is_gone_once_its_id_was_dropped() {
        let id = agree_early([&offer_early()[..]].into_iter()).expect("all count");
        let (number, epoch) = (id.number(), id.epoch());
        assert!(!is_gone(number, epoch) && !is_gone(number, epoch + 1), "alive, and one that is still to come");
        assert!(!retire(number));
        drop(id);
        assert!(is_gone(number, epoch) && !is_gone(WORLD, 0));
        assert!(retire(number) && !retire(number));
        STATE.get().used.borrow_mut().remove(number);
    }

    #[test]
    fn the_lowest_agreement_gets_the_ids() {
        let first = Identity { job: 5, rank: 0 };
        let state = State {
            used: RefCell::default(),
            epoch: Cell::new(0),
            active: RefCell::new([(4, 1, first), (6, 0, first)].into()),
            held: Cell::new(false),
            leaving: RefCell::default(),
            alive: RefCell::default(),
            gone: Cell::new(|_, _, _| ()),
        };
        assert!(!state.try_hold((6, 0, first)));
        assert!(state.try_hold((4, 1, first)));
        assert!(!state.try_hold((4, 1, first)));
    }
}
