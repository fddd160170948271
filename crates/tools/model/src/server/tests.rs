//! The server, asked by threads in the place of processes.

use super::*;
use rustix::thread::futex;
use std::sync::atomic::Ordering;
use std::thread;

/// Core 0, one of its cache, and one of the other package, on 2 packages of 6 caches of 8 cores.
const CORES: [u64; 3] = [0, 1, 48];
const FILE: u64 = 7;

/// A process of the run.
struct Asker<'a> {
    memory: &'a Memory,
    rank: usize,
    clock: f64,
}

impl Asker<'_> {
    fn ask(&mut self, act: Act, source: Range, target: Range) {
        let slot = self.memory.slot(self.rank);
        slot.act.store(act as u32, Ordering::Relaxed);
        slot.source.store(source);
        slot.target.store(target);
        slot.clock.set(self.clock);
        slot.asks.store(1, Ordering::Release);
        self.memory.header().bell.fetch_add(1, Ordering::Release);
        let _ = futex::wake(&self.memory.header().bell, futex::Flags::empty(), 1);
        while slot.asks.load(Ordering::Acquire) == 1 {
            let _ = futex::wait(&slot.asks, futex::Flags::empty(), 1, None);
        }
        self.clock = slot.clock.get();
    }

    fn read(&mut self, offset: u64, bytes: u64) {
        self.ask(Act::Read, Range { file: FILE, offset, bytes }, Range::default());
    }

    fn write(&mut self, offset: u64, bytes: u64) {
        self.ask(Act::Write, Range::default(), Range { file: FILE, offset, bytes });
    }

    /// Waits for a change of the line at 0.
    fn pause(&mut self) {
        let slot = self.memory.slot(self.rank);
        slot.looked.store(1, Ordering::Relaxed);
        slot.lines[0][0].store(FILE, Ordering::Relaxed);
        slot.lines[0][1].store(0, Ordering::Relaxed);
        self.ask(Act::Pause, Range::default(), Range::default());
    }

    fn mark(&mut self, level: u64) {
        self.ask(Act::Mark, Range { offset: level, ..Range::default() }, Range::default());
    }
}

/// A run of three processes, each of which does `body` between its beginning and its end.
fn run(body: impl Fn(&mut Asker) + Sync) -> Result<Run, String> {
    let machine = Machine::named("2x-epyc-7r13").expect("a machine");
    let memory = Memory::new(CORES.len()).expect("memory");
    let server = Server::new(&memory, &machine);
    let (shared, body) = (Shared(&memory), &body);
    thread::scope(|scope| {
        for (rank, core) in CORES.into_iter().enumerate() {
            scope.spawn(move || {
                let mut asker = Asker { memory: shared.get(), rank, clock: 0.0 };
                asker.ask(Act::Begin, Range { offset: core, ..Range::default() }, Range::default());
                body(&mut asker);
                asker.ask(Act::End, Range::default(), Range::default());
            });
        }
        server.serve(|| false)
    })
}

#[derive(Clone, Copy)]
struct Shared<'a>(&'a Memory);
// SAFETY: all words of the memory are atomics.
unsafe impl Send for Shared<'_> {}

impl<'a> Shared<'a> {
    fn get(self) -> &'a Memory {
        self.0
    }
}

/// Rank 0 writes a line for which the others wait.
fn tell(asker: &mut Asker) {
    for _ in 0..3 {
        asker.mark(1);
        if asker.rank == 0 {
            asker.write(0, 8);
        } else {
            asker.pause();
            asker.read(0, 8);
        }
        asker.mark(2);
    }
}

#[test]
fn a_line_that_is_written_comes_to_all_that_wait_for_it() {
    let run = run(tell).expect("an end");
    let last = &run.marks[4..];
    let crossed =
        (last[1].crossings.package - last[0].crossings.package, last[1].crossings.cache - last[0].crossings.cache);
    assert_eq!(crossed, (2, 2), "once there, and once back to the writer");
    let machine = Machine::named("2x-epyc-7r13").expect("a machine");
    let time = last[1].time - last[0].time;
    assert!(time > machine.nearest() && time < 1000.0, "{time} ns");
    assert_eq!(run.naps, 0);
}

#[test]
fn two_runs_are_equal() {
    let [one, other] = [run(tell).expect("an end"), run(tell).expect("an end")];
    assert_eq!(one.marks, other.marks);
    assert_eq!(one.asked, other.asked);
}

#[test]
fn a_long_payload_crosses_once_by_its_bytes() {
    let body = |asker: &mut Asker| {
        if asker.rank == 0 {
            asker.write(0, 1 << 16);
        }
        asker.mark(1);
        if asker.rank == 2 {
            asker.read(0, 1 << 16);
        }
        asker.mark(2);
    };
    let run = run(body).expect("an end");
    assert_eq!(run.marks[1].crossings.package - run.marks[0].crossings.package, 1024);
    let (time, machine) = (run.marks[1].time - run.marks[0].time, Machine::named("2x-epyc-7r13").expect("a machine"));
    let whole = machine.cost(crate::machine::Distance::Across, 1 << 16);
    assert!((time / whole - 1.0).abs() < 0.05, "{time} ns, and {whole} in one piece");
}
