//! Composer: receives that could not be published when they were posted ([`crate::parts::deferred`]).

use super::State;
use crate::matching::{EntryId, Hindrance};
use crate::parts::deferred::Waiting;
use crate::transfer::{Published, Side};
use crate::{Pattern, Proc};
use tern_counters as counters;

/// Receives of one sender that are looked at at once: a program that posts thousands shall not pay for all of them
/// with each that ends.
const LOOKS: usize = 32;

impl State {
    /// Notes that the receive, which is about to be posted, is to be published later. `hindrance`: what is in the way
    /// but room.
    pub(super) fn publish_later(
        &mut self, request: u32, from: Proc, pattern: &Pattern, hindrance: Option<Hindrance>,
    ) -> Published {
        // A call that waits for it alone has nothing from that.
        if self.call.waits || (hindrance.is_none() && !self.waits_for_room(from)) {
            return Published::NOT;
        }
        self.deferred.add(from, request, pattern);
        self.watch(from, hindrance);
        Published::WATCHED
    }

    /// What of a hindrance is left by the program's promises: see [`crate::matching::Matching::promised_hindrance`].
    pub(super) fn unless_promised(
        &self, pattern: &Pattern, posted: Option<EntryId>, hindrance: Option<Hindrance>,
    ) -> Option<Hindrance> {
        hindrance?;
        self.matching.promised_hindrance(pattern, posted, |request| self.is_short(&self.requests.get(request).data))
    }

    /// A receive is published that had this in its way but for a promise.
    pub(super) fn note_promised(&self, hindrance: Option<Hindrance>) {
        counters::PUBLISHED_PROMISED.add(u64::from(hindrance.is_some()));
    }

    /// True when receives of `from` that were refused may find room later: where nothing is published, nothing can be.
    fn waits_for_room(&self, from: Proc) -> bool {
        self.queues.has_published(from) && self.direct().pair(from).has_room_later
    }

    /// Sees to it that receives of `from` are looked at again when `hindrance` is gone.
    fn watch(&mut self, from: Proc, hindrance: Option<Hindrance>) {
        match hindrance {
            Some(Hindrance::Open(request)) => {
                self.requests.get_mut(request).set_published(Published::WATCHED);
            }
            // It is open for a moment.
            Some(Hindrance::Expected) => self.deferred.note_due(from),
            Some(Hindrance::Wild) | None => {}
        }
    }

    /// The receive `request`, which was watched, leaves matching.
    #[cold]
    pub(super) fn left(&mut self, request: u32) {
        let Side::Receive { from, published, .. } = &mut self.requests.get_mut(request).side else { return };
        *published = Published::NOT;
        let from = *from;
        self.deferred.remove(from, request);
    }

    /// Publishes what is not hindered any more.
    #[inline]
    pub fn publish_deferred(&mut self) {
        if self.deferred.has_due() {
            self.publish_due();
        }
    }

    #[cold]
    fn publish_due(&mut self) {
        for from in self.deferred.take_due() {
            let Some(mut waiting) = self.deferred.take(from) else { continue };
            let (mut at, mut again) = (0, false);
            while at < waiting.len().min(LOOKS) {
                match self.publish_posted(from, &waiting[at]) {
                    Outcome::Over => _ = waiting.remove(at),
                    Outcome::Hindered(hindrance) => {
                        at += 1;
                        if hindrance == Hindrance::Expected {
                            again = true;
                            break;
                        }
                        self.watch(from, Some(hindrance));
                    }
                    Outcome::Full => break,
                }
            }
            self.deferred.put_back(from, waiting, again);
        }
    }

    fn publish_posted(&mut self, from: Proc, waiting: &Waiting) -> Outcome {
        let Waiting { request, pattern } = *waiting;
        let Side::Receive { place: Some(place), .. } = self.requests.get(request).side else {
            unreachable!("who waits is posted")
        };
        let hindrance = self.matching.hindrance(&pattern, Some(place));
        if let Some(hindrance) = self.unless_promised(&pattern, Some(place), hindrance) {
            return Outcome::Hindered(hindrance);
        }
        let memory = self.locate_receive(request, from);
        let visible = self.announce(request, from, &pattern, &memory);
        if !visible.is_published() && self.waits_for_room(from) {
            return Outcome::Full;
        }
        if visible.is_published() {
            counters::PUBLISHED_LATE.add(1);
            self.note_promised(hindrance);
            self.matching.publish(place);
        }
        // It may still be in the way of others, which find that out.
        self.requests.get_mut(request).set_published(visible);
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
