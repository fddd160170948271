//! The point-to-point engine: messages between two processes, by eager, rendezvous and published receives.
//!
//! This crate knows processes by number, tuples (context, source, tag) and memory ([`Data`]). It knows no communicator, no rank of a
//! group but as a part of a tuple, and no device by name.
//!
//! # Objects
//!
//! ```text
//! Adi                     the calls of the layers above
//!  └── State, composer    owns all parts; asks the policy for plans; hands packets to the devices, and takes them
//!       ├── Requests      transfers that are under way, by Request and by Name
//!       ├── Matching      posted receives, and messages that no receive has matched
//!       ├── Unexpected    the bytes of those messages, and their cap
//!       ├── TupleQueues   published receives
//!       ├── Stream        what waits to be sent, in order
//!       └── ...           docs/parts/engine.md has all of them, and who calls whom
//! ```
//!
//! - [`Tuple`] and [`Pattern`]: what a message carries, and what a receive asks for. Contexts keep communicators apart.
//! - [`Data`]: a dense run of bytes, or elements of a layout. Its memory is the program's.
//! - [`Request`]: a transfer of this process. It lives until [`Adi::take`] or [`Adi::release`]. A [`Name`] is a request that the program
//!   holds, with an owner of the layer above.
//! - [`Status`]: who has sent a message, its tag and its bytes.
//!
//! # How a message goes
//!
//! 1. [`Adi::send`], [`Adi::isend`] or a short path (`*_fast`) states the facts, and the policy gives a plan (`tern_policy::send`).
//! 2. The message goes as packets, into a published receive, or as a request to send. `packet.rs` lists all kinds of packets.
//! 3. The peer matches it in order of arrival. Without a receive it is kept, up to a cap ([`Adi::cap_unexpected`]).
//! 4. [`Adi::is_done`] or [`Adi::wait_for`] tell of the end.
//!
//! # Rules
//!
//! - **One thread at a time.** Callers hold the library's lock (`tern_mcm::lock`) whenever they are inside.
//! - **Progress** happens in calls only: [`Adi::progress`] and all that wait. Layers above add work of their own by [`Adi::add_hook`].
//! - **Memory.** Data of a send may be reused, and data of a receive read, when the request is done; not before. No byte of a receive is
//!   written after that.
//! - **Order** of messages of one tuple is MPI's (MPI 5.0 section 3.5), whichever ways they take: docs/parts/tuple-queues.md#order.
//! - **Errors.** A lost process ends all transfers that need it, and their status names it ([`Adi::why_lost`]). A packet that cannot be
//!   right is ignored and told ([`Adi::on_damage`]).

mod asserted;
mod cap;
mod data;
mod matching;
mod packet;
mod parts;
mod places;
mod progress;
mod receiving;
mod segments;
mod slab;
mod state;
mod transfer;
mod tuple;
mod types;

pub use asserted::Assertions;
pub use progress::{Background, Hook, Observer};
pub use types::*;

pub use parts::call::Exchanges;
pub use parts::unexpected::FreeMemory;
pub use places::Places;
pub use state::Clock;
use state::State;
use std::cell::{Cell, RefCell};
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use tern_mcm::{Endpoint, Mcm, Memory, Purpose, Use};
use tern_policy::SharedCoordinator;
pub use tern_policy::{Used, Why};
use transfer::Side;

/// The point-to-point engine of this process.
pub struct Adi {
    mcm: Rc<Mcm>,
    state: RefCell<State>,
    hooks: RefCell<Vec<Hook>>,
    /// Some hook is not idle.
    has_hooks: Cell<bool>,
    /// Looks at everything that have found nothing.
    idle: Cell<u32>,
    /// The processor's clock when the last of them gave others a turn.
    idle_at: Cell<u64>,
    /// Called at some of them.
    on_idle: RefCell<Vec<fn()>>,
    /// Work that only calls do that wait.
    helpers: RefCell<Vec<Hook>>,
    has_helpers: Cell<bool>,
    /// A long send was started by a call that does not wait, and the program has not waited since.
    awaits_send: Cell<bool>,
    observer: RefCell<Option<Observer>>,
}

impl Adi {
    /// An engine over the devices of `mcm`. Messages up to `eager_limit` bytes are sent without
    /// asking; `None` takes what the device of each peer has room for.
    pub fn new(mcm: Rc<Mcm>, eager_limit: Option<usize>) -> Adi {
        Adi::with_clock(mcm, eager_limit, tern_node::clock::nanoseconds)
    }

    /// The same with another clock, which tells nanoseconds and does not go back: for tests.
    pub fn with_clock(mcm: Rc<Mcm>, eager_limit: Option<usize>, clock: Clock) -> Adi {
        let state = RefCell::new(State::new(mcm.clone(), eager_limit, clock));
        let (hooks, helpers, observer) = (RefCell::default(), RefCell::default(), RefCell::default());
        Adi {
            mcm,
            state,
            hooks,
            has_hooks: Cell::new(false),
            idle: Cell::new(0),
            idle_at: Cell::new(0),
            on_idle: RefCell::default(),
            helpers,
            has_helpers: Cell::new(false),
            awaits_send: Cell::new(false),
            observer,
        }
    }

    /// The devices underneath.
    pub fn mcm(&self) -> &Mcm {
        &self.mcm
    }

    /// The coordinator that all trials of this process ask.
    pub fn coordinator(&self) -> SharedCoordinator {
        self.state.borrow().coordinator.clone()
    }

    /// The number of this process.
    pub fn me(&self) -> Proc {
        self.mcm.me()
    }

    /// Starts a send to `to`. `tuple.source` is the sender's own rank in the communicator.
    #[inline]
    pub fn isend(&self, to: Proc, tuple: Tuple, data: Data, mode: SendMode) -> Sent {
        let mut state = self.state.borrow_mut();
        let (waits, long) = (state.call.waits, data.len() >= state.direct_from);
        if long && !waits && state.call.exchanges == Exchanges::Nothing {
            self.awaits_send.set(true);
        }
        state.send(to, tuple, data, mode, waits)
    }

    /// The program waits for a send that is over already: that it comes to wait tells what it does.
    #[inline]
    pub fn wait_for_sent(&self) {
        if self.awaits_send.replace(false) {
            let mut state = self.state.borrow_mut();
            state.wait();
            state.go_on();
        }
    }

    /// Says that the caller starts transfers now and waits for all of them by [`Adi::wait_until`] before
    /// the program goes on.
    #[inline]
    pub fn will_wait(&self) {
        let mut state = self.state.borrow_mut();
        state.call.begin();
        state.starts(true);
        drop(state);
        self.mcm.set_waiting(true);
    }

    /// The same for a call that sends as well as it receives. Its receives from processes of this node are not published: whoever
    /// sends to it most likely waits as well, and then each had better copy its own, from memory that is shared, or out of packets.
    /// Nothing has to be known of where the receives lie.
    pub fn will_exchange(&self) {
        self.will_wait();
        self.state.borrow_mut().call.exchanges = Exchanges::All;
    }

    /// The same for a collective that exchanges so much, whose longest message is so long. All its processes make the same calls.
    pub fn will_wait_together(&self, exchanges: Exchanges, longest: impl FnOnce() -> usize) {
        self.will_wait();
        let mut state = self.state.borrow_mut();
        state.call.exchanges = exchanges;
        if state.may_lend() {
            state.begin_together(longest());
        }
    }

    /// The transfers that are started until what is returned is dropped belong to a collective that goes on beside the program, and exchanges so
    /// much.
    pub fn go_on_together(&self, exchanges: Exchanges) -> impl Drop + '_ {
        struct Together<'a>(&'a Adi, Exchanges);
        impl Drop for Together<'_> {
            fn drop(&mut self) {
                self.0.state.borrow_mut().call.exchanges = self.1;
            }
        }
        let before = std::mem::replace(&mut self.state.borrow_mut().call.exchanges, exchanges);
        Together(self, before)
    }

    /// Where own memory lies in the memory that all processes of this node share, `peer` among them; 0: it is private. Counts
    /// as a use of it in an exchange, by which it may come to be shared.
    pub fn place(&self, peer: Proc, memory: *const u8, len: usize) -> u64 {
        self.locate(peer, Memory::dense(memory, len))
    }

    /// The same of memory of any regular shape.
    pub fn locate(&self, peer: Proc, memory: Memory) -> u64 {
        let Some(direct) = self.mcm.direct() else { return 0 };
        let quiet = self.state.borrow().requests.is_quiet(0);
        direct.locate(peer, memory, Use { purpose: Purpose::Collective, bytes: memory.len, quiet }).place
    }

    /// Where it lay when that was last found out, without asking the kernel.
    pub fn speculative_address(&self, memory: *const u8, len: usize) -> Option<u64> {
        self.mcm.direct()?.speculative_address(&Memory::dense(memory, len)).map(|address| address.place)
    }

    /// Whether it is still there, and was when it was told. Counts as a use, too.
    pub fn is_still_at(&self, place: u64, memory: *const u8, len: usize) -> bool {
        self.mcm.direct().is_some_and(|direct| direct.is_still(&Memory::dense(memory, len), place))
    }

    /// From now on, or no more, others read memory at places that this process has told while the program goes on. Ends as often
    /// as it begins.
    pub fn keep_places(&self, more: bool) {
        self.mcm.direct().inspect(|direct| direct.keep_places(more));
    }

    /// Something has happened, outside this engine, that another thread of this process may wait for by [`Adi::wait_until`].
    pub fn wake_others(&self) {
        self.state.borrow().wake_others();
    }

    /// A number: while it does not change, peers see what this process stores to memory at the place that it has told.
    pub fn demotions(&self) -> u32 {
        self.mcm.direct().map_or(0, |direct| direct.demotions())
    }

    /// Says to `to` that the message of that tuple will not come, since somebody is lost. The receive that would get it is
    /// complete then, its memory untouched, and its status has `word` ([`Status::missing`]).
    pub fn send_missing(&self, to: Proc, tuple: Tuple, word: u32) {
        self.state.borrow_mut().send_missing(to, tuple, word);
    }

    /// True for a receive that is too short to be published.
    #[inline]
    pub fn is_short(&self, data: &Data) -> bool {
        self.state.borrow().is_short(data)
    }

    /// The short path of [`Adi::send`] and [`Adi::isend`]: sends dense bytes at once when that needs no more than a packet. False when it does, and then
    /// nothing has happened.
    #[inline(always)]
    pub fn send_fast(&self, to: Proc, tuple: &Tuple, base: *const u8, len: usize) -> bool {
        self.state.borrow_mut().send_fast(to, tuple, base, len)
    }

    /// From now on the program promises this of its messages and receives in `context`, of which the engine makes use. Messages and receives that are under
    /// way count as started under the new promise.
    pub fn assert(&self, context: u32, assertions: Assertions) {
        self.state.borrow_mut().matching.assert(context, assertions);
    }

    /// Sends and returns when the buffer may be reused; makes progress meanwhile.
    ///
    /// Errors: the receiver, if it has been lost, or [`REVOKED`] where the context has been [ended](Adi::end_context).
    #[inline]
    pub fn send(&self, to: Proc, tuple: Tuple, data: Data, mode: SendMode) -> Result<(), Proc> {
        let sent = self.state.borrow_mut().send(to, tuple, data, mode, true);
        let Sent::Pending(request) = sent else { return Ok(()) };
        self.wait(|| self.is_done(request), &|| Awaited::Transfers(vec![request]));
        self.take(request).aborted().map_or(Ok(()), Err)
    }

    /// True when the request has completed. Makes no progress.
    #[inline]
    pub fn is_done(&self, request: Request) -> bool {
        self.state.borrow().requests.get(request.0).done
    }

    /// The status of a completed request, without freeing it.
    pub fn status(&self, request: Request) -> Status {
        self.state.borrow().requests.get(request.0).status.fresh()
    }

    /// The status of a completed request, which is freed.
    #[inline]
    pub fn take(&self, request: Request) -> Status {
        let mut state = self.state.borrow_mut();
        let status = state.requests.get(request.0).status.fresh();
        state.requests.free(request.0);
        status
    }

    /// Frees the request once it completes (MPI_Request_free). Its name is stale from now on.
    pub fn release(&self, request: Request) {
        self.state.borrow_mut().requests.release(request.0);
    }

    /// The call of this send has succeeded (MPI_Bsend): if its receiver is lost, that is told as of messages that have left.
    pub fn promise(&self, request: Request) {
        self.state.borrow_mut().requests.get_mut(request.0).promised = true;
    }

    /// Gives a request a name, by which [`Adi::named`] finds it until it is freed or released. `owner`
    /// stays alive as long as the transfer.
    #[inline]
    pub fn name(&self, request: Request, owner: Owner) -> Name {
        self.state.borrow_mut().requests.name(request.0, owner)
    }

    /// The request of that name and whether it is a receive; `None` for a name that is stale.
    #[inline]
    pub fn named(&self, name: Name) -> Option<(Request, bool)> {
        let state = self.state.borrow();
        let transfer = state.requests.named(name)?;
        Some((Request(name.index), matches!(transfer.side, Side::Receive { .. })))
    }

    /// What [`Adi::name`] was given for the request.
    pub fn owner(&self, request: Request) -> Option<Owner> {
        self.state.borrow().requests.get(request.0).owner.clone()
    }

    /// Ends a request by its name if it is complete.
    #[inline]
    pub fn end_named(&self, name: Name) -> Ended {
        let mut state = self.state.borrow_mut();
        let Some(transfer) = state.requests.named(name) else { return Ended::Stale };
        if !transfer.done {
            if let Some(status) = state.end_filled_fast(name.index) {
                return Ended::Over(Over::Received(status));
            }
            if !state.take_ended_fast(name.index) {
                return Ended::Pending;
            }
        }
        let transfer = state.requests.get_mut(name.index);
        let status = transfer.status.fresh();
        let receive = matches!(transfer.side, Side::Receive { .. });
        if receive && status.is_whole() {
            state.requests.free(name.index);
            return Ended::Over(Over::Received(status));
        }
        let owner = transfer.owner.take();
        state.requests.free(name.index);
        drop(state);
        if !receive {
            self.wait_for_sent();
        }
        Ended::Over(Over::Otherwise { status, receive, owner })
    }

    /// The short path of [`Adi::end_named`], by a call that waits for several, [and says so](Adi::keep_waiting), for a receive whose message is there or comes next, and has not been
    /// longer than its memory. `None` for everything else, which [`Adi::end_named`] ends.
    #[inline]
    pub fn end_named_fast(&self, name: Name) -> Option<Status> {
        let mut state = self.state.borrow_mut();
        let transfer = state.requests.named(name)?;
        if !matches!(transfer.side, Side::Receive { .. }) || (!transfer.done && !self.wait_fast(&mut state, name.index))
        {
            return None;
        }
        let status = state.requests.get(name.index).status.fresh();
        if !status.is_whole() {
            return None;
        }
        state.requests.free(name.index);
        Some(status)
    }

    /// Tries to cancel. The request completes in any case; its status tells.
    pub fn cancel(&self, request: Request) {
        self.state.borrow_mut().cancel(request.0);
    }

    /// Marks the synchronous sends that start from now on; receives find it in their status. 0 marks
    /// nothing.
    pub fn mark(&self, mark: u32) {
        self.state.borrow_mut().call.mark = mark;
    }

    /// From now on no receive is published, and no message looks for one: marks travel with packets only.
    pub fn use_packets(&self) {
        self.state.borrow_mut().direct_from = usize::MAX;
    }

    /// From now on messages that no receive has asked for take `bytes` bytes here, and then their senders have to ask before
    /// they send more. What is on its way by then comes on top; so does what the process sends to itself.
    pub fn cap_unexpected(&self, bytes: u64) {
        self.state.borrow_mut().unexpected.set_cap(bytes, None);
    }

    /// As [`Adi::cap_unexpected`]; the cap doubles when it is reached and `free` tells as many bytes.
    pub fn cap_unexpected_by(&self, bytes: u64, free: FreeMemory) {
        self.state.borrow_mut().unexpected.set_cap(bytes, Some(free));
    }

    /// From now on it is noted which ways are taken, and why.
    pub fn note_ways(&self) {
        self.state.borrow_mut().used = Some(Box::default());
    }

    /// The ways that were noted. `None`: nothing was noted.
    pub fn noted_ways(&self) -> Option<Box<Used>> {
        self.state.borrow_mut().used.take()
    }

    /// Notes a way of a layer above, where ways are noted: see [`Used::note`].
    pub fn note_way(&self, operation: &str, peers: &str, len: usize, way: &str, reason: &str) {
        if let Some(used) = &mut self.state.borrow_mut().used {
            used.note(operation, peers, len, way, reason);
        }
    }

    /// Whether ways are noted.
    pub fn notes_ways(&self) -> bool {
        self.state.borrow().used.is_some()
    }

    /// Notes how a layer above has moved bytes between this process and `peer`, where ways are noted. `why` is told the mechanism by which the
    /// device has moved them, if it has.
    pub fn note_transfer(
        &self, operation: &str, peer: Proc, len: usize, way: &str, why: impl FnOnce(&'static str) -> Why,
    ) {
        let mut state = self.state.borrow_mut();
        let why = why(state.mechanism(peer));
        state.note_used(operation, peer, len, way, why);
    }

    /// Long messages to other nodes travel in this way from now on, where they can.
    pub fn use_rendezvous(&self, way: Rendezvous) {
        self.state.borrow_mut().rendezvous.way = way;
    }

    /// From now on it is known which processes take part in a context: a receive with a wildcard for its source
    /// fails when one of them is lost.
    pub fn know_members(&self, members: Members) {
        self.state.borrow_mut().loss.know_members(members);
    }

    /// From now on `told` hears of packets that cannot be right, which are ignored then. It should end the job: what else their senders
    /// have said may be wrong as well. Until this is called such a packet is a panic.
    pub fn on_damage(&self, told: impl Fn(&Damaged) + 'static) {
        self.state.borrow_mut().on_damage = Box::new(told);
    }

    /// From now on `told` hears of processes that are lost, with the reason, where messages had left for them by calls that have succeeded
    /// and will not arrive. It may end the job, or says in which contexts receives fail for that: those that nothing has come for, or
    /// else the next one. It is called while the engine is borrowed.
    pub fn on_undeliverable(&self, told: impl Fn(Proc, &str) -> Concerned + 'static) {
        self.state.borrow_mut().on_undeliverable = Box::new(told);
    }

    /// The process for which messages had left that will not arrive, if no call has failed for that. The caller makes its call fail.
    pub fn take_undeliverable(&self) -> Option<Proc> {
        let loss = &mut self.state.borrow_mut().loss;
        loss.untold().inspect(|&peer| loss.told(peer))
    }

    /// From now on the job goes on without processes that are lost: receives with a wildcard are [interrupted](Adi::is_interrupted) and do not
    /// fail, and messages that have left and will not arrive concern nobody.
    pub fn survive(&self) {
        self.state.borrow_mut().loss.survives = true;
    }

    /// From now on `told` hears when a [notice](Adi::take_notice) has come or a process is lost. It is called while the engine is borrowed.
    pub fn on_notice(&self, told: impl Fn() + 'static) {
        self.state.borrow_mut().on_notice = Box::new(told);
    }

    /// The processes that are lost, in the order in which that was learned.
    pub fn lost(&self) -> Vec<Proc> {
        self.state.borrow().loss.all().to_vec()
    }

    /// The same without the first `known` of them.
    pub fn lost_since(&self, known: usize) -> Vec<Proc> {
        self.state.borrow().loss.all()[known..].to_vec()
    }

    /// Another process has lost `peer`, which is lost for this one, too.
    pub fn declare_lost(&self, peer: Proc, why: &str) {
        self.state.borrow_mut().lose(peer, why);
    }

    /// Whether a receive with a wildcard waits although a process is lost that might have answered it. A message may come for it still, and its
    /// caller may ask again once [`Adi::know_members`] says that the lost one does not matter.
    #[inline]
    pub fn is_interrupted(&self, request: Request) -> bool {
        let state = self.state.borrow();
        state.loss.survives && !state.loss.is_none() && state.is_interrupted(request.0)
    }

    /// Ends a receive without its message if it is such a one; its status names who is lost.
    #[inline]
    pub fn end_interrupted(&self, request: Request) {
        let mut state = self.state.borrow_mut();
        if state.loss.survives && !state.loss.is_none() {
            state.end_interrupted(request.0);
        }
    }

    /// Ends `context`: the status of receives that no message has matched, now and from now on, and of sends that are under way says that [`REVOKED`]
    /// is lost. A send ends once its receiver has got the message, or has looked and given it up. Messages without a receive are thrown away.
    pub fn end_context(&self, context: u32) {
        self.state.borrow_mut().end_context(context);
    }

    /// Sends a notice, which is not empty; what is sent to a process that is lost vanishes.
    pub fn send_notice(&self, to: Proc, bytes: &[u8]) {
        self.state.borrow_mut().send_notice(to, bytes);
    }

    /// The oldest notice that has come, and who has sent it.
    pub fn take_notice(&self) -> Option<(Proc, Box<[u8]>)> {
        self.state.borrow_mut().notices.take()
    }

    /// Reports what a layer above has got in a message and cannot be right, as [`Adi::on_damage`] has said.
    #[cold]
    pub fn report_damaged(&self, damaged: &Damaged) {
        (self.state.borrow().on_damage)(damaged);
    }

    /// Why `peer` cannot be reached any more; `None` when it can, as far as is known.
    pub fn why_lost(&self, peer: Proc) -> Option<String> {
        self.state.borrow().loss.why(peer).map(str::to_string)
    }

    /// The lost process without which a receive in `context` may never get a message: `from`, or any that takes
    /// part if that is [`UNKNOWN`].
    pub fn lost_for(&self, from: Proc, context: u32) -> Option<Proc> {
        let loss = &mut self.state.borrow_mut().loss;
        loss.hits(from, context).inspect(|&peer| loss.told(peer))
    }

    /// The names of all transfers that have one.
    pub fn names(&self) -> Vec<Name> {
        self.state.borrow().requests.names()
    }

    /// Everything that is under way in this process: receives and messages by age.
    pub fn pending(&self) -> Vec<Pending> {
        self.state.borrow().pending()
    }

    /// Comes to know processes of other jobs: see [`Mcm::connect`]. Returns the first one's number.
    ///
    /// Errors: the memory that is shared with them cannot be sized or mapped.
    pub fn connect(
        &self, file: BorrowedFd<'_>, offset: u64, me: u32, processes: u32, newcomers: &[u32],
    ) -> std::io::Result<Proc> {
        let mut state = self.state.borrow_mut();
        let first = self.mcm.connect(file, offset, me, processes, newcomers)?;
        state.grow();
        Ok(first)
    }

    /// The same for processes of which some are on other machines: see [`Mcm::connect_far`].
    ///
    /// Errors: an address is something else; no descriptor or thread is left.
    pub fn connect_far(&self, endpoint: Endpoint, addresses: &[Vec<u8>], newcomers: &[u32]) -> std::io::Result<Proc> {
        let mut state = self.state.borrow_mut();
        let first = self.mcm.connect_far(endpoint, addresses, newcomers)?;
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
        self.state.borrow().requests.iter().any(|transfer| !transfer.done && transfer.owner.as_ref().is_some_and(owns))
    }

    /// True when nothing waits to be sent to these processes.
    pub fn is_flushed_to(&self, peers: std::ops::Range<Proc>) -> bool {
        self.state.borrow().stream.is_flushed_to(&peers)
    }

    /// True when nothing waits to be sent.
    #[inline]
    pub fn is_flushed(&self) -> bool {
        self.state.borrow().stream.is_flushed()
    }

    /// Messages that wait for a receive: how many, and the bytes kept here for them.
    pub fn unexpected(&self) -> (usize, usize) {
        self.state.borrow().unexpected.amount()
    }
}
