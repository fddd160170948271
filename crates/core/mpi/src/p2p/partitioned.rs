//! Partitioned communication (MPI 5.0 chapter 4), in its simplest correct form: the partitions of
//! a round travel as one message once the last of them is ready, so all arrive together. The two
//! sides may cut the data into different partitions.
//!
//! Sends and receives are matched when they are initialised, in the order of their
//! initialisation for each peer and tag, and stay matched for all rounds. So a sender chooses a
//! channel, a tag of its own, and announces it; the receiver learns it before its first round.

use crate::advice::HUGE;
use crate::args::{Counts, Out, RawStatus};
use crate::awaits::Awaiting;
use crate::check::partition::Partitions;
use crate::check::{self, race};
use crate::constants::*;
use crate::context::channel_tag;
use crate::error::{Error, Result};
use crate::identity;
use crate::objects::channels::Key;
use crate::objects::{Comm, Datatype, Info};
use crate::p2p;
use crate::request::freeing::Freeing;
use crate::request::persistent::{Persistent, named};
use crate::request::{About, Outcome, Request, Work, lookup, transfer_outcome};
use crate::runtime::{adi, runtime};
use crate::scope::Scope;
use crate::task::{self, until};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use tern_adi::{Data, Message, Pattern, Proc, SendMode, Sent, Tuple};

/// The channel that carries announcements.
const ANNOUNCEMENTS: u32 = 0;

fn count(counts: &RefCell<HashMap<(Proc, i32), u32>>, peer: Proc, tag: i32) -> u32 {
    let mut counts = counts.borrow_mut();
    let next = counts.entry((peer, tag)).or_insert(0);
    *next += 1;
    *next - 1
}

/// An announcement. The epoch tells this communicator from earlier ones with the same context.
struct Announcement {
    epoch: u32,
    tag: i32,
    number: u32,
    channel: u32,
}

const LENGTH: usize = 16;

impl Announcement {
    fn to_bytes(&self) -> [u8; LENGTH] {
        let words = [self.epoch, self.tag as u32, self.number, self.channel];
        std::array::from_fn(|i| words[i / 4].to_ne_bytes()[i % 4])
    }

    fn from_bytes(bytes: &[u8; LENGTH]) -> Announcement {
        let word = |i: usize| u32::from_ne_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]);
        Announcement { epoch: word(0), tag: word(1) as i32, number: word(2), channel: word(3) }
    }
}

/// One side of a partitioned operation.
pub enum Partitioned {
    Send(Rc<Sender>),
    Receive(Rc<Receiver>),
}

/// The sending side.
pub struct Sender {
    comm: Rc<Comm>,
    /// Nothing for MPI_PROC_NULL.
    to: Option<(Proc, u32)>,
    data: Data,
    memory: Partitions,
    ready: RefCell<Vec<bool>>,
    /// Partitions that are not ready yet in this round.
    missing: Cell<usize>,
    /// The message of this round.
    message: RefCell<Option<Sent>>,
}

/// The receiving side.
pub struct Receiver {
    comm: Rc<Comm>,
    /// Nothing for MPI_PROC_NULL.
    from: Option<Key>,
    /// Source and tag for statuses.
    source: i32,
    tag: i32,
    channel: Cell<Option<u32>>,
    data: Data,
    partitions: usize,
    memory: Partitions,
    /// Where the round receives, if that is not the program's memory.
    into: RefCell<Option<Data>>,
}

fn tuple(comm: &Comm, to: Proc, channel: u32) -> Tuple {
    Tuple { context: comm.peers.context, source: identity::source(runtime().me, to), tag: channel_tag(channel) }
}

fn pattern(comm: &Comm, from: Proc, channel: u32) -> Pattern {
    Pattern { context: comm.peers.context, source: identity::source(from, runtime().me), tag: channel_tag(channel) }
}

impl Sender {
    /// Begins a round, in which no partition is ready.
    fn start(&self) {
        self.ready.borrow_mut().fill(false);
        self.missing.set(self.ready.borrow().len());
        self.send_if_ready();
    }

    /// Marks a partition as ready; the last one lets the message go.
    fn mark(&self, partition: i64) -> Result<()> {
        let mut ready = self.ready.borrow_mut();
        let count = ready.len();
        let number = usize::try_from(partition).ok().filter(|number| *number < count);
        match number.map(|number| (number, &mut ready[number])) {
            None => return err!(MPI_ERR_ARG, "partition {partition} was named; there are {count}, counted from 0"),
            Some((_, true)) => return err!(MPI_ERR_ARG, "partition {partition} is ready already in this round"),
            Some((number, ready)) => {
                self.memory.ready(number)?;
                *ready = true;
            }
        }
        drop(ready);
        self.missing.set(self.missing.get() - 1);
        self.send_if_ready();
        Ok(())
    }

    fn send_if_ready(&self) {
        if self.missing.get() > 0 {
            return;
        }
        let sent = match self.to {
            Some((to, channel)) => {
                let mode = check::mode(SendMode::Standard);
                let send = || adi().isend(to, tuple(&self.comm, to, channel), self.data.clone(), mode);
                check::marked(self.memory.elements(), &self.memory.datatype, send)
            }
            None => Sent::Done,
        };
        *self.message.borrow_mut() = Some(sent);
        adi().wake_others();
    }

    fn is_done(&self) -> bool {
        match *self.message.borrow() {
            None => false,
            Some(Sent::Done) => true,
            Some(Sent::Pending(request)) => adi().is_done(request),
        }
    }

    fn finish(&self) -> Outcome {
        let mut outcome = match self.message.borrow_mut().take() {
            // The receiver may be lost.
            Some(Sent::Pending(request)) => transfer_outcome(adi().take(request), false),
            _ => Outcome::success(RawStatus::empty()),
        };
        outcome.error = outcome.error.or(self.memory.sent());
        outcome
    }
}

/// What the look for a channel finds.
enum Found {
    Channel(u32),
    Announcement(Message),
    Lost(Box<Error>),
}

/// Why nothing will come from `peer` on `comm`.
fn lost(comm: &Comm, peer: Proc) -> Option<Found> {
    let lost = || adi().why_lost(peer).map(|_| crate::lost::error(peer));
    comm.check_revoked().err().or_else(lost).map(Found::Lost)
}

impl Receiver {
    /// Waits for the channel of the matching send; takes announcements meanwhile.
    ///
    /// Errors: the sender is lost, and has announced nothing before.
    async fn find(&self, key: Key) -> Result<u32> {
        let announced = &self.comm.channels.announced;
        loop {
            let pattern = pattern(&self.comm, key.0, ANNOUNCEMENTS);
            let attempt = || match announced.borrow_mut().remove(&key) {
                Some(channel) => Some(Found::Channel(channel)),
                None => adi().matched_probe(pattern).map(Found::Announcement).or_else(|| lost(&self.comm, key.0)),
            };
            let awaiting = Awaiting::new(self.comm.context, key.0);
            let found = until(attempt).await;
            drop(awaiting);
            let message = match found {
                Found::Channel(channel) => return Ok(channel),
                Found::Announcement(message) => message,
                Found::Lost(error) => return Err(error),
            };
            let mut bytes = [0; LENGTH];
            let request = adi().imrecv(message, Data::Bytes(bytes.as_mut_ptr(), LENGTH));
            until(|| adi().is_done(request).then_some(())).await;
            adi().take(request);
            let said = Announcement::from_bytes(&bytes);
            if said.epoch == self.comm.id.epoch() {
                announced.borrow_mut().insert((key.0, said.tag, said.number), said.channel);
            }
        }
    }

    /// One round: all of the data.
    async fn round(self: Rc<Self>) -> Result<tern_adi::Status> {
        let Some(key) = self.from else {
            return Ok(tern_adi::Status::default());
        };
        let channel = match self.channel.get() {
            Some(channel) => channel,
            None => self.find(key).await?,
        };
        self.channel.set(Some(channel));
        let into = self.into.borrow().clone().unwrap_or_else(|| self.data.clone());
        let request = adi().irecv(key.0, pattern(&self.comm, key.0, channel), into);
        until(|| adi().is_done(request).then_some(())).await;
        Ok(adi().take(request))
    }

    fn outcome(&self, ended: Result<tern_adi::Status>) -> Outcome {
        match ended {
            _ if self.from.is_none() => Outcome::success(p2p::null_status()),
            Ok(status) => {
                let status = tern_adi::Status { source: self.source, tag: self.tag, ..status };
                let posted = check::is_on().then(|| race::posted(None));
                let mut outcome = check::received(status, posted, self.memory.elements(), &self.memory.datatype);
                let wrong = self.memory.received(&status);
                outcome.error = outcome.error.or(wrong);
                outcome
            }
            Err(error) => {
                self.memory.give_up();
                Outcome { status: RawStatus::empty(), error: Some(error) }
            }
        }
    }
}

/// All partitions of a buffer: `partitions` times `count` elements.
fn whole(buf: *const u8, partitions: i32, count: i64, datatype: &Datatype) -> Result<Data> {
    if partitions < 0 {
        return err!(MPI_ERR_ARG, "the number of partitions is {partitions}: it must not be negative");
    }
    let elements = count.checked_mul(partitions as i64);
    let Some(elements) = elements.filter(|&elements| datatype.layout.pack_size(elements).is_some()) else {
        return err!(
            MPI_ERR_COUNT,
            try HUGE,
            "{partitions} partitions of {count} elements are more bytes than 63 bits hold"
        );
    };
    Ok(p2p::data(buf, elements, datatype))
}

/// A request that begins a round of `work` at each start.
fn request(comm: &Rc<Comm>, partitioned: Partitioned, start: impl Fn() -> Result<Request> + 'static) -> usize {
    let mut persistent = Persistent::new(comm, start);
    persistent.kept = Some(Rc::new(partitioned));
    persistent.into_handle()
}

/// The request of one round. It cannot be cancelled (section 4.2.2).
fn round(comm: &Rc<Comm>, done: impl Fn() -> bool + 'static, finish: impl Fn() -> Outcome + 'static) -> Request {
    Request::Work(Rc::new(Work {
        scope: Scope::of(comm.clone()),
        done: Box::new(done),
        finish: Box::new(finish),
        ended: RefCell::default(),
        cancel: None,
        about: About { freeing: Freeing::Complete, ..About::default() },
    }))
}

/// MPI_Psend_init (section 4.2.1). No hint changes anything.
#[allow(clippy::too_many_arguments)]
pub fn psend_init(
    buf: *const u8, partitions: i32, count: i64, datatype: Rc<Datatype>, dest: i32, tag: i32, comm: Rc<Comm>,
    _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    let data = whole(buf, partitions, count, &datatype)?;
    let to = (dest != MPI_PROC_NULL).then(|| announce(&comm, comm.target().procs[dest as usize], tag));
    let sender = Rc::new(Sender {
        comm: comm.clone(),
        to,
        data,
        memory: Partitions::new(buf, partitions as usize, count, datatype),
        ready: RefCell::new(vec![false; partitions as usize]),
        missing: Cell::new(0),
        message: RefCell::new(None),
    });
    let started = sender.clone();
    let start = move || {
        started.start();
        let (looks, ends) = (started.clone(), started.clone());
        Ok(round(&started.comm, move || looks.is_done(), move || ends.finish()))
    };
    request.set(self::request(&comm, Partitioned::Send(sender), start));
    Ok(())
}

/// Chooses a channel for a send to process `to`, and tells it.
fn announce(comm: &Comm, to: Proc, tag: i32) -> (Proc, u32) {
    let channels = &comm.channels;
    channels.chosen.set(channels.chosen.get() + 1);
    let channel = channels.chosen.get();
    let number = count(&channels.sends, to, tag);
    let bytes = Announcement { epoch: comm.id.epoch(), tag, number, channel }.to_bytes();
    let tuple = tuple(comm, to, ANNOUNCEMENTS);
    task::start(async move {
        let mut bytes = bytes;
        let data = Data::Bytes(bytes.as_mut_ptr(), LENGTH);
        if let Sent::Pending(request) = adi().isend(to, tuple, data, SendMode::Standard) {
            until(|| adi().is_done(request).then_some(())).await;
            adi().take(request);
        }
        Ok(())
    });
    (to, channel)
}

/// MPI_Precv_init (section 4.2.1). Wildcards are not allowed.
#[allow(clippy::too_many_arguments)]
pub fn precv_init(
    buf: *mut u8, partitions: i32, count: i64, datatype: Rc<Datatype>, source: i32, tag: i32, comm: Rc<Comm>,
    _info: Option<Rc<Info>>, request: Out<usize>,
) -> Result<()> {
    if source == MPI_ANY_SOURCE {
        return err!(MPI_ERR_RANK, try "give the rank of the sender", "a partitioned receive takes no MPI_ANY_SOURCE");
    }
    if tag == MPI_ANY_TAG {
        return err!(MPI_ERR_TAG, try "give the tag of the send", "a partitioned receive takes no MPI_ANY_TAG");
    }
    let data = whole(buf, partitions, count, &datatype)?;
    let from = (source != MPI_PROC_NULL).then(|| {
        let from = comm.target().procs[source as usize];
        (from, tag, self::count(&comm.channels.receives, from, tag))
    });
    let channel = Cell::new(None);
    let partitions = partitions as usize;
    let memory = Partitions::new(buf, if from.is_some() { partitions } else { 0 }, count, datatype);
    let into = RefCell::new(None);
    let receiver = Rc::new(Receiver { comm: comm.clone(), from, source, tag, channel, data, partitions, memory, into });
    let started = receiver.clone();
    let start = move || {
        started.into.replace(started.memory.begin()?);
        let task = task::start(started.clone().round());
        let (looks, of) = (task.clone(), started.clone());
        let finish = move || of.outcome(task.take().expect("the round is over"));
        Ok(round(&started.comm, move || looks.is_done(), finish))
    };
    request.set(self::request(&comm, Partitioned::Receive(receiver), start));
    Ok(())
}

/// What a request does with partitions, if it is of chapter 4.
fn of(persistent: &Persistent) -> Option<&Partitioned> {
    persistent.kept.as_ref()?.downcast_ref()
}

/// The active partitioned send that `handle` names, or MPI_ERR_REQUEST.
fn active_send(handle: usize) -> Result<Rc<Sender>> {
    if let Some(Request::Persistent(persistent)) = lookup(handle)?
        && let Some(Partitioned::Send(sender)) = of(&persistent)
    {
        if persistent.active.borrow().is_none() {
            return err!(MPI_ERR_REQUEST, try "", "the partitioned send is not active: call MPI_Start first");
        }
        return Ok(sender.clone());
    }
    err!(MPI_ERR_REQUEST, try "use a request of MPI_Psend_init", "{} is not a partitioned send", named(handle))
}

/// MPI_Pready (section 4.2.2).
pub fn pready(partition: i32, request: usize) -> Result<()> {
    active_send(request)?.mark(partition as i64)
}

/// MPI_Pready_range (section 4.2.2): from `partition_low` to `partition_high`, both included.
pub fn pready_range(partition_low: i32, partition_high: i32, request: usize) -> Result<()> {
    let sender = active_send(request)?;
    if partition_low > partition_high {
        return err!(MPI_ERR_ARG, "partitions {partition_low} to {partition_high} are none");
    }
    (partition_low..=partition_high).try_for_each(|partition| sender.mark(partition as i64))
}

/// MPI_Pready_list (section 4.2.2).
pub fn pready_list(length: i32, array_of_partitions: Counts, request: usize) -> Result<()> {
    let sender = active_send(request)?;
    (0..length as usize).try_for_each(|i| sender.mark(array_of_partitions.get(i)))
}

/// MPI_Parrived (section 4.2.2): true for a request that is null or not active.
pub fn parrived(request: usize, partition: i32, flag: Out<i32>) -> Result<()> {
    let Some(found) = lookup(request)? else {
        flag.set(1);
        return Ok(());
    };
    let Request::Persistent(persistent) = &found else {
        return err!(
            MPI_ERR_REQUEST,
            try "use a request of MPI_Precv_init",
            "{} is not a partitioned receive",
            named(request)
        );
    };
    let Some(Partitioned::Receive(receiver)) = of(persistent) else {
        return err!(
            MPI_ERR_REQUEST,
            try "use a request of MPI_Precv_init",
            "{} is not a partitioned receive",
            named(request)
        );
    };
    let count = receiver.partitions;
    if usize::try_from(partition).ok().is_none_or(|partition| partition >= count) {
        return err!(MPI_ERR_ARG, "partition {partition} was asked for; there are {count}, counted from 0");
    }
    if !found.is_done() {
        adi().look();
    }
    let arrived = found.is_done();
    if arrived {
        receiver.memory.land(partition as usize);
    }
    flag.set(arrived as i32);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_survives_its_journey() {
        let sent = Announcement { epoch: 7, tag: i32::MAX, number: 3, channel: 1 << 20 };
        let got = Announcement::from_bytes(&sent.to_bytes());
        assert_eq!((got.epoch, got.tag, got.number, got.channel), (7, i32::MAX, 3, 1 << 20));
    }

    #[test]
    fn operations_are_counted_for_each_peer_and_tag() {
        let counts = RefCell::default();
        assert_eq!(
            [count(&counts, 1, 5), count(&counts, 1, 5), count(&counts, 2, 5), count(&counts, 1, 6)],
            [0, 1, 0, 0]
        );
    }
}
