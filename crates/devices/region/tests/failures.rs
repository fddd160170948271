//! Spaces of which a process is killed, or to which the kernel refuses its copies.

mod support;

use std::sync::atomic::Ordering;
use support::calls::{LEN, cookie, declare, lines_about_cma, only_pipe, read, run_mut, shared, write};
use support::{Process, pattern, processes, skip};
use tern_region::space::{Direction, Error, Flags, Mechanism, Offload, Options, Protection, Standing};

#[test]
fn a_killed_user_does_not_keep_a_region() {
    fn owner(process: &mut Process) {
        let space = process.join(Options::default());
        let memory = pattern(10 * LEN, 1);
        let cookie = declare(&space, &memory, Protection::Read, Flags::NONE);
        process.post(1, cookie.to_bits());
        process.await_post(2);
        process.kill(1);
        assert!(!space.is_alive(1));
        // The hold, and a question that was not answered, are those of a dead process.
        assert_eq!(space.destroy_region(cookie), Ok(()));
        assert_eq!(space.progress(), Ok(false));
    }
    fn user(process: &mut Process) {
        let cookie = cookie(process, 1);
        let space = process.join(only_pipe());
        let mut bytes = vec![0; LEN];
        // SAFETY: the buffer stays.
        let status = unsafe {
            space.start_inline_copy(&run_mut(&mut bytes), cookie.at(0), LEN as u64, Direction::Read, Offload::Never)
        };
        let status = status.expect("a copy");
        assert_eq!(space.poll(&status), None);
        process.post(2, 1);
        process.await_post(3);
    }
    processes("a_killed_user_does_not_keep_a_region", owner, &[user]);
}

#[test]
fn an_owner_is_killed_while_its_memory_is_copied() {
    fn copy_until_it_fails(process: &mut Process, options: Options) {
        let cookie = cookie(process, 1);
        let space = process.join(options);
        let mut bytes = vec![0; 20 * LEN];
        let copies = std::sync::atomic::AtomicU32::new(0);
        let error = std::thread::scope(|scope| {
            let copier = scope.spawn(|| {
                loop {
                    if let Err(error) = read(&space, cookie.at(0), &mut bytes) {
                        return error;
                    }
                    assert!(bytes == pattern(20 * LEN, 1));
                    copies.fetch_add(1, Ordering::Relaxed);
                }
            });
            process.until(|_| (copies.load(Ordering::Relaxed) > 2).then_some(()));
            process.kill(1);
            copier.join().expect("a thread")
        });
        assert_eq!(error, Error::PeerGone { member: 1 });
    }
    fn directly(process: &mut Process) {
        copy_until_it_fails(process, Options::default());
    }
    fn through_cells(process: &mut Process) {
        copy_until_it_fails(process, only_pipe());
    }
    fn owner(process: &mut Process) {
        let space = process.join(Options { server: true, ..Options::default() });
        let private = pattern(20 * LEN, 1);
        process.post(1, declare(&space, &private, Protection::Read, Flags::NONE).to_bits());
        process.await_post(10);
    }
    for first in [directly, through_cells] {
        processes("an_owner_is_killed_while_its_memory_is_copied", first, &[owner]);
    }
}

#[test]
fn a_killed_owner_is_noticed() {
    fn first(process: &mut Process) {
        let [private, common, more] = [1, 2, 3].map(|index| cookie(process, index));
        let direct = process.join(Options::default());
        let mut bytes = vec![0; LEN];
        read(&direct, common.at(0), &mut bytes).expect("a copy");
        read(&direct, private.at(0), &mut bytes).expect("a copy");
        let direct_works = direct.standing(1, Mechanism::Cma) == Standing::Works;
        drop(direct);
        process.post(6, 1);
        let space = process.join(only_pipe());
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| read(&space, more.at(0), &mut bytes));
            process.await_post(4);
            process.kill(1);
            waiting.join().expect("a thread")
        });
        assert_eq!(waiting, Err(Error::PeerGone { member: 1 }));
        drop(space);
        let direct = process.join(Options::default());
        if direct_works {
            assert_eq!(read(&direct, private.at(0), &mut bytes), Err(Error::PeerGone { member: 1 }));
        }
        // Shared memory outlives its process.
        bytes.fill(0);
        assert_eq!(read(&direct, common.at(0), &mut bytes), Ok(()));
        assert!(bytes == pattern(LEN, 2));
        drop(direct);
        // Somebody else may take the place; the regions of the one that has ended are gone.
        let heir = process.join_as(1, Options::default()).expect("the place is free");
        assert_eq!(process.join_as(1, Options::default()).map(|_| ()), Err(Error::Taken { member: 1 }));
        assert_eq!(read(&heir, common.at(0), &mut bytes), Err(Error::NoRegion));
        let fresh = declare(&heir, &[1, 2, 3], Protection::Read, Flags::NONE);
        assert!(![private, common, more].contains(&fresh));
    }
    fn owner(process: &mut Process) {
        let space = process.join(Options::default());
        let private = pattern(LEN, 1);
        let common = shared(&space, LEN);
        common.copy_from_slice(&pattern(LEN, 2));
        process.post(3, declare(&space, &private, Protection::Read, Flags::NONE).to_bits());
        process.post(2, declare(&space, common, Protection::Read, Flags::NONE).to_bits());
        process.post(1, declare(&space, &private, Protection::Read, Flags::NONE).to_bits());
        process.serve_until_post(&space, 6);
        // One part is answered, the next one never.
        process.until(|_| space.progress().expect("progress").then_some(()));
        process.post(4, 1);
        process.await_post(5);
    }
    processes("a_killed_owner_is_noticed", first, &[owner]);
}

/// Refuses process_vm_readv and process_vm_writev to this process, as containers do.
fn refuse_cma() {
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    let line = |code: u32, jt, jf, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut program = [
        line(load, 0, 0, 0),
        line(equal, 1, 0, libc::SYS_process_vm_readv as u32),
        line(equal, 0, 1, libc::SYS_process_vm_writev as u32),
        line(give, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        line(give, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the filter is a whole program, which the kernel checks and copies.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter), 0, "no seccomp here");
    }
}

#[test]
fn where_cma_is_refused_copies_go_on_otherwise() {
    fn owner(process: &mut Process) {
        let space = process.join(Options::default());
        let private = pattern(LEN, 1);
        process.post(1, declare(&space, &private, Protection::ReadWrite, Flags::NONE).to_bits());
        process.serve_until_post(&space, 10);
        assert!(private == pattern(LEN, 2));
        assert_eq!(lines_about_cma(&process.last_words()), 1, "one line says why");
    }
    fn user(process: &mut Process) {
        refuse_cma();
        let space = process.join(Options::default());
        let cookie = cookie(process, 1);
        assert_eq!(space.standing(0, Mechanism::Cma), Standing::Unproven);
        let mut bytes = vec![0; LEN];
        assert_eq!(read(&space, cookie.at(0), &mut bytes), Ok(()));
        assert!(bytes == pattern(LEN, 1));
        assert_eq!(space.standing(0, Mechanism::Cma), Standing::Left);
        assert_eq!(write(&space, cookie.at(0), &pattern(LEN, 2)), Ok(()));
        drop(space);
        process.post(10, 1);
    }
    processes("where_cma_is_refused_copies_go_on_otherwise", owner, &[user]);
}

#[test]
fn cma_that_stops_loses_nothing() {
    const LONG: usize = 20 << 20;
    fn owner(process: &mut Process) {
        let space = process.join(Options { server: true, ..Options::default() });
        let private = pattern(LONG, 1);
        process.post(1, declare(&space, &private, Protection::Read, Flags::NONE).to_bits());
        let worked = process.await_post(10) == 2;
        let lines = lines_about_cma(&process.last_words());
        if worked {
            assert_eq!(lines, 1, "one line says why");
        }
    }
    fn user(process: &mut Process) {
        let space = process.join(Options::default());
        let cookie = cookie(process, 1);
        let mut bytes = vec![0; LONG];
        // SAFETY: the buffer stays.
        let status = unsafe {
            space.start_inline_copy(&run_mut(&mut bytes), cookie.at(0), LONG as u64, Direction::Read, Offload::Never)
        };
        let status = status.expect("a copy");
        for _ in 0..10 {
            assert_eq!(space.poll(&status), None);
        }
        let worked = space.standing(0, Mechanism::Cma) == Standing::Works;
        if !worked {
            skip("cma_that_stops_loses_nothing", "in part: no CMA on this machine");
        }
        refuse_cma();
        assert_eq!(space.wait(&status), Ok(()));
        assert!(bytes == pattern(LONG, 1));
        assert_eq!(space.standing(0, Mechanism::Cma), Standing::Left);
        process.post(10, 1 + u64::from(worked));
    }
    processes("cma_that_stops_loses_nothing", owner, &[user]);
}
