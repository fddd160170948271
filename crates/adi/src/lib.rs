//! Point-to-point protocols: matching, eager, rendezvous.
//!
//! One [`Adi`] per process. It is not thread-safe: callers hold the library's lock
//! (`tern_mcm::lock`) whenever they are inside.

mod data;
mod matching;
mod packet;
mod slab;
mod state;
mod tuple;
mod types;
mod unexpected;

pub use types::*;

use packet::Packet;
use state::{Body, Side, State};
use std::cell::{Cell, RefCell};
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::Duration;
use tern_mcm::{Mcm, Sink, Step, lock};

/// Looks at the rings between two looks at everything, by a call that waits for a message.
const LOOKS: u32 = 16;

/// Packets for earlier receives that the start of a receive takes at most.
const AT_ONCE: u32 = 4;

/// Work done at each progress.
pub type Hook = Rc<dyn Fn(&Adi) -> Background>;

/// What a hook has to say after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// It has nothing to do until [`Adi::wake_hooks`].
    Idle,
    /// It waits for something.
    Waiting,
    /// It got on.
    Moved,
    /// It is not needed any more, and not called again.
    Over,
}

/// Called after each sleep of a call that waits: how long nothing has moved, and what it waits for.
pub type Observer = Rc<dyn Fn(&Adi, Duration, Awaited)>;

/// The point-to-point engine of this process.
pub struct Adi {
    mcm: Rc<Mcm>,
    state: RefCell<State>,
    hooks: RefCell<Vec<Hook>>,
    /// Some hook is not idle.
    has_hooks: Cell<bool>,
    /// Work that only calls do that wait.
    helpers: RefCell<Vec<Hook>>,
    has_helpers: Cell<bool>,
    observer: RefCell<Option<Observer>>,
}

impl Adi {
    /// An engine over the devices of `mcm`. Messages up to `eager_limit` bytes are sent without
    /// asking; `None` takes what the device of each peer has room for.
    pub fn new(mcm: Rc<Mcm>, eager_limit: Option<usize>) -> Adi {
        let state = RefCell::new(State::new(mcm.clone(), eager_limit));
        let (hooks, helpers, observer) = (RefCell::default(), RefCell::default(), RefCell::default());
        Adi { mcm, state, hooks, has_hooks: Cell::new(false), helpers, has_helpers: Cell::new(false), observer }
    }

    /// The devices underneath.
    pub fn mcm(&self) -> &Mcm {
        &self.mcm
    }

    /// The number of this process.
    pub fn me(&self) -> Proc {
        self.mcm.me()
    }

    /// Starts a send to `to`. `tuple.source` is the sender's own rank in the communicator.
    #[inline]
    pub fn isend(&self, to: Proc, tuple: Tuple, data: Data, mode: SendMode) -> Sent {
        let mut state = self.state.borrow_mut();
        let waits = state.waits;
        state.send(to, tuple, data, mode, waits)
    }

    /// Says that the caller starts transfers now and waits for all of them by [`Adi::wait_until`] before
    /// the program goes on.
    #[inline]
    pub fn will_wait(&self) {
        let mut state = self.state.borrow_mut();
        (state.waits, state.lends_now) = (true, None);
        drop(state);
        self.mcm.set_waiting(true);
    }

    /// The same for a collective whose longest message is so long. All its processes make the same calls.
    pub fn will_wait_together(&self, longest: impl FnOnce() -> usize) {
        self.will_wait();
        let mut state = self.state.borrow_mut();
        if state.may_lend() {
            state.begin_together(longest());
        }
    }

    /// Says to `to` that the message of that tuple will not come, since somebody is lost. The receive that would get it is
    /// complete then, its memory untouched, and its status has `word` ([`Status::missing`]).
    pub fn send_missing(&self, to: Proc, tuple: Tuple, word: u32) {
        self.state.borrow_mut().send_missing(to, tuple, word);
    }

    /// Sends dense bytes at once when that needs no more than a packet; false when it does, and then
    /// nothing has happened.
    #[inline(always)]
    pub fn send_now(&self, to: Proc, tuple: &Tuple, base: *const u8, len: usize) -> bool {
        self.state.borrow_mut().send_now(to, tuple, base, len)
    }

    /// True for a receive that is too short to be published.
    #[inline]
    pub fn is_short(&self, data: &Data) -> bool {
        self.state.borrow().is_short(data)
    }

    /// Sends and returns when the buffer may be reused; makes progress meanwhile. False when the receiver
    /// has been lost.
    #[inline]
    #[must_use]
    pub fn send(&self, to: Proc, tuple: Tuple, data: Data, mode: SendMode) -> bool {
        let sent = self.state.borrow_mut().send(to, tuple, data, mode, true);
        let Sent::Pending(request) = sent else { return true };
        self.wait(|| self.is_done(request), &|| Awaited::Transfers(vec![request]));
        self.take(request).aborted().is_none()
    }

    /// Starts a receive. `from` is the process that the pattern's source stands for, or [`UNKNOWN`].
    #[inline]
    pub fn irecv(&self, from: Proc, pattern: Pattern, data: Data) -> Request {
        Request(self.receive(&mut self.state.borrow_mut(), from, pattern, data))
    }

    /// As [`Adi::irecv`], for a caller that keeps the status of a message that is there already.
    #[inline]
    pub fn start_receive(&self, from: Proc, pattern: Pattern, data: &Data) -> Received {
        let mut state = self.state.borrow_mut();
        match self.take_what_is_there(&mut state, from, &pattern, data) {
            Some(status) => Received::Done(status),
            None => Received::Pending(Request(state.receive(from, pattern, data.clone()))),
        }
    }

    /// A request for a receive that was complete when it started.
    #[cold]
    pub fn received(&self, status: Status) -> Request {
        Request(self.state.borrow_mut().received(status))
    }

    /// Starts a receive.
    #[inline]
    fn receive(&self, state: &mut State, from: Proc, pattern: Pattern, data: Data) -> u32 {
        match self.take_what_is_there(state, from, &pattern, &data) {
            Some(status) => state.received(status),
            None => state.receive(from, pattern, data),
        }
    }

    /// A short message that is there when its receive starts, as the next one from its sender, goes straight into its
    /// place.
    #[inline]
    fn take_what_is_there(&self, state: &mut State, from: Proc, pattern: &Pattern, data: &Data) -> Option<Status> {
        if !self.is_peer(from) || !state.is_short(data) || lock::enabled() {
            return None;
        }
        // Packets for receives before this one would be in the way.
        for _ in 0..AT_ONCE {
            if !state.is_receiving() || !self.mcm.take_next(from, 1, |header, payload| {
                state.packet(from, header, payload);
                true
            }) {
                break;
            }
        }
        self.take_ready(state, from, pattern, data, 1)
    }

    /// Receives and returns when the data is there; makes progress meanwhile. `from` is as for
    /// [`Adi::irecv`].
    ///
    /// The receive is not listed. A message that is the next thing to come from `from` goes straight
    /// into its place; to whatever else comes the receive is open while that is looked at.
    #[inline]
    pub fn recv(&self, from: Proc, pattern: Pattern, data: Data) -> Status {
        data.expect();
        match self.take_next(from, &pattern, &data) {
            Some(status) => status,
            None => self.recv_waiting(from, pattern, data),
        }
    }

    #[inline(never)]
    fn recv_waiting(&self, from: Proc, pattern: Pattern, data: Data) -> Status {
        // With several threads there may be several calls that wait.
        if lock::enabled() || !self.state.borrow_mut().expect(from, data.clone()) {
            self.will_wait();
            let request = self.irecv(from, pattern, data);
            self.wait_until_telling(&mut || self.is_done(request), &|| Awaited::Transfers(vec![request]));
            return self.take(request);
        }
        let mut status = None;
        let bytes = data.len() as u64;
        let awaited = |idle| self.tell(idle, &|| Awaited::Message { from, pattern, bytes: Some(bytes) });
        let look = || {
            self.state.borrow_mut().open(pattern);
            let moved = self.progress();
            status = self.state.borrow_mut().expected();
            if status.is_none() && !moved {
                status = self.take_next(from, &pattern, &data);
            }
            match status {
                Some(_) => Step::Done,
                None if moved || self.help() => Step::Moved,
                None => Step::Idle,
            }
        };
        self.mcm.wait_telling(look, &awaited);
        self.state.borrow_mut().end_expected();
        status.expect("the receive is complete")
    }

    /// Waits a little for the message of a receive that may be the next thing to come from `from`, and
    /// does nothing else meanwhile: so only if there is nothing else to do.
    #[inline]
    fn take_next(&self, from: Proc, pattern: &Pattern, data: &Data) -> Option<Status> {
        if self.has_hooks.get() || lock::enabled() {
            return None;
        }
        let mut state = self.state.borrow_mut();
        if from == UNKNOWN {
            if state.may_take_next(data).is_some() {
                self.mcm.glance(LOOKS);
            }
            return None;
        }
        self.take_ready(&mut state, from, pattern, data, LOOKS)
    }

    /// A process whose messages come through a device: known, and not this one.
    #[inline]
    fn is_peer(&self, from: Proc) -> bool {
        from != UNKNOWN && from != self.mcm.me()
    }

    /// Takes the next packet from `from`, looking `looks` times for it, if it is the message of a short
    /// receive and no other receive is in front.
    #[inline]
    fn take_ready(
        &self,
        state: &mut State,
        from: Proc,
        pattern: &Pattern,
        data: &Data,
        looks: u32,
    ) -> Option<Status> {
        let lies = state.may_take_next(data)?;
        if !self.is_peer(from) {
            return None;
        }
        let mut status = None;
        self.mcm.take_next(from, looks, |header, payload| {
            let Some(tag) = Packet::wanted(header, pattern, payload.len()) else { return false };
            status = Some(data.fill(pattern.source, tag, payload, lies));
            tern_counters::received(payload.len());
            true
        });
        if let Some(Status { source, tag, .. }) = status {
            state.count_taken(from, &Tuple { context: pattern.context, source, tag });
        }
        status
    }

    /// True when the request has completed. Makes no progress.
    #[inline]
    pub fn is_done(&self, request: Request) -> bool {
        self.state.borrow().transfers.get(request.0).done
    }

    /// Makes progress until the request has completed.
    pub fn wait_for(&self, request: Request) {
        let only = self.state.borrow().only_one(request.0);
        match only {
            Some((from, pattern)) => self.wait_receive(request, from, pattern),
            None => self.wait(|| self.is_done(request), &|| Awaited::Transfers(vec![request])),
        }
    }

    /// As [`Adi::wait_for`], for a receive that was started with the same arguments. A short message that
    /// comes next, while no other receive is open, goes straight into its place.
    #[inline]
    pub fn wait_receive(&self, request: Request, from: Proc, pattern: Pattern) {
        let done = || self.is_done(request) || self.take_posted(request, from, &pattern);
        self.wait(done, &|| Awaited::Transfers(vec![request]));
    }

    /// Ends a short receive that no message has come for, if it is the only one: its caller then goes on by [`Adi::recv`], which
    /// has less to do when the message is there. False when other receives or messages are in the way, and then nothing
    /// has happened.
    #[inline]
    pub fn end_only_one(&self, request: Request) -> bool {
        !lock::enabled() && self.state.borrow_mut().end_only_one(request.0)
    }

    /// Looks a little for the message of a posted receive, and does nothing else meanwhile: so only if there is
    /// nothing else to do. True when it has come.
    #[inline]
    fn take_posted(&self, request: Request, from: Proc, pattern: &Pattern) -> bool {
        if !self.is_peer(from) || self.has_hooks.get() || lock::enabled() {
            return false;
        }
        let mut state = self.state.borrow_mut();
        if !state.is_only_one(request.0) {
            return false;
        }
        let mut done = false;
        self.mcm.take_next(from, LOOKS, |header, payload| {
            let Some(tag) = Packet::wanted(header, pattern, payload.len()) else { return false };
            let tuple = Tuple { context: pattern.context, source: pattern.source, tag };
            state.take_posted(request.0, from, &tuple, payload);
            done = true;
            true
        });
        done
    }

    /// The status of a completed request, without freeing it.
    pub fn status(&self, request: Request) -> Status {
        self.state.borrow().transfers.get(request.0).status.fresh()
    }

    /// The status of a completed request, which is freed.
    #[inline]
    pub fn take(&self, request: Request) -> Status {
        let mut state = self.state.borrow_mut();
        let status = state.transfers.get(request.0).status.fresh();
        state.transfers.free(request.0);
        status
    }

    /// Frees the request once it completes (MPI_Request_free). Its name is stale from now on.
    pub fn release(&self, request: Request) {
        let mut state = self.state.borrow_mut();
        let transfer = state.transfers.get_mut(request.0);
        transfer.released = true;
        if transfer.done {
            state.transfers.remove(request.0);
        } else {
            state.transfers.outdate(request.0);
        }
    }

    /// Gives a request a name, by which [`Adi::named`] finds it until it is freed or released. `owner`
    /// stays alive as long as the transfer.
    #[inline]
    pub fn name(&self, request: Request, owner: Owner) -> Name {
        self.state.borrow_mut().name(request.0, owner)
    }

    /// The request of that name and whether it is a receive; `None` for a name that is stale.
    #[inline]
    pub fn named(&self, name: Name) -> Option<(Request, bool)> {
        let state = self.state.borrow();
        let transfer = state.named(name)?;
        Some((Request(name.index), matches!(transfer.side, Side::Receive { .. })))
    }

    /// What [`Adi::name`] was given for the request.
    pub fn owner(&self, request: Request) -> Option<Owner> {
        self.state.borrow().transfers.get(request.0).owner.clone()
    }

    /// Ends a request by its name if it is complete: its status, whether it was a receive, and its
    /// owner.
    #[inline]
    pub fn end_named(&self, name: Name) -> Ended {
        let mut state = self.state.borrow_mut();
        let Some(transfer) = state.named(name) else { return Ended::Stale };
        if !transfer.done && !state.take_filled(name.index) {
            return Ended::Pending;
        }
        let transfer = state.transfers.get(name.index);
        let status = transfer.status.fresh();
        let receive = matches!(transfer.side, Side::Receive { .. });
        let owner = state.transfers.get_mut(name.index).owner.take();
        state.transfers.free(name.index);
        Ended::Done { status, receive, owner }
    }

    /// Tries to cancel. The request completes in any case; its status tells.
    pub fn cancel(&self, request: Request) {
        self.state.borrow_mut().cancel(request.0);
    }

    /// The oldest message that matches and has not been received, if there is one. No progress.
    pub fn probe(&self, pattern: Pattern) -> Option<Status> {
        let state = self.state.borrow();
        let (arrival, tuple) = state.matching.unexpected(state.matching.find_unexpected(&pattern)?);
        let bytes = state.arrivals.get(arrival).size;
        Some(Status { source: tuple.source, tag: tuple.tag, bytes, ..Status::default() })
    }

    /// Takes the oldest matching message out of matching. No progress.
    pub fn matched_probe(&self, pattern: Pattern) -> Option<Message> {
        let status = self.probe(pattern)?;
        let mut state = self.state.borrow_mut();
        let place = state.matching.find_unexpected(&pattern)?;
        Some(Message { unexpected: state.matching.take_unexpected(place), status })
    }

    /// Receives a message found by [`Adi::matched_probe`].
    pub fn imrecv(&self, message: Message, data: Data) -> Request {
        let mut state = self.state.borrow_mut();
        let request = state.receive_matched(data);
        state.consume(message.unexpected, request);
        Request(request)
    }

    /// Polls the devices once, delivers what came, sends what waits, runs the hooks. Returns true
    /// when anything moved.
    #[inline]
    pub fn progress(&self) -> bool {
        let mut moved = {
            let mut state = self.state.borrow_mut();
            let packets = self.mcm.poll(&mut *state);
            state.flush_all();
            if state.has_late() {
                state.publish_late();
            }
            std::mem::take(&mut state.moved) | (packets > 0)
        };
        if self.has_hooks.get() {
            moved |= self.run_hooks();
        }
        if moved && lock::enabled() {
            // Another thread may sleep for what has just come.
            self.mcm.ring(self.me());
        }
        moved
    }

    /// Progress for a call that looks whether something has come, and returns if not.
    #[inline]
    pub fn look(&self) {
        let moved = self.progress();
        self.mcm.looked(moved);
    }

    #[cold]
    fn run_hooks(&self) -> bool {
        self.has_hooks.set(false);
        let mut moved = false;
        let mut at = 0;
        loop {
            // A hook may add further hooks, or run user code that comes back here.
            let Some(hook) = self.hooks.borrow().get(at).cloned() else { return moved };
            match hook(self) {
                Background::Idle => {}
                Background::Waiting => self.has_hooks.set(true),
                Background::Moved => {
                    self.has_hooks.set(true);
                    moved = true;
                }
                Background::Over => {
                    self.hooks.borrow_mut().retain(|other| !Rc::ptr_eq(other, &hook));
                    continue;
                }
            }
            at += 1;
        }
    }

    /// Makes progress until `done` holds; spins, yields and sleeps as `tern_mcm` decides, and
    /// lets other threads in meanwhile (the library's lock is given up while waiting).
    /// `done` is called often and must be cheap.
    #[inline]
    pub fn wait_until(&self, done: &mut dyn FnMut() -> bool) {
        self.wait_until_telling(done, &|| Awaited::Own);
    }

    /// As [`Adi::wait_until`]; `awaited` says what is waited for, if an observer asks.
    #[inline]
    pub fn wait_until_telling(&self, done: &mut dyn FnMut() -> bool, awaited: &dyn Fn() -> Awaited) {
        self.wait(done, awaited);
        self.state.borrow_mut().waits = false;
    }

    /// As [`Adi::wait_until_telling`], inlined.
    #[inline]
    fn wait(&self, mut done: impl FnMut() -> bool, awaited: &dyn Fn() -> Awaited) {
        let look = || {
            if done() {
                return Step::Done;
            }
            match self.progress() {
                true => Step::Moved,
                false if done() => Step::Done,
                false if self.help() => Step::Moved,
                false => Step::Idle,
            }
        };
        self.mcm.wait_telling(look, &|idle| self.tell(idle, awaited));
    }

    /// Lets `observer` know of every call that waits so long that it sleeps.
    pub fn observe(&self, observer: Observer) {
        self.observer.replace(Some(observer));
        self.mcm.watch();
    }

    #[cold]
    fn tell(&self, idle: Duration, awaited: &dyn Fn() -> Awaited) {
        let observer = self.observer.borrow().clone();
        if let Some(observer) = observer {
            observer(self, idle, awaited());
        }
    }

    /// Marks the synchronous sends that start from now on; receives find it in their status. 0 marks
    /// nothing.
    pub fn mark(&self, mark: u32) {
        self.state.borrow_mut().mark = mark;
    }

    /// From now on no receive is published, and no message looks for one: marks travel with packets only.
    pub fn use_packets(&self) {
        self.state.borrow_mut().direct_from = usize::MAX;
    }

    /// From now on messages that no receive has asked for take `bytes` bytes here, and then their senders have to ask before
    /// they send more. What is on its way by then comes on top; so does what the process sends to itself.
    pub fn cap_unexpected(&self, bytes: u64) {
        self.state.borrow_mut().cap_kept(bytes);
    }

    /// Long messages to other nodes travel in this way from now on, where they can.
    pub fn use_rendezvous(&self, way: Rendezvous) {
        self.state.borrow_mut().rendezvous = way;
    }

    /// From now on it is known which processes take part in a context: a receive with a wildcard for its source
    /// fails when one of them is lost.
    pub fn know_members(&self, members: Members) {
        self.state.borrow_mut().members = Some(members);
    }

    /// Why `peer` cannot be reached any more; `None` when it can, as far as is known.
    pub fn why_lost(&self, peer: Proc) -> Option<String> {
        self.state.borrow().why_lost(peer).map(str::to_string)
    }

    /// The lost process without which a receive in `context` may never get a message: `from`, or any that takes
    /// part if that is [`UNKNOWN`].
    pub fn lost_for(&self, from: Proc, context: u32) -> Option<Proc> {
        self.state.borrow().lost_for(from, context)
    }

    /// The names of all transfers that have one.
    pub fn names(&self) -> Vec<Name> {
        self.state.borrow().names()
    }

    /// Everything that is under way in this process: receives and messages by age.
    pub fn pending(&self) -> Vec<Pending> {
        self.state.borrow().pending()
    }

    /// Registers work to be done at each progress (nonblocking collectives). It runs while no
    /// borrow of `Adi` is held and may call any method but `progress` and `wait_until`.
    pub fn add_hook(&self, hook: Hook) {
        self.hooks.borrow_mut().push(hook);
        self.wake_hooks();
    }

    /// Registers what is looked for by calls that wait, when they find nothing else to do. It may call nothing of the
    /// engine, and nobody may need it: a process that sleeps is not woken for it.
    pub fn add_helper(&self, helper: Hook) {
        self.helpers.borrow_mut().push(helper);
        self.has_helpers.set(true);
    }

    /// Calls the helpers; true when one of them got on.
    #[inline]
    fn help(&self) -> bool {
        self.has_helpers.get() && self.run_helpers()
    }

    fn run_helpers(&self) -> bool {
        let mut moved = false;
        let mut helpers = self.helpers.borrow_mut();
        helpers.retain(|helper| {
            let got = helper(self);
            moved |= got == Background::Moved;
            got != Background::Over
        });
        self.has_helpers.set(!helpers.is_empty());
        moved
    }

    /// Calls the hooks from now on, until all of them are idle.
    pub fn wake_hooks(&self) {
        self.has_hooks.set(true);
    }

    /// Comes to know processes of other jobs: see [`Mcm::connect`]. Returns the first one's number.
    ///
    /// Errors: the memory that is shared with them cannot be sized or mapped.
    pub fn connect(
        &self,
        file: BorrowedFd<'_>,
        offset: u64,
        me: u32,
        processes: u32,
        newcomers: &[u32],
    ) -> std::io::Result<Proc> {
        let mut state = self.state.borrow_mut();
        let first = self.mcm.connect(file, offset, me, processes, newcomers)?;
        state.grow();
        Ok(first)
    }

    /// Forgets the processes of one [`Adi::connect`], whose numbers are not used any more. False when
    /// something still waits to be sent to them, and then nothing has happened.
    pub fn disconnect(&self, peers: std::ops::Range<Proc>) -> bool {
        let flushed = self.is_flushed_to(peers.clone());
        if flushed {
            self.state.borrow_mut().forget(&peers);
            self.mcm.disconnect(peers.start);
        }
        flushed
    }

    /// True while a transfer that keeps `owner` alive is not complete.
    pub fn is_under_way(&self, owner: &Owner) -> bool {
        let owns = |other: &Owner| Rc::ptr_eq(other, owner);
        self.state.borrow().transfers.iter().any(|transfer| !transfer.done && transfer.owner.as_ref().is_some_and(owns))
    }

    /// True when nothing waits to be sent to these processes.
    pub fn is_flushed_to(&self, peers: std::ops::Range<Proc>) -> bool {
        self.state.borrow().is_flushed_to(&peers)
    }

    /// True when nothing waits to be sent.
    #[inline]
    pub fn is_flushed(&self) -> bool {
        self.state.borrow().is_flushed()
    }

    /// Messages that wait for a receive: how many, and the bytes kept here for them.
    pub fn unexpected(&self) -> (usize, usize) {
        let state = self.state.borrow();
        let bytes = state.arrivals.iter().map(|arrival| match &arrival.body {
            Body::Bytes { bytes, .. } => bytes.len(),
            _ => 0,
        });
        (state.arrivals.len(), bytes.sum())
    }
}
