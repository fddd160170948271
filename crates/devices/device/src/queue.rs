//! One receive queue of the card per matching tuple: tuple queues in the form of the paper ("TupleQ: Fully-Asynchronous
//! and Zero-Copy MPI over InfiniBand", 2009; docs/parts/tuple-queues.md#queues-of-the-card).
//!
//! The receives of a tuple are posted in a queue, in their order; the sender sends a message to the queue, and the card
//! puts it into the oldest. What both sides keep, as plain state machines. The sender sends only what was posted: it has a
//! [`Grant`], four words that the receiver writes from afar, and leaves a *claim*, one word, where the receiver can read it.
//!
//! A receive cannot be taken out of a queue of the card. So receives are granted in **epochs**. An epoch ends
//!
//! - *with the first message of the tuple that the sender puts on the stream*: it has a number above the `seen` of the
//!   epoch, by rule 2 the sender is done with it, and all that it had sent to the queue is there before that message. What the
//!   queue still holds is the receiver's, which gives up the queue and grants in a new one what is left;
//! - *when a receive is asked back*: the receiver closes the grant and then reads the claim; the sender writes the
//!   claim and then reads the grant. One of them sees the other, and the claim says how many receives are the sender's;
//! - *when all of it is filled*. Then the next goes on in the same queue.

use std::collections::VecDeque;

/// Words of a grant.
pub const GRANT: usize = 4;

/// What a sender may send to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Counts the queues of the card that stood for this one.
    pub epoch: u32,
    /// Receives that were posted in this epoch, below 2^31.
    pub count: u32,
    /// No further one may be used.
    pub closed: bool,
    /// The stream had been taken so far.
    pub seen: u32,
    /// Which queue of the card; never the same for two.
    pub queue: u32,
    /// Bytes of the smallest of the receives.
    pub room: u32,
}

const CLOSED: u32 = 1 << 31;

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Grant {
    /// The first word, to be written after the [rest](Grant::rest): who sees it sees that too.
    pub fn word(&self) -> u64 {
        pair(self.count | if self.closed { CLOSED } else { 0 }, self.epoch)
    }

    /// The words behind it.
    pub fn rest(&self) -> [u64; GRANT - 1] {
        [self.seen, self.queue, self.room].map(|low| pair(low, self.epoch))
    }

    /// What the words say; `load` reads one, after those read before. `None`: words of two epochs, or nothing yet.
    pub fn load(load: impl Fn(usize) -> u64) -> Option<Grant> {
        let words: [u64; GRANT] = std::array::from_fn(load);
        let epoch = (words[0] >> 32) as u32;
        let [first, seen, queue, room] = words.map(|word| word as u32);
        let whole = epoch != 0 && words.iter().all(|word| (word >> 32) as u32 == epoch);
        whole.then_some(Grant { epoch, count: first & !CLOSED, closed: first & CLOSED != 0, seen, queue, room })
    }
}

/// True when number `a` is `b` or a later one. Numbers wrap.
fn reaches(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

// ---- the sender

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Decided = 0,
    Trying = 1,
}

fn claim(epoch: u32, used: u32, state: Claim) -> u64 {
    pair(used << 1 | state as u32, epoch)
}

/// How many receives of a queue its sender has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Uses {
    epoch: u32,
    used: u32,
    /// The epoch was seen closed.
    stopped: bool,
}

impl Uses {
    /// Whether a message of `len` bytes may go to the queue, when the last one of its tuple on the stream had number
    /// `last`.
    pub fn may_claim(&self, grant: &Grant, last: u32, len: u64) -> bool {
        let Uses { used, stopped, .. } = self.in_epoch(grant.epoch);
        !grant.closed && !stopped && used < grant.count && reaches(grant.seen, last) && len <= u64::from(grant.room)
    }

    fn in_epoch(&self, epoch: u32) -> Uses {
        if epoch == self.epoch { self.clone() } else { Uses { epoch, used: 0, stopped: false } }
    }

    /// If so, the first half of the claim: to be stored where the receiver reads it, before anything is read
    /// for [`Uses::confirm`].
    pub fn try_claim(&mut self, grant: &Grant, last: u32, len: u64) -> Option<u64> {
        *self = self.in_epoch(grant.epoch);
        self.may_claim(grant, last, len).then(|| claim(self.epoch, self.used, Claim::Trying))
    }

    /// The second half: `word` is the first word of the grant, read again. What to store, and whether the message is to
    /// be sent to the queue.
    pub fn confirm(&mut self, word: u64) -> (u64, bool) {
        let own = (word >> 32) as u32 == self.epoch && word as u32 & CLOSED == 0;
        if own {
            self.used += 1;
        } else {
            self.stopped = true;
        }
        (claim(self.epoch, self.used, Claim::Decided), own)
    }
}

// ---- the receiver

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Open,
    /// Closed; the claim is being read.
    Asked,
    /// Closed, with so many receives that are the sender's.
    Closed(u32),
    /// The sender sends no more to the queue, which may hold receives.
    Over,
}

/// What to do for a receive that is to be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// It is the receiver's own again.
    Won,
    /// Nothing: it will be filled.
    Claimed,
    /// Nothing: that is being done.
    Asked,
    /// Write this as first word of the grant, then read the claim for [`Posted::answer`].
    Ask(u64),
}

/// The receives of one tuple that are in its queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Posted {
    queue: u32,
    epoch: u32,
    seen: u32,
    /// Receives of this epoch that were filled.
    filled: u32,
    /// The others, in order: their requests, and the bytes of each.
    receives: VecDeque<(u32, u32)>,
    /// Those that are asked back.
    recalled: Vec<u32>,
    stage: Stage,
}

impl Posted {
    /// A queue of the card that is empty, and was never used. `epoch`: the last one for which the words of the grant were
    /// used; 0 for none.
    pub fn new(queue: u32, epoch: u32) -> Posted {
        let (receives, recalled) = (VecDeque::new(), Vec::new());
        Posted { queue, epoch, seen: 0, filled: 0, receives, recalled, stage: Stage::Open }
    }

    /// Of its grants.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// True when nothing is in the queue, and nothing will be sent to it before something is.
    pub fn is_idle(&self) -> bool {
        self.receives.is_empty() && self.stage == Stage::Open
    }

    /// A receive was posted when the stream was taken up to `seen`: what to grant. Only if [`Posted::is_open`].
    pub fn post(&mut self, receiver: u32, len: u64, seen: u32) -> Grant {
        if self.receives.is_empty() {
            self.begin();
        }
        self.seen = seen;
        self.receives.push_back((receiver, len.min(u64::from(u32::MAX)) as u32));
        self.grant()
    }

    /// Receives may be posted.
    pub fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    fn begin(&mut self) {
        // Never 0, which is what words hold that were never written.
        self.epoch = self.epoch.wrapping_add(1).max(1);
        self.filled = 0;
    }

    fn grant(&self) -> Grant {
        let count = self.filled + self.receives.len() as u32;
        let room = self.receives.iter().map(|receive| receive.1).min().unwrap_or(0);
        Grant { epoch: self.epoch, count, closed: !self.is_open(), seen: self.seen, queue: self.queue, room }
    }

    /// The card has filled the oldest receive; returns its request.
    pub fn filled(&mut self) -> Option<u32> {
        let (receiver, _) = self.receives.pop_front()?;
        self.filled += 1;
        self.recalled.retain(|&other| other != receiver);
        if self.stage == Stage::Closed(self.filled) {
            self.stage = Stage::Over;
        }
        Some(receiver)
    }

    /// A message of the stream has matched the receive. It is the receiver's: what the sender had sent to the
    /// queue came before.
    pub fn retract(&mut self, receiver: u32) {
        self.take_out(receiver);
        if self.stage != Stage::Asked {
            self.stage = Stage::Over;
        }
    }

    fn take_out(&mut self, receiver: u32) {
        self.receives.retain(|receive| receive.0 != receiver);
        self.recalled.retain(|&other| other != receiver);
    }

    /// The program wants the receive no more.
    pub fn recall(&mut self, receiver: u32) -> Request {
        let Some(place) = self.receives.iter().position(|receive| receive.0 == receiver) else {
            return Request::Claimed;
        };
        match self.stage {
            Stage::Closed(used) if self.filled + (place as u32) < used => Request::Claimed,
            Stage::Closed(_) | Stage::Over => {
                self.take_out(receiver);
                Request::Won
            }
            Stage::Asked => {
                self.recalled.push(receiver);
                Request::Asked
            }
            Stage::Open => {
                self.recalled.push(receiver);
                self.stage = Stage::Asked;
                Request::Ask(self.grant().word())
            }
        }
    }

    /// The claim was read; false: read it again.
    pub fn answer(&mut self, word: u64) -> bool {
        if self.stage != Stage::Asked {
            return true;
        }
        let mine = (word >> 32) as u32 == self.epoch;
        if mine && word & 1 == Claim::Trying as u64 {
            return false;
        }
        let used = if mine { word as u32 >> 1 } else { 0 };
        self.stage = if self.filled < used { Stage::Closed(used) } else { Stage::Over };
        true
    }

    /// After an answer, again and again until `None`: the request of a receive that was asked back and is won.
    pub fn won(&mut self) -> Option<u32> {
        let used = match self.stage {
            Stage::Closed(used) => used,
            Stage::Over => self.filled,
            Stage::Open | Stage::Asked => return None,
        };
        let own = (used - self.filled) as usize;
        let mine = |receiver: &u32| self.receives.iter().skip(own).any(|receive| receive.0 == *receiver);
        let won = self.recalled.iter().copied().find(mine);
        match won {
            Some(receiver) => self.take_out(receiver),
            None => self.recalled.clear(),
        }
        won
    }

    /// The queue is to be replaced by another: see [`Posted::renew`].
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// The requests of the receives that are in the queue, in order.
    pub fn receivers(&self) -> impl Iterator<Item = u32> {
        self.receives.iter().map(|receive| receive.0)
    }

    /// All that is left was posted in a new queue of the card, when the stream was taken up to `seen`: what to grant,
    /// if there is anything.
    pub fn renew(&mut self, queue: u32, seen: u32) -> Option<Grant> {
        (self.queue, self.seen, self.stage) = (queue, seen, Stage::Open);
        if self.receives.is_empty() {
            return None;
        }
        self.begin();
        Some(self.grant())
    }
}
