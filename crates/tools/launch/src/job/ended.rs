//! Processes that have ended: what that means for the job.

use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitStatus};

use super::{Job, Rank};
use crate::descendants;
use crate::rank::{self, End, State, Verdict};

impl Job<'_> {
    /// Takes note of processes that have ended. Those killed by a signal are judged first: with
    /// several at once, they are the cause more often than the others.
    pub(super) fn reap(&mut self) {
        let mut ended: Vec<(usize, libc::pid_t, End)> = Vec::new();
        while let Ok(Some((pid, status))) = descendants::reap() {
            ended.extend(self.rank_ended(pid, status));
        }
        ended.sort_by_key(|(_, _, end)| matches!(end, End::Exited(_)));
        // An abort may wait in a socket; it tells more than the end of its process.
        for (rank, _, _) in &ended {
            self.listen(*rank);
        }
        for (rank, pid, end) in ended {
            self.judge(rank, pid, end);
            self.forget(rank);
        }
    }

    /// The rank of a process that has ended; none for the child of a rank.
    fn rank_ended(&mut self, pid: Pid, status: WaitStatus) -> Option<(usize, libc::pid_t, End)> {
        let pid = pid.as_raw_pid();
        let rank = self.ranks.iter().position(|rank| rank.alive && !rank.attended && rank.pid == pid)?;
        let end = match status.terminating_signal() {
            Some(signal) => End::Signaled(signal),
            None => End::Exited(status.exit_status()?),
        };
        self.ranks[rank].alive = false;
        Some((rank, pid, end))
    }

    fn judge(&mut self, rank: usize, pid: libc::pid_t, end: End) {
        if self.ranks[rank].recalled {
            return;
        }
        let name = self.named(rank, pid);
        if self.plan.exit_codes || self.plan.verbose && self.ending.is_none() {
            self.say(&format!("{name} {}", end.text()));
        }
        match rank::judge(self.ranks[rank].state, end) {
            Verdict::Fine => {}
            Verdict::Note(code, text) => {
                self.code.get_or_insert(code);
                self.go_on_without(&name, &text);
            }
            Verdict::Fatal(code, text) => self.lose(rank, code, &format!("{name} {text}")),
        }
    }

    /// A rank has failed that nobody waits for in MPI any more. The others may need time for what they have still to do,
    /// but may also wait for it in other ways.
    fn go_on_without(&mut self, name: &str, text: &str) {
        if self.ending.is_some() {
            return;
        }
        // Where the job survives the loss of ranks, it has all the time that it takes.
        let limit = if self.plan.goes_on { Duration::ZERO } else { tern_settings::LINGER.get() };
        let others = self.ranks.iter().any(|rank| rank.alive);
        let rest = match (others, limit.is_zero()) {
            (false, _) => String::new(),
            (true, true) => "; the others go on".into(),
            (true, false) => format!("; the others may go on for {} s (TERN_LINGER)", limit.as_secs_f64()),
        };
        self.say(&format!("{name} {text}{rest}"));
        if others && !limit.is_zero() && self.linger.is_none() {
            self.linger = Some((Instant::now() + limit, name.to_owned()));
        }
    }

    /// Who has ended without initialising MPI will never do it, but who has initialised it waits for all.
    pub(super) fn check_left(&mut self) {
        let waits = |rank: &Rank| rank.state == State::Initialised;
        let left = |rank: &Rank| !rank.alive && !rank.recalled && rank.state == State::Started;
        // Those that wait for a spawned one may all be on other hosts.
        let awaited = self.plan.goes_on && self.ranks.iter().any(|rank| rank.world > 0 && left(rank))
            || self.ranks.iter().any(waits);
        if self.ending.is_some() || !awaited || !self.ranks.iter().any(left) {
            return;
        }
        for rank in 0..self.ranks.len() {
            // Its last messages may still wait in its socket.
            if left(&self.ranks[rank]) {
                self.listen(rank);
            }
        }
        for gone in 0..self.ranks.len() {
            if !left(&self.ranks[gone]) {
                continue;
            }
            let name = self.named(gone, self.ranks[gone].pid);
            let world = self.ranks[gone].world;
            if world > 0 && self.plan.goes_on {
                let text = format!("{name} ended without calling MPI_Init, which those that spawned it wait for");
                self.lose_world(gone, 1, &text);
                continue;
            }
            let fellow = |rank: &&Rank| rank.world == world && waits(rank);
            if let Some(waiting) = self.ranks.iter().find(fellow) {
                let waiting = self.called(waiting);
                self.fail(1, &format!("{name} ended without calling MPI_Init, which {waiting} has called"));
            } else if world > 0 {
                self.fail(1, &format!("{name} ended without calling MPI_Init, which those that spawned it wait for"));
            }
        }
    }
}
