//! Accesses by messages, where memory can neither be mapped nor be reached by the kernel: the origin
//! asks, the target's progress does it and answers. Requests from one origin to one target are served in
//! their order.
//!
//! | word of a request | what |
//! |---|---|
//! | 0 | kind, operation, basic type, a byte each |
//! | 1 | the ticket |
//! | 2 | where in the stream of the origin's data the part begins, in bytes |
//! | 3 | length of the part in bytes |
//! | 4 | runs of target memory, each of which follows as address and length (in elements, when they are combined) |
//! | 5 | bytes of data behind the runs |
//!
//! An answer has the ticket, the position, the length, and the data that was asked for.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use tern_adi::{ANY_SOURCE, ANY_TAG, Adi, Background, Data, Pattern, Proc, Request, SendMode, Sent, Tuple, UNKNOWN};
use tern_coll::ops::Op;
use tern_layout::Basic;

use crate::Ticket;
use crate::elements::Side;

const REQUEST: i32 = 0;
const ANSWER: i32 = 1;

/// Bytes of data in a request or answer at most.
pub const PART: usize = 16 << 10;
/// Runs in a request at most.
pub const RUNS: usize = 1024;
/// Parts that an origin has under way at most.
const UNDER_WAY: u32 = 64;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Put,
    Get,
    /// Combine elements.
    Combine,
    /// Combine, and send what was there.
    Fetch,
    /// Compare and swap: the data is what to compare with and then what to put.
    Swap,
    // What windows ask whose members share no words: see `apart`.
    Lock,
    Unlock,
    Post,
    Complete,
    /// Whether the run is attached: answered by a byte.
    Find,
}

const KINDS: [Kind; 10] = [
    Kind::Put,
    Kind::Get,
    Kind::Combine,
    Kind::Fetch,
    Kind::Swap,
    Kind::Lock,
    Kind::Unlock,
    Kind::Post,
    Kind::Complete,
    Kind::Find,
];

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// It is done, and to be answered.
    Done,
    /// It is answered later, by [`Messages::answer`].
    Later,
    /// It cannot be done now: neither it nor what came behind it.
    NotNow,
}

/// A request, and where its parts lie in its bytes.
pub struct Asked<'a> {
    pub kind: Kind,
    pub op: Op,
    pub basic: Basic,
    /// Who asks.
    pub origin: u32,
    pub ticket: u64,
    /// Where in the origin's data the part begins; or what else goes with the request.
    pub from: u64,
    /// Bytes of the part.
    pub len: usize,
    runs: &'a [u8],
    pub data: &'a [u8],
}

const HEAD: usize = 48;
/// The ticket of what is only told.
const NO_ANSWER: u64 = u64::MAX;

/// The bytes of a request, the last `data` of them gathered.
fn encode(
    Question { kind, op, basic }: Question, ticket: u64, from: usize, len: usize, runs: &[(u64, u64)], data: usize,
    gather: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let what = u64::from_le_bytes([kind as u8, op as u8, basic as u8, 0, 0, 0, 0, 0]);
    let mut bytes = Vec::with_capacity(HEAD + runs.len() * 16 + data);
    let head = [what, ticket, from as u64, len as u64, runs.len() as u64, data as u64];
    for word in head.into_iter().chain(runs.iter().flat_map(|run| [run.0, run.1])) {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let start = bytes.len();
    bytes.resize(start + data, 0);
    gather(&mut bytes[start..]);
    bytes
}

fn word(bytes: &[u8], index: usize) -> u64 {
    let at = index * 8;
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl<'a> Asked<'a> {
    fn decode(origin: u32, bytes: &'a [u8]) -> Asked<'a> {
        let [kind, op, basic, ..] = word(bytes, 0).to_le_bytes();
        let (runs, data) = bytes[HEAD..].split_at(word(bytes, 4) as usize * 16);
        Asked {
            kind: KINDS[kind as usize],
            op: Op::ALL[op as usize],
            basic: Basic::ALL[basic as usize],
            origin,
            ticket: word(bytes, 1),
            from: word(bytes, 2),
            len: word(bytes, 3) as usize,
            runs,
            data,
        }
    }

    /// Address and length of each run of target memory.
    pub fn runs(&self) -> impl Iterator<Item = (*mut u8, usize)> + Clone + use<'a> {
        self.runs.chunks_exact(16).map(|run| (word(run, 0) as *mut u8, word(run, 1) as usize))
    }
}

/// What to ask for.
#[derive(Clone, Copy)]
pub struct Question {
    pub kind: Kind,
    pub op: Op,
    pub basic: Basic,
}

/// Something on its way in.
struct Arriving {
    from: u32,
    tag: i32,
    bytes: Vec<u8>,
    /// Until it is complete.
    request: Option<Request>,
}

/// An access with parts under way.
#[derive(Default)]
struct Access {
    generation: u32,
    /// Parts under way, and one more while further ones may begin.
    parts: u32,
    /// Where answers go.
    into: Option<Data>,
}

/// The messages of a window.
pub struct Messages {
    adi: &'static Adi,
    context: u32,
    rank: u32,
    procs: std::rc::Rc<[Proc]>,
    arriving: RefCell<VecDeque<Arriving>>,
    sending: RefCell<Vec<(Request, Vec<u8>)>>,
    accesses: RefCell<Vec<Access>>,
    free: RefCell<Vec<u32>>,
    /// By target: parts under way.
    pending: Box<[Cell<u32>]>,
    under_way: Cell<u32>,
}

impl Messages {
    /// Of member `rank` of `procs`; `context` is for these messages alone.
    pub fn new(adi: &'static Adi, context: u32, rank: u32, procs: std::rc::Rc<[Proc]>) -> Messages {
        Messages {
            adi,
            context,
            rank,
            pending: procs.iter().map(|_| Cell::new(0)).collect(),
            procs,
            arriving: RefCell::default(),
            sending: RefCell::default(),
            accesses: RefCell::default(),
            free: RefCell::default(),
            under_way: Cell::new(0),
        }
    }

    // ---- the origin

    /// Begins an access; answers go to `into`.
    pub fn begin(&self, into: Option<Data>) -> Ticket {
        let mut accesses = self.accesses.borrow_mut();
        let index = self.free.borrow_mut().pop().unwrap_or_else(|| {
            accesses.push(Access::default());
            accesses.len() as u32 - 1
        });
        let access = &mut accesses[index as usize];
        (access.parts, access.into) = (1, into);
        Ticket(u64::from(access.generation) << 32 | u64::from(index), None)
    }

    /// Sends a part: bytes `from` to `from + len` of the access, for these runs of target memory, with
    /// `data` that is gathered. Waits while too much is under way.
    pub fn ask(
        &self, ticket: Ticket, target: u32, question: Question, from: usize, len: usize, runs: &[(u64, u64)],
        data: usize, gather: impl FnOnce(&mut [u8]),
    ) {
        if self.under_way.get() >= UNDER_WAY {
            // A lost member answers no more.
            let lost = || self.adi.lost_for(UNKNOWN, self.context).is_some();
            self.adi.wait_until(&mut || self.under_way.get() < UNDER_WAY || lost());
        }
        let bytes = encode(question, ticket.0, from, len, runs, data, gather);
        self.accesses.borrow_mut()[ticket.0 as u32 as usize].parts += 1;
        self.under_way.set(self.under_way.get() + 1);
        self.pending[target as usize].set(self.pending[target as usize].get() + 1);
        self.send(target, REQUEST, bytes);
    }

    /// Tells `target` something that needs no answer.
    pub fn tell(&self, target: u32, question: Question) {
        self.send(target, REQUEST, encode(question, NO_ANSWER, 0, 0, &[], 0, |_| ()));
    }

    /// Says that all parts were sent.
    pub fn end(&self, ticket: Ticket) {
        self.finish_part(ticket.0 as u32);
    }

    fn finish_part(&self, index: u32) {
        let mut accesses = self.accesses.borrow_mut();
        let access = &mut accesses[index as usize];
        access.parts -= 1;
        if access.parts == 0 {
            access.into = None;
            access.generation = access.generation.wrapping_add(1);
            self.free.borrow_mut().push(index);
        }
    }

    pub fn is_done(&self, ticket: Ticket) -> bool {
        let accesses = self.accesses.borrow();
        accesses[ticket.0 as u32 as usize].generation != (ticket.0 >> 32) as u32
    }

    /// True when nothing is under way to `target`.
    #[inline]
    pub fn is_flushed(&self, target: u32) -> bool {
        self.pending[target as usize].get() == 0
    }

    /// True when nothing is under way.
    #[inline]
    pub fn is_all_flushed(&self) -> bool {
        self.under_way.get() == 0
    }

    fn answered(&self, target: u32, bytes: &[u8]) {
        let index = word(bytes, 0) as u32;
        let (from, len) = (word(bytes, 1) as usize, word(bytes, 2) as usize);
        if let (Some(into), true) = (&self.accesses.borrow()[index as usize].into, len > 0) {
            // SAFETY: the program leaves it to the access until that is complete.
            unsafe { Side::of(into).scatter(from, &bytes[24..24 + len]) };
        }
        self.finish_part(index);
        self.under_way.set(self.under_way.get() - 1);
        self.pending[target as usize].set(self.pending[target as usize].get() - 1);
    }

    // ---- both

    fn send(&self, to: u32, tag: i32, bytes: Vec<u8>) {
        let tuple = Tuple { context: self.context, source: self.rank as i32, tag };
        let data = Data::Bytes(bytes.as_ptr().cast_mut(), bytes.len());
        if let Sent::Pending(request) = self.adi.isend(self.procs[to as usize], tuple, data, SendMode::Standard) {
            self.sending.borrow_mut().push((request, bytes));
        }
    }

    /// True when nothing is on its way out.
    pub fn is_sent(&self) -> bool {
        self.sending.borrow().is_empty()
    }

    /// Answers a request that was left for later.
    pub fn answer(&self, origin: u32, ticket: u64) {
        let words = [ticket, 0, 0];
        self.send(origin, ANSWER, words.iter().flat_map(|word| word.to_le_bytes()).collect());
    }

    /// Takes what has come and serves it. `serve` does what is asked and appends to the answer.
    pub fn progress(&self, mut serve: impl FnMut(&Asked<'_>, &mut Vec<u8>) -> Served) -> Background {
        let mut moved = false;
        self.sending.borrow_mut().retain(|(request, _)| {
            let done = self.adi.is_done(*request);
            if done {
                self.adi.take(*request);
            }
            !done
        });
        let pattern = Pattern { context: self.context, source: ANY_SOURCE, tag: ANY_TAG };
        while let Some(message) = self.adi.matched_probe(pattern) {
            let status = message.status;
            let mut bytes = vec![0u8; status.bytes as usize];
            let data = Data::Bytes(bytes.as_mut_ptr(), bytes.len());
            let request = Some(self.adi.imrecv(message, data));
            let from = status.source as u32;
            self.arriving.borrow_mut().push_back(Arriving { from, tag: status.tag, bytes, request });
            moved = true;
        }
        loop {
            let Some(mut next) = self.arriving.borrow_mut().pop_front() else { break };
            if let Some(request) = next.request
                && self.adi.is_done(request)
            {
                if self.adi.take(request).aborted().is_some() {
                    // The rest of it will never come.
                    moved = true;
                    continue;
                }
                next.request = None;
            }
            if next.request.is_some() || !self.handle(&next, &mut serve) {
                self.arriving.borrow_mut().push_front(next);
                break;
            }
            moved = true;
        }
        if moved { Background::Moved } else { Background::Waiting }
    }

    fn handle(&self, message: &Arriving, serve: &mut impl FnMut(&Asked<'_>, &mut Vec<u8>) -> Served) -> bool {
        if message.tag == ANSWER {
            self.answered(message.from, &message.bytes);
            return true;
        }
        let asked = Asked::decode(message.from, &message.bytes);
        let mut answer = Vec::with_capacity(24 + if asked.kind == Kind::Put { 0 } else { asked.len });
        for word in [asked.ticket, asked.from, 0] {
            answer.extend_from_slice(&word.to_le_bytes());
        }
        match serve(&asked, &mut answer) {
            Served::Done if asked.ticket == NO_ANSWER => return true,
            Served::Done => {}
            Served::Later => return true,
            Served::NotNow => return false,
        }
        let len = answer.len() as u64 - 24;
        answer[16..24].copy_from_slice(&len.to_le_bytes());
        self.send(message.from, ANSWER, answer);
        true
    }
}
