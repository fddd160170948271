//! Two peers and a stand-in for the module.

use super::standin::Standin;
use super::*;

fn run(at: usize, len: usize) -> Run {
    Run::new(at as *const u8, len)
}

/// The peers, who never look into directories, and the kernel.
fn pair(limit: usize) -> ([Declarations<Standin>; 2], Standin) {
    let kernel = Standin::default();
    kernel.0.borrow_mut().limit = limit;
    let peers = [0, 1].map(|me| Declarations::new(kernel.clone(), Vec::new(), me));
    (peers, kernel)
}

fn memory(bytes: &[u8]) -> Memory {
    Memory::dense(bytes.as_ptr(), bytes.len())
}

/// Copies all of `theirs` to `own`.
fn get(peer: &Declarations<Standin>, theirs: &Memory, own: &mut [u8]) -> Option<usize> {
    let (own, runs) = ([Run::new(own.as_ptr(), own.len())], [run(theirs.address as usize, theirs.len as usize)]);
    // SAFETY: both are of the test's own buffers.
    unsafe { peer.copy(0, &own, (&runs, Name::of(theirs)), Direction::Get) }
}

#[test]
fn lists_are_cut_where_runs_end() {
    let own = [run(100, 10), run(200, 0), run(300, 5)];
    let mut rest = Rest { runs: &own, done: 0 };
    let mut take = |len| {
        let mut part = Vec::new();
        rest.take(len, &mut part);
        part
    };
    assert_eq!(take(4), [run(100, 4)]);
    assert_eq!(take(8), [run(104, 6), run(300, 2)]);
    assert_eq!(take(9), [run(302, 3)]);
    assert_eq!(take(1), []);
}

#[test]
fn memory_from_one_place_is_declared_once() {
    let ([owner, other], kernel) = pair(usize::MAX);
    let buffer: Vec<u8> = (0..=255).collect();
    let whole = owner.named(&memory(&buffer));
    let part = owner.named(&memory(&buffer[..100]));
    assert!(whole.cookie != 0 && part.cookie == whole.cookie);
    assert_eq!(kernel.0.borrow().created, 1);
    let mut into = [0; 100];
    assert_eq!(get(&other, &part, &mut into), Some(100));
    assert_eq!(into, buffer[..100]);
    // From elsewhere it is another region. A longer one leaves the shorter one, whose message may be on its way.
    let tail = owner.named(&memory(&buffer[50..100]));
    let longer = owner.named(&memory(&buffer[50..]));
    assert!(![whole.cookie, tail.cookie].contains(&longer.cookie));
    assert_eq!(kernel.0.borrow().regions(), 3);
    assert_eq!(get(&other, &tail, &mut into[..50]), Some(50));
    assert_eq!(get(&other, &longer, &mut [0; 206]), Some(206));
}

#[test]
fn blocks_are_found_from_the_lowest_address() {
    let ([owner, other], _) = pair(usize::MAX);
    let buffer: Vec<u8> = (0..=255).collect();
    // From behind: 200, 100, 0.
    let column =
        Memory { address: &raw const buffer[200] as u64, len: 24, block: 8, stride: -100, ..Memory::default() };
    let told = owner.named(&column);
    assert_eq!(Name::of(&told), Name::Cookie(told.cookie, buffer.as_ptr() as u64));
    let theirs: Vec<Run> = (0..3).map(|at| Run::new(&raw const buffer[200 - 100 * at], 8)).collect();
    let mut into = [0; 24];
    // SAFETY: both are of the test's own buffers.
    let moved =
        unsafe { other.copy(0, &[Run::new(into.as_mut_ptr(), 24)], (&theirs, Name::of(&told)), Direction::Get) };
    assert_eq!(moved, Some(24));
    assert_eq!(into, [&buffer[200..208], &buffer[100..108], &buffer[..8]].concat()[..]);
}

#[test]
fn a_cookie_is_good_for_its_region_alone() {
    let ([owner, other], kernel) = pair(usize::MAX);
    let buffer = [7u8; 64];
    let constant = [8u8; 64];
    kernel.0.borrow_mut().constant.push((constant.as_ptr() as u64, 64));
    let told = owner.named(&memory(&buffer));
    let beyond = Memory { len: 65, block: 65, ..told };
    assert_eq!(get(&other, &beyond, &mut [0; 65]), None);
    let before = Memory { cookie: told.cookie + 1, ..told };
    assert_eq!(get(&other, &before, &mut [0; 64]), None);
    assert_eq!(get(&other, &memory(&buffer), &mut [0; 64]), None, "no cookie was told");
    // What the program cannot write, others only read.
    let told = owner.named(&memory(&constant));
    assert_eq!(get(&other, &told, &mut [0; 64]), Some(64));
    let (own, theirs) = ([Run::new(buffer.as_ptr(), 64)], [Run::new(constant.as_ptr(), 64)]);
    // SAFETY: the stand-in refuses it.
    assert_eq!(unsafe { other.copy(0, &own, (&theirs, Name::of(&told)), Direction::Put) }, None);
}

#[test]
fn what_is_too_long_for_the_limit_takes_no_other_region_with_it_twice() {
    let ([owner, _], kernel) = pair(100);
    let buffer = [0u8; 300];
    for _ in 0..3 {
        assert_eq!(owner.named(&memory(&buffer)).cookie, 0);
        assert_ne!(owner.named(&memory(&buffer[200..260])).cookie, 0);
    }
    assert_eq!(kernel.0.borrow().created, 1);
}

#[test]
fn memory_that_is_exposed_is_found_by_address_and_kept() {
    let directories: Vec<Directory> = (0..2).map(|_| Directory::new()).collect();
    let kernel = Standin::default();
    kernel.0.borrow_mut().limit = 300;
    let places: Vec<*const Directory> = directories.iter().map(|directory| &raw const *directory).collect();
    let [owner, other] = [0, 1].map(|me| Declarations::new(kernel.clone(), places.clone(), me));
    let (window, buffer) = ([3u8; 200], [4u8; 150]);
    let mut into = [0; 10];
    let mut reaches = |other: &Declarations<Standin>| {
        let (own, theirs) = ([Run::new(into.as_mut_ptr(), 10)], [Run::new(&raw const window[100], 10)]);
        // SAFETY: both are of the test's own buffers.
        unsafe { other.copy(0, &own, (&theirs, Name::Exposed), Direction::Get) }
    };
    assert_eq!(reaches(&other), None);
    owner.expose(window.as_ptr() as u64, 200);
    owner.expose(window.as_ptr() as u64, 200);
    assert_eq!(owner.named(&memory(&buffer)).cookie, 0, "the limit is reached, and the window stays");
    owner.cover(window.as_ptr() as u64, 200);
    assert_eq!(reaches(&other), Some(10));
    owner.cover(window.as_ptr() as u64, 200);
    assert_eq!(reaches(&other), None);
    assert_ne!(owner.named(&memory(&buffer)).cookie, 0, "it made room");
    assert_eq!(into, [3; 10]);
}

#[test]
fn memory_that_is_exposed_in_parts_is_found_in_one_piece_where_one_region_has_it() {
    let directory = Directory::new();
    let kernel = Standin::default();
    kernel.0.borrow_mut().limit = usize::MAX;
    let owner = Declarations::new(kernel, vec![&raw const directory], 0);
    let window = [3u8; 200];
    assert_ne!(owner.named(&memory(&window)).cookie, 0);
    owner.expose(window.as_ptr() as u64, 150);
    owner.expose(&raw const window[150] as u64, 50);
    let mut into = [0u8; 100];
    let (own, theirs) = ([Run::new(into.as_mut_ptr(), 100)], [Run::new(&raw const window[100], 100)]);
    // SAFETY: both are of the test's own buffers.
    assert_eq!(unsafe { owner.copy(0, &own, (&theirs, Name::Exposed), Direction::Get) }, Some(100));
    assert_eq!(into, [3; 100]);
}

/// Numbers below a bound, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }
}

/// Messages both ways from random places, under a limit that makes regions go, while memory is unmapped and mapped again. What a cookie
/// reaches is the message; what has ended, or has gone, is never another one's memory.
#[test]
fn random_messages_of_two_peers_arrive_or_are_left_to_others() {
    const LEN: usize = 4096;
    let mut random = Random(3);
    let (mut copied, mut left) = (0, 0);
    for _ in 0..200 {
        let (peers, kernel) = pair(2 * LEN);
        let buffers: [Vec<u8>; 2] = [0, 1].map(|_| (0..LEN).map(|_| random.below(256) as u8).collect());
        let mut told: Vec<(usize, usize, usize, Memory, bool)> = Vec::new();
        for _ in 0..100 {
            let of = random.below(2);
            match random.below(5) {
                0 => {
                    let start = random.below(LEN);
                    let len = 1 + random.below(64);
                    kernel.0.borrow_mut().unmap(buffers[of].as_ptr() as u64 + start as u64, len as u64);
                    for (_, at, some, _, good) in told.iter_mut().filter(|told| told.0 == of) {
                        // The region may be longer than its message, so that this is one of the ends alone.
                        *good &= *at >= start + len || *at + *some <= start;
                    }
                }
                1 | 2 => {
                    let start = random.below(16) * (LEN / 16);
                    let len = 1 + random.below(LEN - start);
                    let memory = peers[of].named(&memory(&buffers[of][start..start + len]));
                    // Both have one limit, and the other one may have all of it.
                    if memory.cookie != 0 {
                        told.push((of, start, len, memory, true));
                    }
                }
                _ if told.is_empty() => {}
                _ => {
                    let (of, start, len, memory, good) = told.swap_remove(random.below(told.len()));
                    let mut into = vec![0; len];
                    match get(&peers[1 - of], &memory, &mut into) {
                        Some(moved) => {
                            assert!(good, "of memory that has gone");
                            assert_eq!((moved, &into[..]), (len, &buffers[of][start..start + len]));
                            copied += 1;
                        }
                        None => left += 1,
                    }
                }
            }
            assert!(kernel.0.borrow().pinned <= 2 * LEN);
        }
    }
    assert!(copied > 1000 && left > 100, "{copied} copied, {left} left");
}
