//! Receives that could not be published when they were posted: they are when what was in the way is gone (design,
//! section 4, rule 1, which holds at any later time as well).
//!
//! In the way is an older receive that could take the message and is not published, or that there is no room. Nobody
//! looks for that on the way of short messages: what is in the way is marked ([`Published::WATCHED`]), and
//! its end found where published receives end anyway.

use super::direct::Published;
use super::{Side, State};
use crate::matching::Hindrance;
use crate::{Pattern, Proc};
use std::collections::{BTreeMap, VecDeque};
use tern_counters as counters;

/// A receive that is posted and waits to be published.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: u32,
    pattern: Pattern,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Late {
    /// By their sender, the oldest first.
    waiting: BTreeMap<Proc, VecDeque<Waiting>>,
    /// Senders for which something may have changed.
    due: Vec<Proc>,
}

/// Receives of one sender that are looked at at once: a program that posts thousands shall not pay for all of them
/// with each that ends.
const LOOKS: usize = 32;

impl Late {
    fn is_due_for(&mut self, peer: Proc) {
        if self.waiting.contains_key(&peer) && !self.due.contains(&peer) {
            self.due.push(peer);
        }
    }

    /// A receive of `peer` is published no more.
    #[inline]
    pub fn has_room(&mut self, peer: Proc) {
        if !self.waiting.is_empty() {
            self.is_due_for(peer);
        }
    }
}

impl State {
    /// Notes that the receive, which is about to be posted, is to be published later. `hindrance`: what is in the way
    /// but room.
    pub(super) fn publish_later(
        &mut self, request: u32, from: Proc, pattern: &Pattern, hindrance: Option<Hindrance>,
    ) -> Published {
        // A call that waits for it alone has nothing from that.
        if self.waits || (hindrance.is_none() && !self.waits_for_room(from)) {
            return Published::NOT;
        }
        self.late.waiting.entry(from).or_default().push_back(Waiting { request, pattern: *pattern });
        self.watch(from, hindrance);
        Published::WATCHED
    }

    /// True when receives of `from` that were refused may find room later: where nothing is published, nothing can be.
    fn waits_for_room(&self, from: Proc) -> bool {
        self.taken[from as usize].published > 0 && self.direct().may_have_room_later(from)
    }

    /// Sees to it that receives of `from` are looked at again when `hindrance` is gone.
    fn watch(&mut self, from: Proc, hindrance: Option<Hindrance>) {
        match hindrance {
            Some(Hindrance::Open(request)) => {
                if let Side::Receive { published, .. } = &mut self.transfers.get_mut(request).side {
                    *published = Published::WATCHED;
                }
            }
            // It is open for a moment.
            Some(Hindrance::Expected) => self.late.is_due_for(from),
            Some(Hindrance::Wild) | None => {}
        }
    }

    /// The receive `request`, which was watched, leaves matching.
    #[cold]
    pub(super) fn left(&mut self, request: u32) {
        let Side::Receive { from, published, .. } = &mut self.transfers.get_mut(request).side else { return };
        *published = Published::NOT;
        let from = *from;
        if let Some(waiting) = self.late.waiting.get_mut(&from) {
            let at = waiting.iter().position(|other| other.request == request);
            at.and_then(|at| waiting.remove(at));
            if waiting.is_empty() {
                self.late.waiting.remove(&from);
            }
        }
        self.late.due = self.late.waiting.keys().copied().collect();
    }

    /// True when [`State::publish_late`] has something to do.
    #[inline]
    pub fn has_late(&self) -> bool {
        !self.late.due.is_empty()
    }

    /// Publishes what is not hindered any more.
    #[cold]
    pub fn publish_late(&mut self) {
        for from in std::mem::take(&mut self.late.due) {
            let Some(mut waiting) = self.late.waiting.remove(&from) else { continue };
            let mut at = 0;
            while at < waiting.len().min(LOOKS) {
                match self.publish_posted(from, &waiting[at]) {
                    Outcome::Over => _ = waiting.remove(at),
                    Outcome::Hindered(hindrance) => {
                        at += 1;
                        if hindrance == Hindrance::Expected {
                            self.late.due.push(from);
                            break;
                        }
                        self.watch(from, Some(hindrance));
                    }
                    Outcome::Full => break,
                }
            }
            if !waiting.is_empty() {
                self.late.waiting.insert(from, waiting);
            }
        }
    }

    fn publish_posted(&mut self, from: Proc, waiting: &Waiting) -> Outcome {
        let Waiting { request, pattern } = *waiting;
        let Side::Receive { place: Some(place), .. } = self.transfers.get(request).side else {
            unreachable!("who waits is posted")
        };
        if let Some(hindrance) = self.matching.hindrance(&pattern, Some(place)) {
            return Outcome::Hindered(hindrance);
        }
        let memory = self.locate_receive(request, from);
        let visible = self.announce(request, from, &pattern, &memory);
        if !visible.is_published() && self.waits_for_room(from) {
            return Outcome::Full;
        }
        if visible.is_published() {
            counters::PUBLISHED_LATE.add(1);
            self.matching.publish(place);
        }
        if let Side::Receive { published, .. } = &mut self.transfers.get_mut(request).side {
            // It may still be in the way of others, which find that out.
            *published = visible;
        }
        Outcome::Over
    }
}

/// What became of a receive that waits to be published.
enum Outcome {
    /// It is published, or never will be.
    Over,
    Hindered(Hindrance),
    /// There is no room for any of its sender.
    Full,
}
