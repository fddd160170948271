//! Accesses by messages, where memory can neither be mapped nor be reached by the kernel: the origin
//! asks, the target's progress does it and answers. Requests from one origin to one target are served in
//! their order.

mod packet;

use packet::{ANSWER_HEAD, Answer, LONGEST, NO_ANSWER, encode};
pub use packet::{Asked, HOLDERS, Kind, PART, Question, RUNS};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use tern_adi::{
    ANY_SOURCE, ANY_TAG, Adi, Background, Damaged, Data, Pattern, Proc, Request, SendMode, Sent, Tuple, UNKNOWN,
};

use crate::Ticket;
use crate::elements::Side;

const REQUEST: i32 = 0;
const ANSWER: i32 = 1;

/// Parts that an origin has under way at most.
const UNDER_WAY: u32 = 64;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// It is done, and to be answered.
    Done,
    /// It is answered later, by [`Messages::answer`].
    Later,
    /// It cannot be done now: neither it nor what came behind it.
    NotNow,
    /// No correct member asks that, for this reason. Nothing has happened.
    Damaged(&'static str),
}

/// Something on its way in.
struct Arriving {
    /// Its rank, as it says.
    from: u32,
    sender: Proc,
    tag: i32,
    bytes: Vec<u8>,
    /// Until it is complete.
    request: Option<Request>,
}

/// An access with parts under way.
#[derive(Default)]
struct Access {
    generation: u32,
    /// Parts under way.
    parts: u32,
    /// Further ones may begin.
    begins: bool,
    /// Where answers go.
    into: Option<Data>,
    /// Who is asked.
    target: u32,
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
        (access.begins, access.into) = (true, into);
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
        let access = &mut self.accesses.borrow_mut()[ticket.0 as u32 as usize];
        (access.parts, access.target) = (access.parts + 1, target);
        self.under_way.set(self.under_way.get() + 1);
        self.pending[target as usize].set(self.pending[target as usize].get() + 1);
        self.send(target, REQUEST, bytes);
    }

    /// Tells `target` something that needs no answer.
    pub fn tell(&self, target: u32, question: Question) {
        self.send(target, REQUEST, encode(question, NO_ANSWER, 0, 0, &[], 0, |_| ()));
    }

    /// As [`Messages::tell`], with a number and data.
    pub fn tell_with(&self, target: u32, question: Question, from: usize, data: &[u8]) {
        let gather = |out: &mut [u8]| out.copy_from_slice(data);
        self.send(target, REQUEST, encode(question, NO_ANSWER, from, 0, &[], data.len(), gather));
    }

    /// Says that all parts were sent.
    pub fn end(&self, ticket: Ticket) {
        let index = ticket.0 as u32;
        self.accesses.borrow_mut()[index as usize].begins = false;
        self.finish(index);
    }

    /// Ends the access if nothing of it is under way.
    fn finish(&self, index: u32) {
        let mut accesses = self.accesses.borrow_mut();
        let access = &mut accesses[index as usize];
        if access.parts == 0 && !access.begins {
            access.into = None;
            access.generation = access.generation.wrapping_add(1);
            self.free.borrow_mut().push(index);
        }
    }

    pub fn is_done(&self, ticket: Ticket) -> bool {
        let accesses = self.accesses.borrow();
        accesses[ticket.0 as u32 as usize].generation != (ticket.0 >> 32) as u32
    }

    /// Whom an access asks that is not [done](Messages::is_done).
    pub fn target(&self, ticket: Ticket) -> u32 {
        self.accesses.borrow()[ticket.0 as u32 as usize].target
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

    /// Errors: nothing is under way that this answers; why.
    fn answered(&self, target: u32, bytes: &[u8]) -> Result<(), &'static str> {
        let Answer { ticket, from, data } = Answer::decode(bytes).ok_or("its lengths do not agree")?;
        let (index, generation, pending) = (ticket as u32, (ticket >> 32) as u32, &self.pending[target as usize]);
        let mut accesses = self.accesses.borrow_mut();
        let access = accesses.get_mut(index as usize);
        let access = access.filter(|access| (access.generation, access.parts > 0) == (generation, true));
        let access = access.filter(|_| pending.get() > 0).ok_or("it answers nothing that is under way")?;
        if !data.is_empty() {
            let into = access.into.as_ref().map(Side::of);
            let fits =
                |into: &Side<'_>| from.checked_add(data.len() as u64).is_some_and(|end| end <= into.len() as u64);
            let into = into.filter(fits).ok_or("it has more data than was asked for")?;
            // SAFETY: the program leaves it to the access until that is complete, and it has room for these bytes.
            unsafe { into.scatter(from as usize, data) };
        }
        access.parts -= 1;
        drop(accesses);
        self.finish(index);
        self.under_way.set(self.under_way.get() - 1);
        pending.set(pending.get() - 1);
        Ok(())
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
            let (status, sender) = (message.status, self.adi.sender(&message));
            // One byte more shows that it is too long.
            let mut bytes = vec![0u8; status.bytes.min(LONGEST as u64 + 1) as usize];
            let data = Data::Bytes(bytes.as_mut_ptr(), bytes.len());
            let request = Some(self.adi.imrecv(message, data));
            let from = status.source as u32;
            self.arriving.borrow_mut().push_back(Arriving { from, sender, tag: status.tag, bytes, request });
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

    /// False: not now.
    fn handle(&self, message: &Arriving, serve: &mut impl FnMut(&Asked<'_>, &mut Vec<u8>) -> Served) -> bool {
        let done = match message.tag {
            _ if self.procs.get(message.from as usize) != Some(&message.sender) => Err("its sender has another rank"),
            ANSWER => self.answered(message.from, &message.bytes).map(|()| true),
            REQUEST => match Asked::decode(message.from, &message.bytes) {
                Some(asked) => self.handle_request(&asked, serve),
                None => Err("no member asks that"),
            },
            _ => Err("it is neither a request nor an answer"),
        };
        done.unwrap_or_else(|why| {
            self.report_damaged(message, why);
            true
        })
    }

    fn handle_request(
        &self, asked: &Asked<'_>, serve: &mut impl FnMut(&Asked<'_>, &mut Vec<u8>) -> Served,
    ) -> Result<bool, &'static str> {
        let mut answer = Vec::with_capacity(ANSWER_HEAD + if asked.kind == Kind::Put { 0 } else { asked.len });
        for word in [asked.ticket, asked.from, 0] {
            answer.extend_from_slice(&word.to_le_bytes());
        }
        match serve(asked, &mut answer) {
            Served::Done if asked.ticket == NO_ANSWER => return Ok(true),
            Served::Done => {}
            Served::Later => return Ok(true),
            Served::NotNow => return Ok(false),
            Served::Damaged(why) => return Err(why),
        }
        let len = (answer.len() - ANSWER_HEAD) as u64;
        answer[16..24].copy_from_slice(&len.to_le_bytes());
        self.send(asked.origin, ANSWER, answer);
        Ok(true)
    }

    /// Reports a message that no correct member sends.
    #[cold]
    fn report_damaged(&self, message: &Arriving, why: &'static str) {
        let kind = message.bytes.first().copied().unwrap_or(u8::MAX);
        let what = if message.tag == REQUEST { packet::name(kind) } else { "answer of a window" };
        let (from, len) = (message.sender, message.bytes.len());
        self.adi.report_damaged(&Damaged { from, what: Some(what), kind, len, why });
    }
}
