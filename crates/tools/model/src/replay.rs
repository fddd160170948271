//! Members that repeat what they did with their lines, each with a clock of its own.
//!
//! A member's accesses go on as in a processor that looks ahead:
//!
//! - **Loads overlap.** A load of what is there already begins one access after the load before it, while no more than the machine's window are on
//!   their way. A member that has to wait for a turn goes on when it has that turn's line.
//! - **Stores are late.** A member goes on after a store, which takes effect when the line is its own, and after all its stores before. It stores
//!   when its loads have ended, since what it publishes depends on them. Of a payload of more than [`BUFFERED`] bytes it waits for the store.
//! - **A fetch** asks for the line of a later turn, and is not waited for.

use crate::lines::{Crossings, Lines};
use crate::machine::Machine;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

/// Bytes of a payload that lie in the line of the turn.
const INLINE: usize = 48;
/// Turns after which a cell is used again.
const DEPTH: u64 = 64;
/// Bytes of a payload whose stores a core keeps on their way.
const BUFFERED: usize = 1 << 10;

/// What a member does in a call, in its order. Turns are those of the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It waits until `owner` has published `turn`, and so has the line.
    Await { owner: usize, turn: u64 },
    /// It reads a payload that it has waited for.
    Read { owner: usize, turn: u64, bytes: usize },
    /// It copies to the payload of its own turn, or combines what it has read there.
    Write { turn: u64, bytes: usize },
    /// The payload of its turn is where the last read has brought it: memory that others read where it lies.
    Land { turn: u64, bytes: usize },
    /// The same of what its program has written before the call.
    Own { turn: u64, bytes: usize },
    /// It publishes its own turn.
    Publish { turn: u64 },
    /// It asks for the line of its own turn, in order to write it.
    Fetch { turn: u64 },
}

/// What a call costs where it follows many of its kind, and all members begin it at once.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub nanoseconds: f64,
    /// Of the last call.
    pub crossings: Crossings,
}

/// Repeats a call of the members, the first of which runs on the first core, `calls` times.
///
/// # Panics
/// A member waits for what nobody publishes.
pub fn replay(machine: &Machine, members: &[Vec<Step>], calls: usize) -> Cost {
    replay_over(machine, members, calls, DEPTH)
}

/// The same with lines that are used again after `depth` turns.
pub fn replay_over(machine: &Machine, members: &[Vec<Step>], calls: usize, depth: u64) -> Cost {
    let published = |steps: &[Step]| -> Vec<u64> {
        steps.iter().filter_map(|step| if let Step::Publish { turn } = step { Some(*turn) } else { None }).collect()
    };
    let turns: Vec<Vec<u64>> = members.iter().map(|steps| published(steps)).collect();
    let mut run = Run {
        machine,
        lines: Lines::new(machine),
        depth,
        members: vec![Member::default(); members.len()],
        published: HashMap::new(),
        waiting: HashMap::new(),
        first: turns.iter().map(|turns| turns.first().copied().unwrap_or_default()).collect(),
    };
    let (mut half, mut before) = (0.0, Crossings::default());
    for call in 0..calls {
        if call == calls / 2 {
            half = run.latest();
        }
        before = run.lines.crossings;
        let shifts: Vec<u64> = turns.iter().map(|turns| turns.len() as u64 * call as u64).collect();
        run.call(members, &shifts);
        // All begin the next call at once: else a root would run ahead of its readers without limit.
        let latest = run.latest();
        run.members.iter_mut().for_each(|member| member.clock = latest);
    }
    Cost {
        nanoseconds: (run.latest() - half) / (calls - calls / 2) as f64,
        crossings: run.lines.crossings.since(before),
    }
}

/// A moment in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Moment) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Moment) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// What can go on when, and which member that is.
type Queue = BinaryHeap<Reverse<(Moment, usize)>>;

#[derive(Clone, Debug, Default)]
struct Member {
    /// When it takes its next step.
    clock: f64,
    /// The step.
    at: usize,
    /// When its loads end that are on their way.
    loads: Vec<f64>,
    /// When its last store takes effect.
    stored: f64,
    /// When the last line came that it has waited for.
    seen: f64,
    /// It had to wait for the turn that it awaits.
    waited: bool,
}

impl Member {
    /// Begins a load at `now` or when the window has room.
    fn begin(&mut self, now: f64, window: usize) -> f64 {
        self.loads.retain(|end| *end > now);
        if self.loads.len() < window {
            return now;
        }
        let (first, end) =
            self.loads.iter().copied().enumerate().min_by(|one, other| one.1.total_cmp(&other.1)).expect("a load");
        self.loads.swap_remove(first);
        end
    }

    /// When all its loads have ended.
    fn join(&mut self) -> f64 {
        self.loads.drain(..).fold(self.clock, f64::max)
    }
}

struct Run<'a> {
    machine: &'a Machine,
    lines: Lines<'a>,
    depth: u64,
    members: Vec<Member>,
    /// When each owner's turn could be seen.
    published: HashMap<(usize, u64), f64>,
    /// Who waits for an owner's turn.
    waiting: HashMap<(usize, u64), Vec<usize>>,
    /// The first turn of the first call, by owner; the earlier ones were published before.
    first: Vec<u64>,
}

impl Run<'_> {
    fn latest(&self) -> f64 {
        self.members.iter().map(|member| member.clock).fold(0.0, f64::max)
    }

    /// All members make the call; the one that can go on first does.
    fn call(&mut self, members: &[Vec<Step>], shifts: &[u64]) {
        let mut queue: Queue =
            (0..members.len()).map(|member| Reverse((Moment(self.members[member].clock), member))).collect();
        self.members.iter_mut().for_each(|member| member.at = 0);
        while let Some(Reverse((_, member))) = queue.pop() {
            let Some(&step) = members[member].get(self.members[member].at) else {
                self.members[member].clock = self.members[member].join();
                continue;
            };
            if let Step::Await { owner, turn } = step {
                let turn = turn + shifts[owner];
                let seen =
                    if turn < self.first[owner] { Some(0.0) } else { self.published.get(&(owner, turn)).copied() };
                let Some(seen) = seen else {
                    self.waiting.entry((owner, turn)).or_default().push(member);
                    continue;
                };
                if seen > self.members[member].clock {
                    self.wait_until(member, seen, &mut queue);
                    continue;
                }
            }
            self.take(member, step, shifts, &mut queue);
            self.members[member].at += 1;
            queue.push(Reverse((Moment(self.members[member].clock), member)));
        }
        let all = (0..members.len()).all(|member| self.members[member].at == members[member].len());
        assert!(all, "a member waits for nobody");
    }

    /// The member polls a line until `seen`.
    fn wait_until(&mut self, member: usize, seen: f64, queue: &mut Queue) {
        let waiting = &mut self.members[member];
        (waiting.clock, waiting.waited) = (waiting.clock.max(seen), true);
        queue.push(Reverse((Moment(waiting.clock), member)));
    }

    fn take(&mut self, me: usize, step: Step, shifts: &[u64], queue: &mut Queue) {
        let (depth, machine) = (self.depth, self.machine);
        let cell = |owner: usize, turn: u64, payload: bool| (owner, (turn + shifts[owner]) % depth, payload);
        let now = self.members[me].clock + machine.step;
        match step {
            Step::Await { owner, turn } => {
                let begin = self.members[me].begin(now, machine.window);
                let end = self.lines.read(me, cell(owner, turn, false), 64, begin);
                let member = &mut self.members[me];
                member.seen = end;
                if std::mem::take(&mut member.waited) {
                    member.clock = end;
                } else {
                    member.clock = begin;
                    member.loads.push(end);
                }
            }
            Step::Read { owner, turn, bytes } => {
                let member = &mut self.members[me];
                let begin = member.begin(now.max(member.seen), machine.window);
                member.clock = begin;
                if bytes > INLINE {
                    let end = self.lines.read(me, cell(owner, turn, true), bytes, begin);
                    // A long one fills the window.
                    if bytes > machine.window * 64 {
                        self.members[me].clock = end;
                    } else {
                        self.members[me].loads.push(end);
                    }
                }
            }
            Step::Write { turn, bytes } | Step::Land { turn, bytes } => {
                let member = &mut self.members[me];
                let begin = member.join() + machine.step;
                let copied = if let Step::Write { .. } = step { begin + bytes as f64 / machine.copy } else { begin };
                member.clock = copied;
                if bytes > INLINE {
                    let end = self.lines.write(me, cell(me, turn, true), bytes, begin).max(copied);
                    let member = &mut self.members[me];
                    member.stored = member.stored.max(end);
                    if bytes > BUFFERED {
                        member.clock = end;
                    }
                }
            }
            Step::Own { turn, bytes } => {
                if bytes > INLINE {
                    self.lines.write(me, cell(me, turn, true), bytes, 0.0);
                }
            }
            Step::Publish { turn } => {
                let member = &mut self.members[me];
                member.clock = member.join() + machine.step;
                let begin = member.clock.max(member.stored);
                let seen = self.lines.write(me, cell(me, turn, false), 64, begin);
                self.members[me].stored = seen;
                let turn = turn + shifts[me];
                self.published.insert((me, turn), seen);
                for waiting in self.waiting.remove(&(me, turn)).unwrap_or_default() {
                    self.wait_until(waiting, seen, queue);
                }
            }
            Step::Fetch { turn } => {
                _ = self.lines.write(me, cell(me, turn, false), 64, now);
                self.members[me].clock = now;
            }
        }
    }
}

#[cfg(test)]
mod tests;
