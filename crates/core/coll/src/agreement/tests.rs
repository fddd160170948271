//! Connections that break after any number of messages: nobody waits for ever, and who gets something gets all of it.

use super::*;
use crate::Peers;
use crate::operation::Operation;
use crate::transport::Transport;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use tern_adi::{Pattern, Status, Tuple};

/// Sender, receiver and tag.
type Envelope = (Proc, Proc, i32);
/// The bytes, or what is said in place of them.
type Message = Result<Vec<u8>, u32>;
/// A receive, until it is taken.
type Posted = Option<(Envelope, Data)>;
type Outcome = Option<Result<Vec<[u64; 2]>, Proc>>;

/// Messages under way, and a pair between which only so many come through.
#[derive(Default)]
struct Net {
    queues: RefCell<HashMap<Envelope, VecDeque<Message>>>,
    cut: Option<(Proc, Proc)>,
    left: Cell<usize>,
    /// Who sends to the other one of the pair waits for the receipt, and learns of the cut, whether the message has come before or not.
    sends_wait: bool,
    /// What comes although its receiver learns of the cut instead, where that is so.
    ghosts: RefCell<HashMap<Envelope, Vec<u8>>>,
    /// Such sends.
    sends: RefCell<Vec<Envelope>>,
    receives: RefCell<Vec<Posted>>,
}

impl Net {
    fn is_cut(&self, a: Proc, b: Proc) -> bool {
        self.cut == Some((a.min(b), a.max(b)))
    }
}

/// Numbers of sends begin here, those of receives with 0.
const SENDS: usize = 1 << 32;

struct At<'a>(&'a Net, Proc);

impl At<'_> {
    fn put(&self, to: Proc, tuple: Tuple, message: Message) {
        let At(net, me) = *self;
        if net.is_cut(me, to) {
            let left = net.left.get();
            net.left.set(left.saturating_sub(1));
            if left == 0 {
                let came = message.ok().filter(|_| net.sends_wait);
                came.map(|bytes| net.ghosts.borrow_mut().insert((me, to, tuple.tag), bytes));
                return;
            }
        }
        net.queues.borrow_mut().entry((me, to, tuple.tag)).or_default().push_back(message);
    }
}

impl Transport for At<'_> {
    type Request = usize;

    fn isend(&self, to: Proc, tuple: Tuple, data: Data) -> Option<usize> {
        let Data::Bytes(start, len) = data else { panic!("words are dense") };
        // SAFETY: a part of the table.
        self.put(to, tuple, Ok(unsafe { std::slice::from_raw_parts(start, len) }.to_vec()));
        let mut sends = self.0.sends.borrow_mut();
        (self.0.sends_wait && self.0.is_cut(self.1, to)).then(|| {
            sends.push((self.1, to, tuple.tag));
            SENDS + sends.len() - 1
        })
    }

    fn send_missing(&self, to: Proc, tuple: Tuple, word: u32) {
        self.put(to, tuple, Err(word));
    }

    fn irecv(&self, from: Proc, pattern: Pattern, data: Data) -> usize {
        let mut receives = self.0.receives.borrow_mut();
        receives.push(Some(((from, self.1, pattern.tag), data)));
        receives.len() - 1
    }

    fn is_done(&self, request: usize) -> bool {
        if let Some(send) = request.checked_sub(SENDS) {
            let is_taken = |way| self.0.queues.borrow().get(way).is_none_or(VecDeque::is_empty);
            return self.0.left.get() == 0 || is_taken(&self.0.sends.borrow()[send]);
        }
        let receives = self.0.receives.borrow();
        let (way, _) = receives[request].as_ref().expect("not taken yet");
        let come = self.0.queues.borrow().get(way).is_some_and(|queue| !queue.is_empty());
        come || self.0.is_cut(way.0, way.1) && self.0.left.get() == 0
    }

    fn take(&self, request: usize) -> Status {
        if let Some(send) = request.checked_sub(SENDS) {
            let (_, to, tag) = self.0.sends.borrow()[send];
            return if self.0.left.get() == 0 { Status::without(to, 0, tag) } else { Status::default() };
        }
        let (way, data) = self.0.receives.borrow_mut()[request].take().expect("not taken yet");
        let message = self.0.queues.borrow_mut().get_mut(&way).and_then(VecDeque::pop_front);
        let mut status = Status { source: way.0 as i32, tag: way.2, bytes: 0, lost: 0, cancelled: false, mark: 0 };
        match (message, data) {
            (Some(Err(word)), _) => status = Status::instead(word, way.0 as i32, way.2),
            (Some(Ok(bytes)), Data::Bytes(start, len)) => {
                assert_eq!(bytes.len(), len, "both sides say as much");
                // SAFETY: a part of the table.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, len) };
                status.bytes = len as u64;
            }
            (_, data) => {
                (status.lost, status.mark) = (u64::MAX, way.0);
                if let (Some(bytes), Data::Bytes(start, _)) = (self.0.ghosts.borrow_mut().remove(&way), data) {
                    // SAFETY: a part of the table.
                    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
                }
            }
        }
        status
    }
}

/// Runs one exchange of those that `take_part`; who is left without an outcome waits for ever.
fn exchange(net: &Net, members: &[Rc<Peers>], take_part: &[bool], round: u32) -> Vec<Outcome> {
    let mut tables: Vec<Table> =
        members.iter().map(|peers| Table::new(peers, &[u64::from(peers.rank), u64::from(round)])).collect();
    let operations: Vec<Operation<usize>> =
        members.iter().zip(&mut tables).map(|(peers, table)| Operation::new(peers, table.schedule(peers))).collect();
    operations.iter().for_each(Operation::start);
    // As often as there can be steps.
    for _ in 0..8 * members.len() {
        for (rank, operation) in operations.iter().enumerate().filter(|(rank, _)| take_part[*rank]) {
            operation.advance(&At(net, rank as Proc));
        }
    }
    let end = |(rank, operation): (usize, &Operation<usize>)| {
        (take_part[rank] && operation.is_done()).then(|| outcome(&tables[rank], &members[rank], operation.lack()))
    };
    operations.iter().enumerate().map(end).collect()
}

#[test]
fn nobody_waits_and_nobody_gets_half() {
    for size in 1..=9u32 {
        let pairs = (0..size).flat_map(|a| (a + 1..size).map(move |b| Some((a, b)))).chain([None]);
        let cuts = pairs.flat_map(|cut| (0..6).map(move |left| (cut, left)));
        for ((cut, left), sends_wait) in cuts.flat_map(|cut| [(cut, false), (cut, true)]) {
            let net = Net { cut, left: Cell::new(left), sends_wait, ..Net::default() };
            let procs: Rc<[Proc]> = (0..size).collect();
            let members: Vec<Rc<Peers>> =
                (0..size).map(|rank| Rc::new(Peers::new(3, rank, procs.clone(), None, 0))).collect();
            let mut take_part = vec![true; size as usize];
            for round in 0..4 {
                let outcomes = exchange(&net, &members, &take_part, round);
                for rank in 0..size as usize {
                    let case = format!(
                        "rank {rank} of {size}, {cut:?} cut after {left} messages, sends wait: {sends_wait}, round {round}"
                    );
                    match (&outcomes[rank], take_part[rank]) {
                        (None, false) => {}
                        (None, true) => panic!("{case}: waits for ever"),
                        (Some(Ok(all)), _) => {
                            let whole = (0..size).map(|rank| [u64::from(rank), u64::from(round)]).collect::<Vec<_>>();
                            assert_eq!(*all, whole, "{case}");
                        }
                        (Some(Err(_)), _) => {
                            assert!(cut.is_some(), "{case}: fails");
                            take_part[rank] = false;
                        }
                    }
                }
            }
        }
    }
}
