//! Sequences of accesses against a naive model: any layouts, operations, kinds of memory and mechanisms.
//! One process at a time makes an access, and all look at the memory in the end.

mod common;

use common::{MECHANISMS, MEMORIES, Memory, world_of};
use proptest::prelude::*;
use std::rc::Rc;
use tern_adi::Data;
use tern_coll::ops::{Op, allowed, kernel};
use tern_layout::{Basic, Type};
use tern_rma::Target;

const PROCESSES: u32 = 3;
/// Bytes of each window, and of the memory around origins.
const BYTES: usize = 24 << 10;
/// Most elements of an access.
const MOST: usize = 40;

const BASICS: [Basic; 20] = [
    Basic::Int8,
    Basic::Uint16,
    Basic::Int32,
    Basic::Int64,
    Basic::Uint64,
    Basic::Float16,
    Basic::Float32,
    Basic::Float64,
    Basic::ComplexFloat,
    Basic::ComplexDouble,
    Basic::LongDouble,
    Basic::Integer16,
    Basic::Bool,
    Basic::Byte,
    Basic::TwoInt,
    Basic::DoubleInt,
    Basic::ShortInt,
    Basic::LongDoubleInt,
    Basic::Char,
    Basic::ComplexLongDouble,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Put,
    Get,
    Accumulate,
    GetAccumulate,
    FetchAndOp,
    CompareAndSwap,
}

#[derive(Clone, Debug)]
struct Access {
    kind: Kind,
    origin: u32,
    target: u32,
    op: usize,
    elements: usize,
    shapes: [u8; 3],
    /// Chooses the displacement among those that are possible.
    displacement: u32,
    seed: u8,
    /// One more byte than aligned.
    odd: bool,
}

fn access() -> impl Strategy<Value = Access> {
    let kind = prop::sample::select(vec![
        Kind::Put,
        Kind::Get,
        Kind::Accumulate,
        Kind::GetAccumulate,
        Kind::FetchAndOp,
        Kind::CompareAndSwap,
    ]);
    let shapes = prop::array::uniform3(0..6u8);
    let ranks = (0..PROCESSES, 0..PROCESSES);
    (kind, ranks, 0..Op::ALL.len(), 0..=MOST, shapes, any::<u32>(), 0..60u8, prop::bool::weighted(0.2)).prop_map(
        |(kind, (origin, target), op, elements, shapes, displacement, seed, odd)| Access {
            kind,
            origin,
            target,
            op,
            elements,
            shapes,
            displacement,
            seed,
            odd,
        },
    )
}

/// A layout with `elements` of `basic`, as a type and a count of it.
fn layout(shape: u8, basic: Basic, elements: usize) -> (Rc<Type>, i64) {
    let one = Type::basic(basic);
    let n = elements as i64;
    let extent = basic.extent();
    match shape {
        0 => (one, n),
        1 => (Type::contiguous(n, &one).expect("contiguous"), 1),
        2 => (Type::vector(n, 1, 2, &one).expect("vector"), 1),
        3 => (Type::resized(-extent, 3 * extent, &one).expect("resized"), n),
        4 => {
            let places: Vec<i64> = (0..n).map(|i| (i * 7) % 41).collect();
            (Type::indexed_block(1, &places, &one).expect("indexed"), 1)
        }
        _ => (Type::hvector(n, 1, -2 * extent, &one).expect("backwards"), 1),
    }
}

/// Where each byte of the data lies, relative to the buffer address.
fn places(ty: &Type, count: i64) -> Vec<i64> {
    let len = (count * ty.size()) as u64;
    ty.segments(0, count, 0, len).flat_map(|(at, len)| at..at + len as i64).collect()
}

/// Memory with a buffer address in the middle.
#[derive(Clone, PartialEq, Debug)]
struct Buffer(Vec<u64>);

impl Buffer {
    fn new(fill: u8) -> Buffer {
        Buffer(vec![u64::from_ne_bytes([fill; 8]); BYTES / 8])
    }
    /// Small bytes: as floating-point numbers of any width they are numbers.
    fn random(seed: u8) -> Buffer {
        let mut buffer = Buffer::new(0);
        let mut state = u64::from(seed) + 1;
        for byte in buffer.bytes() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *byte = (state >> 40) as u8 & 0x1f;
        }
        buffer
    }
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the vector's own bytes.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), BYTES) }
    }
    fn middle(&mut self) -> *mut u8 {
        self.bytes()[BYTES / 2..].as_mut_ptr()
    }
    fn packed(&mut self, places: &[i64]) -> Vec<u8> {
        places.iter().map(|at| self.bytes()[(BYTES as i64 / 2 + at) as usize]).collect()
    }
}

/// `target = operand op target` on packed elements; what was there.
fn combine(op: Op, basic: Basic, operand: &[u8], target: &mut [u8]) -> Vec<u8> {
    let (size, extent) = (basic.size() as usize, basic.extent() as usize);
    let old = target.to_vec();
    let kernel = kernel(op, basic).expect("allowed");
    let ty = Type::basic(basic);
    for (operand, target) in operand.chunks(size).zip(target.chunks_mut(size)) {
        let (mut a, mut b) = (vec![0u8; extent], vec![0u8; extent]);
        // SAFETY: vectors of an element each.
        unsafe {
            ty.unpack(a.as_mut_ptr(), 1, 0, operand);
            ty.unpack(b.as_mut_ptr(), 1, 0, target);
            kernel(a.as_ptr(), b.as_mut_ptr(), 1);
            ty.pack(b.as_ptr(), 1, 0, target);
        }
    }
    old
}

/// An operation that the type takes: the given one or the next.
fn operation(index: usize, basic: Basic, fetch: bool) -> Op {
    let takes = |op: &Op| allowed(*op, basic) && kernel(*op, basic).is_some() && (fetch || *op != Op::NoOp);
    let sound = |op: &Op| takes(op) && (*op != Op::Prod || basic.size() <= 8);
    let mut all = Op::ALL.iter().cycle().skip(index).take(Op::ALL.len()).filter(|op| sound(op));
    *all.next().expect("replace, at least")
}

fn run(memory: Memory, mechanism: tern_settings::Mechanism, basic: Basic, accesses: &[Access]) {
    if !memory.knows(mechanism) {
        return;
    }
    world_of(memory, PROCESSES, |process| {
        let made = process.window(memory, BYTES, mechanism);
        let window = &made.window;
        let mut model = vec![vec![0u8; BYTES]; PROCESSES as usize];
        process.barrier();
        for (turn, access) in accesses.iter().enumerate() {
            let single = matches!(access.kind, Kind::FetchAndOp | Kind::CompareAndSwap);
            let elements = if single { 1 } else { access.elements };
            let shapes = if single { [0; 3] } else { access.shapes };
            let (ty, count) = layout(shapes[0], basic, elements);
            let (own, own_count) = layout(shapes[1], basic, elements);
            let (into, into_count) = layout(shapes[2], basic, elements);
            // Somewhere in the window, most often aligned.
            let low = if elements == 0 { 0 } else { places(&ty, count).iter().copied().min().unwrap_or(0) };
            let high = places(&ty, count).iter().map(|at| at + 1).max().unwrap_or(0);
            let room = (BYTES as i64 - (high - low)) / 16;
            let displacement = (i64::from(access.displacement) % room) * 16 - low.div_euclid(16) * 16;
            let displacement = displacement + i64::from(access.odd && displacement + high < BYTES as i64);
            let target = Target {
                rank: access.target,
                displacement: made.origins[access.target as usize] + displacement,
                ty: &ty,
                count,
            };
            let there: Vec<usize> = places(&ty, count).iter().map(|at| (at + displacement) as usize).collect();

            let mut origin = Buffer::random(access.seed);
            let mut compare = Buffer::random(access.seed / 4);
            let mut result = Buffer::new(0xee);
            let (before, mut expected) = (origin.clone(), result.clone());
            let fetch = access.kind != Kind::Accumulate;
            let op = operation(access.op, basic, fetch);

            // The model.
            let mut target_bytes: Vec<u8> = there.iter().map(|&at| model[access.target as usize][at]).collect();
            let operand = origin.packed(&places(&own, own_count));
            let mut got = None;
            match access.kind {
                Kind::Put => target_bytes.copy_from_slice(&operand),
                Kind::Get => got = Some((target_bytes.clone(), &own, own_count)),
                Kind::Accumulate => drop(combine(op, basic, &operand, &mut target_bytes)),
                Kind::GetAccumulate | Kind::FetchAndOp => {
                    got = Some((combine(op, basic, &operand, &mut target_bytes), &into, into_count));
                }
                Kind::CompareAndSwap => {
                    got = Some((target_bytes.clone(), &into, into_count));
                    if target_bytes == compare.packed(&places(&own, own_count)) {
                        target_bytes.copy_from_slice(&operand);
                    }
                }
            }
            for (&at, &byte) in there.iter().zip(&target_bytes) {
                model[access.target as usize][at] = byte;
            }

            process.await_turn(turn);
            if process.rank == access.origin {
                let from = Data::new(origin.middle(), own_count, &own);
                let to = Data::new(result.middle(), into_count, &into);
                let own_result = Data::new(result.middle(), own_count, &own);
                // The short ways, where they may serve it.
                let dense = |ty: &Rc<Type>| ty.named() == Some(basic) && basic.size() == basic.extent();
                let (rank, at, none) = (access.target, target.displacement, std::ptr::null_mut());
                let (given, wanted) = (origin.middle(), result.middle());
                let (what, elements) = ((op, basic), count as usize);
                let combine = |result: *mut u8| {
                    let at_owner = || window.combine_at_owner(given, result, &target, elements, what);
                    window.combine_now(given, result, rank, at, elements, what) || at_owner().expect("an accumulate")
                };
                let swap = |compare: *mut u8| {
                    let at_owner = || window.swap_at_owner(given, compare, wanted, &target, from.len());
                    window.swap_now(given, compare, wanted, rank, at, from.len()) || at_owner().expect("a swap")
                };
                let served = access.seed.is_multiple_of(3)
                    && dense(&ty)
                    && match access.kind {
                        Kind::Put => {
                            let later = || window.put_later(given, from.len(), &target).expect("a put");
                            dense(&own) && (window.put_now(given, rank, at, from.len()) || later())
                        }
                        Kind::Get => dense(&own) && window.get_now(wanted, rank, at, own_result.len()),
                        Kind::Accumulate => dense(&own) && combine(none),
                        Kind::GetAccumulate | Kind::FetchAndOp => dense(&own) && dense(&into) && combine(wanted),
                        Kind::CompareAndSwap => basic.pair().is_none() && swap(compare.middle()),
                    };
                let started = match access.kind {
                    _ if served => Ok(tern_rma::Started::Done),
                    Kind::Put => window.put(&from, &target),
                    Kind::Get => window.get(&own_result, &target),
                    Kind::Accumulate => window.accumulate(&from, &target, op),
                    Kind::GetAccumulate => window.get_accumulate(&from, &to, &target, op),
                    Kind::FetchAndOp => window.fetch_and_op(origin.middle(), result.middle(), &target, op),
                    Kind::CompareAndSwap if basic.pair().is_some() => {
                        // Not for pairs: the same by other means.
                        window.get(&to, &target).expect("a get");
                        window.flush(access.target).expect("a flush");
                        let same =
                            result.packed(&places(&into, into_count)) == compare.packed(&places(&own, own_count));
                        if same { window.put(&from, &target) } else { Ok(tern_rma::Started::Done) }
                    }
                    Kind::CompareAndSwap => {
                        window.compare_and_swap(origin.middle(), compare.middle(), result.middle(), &target)
                    }
                };
                match access.seed % 2 {
                    0 => process.complete(window, started),
                    _ => assert!(started.is_ok(), "an access"),
                }
                window.flush(access.target).expect("a flush");
                if let Some((bytes, ty, count)) = got {
                    for (at, byte) in places(ty, count).iter().zip(bytes) {
                        expected.bytes()[(BYTES as i64 / 2 + at) as usize] = byte;
                    }
                }
                assert!(result == expected, "result of {access:?}, {op:?}, {basic:?}, {memory:?}, {mechanism:?}");
                assert!(origin == before, "the origin has changed: {access:?}");
                process.end_turn();
            }
        }
        process.await_turn(accesses.len());
        window.flush_all().expect("a flush");
        // SAFETY: the window's memory; nobody accesses it now.
        let now = unsafe { std::slice::from_raw_parts(made.base, BYTES) };
        if let Some(at) = (0..BYTES).find(|&at| now[at] != model[process.rank as usize][at]) {
            panic!(
                "byte {at} of rank {} is {:#x}, expected {:#x}: {basic:?}, {memory:?}, {mechanism:?}",
                process.rank, now[at], model[process.rank as usize][at]
            );
        }
        process.free(made);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn accesses_do_what_the_model_does(
        memory in prop::sample::select(MEMORIES.to_vec()),
        mechanism in prop::sample::select(MECHANISMS.to_vec()),
        basic in prop::sample::select(BASICS.to_vec()),
        accesses in prop::collection::vec(access(), 1..40),
    ) {
        run(memory, mechanism, basic, &accesses);
    }
}

/// Each kind of memory with each mechanism, on words.
#[test]
fn every_memory_and_mechanism_is_used() {
    let kinds = [Kind::Put, Kind::GetAccumulate, Kind::Accumulate, Kind::Get, Kind::FetchAndOp, Kind::CompareAndSwap];
    for memory in MEMORIES {
        for mechanism in MECHANISMS {
            let accesses: Vec<Access> = (0..24)
                .map(|index| Access {
                    kind: kinds[index % 6],
                    origin: index as u32 % 3,
                    target: index as u32 / 3 % 3,
                    op: index,
                    elements: index,
                    shapes: [index as u8 % 6, index as u8 % 5, index as u8 % 4],
                    displacement: 3,
                    seed: index as u8,
                    odd: false,
                })
                .collect();
            run(memory, mechanism, Basic::Int64, &accesses);
        }
    }
}

/// What this process, of two, asks of the owner of private memory, over and over until that answers.
fn ask(window: &tern_rma::Window, asked: impl Fn() -> bool) {
    let byte = Type::basic(Basic::Byte);
    while !asked() {
        // It was not there. Only accesses of other kinds lead to another try.
        let got = Data::new(std::ptr::null_mut::<u8>(), 0, &byte);
        let mut bytes = [0u8; 8];
        let into = Data::new(bytes.as_mut_ptr(), 8, &byte);
        let target = Target { rank: 0, displacement: 0, ty: &byte, count: 8 };
        let _ = window.get_accumulate(&got, &into, &target, Op::NoOp).expect("an access");
        std::thread::yield_now();
    }
}

/// Elements of each type and every operation, one and several, in private memory of a process that waits.
#[test]
fn owners_that_wait_do_what_the_model_does() {
    world_of(Memory::Private, 2, |process| {
        let made = process.window(Memory::Private, BYTES, tern_settings::Mechanism::Auto);
        if process.rank == 0 {
            process.await_turn(1);
            return process.free(made);
        }
        let window = &made.window;
        for basic in BASICS.into_iter().filter(|basic| basic.size() == basic.extent()) {
            for (index, elements) in (0..Op::ALL.len()).flat_map(|index| [(index, 1), (index, 5)]) {
                let (op, ty, byte) = (operation(index, basic, true), Type::basic(basic), Type::basic(Basic::Byte));
                let (mut there, mut origin, mut result) = (Buffer::random(1), Buffer::random(2), Buffer::new(0xee));
                let bytes = elements * basic.size() as usize;
                let target = Target { rank: 0, displacement: 16 + index as i64 % 2, ty: &ty, count: elements as i64 };
                let all = Target { ty: &byte, count: bytes as i64, ..target };
                let fetches = op == Op::NoOp || !(index + elements).is_multiple_of(3);

                let put = Data::new(there.middle(), bytes as i64, &byte);
                let _ = window.put(&put, &all).expect("a put");
                let wanted = if fetches { result.middle() } else { std::ptr::null_mut() };
                let given = origin.middle();
                let combined = || window.combine_at_owner(given, wanted, &target, elements, (op, basic));
                ask(window, || combined().expect("an accumulate"));
                let mut now = there.bytes()[BYTES / 2..][..bytes].to_vec();
                let before = combine(op, basic, &origin.bytes()[BYTES / 2..][..bytes], &mut now);
                assert!(!fetches || result.bytes()[BYTES / 2..][..bytes] == before, "{op:?}, {basic:?}, {elements}");
                let get = Data::new(result.middle(), bytes as i64, &byte);
                let _ = window.get(&get, &all).expect("a get");
                assert_eq!(result.bytes()[BYTES / 2..][..bytes], now, "{op:?}, {basic:?}, {elements}");

                // A swap that fails, and one that does not.
                let one = Target { count: 1, ..target };
                let size = basic.size() as usize;
                for compare in [vec![0xff; size], now[..size].to_vec()] {
                    let (wanted, compared) = (result.middle(), compare.as_ptr());
                    ask(window, || window.swap_at_owner(given, compared, wanted, &one, size).expect("a swap"));
                    assert_eq!(result.bytes()[BYTES / 2..][..size], now[..size], "{basic:?}");
                    if compare == now[..size] {
                        now[..size].copy_from_slice(&origin.bytes()[BYTES / 2..][..size]);
                    }
                    let _ = window.get(&get, &all).expect("a get");
                    assert_eq!(result.bytes()[BYTES / 2..][..bytes], now, "{basic:?}");
                }
            }
        }
        process.end_turn();
        process.free(made);
    });
}
