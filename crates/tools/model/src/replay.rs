//! Members that repeat what they did with their lines, each with a clock of its own.
//!
//! A member's accesses go on as in a processor that looks ahead:
//!
//! - **Loads overlap.** A load of what is there already begins one access after the load before it, while no more than the machine's window are on
//!   their way. A member that has to wait for a turn goes on when it has that turn's line.
//! - **Polls overlap.** A member that polls several lines by turns has each as soon as if it polled that alone.
//! - **Stores are late.** A member goes on after a store, which takes effect when the line is its own, and after all its stores before. It stores
//!   when its loads have ended, since what it publishes depends on them. Of a payload of more than [`BUFFERED`] bytes it waits for the store.
//! - **A fetch** asks for the line of a later turn, and is not waited for.

use crate::lines::{Crossings, Lines, Name};
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
    /// The same of one of several, which are these steps behind each other: it polls all of them by turns, so that none waits for another.
    Poll { owner: usize, turn: u64 },
    /// It reads a payload that it has waited for.
    Read { owner: usize, turn: u64, bytes: usize },
    /// It copies to the payload of its own turn, or combines what it has read there.
    Write { turn: u64, bytes: usize },
    /// The payload of its turn is where the last read has brought it: memory that others read where it lies.
    Land { turn: u64, bytes: usize },
    /// The same of what its program has written before the call.
    Own { turn: u64, bytes: usize },
    /// The same as [`Step::Read`] of one of several parts, which have lines of their own.
    ReadPart { owner: usize, turn: u64, part: u64, bytes: usize },
    /// The same as [`Step::Write`].
    WritePart { turn: u64, part: u64, bytes: usize },
    /// The same as [`Step::Own`].
    OwnPart { turn: u64, part: u64, bytes: usize },
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

/// The lines of one part of a payload.
fn part_of((owner, cell, payload): Name, part: u64) -> Name {
    (owner, cell | (part + 1) << 32, payload)
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

/// What can go on when: which member, and if it polls, the step that has found its turn.
type Queue = BinaryHeap<Reverse<(Moment, usize, Option<usize>)>>;

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
    /// Polls that have not found their turns.
    polls: usize,
    /// When the last line came that one of them has found.
    latest: f64,
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

/// A member that waits, and the turn of its poll that it waits in.
type Waiting = (usize, Option<usize>);

struct Run<'a> {
    machine: &'a Machine,
    lines: Lines<'a>,
    depth: u64,
    members: Vec<Member>,
    /// When each owner's turn could be seen.
    published: HashMap<(usize, u64), f64>,
    /// Who waits for an owner's turn, in a poll's step or else in the next one.
    waiting: HashMap<(usize, u64), Vec<Waiting>>,
    /// The first turn of the first call, by owner; the earlier ones were published before.
    first: Vec<u64>,
}

impl Run<'_> {
    fn latest(&self) -> f64 {
        self.members.iter().map(|member| member.clock).fold(0.0, f64::max)
    }

    /// All members make the call; the one that can go on first does.
    fn call(&mut self, members: &[Vec<Step>], shifts: &[u64]) {
        let moment = |member: usize| Reverse((Moment(self.members[member].clock), member, None));
        let mut queue: Queue = (0..members.len()).map(moment).collect();
        self.members.iter_mut().for_each(|member| member.at = 0);
        while let Some(Reverse((now, member, poll))) = queue.pop() {
            if let Some(at) = poll {
                self.found(member, members[member][at], now.0, shifts, &mut queue);
                continue;
            }
            let at = self.members[member].at;
            match members[member].get(at) {
                None => self.members[member].clock = self.members[member].join(),
                Some(Step::Poll { .. }) => self.poll(member, &members[member][at..], shifts, &mut queue),
                Some(&Step::Await { owner, turn })
                    if !self.has_seen(member, (owner, turn + shifts[owner]), &mut queue) => {}
                Some(&step) => {
                    self.take(member, step, shifts, &mut queue);
                    self.members[member].at += 1;
                    queue.push(Reverse((Moment(self.members[member].clock), member, None)));
                }
            }
        }
        let all = (0..members.len())
            .all(|member| self.members[member].at == members[member].len() && self.members[member].polls == 0);
        assert!(all, "a member waits for nobody");
    }

    /// When that turn could be seen.
    fn seen(&self, owner: usize, turn: u64) -> Option<f64> {
        if turn < self.first[owner] { Some(0.0) } else { self.published.get(&(owner, turn)).copied() }
    }

    /// Whether the turn is published. If not, the member goes on when it is.
    fn has_seen(&mut self, member: usize, (owner, turn): (usize, u64), queue: &mut Queue) -> bool {
        match self.seen(owner, turn) {
            None => self.waiting.entry((owner, turn)).or_default().push((member, None)),
            Some(seen) if seen > self.members[member].clock => self.wait_until(member, None, seen, queue),
            Some(_) => return true,
        }
        false
    }

    /// The member begins to poll what the first of these `steps` say.
    fn poll(&mut self, member: usize, steps: &[Step], shifts: &[u64], queue: &mut Queue) {
        let polls = steps
            .iter()
            .map_while(|step| if let Step::Poll { owner, turn } = *step { Some((owner, turn)) } else { None });
        let first = self.members[member].at;
        let polls: Vec<(usize, u64)> = polls.map(|(owner, turn)| (owner, turn + shifts[owner])).collect();
        self.members[member].polls = polls.len();
        self.members[member].at += polls.len();
        for (at, (owner, turn)) in polls.into_iter().enumerate() {
            let now = self.members[member].clock + at as f64 * self.machine.step;
            match self.seen(owner, turn) {
                Some(seen) => queue.push(Reverse((Moment(now.max(seen)), member, Some(first + at)))),
                None => self.waiting.entry((owner, turn)).or_default().push((member, Some(first + at))),
            }
        }
    }

    /// A poll finds its turn at `now`. Behind the last one, the member goes on.
    fn found(&mut self, me: usize, step: Step, now: f64, shifts: &[u64], queue: &mut Queue) {
        let Step::Poll { owner, turn } = step else { return };
        let begin = self.members[me].begin(now + self.machine.step, self.machine.window);
        let end = self.lines.read(me, (owner, (turn + shifts[owner]) % self.depth, false), 64, begin);
        let member = &mut self.members[me];
        member.latest = member.latest.max(end);
        member.loads.push(end);
        member.polls -= 1;
        if member.polls == 0 {
            member.clock = std::mem::take(&mut member.latest).max(begin);
            member.seen = member.clock;
            queue.push(Reverse((Moment(member.clock), me, None)));
        }
    }

    /// The member polls a line until `seen`.
    fn wait_until(&mut self, member: usize, poll: Option<usize>, seen: f64, queue: &mut Queue) {
        let waiting = &mut self.members[member];
        if poll.is_none() {
            (waiting.clock, waiting.waited) = (waiting.clock.max(seen), true);
        }
        queue.push(Reverse((Moment(waiting.clock.max(seen)), member, poll)));
    }

    /// The member loads what lies behind the line that it has seen last; `None`: it lies in that line.
    fn read(&mut self, me: usize, name: Option<Name>, bytes: usize, now: f64) {
        let (window, member) = (self.machine.window, &mut self.members[me]);
        let begin = member.begin(now.max(member.seen), window);
        member.clock = begin;
        let Some(name) = name else { return };
        let end = self.lines.read(me, name, bytes, begin);
        // A long one fills the window.
        match bytes > window * 64 {
            true => self.members[me].clock = end,
            false => self.members[me].loads.push(end),
        }
    }

    /// The member writes a payload, and copies the bytes if they are not there already.
    fn write(&mut self, me: usize, name: Option<Name>, bytes: usize, copies: bool) {
        let machine = self.machine;
        let member = &mut self.members[me];
        let begin = member.join() + machine.step;
        let copied = if copies { begin + bytes as f64 / machine.copy } else { begin };
        member.clock = copied;
        let Some(name) = name else { return };
        let end = self.lines.write(me, name, bytes, begin).max(copied);
        let member = &mut self.members[me];
        member.stored = member.stored.max(end);
        if bytes > BUFFERED {
            member.clock = end;
        }
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
            Step::Poll { .. } => {}
            Step::Read { owner, turn, bytes } => {
                self.read(me, (bytes > INLINE).then(|| cell(owner, turn, true)), bytes, now);
            }
            Step::ReadPart { owner, turn, part, bytes } => {
                self.read(me, Some(part_of(cell(owner, turn, true), part)), bytes, now);
            }
            Step::Write { turn, bytes } => self.write(me, (bytes > INLINE).then(|| cell(me, turn, true)), bytes, true),
            Step::Land { turn, bytes } => self.write(me, (bytes > INLINE).then(|| cell(me, turn, true)), bytes, false),
            Step::WritePart { turn, part, bytes } => {
                self.write(me, Some(part_of(cell(me, turn, true), part)), bytes, true)
            }
            Step::Own { turn, bytes } => {
                if bytes > INLINE {
                    self.lines.write(me, cell(me, turn, true), bytes, 0.0);
                }
            }
            Step::OwnPart { turn, part, bytes } => {
                self.lines.write(me, part_of(cell(me, turn, true), part), bytes, 0.0);
            }
            Step::Publish { turn } => {
                let member = &mut self.members[me];
                member.clock = member.join() + machine.step;
                let begin = member.clock.max(member.stored);
                let seen = self.lines.write(me, cell(me, turn, false), 64, begin);
                self.members[me].stored = seen;
                let turn = turn + shifts[me];
                self.published.insert((me, turn), seen);
                for (waiting, poll) in self.waiting.remove(&(me, turn)).unwrap_or_default() {
                    self.wait_until(waiting, poll, seen, queue);
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
