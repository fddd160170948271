//! Engines of a few processes in one thread, driven step by step, and a record of what happened.

mod deaths;

use crate::buffer::{Buffer, whole};
use crate::direct;
use crate::network::{Manners, Scissors, ports};
use std::cell::Cell;
use std::rc::Rc;
use tern_adi::{
    ANY_SOURCE, ANY_TAG, Adi, Ended, Message as Probed, Name, Over, Pattern, Rendezvous, Request, SendMode, Sent,
    Status, Tuple, UNKNOWN,
};
use tern_mcm::{Mcm, Patience};

/// One operation. Processes and numbers of earlier operations are taken modulo what there is.
#[derive(Clone, Debug)]
pub enum Action {
    Send {
        from: u32,
        to: u32,
        context: u32,
        tag: i32,
        len: usize,
        gaps: bool,
        mode: SendMode,
    },
    Receive {
        at: u32,
        wanted: Wanted,
        len: usize,
        gaps: bool,
    },
    /// Probes, and receives exactly what the probe told.
    Probe {
        at: u32,
        wanted: Wanted,
    },
    /// Takes a message out of matching.
    Claim {
        at: u32,
        wanted: Wanted,
    },
    /// Receives the oldest message that was taken out so.
    Fetch {
        at: u32,
        len: usize,
        gaps: bool,
    },
    CancelSend(usize),
    CancelReceive(usize),
    /// Gives the request of a send up.
    Release(usize),
    Progress(u32),
    /// What this process starts from here on belongs to a call that waits for all of it.
    BeginCall(u32),
    /// That call is over, as far as its engine knows.
    EndCall(u32),
}

/// Which message a receive is for. Sources are taken modulo what there is; below 0 is any.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub context: u32,
    pub source: i32,
    pub tag: i32,
}

/// A message that was sent.
#[derive(Debug)]
pub struct Message {
    pub from: u32,
    pub to: u32,
    pub tuple: Tuple,
    pub bytes: Vec<u8>,
    pub synchronous: bool,
    /// The step of its sending; and of its completion, as far as the sender could see it.
    pub step: usize,
    pub done: Option<usize>,
    pub cancel_asked: Option<usize>,
    pub cancelled: bool,
    /// The lost process that it was for.
    pub aborted: Option<u32>,
    request: Option<Open>,
}

/// A receive that was posted.
pub struct Receive {
    pub at: u32,
    pub pattern: Pattern,
    pub buffer: Buffer,
    pub step: usize,
    /// When its message left matching, if that is known.
    pub matched: Option<usize>,
    pub done: Option<usize>,
    pub status: Option<Status>,
    pub cancel_asked: Option<usize>,
    /// The size that a probe told.
    pub probed: Option<u64>,
    request: Option<Open>,
}

/// A transfer that is not over, as far as the program knows.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: Request,
    /// Every other one has a name, and is asked for by that, which looks for its end alone, as programs do.
    name: Option<Name>,
}

impl Open {
    fn new(engine: &Adi, request: Request, number: usize) -> Open {
        Open { id: request, name: number.is_multiple_of(2).then(|| engine.name(request, Rc::new(()))) }
    }

    /// Its status, if it is over; it is freed then. `among`: one that has a name is asked for by a call that waits for several, which looks
    /// for the next message first.
    fn end(&self, engine: &Adi, among: bool) -> Option<Status> {
        let Some(name) = self.name else {
            let status = engine.is_done(self.id).then(|| engine.status(self.id))?;
            assert_eq!(engine.take(self.id), status);
            return Some(status);
        };
        let _waits = among.then(|| engine.keep_waiting());
        if let Some(status) = among.then(|| engine.end_named_fast(name)).flatten() {
            return Some(status);
        }
        match engine.end_named(name) {
            Ended::Over(Over::Received(status) | Over::Otherwise { status, .. }) => Some(status),
            Ended::Pending => None,
            Ended::Stale => panic!("{self:?} is not over, and was never given up"),
        }
    }
}

impl std::fmt::Debug for Receive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the receive of step {} at {} for {:?}", self.step, self.at, self.pattern)
    }
}

/// A message between a matched probe and its receive.
struct Claimed {
    message: Probed,
    /// The receive that it will be: its place is that of the probe.
    receive: usize,
}

pub struct World {
    pub processes: u32,
    pub messages: Vec<Message>,
    pub receives: Vec<Receive>,
    engines: Vec<Adi>,
    /// Of a network in memory.
    scissors: Option<Scissors>,
    claimed: Vec<Vec<Claimed>>,
    /// Memory of the sends, which stays until all is over.
    outgoing: Vec<Buffer>,
    step: usize,
    /// Which processes have died.
    dead: Vec<bool>,
    /// By process, where the world survives them.
    known: Vec<deaths::Knowledge>,
}

/// Bytes that may wait for their receives: some worlds are never full, some at the first message, some now and then.
const CAPS: [u64; 3] = [u64::MAX, 0, 400];

/// The rounds of progress after which something hangs.
const ROUNDS: usize = 200_000;

/// The engines of `processes` that reach each other.
pub fn engines(processes: u32, manners: Manners, eager_limit: usize) -> Vec<Adi> {
    connected(processes, manners, Some(eager_limit)).0
}

/// The same, where the devices say how much goes without asking.
pub fn engines_of_devices(processes: u32, manners: Manners) -> Vec<Adi> {
    connected(processes, manners, None).0
}

thread_local! {
    /// Nanoseconds that have passed in the world of this test.
    static TIME: Cell<u64> = const { Cell::new(0) };
    /// And that pass between two looks at the clock: in some worlds programs wait at once, in others they compute.
    static STEP: Cell<u64> = const { Cell::new(0) };
}

fn now() -> u64 {
    pass(STEP.get());
    TIME.get()
}

/// The program does something else for so many nanoseconds.
pub fn pass(nanoseconds: u64) {
    TIME.set(TIME.get() + nanoseconds);
}

/// The same, and what cuts their connections.
pub fn connected(processes: u32, manners: Manners, eager_limit: Option<usize>) -> (Vec<Adi>, Scissors) {
    let ways = [Rendezvous::Auto, Rendezvous::Rget, Rendezvous::Rput, Rendezvous::Packets];
    let engine = |(me, port)| {
        let mcm = Mcm::new(Box::new(port), me, processes, Patience::new(1, 1));
        let engine = Adi::with_clock(Rc::new(mcm), eager_limit, now);
        engine.use_rendezvous(ways[manners.seed as usize % ways.len()]);
        engine.cap_unexpected(CAPS[(manners.seed >> 8) as usize % CAPS.len()]);
        engine
    };
    STEP.set([20, 2000][(manners.seed >> 4) as usize % 2]);
    let (ports, scissors) = ports(processes, manners);
    ((0..).zip(ports).map(engine).collect(), scissors)
}

impl World {
    pub fn new(processes: u32, manners: Manners, eager_limit: usize) -> World {
        crate::direct::forget_keys();
        let (engines, scissors) = connected(processes, manners, Some(eager_limit));
        World { scissors: Some(scissors), ..World::over(engines) }
    }

    /// A world of engines that a real device connects: what is sent takes its time.
    pub fn over(engines: Vec<Adi>) -> World {
        let processes = engines.len() as u32;
        World {
            scissors: None,
            processes,
            messages: Vec::new(),
            receives: Vec::new(),
            engines,
            claimed: (0..processes).map(|_| Vec::new()).collect(),
            outgoing: Vec::new(),
            step: 0,
            dead: vec![false; processes as usize],
            known: Vec::new(),
        }
    }

    /// These two do not reach each other from now on.
    pub fn cut(&mut self, one: u32, other: u32) {
        let scissors = self.scissors.as_ref().expect("a network in memory");
        scissors.cut(one % self.processes, other % self.processes);
    }

    pub fn engines(&self) -> &[Adi] {
        &self.engines
    }

    pub fn act(&mut self, action: &Action) {
        self.step += 1;
        if self.is_of_the_dead(action) {
            return;
        }
        let process = |number: u32| number % self.processes;
        match *action {
            Action::Send { from, to, context, tag, len, gaps, mode } => {
                let (from, to) = (process(from), process(to));
                self.send(from, to, Tuple { context, source: from as i32, tag }, len, gaps, mode);
            }
            Action::Receive { at, wanted, len, gaps } => {
                let pattern = self.pattern(wanted);
                self.receive(process(at), pattern, len, gaps, None);
            }
            Action::Probe { at, wanted } => self.probe(process(at), self.pattern(wanted)),
            Action::Claim { at, wanted } => self.claim(process(at), self.pattern(wanted)),
            Action::Fetch { at, len, gaps } => self.fetch(process(at), len, gaps),
            Action::CancelSend(number) => self.cancel_send(number),
            Action::CancelReceive(number) => self.cancel_receive(number),
            Action::Release(number) => self.release(number),
            Action::Progress(at) => {
                self.engines[process(at) as usize].progress();
            }
            Action::BeginCall(at) => self.engines[process(at) as usize].will_wait(),
            Action::EndCall(at) => self.engines[process(at) as usize].wait_until(&mut || true),
        }
        self.look();
    }

    fn pattern(&self, wanted: Wanted) -> Pattern {
        let Wanted { context, source, tag } = wanted;
        let source = if source < 0 { ANY_SOURCE } else { source % self.processes as i32 };
        Pattern { context, source, tag: if tag < 0 { ANY_TAG } else { tag } }
    }

    fn send(&mut self, from: u32, to: u32, tuple: Tuple, len: usize, gaps: bool, mode: SendMode) {
        let number = self.messages.len();
        let bytes: Vec<u8> = (0..whole(len, gaps)).map(|at| (number * 31 + at * 7 + (at >> 8)) as u8 & 0x7f).collect();
        let mut buffer = Buffer::holding(&bytes, gaps);
        direct::WAITING.set(number.is_multiple_of(2));
        let sent = self.engines[from as usize].isend(to, tuple, buffer.data(), mode);
        direct::WAITING.set(false);
        self.outgoing.push(buffer);
        let (request, done) = match sent {
            Sent::Done => (None, Some(self.step)),
            Sent::Pending(request) => (Some(Open::new(&self.engines[from as usize], request, number)), None),
        };
        self.messages.push(Message {
            from,
            to,
            tuple,
            bytes,
            synchronous: mode == SendMode::Synchronous,
            step: self.step,
            done,
            cancel_asked: None,
            cancelled: false,
            aborted: None,
            request,
        });
    }

    fn receive(&mut self, at: u32, pattern: Pattern, len: usize, gaps: bool, probed: Option<u64>) {
        let mut buffer = Buffer::new(len, gaps);
        // Processes are numbered as the ranks are.
        let from = if pattern.source == ANY_SOURCE { UNKNOWN } else { pattern.source as u32 };
        let engine = &self.engines[at as usize];
        let request = Open::new(engine, engine.irecv(from, pattern, buffer.data()), self.receives.len());
        let receive = self.new_receive(at, pattern, buffer);
        self.receives.push(Receive { request: Some(request), probed, ..receive });
    }

    fn new_receive(&self, at: u32, pattern: Pattern, buffer: Buffer) -> Receive {
        Receive {
            at,
            pattern,
            buffer,
            step: self.step,
            matched: None,
            done: None,
            status: None,
            cancel_asked: None,
            probed: None,
            request: None,
        }
    }

    fn probe(&mut self, at: u32, pattern: Pattern) {
        let Some(status) = self.engines[at as usize].probe(pattern) else { return };
        let exact = Pattern { context: pattern.context, source: status.source, tag: status.tag };
        assert!(pattern.matches(&Tuple { context: exact.context, source: exact.source, tag: exact.tag }));
        self.receive(at, exact, status.bytes as usize, false, Some(status.bytes));
        let receive = self.receives.last_mut().unwrap();
        receive.matched = Some(self.step);
        // What the wildcard saw first is what must have left first.
        receive.pattern = pattern;
    }

    fn claim(&mut self, at: u32, pattern: Pattern) {
        let Some(message) = self.engines[at as usize].matched_probe(pattern) else { return };
        let (matched, probed) = (Some(self.step), Some(message.status.bytes));
        let receive = self.new_receive(at, pattern, Buffer::new(0, false));
        self.claimed[at as usize].push(Claimed { message, receive: self.receives.len() });
        self.receives.push(Receive { matched, probed, ..receive });
    }

    fn fetch(&mut self, at: u32, len: usize, gaps: bool) {
        if self.claimed[at as usize].is_empty() {
            return;
        }
        let Claimed { message, receive: number } = self.claimed[at as usize].remove(0);
        let receive = &mut self.receives[number];
        receive.buffer = Buffer::new(len, gaps);
        let engine = &self.engines[at as usize];
        receive.request = Some(Open::new(engine, engine.imrecv(message, receive.buffer.data()), number));
    }

    fn cancel_send(&mut self, number: usize) {
        let open: Vec<usize> = (0..self.messages.len()).filter(|&at| self.messages[at].request.is_some()).collect();
        if open.is_empty() {
            return;
        }
        let message = &mut self.messages[open[number % open.len()]];
        message.cancel_asked.get_or_insert(self.step);
        self.engines[message.from as usize].cancel(message.request.unwrap().id);
    }

    fn cancel_receive(&mut self, number: usize) {
        let open: Vec<usize> = (0..self.receives.len()).filter(|&at| self.receives[at].request.is_some()).collect();
        if open.is_empty() {
            return;
        }
        let receive = &mut self.receives[open[number % open.len()]];
        receive.cancel_asked.get_or_insert(self.step);
        let engine = &self.engines[receive.at as usize];
        engine.cancel(receive.request.unwrap().id);
    }

    /// A request that was asked to be cancelled is kept: what became of it must be known.
    fn release(&mut self, number: usize) {
        let open: Vec<usize> = (0..self.messages.len())
            .filter(|&at| self.messages[at].request.is_some() && self.messages[at].cancel_asked.is_none())
            .collect();
        if open.is_empty() {
            return;
        }
        let message = &mut self.messages[open[number % open.len()]];
        self.engines[message.from as usize].release(message.request.take().unwrap().id);
    }

    /// Notes what has completed.
    fn look(&mut self) {
        let among = self.step.is_multiple_of(2);
        for message in &mut self.messages {
            let engine = &self.engines[message.from as usize];
            if let Some(status) = message.request.and_then(|open| open.end(engine, among)) {
                message.request = None;
                message.done = Some(self.step);
                (message.cancelled, message.aborted) = (status.cancelled, status.aborted());
                assert!(!message.cancelled || message.cancel_asked.is_some());
            }
        }
        for receive in &mut self.receives {
            let engine = &self.engines[receive.at as usize];
            if let Some(status) = receive.request.and_then(|open| open.end(engine, among)) {
                receive.request = None;
                receive.done = Some(self.step);
                receive.status = Some(status);
            }
        }
    }

    /// Receives every message that is left, takes back every receive that is left, and waits for
    /// all that is under way.
    pub fn finish(&mut self, contexts: u32, longest: usize) {
        for at in self.living() {
            while !self.claimed[at as usize].is_empty() {
                self.step += 1;
                self.fetch(at, longest, false);
            }
        }
        for _ in 0..ROUNDS {
            self.step += 1;
            let moved = self.round() | self.sweep(contexts, longest) | self.hear();
            self.look();
            if !moved && self.scissors.as_ref().map_or_else(|| self.is_settled(), |_| self.is_quiet()) {
                break;
            }
        }
        self.step += 1;
        self.judge_open();
        for number in 0..self.receives.len() {
            if let Some(Open { id: request, .. }) = self.receives[number].request {
                self.receives[number].cancel_asked.get_or_insert(self.step);
                self.engines[self.receives[number].at as usize].cancel(request);
            }
        }
        // Whether a published receive is cancelled may take a while to be known.
        for _ in 0..ROUNDS {
            self.look();
            if self.receives.iter().all(|receive| receive.request.is_none()) {
                break;
            }
            self.round();
        }
        for engine in self.living().into_iter().map(|at| &self.engines[at as usize]) {
            assert_eq!(engine.unexpected(), (0, 0), "a message that nobody received is still there");
            assert_eq!(engine.names(), [], "transfers that were ended are still there");
        }
        let open: Vec<&Message> = self.messages.iter().filter(|m| m.request.is_some()).collect();
        assert!(open.is_empty(), "sends that never completed: {open:?}");
        let open: Vec<&Receive> = self.receives.iter().filter(|r| r.status.is_none()).collect();
        assert!(open.is_empty(), "receives that never completed: {open:?}");
        assert_eq!(crate::direct::keys(|at| !self.is_dead(at)), 0, "memory stays registered");
    }

    /// True when every send is complete, and every message that was not taken back was received.
    fn is_settled(&self) -> bool {
        let sent = self.messages.iter().filter(|message| !message.cancelled).count();
        let received = |receive: &&Receive| receive.status.is_some_and(|status| !status.cancelled);
        self.messages.iter().all(|message| message.request.is_none())
            && self.receives.iter().filter(received).count() == sent
    }

    /// One round of progress; true when anything moved. The network sleeps at times, so that a
    /// round is a good number of polls.
    fn round(&mut self) -> bool {
        let mut moved = false;
        for _ in 0..40 {
            for at in self.living() {
                moved |= self.engines[at as usize].progress();
            }
        }
        moved
    }

    /// Receives whatever waits; true when something did.
    fn sweep(&mut self, contexts: u32, longest: usize) -> bool {
        let before = self.receives.len();
        for at in self.living() {
            for context in 0..contexts {
                if self.knows_revoked(at, context) {
                    self.drain(at, context);
                }
                let all = Pattern { context, source: ANY_SOURCE, tag: ANY_TAG };
                while self.engines[at as usize].probe(all).is_some() {
                    self.receive(at, all, longest, false, None);
                }
            }
        }
        self.receives.len() > before
    }
}
