//! Members that repeat what they did with their lines, each with a clock of its own.

use crate::lines::{Crossings, Lines};
use crate::machine::Machine;
use std::collections::HashMap;

/// Bytes of a payload that lie in the line of the turn.
const INLINE: usize = 48;
/// Turns after which a cell is used again.
const DEPTH: u64 = 64;

/// What a member does in a call, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It waits until `owner` has published `turn`, and so has the line.
    Await { owner: usize, turn: u64 },
    /// It reads a payload that it has waited for.
    Read { owner: usize, turn: u64, bytes: usize },
    /// It writes the payload of its own turn.
    Write { turn: u64, bytes: usize },
    /// It publishes its own turn.
    Publish { turn: u64 },
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
    let turns = members[0].iter().filter(|step| matches!(step, Step::Publish { .. })).count() as u64;
    let first = members[0].iter().find_map(|step| match step {
        Step::Publish { turn } => Some(*turn),
        _ => None,
    });
    let mut run = Run {
        machine,
        lines: Lines::new(machine),
        clocks: vec![0.0; members.len()],
        published: HashMap::new(),
        first: first.unwrap_or(0),
    };
    let (mut half, mut before) = (0.0, Crossings::default());
    for call in 0..calls {
        if call == calls / 2 {
            half = run.latest();
        }
        before = run.lines.crossings;
        run.call(members, call as u64 * turns);
        // All begin the next call at once: else a root would run ahead of its readers without limit.
        let latest = run.latest();
        run.clocks.fill(latest);
    }
    let all = run.lines.crossings;
    let crossings = Crossings { package: all.package - before.package, cache: all.cache - before.cache };
    Cost { nanoseconds: (run.latest() - half) / (calls - calls / 2) as f64, crossings }
}

struct Run<'a> {
    machine: &'a Machine,
    lines: Lines<'a>,
    clocks: Vec<f64>,
    /// When each owner's turn could be seen.
    published: HashMap<(usize, u64), f64>,
    /// The first turn of the first call; the earlier ones were published before.
    first: u64,
}

impl Run<'_> {
    fn latest(&self) -> f64 {
        self.clocks.iter().copied().fold(0.0, f64::max)
    }

    /// When `member` can take the step, or `None` if it has to wait for another.
    fn ready(&self, member: usize, step: &Step, shift: u64) -> Option<f64> {
        let clock = self.clocks[member];
        match *step {
            Step::Await { owner, turn } if turn + shift >= self.first => {
                self.published.get(&(owner, turn + shift)).map(|published| clock.max(*published))
            }
            _ => Some(clock),
        }
    }

    /// All members make the call; the one that can go on first does.
    fn call(&mut self, members: &[Vec<Step>], shift: u64) {
        let mut at = vec![0; members.len()];
        loop {
            let waiting = (0..members.len()).filter(|&member| at[member] < members[member].len());
            let ready =
                waiting.filter_map(|member| Some((self.ready(member, &members[member][at[member]], shift)?, member)));
            let Some((now, member)) = ready.min_by(|one, other| one.0.total_cmp(&other.0)) else { break };
            self.take(member, members[member][at[member]], shift, now + self.machine.step);
            at[member] += 1;
        }
        assert!((0..members.len()).all(|member| at[member] == members[member].len()), "a member waits for nobody");
    }

    fn take(&mut self, member: usize, step: Step, shift: u64, now: f64) {
        let cell = |owner: usize, turn: u64, payload: bool| (owner, (turn + shift) % DEPTH, payload);
        self.clocks[member] = match step {
            Step::Await { owner, turn } => self.lines.read(member, cell(owner, turn, false), 64, now),
            Step::Read { owner, turn, bytes } if bytes > INLINE => {
                self.lines.read(member, cell(owner, turn, true), bytes, now)
            }
            Step::Write { turn, bytes } if bytes > INLINE => {
                self.lines.write(member, cell(member, turn, true), bytes, now)
            }
            Step::Publish { turn } => {
                let seen = self.lines.write(member, cell(member, turn, false), 64, now);
                self.published.insert((member, turn + shift), seen);
                seen
            }
            Step::Read { .. } | Step::Write { .. } => now,
        };
    }
}

#[cfg(test)]
mod tests;
