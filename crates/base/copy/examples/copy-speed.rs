//! Prints how fast messages go from one core to another, by copy loop and by way of moving them:
//! `cargo run --release -p tern-copy --example copy-speed -- [off] [sizes=4k,64k] [rounds=9]
//! [skew=16] [VARIANT]...`
//!
//! Two processes, each on a core of its own, send a message to and fro; GB/s is its size by half
//! the round trip. `in cache` every message uses the same buffers, `off` (cache) each lies
//! elsewhere in 128 MiB; with `exchange` both send and then both receive (`pipe` alone, with room for
//! a message), and the bytes of both count; with `answer` a message returns in the cells in which the
//! other came, which then must have room for one; receive buffers begin `skew` bytes after the start of a cache line. A variant
//! is `WAY:LOOP:LOOP:CHUNK:CELLS:EXPECTED:GAP`, later fields may be missing:
//!
//! - `pipe`: the sender copies chunks into cells of shared memory (first loop), the receiver
//!   copies them out (second loop); so many cells, so far apart. The receiver calls `expect` for
//!   so many bytes before it waits.
//! - `get`: the receiver copies from the sender's buffer, which both have mapped.
//! - `put`: the sender copies into the receiver's buffer.
//! - `both`: both do, claiming chunks from the two ends.
//! - `readv`: the receiver calls process_vm_readv.
//!
//! All variants are measured in turn, many times over, and the medians printed: on a virtual
//! machine the speed of memory changes from one second to the next. So does the distance of the
//! two cores, which is why the time of one cache line from core to core is printed: figures from
//! runs in which it differs do not compare.

use std::process::exit;
use std::ptr;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::time::Instant;
use tern_copy::{Kernel, expect, kernels};

/// Bytes of each process's send buffers, and of its receive buffers.
const POOL: usize = 128 << 20;
/// Bytes of cells for one direction.
const AREA: usize = 8 << 20;
/// Most cells.
const CELLS: usize = 512;
/// Bytes sent each way in one measurement, off cache and in it.
const BATCH: [usize; 2] = [8 << 20, 8 << 20];

#[repr(C, align(128))]
struct Word(AtomicU32);

/// The words of one direction.
#[repr(C)]
struct Pipe {
    /// By the sender: the message, and each cell, that it has made ready.
    ready: Word,
    full: [Word; CELLS],
    /// By the receiver: messages taken or permitted, cells taken.
    done: Word,
    taken: Word,
    /// Chunks claimed from the front (lower half) and from the back.
    claims: [AtomicU64; 16],
    finished: [Word; 2],
}

#[repr(C)]
struct Control {
    pipes: [Pipe; 2],
    turns: [Word; 2],
    child: Word,
}

#[derive(Clone)]
struct Variant {
    name: String,
    way: Way,
    first: Kernel,
    second: Kernel,
    chunk: usize,
    cells: usize,
    expected: usize,
    gap: usize,
}

#[derive(Clone, Copy)]
enum Way {
    Pipe,
    Get,
    Put,
    Both,
    Readv,
}

/// One of the two processes.
struct Side {
    me: usize,
    other: i32,
    control: &'static Control,
    /// By sender.
    cells: [*mut u8; 2],
    send: [*mut u8; 2],
    receive: [*mut u8; 2],
    /// Messages and cells sent and received.
    sent: u32,
    received: u32,
    cells_sent: u32,
    cells_taken: u32,
    off_cache: bool,
    /// Both send, then both receive.
    exchange: bool,
    /// Bytes from a line's start to the receive buffers.
    skew: usize,
    next: usize,
    turn: u32,
}

fn wait_for(word: &Word, value: u32) {
    // Acquire: pairs with the release of `tell`.
    while (word.0.load(Acquire).wrapping_sub(value) as i32) < 0 {
        std::hint::spin_loop();
    }
}

fn tell(word: &Word, value: u32) {
    // Release: pairs with the acquire of `wait_for`.
    word.0.store(value, Release);
}

impl Side {
    fn place(&mut self, len: usize) -> usize {
        if !self.off_cache {
            return 0;
        }
        let slot = (len + 127) / 64 * 64;
        let slots = (POOL - 64) / slot;
        self.next = (self.next + ((slots as f64 * 0.618) as usize | 1)) % slots;
        self.next * slot
    }

    fn meet(&mut self) {
        self.turn += 1;
        tell(&self.control.turns[self.me], self.turn);
        wait_for(&self.control.turns[1 - self.me], self.turn);
    }

    fn send(&mut self, v: &Variant, at: usize, len: usize) {
        let pipe = &self.control.pipes[self.me];
        let from = self.send[self.me].wrapping_add(at);
        let to = self.receive[1 - self.me].wrapping_add(at + self.skew);
        if let Way::Pipe = v.way {
            return self.fill_cells(v, from, len);
        }
        self.sent += 1;
        // Relaxed: published by the word that follows.
        pipe.claims[0].store(0, Relaxed);
        tell(&pipe.ready, self.sent);
        wait_for(&pipe.done, self.sent);
        match v.way {
            Way::Pipe | Way::Get | Way::Readv => return,
            // SAFETY: both buffers are mapped and hold the message.
            Way::Put => unsafe { (v.first.run)(to, from, len) },
            Way::Both => self.claim(v, &pipe.claims[0], to, from, len, true),
        }
        tell(&pipe.finished[0], self.sent);
        if let Way::Both = v.way {
            wait_for(&pipe.finished[1], self.sent);
        }
    }

    fn receive(&mut self, v: &Variant, at: usize, len: usize) {
        let pipe = &self.control.pipes[1 - self.me];
        let from = self.send[1 - self.me].wrapping_add(at);
        let to = self.receive[self.me].wrapping_add(at + self.skew);
        if let Way::Pipe = v.way {
            return self.empty_cells(v, to, len);
        }
        self.received += 1;
        wait_for(&pipe.ready, self.received);
        match v.way {
            // SAFETY: both buffers are mapped and hold the message.
            Way::Get => unsafe { (v.first.run)(to, from, len) },
            Way::Readv => self.readv(to, from, len),
            _ => {}
        }
        tell(&pipe.done, self.received);
        if let Way::Both = v.way {
            self.claim(v, &pipe.claims[0], to, from, len, false);
            tell(&pipe.finished[1], self.received);
        }
        if let Way::Both | Way::Put = v.way {
            wait_for(&pipe.finished[0], self.received);
        }
    }

    fn fill_cells(&mut self, v: &Variant, from: *const u8, len: usize) {
        let pipe = &self.control.pipes[self.me];
        for at in (0..len).step_by(v.chunk) {
            let cell = self.cells_sent as usize % v.cells;
            wait_for(&pipe.taken, (self.cells_sent + 1).saturating_sub(v.cells as u32));
            let to = self.cells[self.me].wrapping_add(cell * (v.chunk + v.gap));
            // SAFETY: the cell is ours until it is told, and holds a chunk.
            unsafe { (v.first.run)(to, from.add(at), v.chunk.min(len - at)) };
            self.cells_sent += 1;
            tell(&pipe.full[cell], self.cells_sent);
        }
    }

    fn empty_cells(&mut self, v: &Variant, to: *mut u8, len: usize) {
        let pipe = &self.control.pipes[1 - self.me];
        expect(to, len.min(v.expected));
        for at in (0..len).step_by(v.chunk) {
            let cell = self.cells_taken as usize % v.cells;
            self.cells_taken += 1;
            wait_for(&pipe.full[cell], self.cells_taken);
            let from = self.cells[1 - self.me].wrapping_add(cell * (v.chunk + v.gap));
            // SAFETY: the cell is ours until it is told as taken, and holds a chunk.
            unsafe { (v.second.run)(to.add(at), from, v.chunk.min(len - at)) };
            tell(&pipe.taken, self.cells_taken);
        }
    }

    /// Copies chunks until none is left: from the front, or from the back.
    fn claim(&self, v: &Variant, claims: &AtomicU64, to: *mut u8, from: *const u8, len: usize, front: bool) {
        let chunks = len.div_ceil(v.chunk) as u64;
        loop {
            // Both: pairs with itself, though the data needs only the words of the message.
            let old = claims.fetch_add(if front { 1 } else { 1 << 32 }, AcqRel);
            let (from_front, from_back) = (old & u32::MAX as u64, old >> 32);
            if from_front + from_back >= chunks {
                return;
            }
            let chunk = if front { from_front } else { chunks - 1 - from_back };
            let at = chunk as usize * v.chunk;
            let run = if front { v.first.run } else { v.second.run };
            // SAFETY: a part of the message, claimed by nobody else.
            unsafe { run(to.add(at), from.add(at), v.chunk.min(len - at)) };
        }
    }

    fn readv(&self, to: *mut u8, from: *const u8, len: usize) {
        let local = libc::iovec { iov_base: to.cast(), iov_len: len };
        let remote = libc::iovec { iov_base: from.cast_mut().cast(), iov_len: len };
        // SAFETY: the local buffer holds the message; the kernel checks the rest.
        let read = unsafe { libc::process_vm_readv(self.other, &local, 1, &remote, 1, 0) };
        if read != len as isize {
            eprintln!("process_vm_readv: {}", std::io::Error::last_os_error());
            exit(1);
        }
    }

    /// GB/s of one batch.
    fn batch(&mut self, v: &Variant, len: usize) -> f64 {
        let messages = (BATCH[!self.off_cache as usize] / len).clamp(4, 1000);
        // Cells begin anew, since their number may differ.
        (self.cells_sent, self.cells_taken) = (0, 0);
        self.meet();
        tell(&self.control.pipes[1 - self.me].taken, 0);
        self.control.pipes[self.me].full.iter().for_each(|word| tell(word, 0));
        self.meet();
        let start = Instant::now();
        for _ in 0..messages {
            let at = self.place(len);
            if self.me == 0 || self.exchange {
                self.send(v, at, len);
                self.receive(v, at, len);
            } else {
                self.receive(v, at, len);
                self.send(v, at, len);
            }
        }
        (2 * messages * len) as f64 / start.elapsed().as_secs_f64() / 1e9
    }

    /// Nanoseconds of a cache line from core to core.
    fn distance(&mut self) -> f64 {
        const TIMES: u32 = 200;
        self.meet();
        let start = Instant::now();
        (0..TIMES).for_each(|_| self.meet());
        start.elapsed().as_secs_f64() / TIMES as f64 * 1e9
    }
}

/// Memory that both processes share, touched.
fn shared(len: usize) -> *mut u8 {
    // SAFETY: a new mapping, filled within its length.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let base = libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0);
        assert_ne!(base, libc::MAP_FAILED, "no memory");
        ptr::write_bytes(base.cast::<u8>(), 0, len);
        base.cast()
    }
}

/// Binds the process to the core, counted among those that it may use.
fn bind(index: usize) {
    // SAFETY: plain system calls on a set of our own.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        let mut cores = (0..libc::CPU_SETSIZE as usize).filter(|&c| libc::CPU_ISSET(c, &set));
        let Some(core) = cores.nth(index) else {
            eprintln!("copy-speed needs two cores");
            exit(1);
        };
        libc::CPU_ZERO(&mut set);
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}

fn bytes(text: &str) -> usize {
    let (digits, unit) = match text.strip_suffix('k') {
        Some(digits) => (digits, 1 << 10),
        None => (text, 1),
    };
    digits.parse::<usize>().expect("a number of bytes, or of KiB with k") * unit
}

fn variant(text: &str) -> Variant {
    let mut fields = text.split(':');
    let way = match fields.next().unwrap_or("") {
        "pipe" => Way::Pipe,
        "get" => Way::Get,
        "put" => Way::Put,
        "both" => Way::Both,
        "readv" => Way::Readv,
        other => panic!("no way {other}"),
    };
    let all = kernels();
    let named = |name: &str| {
        let known = || all.iter().map(|k| k.name).collect::<Vec<_>>().join(" ");
        *all.iter().find(|k| k.name == name).unwrap_or_else(|| panic!("loops: {}", known()))
    };
    let first = fields.next().map_or(all[0], named);
    let second = fields.next().map_or(first, named);
    let chunk = fields.next().map_or(8 << 10, bytes);
    let cells = fields.next().map_or(8, |n| n.parse().expect("a number of cells"));
    let expected = fields.next().map_or(0, bytes);
    let gap = fields.next().map_or(0, bytes);
    assert!(cells <= CELLS && cells * (chunk + gap) <= AREA, "cells of at most 8 MiB");
    Variant { name: text.to_owned(), way, first, second, chunk, cells, expected, gap }
}

fn main() {
    let mut sizes = vec![4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
    let mut variants = Vec::new();
    let mut off_cache = false;
    let (mut rounds, mut skew, mut exchange, mut answer) = (9, 0, false, false);
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("sizes", list)) => sizes = list.split(',').map(bytes).collect(),
            Some(("rounds", n)) => rounds = n.parse().expect("a number"),
            Some(("skew", n)) => skew = bytes(n),
            _ if argument == "exchange" => exchange = true,
            _ if argument == "answer" => answer = true,
            _ if argument == "off" => off_cache = true,
            _ => variants.push(variant(&argument)),
        }
    }
    if variants.is_empty() {
        for kernel in kernels() {
            variants.push(variant(&format!("pipe:libc:{}", kernel.name)));
            variants.push(variant(&format!("get:{}", kernel.name)));
        }
        variants.extend(["both:libc", "put:libc", "readv"].map(variant));
    }
    let control = shared(size_of::<Control>()).cast::<Control>();
    let pools: Vec<_> = (0..4).map(|_| shared(POOL)).collect();
    let mut side = Side {
        me: 0,
        other: 0,
        // SAFETY: zeros are valid, and the mapping stays.
        control: unsafe { &*control },
        cells: if answer { [shared(AREA); 2] } else { [shared(AREA), shared(AREA)] },
        send: [pools[0], pools[1]],
        receive: [pools[2], pools[3]],
        sent: 0,
        received: 0,
        cells_sent: 0,
        cells_taken: 0,
        off_cache,
        exchange,
        skew,
        next: 0,
        turn: 0,
    };
    // SAFETY: the process has one thread.
    let child = unsafe { libc::fork() };
    side.me = (child == 0) as usize;
    side.other = child;
    if child == 0 {
        // SAFETY: a plain system call.
        side.other = unsafe { libc::getppid() };
    }
    bind(side.me);
    for pool in pools {
        // SAFETY: inside the mapping; this fills the process's page table.
        (0..POOL).step_by(4096).for_each(|at| unsafe {
            pool.add(at).read_volatile();
        });
    }
    run(&mut side, &variants, &sizes, rounds);
    if child != 0 {
        // SAFETY: our own child.
        unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
    }
}

/// What was measured: by variant and size, the line's way in nanoseconds and GB/s.
type Samples = Vec<Vec<Vec<(f64, f64)>>>;

fn run(side: &mut Side, variants: &[Variant], sizes: &[usize], rounds: usize) {
    let mut samples: Samples = vec![vec![Vec::new(); sizes.len()]; variants.len()];
    for round in 0..=rounds {
        for (variant, samples) in variants.iter().zip(&mut samples) {
            for (&size, samples) in sizes.iter().zip(samples) {
                let before = side.distance();
                let rate = side.batch(variant, size);
                let distance = before.max(side.distance());
                // The first round warms up.
                if round > 0 {
                    samples.push((distance, rate));
                }
            }
        }
    }
    if side.me == 0 {
        let distances = || samples.iter().flatten().flatten().map(|sample| sample.0);
        let least = distances().fold(f64::INFINITY, f64::min);
        let bounds = [0.0, 2.0 * least, 1000.0];
        for (low, high) in bounds.iter().zip(&bounds[1..]) {
            if distances().any(|d| (*low..*high).contains(&d)) {
                print(side, variants, sizes, &samples, *low..*high);
            }
        }
    }
}

/// Medians of what was measured while a line took so long.
fn print(side: &Side, variants: &[Variant], sizes: &[usize], samples: &Samples, distance: std::ops::Range<f64>) {
    let cached = if side.off_cache { "off cache" } else { "in cache" };
    println!("{cached}, GB/s; a line from core to core takes {distance:.0?} ns");
    print!("{:<28}", "");
    sizes.iter().for_each(|size| print!("{:>9}", format!("{} KiB", size >> 10)));
    println!();
    for (variant, samples) in variants.iter().zip(samples) {
        print!("{:<28}", variant.name);
        for samples in samples {
            let mut rates: Vec<f64> = samples.iter().filter(|s| distance.contains(&s.0)).map(|s| s.1).collect();
            rates.sort_by(f64::total_cmp);
            match rates.get(rates.len() / 2) {
                Some(rate) => print!("{rate:>9.2}"),
                None => print!("{:>9}", "-"),
            }
        }
        println!();
    }
    println!();
}
