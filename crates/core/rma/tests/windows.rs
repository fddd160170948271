//! What windows are made of: memory that comes and goes, where it lies, and where it ends.

mod common;

use common::{MECHANISMS, Memory, everywhere, fine, missing, row, words, world, world_of};
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_layout::{Basic, Type};
use tern_rma::{Exposure, Target};
use tern_settings::Mechanism;

/// What is beyond a window is not touched, and the error says so.
#[test]
fn ranges_are_checked() {
    use tern_rma::Class;
    everywhere(2, |process, memory, mechanism| {
        let made = process.window(memory, 256, mechanism);
        let (window, ty) = (&made.window, Type::basic(Basic::Uint64));
        let origin = made.origins[1];
        let far = Type::resized(0, 1 << 40, &ty).expect("resized");
        let below = Type::hvector(2, 1, -64, &ty).expect("backwards");
        if process.rank == 0 {
            let value = [7u64; 64];
            for (displacement, ty, count) in [
                (249, &ty, 1),
                (256, &ty, 1),
                (-1, &ty, 1),
                (i64::MAX - origin, &ty, 1),
                (i64::MIN / 2, &ty, 1),
                (0, &ty, 33),
                (0, &ty, i64::MAX / 8),
                (0, &far, 2),
                (0, &far, 1 << 30),
                (63, &below, 1),
            ] {
                let data = row(&value[..1], &Type::basic(Basic::Uint64));
                let target = Target { rank: 1, displacement: origin.wrapping_add(displacement), ty, count };
                let results = [
                    window.put(&data, &target),
                    window.get(&data, &target),
                    window.accumulate(&data, &target, Op::Sum),
                    window.get_accumulate(&data, &data, &target, Op::NoOp),
                ];
                for error in results.map(|result| result.expect_err("out of range")) {
                    assert_eq!(error.class, Class::Range, "{error}");
                }
            }
            // At the edge, and nothing at all anywhere.
            let last = Target { rank: 1, displacement: origin + 248, ty: &ty, count: 1 };
            fine(window.put(&row(&value[..1], &ty), &last));
            let none = Target { rank: 1, displacement: origin + 9999, ty: &ty, count: 0 };
            fine(window.put(&Data::none(), &none));
            // More than there is room for, and what no operation takes.
            let two = row(&value[..2], &ty);
            assert_eq!(window.put(&two, &last).expect_err("too much").class, Class::Argument);
            let both = Target { count: 2, displacement: origin, ..last };
            assert_eq!(window.get(&row(&value[..1], &ty), &both).expect_err("too much").class, Class::Argument);
            let real = Type::basic(Basic::Float64);
            let number = Target { ty: &real, ..last };
            let wrong = window.accumulate(&row(&value[..1], &real), &number, Op::Band).expect_err("no bits");
            assert_eq!(wrong.class, Class::Operation);
            window.flush(1).expect("a flush");
        }
        window.fence(true, true).expect("a fence");
        if process.rank == 1 {
            let mut expected = [0u64; 32];
            expected[31] = 7;
            assert_eq!(words::<u64>(made.base, 32), expected, "{memory:?}, {mechanism:?}");
        }
        process.free(made);
    });
}

/// Memory comes and goes; what was detached cannot be reached.
#[test]
fn memory_is_attached_and_detached() {
    use tern_rma::Class;
    for mechanism in MECHANISMS {
        world(2, |process| {
            let window = process.make(Exposure::Dynamic, 1, mechanism).expect("a window");
            let direct = process.adi.mcm().direct().expect("shared memory");
            let shared = direct.allocate(8192, tern_mcm::AfterFork::Shared).expect("shared memory");
            let mut private = vec![0u64; 1024];
            let own: *mut u8 = private.as_mut_ptr().cast();
            window.attach(own, 1000).expect("room");
            assert_eq!(window.attach(own.wrapping_add(999), 8).expect_err("it overlaps").class, Class::Attach);
            window.attach(own.wrapping_add(1000), 1000).expect("it is beside");
            window.attach(shared, 8192).expect("room");
            window.attach(own.wrapping_add(7000), 0).expect("nothing");
            let addresses = process.tell([own as u64, shared as u64]);
            let ty = Type::basic(Basic::Uint64);
            let put = |value: u64, address: u64| {
                let target = Target { rank: 1 - process.rank, displacement: address as i64, ty: &ty, count: 1 };
                let result = window.put(&Data::Bytes((&raw const value).cast_mut().cast(), 8), &target);
                window.flush_all().expect("a flush");
                result.map(drop)
            };
            let [theirs, common] = addresses[1 - process.rank as usize];
            put(6 << 32 | 6, theirs + 996).expect("across two that adjoin");
            for (value, address) in
                [(1, theirs), (2, theirs + 1000), (3, common), (4, common + 8184), (5, theirs + 1992)]
            {
                put(value, address).expect("it is attached");
            }
            assert_eq!(put(6, theirs + 1996).expect_err("it is attached half").class, Class::Range);
            assert_eq!(put(6, common + 8185).expect_err("beyond").class, Class::Range);
            process.barrier();
            assert_eq!([private[0], private[124], private[125], private[249]], [1, 6 << 32, 2, 5]);
            assert_eq!(words::<u64>(shared, 1024)[1023], 4);
            // Others come where the first have been.
            window.detach(own).expect("it is attached");
            window.detach(own.wrapping_add(7000)).expect("it is attached");
            assert_eq!(window.detach(own).expect_err("it is gone").class, Class::Attach);
            window.detach(shared).expect("it is attached");
            process.barrier();
            assert_eq!(put(7, theirs).expect_err("detached").class, Class::Range);
            assert_eq!(put(7, common).expect_err("detached").class, Class::Range);
            put(8, theirs + 1008).expect("still attached");
            process.barrier();
            window.attach(shared.wrapping_add(4096), 4096).expect("room");
            process.barrier();
            put(9, common + 4096).expect("attached again");
            assert_eq!(put(9, common + 4095).expect_err("in front").class, Class::Range);
            process.barrier();
            assert_eq!(words::<u64>(shared, 1024)[512], 9);
            assert_eq!(private[126], 8);
            window.free();
            // SAFETY: the window is over.
            unsafe { direct.free(shared) };
        });
    }
}

/// As much as a table holds can be attached, and no more.
#[test]
fn tables_fill_up() {
    world(2, |process| {
        let window = process.make(Exposure::Dynamic, 1, Mechanism::Auto).expect("a window");
        let memory = vec![0u64; 4000];
        let at = |index: usize| memory[index..].as_ptr().cast_mut().cast::<u8>();
        let most = (0..4000).take_while(|&index| window.attach(at(index), 8).is_ok()).count();
        assert_eq!(most, 2047);
        window.detach(at(77)).expect("it is attached");
        window.attach(at(3999), 8).expect("there is room again");
        window.free();
    });
}

/// Parts of a shared window are where the standard says, and everybody sees them.
#[test]
fn shared_memory_is_laid_out_as_asked() {
    for contiguous in [true, false] {
        world(3, |process| {
            let bytes = [100, 0, 5000][process.rank as usize];
            let window = process.make(Exposure::Shared { bytes, contiguous }, 4, Mechanism::Auto).expect("a window");
            for (index, byte) in (0..bytes).enumerate() {
                // SAFETY: own memory.
                unsafe { window.base().add(byte).write(process.rank as u8 * 50 + index as u8 % 50) };
            }
            window.fence(true, true).expect("a fence");
            let parts: Vec<_> = (0..3).map(|rank| window.shared(rank).expect("shared")).collect();
            assert_eq!(parts.iter().map(|part| part.1).collect::<Vec<_>>(), [100, 0, 5000]);
            for (rank, (at, len, unit)) in parts.iter().enumerate() {
                // SAFETY: mapped.
                let seen = unsafe { std::slice::from_raw_parts(*at, *len) };
                assert!(seen.iter().enumerate().all(|(i, byte)| *byte == rank as u8 * 50 + i as u8 % 50));
                assert_eq!(*unit, 4);
            }
            let distance = parts[2].0 as usize - parts[0].0 as usize;
            assert!(if contiguous { distance == 100 } else { distance.is_multiple_of(64) });
            window.free();
        });
    }
}

/// Windows of different sizes, units, one with nothing; one after the other gives its memory back.
#[test]
fn windows_come_and_go() {
    world(3, |process| {
        for round in 0..40 {
            let bytes = [0, 64, 1 << 20][(process.rank as usize + round) % 3];
            let unit = 1 << process.rank;
            let window = process.make(Exposure::Allocate { bytes }, unit, Mechanism::Auto).expect("a window");
            let ty = Type::basic(Basic::Uint64);
            for rank in 0..3 {
                assert_eq!(window.bytes(rank), [0, 64, 1 << 20][(rank as usize + round) % 3]);
                assert_eq!(window.disp_unit(rank), 1 << rank);
                if window.bytes(rank) > 0 {
                    let target = Target { rank, displacement: 8, ty: &ty, count: 1 };
                    fine(window.accumulate(&row(&[1u64], &ty), &target, Op::Sum));
                }
            }
            window.fence(true, true).expect("a fence");
            if bytes > 0 {
                let at = window.base().wrapping_add(8 << process.rank);
                assert_eq!(words::<u64>(at, 1), [3], "fresh memory is zeros");
            }
            window.free();
        }
    });
}

/// What the kernel has missed goes by messages, and the next access by the kernel again.
#[test]
fn memory_that_was_missed_is_asked_for_again() {
    const ROUNDS: u64 = 12;
    for memory in [Memory::Missing, Memory::DynamicMissing] {
        world_of(memory, 2, |process| {
            let made = process.window(memory, 4096, Mechanism::Auto);
            let other = 1 - process.rank;
            if !process.adi.mcm().direct().expect("shared memory").pair(other).kernel {
                eprintln!("skipped: the kernel does not copy here");
                return process.free(made);
            }
            let (window, ty) = (&made.window, Type::basic(Basic::Uint64));
            let target = Target { rank: other, displacement: made.origins[other as usize], ty: &ty, count: 512 };
            let before = missing::copies();
            for round in 1..=ROUNDS {
                fine(window.put(&row(&[round; 512], &ty), &target));
                window.fence(true, true).expect("a fence");
                assert_eq!(words::<u64>(made.base, 512), [round; 512], "{memory:?}");
                window.fence(true, true).expect("a fence");
            }
            assert_eq!(u64::from(missing::copies() - before), ROUNDS, "{memory:?}");
            process.free(made);
        });
    }
}
