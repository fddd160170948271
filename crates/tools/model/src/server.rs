//! The server of a run: processes of an MPI job, each with a clock of its own, say what they do with lines ([`tern_atomics::wire`]).
//!
//! The process with the smallest clock goes on, and only that one, so that two runs of a program are equal. A store costs the
//! process its instruction alone; others see it when the line is its own. A process whose looks were in vain stands still until one of the lines
//! that it has looked at is written.

mod memory;
mod rank;

use crate::lines::{Crossings, Lines};
use crate::machine::Machine;
pub use memory::Memory;
use rank::{Rank, State};
use std::collections::HashMap;
use tern_atomics::wire::{Act, LOOKED, Range};

/// A line or a piece of a longer payload: [`crate::lines::Name`].
type Name = crate::lines::Name;

/// Bytes up to which a range is one of lines; longer ones are of pieces.
const SHORT: u64 = 512;
/// Bytes of a piece.
const PIECE: u64 = 4096;
/// Nanoseconds from one look to the next of a process that looks at more lines than it can name.
const LONG: f64 = 100.0;
/// Nanoseconds from one look to the next of processes that would else stand still for ever.
const NAP: f64 = 1000.0;
/// How often in a row that may be.
const NAPS: u32 = 2000;

/// All processes have come to the same place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub level: i32,
    /// Nanoseconds since the beginning, by the clock of the last one.
    pub time: f64,
    /// Lines that had crossed borders by then.
    pub crossings: Crossings,
}

/// What a run leaves.
#[derive(Debug, Default)]
pub struct Run {
    pub marks: Vec<Mark>,
    /// How often all processes waited for each other, and were made to look again. A time after that is not to be believed.
    pub naps: u32,
    /// What the server was asked.
    pub asked: u64,
}

/// A run that goes on.
pub struct Server<'a> {
    memory: &'a Memory,
    machine: &'a Machine,
    lines: Lines<'a>,
    ranks: Vec<Rank>,
    /// Who waits for a line, and since which of its waits.
    waiters: HashMap<Name, HashMap<usize, u64>>,
    /// The process that is bound to each core.
    on: Vec<Option<usize>>,
    run: Run,
}

/// The parts of a range: each with its name and its bytes.
fn parts(range: Range) -> impl Iterator<Item = (Name, usize)> {
    let is_long = range.bytes > SHORT;
    let unit = if is_long { PIECE } else { 64 };
    let end = range.offset + range.bytes.max(1);
    (range.offset / unit..end.div_ceil(unit)).map(move |part| {
        let bytes = if is_long { end.min((part + 1) * unit) - range.offset.max(part * unit) } else { 64 };
        ((range.file as usize, part, is_long), bytes as usize)
    })
}

impl<'a> Server<'a> {
    pub fn new(memory: &'a Memory, machine: &'a Machine) -> Server<'a> {
        memory.describe(machine);
        Server {
            memory,
            machine,
            lines: Lines::new(machine),
            ranks: (0..memory.processes()).map(|_| Rank::default()).collect(),
            waiters: HashMap::new(),
            on: vec![None; machine.size()],
            run: Run::default(),
        }
    }

    /// Serves all processes until the last has left, or until `stop` says so while nobody runs.
    ///
    /// # Errors
    /// All processes wait for each other; two are bound to one core; `stop` was true before the end.
    pub fn serve(mut self, stop: impl Fn() -> bool) -> Result<Run, String> {
        for rank in 0..self.ranks.len() {
            self.hear(rank, &stop)?;
            let core = self.ranks[rank].source.offset as usize;
            let place = self.on.get_mut(core).ok_or_else(|| format!("there is no core {core}"))?;
            if let Some(other) = place.replace(rank) {
                return Err(format!("ranks {other} and {rank} are bound to core {core}"));
            }
            self.ranks[rank].core = core;
            self.ranks[rank].process = self.ranks[rank].target.offset;
            self.ranks[rank].state = State::Resumes(0.0);
        }
        while self.ranks.iter().any(|rank| rank.state != State::Ends) {
            let next = self.next(None);
            match next {
                Some((rank, time)) if self.ranks[rank].state == State::Asks(time) => self.act(rank, time),
                Some((rank, time)) => self.resume(rank, time, &stop)?,
                None => self.nap()?,
            }
        }
        (0..self.ranks.len()).for_each(|rank| self.memory.answer(rank, self.ranks[rank].clock, f64::INFINITY, 0));
        Ok(self.run)
    }

    /// The process with the smallest clock of those that can go on, other than `but`, and that clock.
    fn next(&self, but: Option<usize>) -> Option<(usize, f64)> {
        let going = self.ranks.iter().enumerate().filter(|(number, _)| Some(*number) != but);
        let times = going.filter_map(|(number, rank)| Some((number, rank.state.time()?)));
        times.min_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Waits until `rank` asks.
    fn hear(&mut self, rank: usize, stop: impl Fn() -> bool) -> Result<(), String> {
        let (act, source, target, clock) = self.memory.hear(rank, stop).ok_or("the program has ended early")?;
        let it = &mut self.ranks[rank];
        (it.act, it.source, it.target) = (act, source, target);
        it.clock = clock.max(it.clock);
        it.state = State::Asks(it.clock);
        self.run.asked += 1;
        Ok(())
    }

    /// Lets `rank` go on, until it asks again.
    fn resume(&mut self, rank: usize, time: f64, stop: impl Fn() -> bool) -> Result<(), String> {
        // A line that another process takes, or reads, is under way for this long at least.
        let until = self.next(Some(rank)).map_or(f64::INFINITY, |(_, time)| time + self.machine.nearest());
        self.ranks[rank].clock = time;
        self.memory.answer(rank, time, until, self.ranks[rank].stale);
        self.hear(rank, stop)
    }

    /// What a process that asked at `time` gets.
    fn act(&mut self, rank: usize, time: f64) {
        let (source, target) = (self.ranks[rank].source, self.ranks[rank].target);
        let begin = time + self.machine.step;
        let end = match self.ranks[rank].act {
            Act::Read => self.read(rank, source, begin),
            Act::Write => {
                self.write(rank, target, begin, begin);
                begin + self.bytes(target.bytes)
            }
            Act::Change => self.write(rank, target, begin, begin),
            Act::Copy => {
                let copied = begin + self.bytes(source.bytes);
                let read = self.read(rank, source, begin).max(copied);
                self.write(rank, target, begin, read);
                read
            }
            Act::Take => self.take(rank, source, begin),
            Act::Fetch => {
                self.fetch(rank, source, target, begin);
                begin
            }
            Act::Pause => return self.pause(rank, begin),
            Act::Begin => begin,
            Act::Mark => {
                self.ranks[rank].state = State::Marks;
                return self.meet();
            }
            Act::End => {
                self.ranks[rank].state = State::Ends;
                return self.meet();
            }
        };
        self.ranks[rank].state = State::Resumes(end);
    }

    /// Nanoseconds in which a core moves so many bytes in its own caches, of more than a few lines.
    fn bytes(&self, bytes: u64) -> f64 {
        if bytes > SHORT { self.machine.own(bytes as usize) } else { 0.0 }
    }

    /// When `rank` has the range, which it asks for from `begin` on. Lines of which none depends on another are under way at once.
    fn read(&mut self, rank: usize, range: Range, begin: f64) -> f64 {
        if range.file == 0 {
            return begin;
        }
        let (core, mut start, mut end) = (self.ranks[rank].core, begin, begin);
        for (name, bytes) in parts(range) {
            let holders = self.lines.holders(name).to_vec();
            if holders.contains(&core) {
                let came = self.ranks[rank].comes.remove(&name).unwrap_or(0.0);
                end = end.max(came);
                start += self.bytes(bytes as u64);
            } else {
                let latency = holders.iter().map(|&holder| self.machine.distance(core, holder)).min();
                let latency = latency.map_or(0.0, |distance| self.machine.cost(distance, 64));
                if let [owner] = holders[..] {
                    self.disturb(owner);
                }
                end = end.max(self.lines.read(core, name, bytes, start));
                // The next part follows behind this one's bytes.
                start = if name.2 { (end - latency).max(start) } else { start };
            }
        }
        end.max(start)
    }

    /// When `rank` alone has the range, which it asks for from `begin` on and has written by `written`. Whoever waits for one of its lines sees
    /// it then.
    fn write(&mut self, rank: usize, range: Range, begin: f64, written: f64) -> f64 {
        if range.file == 0 {
            return written;
        }
        let (core, mut start, mut end) = (self.ranks[rank].core, begin, written);
        for (name, bytes) in parts(range) {
            let others: Vec<usize> =
                self.lines.holders(name).iter().copied().filter(|&holder| holder != core).collect();
            others.into_iter().for_each(|holder| self.disturb(holder));
            let came = self.ranks[rank].comes.remove(&name).unwrap_or(0.0);
            end = end.max(self.lines.write(core, name, bytes, start)).max(came);
            start += self.bytes(bytes as u64);
            for (waiter, since) in self.waiters.remove(&name).unwrap_or_default() {
                let it = &mut self.ranks[waiter];
                if waiter != rank && it.state == State::Waits && it.waits == since {
                    // A little later: the store has been made by then.
                    it.state = State::Resumes(end.max(it.clock) + 1e-3);
                }
            }
        }
        end
    }

    /// When the kernel has copied between private memory of `rank` and of another process. Whether the lines were in a cache is not known: they
    /// count as those of the other core.
    fn take(&mut self, rank: usize, range: Range, begin: f64) -> f64 {
        let other = self.ranks.iter().find(|other| other.process == range.offset).map(|other| other.core);
        let distance = self.machine.distance(self.ranks[rank].core, other.unwrap_or(self.ranks[rank].core));
        self.lines.count(distance, range.bytes as usize);
        begin + self.machine.cost(distance, range.bytes as usize)
    }

    /// Lines that come while `rank` does something else.
    fn fetch(&mut self, rank: usize, source: Range, target: Range, begin: f64) {
        let core = self.ranks[rank].core;
        let (range, alone) = if target.file == 0 { (source, false) } else { (target, true) };
        for (name, bytes) in parts(range) {
            let holders = self.lines.holders(name).to_vec();
            if holders == [core] || !alone && holders.contains(&core) {
                continue;
            }
            let comes = match alone {
                true => {
                    holders.iter().filter(|&&holder| holder != core).for_each(|&holder| self.disturb(holder));
                    self.lines.write(core, name, bytes, begin)
                }
                false => {
                    if let [owner] = holders[..] {
                        self.disturb(owner);
                    }
                    self.lines.read(core, name, bytes, begin)
                }
            };
            self.ranks[rank].comes.insert(name, comes);
        }
    }

    /// The process on that core asks for its lines from now on.
    fn disturb(&mut self, core: usize) {
        if let Some(rank) = self.on[core] {
            self.ranks[rank].stale += 1;
        }
    }

    /// `rank` waits for one of the lines that it has looked at; if one has changed since, it looks again at once.
    fn pause(&mut self, rank: usize, begin: f64) {
        let core = self.ranks[rank].core;
        let looked = self.memory.looked(rank);
        let names: Vec<Name> = looked.iter().map(|&(file, line)| (file as usize, line, false)).collect();
        if names.len() > LOOKED {
            self.ranks[rank].state = State::Resumes(begin + LONG);
            return;
        }
        if names.iter().any(|&name| !self.lines.holders(name).contains(&core)) {
            self.ranks[rank].state = State::Resumes(begin);
            return;
        }
        let it = &mut self.ranks[rank];
        it.waits += 1;
        (it.state, it.clock) = (State::Waits, begin);
        for name in names {
            self.waiters.entry(name).or_default().insert(rank, it.waits);
        }
    }

    /// All go on at once when the last has come to a mark.
    fn meet(&mut self) {
        if self.ranks.iter().any(|rank| rank.state != State::Marks) {
            return;
        }
        let time = self.ranks.iter().map(|rank| rank.clock).fold(0.0, f64::max);
        let level = self.ranks[0].source.offset as i32;
        self.run.marks.push(Mark { level, time, crossings: self.lines.crossings });
        self.ranks.iter_mut().for_each(|rank| rank.state = State::Resumes(time));
    }

    /// Nobody can go on: all that wait look again, in case that one waits for what is no line.
    fn nap(&mut self) -> Result<(), String> {
        self.run.naps += 1;
        if self.run.naps > NAPS || self.ranks.iter().all(|rank| rank.state != State::Waits) {
            self.memory.fail();
            return Err("all processes wait for each other".into());
        }
        let latest = self.ranks.iter().map(|rank| rank.clock).fold(0.0, f64::max);
        let waiting = self.ranks.iter_mut().filter(|rank| rank.state == State::Waits);
        waiting.for_each(|rank| rank.state = State::Resumes(latest + NAP));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
