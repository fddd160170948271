//! How operations run: several at once, persistent ones, wrong amounts, user functions that come
//! back, and equal bits everywhere.

mod common;

use common::Random;
use common::memory::{any_shape, even};
use common::network::{Network, bridge, crowd, group, run};
use common::operators::{add, jumble, operator};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use tern_coll::ops::Op;
use tern_coll::*;
use tern_layout::{Basic, Type};

/// Members with their process numbers, as the network wants them.
fn listed<'a>(members: &[Rc<Peers>], operations: &'a [Operation<usize>]) -> Vec<(usize, &'a Operation<usize>)> {
    let proc = |p: &Rc<Peers>| p.procs[p.rank as usize] as usize;
    members.iter().map(proc).cycle().zip(operations).collect()
}

fn buffer_of<T>(values: &mut [T], ty: &Rc<Type>) -> Buffer {
    Buffer { base: values.as_mut_ptr().cast(), count: values.len() as i64, ty: ty.clone() }
}

/// Broadcasts from different roots and sums, all active at the same time.
#[test]
fn many_at_once_do_not_mix() {
    let int = Type::basic(Basic::Int32);
    let sum = Operator::Predefined(Op::Sum);
    for size in 1..=6 {
        let members = group(size, Selection::default());
        let mut values: Vec<Vec<i32>> = Vec::new();
        for turn in 0..8 {
            for rank in 0..size {
                values.push(vec![(100 * turn + rank) as i32; 3]);
            }
        }
        let mut operations = Vec::new();
        for (i, list) in values.iter_mut().enumerate() {
            let (turn, rank) = (i / size, i % size);
            let (peers, buffer) = (&members[rank], buffer_of(list, &int));
            let schedule = match turn % 2 {
                0 => bcast(peers, &buffer, Root::Rank((turn % size) as u32)),
                _ => allreduce(peers, None, &buffer, &sum),
            };
            operations.push(Operation::new(peers, schedule));
        }
        for operation in &operations {
            operation.start();
        }
        Network::new(size, size as u64).run(&listed(&members, &operations));
        for (i, list) in values.iter().enumerate() {
            let turn = i / size;
            let expected = match turn % 2 {
                0 => 100 * turn + turn % size,
                _ => (0..size).map(|rank| 100 * turn + rank).sum(),
            };
            assert_eq!(*list, [expected as i32; 3], "turn {turn}, rank {}", i % size);
        }
    }
}

/// Two persistent operations, started in another order on each rank, three times over.
#[test]
fn persistent_ones_may_start_in_any_order() {
    let int = Type::basic(Basic::Int64);
    let sum = Operator::Predefined(Op::Sum);
    let size = 5;
    let members = group(size, Selection::default());
    let mut sums: Vec<[i64; 2]> = vec![[0; 2]; size];
    let mut heads: Vec<[i64; 4]> = vec![[0; 4]; size];
    let mut operations = Vec::new();
    for rank in 0..size {
        let schedule = allreduce(&members[rank], None, &buffer_of(&mut sums[rank], &int), &sum);
        operations.push(Operation::persistent(&members[rank], schedule));
    }
    for rank in 0..size {
        let schedule = bcast(&members[rank], &buffer_of(&mut heads[rank], &int), Root::Rank(3));
        operations.push(Operation::persistent(&members[rank], schedule));
    }
    let network = Network::new(size, 11);
    for turn in 0..3 {
        // Raw buffers are in use: values change only between runs, as in MPI.
        for rank in 0..size {
            sums[rank] = [rank as i64, turn];
            heads[rank] = [rank as i64 + turn; 4];
            let (first, second) = (&operations[rank], &operations[size + rank]);
            let order = if rank % 2 == 0 { [first, second] } else { [second, first] };
            for operation in order {
                operation.start();
            }
        }
        network.run(&listed(&members, &operations));
        for rank in 0..size {
            assert_eq!(sums[rank], [10, 5 * turn]);
            assert_eq!(heads[rank], [3 + turn; 4]);
        }
    }
}

/// Two operations whose numbers are taken in one order, started in another on each rank.
#[test]
fn reserved_ones_may_start_in_any_order() {
    let int = Type::basic(Basic::Int64);
    let sum = Operator::Predefined(Op::Sum);
    let size = 5;
    let members = group(size, Selection::default());
    let mut sums: Vec<[i64; 2]> = (0..size as i64).map(|rank| [rank, 1]).collect();
    let mut others: Vec<[i64; 2]> = (0..size as i64).map(|rank| [100 * rank, 7]).collect();
    let mut operations = Vec::new();
    for values in [&mut sums, &mut others] {
        for rank in 0..size {
            let schedule = allreduce(&members[rank], None, &buffer_of(&mut values[rank], &int), &sum);
            let mut operation = Operation::new(&members[rank], schedule);
            operation.reserve();
            operations.push(operation);
        }
    }
    for rank in 0..size {
        let (first, second) = (&operations[rank], &operations[size + rank]);
        let order = if rank % 2 == 0 { [first, second] } else { [second, first] };
        for operation in order {
            operation.start();
        }
    }
    Network::new(size, 11).run(&listed(&members, &operations));
    for rank in 0..size {
        assert_eq!(sums[rank], [10, 5]);
        assert_eq!(others[rank], [1000, 35]);
    }
}

/// An operation that is done does nothing, and one that was never started is done.
#[test]
fn done_before_the_start_and_after_the_end() {
    let members = group(2, Selection::default());
    let operation: Operation<usize> = Operation::new(&members[0], barrier(&members[0]));
    let network = Network::new(2, 0);
    assert!(operation.is_done() && operation.advance(&network.port(1)));
    operation.start();
    assert!(!operation.is_done());
    assert!(!operation.advance(&network.port(1)), "a barrier cannot pass alone");
}

/// The root tells each of the three others of its region. They answer, and get the data in a message where they could not copy. No
/// segment is passed on.
#[test]
fn a_long_broadcast_among_crowded_members_is_one_region() {
    const LONG: usize = 300 << 10;
    let byte = Type::basic(Basic::Byte);
    for (crowded, messages) in [(true, 6..=9), (false, 15..=15)] {
        let members = crowd(4, Selection::default(), crowded);
        let mut buffers: Vec<Vec<u8>> = (0..4).map(|rank| vec![rank as u8; LONG]).collect();
        let schedules = (0..4).map(|i| bcast(&members[i], &buffer_of(&mut buffers[i], &byte), Root::Rank(1))).collect();
        assert!(messages.contains(&run(&members, schedules, 0)));
        assert!(buffers.iter().flatten().all(|&byte| byte == 1));
    }
}

/// All processes get the same bits, even from operations that promise more than they keep.
#[test]
fn allreduce_gives_the_same_bits_everywhere() {
    for &forced in &able(Collective::Allreduce) {
        let mut selection = Selection::default();
        selection.force(Collective::Allreduce, forced);
        for size in (1..=9).chain([16, 17]) {
            for commutative in [true, false] {
                let mut r = Random::new(size as u64);
                let members = group(size, selection);
                let shape = loop {
                    let shape = any_shape(&mut r);
                    if shape.per_unit == 1 {
                        break shape;
                    }
                };
                let op = operator(jumble, commutative);
                let inputs: Vec<_> = (0..size).map(|_| even(&mut r, &shape, 19, 1)).collect();
                let outputs: Vec<_> = (0..size).map(|_| even(&mut r, &shape, 19, 1)).collect();
                let schedules = (0..size)
                    .map(|i| {
                        let output = &outputs[i].buffer;
                        allreduce(&members[i], Some(&inputs[i].buffer), output, &op)
                    })
                    .collect();
                run(&members, schedules, size as u64);
                for output in &outputs {
                    assert_eq!(output.memory.read(0), outputs[0].memory.read(0), "{forced}, {size} processes");
                }
            }
        }
    }
}

/// Predefined operations on a plain type and on pairs with padding between.
#[test]
fn predefined_operations() {
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct DoubleInt {
        value: f64,
        index: i32,
    }
    let pair = Type::basic(Basic::DoubleInt);
    let double = Type::basic(Basic::Float64);
    for &forced in &able(Collective::Allreduce) {
        let mut selection = Selection::default();
        selection.force(Collective::Allreduce, forced);
        for size in 1..=9 {
            let members = group(size, selection);
            let value = |rank: usize, i: usize| ((rank * 7 + i * 5) % 9) as f64;
            let mut sums: Vec<Vec<f64>> = (0..size).map(|rank| (0..30).map(|i| value(rank, i)).collect()).collect();
            let at = |rank, i| DoubleInt { value: value(rank, i), index: rank as i32 };
            let mut least: Vec<Vec<DoubleInt>> = (0..size).map(|rank| (0..30).map(|i| at(rank, i)).collect()).collect();
            let op = Operator::Predefined(Op::Sum);
            let schedules =
                (0..size).map(|i| allreduce(&members[i], None, &buffer_of(&mut sums[i], &double), &op)).collect();
            run(&members, schedules, 1);
            let op = Operator::Predefined(Op::MinLoc);
            let schedules =
                (0..size).map(|i| allreduce(&members[i], None, &buffer_of(&mut least[i], &pair), &op)).collect();
            run(&members, schedules, 2);
            for i in 0..30 {
                let sum: f64 = (0..size).map(|rank| value(rank, i)).sum();
                let first =
                    (0..size).min_by(|&a, &b| value(a, i).total_cmp(&value(b, i))).map(|rank| at(rank, i)).unwrap();
                for rank in 0..size {
                    assert_eq!(sums[rank][i], sum);
                    assert_eq!(least[rank][i], first);
                }
            }
        }
    }
}

/// A user's function that makes progress (which MPI forbids, but must not crash).
#[test]
fn a_user_function_may_come_back() {
    let network = Rc::new(Network::new(3, 4));
    let members = group(3, Selection::default());
    let int = Type::basic(Basic::Uint32);
    let mut values = [[1u32, 2], [3, 4], [5, 6]];
    let slots: Rc<RefCell<Vec<Weak<Operation<usize>>>>> = Rc::default();
    let calls = Rc::new(Cell::new(0));
    let mut operations = Vec::new();
    for rank in 0..3 {
        let (network, slots, calls) = (network.clone(), slots.clone(), calls.clone());
        let function = move |input: *const u8, inout: *mut u8, count: i64, _: &Rc<Type>| {
            let own = slots.borrow()[rank].upgrade().unwrap();
            assert!(!own.advance(&network.port(2 - rank)), "not done while it reduces");
            calls.set(calls.get() + 1);
            let (input, inout) = (input.cast::<u32>(), inout.cast::<u32>());
            for i in 0..count as usize {
                // SAFETY: both hold `count` elements.
                unsafe { *inout.add(i) += *input.add(i) };
            }
        };
        let op = Operator::User { function: Rc::new(function), commutative: true };
        let schedule = allreduce(&members[rank], None, &buffer_of(&mut values[rank], &int), &op);
        operations.push(Rc::new(Operation::new(&members[rank], schedule)));
    }
    *slots.borrow_mut() = operations.iter().map(Rc::downgrade).collect();
    for operation in &operations {
        operation.start();
    }
    let list: Vec<_> = operations.iter().enumerate().map(|(i, o)| (2 - i, &**o)).collect();
    network.run(&list);
    assert_eq!(values, [[9, 12]; 3]);
    assert!(calls.get() >= 3);
}

#[test]
fn reduce_local_takes_the_first_as_the_left_operand() {
    let ty = Type::contiguous(2, &Type::basic(Basic::Int32)).unwrap();
    let (left, mut right) = ([7u32, 1, 5, 2], [3u32, 9, 4, 4]);
    let expected: Vec<u32> = [jumble([7, 1], [3, 9]), jumble([5, 2], [4, 4])].into_iter().flatten().collect();
    let inout = Buffer { base: right.as_mut_ptr().cast(), count: 2, ty };
    // SAFETY: both hold two elements.
    unsafe { reduce_local(left.as_ptr().cast(), &inout, &operator(jumble, false)) };
    assert_eq!(right[..], expected);
    // SAFETY: nothing is touched.
    unsafe { reduce_local(std::ptr::null(), &Buffer { count: 0, ..inout }, &operator(add, true)) };
    assert_eq!(right[..], expected);
}

/// Small collectives need no more messages than their algorithms say.
#[test]
fn messages_are_few() {
    let count = |size: usize, make: &dyn Fn(&Peers) -> Schedule| {
        let members = group(size, Selection::default());
        run(&members, members.iter().map(|p| make(p)).collect(), 5)
    };
    let int = Type::basic(Basic::Int32);
    let mut memory = vec![[0i32; 64]; 2];
    let [a, b] = &mut memory[..] else { unreachable!() };
    let (from, to) = (buffer_of(&mut a[..1], &int), buffer_of(&mut b[..1], &int));
    assert_eq!(count(8, &|p| barrier(p)), 8 * 3);
    assert_eq!(count(8, &|p| bcast(p, &from, Root::Rank(2))), 7);
    assert_eq!(count(1, &|p| allgather(p, Some(&from), &to)), 0);
    let nothing = Buffer { count: 0, ..from.clone() };
    assert_eq!(count(4, &|p| allgather(p, Some(&nothing), &nothing)), 0);
    assert_eq!(count(4, &|p| bcast(p, &nothing, Root::Rank(0))), 0);
}

/// A transport on which every message is done at once, and longer than its receive.
struct TooLong;

impl Transport for TooLong {
    type Request = usize;

    fn isend(&self, _: tern_adi::Proc, _: tern_adi::Tuple, _: tern_adi::Data) -> Option<usize> {
        None
    }

    fn send_missing(&self, _: tern_adi::Proc, _: tern_adi::Tuple, _: u32) {
        unreachable!("nobody is lost")
    }

    fn irecv(&self, _: u32, _: tern_adi::Pattern, data: tern_adi::Data) -> usize {
        data.len()
    }

    fn is_done(&self, _: usize) -> bool {
        true
    }

    fn take(&self, room: usize) -> tern_adi::Status {
        let bytes = room as u64;
        tern_adi::Status { source: 1, bytes, lost: 4, ..Default::default() }
    }
}

#[test]
fn messages_that_are_too_long_are_told() {
    let members = group(3, Selection::default());
    let mut value = [0i32; 2];
    let buffer = buffer_of(&mut value, &Type::basic(Basic::Int32));
    let operation: Operation<usize> = Operation::new(&members[0], bcast(&members[0], &buffer, Root::Rank(1)));
    operation.start();
    assert!(operation.advance(&TooLong));
    let failure = Failure::Truncated(Truncated { source: 1, room: 8, sent: 12 });
    assert_eq!(operation.failure(), Some(failure));
}

/// A transport that notes what is asked of it, on which everything is done at once.
#[derive(Default)]
struct Recorder(RefCell<Vec<tern_adi::Pattern>>);

impl Transport for Recorder {
    type Request = ();

    fn isend(&self, _: tern_adi::Proc, _: tern_adi::Tuple, _: tern_adi::Data) -> Option<()> {
        None
    }

    fn send_missing(&self, _: tern_adi::Proc, _: tern_adi::Tuple, _: u32) {
        unreachable!("nobody is lost")
    }

    fn irecv(&self, _: u32, pattern: tern_adi::Pattern, _: tern_adi::Data) {
        self.0.borrow_mut().push(pattern);
    }

    fn is_done(&self, _: ()) -> bool {
        true
    }

    fn take(&self, _: ()) -> tern_adi::Status {
        tern_adi::Status::default()
    }
}

/// Rank 1 of the own group and rank 1 of the other are different senders.
#[test]
fn groups_of_an_intercommunicator_are_kept_apart() {
    let members = bridge(2, 2, Selection::default());
    let operation: Operation<()> = Operation::new(&members[0], barrier(&members[0]));
    let recorder = Recorder::default();
    operation.start();
    assert!(operation.advance(&recorder));
    let patterns = recorder.0.into_inner();
    let [from_own, from_other] = patterns[..] else { panic!("{patterns:?}") };
    assert_eq!((from_own.source, from_other.source), (1, 0));
    assert_ne!(from_own.tag, from_other.tag);
}
