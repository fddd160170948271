//! A network of processes inside one thread. Messages between two processes stay in order; all
//! else happens in an order that the seed decides. Some sends are buffered, some complete at
//! once, some wait for their receive and read the sender's memory only when it is matched, so a
//! schedule that relies on buffering or reuses memory too early fails.
//!
//! Connections may break, and a process may die: what has come stays, and what is under way ends as `tern_adi` says.

use super::Random;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use tern_adi::{Data, Pattern, Proc, Status, Tuple};
use tern_coll::{Failure, Operation, Peers, Schedule, Selection, TOLD, Told, Transport};
use tern_mcm::Direction;

/// Reads the bytes that `data` describes.
fn read(data: &Data) -> Vec<u8> {
    let mut out = vec![0; data.len()];
    // SAFETY: tests keep their buffers until the collective is over.
    unsafe {
        match data {
            Data::Bytes(_, 0) => {}
            Data::Bytes(at, len) => out.copy_from_slice(std::slice::from_raw_parts(*at, *len)),
            Data::Typed { base, count, ty } => {
                ty.pack(*base, *count, 0, &mut out);
            }
        }
    }
    out
}

fn write(data: &Data, bytes: &[u8]) {
    // SAFETY: as in `read`.
    unsafe {
        match data {
            Data::Bytes(at, _) if !bytes.is_empty() => {
                std::slice::from_raw_parts_mut(*at, bytes.len()).copy_from_slice(bytes)
            }
            Data::Bytes(..) => {}
            Data::Typed { base, count, ty } => {
                ty.unpack(*base, *count, 0, bytes);
            }
        }
    }
}

/// What a message holds: its bytes, or where they will be read when it is matched.
enum Payload {
    Copied(Vec<u8>),
    Live(Data),
    /// Nothing: a word in place of the bytes.
    Missing(u32),
}

struct Message {
    from: usize,
    tuple: Tuple,
    payload: Payload,
    send: Option<usize>,
    /// The sender's round.
    round: usize,
}

struct Posted {
    at: usize,
    from: usize,
    pattern: Pattern,
    data: Data,
    request: usize,
    round: usize,
}

/// A matched message whose bytes have not moved yet.
struct Transfer {
    message: Message,
    receive: Posted,
}

#[derive(Default)]
struct Mailbox {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Message>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    Done(Status),
    Taken,
}

/// A connection that breaks when so many messages have been sent in all.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub pair: (usize, usize),
    pub after: usize,
}

/// What goes wrong. A process that dies does nothing from then on, and its connections are among the cuts.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    pub cuts: Vec<Cut>,
    pub dies: Option<(usize, usize)>,
}

impl Losses {
    pub fn lost(&self, a: usize, b: usize) -> bool {
        self.cuts.iter().any(|cut| cut.pair == (a, b) || cut.pair == (b, a))
    }
}

struct Inner {
    random: Random,
    /// What is still to go wrong, and the pairs that cannot reach each other any more.
    losses: Losses,
    broken: Vec<(usize, usize)>,
    mailboxes: Vec<Mailbox>,
    /// Messages on their way, by sender and receiver.
    wires: Vec<Vec<VecDeque<Message>>>,
    transfers: Vec<Transfer>,
    /// Buffered sends that are not complete yet.
    buffered: Vec<usize>,
    requests: Vec<State>,
    /// Counts everything that happens, to notice a standstill.
    activity: usize,
    messages: usize,
    /// The round of each process.
    rounds: Vec<usize>,
    /// Regions: of whom, for whom, what and how it is copied. None where they have ended.
    declared: Vec<Option<(usize, usize, Data, Direction)>>,
    /// Bytes that were copied from or to them.
    copied: usize,
    /// Members may disagree about lengths.
    disagree: bool,
}

pub struct Network {
    inner: RefCell<Inner>,
    procs: usize,
}

/// A process's access to the network.
pub struct Port<'a> {
    network: &'a Network,
    me: usize,
}

impl Network {
    pub fn new(procs: usize, seed: u64) -> Network {
        Network::with_losses(procs, seed, Losses::default())
    }

    pub fn with_losses(procs: usize, seed: u64, losses: Losses) -> Network {
        let wires = || (0..procs).map(|_| VecDeque::new()).collect();
        Network {
            procs,
            inner: RefCell::new(Inner {
                random: Random::new(seed),
                losses,
                broken: Vec::new(),
                mailboxes: (0..procs).map(|_| Mailbox::default()).collect(),
                wires: (0..procs).map(|_| wires()).collect(),
                transfers: Vec::new(),
                buffered: Vec::new(),
                requests: Vec::new(),
                activity: 0,
                messages: 0,
                rounds: vec![0; procs],
                declared: Vec::new(),
                copied: 0,
                disagree: false,
            }),
        }
    }

    /// Lets members disagree about lengths.
    pub fn disagreeing(procs: usize, seed: u64) -> Network {
        let network = Network::new(procs, seed);
        network.inner.borrow_mut().disagree = true;
        network
    }

    pub fn port(&self, me: usize) -> Port<'_> {
        Port { network: self, me }
    }

    /// How many messages were sent so far.
    pub fn messages(&self) -> usize {
        self.inner.borrow().messages
    }

    /// Lets one random thing happen; false when nothing is under way.
    fn step(&self) -> bool {
        self.inner.borrow_mut().step()
    }

    /// Advances the operations (process and operation) in random order until all are done.
    /// Panics when they stand still, or when messages or receives are left over.
    pub fn run(&self, operations: &[(usize, &Operation<usize>)]) {
        self.run_rounds(operations, 1);
    }

    /// The same of so many rounds: each member starts the next one when it is through with one, and does not wait for the others.
    /// Returns the failures of all rounds but the last one.
    pub fn run_rounds(&self, operations: &[(usize, &Operation<usize>)], rounds: usize) -> Vec<Failure> {
        let mut failures = Vec::new();
        let mut left = vec![rounds - 1; operations.len()];
        // True when that member is through with its rounds.
        let mut go_on = |i: usize| {
            let (proc, operation) = operations[i];
            let done = self.is_dead(proc) || operation.advance(&self.port(proc));
            if !done || left[i] == 0 || self.is_dead(proc) {
                return done;
            }
            left[i] -= 1;
            failures.extend(operation.failure());
            operation.start();
            let mut inner = self.inner.borrow_mut();
            inner.rounds[proc] += 1;
            inner.activity += 1;
            false
        };
        let mut last = usize::MAX;
        loop {
            for _ in 0..operations.len() {
                let i = self.inner.borrow_mut().random.below(operations.len());
                go_on(i);
                self.inner.borrow_mut().lose_due();
                self.step();
            }
            let activity = self.inner.borrow().activity;
            if operations.iter().all(|(proc, o)| o.is_done() || self.is_dead(*proc))
                && (0..operations.len()).all(&mut go_on)
            {
                break;
            }
            if activity == last && !self.step() && !self.inner.borrow_mut().lose_next() {
                let waits = (0..operations.len()).filter(|&i| !go_on(i));
                let stuck: Vec<usize> = waits.map(|i| operations[i].0).collect();
                let now = self.inner.borrow().activity;
                assert!(now != activity || stuck.is_empty(), "deadlock: processes {stuck:?} wait");
            }
            last = activity;
        }
        while self.step() {}
        self.check_clean();
        failures
    }

    pub fn is_dead(&self, proc: usize) -> bool {
        let inner = self.inner.borrow();
        inner.losses.dies.is_some_and(|(dead, after)| dead == proc && inner.messages >= after)
    }

    fn check_clean(&self) {
        let inner = self.inner.borrow();
        for (proc, mailbox) in inner.mailboxes.iter().enumerate().filter(|(proc, _)| !self.is_dead(*proc)) {
            assert!(mailbox.posted.is_empty(), "receives left at process {proc}");
            // Who gives a short block does not look for the region that the other side has told.
            let is_told = |message: &Message| matches!(&message.payload, Payload::Copied(bytes) if bytes.len() == TOLD);
            let may_stay = |message: &Message| inner.disagree && is_told(message);
            assert!(mailbox.unexpected.iter().all(may_stay), "messages left at process {proc}");
        }
        let open = inner.requests.iter().filter(|r| **r != State::Taken).count();
        assert!(open == 0 || inner.losses.dies.is_some(), "requests that nobody took");
        let declared = inner.declared.iter().flatten().count();
        assert!(declared == 0 || inner.losses.dies.is_some(), "regions that were not ended");
    }
}

impl Inner {
    fn is_broken(&self, a: usize, b: usize) -> bool {
        self.broken.contains(&(a, b)) || self.broken.contains(&(b, a))
    }

    /// Breaks the connections whose time has come.
    fn lose_due(&mut self) {
        while let Some(at) = self.losses.cuts.iter().position(|cut| cut.after <= self.messages) {
            let Cut { pair: (a, b), .. } = self.losses.cuts.swap_remove(at);
            self.lose(a, b);
        }
    }

    /// Breaks one before its time, since nothing else happens; a process that was to die does so too.
    fn lose_next(&mut self) -> bool {
        if let Some((_, after)) = &mut self.losses.dies
            && *after > self.messages
        {
            *after = self.messages;
            return true;
        }
        let next = self.losses.cuts.pop();
        if let Some(Cut { pair: (a, b), .. }) = next {
            self.lose(a, b);
        }
        next.is_some()
    }

    /// The two cannot reach each other any more. Of what was on its way, the first part arrives.
    fn lose(&mut self, a: usize, b: usize) {
        self.activity += 1;
        for (from, to) in [(a, b), (b, a)] {
            let arrive = self.random.below(self.wires[from][to].len() + 1);
            (0..arrive).for_each(|_| _ = self.deliver_from(from, to));
            while let Some(message) = self.wires[from][to].pop_front() {
                self.fail(message.send, to);
            }
            let mailbox = &mut self.mailboxes[to];
            // What comes behind a message that never comes whole does not come either.
            let mut cut_off = false;
            let is_cut_off = |message: &Message| {
                cut_off |= message.from == from && matches!(message.payload, Payload::Live(_));
                message.from == from && cut_off
            };
            let (gone, kept) = std::mem::take(&mut mailbox.unexpected).into_iter().partition(is_cut_off);
            mailbox.unexpected = kept;
            let needs = |posted: &Posted| posted.from == from;
            let (ended, open): (VecDeque<_>, _) = std::mem::take(&mut mailbox.posted).into_iter().partition(needs);
            mailbox.posted = open;
            let gone: VecDeque<Message> = gone;
            gone.into_iter().for_each(|message| self.fail(message.send, to));
            ended.into_iter().for_each(|posted| self.fail(Some(posted.request), from));
            let under_way = |transfer: &Transfer| transfer.message.from == from && transfer.receive.at == to;
            let (ended, others): (Vec<_>, _) = std::mem::take(&mut self.transfers).into_iter().partition(under_way);
            self.transfers = others;
            for Transfer { message, receive } in ended {
                self.fail(message.send, to);
                self.fail(Some(receive.request), from);
            }
        }
        self.broken.push((a, b));
    }

    /// Ends a request because of `peer`, if it is open.
    fn fail(&mut self, request: Option<usize>, peer: usize) {
        let open = |request: &usize| self.requests[*request] == State::Open;
        if let Some(request) = request.filter(open) {
            self.requests[request] = State::Done(Status::without(peer as Proc, 0, 0));
        }
    }

    fn step(&mut self) -> bool {
        let choice = self.random.below(3);
        for attempt in 0..3 {
            let moved = match (choice + attempt) % 3 {
                0 => self.deliver(),
                1 => self.complete_transfer(),
                _ => self.complete_buffered(),
            };
            if moved {
                self.activity += 1;
                return true;
            }
        }
        false
    }

    fn request(&mut self) -> usize {
        self.requests.push(State::Open);
        self.requests.len() - 1
    }

    /// Takes the first message from a random wire to its receiver.
    fn deliver(&mut self) -> bool {
        let n = self.wires.len();
        let start = self.random.below(n * n);
        for i in 0..n * n {
            let (from, to) = ((start + i) % (n * n) / n, (start + i) % n);
            if self.deliver_from(from, to) {
                return true;
            }
        }
        false
    }

    fn deliver_from(&mut self, from: usize, to: usize) -> bool {
        let Some(message) = self.wires[from][to].pop_front() else { return false };
        let mailbox = &mut self.mailboxes[to];
        match mailbox.posted.iter().position(|p| p.pattern.matches(&message.tuple)) {
            Some(at) => {
                let receive = mailbox.posted.remove(at).unwrap();
                self.transfers.push(Transfer { message, receive });
            }
            None => mailbox.unexpected.push_back(message),
        }
        true
    }

    fn complete_transfer(&mut self) -> bool {
        if self.transfers.is_empty() {
            return false;
        }
        let at = self.random.below(self.transfers.len());
        let Transfer { message, receive } = self.transfers.swap_remove(at);
        let Tuple { source, tag, .. } = message.tuple;
        let expected = receive.data.len();
        // What a lost process has sent without being asked may go to nowhere.
        let to_nowhere = expected == 0 && self.is_broken(message.from, receive.at);
        assert!(to_nowhere || message.round == receive.round, "a message of another round");
        let bytes = match &message.payload {
            Payload::Copied(bytes) => bytes.clone(),
            Payload::Live(data) => read(data),
            Payload::Missing(word) => {
                self.requests[receive.request] = State::Done(Status::instead(*word, source, tag));
                return true;
            }
        };
        let (len, room) = (bytes.len(), bytes.len().min(expected));
        assert!(
            self.disagree || to_nowhere || len == expected,
            "{len} bytes and not {expected}: {:?} to {}",
            message.tuple,
            receive.at
        );
        write(&receive.data, &bytes[..room]);
        let status = Status { source, tag, bytes: room as u64, lost: (len - room) as u64, ..Status::default() };
        self.requests[receive.request] = State::Done(status);
        if let Some(send) = message.send {
            self.requests[send] = State::Done(Status::default());
        }
        true
    }

    fn complete_buffered(&mut self) -> bool {
        if self.buffered.is_empty() {
            return false;
        }
        let at = self.random.below(self.buffered.len());
        let request = self.buffered.swap_remove(at);
        self.requests[request] = State::Done(Status::default());
        true
    }
}

impl Transport for Port<'_> {
    type Request = usize;

    fn isend(&self, to: Proc, tuple: Tuple, data: Data) -> Option<usize> {
        if self.network.is_dead(self.me) {
            // It has died in the middle of what it was doing.
            return None;
        }
        let mut inner = self.network.inner.borrow_mut();
        assert!(tuple.tag >= 0, "tag {}", tuple.tag);
        assert!((to as usize) < self.network.procs);
        assert_ne!(to as usize, self.me, "messages to oneself are copies");
        inner.activity += 1;
        inner.messages += 1;
        inner.lose_due();
        if inner.is_broken(self.me, to as usize) {
            let request = inner.request();
            inner.fail(Some(request), to as usize);
            return Some(request);
        }
        let kind = inner.random.below(3);
        let (payload, send) = match kind {
            0 => (Payload::Copied(read(&data)), None),
            1 => {
                let request = inner.request();
                inner.buffered.push(request);
                (Payload::Copied(read(&data)), Some(request))
            }
            _ => (Payload::Live(data), Some(inner.request())),
        };
        // A buffered send is completed apart from its message.
        let tied = if kind == 2 { send } else { None };
        let round = inner.rounds[self.me];
        inner.wires[self.me][to as usize].push_back(Message { from: self.me, tuple, payload, send: tied, round });
        send
    }

    fn send_missing(&self, to: Proc, tuple: Tuple, word: u32) {
        if self.network.is_dead(self.me) {
            return;
        }
        let mut inner = self.network.inner.borrow_mut();
        inner.activity += 1;
        if !inner.is_broken(self.me, to as usize) {
            let (payload, round) = (Payload::Missing(word), inner.rounds[self.me]);
            inner.wires[self.me][to as usize].push_back(Message { from: self.me, tuple, payload, send: None, round });
        }
    }

    fn irecv(&self, from: u32, pattern: Pattern, data: Data) -> usize {
        let mut inner = self.network.inner.borrow_mut();
        inner.activity += 1;
        // Nobody may read what has not come yet.
        write(&data, &vec![0xEE; data.len()]);
        let request = inner.request();
        let (at, from) = (self.me, from as usize);
        let receive = Posted { at, from, pattern, data, request, round: inner.rounds[at] };
        let broken = inner.is_broken(at, from);
        let mailbox = &mut inner.mailboxes[self.me];
        match mailbox.unexpected.iter().position(|m| pattern.matches(&m.tuple)) {
            Some(at) => {
                let message = mailbox.unexpected.remove(at).unwrap();
                inner.transfers.push(Transfer { message, receive });
            }
            None if broken => inner.fail(Some(request), from),
            None => mailbox.posted.push_back(receive),
        }
        request
    }

    fn is_done(&self, request: usize) -> bool {
        let state = self.network.inner.borrow().requests[request];
        assert!(state != State::Taken, "asked after a request that was taken");
        state != State::Open
    }

    fn take(&self, request: usize) -> Status {
        let mut inner = self.network.inner.borrow_mut();
        inner.activity += 1;
        match std::mem::replace(&mut inner.requests[request], State::Taken) {
            State::Done(status) => status,
            _ => panic!("took a request that is not done"),
        }
    }

    /// Of a send that waits for its receive.
    fn cancel(&self, request: usize) {
        let mut guard = self.network.inner.borrow_mut();
        let inner = &mut *guard;
        let wires = inner.wires.iter_mut().flatten().flatten();
        let waiting = wires.chain(inner.mailboxes.iter_mut().flat_map(|mailbox| &mut mailbox.unexpected));
        for message in waiting.filter(|message| message.send == Some(request)) {
            if let Payload::Live(data) = &message.payload {
                message.payload = Payload::Copied(read(data));
            }
            message.send = None;
            inner.requests[request] = State::Done(Status { cancelled: true, ..Status::default() });
            inner.activity += 1;
        }
    }

    /// Three of four regions are declared.
    fn declare(&self, to: Proc, data: &Data, direction: Direction) -> Told {
        let mut told = [0; TOLD];
        let mut inner = self.network.inner.borrow_mut();
        if inner.random.one_in(4) {
            return told;
        }
        inner.declared.push(Some((self.me, to as usize, data.clone(), direction)));
        told[..8].copy_from_slice(&(inner.declared.len() as u64).to_le_bytes());
        told
    }

    fn end_region(&self, told: &Told, _: &Data, direction: Direction) {
        let Some(number) = number(told) else { return };
        let region = self.network.inner.borrow_mut().declared[number].take();
        let (owner, _, _, declared) = region.expect("ended once");
        assert_eq!((owner, declared), (self.me, direction));
    }

    /// Three of four copies can be made.
    fn copy(&self, from: Proc, told: &Told, data: &Data, direction: Direction) -> bool {
        let Some(number) = number(told) else { return false };
        let mut inner = self.network.inner.borrow_mut();
        if inner.is_broken(self.me, from as usize) {
            return false;
        }
        let region = inner.declared[number].clone();
        let (owner, peer, theirs, declared) = region.expect("not ended before the answer");
        assert_eq!((owner, peer, declared), (from as usize, self.me, direction));
        if inner.random.one_in(4) || theirs.len() != data.len() {
            return false;
        }
        match direction {
            Direction::Get => write(data, &read(&theirs)),
            Direction::Put => write(&theirs, &read(data)),
        }
        inner.copied += data.len();
        true
    }
}

/// The number of a region, if there is one.
fn number(told: &Told) -> Option<usize> {
    let word = u64::from_le_bytes(told[..8].try_into().expect("eight bytes"));
    (word as usize).checked_sub(1)
}

/// The members of a communicator, each with its own view. Processes are numbered backwards, so
/// that ranks are not taken for process numbers.
pub fn group(size: usize, selection: Selection) -> Vec<Rc<Peers>> {
    crowd(size, selection, false)
}

/// The same; they are more than their node has cores, if `crowded`.
pub fn crowd(size: usize, selection: Selection, crowded: bool) -> Vec<Rc<Peers>> {
    let procs: Rc<[Proc]> = (0..size as Proc).rev().collect();
    let view = |rank| Peers::new(7, rank as u32, procs.clone(), None, 0).with_selection(selection).with_crowd(crowded);
    (0..size).map(|rank| Rc::new(view(rank))).collect()
}

/// The members of an intercommunicator: first those of one group, then those of the other.
pub fn bridge(a: usize, b: usize, selection: Selection) -> Vec<Rc<Peers>> {
    let first: Rc<[Proc]> = (0..a as Proc).rev().collect();
    let second: Rc<[Proc]> = (a as Proc..(a + b) as Proc).rev().collect();
    let view = |rank, own: &Rc<[Proc]>, other: &Rc<[Proc]>| {
        Rc::new(Peers::new(9, rank as u32, own.clone(), Some(other.clone()), 0).with_selection(selection))
    };
    let mut all: Vec<_> = (0..a).map(|r| view(r, &first, &second)).collect();
    all.extend((0..b).map(|r| view(r, &second, &first)));
    all
}

/// Runs one collective on all members; returns the number of messages.
pub fn run(members: &[Rc<Peers>], schedules: Vec<Schedule>, seed: u64) -> usize {
    let ended = run_with_losses(members, schedules, seed, Losses::default(), 1);
    assert!(ended.outcomes.iter().all(|outcome| *outcome == Some(Ok(()))));
    ended.messages
}

/// How it ended on a member; `None` for one that has died.
pub type Outcome = Option<Result<(), Failure>>;

/// How rounds of a collective ended.
pub struct Ended {
    /// The last round of each member.
    pub outcomes: Vec<Outcome>,
    /// What went wrong in rounds before that.
    pub earlier: Vec<Failure>,
    pub messages: usize,
}

/// The same of so many rounds, while things go wrong.
pub fn run_with_losses(
    members: &[Rc<Peers>], schedules: Vec<Schedule>, seed: u64, losses: Losses, rounds: usize,
) -> Ended {
    let network = Network::with_losses(members.len(), seed, losses);
    let make = if rounds == 1 { Operation::new } else { Operation::persistent };
    let operations: Vec<Operation<usize>> = members.iter().zip(schedules).map(|(p, s)| make(p, s)).collect();
    for operation in &operations {
        operation.start();
    }
    let list: Vec<_> = members.iter().zip(&operations).map(|(p, o)| (p.procs[p.rank as usize] as usize, o)).collect();
    let earlier = network.run_rounds(&list, rounds);
    let outcome = |(proc, operation): &(usize, &Operation<usize>)| {
        (!network.is_dead(*proc)).then(|| operation.failure().map_or(Ok(()), Err))
    };
    Ended { outcomes: list.iter().map(outcome).collect(), earlier, messages: network.messages() }
}
