//! Several processes at one window at the same time.

mod common;

use common::{MEMORIES, Memory, Process, everywhere, fine, row, words, world, world_of};
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_layout::{Basic, Type};
use tern_rma::{Target, Window};
use tern_settings::Mechanism;

/// Sums of all processes, one element at a time and many at once, arrive complete: words, numbers that
/// need a guard, and such as lie across words.
#[test]
fn no_accumulate_is_lost() {
    const ROUNDS: usize = 60;
    const MANY: usize = 300;
    everywhere(3, |process, memory, mechanism| {
        let made = process.window(memory, 16 << 10, mechanism);
        let (window, origins) = (&made.window, &made.origins);
        let at =
            |rank: u32, ty, count, byte: i64| Target { rank, displacement: origins[rank as usize] + byte, ty, count };
        let (int, double) = (Type::basic(Basic::Int32), Type::basic(Basic::Float64));
        let (complex, short) = (Type::basic(Basic::ComplexDouble), Type::basic(Basic::Int16));
        for round in 0..ROUNDS {
            let rank = (process.rank + round as u32) % process.size;
            let ones = vec![1i32; MANY];
            fine(window.accumulate(&row(&ones, &int), &at(rank, &int, MANY as i64, 0), Op::Sum));
            let one = 1i32;
            let mut old = 0i32;
            let started =
                window.fetch_and_op((&raw const one).cast(), (&raw mut old).cast(), &at(rank, &int, 1, 40), Op::Sum);
            process.complete(window, started);
            let halves = vec![0.5f64; 9];
            fine(window.accumulate(&row(&halves, &double), &at(rank, &double, 9, 4096), Op::Sum));
            // Doubles that no instruction combines, since they are not aligned.
            fine(window.accumulate(&row(&halves, &double), &at(rank, &double, 9, 5001), Op::Sum));
            let pairs = [[1.0f64, 2.0]; 5];
            fine(window.accumulate(&row(&pairs, &complex), &at(rank, &complex, 5, 6000), Op::Sum));
            let small = [3i16; 7];
            fine(window.accumulate(&row(&small, &short), &at(rank, &short, 7, 7000), Op::Sum));
            window.flush(rank).expect("a flush");
        }
        window.flush_all().expect("a flush");
        process.barrier();
        let all = ROUNDS as i32;
        let mut ints = vec![all; MANY];
        ints[10] *= 2;
        assert_eq!(words::<i32>(made.base, MANY), ints, "{memory:?}, {mechanism:?}");
        assert_eq!(words::<f64>(made.base.wrapping_add(4096), 9), [f64::from(all) / 2.0; 9]);
        // SAFETY: in the window, unaligned.
        let odd: Vec<f64> =
            (0..9).map(|i| unsafe { made.base.add(5001).cast::<f64>().add(i).read_unaligned() }).collect();
        assert_eq!(odd, [f64::from(all) / 2.0; 9], "{memory:?}, {mechanism:?}");
        assert_eq!(words::<[f64; 2]>(made.base.wrapping_add(6000), 5), [[f64::from(all), 2.0 * f64::from(all)]; 5]);
        assert_eq!(words::<i16>(made.base.wrapping_add(7000), 7), [3 * all as i16; 7]);
        process.free(made);
    });
}

/// Every ticket is drawn once, by fetch-and-add and by compare-and-swap.
#[test]
fn tickets_are_drawn_once() {
    const DRAWS: usize = 50;
    everywhere(3, |process, memory, mechanism| {
        let made = process.window(memory, 4096, mechanism);
        let (window, ty) = (&made.window, Type::basic(Basic::Uint64));
        let at = |byte: i64| Target { rank: 1, displacement: made.origins[1] + byte, ty: &ty, count: 1 };
        let (one, mut mine) = (1u64, Vec::new());
        for _ in 0..DRAWS {
            let mut ticket = u64::MAX;
            let started = window.fetch_and_op((&raw const one).cast(), (&raw mut ticket).cast(), &at(0), Op::Sum);
            process.complete(window, started);
            mine.push(ticket);
            let mut seen = 0u64;
            loop {
                let (compare, next, mut found) = (seen, seen + 1, u64::MAX);
                let [origin, compare] = [&raw const next, &raw const compare].map(|at| at.cast());
                let started = window.compare_and_swap(origin, compare, (&raw mut found).cast(), &at(64));
                process.complete(window, started);
                if found == seen {
                    break;
                }
                seen = found;
            }
            mine.push(1000 + seen);
        }
        // Each marks its tickets where all see them.
        let bytes = Type::basic(Basic::Uint8);
        for ticket in &mine {
            let target =
                Target { rank: 1, displacement: made.origins[1] + 1000 + *ticket as i64, ty: &bytes, count: 1 };
            fine(window.accumulate(&row(&[1u8], &bytes), &target, Op::Sum));
        }
        window.flush_all().expect("a flush");
        process.barrier();
        if process.rank == 1 {
            let drawn = DRAWS * 3;
            let marks = words::<u8>(made.base.wrapping_add(1000), 2000);
            for first in [0, 1000] {
                assert!(
                    marks[first..first + drawn].iter().all(|mark| *mark == 1),
                    "{memory:?}, {mechanism:?}: {marks:?}"
                );
            }
        }
        process.free(made);
    });
}

fn get(window: &Window, process: &Process<'_>, target: &Target<'_>) -> u64 {
    let mut value = 0u64;
    let started = window.get(&Data::Bytes((&raw mut value).cast(), 8), target);
    process.complete(window, started);
    value
}

/// Under an exclusive lock what is read and written belongs together; those that share a lock, or have
/// one for all, see no half of it.
#[test]
fn locks_exclude() {
    const ROUNDS: u64 = 40;
    everywhere(4, |process, memory, mechanism| {
        let made = process.window(memory, 4096, mechanism);
        let (window, ty) = (&made.window, Type::basic(Basic::Uint64));
        let at =
            |rank: u32, byte: i64| Target { rank, displacement: made.origins[rank as usize] + byte, ty: &ty, count: 1 };
        for round in 0..ROUNDS {
            let rank = (round % 2) as u32;
            if process.rank < 2 {
                window.lock(rank, true).expect("a lock");
                let value = get(window, process, &at(rank, 0)) + 1;
                for byte in [0, 2048] {
                    let data = Data::Bytes((&raw const value).cast_mut().cast(), 8);
                    fine(window.put(&data, &at(rank, byte)));
                    window.flush(rank).expect("a flush");
                }
                window.unlock(rank).expect("unlock");
            } else {
                let all = process.rank == 3;
                if all {
                    window.lock_all().expect("a lock")
                } else {
                    window.lock(rank, false).expect("a lock")
                }
                for rank in if all { 0..2 } else { rank..rank + 1 } {
                    let (first, second) = (get(window, process, &at(rank, 0)), get(window, process, &at(rank, 2048)));
                    assert_eq!(first, second, "{memory:?}, {mechanism:?}");
                }
                if all { window.unlock_all().expect("unlock") } else { window.unlock(rank).expect("unlock") }
            }
        }
        window.flush_all().expect("a flush");
        process.barrier();
        if process.rank < 2 {
            window.lock(process.rank, true).expect("a lock");
            assert_eq!(words::<u64>(made.base, 1), [ROUNDS], "{memory:?}, {mechanism:?}");
            window.unlock(process.rank).expect("unlock");
        }
        process.free(made);
    });
}

/// Each process puts to its neighbours in epochs of post, start, complete and wait, and each time what it
/// reads is of this epoch.
#[test]
fn epochs_of_groups() {
    const ROUNDS: u64 = 30;
    everywhere(4, |process, memory, mechanism| {
        let made = process.window(memory, 4096, mechanism);
        let (window, ty) = (&made.window, Type::basic(Basic::Uint64));
        let (size, me) = (process.size, process.rank);
        let neighbours = [(me + 1) % size, (me + size - 1) % size];
        for round in 1..=ROUNDS {
            window.post(&neighbours, true);
            window.start(&neighbours, true).expect("a start");
            let value = round * 10 + u64::from(me);
            for rank in neighbours {
                let target =
                    Target { rank, displacement: made.origins[rank as usize] + 8 * i64::from(me), ty: &ty, count: 1 };
                fine(window.put(&Data::Bytes((&raw const value).cast_mut().cast(), 8), &target));
            }
            window.complete().expect("complete");
            match round % 2 {
                0 => window.wait().expect("a wait"),
                _ => while !window.test().expect("a test") {},
            }
            let now = words::<u64>(made.base, 4);
            for rank in neighbours {
                assert_eq!(now[rank as usize], round * 10 + u64::from(rank), "{memory:?}, {mechanism:?}");
            }
        }
        process.free(made);
    });
}

/// What is put before a fence is there after it, for everybody; what is got, too.
#[test]
fn fences_separate() {
    const ROUNDS: u64 = 20;
    everywhere(3, |process, memory, mechanism| {
        let made = process.window(memory, 64 << 10, mechanism);
        let (window, ty) = (&made.window, Type::basic(Basic::Uint64));
        const MANY: usize = 2000;
        let next = (process.rank + 1) % process.size;
        let target = Target { rank: next, displacement: made.origins[next as usize], ty: &ty, count: MANY as i64 };
        for round in 1..=ROUNDS {
            let values = vec![round * 10 + u64::from(process.rank); MANY];
            fine(window.put(&row(&values, &ty), &target));
            window.fence(true, true).expect("a fence");
            let before = u64::from((process.rank + process.size - 1) % process.size);
            assert_eq!(words::<u64>(made.base, MANY), vec![round * 10 + before; MANY], "{memory:?}, {mechanism:?}");
            let mut back = vec![0u64; MANY];
            fine(window.get(&row(&back, &ty), &target));
            window.fence(true, true).expect("a fence");
            assert_eq!(std::hint::black_box(&mut back)[..], values);
        }
        process.free(made);
    });
}

/// A target that does not call the library is written to and read from, unless messages must do it.
#[test]
fn targets_need_not_take_part() {
    // Members that lie apart serve each other, and so do those whose memory is missed.
    let serve = |memory: &Memory| memory.is_missing() || matches!(memory, Memory::Apart | Memory::DynamicApart);
    for memory in MEMORIES.into_iter().filter(|memory| !serve(memory)) {
        for mechanism in [Mechanism::Auto, Mechanism::Cma] {
            world_of(memory, 2, |process| {
                let made = process.window(memory, 4096, mechanism);
                let needs = !memory.is_card()
                    && made.window.peers().size() > 1
                    && !process.adi.mcm().direct().expect("it").pair(1 - process.rank).kernel;
                if process.rank == 0 && !needs {
                    let ty = Type::basic(Basic::Uint64);
                    let target = Target { rank: 1, displacement: made.origins[1], ty: &ty, count: 1 };
                    made.window.lock(1, true).expect("a lock");
                    let value = 5u64;
                    fine(made.window.put(&row(&[value], &ty), &target));
                    fine(made.window.accumulate(&row(&[value], &ty), &target, Op::Sum));
                    made.window.unlock(1).expect("unlock");
                    assert_eq!(get(&made.window, process, &target), 10);
                    process.end_turn();
                } else if needs {
                    eprintln!("skipped: the kernel does not copy here");
                    process.end_turn();
                } else {
                    // No progress of the library, only this.
                    process.sleep_until_turn(1);
                }
                process.free(made);
            });
        }
    }
}

/// Rows and single elements meet at the same place, by turns and at once.
#[test]
fn long_rows_and_single_elements_mix() {
    rows_and_single_elements_mix::<1500>(120);
}

/// The same with so many rows that they count for a change of the guard's mode, there and back.
#[test]
fn short_rows_and_single_elements_mix() {
    rows_and_single_elements_mix::<40>(400);
}

fn rows_and_single_elements_mix<const MANY: usize>(rounds: i64) {
    let last = MANY as i64 - 1;
    everywhere(3, |process, memory, mechanism| {
        let made = process.window(memory, 16 << 10, mechanism);
        let (window, ty) = (&made.window, Type::basic(Basic::Int64));
        let place =
            |element: i64, count| Target { rank: 2, displacement: made.origins[2] + 8 * element, ty: &ty, count };
        let (ones, mut before) = (vec![1i64; MANY], vec![0i64; MANY]);
        let mut swaps = 0;
        for round in 0..rounds {
            // At times there is one row among many single elements, at times rows alone.
            if (round + i64::from(process.rank)) % 3 == 0 || round > rounds - 10 {
                let result = row(&before, &ty);
                let started = window.get_accumulate(&row(&ones, &ty), &result, &place(0, MANY as i64), Op::Sum);
                process.complete(window, started);
                let before = std::hint::black_box(&mut before);
                assert!(before.iter().all(|value| (0..=20 * rounds).contains(value)), "half an element");
            }
            for element in [7, 8, last] {
                let (one, mut old) = (1i64, 0i64);
                let started =
                    window.fetch_and_op((&raw const one).cast(), (&raw mut old).cast(), &place(element, 1), Op::Sum);
                process.complete(window, started);
                let (next, compare, mut found) = (old + 2, old + 1, 0i64);
                let [origin, compare] = [&raw const next, &raw const compare].map(|at| at.cast());
                let started = window.compare_and_swap(origin, compare, (&raw mut found).cast(), &place(element, 1));
                process.complete(window, started);
                swaps += u64::from(found == old + 1 && element == 8);
            }
        }
        window.flush_all().expect("a flush");
        let swaps: u64 = process.tell([swaps]).iter().map(|[swaps]| swaps).sum();
        if process.rank == 2 {
            let rows: i64 = (0..3)
                .map(|rank| (0..rounds).filter(|round| (round + rank) % 3 == 0 || *round > rounds - 10).count() as i64)
                .sum();
            let mut expected = vec![rows; MANY];
            let now = words::<i64>(made.base, MANY);
            expected[8] += 3 * rounds + swaps as i64;
            (expected[7], expected[MANY - 1]) = (now[7], now[MANY - 1]);
            assert_eq!(now, expected, "{memory:?}, {mechanism:?}");
        }
        process.free(made);
    });
}

/// Rows that take several parts, on private memory whose owner waits, works on its own memory, or does neither: none of
/// them is lost, and those of one origin come in their order.
#[test]
fn long_rows_are_combined_by_whoever_is_there() {
    const ROUNDS: i64 = 30;
    const MANY: usize = 9001;
    for memory in [Memory::Private, Memory::DynamicPrivate] {
        world(3, |process| {
            let made = process.window(memory, 8 * (MANY + 2), Mechanism::Auto);
            let (window, ty) = (&made.window, Type::basic(Basic::Int64));
            let place = Target { rank: 0, displacement: made.origins[0] + 8, ty: &ty, count: MANY as i64 };
            let rows = |value: i64| vec![value; MANY];
            for round in 0..ROUNDS {
                // Whoever does not take part in a round waits at its end; the owner also without a look at the library.
                if process.rank != 0 || round % 3 == 0 {
                    fine(window.accumulate(&row(&rows(1), &ty), &place, Op::Sum));
                    window.flush(0).expect("a flush");
                }
                if round % 5 == 0 {
                    process.barrier();
                }
            }
            process.barrier();
            if process.rank == 0 {
                let mut expected = vec![2 * ROUNDS + (ROUNDS + 2) / 3; MANY + 2];
                (expected[0], expected[MANY + 1]) = (0, 0);
                assert_eq!(words::<i64>(made.base, MANY + 2), expected, "{memory:?}");
            }
            process.barrier();
            if process.rank == 1 {
                for value in 1..20i64 {
                    fine(window.accumulate(&row(&rows(value), &ty), &place, Op::Replace));
                    fine(window.accumulate(&row(&rows(value), &ty), &place, Op::Sum));
                    let mut before = vec![0i64; MANY];
                    let result = row(&before, &ty);
                    fine(window.get_accumulate(&result, &result, &place, Op::NoOp));
                    window.flush(0).expect("a flush");
                    let before = std::hint::black_box(&mut before);
                    assert!(before.iter().all(|now| *now == 2 * value), "{value}: {before:?}");
                }
            }
            process.barrier();
            process.free(made);
        });
    }
}
