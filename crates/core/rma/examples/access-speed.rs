//! What accesses to mapped memory cost through the engine, in nanoseconds.

use rustix::fd::AsFd;
use std::hint::black_box;
use std::rc::Rc;
use std::time::Instant;
use tern_adi::{Adi, Data};
use tern_coll::Peers;
use tern_coll::ops::Op;
use tern_layout::{Basic, Type};
use tern_mcm::{Mcm, Patience};
use tern_rma::{Exposure, Target, Window};
use tern_shm::Shm;

/// The best of many short runs, which other programs on the machine leave alone at times.
fn time(name: &str, rounds: u32, mut body: impl FnMut()) {
    let mut best = f64::MAX;
    for _ in 0..1000 {
        let start = Instant::now();
        for _ in 0..rounds {
            body();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(rounds));
    }
    println!("{name:36} {best:10.1} ns");
}

fn main() {
    let memory = rustix::fs::memfd_create("tern-speed", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd");
    let device = Shm::new(memory.as_fd(), 0, 1, 1, None).expect("shared memory");
    let mcm = Rc::new(Mcm::new(Box::new(device), 0, 1, Patience::new(1, 1)));
    let adi: &'static Adi = Box::leak(Box::new(Adi::new(mcm, None)));
    let peers = Rc::new(Peers::new(3, 0, [0].into(), None, 1));
    let window = Window::new(adi, peers, Exposure::Allocate { bytes: 1 << 20 }, 1).expect("a window");
    let (long, double) = (Type::basic(Basic::Int64), Type::basic(Basic::Float64));
    let mut word = 1u64;
    let data = Data::Bytes((&raw mut word).cast(), 8);
    let target = Target { rank: 0, displacement: 64, ty: &long, count: 1 };
    let real = Target { ty: &double, ..target };
    let at = (&raw mut word).cast::<u8>();
    let mut old = 0u64;
    let result = (&raw mut old).cast::<u8>();
    const N: u32 = 1000;
    time("put 8 B", N, || drop(black_box(window.put(black_box(&data), black_box(&target)))));
    time("get 8 B", N, || drop(black_box(window.get(black_box(&data), black_box(&target)))));
    time("put 8 B, flush", N, || drop(black_box((window.put(&data, black_box(&target)), window.flush(0)))));
    time("fetch_and_op sum, long", N, || drop(black_box(window.fetch_and_op(at, result, black_box(&target), Op::Sum))));
    time("fetch_and_op sum, double", N, || drop(black_box(window.fetch_and_op(at, result, black_box(&real), Op::Sum))));
    time("fetch_and_op max, long", N, || drop(black_box(window.fetch_and_op(at, result, black_box(&target), Op::Max))));
    time("compare_and_swap", N, || drop(black_box(window.compare_and_swap(at, at, result, black_box(&target)))));
    time("accumulate sum, long", N, || drop(black_box(window.accumulate(&data, black_box(&target), Op::Sum))));
    time("lock shared, unlock", N, || {
        window.lock(0, false).expect("a lock");
        let _ = black_box(window.unlock(0));
    });
    time("lock exclusive, put 8 B, unlock", N, || {
        window.lock(0, true).expect("a lock");
        let _ = black_box((window.put(&data, black_box(&target)), window.unlock(0)));
    });
    time("lock_all, unlock_all", N, || {
        window.lock_all().expect("a lock");
        let _ = black_box(window.unlock_all());
    });
    time("fence", N, || drop(black_box(window.fence(true, true))));
    for size in [64usize << 10, 1 << 20] {
        let mut row = vec![0u64; size / 8];
        let data = Data::Bytes(row.as_mut_ptr().cast(), size);
        let target = Target { rank: 0, displacement: 0, ty: &double, count: size as i64 / 8 };
        let rounds = 2;
        time(&format!("put {} KiB", size >> 10), rounds, || drop(black_box(window.put(&data, &target))));
        time(&format!("accumulate sum {} KiB double", size >> 10), rounds, || {
            drop(black_box(window.accumulate(&data, &target, Op::Sum)))
        });
    }
}
