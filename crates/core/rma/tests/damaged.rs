//! Messages to windows that no correct member sends: each is told, and nothing else happens by it.

mod common;

use common::{Process, fine, row, words, world};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use tern_adi::{Damaged, Data, SendMode, Sent, Tuple};
use tern_coll::ops::Op;
use tern_damage::{Change, damage};
use tern_layout::{Basic, Type};
use tern_rma::{Exposure, Target, Window};
use tern_settings::Mechanism;

// As they are on the wire.
const REQUEST: i32 = 0;
const ANSWER: i32 = 1;
const PUT: u64 = 0;
const GET: u64 = 1;
const COMBINE: u64 = 2;
const SWAP: u64 = 4;
const LOCK: u64 = 5;
const UNLOCK: u64 = 6;
const POST: u64 = 7;
const FIND: u64 = 9;
const NO_ANSWER: u64 = u64::MAX;
/// Of no access of process 1, nor with one byte changed.
const TICKET: u64 = 5 << 32 | 5;

/// Words of a window, and in front of it and behind it.
const WORDS: usize = 8;

/// A window of process 0, and what it and the other one were told.
struct Scene<'a> {
    process: &'a Process<'a>,
    window: Rc<Window>,
    context: u32,
    /// Where the window of process 0 begins.
    base: u64,
    memory: Vec<u64>,
    told: Rc<RefCell<Vec<Damaged>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Apart,
    Near,
    Dynamic,
}

const SHAPES: [Shape; 3] = [Shape::Apart, Shape::Near, Shape::Dynamic];

impl<'a> Scene<'a> {
    fn new(process: &'a Process<'a>, shape: Shape) -> Scene<'a> {
        let told = Rc::new(RefCell::new(Vec::new()));
        let tell = told.clone();
        process.adi.on_damage(move |damaged| tell.borrow_mut().push(*damaged));
        let mut memory = vec![0u64; 3 * WORDS];
        let base: *mut u8 = memory[WORDS..].as_mut_ptr().cast();
        let (existing, peers) = (Exposure::Existing { base, bytes: 8 * WORDS }, process.peers());
        let context = peers.context - 1;
        let window = match shape {
            Shape::Apart => Window::apart(process.adi, peers, existing, 1),
            Shape::Near => Window::with(process.adi, peers, existing, 1, Mechanism::Pipe),
            Shape::Dynamic => Window::apart(process.adi, peers, Exposure::Dynamic, 1),
        };
        let window = window.expect("a window");
        if shape == Shape::Dynamic {
            window.attach(base, 8 * WORDS).expect("room");
        }
        let [base] = process.tell([base as u64])[0];
        Scene { process, window, context, base, memory, told }
    }

    /// Process 1 sends a message to the window of process 0.
    fn forge(&self, source: i32, tag: i32, bytes: &[u8]) {
        let (adi, mut bytes) = (self.process.adi, bytes.to_vec());
        let data = Data::Bytes(bytes.as_mut_ptr(), bytes.len());
        let tuple = Tuple { context: self.context, source, tag };
        if let Sent::Pending(request) = adi.isend(0, tuple, data, SendMode::Standard) {
            adi.wait_until(&mut || adi.is_done(request));
            adi.take(request);
        }
    }

    /// The window works, and nothing was written beside it.
    fn finish(self, shape: Shape) {
        let Scene { process, window, base, memory, .. } = self;
        process.barrier();
        if process.rank == 1 {
            let ty = Type::basic(Basic::Uint64);
            let values = [7u64; WORDS];
            let displacement = if shape == Shape::Dynamic { base as i64 } else { 0 };
            fine(window.put(&row(&values, &ty), &Target { rank: 0, displacement, ty: &ty, count: WORDS as i64 }));
        }
        window.fence(true, true).expect("a fence");
        if process.rank == 0 {
            let expected = [[0; WORDS], [7; WORDS], [0; WORDS]].concat();
            assert_eq!(words::<u64>(memory.as_ptr().cast(), 3 * WORDS), expected, "{shape:?}");
        }
        window.free();
    }
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A request with one run, if `runs` is 1, and zeros for its data.
fn request(
    (kind, op, basic): (u64, Op, Basic), ticket: u64, len: u64, run: Option<(u64, u64)>, data: usize,
) -> Vec<u8> {
    let what = kind | (op as u64) << 8 | (basic as u64) << 16;
    let head = [what, ticket, 0, len, u64::from(run.is_some()), data as u64];
    let run = run.map_or(Vec::new(), |(at, units)| vec![at, units]);
    [bytes(&head), bytes(&run), vec![0; data]].concat()
}

/// What cannot be right: the rank that it says it comes from, its tag, its bytes.
fn impossible(base: u64, shape: Shape) -> Vec<(i32, i32, Vec<u8>)> {
    let end = base + 8 * WORDS as u64;
    let dense = |kind| (kind, Op::Replace, Basic::Byte);
    let sum = (COMBINE, Op::Sum, Basic::Int64);
    let mut all: Vec<(i32, i32, Vec<u8>)> = Vec::new();
    for at in [0, base - 8, base - 1, end - 7, end, u64::MAX - 3] {
        all.push((1, REQUEST, request(dense(PUT), 5, 8, Some((at, 8)), 8)));
        all.push((1, REQUEST, request(dense(GET), 5, 8, Some((at, 8)), 0)));
        all.push((1, REQUEST, request(sum, 5, 8, Some((at, 1)), 8)));
        all.push((1, REQUEST, request(dense(SWAP), 5, 8, Some((at, 1)), 16)));
    }
    all.push((1, REQUEST, request(dense(PUT), 5, 8, Some((base, 9)), 8)));
    all.push((1, REQUEST, request(dense(GET), 5, 65, Some((base, 65)), 0)));
    all.push((1, REQUEST, request(dense(UNLOCK), 5, 0, None, 0)));
    all.push((1, REQUEST, request(dense(10), 5, 0, None, 0)));
    all.push((1, REQUEST, request(dense(POST), 5, 0, None, 0)));
    all.push((1, REQUEST, vec![0; 47]));
    all.push((1, REQUEST, vec![0; 100_000]));
    all.push((1, ANSWER, bytes(&[0, 0, 0])));
    all.push((1, ANSWER, bytes(&[77, 0, 0])));
    all.push((1, ANSWER, bytes(&[0, 0])));
    all.push((1, 2, vec![]));
    let put = request(dense(PUT), 5, 8, Some((base, 8)), 8);
    all.extend([0, 2, 99, -7].map(|source| (source, REQUEST, put.clone())));
    if shape == Shape::Near {
        all.push((1, REQUEST, request(dense(LOCK), 5, 0, None, 0)));
        all.push((1, REQUEST, request(dense(POST), NO_ANSWER, 0, None, 0)));
    }
    if shape != Shape::Dynamic {
        all.push((1, REQUEST, request(dense(FIND), 5, 1, Some((base, 8)), 0)));
    }
    all
}

#[test]
fn what_no_member_sends_is_told_and_ignored() {
    for shape in SHAPES {
        world(2, |process| {
            let scene = Scene::new(process, shape);
            let all = impossible(scene.base, shape);
            for (at, (source, tag, bytes)) in all.iter().enumerate() {
                if process.rank == 1 {
                    scene.forge(*source, *tag, bytes);
                } else {
                    process.adi.wait_until(&mut || scene.told.borrow().len() > at);
                    let told = scene.told.borrow()[at];
                    assert!(told.from == 1 && told.what.is_some(), "{shape:?}, message {at}: {told:?}");
                }
                process.barrier();
            }
            assert_eq!(scene.told.borrow().len(), if process.rank == 0 { all.len() } else { 0 }, "{shape:?}");
            scene.finish(shape);
        });
    }
}

#[test]
fn a_damaged_message_is_described() {
    let why = "it names memory that is not in the window, or no longer";
    let damaged = Damaged { from: 3, what: Some("put to a window"), kind: 0, len: 72, why };
    assert_eq!(damaged.to_string(), format!("a damaged put to a window (kind 0, 72 bytes): {why}"));
}

/// A request as a member may send it, at some place around the window, and changes to it.
fn forged() -> impl Strategy<Value = (i32, u64, usize, usize, u64, u64, Vec<Change>)> {
    let kind = prop_oneof![0..5u64, 0..10u64];
    let changes = prop::collection::vec(any::<Change>(), 0..3);
    (-1..3i32, kind, 0..Op::ALL.len(), 0..Basic::ALL.len(), 0..4u64, 0..80u64, changes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    /// Whatever a message says, nobody dies of it, and nothing beside the window is changed.
    #[test]
    fn any_request_is_survived(
        shape in prop::sample::select(SHAPES.to_vec()),
        all in prop::collection::vec(forged(), 1..40),
    ) {
        world(2, |process| {
            let scene = Scene::new(process, shape);
            for (tag, kind, op, basic, count, at, changes) in all.iter().filter(|_| process.rank == 1) {
                let (op, basic) = (Op::ALL[*op], Basic::ALL[*basic]);
                let len = count * if *kind < 2 { 1 } else { basic.size() as u64 };
                let data = match kind {
                    1 => 0,
                    4 => 2 * len,
                    _ if *kind > 4 || op == Op::NoOp => 0,
                    _ => len,
                };
                let run = (*kind < 5 || *kind == FIND).then_some((scene.base + at - 8, *count));
                let whole = request((*kind, op, basic), TICKET, len, run, data as usize);
                scene.forge(1, if *tag < 0 { REQUEST } else { *tag }, &damage(&whole, changes));
            }
            scene.finish(shape);
        });
    }
}
