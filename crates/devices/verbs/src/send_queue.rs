//! What is in a send queue, as the one who posts knows it.
//!
//! The depth is kept to here, and not left to the card: to the card a request may be over when it has ended, and here its
//! completion is still to be polled. Rooms in the completion queue are as many as all send queues are deep.
//!
//! Only some requests ask for a completion, which tells that all before it have ended too. Whoever posts knows so how much room
//! is left, and need not build what the queue would refuse.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Requests without a completion of their own, at most, before one that has one.
const QUIET: u64 = 16;

/// Requests of a queue pair, by their numbers from 1 on.
pub struct SendQueue {
    depth: u64,
    /// The number of the last that was posted, and of the last that has ended as far as is known.
    posted: Cell<u64>,
    ended: Cell<u64>,
    /// Of those that asked for a completion, which is to come.
    asked: RefCell<VecDeque<u64>>,
    /// The next one asks.
    asks: Cell<bool>,
}

impl SendQueue {
    /// For `depth` requests.
    pub fn new(depth: u32) -> SendQueue {
        let asked = RefCell::new(VecDeque::with_capacity(depth as usize));
        SendQueue { depth: depth.into(), posted: Cell::new(0), ended: Cell::new(0), asked, asks: Cell::new(false) }
    }

    /// True when so many requests find room.
    #[inline]
    pub fn has_room(&self, requests: u64) -> bool {
        self.posted.get() - self.ended.get() + requests <= self.depth
    }

    /// Whether the next request asks for a completion, which it must if `asks`.
    #[inline]
    pub fn signals(&self, asks: bool) -> bool {
        let last = self.asked.borrow().back().copied().unwrap_or(self.ended.get());
        asks || self.asks.get() || self.posted.get() - last >= QUIET
    }

    /// The next request asks for a completion.
    pub fn ask(&self) {
        self.asks.set(true);
    }

    /// A request was posted; `signaled`: it asked for a completion.
    #[inline]
    pub fn posted(&self, signaled: bool) {
        self.posted.set(self.posted.get() + 1);
        if signaled {
            self.asked.borrow_mut().push_back(self.posted.get());
            self.asks.set(false);
        }
    }

    /// A completion has come. One that asked for none has one if it failed; then nothing more is posted.
    #[inline]
    pub fn completed(&self) {
        if let Some(number) = self.asked.borrow_mut().pop_front() {
            self.ended.set(number);
        }
    }

    /// Completions that are to come.
    pub fn flying(&self) -> u32 {
        self.asked.borrow().len() as u32
    }

    /// True when everything has ended.
    pub fn is_empty(&self) -> bool {
        self.posted == self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_comes_back_with_completions() {
        let queue = SendQueue::new(40);
        let mut posted = 0;
        while queue.has_room(1) {
            queue.posted(queue.signals(false));
            posted += 1;
        }
        assert_eq!((posted, queue.flying()), (40, 2), "each seventeenth is told of");
        queue.completed();
        assert!(queue.has_room(17) && !queue.has_room(18));
        queue.completed();
        assert_eq!((queue.flying(), queue.is_empty()), (0, false), "six are never told of");
        assert!(!queue.signals(false));
        queue.ask();
        assert!(queue.signals(false));
        queue.posted(true);
        queue.completed();
        assert!(queue.is_empty() && queue.has_room(40) && !queue.has_room(41));
    }
}
