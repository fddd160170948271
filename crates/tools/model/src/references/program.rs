//! What members do in a call, as it is written down.

use crate::machine::Machine;
use crate::replay::{Cost, Step, replay_over};

/// Turns from the one that is published to the one whose line is fetched for it.
const AHEAD: u64 = 2;
/// Calls that are repeated, and after how many of them cells are used again.
const CALLS: usize = 6;
const ROUND: u64 = 3;

/// A call of all members, in which each publishes turns of its own.
#[derive(Clone, Debug)]
pub struct Program {
    members: Vec<Vec<Step>>,
    turns: Vec<u64>,
}

impl Program {
    pub fn new(members: usize) -> Program {
        Program { members: vec![Vec::new(); members], turns: vec![0; members] }
    }

    /// The turn that `member` publishes next.
    pub fn next(&self, member: usize) -> u64 {
        self.turns[member] + 1
    }

    pub fn step(&mut self, member: usize, step: Step) {
        self.members[member].push(step);
    }

    /// `member` copies or combines `bytes` into its payload, and publishes it; gives the turn.
    pub fn publish(&mut self, member: usize, bytes: usize) -> u64 {
        let turn = self.next(member);
        self.step(member, Step::Write { turn, bytes });
        self.tell(member)
    }

    /// `member` publishes its next turn, the payload of which is there.
    pub fn tell(&mut self, member: usize) -> u64 {
        let turn = self.next(member);
        self.turns[member] = turn;
        self.step(member, Step::Fetch { turn: turn + AHEAD });
        self.step(member, Step::Publish { turn });
        turn
    }

    /// `member` waits for what others have published.
    pub fn await_all(&mut self, member: usize, others: &[(usize, u64)]) {
        others.iter().for_each(|&(owner, turn)| self.step(member, Step::Poll { owner, turn }));
    }

    /// The same, and reads `bytes` of each.
    pub fn take_all(&mut self, member: usize, others: &[(usize, u64)], bytes: usize) {
        self.await_all(member, others);
        others.iter().for_each(|&(owner, turn)| self.step(member, Step::Read { owner, turn, bytes }));
    }

    /// What a call costs on `machine`, of many that follow each other; `fetches`: with cells that are fetched early.
    pub fn cost(&self, machine: &Machine, fetches: bool) -> Cost {
        let most = self.turns.iter().copied().max().unwrap_or_default();
        let mut members = self.members.clone();
        if !fetches {
            members.iter_mut().for_each(|steps| steps.retain(|step| !matches!(step, Step::Fetch { .. })));
        }
        replay_over(machine, &members, CALLS, (ROUND * most).max(2 * AHEAD + 2))
    }
}
