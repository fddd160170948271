//! Part of the engine: receives that could not be published when they were posted. They are when what was in the way is gone.
//! Rule 1 of docs/parts/tuple-queues.md#order holds at any later time as well.
//!
//! In the way is an older receive that could take the message and is not published, or that there is no room. Nobody
//! looks for that on the way of short messages: what is in the way is marked ([`crate::transfer::Published::WATCHED`]), and
//! its end found where published receives end anyway.

use crate::{Pattern, Proc};
use std::collections::{BTreeMap, VecDeque};

/// A receive that is posted and waits to be published.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub request: u32,
    pub pattern: Pattern,
}

/// All of them.
#[derive(Debug, Default)]
pub struct DeferredPosts {
    /// By their sender, the oldest first.
    waiting: BTreeMap<Proc, VecDeque<Waiting>>,
    /// Senders for which something may have changed.
    due: Vec<Proc>,
}

impl DeferredPosts {
    /// A receive from `from`, which is about to be posted, is to be published later.
    pub fn add(&mut self, from: Proc, request: u32, pattern: &Pattern) {
        self.waiting.entry(from).or_default().push_back(Waiting { request, pattern: *pattern });
    }

    /// What was in the way of receives from `from` is gone, or may be.
    pub fn note_due(&mut self, from: Proc) {
        if self.waiting.contains_key(&from) && !self.due.contains(&from) {
            self.due.push(from);
        }
    }

    /// A receive from `from` is published no more: there may be room.
    #[inline]
    pub fn has_room(&mut self, from: Proc) {
        if !self.waiting.is_empty() {
            self.note_due(from);
        }
    }

    /// The receive `request`, which was watched, leaves matching: it may have been in the way of any.
    pub fn remove(&mut self, from: Proc, request: u32) {
        if let Some(waiting) = self.waiting.get_mut(&from) {
            let at = waiting.iter().position(|other| other.request == request);
            at.and_then(|at| waiting.remove(at));
            if waiting.is_empty() {
                self.waiting.remove(&from);
            }
        }
        self.due = self.waiting.keys().copied().collect();
    }

    /// True when some are to be looked at again.
    #[inline]
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Takes the senders whose receives are to be looked at again.
    pub fn take_due(&mut self) -> Vec<Proc> {
        std::mem::take(&mut self.due)
    }

    /// Takes the receives from `from`, the oldest first.
    pub fn take(&mut self, from: Proc) -> Option<VecDeque<Waiting>> {
        self.waiting.remove(&from)
    }

    /// Some of them still wait; `again`: they are to be looked at the next time.
    pub fn put_back(&mut self, from: Proc, waiting: VecDeque<Waiting>, again: bool) {
        if again {
            self.due.push(from);
        }
        if !waiting.is_empty() {
            self.waiting.insert(from, waiting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(waiting: &VecDeque<Waiting>) -> Vec<u32> {
        waiting.iter().map(|waiting| waiting.request).collect()
    }

    #[test]
    fn those_that_wait_are_due_when_something_has_changed() {
        let pattern = Pattern { context: 1, source: 0, tag: 2 };
        let mut deferred = DeferredPosts::default();
        deferred.has_room(4);
        assert!(!deferred.has_due(), "nothing waits");
        (1..4).for_each(|request| deferred.add(4, request, &pattern));
        deferred.add(5, 9, &pattern);
        deferred.note_due(6);
        assert!(!deferred.has_due());
        deferred.has_room(4);
        deferred.note_due(4);
        assert_eq!(deferred.take_due(), [4], "once");
        let mut waiting = deferred.take(4).expect("three of them");
        assert_eq!(requests(&waiting), [1, 2, 3]);
        waiting.pop_front();
        deferred.put_back(4, waiting, true);
        assert_eq!(deferred.take_due(), [4]);
        deferred.remove(4, 2);
        assert_eq!(deferred.take_due(), [4, 5], "it may have been in the way of any");
        deferred.remove(4, 3);
        assert_eq!(deferred.take_due(), [5]);
        assert!(deferred.take(4).is_none());
    }
}
