//! One of several processes that copy between regions of their memory, as the paper's own benchmarks of KNEM do. The first one
//! starts the others, and prints the figures.

use clap::{Args, ValueEnum};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tern_region::Run;
use tern_region::space::{Cookie, Direction, Error, Flags, Offload, Options, Protection, Shape, Space};

/// The name of the subcommand, which users do not see.
pub const COMMAND: &str = "region-member";
/// The space's place in the file; the board lies before it.
const BASE: u64 = 64 << 10;
/// Address space of a member in the file, for what it allocates there: nothing.
const SPAN: u64 = 1 << 26;
const MAX_MEMBERS: usize = 64;
/// Bytes of each of a member's two pools in [`Task::Strategies`]: more than a cache holds.
const POOL: usize = 64 << 20;
const LINE: usize = 64;
/// Looks before a waiting process yields its core.
const LOOKS: u32 = 500;

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Task {
    Strategies,
    Regions,
}

impl Task {
    #[cfg(test)]
    pub const ALL: [Task; 2] = [Task::Strategies, Task::Regions];

    pub fn name(self) -> &'static str {
        match self {
            Task::Strategies => "strategies",
            Task::Regions => "regions",
        }
    }

    /// What is measured in turn.
    pub fn ways(self) -> &'static [&'static str] {
        match self {
            Task::Strategies => &["sender-writes", "receiver-reads", "both-halves", "region-to-region", "copy-thread"],
            Task::Regions => &["one-region", "one-for-each"],
        }
    }
}

#[derive(Args)]
pub struct Words {
    #[arg(long, value_enum)]
    task: Task,
    #[arg(long)]
    members: usize,
    #[arg(long, default_value_t = 0)]
    me: usize,
    /// The number of the file that all share, for all but the first
    #[arg(long)]
    file: Option<i32>,
    /// Sizes of messages
    #[arg(long, value_delimiter = ',')]
    lengths: Vec<u64>,
    /// Bytes that a batch copies
    #[arg(long)]
    volume: u64,
    #[arg(long)]
    batches: usize,
    /// A core for each; none: all on all
    #[arg(long, value_delimiter = ',')]
    on: Vec<usize>,
}

/// A counter with a cache line of its own.
#[repr(C, align(64))]
struct Word(AtomicU64);

/// Memory that all members see: zeros at first.
#[repr(C)]
struct Board {
    /// Steps that each member has announced.
    ready: [Word; MAX_MEMBERS],
    /// Steps that each has ended, where that is announced too.
    done: [Word; MAX_MEMBERS],
    /// Cookies, of each member two.
    cookies: [[AtomicU64; 2]; MAX_MEMBERS],
}

const _: () = assert!(size_of::<Board>() <= BASE as usize);

struct Member {
    me: usize,
    members: usize,
    space: Space,
    board: &'static Board,
}

/// The whole life of a member.
///
/// Errors: a line that says what failed.
pub fn run(words: &Words) -> Result<(), String> {
    if !(2..=MAX_MEMBERS).contains(&words.members) || words.me >= words.members || words.lengths.contains(&0) {
        return Err(format!("{COMMAND}: 2 to {MAX_MEMBERS} members, and lengths of a byte and more"));
    }
    let told = |what: &str, error: &dyn std::fmt::Display| format!("{COMMAND}: {what}: {error}");
    let file = match words.file {
        // SAFETY: the first member has left this number open for this process alone.
        Some(number) => unsafe { OwnedFd::from_raw_fd(number) },
        None => memfd_create("tern-bench", MemfdFlags::empty()).map_err(|error| told("memfd_create", &error))?,
    };
    tern_region::extend(file.as_fd(), BASE, BASE).map_err(|error| told("memory", &error))?;
    let others = start_others(words, &file).map_err(|error| told("cannot start the others", &error))?;
    bind(words).map_err(|error| told("sched_setaffinity", &error))?;
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: a new mapping, which stays.
    let board = unsafe { mmap(std::ptr::null_mut(), BASE as usize, protection, flags, &file, 0) };
    // SAFETY: it is as long as that, of zeros, and all of it atomics.
    let board: &'static Board = unsafe { &*board.map_err(|error| told("mmap", &error))?.cast() };
    let shape = Shape { members: words.members as u32, span: SPAN };
    let space = Space::join(file, BASE, shape, words.me as u32, Options::default());
    let space = space.map_err(|error| told("no place in the space", &error))?;
    let member = Member { me: words.me, members: words.members, space, board };
    member.meet();
    let measured = match words.task {
        Task::Strategies => member.strategies(words),
        Task::Regions => member.regions(words),
    };
    measured.map_err(|error| told(words.task.name(), &error))?;
    member.meet();
    for mut other in others {
        let status = other.wait().map_err(|error| told("wait", &error))?;
        if !status.success() {
            return Err(format!("{COMMAND}: another member: {status}"));
        }
    }
    Ok(())
}

/// By the first member: processes that inherit the file.
fn start_others(words: &Words, file: &OwnedFd) -> std::io::Result<Vec<Child>> {
    if words.me > 0 {
        return Ok(Vec::new());
    }
    fcntl_setfd(file, FdFlags::empty())?;
    let program = std::env::current_exe()?;
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let start = |me: usize| {
        let number = file.as_raw_fd().to_string();
        Command::new(&program).args(&arguments).args(["--me", &me.to_string(), "--file", &number]).spawn()
    };
    (1..words.members).map(start).collect()
}

fn bind(words: &Words) -> rustix::io::Result<()> {
    let Some(&core) = words.on.get(words.me) else { return Ok(()) };
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set)
}

/// Private memory, whose pages are there. Other processes may change it.
fn pool(bytes: usize) -> Vec<AtomicU64> {
    (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(1)).collect()
}

fn run_of(memory: &[AtomicU64]) -> Run {
    Run::new(memory.as_ptr().cast_mut().cast(), size_of_val(memory))
}

/// A word in each cache line of a message is written.
fn make(message: &[AtomicU64], value: u64) {
    message.iter().step_by(LINE / 8).for_each(|word| word.store(value, Ordering::Relaxed));
}

/// And read.
fn sum(message: &[AtomicU64]) -> u64 {
    message.iter().step_by(LINE / 8).fold(0, |sum, word| sum.wrapping_add(word.load(Ordering::Relaxed)))
}

/// The sum of a message that was made with `value`.
fn expected(words: usize, value: u64) -> u64 {
    (words.div_ceil(LINE / 8) as u64).wrapping_mul(value)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

impl Member {
    /// Waits until a counter has come to `count`.
    fn await_count(&self, word: &Word, count: u64) {
        let mut looks = 0;
        // Acquire: pairs with the release of `announce`.
        while word.0.load(Ordering::Acquire) < count {
            looks += 1;
            if looks % LOOKS == 0 {
                // A peer that cannot reach this memory asks for it.
                let _ = self.space.progress();
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }

    /// One step more on a counter of this member's. Gives the count.
    fn announce(&self, words: &[Word; MAX_MEMBERS]) -> u64 {
        // Release: pairs with the acquire of `await_count`; what was written before is there.
        words[self.me].0.fetch_add(1, Ordering::Release) + 1
    }

    /// A barrier: all members call it as often.
    fn meet(&self) {
        let count = self.announce(&self.board.done);
        (0..self.members).for_each(|member| self.await_count(&self.board.done[member], count));
    }

    fn publish(&self, member: usize, place: usize, cookie: Cookie) {
        // What is behind it is announced later.
        self.board.cookies[member][place].store(cookie.to_bits(), Ordering::Relaxed);
    }

    fn cookie(&self, member: usize, place: usize) -> Result<Cookie, Error> {
        Cookie::from_bits(self.board.cookies[member][place].load(Ordering::Relaxed)).ok_or(Error::NoRegion)
    }

    /// Two members send each other messages in turn, in each way of [`Task::ways`].
    fn strategies(&self, words: &Words) -> Result<(), Error> {
        let (from, to) = (pool(POOL), pool(POOL));
        let declare = |memory: &[AtomicU64], protection| {
            // SAFETY: the memory stays until the regions are destroyed, and is made of atomics.
            unsafe { self.space.create_region(&[run_of(memory)], protection, Flags::NONE) }
        };
        let cookies = [declare(&from, Protection::Read)?, declare(&to, Protection::Write)?];
        (0..2).for_each(|place| self.publish(self.me, place, cookies[place]));
        self.meet();
        let other = 1 - self.me;
        let mut exchange = Exchange {
            member: self,
            from: &from,
            to: &to,
            own: cookies,
            theirs: [self.cookie(other, 0)?, self.cookie(other, 1)?],
            next: 0,
            round: self.board.ready[self.me].0.load(Ordering::Relaxed),
        };
        for (way, name) in Task::Strategies.ways().iter().enumerate() {
            for &len in &words.lengths {
                let len = (len as usize).min(POOL);
                let count = (words.volume / 2 / len as u64).max(2);
                let us = self.time(words.batches, count, |_| exchange.both_ways(way, len))? / 2.0;
                self.print(name, len, us);
            }
        }
        self.meet();
        cookies.iter().try_for_each(|cookie| self.space.destroy_region(*cookie))
    }

    /// The first member broadcasts to all others, by one region or one for each.
    fn regions(&self, words: &Words) -> Result<(), Error> {
        let longest = words.lengths.iter().copied().max().unwrap_or(8) as usize;
        let memory = pool(longest);
        let value = 7;
        if self.me == 0 {
            make(&memory, value);
        }
        let mut round = self.board.ready[0].0.load(Ordering::Relaxed);
        self.meet();
        for (way, name) in Task::Regions.ways().iter().enumerate() {
            for &len in &words.lengths {
                let message = &memory[..(len as usize / 8).max(1)];
                let run = [run_of(message)];
                let count = (words.volume / len / (self.members as u64 - 1)).max(2);
                let us = self.time(words.batches, count, |_| {
                    round += 1;
                    match self.me {
                        0 => self.give(&run, way == 0),
                        _ => self.take(&run, way == 0, round),
                    }
                })?;
                let arrived = self.me == 0 || sum(message) == expected(message.len(), value);
                assert!(arrived, "{name}: {len} bytes are not what the first member has");
                make(message, if self.me == 0 { value } else { 0 });
                self.print(name, len as usize, us);
            }
        }
        Ok(())
    }

    /// The root's part: a region, or one for each of the others, for as long as they copy.
    fn give(&self, run: &[Run; 1], one: bool) -> Result<(), Error> {
        let readers = 1..self.members;
        let count = if one { 1 } else { readers.len() };
        let mut cookies = Vec::with_capacity(count);
        for place in 0..count {
            // SAFETY: the memory stays until the regions are destroyed, and is made of atomics.
            let cookie = unsafe { self.space.create_region(run, Protection::Read, Flags::NONE) }?;
            self.publish(place + 1, 0, cookie);
            cookies.push(cookie);
        }
        let step = self.announce(&self.board.ready);
        readers.for_each(|reader| self.await_count(&self.board.ready[reader], step));
        cookies.into_iter().try_for_each(|cookie| self.space.destroy_region(cookie))
    }

    fn take(&self, run: &[Run; 1], one: bool, round: u64) -> Result<(), Error> {
        self.await_count(&self.board.ready[0], round);
        let cookie = self.cookie(if one { 1 } else { self.me }, 0)?;
        // SAFETY: memory of this process, that nothing else uses.
        unsafe { self.space.inline_copy(run, cookie.at(0), run[0].len as u64, Direction::Read) }?;
        self.announce(&self.board.ready);
        Ok(())
    }

    /// The median of so many batches of `count` steps each, in microseconds a step, after a batch for nothing.
    fn time(&self, batches: usize, count: u64, mut step: impl FnMut(u64) -> Result<(), Error>) -> Result<f64, Error> {
        let mut values = Vec::new();
        for batch in 0..=batches {
            self.meet();
            let start = Instant::now();
            (0..if batch == 0 { 2 } else { count }).try_for_each(&mut step)?;
            values.push(start.elapsed().as_secs_f64() * 1e6 / count as f64);
        }
        values.remove(0);
        self.meet();
        Ok(median(values))
    }

    fn print(&self, name: &str, len: usize, us: f64) {
        if self.me == 0 {
            println!("{name} {len} {us:.3} us");
        }
    }
}

/// Messages between two, in pools that are walked through.
struct Exchange<'a> {
    member: &'a Member,
    from: &'a [AtomicU64],
    to: &'a [AtomicU64],
    /// Regions of this member and of the other: what is sent from, and what is received into.
    own: [Cookie; 2],
    theirs: [Cookie; 2],
    next: usize,
    round: u64,
}

impl Exchange<'_> {
    fn both_ways(&mut self, way: usize, len: usize) -> Result<(), Error> {
        let words = len / 8;
        if self.next + words > self.from.len() {
            self.next = 0;
        }
        let at = self.next;
        self.next += words;
        self.round += 1;
        for sends in [self.member.me == 0, self.member.me != 0] {
            if sends { self.send(way, at, words) } else { self.receive(way, at, words) }?;
        }
        Ok(())
    }

    fn send(&mut self, way: usize, at: usize, words: usize) -> Result<(), Error> {
        let message = &self.from[at..at + words];
        make(message, self.round);
        let write = |part: &[AtomicU64]| {
            let (spot, len) = (self.theirs[1].at(8 * at as u64), size_of_val(part) as u64);
            // SAFETY: what is sent is only read, and nobody writes to it now.
            unsafe { self.member.space.inline_copy(&[run_of(part)], spot, len, Direction::Write) }
        };
        let member = self.member;
        match way {
            0 => {
                write(message)?;
                member.announce(&member.board.ready);
            }
            2 => {
                member.announce(&member.board.ready);
                write(&message[..words / 2])?;
                // The other one waits for it before it looks.
                member.announce(&member.board.done);
            }
            _ => drop(member.announce(&member.board.ready)),
        }
        Ok(())
    }

    fn receive(&mut self, way: usize, at: usize, words: usize) -> Result<(), Error> {
        let member = self.member;
        let other = 1 - member.me;
        member.await_count(&member.board.ready[other], self.round);
        let first = if way == 2 { words / 2 } else { 0 };
        let place = at + first;
        let (offset, len) = (8 * place as u64, 8 * (words - first) as u64);
        let run = [run_of(&self.to[place..at + words])];
        let (spot, space) = (self.theirs[0].at(offset), &member.space);
        match way {
            0 => {}
            3 => space.copy(spot, self.own[1].at(offset), len)?,
            4 => {
                // SAFETY: memory that only this copy writes to until it is over.
                let status = unsafe { space.start_inline_copy(&run, spot, len, Direction::Read, Offload::Always) }?;
                space.wait(&status)?;
            }
            // SAFETY: memory that only this copy writes to.
            _ => unsafe { space.inline_copy(&run, spot, len, Direction::Read) }?,
        }
        if way == 2 {
            let own = member.announce(&member.board.done);
            member.await_count(&member.board.done[other], own);
        }
        let arrived = sum(&self.to[at..at + words]) == expected(words, self.round);
        assert!(arrived, "{}: {} bytes are not what was sent", Task::Strategies.ways()[way], 8 * words);
        Ok(())
    }
}
