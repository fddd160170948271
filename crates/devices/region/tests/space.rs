//! Spaces of several real processes.

mod support;

use std::sync::atomic::Ordering;
use support::calls::{LEN, cookie, declare, lines_about_cma, no_cma, only_pipe, read, run, run_mut, shared, write};
use support::{Process, pattern, processes, processes_with_other_pids, skip};
use tern_region::Run;
use tern_region::space::{DONE, Direction, Error, Flags, Mechanism, Offload, Options, PENDING, Protection, Standing};

/// Shared memory, private memory, and private memory that cannot be reached but through its owner.
const KINDS: [Options; 3] = [
    Options { mapped: true, module: false, cma: false, server: false, dma: false },
    Options { mapped: false, module: false, cma: true, server: false, dma: false },
    Options { mapped: false, module: false, cma: false, server: false, dma: false },
];

#[test]
fn protection_and_bounds() {
    fn owner(process: &mut Process) {
        let space = process.join(Options::default());
        let all: Vec<(&mut [u8], Protection)> =
            [Protection::Read, Protection::Write, Protection::ReadWrite].map(|kind| (shared(&space, LEN), kind)).into();
        for (index, (memory, kind)) in all.iter().enumerate() {
            process.post(index + 1, declare(&space, memory, *kind, Flags::NONE).to_bits());
        }
        process.serve_until_post(&space, 10);
        // Nothing was moved by what was refused: only the third region has changed, where it was
        // allowed.
        assert!(all[0].0.iter().chain(all[1].0.iter()).all(|byte| *byte == 0));
        assert_eq!(all[2].0.iter().filter(|byte| **byte != 0).count(), 5 * KINDS.len());
    }
    fn user(process: &mut Process) {
        let [only_read, only_write, both] = [1, 2, 3].map(|index| cookie(process, index));
        for options in KINDS {
            let space = process.join(options);
            let mut bytes = vec![1; 10];
            assert_eq!(read(&space, only_write.at(0), &mut bytes), Err(Error::Protection));
            assert_eq!(write(&space, only_read.at(0), &bytes), Err(Error::Protection));
            assert_eq!(space.copy(only_write.at(0), both.at(0), 1), Err(Error::Protection));
            assert_eq!(space.copy(both.at(0), only_read.at(0), 1), Err(Error::Protection));
            let len = LEN as u64;
            for offset in [len - 9, len, len + 1, u64::MAX, u64::MAX - 5] {
                let out = Err(Error::Bounds { offset, bytes: 10, len });
                assert_eq!(read(&space, both.at(offset), &mut bytes), out);
                assert_eq!(write(&space, both.at(offset), &bytes), out);
                assert_eq!(space.copy(both.at(offset), both.at(0), 10), out);
                assert_eq!(space.copy(both.at(0), both.at(offset), 10), out);
            }
            // SAFETY: a buffer of our own, which is too short.
            let short = unsafe { space.inline_copy(&run(&bytes), both.at(0), 11, Direction::Read) };
            assert_eq!(short, Err(Error::Bounds { offset: 0, bytes: 11, len: 10 }));
            assert!(bytes.iter().all(|byte| *byte == 1));
            // What is allowed is done; nothing is allowed everywhere.
            assert_eq!(write(&space, both.at(process.look(20) + 7), &bytes[..5]), Ok(()));
            process.post(20, process.look(20) + 5);
            assert_eq!(space.copy(both.at(len), both.at(len), 0), Ok(()));
            assert_eq!(read(&space, only_read.at(len - 10), &mut bytes), Ok(()));
            assert!(bytes.iter().all(|byte| *byte == 0));
        }
        process.post(10, 1);
    }
    processes("protection_and_bounds", owner, &[user]);
}

#[test]
fn one_use_of_many() {
    fn owner(process: &mut Process) {
        let space = process.join(Options { server: true, ..Options::default() });
        let memory = shared(&space, LEN);
        memory.copy_from_slice(&pattern(LEN, 1));
        for turn in 0..30 {
            let cookie = declare(&space, memory, Protection::Read, Flags::SINGLE_USE);
            process.post(1 + turn, cookie.to_bits());
            let uses = [100, 200].map(|user| process.await_post(user + turn));
            // 1 stands for refused, 2 for used.
            assert_eq!(uses.iter().sum::<u64>(), 3, "turn {turn}");
            // It is gone, or just going.
            let gone = space.destroy_region(cookie);
            assert!(matches!(gone, Ok(()) | Err(Error::NoRegion)));
            assert_eq!(space.destroy_region(cookie), Err(Error::NoRegion));
        }
    }
    fn user(process: &mut Process) {
        for turn in 0..30 {
            let options = KINDS[turn % KINDS.len()];
            let space = process.join(options);
            let cookie = cookie(process, 1 + turn);
            let mut bytes = vec![0; 1000];
            // What is refused is no use.
            assert!(write(&space, cookie.at(0), &bytes).is_err());
            assert!(read(&space, cookie.at(LEN as u64), &mut bytes).is_err());
            let result = read(&space, cookie.at(5000), &mut bytes);
            match &result {
                Ok(()) => assert!(bytes == pattern(LEN, 1)[5000..6000]),
                Err(error) => assert_eq!(*error, Error::NoRegion),
            }
            assert_eq!(read(&space, cookie.at(0), &mut bytes), Err(Error::NoRegion));
            process.post(100 * process.me as usize + turn, 1 + u64::from(result.is_ok()));
        }
    }
    processes("one_use_of_many", owner, &[user, user]);
}

#[test]
fn a_third_process_copies_between_two() {
    // From every kind of memory into every kind.
    fn source(process: &mut Process) {
        let space = process.join(Options::default());
        let private = pattern(LEN, 1);
        let common = shared(&space, LEN);
        common.copy_from_slice(&private);
        process.post(1, declare(&space, &private, Protection::Read, Flags::NONE).to_bits());
        process.post(2, declare(&space, common, Protection::Read, Flags::NONE).to_bits());
        process.serve_until_post(&space, 10);
    }
    fn target(process: &mut Process) {
        let space = process.join(Options::default());
        let memory = [&mut vec![0; LEN][..], shared(&space, LEN)];
        process.post(3, declare(&space, memory[0], Protection::Write, Flags::NONE).to_bits());
        process.post(4, declare(&space, memory[1], Protection::Write, Flags::NONE).to_bits());
        for turn in 0..KINDS.len() * 4 {
            process.serve_until_post(&space, 20 + turn);
            let bytes = &*memory[turn % 2];
            // SAFETY: they change between the turns, by others.
            let bytes: Vec<u8> = bytes.iter().map(|byte| unsafe { std::ptr::from_ref(byte).read_volatile() }).collect();
            let expected = &pattern(LEN, 1)[1000..LEN - 1000];
            assert!(bytes[2000..] == *expected, "turn {turn}");
            assert!(bytes[..2000].iter().all(|byte| *byte == 0));
            bytes_clear(memory[turn % 2].as_ptr());
            process.post(50 + turn, 1);
        }
        process.post(10, 1);
        process.serve_until_post(&space, 11);
    }
    fn bytes_clear(at: *const u8) {
        // SAFETY: our own memory, which nobody else uses between the turns.
        unsafe { at.cast_mut().write_bytes(0, LEN) };
    }
    fn copier(process: &mut Process) {
        let from = [1, 2].map(|index| cookie(process, index));
        let to = [3, 4].map(|index| cookie(process, index));
        for (kind, options) in KINDS.iter().enumerate() {
            let space = process.join(*options);
            for turn in 0..4 {
                let (from, to) = (from[turn / 2], to[turn % 2]);
                space.copy(from.at(1000), to.at(2000), LEN as u64 - 2000).expect("a copy");
                process.post(20 + 4 * kind + turn, 1);
                process.await_post(50 + 4 * kind + turn);
            }
        }
        process.post(11, 1);
    }
    processes("a_third_process_copies_between_two", source, &[target, copier]);
}

#[test]
fn asynchronous_copies_have_a_status() {
    fn owner(process: &mut Process) {
        let space = process.join(Options { server: true, ..Options::default() });
        let private = pattern(10 * LEN, 1);
        process.post(1, declare(&space, &private, Protection::Read, Flags::NONE).to_bits());
        // Only the copy thread answers from here on.
        process.await_post(10);
    }
    fn user(process: &mut Process) {
        let cookie = cookie(process, 1);
        let expected = pattern(10 * LEN, 1);
        for options in [Options::default(), only_pipe()] {
            let space = process.join(options);
            let mut bytes = vec![0; 10 * LEN];
            let start = |bytes: &mut [u8], offload| {
                // SAFETY: the buffer stays until the copy is over.
                unsafe {
                    space.start_inline_copy(&run_mut(bytes), cookie.at(0), bytes.len() as u64, Direction::Read, offload)
                }
            };
            // By this process: nothing happens before it polls.
            let status = start(&mut bytes, Offload::Never).expect("a copy");
            assert!(!status.is_offloaded());
            assert_eq!(status.word().load(Ordering::Acquire), PENDING);
            assert!(bytes.iter().all(|byte| *byte == 0));
            let mut polls = 0;
            let result = process.until(|_| {
                polls += 1;
                space.poll(&status)
            });
            assert_eq!((result, space.poll(&status)), (Ok(()), Some(Ok(()))));
            assert!(polls > 1 && bytes == expected);
            assert_eq!(status.word().load(Ordering::Acquire), DONE);
            // By the copy thread: it ends without a poll.
            bytes.fill(0);
            let status = start(&mut bytes, Offload::Always).expect("a copy");
            assert!(status.is_offloaded());
            process.until(|_| (status.word().load(Ordering::Acquire) == DONE).then_some(()));
            assert!(bytes == expected);
            // By whoever is there.
            bytes.fill(0);
            let status = start(&mut bytes, Offload::WhenIdle).expect("a copy");
            assert_eq!(space.wait(&status), Ok(()));
            assert!(bytes == expected);
            // Many at once, some of them given up.
            let mut many: Vec<Vec<u8>> = (0..20).map(|_| vec![0; 10 * LEN]).collect();
            let all: Vec<_> = many
                .iter_mut()
                .enumerate()
                .map(|(index, bytes)| {
                    start(bytes, if index % 2 == 0 { Offload::Never } else { Offload::Always }).expect("a copy")
                })
                .collect();
            for (index, status) in all.into_iter().enumerate() {
                if index % 3 == 0 {
                    drop(status);
                } else {
                    assert_eq!(space.wait(&status), Ok(()));
                    assert!(many[index] == expected, "copy {index}");
                }
            }
            // Every hold is free again: one is taken by each.
            let mut one = [0];
            let all: Vec<_> = (0..64).map(|_| start(&mut one, Offload::Never).expect("a copy")).collect();
            assert_eq!(start(&mut one, Offload::Never).map(|_| ()), Err(Error::Busy));
            drop(all);
            assert_eq!(read(&space, cookie.at(1), &mut one), Ok(()));
            assert_eq!(one[0], expected[1]);
        }
        process.post(10, 1);
    }
    processes("asynchronous_copies_have_a_status", owner, &[user]);
}

#[test]
fn a_destroyed_region_is_left_alone() {
    // The owner destroys a region while two processes copy from it all the time, and then writes over
    // the memory: nobody may see that.
    fn owner(process: &mut Process) {
        let space = process.join(Options { server: true, ..Options::default() });
        let private = vec![0u8; LEN];
        let common = shared(&space, LEN);
        for turn in 0..40 {
            let memory = if turn % 2 == 0 { private.as_ptr() } else { common.as_ptr() }.cast_mut();
            // SAFETY: our own memory, in no region now.
            unsafe { memory.write_bytes(1, LEN) };
            // SAFETY: as `declare`.
            let cookie = unsafe { space.create_region(&[Run::new(memory, LEN)], Protection::Read, Flags::NONE) };
            let cookie = cookie.expect("a region");
            process.post(1 + turn, cookie.to_bits());
            // Both have copied at least once.
            for user in [100, 200] {
                process.await_post(user + turn);
            }
            assert_eq!(space.destroy_region(cookie), Ok(()));
            // SAFETY: in no region any more.
            unsafe { memory.write_bytes(2, LEN) };
        }
    }
    fn user(process: &mut Process) {
        let options = if process.me == 1 { Options::default() } else { only_pipe() };
        let space = process.join(options);
        let mut bytes = vec![0; LEN];
        for turn in 0..40 {
            let cookie = cookie(process, 1 + turn);
            loop {
                match read(&space, cookie.at(0), &mut bytes) {
                    Ok(()) => assert!(bytes.iter().all(|byte| *byte == 1), "turn {turn}"),
                    Err(error) => {
                        assert_eq!(error, Error::NoRegion);
                        break;
                    }
                }
                process.post(100 * process.me as usize + turn, 1);
            }
        }
    }
    processes("a_destroyed_region_is_left_alone", owner, &[user, user]);
}

#[test]
fn memory_that_is_not_there_is_a_fault() {
    fn owner(process: &mut Process) {
        let space = process.join(Options::default());
        // SAFETY: none; the test wants to know what becomes of a program that declares nonsense.
        let cookie =
            unsafe { space.create_region(&[Run::new(64 as *const u8, 4096)], Protection::ReadWrite, Flags::NONE) };
        process.post(1, cookie.expect("a region").to_bits());
        process.post(2, declare(&space, &[1; 8], Protection::Read, Flags::NONE).to_bits());
        process.serve_until_post(&space, 10);
    }
    fn user(process: &mut Process) {
        let space = process.join(Options::default());
        let cookie = cookie(process, 1);
        let mut word = [0u8; 8];
        let good = self::cookie(process, 2);
        assert_eq!(read(&space, good.at(0), &mut word), Ok(()));
        if space.standing(0, Mechanism::Cma) == Standing::Works {
            assert_eq!(read(&space, cookie.at(0), &mut word), Err(Error::Fault { member: 0 }));
            assert_eq!(write(&space, cookie.at(0), &word), Err(Error::Fault { member: 0 }));
        } else {
            skip("memory_that_is_not_there_is_a_fault", "no CMA on this machine");
        }
        process.post(10, 1);
    }
    processes("memory_that_is_not_there_is_a_fault", owner, &[user]);
}

#[test]
fn shared_memory_needs_neither_permission_nor_owner() {
    fn owner(process: &mut Process) {
        let space = process.join(no_cma());
        let memory = shared(&space, LEN);
        memory.copy_from_slice(&pattern(LEN, 1));
        process.post(1, declare(&space, memory, Protection::ReadWrite, Flags::NONE).to_bits());
        // It does not look after its space.
        process.await_post(10);
        assert!(memory[..] == pattern(LEN, 5));
    }
    fn user(process: &mut Process) {
        let space = process.join(no_cma());
        let cookie = cookie(process, 1);
        let mut bytes = vec![0; LEN];
        assert_eq!(read(&space, cookie.at(0), &mut bytes), Ok(()));
        assert!(bytes == pattern(LEN, 1));
        assert_eq!(write(&space, cookie.at(0), &pattern(LEN, 5)), Ok(()));
        process.post(10, 1);
    }
    processes("shared_memory_needs_neither_permission_nor_owner", owner, &[user]);
}

#[test]
fn a_process_of_another_pid_namespace_is_reached() {
    // Each takes the other's number for that of a stranger, or of nobody: neither may touch whoever
    // that is, nor take the other for dead.
    fn first(process: &mut Process) {
        let space = process.join(Options { server: true, ..Options::default() });
        let private = pattern(LEN, 1);
        process.post(1, declare(&space, &private, Protection::ReadWrite, Flags::NONE).to_bits());
        let cookie = cookie(process, 2);
        let mut bytes = vec![0; LEN];
        assert_eq!(read(&space, cookie.at(0), &mut bytes), Ok(()));
        assert!(bytes == pattern(LEN, 2));
        assert_eq!(space.standing(1, Mechanism::Cma), Standing::Left);
        process.post(10, 1);
        assert_eq!(lines_about_cma(&process.last_words()), 1, "one line says why");
        assert!(private == pattern(LEN, 3));
    }
    fn second(process: &mut Process) {
        assert_eq!(std::process::id(), 1);
        let space = process.join(Options { server: true, ..Options::default() });
        let private = pattern(LEN, 2);
        process.post(2, declare(&space, &private, Protection::Read, Flags::NONE).to_bits());
        let cookie = cookie(process, 1);
        assert_eq!(write(&space, cookie.at(0), &pattern(LEN, 3)), Ok(()));
        process.await_post(10);
    }
    processes_with_other_pids("a_process_of_another_pid_namespace_is_reached", first, &[second]);
}
