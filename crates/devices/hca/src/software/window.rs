//! The requests of a queue pair on their way: in which order they go, which are done, what is repeated.
//!
//! A plain state machine: requests come in by [`post`](Window::post), frames about them go out and come in, and
//! requests leave in order by [`pop`](Window::pop).

use std::collections::VecDeque;

/// What the window needs to know of a request.
pub trait Request {
    /// It is a read or an atomic: done when its answer has come, and not by being executed.
    fn answers(&self) -> bool;
    /// It waits for the reads and atomics in front of it.
    fn fence(&self) -> bool;
}

pub struct Window<R> {
    /// Those that are not complete, with whether they are done. The first has the number `base`.
    requests: VecDeque<(R, bool)>,
    base: u64,
    /// The next to be sent.
    next: u64,
    /// Reads and atomics that were sent and have no answer yet.
    reads: u32,
    /// Of these the peer allows so many.
    reads_allowed: u32,
}

impl<R: Request> Window<R> {
    pub fn new() -> Window<R> {
        Window { requests: VecDeque::new(), base: 0, next: 0, reads: 0, reads_allowed: 1 }
    }

    pub fn allow_reads(&mut self, reads: u32) {
        self.reads_allowed = reads;
    }

    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub fn post(&mut self, request: R) {
        self.requests.push_back((request, false));
    }

    /// The request that may be sent now, with its number.
    pub fn sendable(&self) -> Option<(u64, &R)> {
        let (request, _) = self.requests.get((self.next - self.base) as usize)?;
        let waits = request.answers() && self.reads >= self.reads_allowed || request.fence() && self.reads > 0;
        (!waits).then_some((self.next, request))
    }

    /// The request with that number has been sent, whole.
    pub fn sent(&mut self, number: u64) {
        if number == self.next && self.request(number).is_some() {
            self.reads += u32::from(self.requests[(number - self.base) as usize].0.answers());
            self.next += 1;
        }
    }

    /// A request that is not complete.
    pub fn request(&self, number: u64) -> Option<&R> {
        let at = number.checked_sub(self.base)?;
        self.requests.get(at as usize).map(|(request, _)| request)
    }

    pub fn request_mut(&mut self, number: u64) -> Option<&mut R> {
        let at = number.checked_sub(self.base)?;
        self.requests.get_mut(at as usize).map(|(request, _)| request)
    }

    /// The peer has executed all requests before `number`.
    pub fn executed(&mut self, number: u64) {
        let until = number.min(self.next).saturating_sub(self.base) as usize;
        // Backwards to what was known already; reads stand in between.
        for (request, done) in self.requests.range_mut(..until).rev() {
            if *done {
                break;
            }
            *done = !request.answers();
        }
    }

    /// The answer of a read or an atomic is here. False when there is no such request under way.
    pub fn answered(&mut self, number: u64) -> bool {
        let under_way = number >= self.base && number < self.next;
        let Some((request, done)) = under_way.then(|| &mut self.requests[(number - self.base) as usize]) else {
            return false;
        };
        if *done || !request.answers() {
            return false;
        }
        *done = true;
        self.reads -= 1;
        true
    }

    /// The peer has dropped this request and those behind it: they go again. It may be one that is just being sent.
    /// False when that cannot be.
    pub fn rewind(&mut self, number: u64) -> bool {
        if number < self.base || number > self.next {
            return false;
        }
        self.executed(number);
        let from = (number - self.base) as usize;
        let until = (self.next - self.base) as usize;
        let again = self.requests.range(from..until).filter(|(request, done)| request.answers() && !done);
        self.reads -= again.count() as u32;
        self.next = number;
        true
    }

    /// Takes the oldest request if it is done.
    pub fn pop(&mut self) -> Option<R> {
        self.requests.front().filter(|(_, done)| *done)?;
        self.take().map(|(_, request, _)| request)
    }

    /// Takes the oldest request in any case: its number, and whether it was done.
    pub fn take(&mut self) -> Option<(u64, R, bool)> {
        let (request, done) = self.requests.pop_front()?;
        let number = self.base;
        self.base += 1;
        self.next = self.next.max(self.base);
        Some((number, request, done))
    }
}

#[cfg(test)]
mod tests;
