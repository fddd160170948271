//! Transfers with a child that sits still.

use super::*;
use proptest::prelude::*;
use rustix::process::{Signal, WaitOptions, WaitStatus, kill_process, waitpid};

/// A copy of this process that sleeps; killed in the end.
struct Child(rustix::process::Pid);

impl Child {
    /// A fork: it has this process's memory, as it is now, at the same addresses.
    fn new() -> Child {
        Child::running(|| ())
    }

    fn running(first: impl FnOnce()) -> Child {
        // SAFETY: the child only runs `first`, system calls of these tests, and sleeps.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            first();
            loop {
                // SAFETY: sleeps until it is killed, or its parent has gone.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::pause();
                }
            }
        }
        Child(rustix::process::Pid::from_raw(pid).expect("fork"))
    }

    fn pid(&self) -> Pid {
        self.0.as_raw_nonzero().get()
    }

    fn end(&self) -> Option<WaitStatus> {
        let _ = kill_process(self.0, Signal::KILL);
        waitpid(Some(self.0), WaitOptions::empty()).ok().flatten().map(|(_, status)| status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// Past the test harness, which keeps what tests print.
fn skip(test: &str, failed: Failed) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("{test}: skipped: {failed}\n").as_bytes());
}

/// Whether this machine lets us; tests that need it say that they are skipped.
fn allowed(test: &str) -> bool {
    let beacon = Beacon::new();
    let child = Child::new();
    match probe(child.pid(), beacon.address(), beacon.nonce()) {
        Ok(()) => true,
        Err(failed) => {
            skip(test, failed);
            false
        }
    }
}

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|index| (index as u8).wrapping_mul(31).wrapping_add((index >> 8) as u8) ^ seed).collect()
}

#[test]
fn dense_both_ways() {
    if !allowed("dense_both_ways") {
        return;
    }
    let theirs = pattern(3 << 20, 1);
    let child = Child::new();
    let mut ours = vec![0; theirs.len()];
    let remote = [Run::new(theirs.as_ptr(), theirs.len())];
    // SAFETY: our own buffer.
    let got = unsafe { read(child.pid(), &[Run::new(ours.as_mut_ptr(), ours.len())], &remote) };
    assert_eq!(got, Ok(ours.len()));
    assert!(ours == theirs);
    let fresh = pattern(theirs.len(), 2);
    // SAFETY: the child's copy of a buffer that it does not use.
    unsafe { write(child.pid(), &[Run::new(fresh.as_ptr(), fresh.len())], &remote).expect("write") };
    // SAFETY: our own buffer.
    unsafe { read(child.pid(), &[Run::new(ours.as_mut_ptr(), ours.len())], &remote).expect("read") };
    assert!(ours == fresh);
    assert!(theirs == pattern(theirs.len(), 1), "written in the wrong process");
}

/// Cuts `len` bytes into runs of the given lengths with gaps between them.
fn runs(base: *const u8, room: usize, pieces: &[(usize, usize)]) -> Vec<Run> {
    let mut at = 0;
    let mut runs = Vec::new();
    for (gap, len) in pieces {
        at += gap;
        if at + len > room {
            break;
        }
        runs.push(Run::new(base.wrapping_add(at), *len));
        at += len;
    }
    runs
}

/// The bytes that the runs cover, by their addresses in `memory`.
fn gather(memory: &[u8], runs: &[Run]) -> Vec<u8> {
    let offset = |run: &Run| run.at as usize - memory.as_ptr() as usize;
    runs.iter().flat_map(|run| memory[offset(run)..offset(run) + run.len].to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn runs_are_one_sequence_on_both_sides(
        local in prop::collection::vec((0usize..20, 0usize..90), 0..3000),
        remote in prop::collection::vec((0usize..20, 0usize..90), 0..3000),
    ) {
        if !allowed("runs_are_one_sequence_on_both_sides") {
            return Ok(());
        }
        const ROOM: usize = 256 << 10;
        let theirs = pattern(ROOM, 3);
        let child = Child::new();
        let mut ours = vec![0; ROOM];
        let local = runs(ours.as_mut_ptr(), ROOM, &local);
        let remote = runs(theirs.as_ptr(), ROOM, &remote);
        // SAFETY: our own buffer.
        let got = unsafe { read(child.pid(), &local, &remote) };
        let expected = gather(&theirs, &remote);
        let room: usize = local.iter().map(|run| run.len).sum();
        let len = room.min(expected.len());
        prop_assert_eq!(got, Ok(len));
        prop_assert!(gather(&ours, &local)[..len] == expected[..len]);
        // The bytes between the runs are as they were.
        prop_assert_eq!(ours.iter().filter(|byte| **byte != 0).count(), expected[..len].iter().filter(|byte| **byte != 0).count());
    }

    #[test]
    fn batches_keep_to_the_limits(lens in prop::collection::vec(0usize..50, 0..3000), most in 1usize..500, eat in 1usize..500) {
        let all: Vec<Run> = lens.iter().scan(4096usize, |at, len| {
            let run = Run::new(*at as *const u8, *len);
            *at += len;
            Some(run)
        }).collect();
        let total: usize = lens.iter().sum();
        let mut batches = Batches::new(&all);
        let mut done = 0;
        loop {
            let len = batches.fill(most);
            prop_assert!(len <= most && batches.batch.len() <= MOST_RUNS);
            if len == 0 {
                break;
            }
            let part = len.min(eat);
            let first = batches.first(part);
            prop_assert_eq!(first.iter().map(|run| run.len).sum::<usize>(), part);
            prop_assert_eq!(first[0].at as usize, 4096 + done);
            batches.skip(part);
            done += part;
        }
        prop_assert_eq!(done, total);
    }
}

#[test]
fn a_transfer_stops_where_memory_ends() {
    if !allowed("a_transfer_stops_where_memory_ends") {
        return;
    }
    let page = rustix::param::page_size();
    // SAFETY: a new mapping, the second half of which is taken away again.
    let at = unsafe {
        let protection = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
        let flags = rustix::mm::MapFlags::PRIVATE;
        let at = rustix::mm::mmap_anonymous(ptr::null_mut(), 64 * page, protection, flags).expect("mmap");
        rustix::mm::munmap(at.cast::<u8>().add(32 * page).cast(), 32 * page).expect("munmap");
        at.cast::<u8>()
    };
    let child = Child::new();
    let mut ours = vec![1; 64 * page];
    // SAFETY: our own buffer.
    let got = unsafe { read(child.pid(), &[Run::new(ours.as_mut_ptr(), 64 * page)], &[Run::new(at, 64 * page)]) };
    let failed = got.expect_err("half of it is not there");
    assert_eq!((failed.why, failed.errno), (Why::BadAddress, libc::EFAULT));
    assert_eq!(failed.moved, 32 * page);
    assert!(ours[..32 * page].iter().all(|byte| *byte == 0));
    assert!(ours[32 * page..].iter().all(|byte| *byte == 1));
    // SAFETY: what is left of the mapping.
    let _ = unsafe { rustix::mm::munmap(at.cast(), 32 * page) };
}

#[test]
fn a_process_that_has_ended_is_gone() {
    let beacon = Beacon::new();
    let child = Child::new();
    let pid = child.pid();
    child.end();
    let failed = probe(pid, beacon.address(), beacon.nonce()).expect_err("it has ended");
    assert!(matches!(failed.why, Why::Gone | Why::Refused), "{failed}");
}

#[test]
fn another_process_is_a_stranger_and_left_alone() {
    if !allowed("another_process_is_a_stranger_and_left_alone") {
        return;
    }
    let beacon = Beacon::new();
    let child = Child::new();
    let other = Failed { why: Why::Stranger, errno: 0, moved: 0 };
    assert_eq!(probe(child.pid(), beacon.address(), beacon.nonce() ^ 1), Err(other));
    assert_eq!(probe(child.pid(), 64, beacon.nonce()), Err(other));
    let mut echo = 1u64;
    let at = Run::new((beacon.address() as *const u8).wrapping_add(8), 8);
    // SAFETY: into a word of our own.
    unsafe { read(child.pid(), &[Run::new((&raw mut echo).cast(), 8)], &[at]).expect("read") };
    assert_eq!(echo, 0, "a stranger was written to");
    assert_eq!(probe(child.pid(), beacon.address(), beacon.nonce()), Ok(()));
    // SAFETY: as above.
    unsafe { read(child.pid(), &[Run::new((&raw mut echo).cast(), 8)], &[at]).expect("read") };
    assert_eq!(echo, beacon.nonce());
}

#[test]
fn a_process_may_read_itself() {
    let beacon = Beacon::new();
    let own = std::process::id() as Pid;
    match probe(own, beacon.address(), beacon.nonce()) {
        Ok(()) => {}
        Err(failed) => skip("a_process_may_read_itself", failed),
    }
}
