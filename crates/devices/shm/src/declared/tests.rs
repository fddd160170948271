//! Two peers and a stand-in for the module.

use super::standin::Standin;
use super::*;
use std::rc::Rc;
use tern_policy::costs::{Costs, Curve, Mover};

/// Who copies.
const BY: (Placement, bool) = (Placement::L3, true);

fn run(at: usize, len: usize) -> Run {
    Run::new(at as *const u8, len)
}

/// The peers and the kernel.
fn pair(limit: usize) -> ([Declarations<Standin>; 2], Standin) {
    let kernel = Standin::default();
    kernel.0.borrow_mut().limit = limit;
    let peers = [(); 2].map(|()| Declarations::new(kernel.clone(), Declaration::new(Mechanism::Module, Rc::default())));
    (peers, kernel)
}

fn memory(bytes: &[u8]) -> Memory {
    Memory::dense(bytes.as_ptr(), bytes.len())
}

/// Copies all of `theirs` to `own`.
fn get(peer: &Declarations<Standin>, theirs: &Memory, own: &mut [u8]) -> Option<usize> {
    let (own, runs) = ([Run::new(own.as_ptr(), own.len())], [run(theirs.address as usize, theirs.len as usize)]);
    // SAFETY: both are of the test's own buffers.
    unsafe { peer.copy(&own, (&runs, theirs.name()), Direction::Get) }
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
    let whole = owner.named(&memory(&buffer), BY);
    let part = owner.named(&memory(&buffer[..100]), BY);
    assert!(whole.cookie != 0 && part.cookie == whole.cookie);
    assert_eq!(kernel.0.borrow().created, 1);
    let mut into = [0; 100];
    assert_eq!(get(&other, &part, &mut into), Some(100));
    assert_eq!(into, buffer[..100]);
    // From elsewhere it is another region. A longer one leaves the shorter one, whose message may be on its way.
    let tail = owner.named(&memory(&buffer[50..100]), BY);
    let longer = owner.named(&memory(&buffer[50..]), BY);
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
    let told = owner.named(&column, BY);
    assert_eq!(told.name(), Name { cookie: told.cookie, start: buffer.as_ptr() as u64 });
    let theirs: Vec<Run> = (0..3).map(|at| Run::new(&raw const buffer[200 - 100 * at], 8)).collect();
    let mut into = [0; 24];
    // SAFETY: both are of the test's own buffers.
    let moved = unsafe { other.copy(&[Run::new(into.as_mut_ptr(), 24)], (&theirs, told.name()), Direction::Get) };
    assert_eq!(moved, Some(24));
    assert_eq!(into, [&buffer[200..208], &buffer[100..108], &buffer[..8]].concat()[..]);
}

#[test]
fn a_cookie_is_good_for_its_region_alone() {
    let ([owner, other], kernel) = pair(usize::MAX);
    let buffer = [7u8; 64];
    let constant = [8u8; 64];
    kernel.0.borrow_mut().constant.push((constant.as_ptr() as u64, 64));
    let told = owner.named(&memory(&buffer), BY);
    let beyond = Memory { len: 65, block: 65, ..told };
    assert_eq!(get(&other, &beyond, &mut [0; 65]), None);
    let before = Memory { cookie: told.cookie + 1, ..told };
    assert_eq!(get(&other, &before, &mut [0; 64]), None);
    assert_eq!(get(&other, &memory(&buffer), &mut [0; 64]), None, "no cookie was told");
    // What the program cannot write, others only read.
    let told = owner.named(&memory(&constant), BY);
    assert_eq!(get(&other, &told, &mut [0; 64]), Some(64));
    let (own, theirs) = ([Run::new(buffer.as_ptr(), 64)], [Run::new(constant.as_ptr(), 64)]);
    // SAFETY: the stand-in refuses it.
    assert_eq!(unsafe { other.copy(&own, (&theirs, told.name()), Direction::Put) }, None);
}

#[test]
fn what_is_too_long_for_the_limit_takes_no_other_region_with_it_twice() {
    let ([owner, _], kernel) = pair(100);
    let buffer = [0u8; 300];
    for _ in 0..3 {
        assert_eq!(owner.named(&memory(&buffer), BY).cookie, 0);
        assert_ne!(owner.named(&memory(&buffer[200..260]), BY).cookie, 0);
    }
    assert_eq!(kernel.0.borrow().created, 1);
}

#[test]
fn memory_that_is_exposed_is_kept() {
    let ([owner, other], _) = pair(300);
    let (window, buffer) = ([3u8; 200], [4u8; 150]);
    let start = window.as_ptr() as u64;
    let mut into = [0; 10];
    let mut reaches = |cookie: u64, at: usize| {
        let (own, theirs) = ([Run::new(into.as_mut_ptr(), 10)], [Run::new(&raw const window[at], 10)]);
        // SAFETY: both are of the test's own buffers.
        unsafe { other.copy(&own, (&theirs, Name { cookie, start }), Direction::Get) }
    };
    assert_eq!(reaches(0, 100), None);
    let cookie = owner.expose(start, 200, BY, DeclaredFor::Window);
    assert_ne!(cookie, 0);
    assert_eq!(owner.expose(start, 150, BY, DeclaredFor::Window), cookie, "what is declared is found");
    assert_eq!(owner.named(&memory(&buffer), BY).cookie, 0, "the limit is reached, and the window stays");
    owner.cover(start, cookie);
    assert_eq!(owner.named(&memory(&buffer), BY).cookie, 0);
    assert_eq!(reaches(cookie, 190), Some(10));
    assert_eq!(into, [3; 10]);
    owner.cover(start, cookie);
    owner.cover(start, 0);
    assert_ne!(owner.named(&memory(&buffer), BY).cookie, 0, "it made room");
    assert_ne!(owner.expose(start, 200, BY, DeclaredFor::Window), 0, "and so does the message");
}

/// Runs that lie far apart in a window are one put.
#[test]
fn one_region_serves_many_runs_of_a_window() {
    let ([owner, other], _) = pair(usize::MAX);
    let mut window = [0u8; 200];
    let start = window.as_mut_ptr();
    let cookie = owner.expose(start as u64, 200, BY, DeclaredFor::Window);
    let source: Vec<u8> = (1..=30).collect();
    let theirs = [150, 0, 190].map(|at| Run::new(start.wrapping_add(at), 10));
    let name = Name { cookie, start: start as u64 };
    // SAFETY: both are of the test's own buffers.
    let put = |theirs: &[Run]| unsafe {
        other.copy(&[Run::new(source.as_ptr(), 10 * theirs.len())], (theirs, name), Direction::Put)
    };
    assert_eq!(put(&theirs), Some(30));
    assert_eq!(put(&[Run::new(start.wrapping_add(191), 10)]), None, "beyond the window");
    assert_eq!(put(&[Run::new(start.wrapping_sub(1), 10)]), None, "before it");
    assert_eq!([&window[150..160], &window[..10], &window[190..]].concat(), source);
}

/// Another region with its word has ended, perhaps: messages that were told of it are on their way.
#[test]
fn a_region_whose_word_has_changed_stays_for_a_while() {
    let ([owner, other], kernel) = pair(usize::MAX);
    let buffer: Vec<u8> = (0..=255).collect();
    let told = owner.named(&memory(&buffer), BY);
    kernel.0.borrow_mut().changed.push(told.cookie);
    let again = owner.named(&memory(&buffer), BY);
    assert!(again.cookie != 0 && again.cookie != told.cookie);
    for message in 0..200 {
        assert_eq!(owner.named(&memory(&buffer), BY).cookie, again.cookie);
        let reached = get(&other, &told, &mut [0; 256]);
        assert_eq!(reached, (message < 62).then_some(256), "{message}");
    }
    assert_eq!(kernel.0.borrow().regions(), 1);
    // One that is kept stays.
    let cookie = owner.expose(again.address, 256, BY, DeclaredFor::Window);
    kernel.0.borrow_mut().changed.push(cookie);
    for _ in 0..200 {
        owner.named(&memory(&buffer), BY);
    }
    let exposed = Memory { cookie, ..told };
    assert_eq!(get(&other, &exposed, &mut [0; 256]), Some(256));
    owner.cover(exposed.address, cookie);
    owner.named(&memory(&buffer), BY);
    assert_eq!(get(&other, &exposed, &mut [0; 256]), None);
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
                    let memory = peers[of].named(&memory(&buffers[of][start..start + len]), BY);
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

/// Where the bytes at these offsets of a buffer lie.
fn pieces(buffer: &[u8], at: &[(usize, usize)]) -> Vec<Run> {
    at.iter().map(|&(at, len)| Run::new(&raw const buffer[at], len)).collect()
}

#[test]
fn memory_in_pieces_is_one_region() {
    let ([owner, other], kernel) = pair(usize::MAX);
    let buffer: Vec<u8> = (0..=255).collect();
    let list = pieces(&buffer, &[(200, 10), (0, 5), (100, 20)]);
    let cookie = owner.declare(&list, BY);
    assert_ne!(cookie, 0);
    assert_eq!((owner.declare(&list, BY), kernel.0.borrow().created), (cookie, 1), "it is declared once");
    let get = |cookie, into: &mut [u8]| {
        let (first, second) = into.split_at_mut(into.len() / 3);
        let own = [Run::new(first.as_mut_ptr(), first.len()), Run::new(second.as_mut_ptr(), second.len())];
        // SAFETY: both are of the test's own buffers.
        unsafe { other.read(cookie, &own) }
    };
    let mut into = [0; 35];
    assert!(get(cookie, &mut into));
    assert_eq!(into, [&buffer[200..210], &buffer[..5], &buffer[100..120]].concat()[..]);
    assert!(get(cookie, &mut [0; 12]), "the first bytes of it");
    assert!(!get(cookie, &mut [0; 36]), "beyond its end");
    assert!(!get(cookie + 1, &mut into) && !get(0, &mut into));
    // Others that begin there are others: with as many bytes, and in one piece, which may be longer.
    let moved = pieces(&buffer, &[(200, 10), (1, 5), (100, 20)]);
    assert_ne!(owner.declare(&moved, BY), cookie);
    let dense = owner.named(&memory(&buffer[200..]), BY);
    assert!(![0, cookie].contains(&dense.cookie));
    assert_eq!(owner.named(&memory(&buffer[200..230]), BY).cookie, dense.cookie, "not the one in pieces");
    assert_eq!(owner.declare(&pieces(&buffer, &[(200, 30)]), BY), dense.cookie, "one piece is as any memory");
    kernel.0.borrow_mut().unmap(&raw const buffer[3] as u64, 1);
    assert!(!get(cookie, &mut into), "some of it is gone");
    let again = owner.declare(&list, BY);
    assert!(again != cookie && get(again, &mut into));
    assert_eq!(owner.declare(&[], BY), 0);
}

#[test]
fn pieces_beyond_the_limit_are_told_without_a_cookie() {
    let ([owner, other], _) = pair(20);
    let buffer = [7u8; 64];
    assert_eq!(owner.declare(&pieces(&buffer, &[(0, 11), (20, 10)]), BY), 0);
    let list = pieces(&buffer, &[(0, 10), (20, 10)]);
    let cookie = owner.declare(&list, BY);
    let mut into = [0; 20];
    // SAFETY: both are of the test's own buffers.
    assert!(unsafe { other.read(cookie, &[Run::new(into.as_mut_ptr(), 20)]) });
    assert_eq!(into, [7; 20]);
}

/// A peer whose costs say that memory pays from the third use on, and one that asks for nothing.
#[test]
fn memory_is_declared_when_it_pays_and_only_private_memory() {
    let kernel = Standin::default();
    kernel.0.borrow_mut().limit = 1 << 20;
    let curve = |ns: f64| Curve::new(vec![(0, ns), (1 << 30, ns)]).expect("a curve");
    let mut costs = Costs { pin: curve(1_000.0), unpin: curve(1_000.0), module: true, ..Costs::default() };
    for pace in &mut costs.paces {
        for (mover, ns) in [(Mover::Pipe, 3_000.0), (Mover::Cma, 2_000.0), (Mover::Module, 800.0)] {
            pace.movers[mover as usize] = [curve(ns), curve(ns)];
        }
    }
    let owner = Declarations::new(kernel.clone(), Declaration::new(Mechanism::Auto, Rc::new(costs)));
    let buffer = vec![7u8; 8192];
    let told: Vec<bool> = (0..4).map(|_| owner.named(&memory(&buffer), BY).cookie != 0).collect();
    assert_eq!(told, [false, true, true, true]);
    assert_eq!(kernel.0.borrow().created, 1, "it is declared once");
    let other = vec![7u8; 8192];
    let shared = Memory { place: 64, ..memory(&other) };
    assert!((0..10).all(|_| owner.named(&shared, BY).cookie == 0), "a view needs no kernel");
    let column = Memory { block: 64, stride: 4096, len: 128, ..memory(&other) };
    assert!((0..10).all(|_| owner.named(&column, BY).cookie == 0), "most of it would be pinned for nothing");
    let window = owner.expose(other.as_ptr() as u64, 8192, BY, DeclaredFor::Window);
    assert_ne!(window, 0, "a window is declared when it is made");
    // What was never declared is no region that was missed.
    let missed = tern_counters::MODULE_MISSED.get();
    assert_eq!(get(&owner, &memory(&[1; 64]), &mut [0; 64]), None);
    assert_eq!(tern_counters::MODULE_MISSED.get(), missed);
}
