//! Memory of other processes by the card. A device without it passes by saying so.
//!
//! The owners of the memory make no call of their device meanwhile.

use super::pattern::{bytes, check};
use super::{Factory, Inbox, everybody, patience};
use crate::{Channel, Direction, RemoteMemory, Run, Word};

/// Everybody, if their device has this part.
fn remotes(factory: Factory, processes: u32, test: impl FnOnce(&[Box<dyn Channel>])) {
    let everybody = everybody(factory, processes);
    if everybody.iter().all(|device| device.remote().is_some()) {
        test(&everybody);
    }
}

fn remote(device: &dyn Channel) -> &dyn RemoteMemory {
    device.remote().expect("asked before")
}

/// Polls at one end alone until all of its accesses to `peer` have ended.
fn flush(device: &dyn Channel, peer: u32) {
    let it = remote(device);
    for _ in patience() {
        if it.ended(peer) == it.begun(peer) {
            return;
        }
        device.poll(&mut Inbox::default());
        assert!(!it.is_lost(peer), "nothing went wrong");
        std::thread::yield_now();
    }
    panic!("an access has begun and never ended");
}

fn run(memory: &[u8], at: usize, len: usize) -> Run {
    Run { address: memory[at..at + len].as_ptr() as u64, len: len as u64 }
}

/// Bytes go to and come from processes that compute, the own one included: dense ones and lists of runs.
pub fn memory_is_reached_without_its_owner(factory: Factory) {
    remotes(factory, 3, |all| {
        for owner in [1usize, 0] {
            let device = &*all[0];
            let peer = owner as u32;
            assert!(remote(device).reaches(peer));
            let window = vec![0u8; 400_000].leak();
            // SAFETY: it stays; looked at only when nothing is under way.
            let key = unsafe { remote(&*all[owner]).reveal(window.as_mut_ptr(), window.len()) }.expect("little memory");
            for len in [1, 8, 60, 200, 9000, 40_001, 300_000] {
                let (out, back) = (bytes(len as u64, len), vec![0u8; len]);
                let theirs = [run(window, 7, len)];
                // SAFETY: both are left alone until the flush.
                unsafe {
                    remote(device).transfer(peer, &[run(&out, 0, len)], &theirs, key, Direction::Put).expect("put");
                    remote(device).transfer(peer, &[run(&back, 0, len)], &theirs, key, Direction::Get).expect("get");
                }
                flush(device, peer);
                check(len as u64, &window[7..7 + len]);
                check(len as u64, &back);
            }
            for (block, count) in [(24usize, 500usize), (2000, 60)] {
                window.fill(0);
                let (out, back) = (bytes(5, block * count), vec![0u8; 2 * block * count]);
                let theirs: Vec<Run> = (0..count).map(|at| run(window, at * (block + 3), block)).collect();
                let into: Vec<Run> = (0..count).map(|at| run(&back, 2 * at * block, block)).collect();
                // SAFETY: both are left alone until the flush.
                unsafe {
                    let own = [run(&out, 0, block * count)];
                    remote(device).transfer(peer, &own, &theirs, key, Direction::Put).expect("put");
                    remote(device).transfer(peer, &into, &theirs, key, Direction::Get).expect("get");
                }
                flush(device, peer);
                for at in 0..count {
                    let expected = &out[at * block..(at + 1) * block];
                    assert_eq!(&window[at * (block + 3)..][..block], expected, "block {at}");
                    assert_eq!(&back[2 * at * block..][..block], expected, "block {at}");
                    assert!(back[(2 * at + 1) * block..][..block].iter().all(|byte| *byte == 0), "a gap");
                }
            }
            remote(&*all[owner]).conceal(key);
        }
    });
}

/// Sums of all processes, the owner's too, are complete, and each value is found once.
pub fn words_are_changed_in_one_step(factory: Factory) {
    const EACH: usize = 50;
    remotes(factory, 3, |all| {
        let words = vec![0u64; 2].leak();
        // SAFETY: it stays.
        let key = unsafe { remote(&*all[2]).reveal(words.as_mut_ptr().cast(), 16) }.expect("two words");
        let at = |index: usize| Word { peer: 2, address: &raw const words[index] as u64, key };
        let mut found = vec![[u64::MAX; EACH]; 3];
        for round in 0..EACH {
            for (device, found) in all.iter().zip(&mut found) {
                // SAFETY: they are looked at after the flush.
                unsafe { remote(&**device).fetch_add(at(0), 1, &mut found[round]) }.expect("added");
            }
        }
        all.iter().for_each(|device| flush(&**device, 2));
        assert!(found.iter().all(|found| found.is_sorted()));
        let mut found: Vec<u64> = found.concat();
        found.sort();
        assert_eq!(found, (0..3 * EACH as u64).collect::<Vec<_>>());
        for (who, (compare, expected)) in [(0, 0), (0, 10), (10, 10)].into_iter().enumerate() {
            let mut was = u64::MAX;
            // SAFETY: it is looked at after the flush.
            unsafe { remote(&*all[who]).compare_swap(at(1), compare, 10 * (who as u64 + 1), &mut was) }
                .expect("compared");
            flush(&*all[who], 2);
            assert_eq!(was, expected);
        }
        // SAFETY: as above; nobody wants the old value.
        unsafe { remote(&*all[0]).fetch_add(at(1), 0_u64.wrapping_sub(5), std::ptr::null_mut()) }.expect("added");
        flush(&*all[0], 2);
        // SAFETY: nothing is under way.
        let now = unsafe { [at(0), at(1)].map(|word| std::ptr::read_volatile(word.address as *const u64)) };
        assert_eq!(now, [3 * EACH as u64, 25]);
        remote(&*all[2]).conceal(key);
    });
}
