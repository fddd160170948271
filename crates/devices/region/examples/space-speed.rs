//! How fast a space copies between two processes, by each mechanism, in microseconds a copy:
//! medians of several rounds. `cargo run --release -p tern-region --example space-speed`

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tern_region::Run;
use tern_region::space::{Cookie, Direction, Flags, Offload, Options, Protection, Shape, Space};

const SHAPE: Shape = Shape { members: 2, span: 1 << 30 };
const BASE: u64 = 64 << 10;
const LONGEST: usize = 4 << 20;

/// The first page of the file: cookies of private and shared memory, and the end.
fn board(file: &OwnedFd) -> &'static [AtomicU64; 3] {
    let (protection, flags) =
        (rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE, rustix::mm::MapFlags::SHARED);
    // SAFETY: a new mapping, which stays.
    unsafe { &*rustix::mm::mmap(std::ptr::null_mut(), 4096, protection, flags, file, 0).expect("mmap").cast() }
}

fn owner(file: OwnedFd) {
    let board = board(&file);
    let space = Space::join(file, BASE, SHAPE, 1, Options { server: true, ..Options::default() }).expect("a place");
    let mut private = vec![1u8; LONGEST];
    let shared = space.allocate(LONGEST).expect("memory");
    // SAFETY: fresh memory.
    unsafe { shared.write_bytes(1, LONGEST) };
    for (index, at) in [private.as_mut_ptr(), shared].into_iter().enumerate() {
        // SAFETY: it stays until the end.
        let cookie = unsafe { space.create_region(&[Run::new(at, LONGEST)], Protection::ReadWrite, Flags::NONE) };
        board[index].store(cookie.expect("a region").to_bits(), Ordering::Release);
    }
    while board[2].load(Ordering::Acquire) == 0 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Median time of a call in microseconds.
fn time(mut call: impl FnMut()) -> f64 {
    call();
    let mut rounds: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            let mut count = 0;
            while start.elapsed().as_micros() < 10_000 {
                call();
                count += 1;
            }
            start.elapsed().as_secs_f64() * 1e6 / f64::from(count)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}

fn measure(space: &Space, cookie: Cookie, name: &str) {
    let mut buffer = vec![0u8; LONGEST];
    for len in [8, 4 << 10, 64 << 10, 1 << 20, 4 << 20] {
        let run = [Run::new(buffer.as_mut_ptr(), len)];
        let copy = |direction| {
            time(|| {
                // SAFETY: a buffer of our own.
                unsafe { space.inline_copy(&run, cookie.at(0), len as u64, direction).expect("a copy") }
            })
        };
        let (read, write) = (copy(Direction::Read), copy(Direction::Write));
        let offloaded = time(|| {
            // SAFETY: as above.
            let status =
                unsafe { space.start_inline_copy(&run, cookie.at(0), len as u64, Direction::Read, Offload::Always) };
            space.wait(&status.expect("a copy")).expect("a copy");
        });
        println!("{name:8} {len:8} B   read {read:9.2}   write {write:9.2}   read by the copy thread {offloaded:9.2}");
    }
}

fn main() {
    let file = rustix::fs::memfd_create("space-speed", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd_create");
    tern_region::extend(std::os::fd::AsFd::as_fd(&file), BASE, BASE).expect("extend");
    // SAFETY: this program has one thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        owner(file);
        return;
    }
    let board = board(&file);
    let cookie = |index: usize| loop {
        if let Some(cookie) = Cookie::from_bits(board[index].load(Ordering::Acquire)) {
            break cookie;
        }
        std::thread::yield_now();
    };
    let cookies = [cookie(1), cookie(0), cookie(0)];
    let ways = [("mapped", true, false), ("CMA", false, true), ("pipe", false, false)];
    for ((name, mapped, cma), cookie) in ways.into_iter().zip(cookies) {
        let options = Options { mapped, cma, ..Options::default() };
        let space = Space::join(file.try_clone().expect("dup"), BASE, SHAPE, 0, options).expect("a place");
        measure(&space, cookie, name);
    }
    board[2].store(1, Ordering::Release);
    // SAFETY: waits for the child.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}
