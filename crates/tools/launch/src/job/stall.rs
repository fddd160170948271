//! Gathers what the ranks wait for, when one says that nothing has moved, or when the user asks. The part of one host
//! tells it to the mpiexec of all hosts.

use std::time::{Duration, Instant};

use tern_pmi::control::{self, Message};
use tern_pmi::report::{ACTIVITY, Activity, Other, Report, Seen};

use super::{Job, Rank, World};
use crate::picture::{Told, headline, picture};
use crate::rank::State;

/// How long ranks have for an answer. One that waits inside MPI looks every 50 ms.
const ANSWER: Duration = Duration::from_millis(500);

/// The reports of a picture that is being made.
#[derive(Default)]
pub struct Gathering {
    /// When it is made with what there is.
    until: Option<Instant>,
    reports: Vec<Option<Report>>,
    /// The rank that began it, if it was not the user.
    first: Option<usize>,
}

impl Gathering {
    /// When the picture is due, if one is being made.
    pub fn until(&self) -> Option<Instant> {
        self.until
    }
}

impl Job<'_> {
    /// Whether some rank can say what it waits for.
    pub(super) fn can_ask(&mut self) -> bool {
        // That it can may wait in its socket.
        (0..self.ranks.len()).for_each(|rank| self.listen(rank));
        // The mpiexec of all hosts asks by another word.
        self.uplink.is_none() && self.ranks.iter().any(|rank| rank.activity.is_some())
    }

    /// Asks all ranks but `first`, which has told already.
    pub(super) fn ask_all(&mut self, first: Option<usize>) {
        if self.ending.is_some() || self.stall.until.is_some() {
            return;
        }
        let reports = vec![None; self.ranks.len()];
        self.stall = Gathering { until: Some(Instant::now() + ANSWER), reports, first };
        for (number, rank) in self.ranks.iter().enumerate() {
            if Some(number) != first
                && rank.activity.is_some()
                && let Some(socket) = &rank.control
            {
                // Who does not hear it does not answer, which is told.
                let _ = control::send_at_once(socket, &Message::Ask);
            }
        }
    }

    /// A rank tells what it waits for.
    pub(super) fn stalled(&mut self, rank: usize, text: &str) {
        let mut report = Report::decode(text);
        if self.uplink.is_some() && self.ranks[rank].world > 0 {
            // The picture of several hosts has the ranks that the user has started.
            return;
        }
        if self.worlds.len() > 1 && self.uplink.is_none() {
            let world = self.ranks[rank].world;
            let of = |world, number| self.number_of(world, number);
            let home = |other: &Other| {
                let is = |world: &Option<Box<World>>| world.as_ref().is_some_and(|world| world.job_id == other.job);
                of(self.worlds.iter().position(is)?, other.rank)
            };
            report.renumber(|number| of(world, number), home);
        }
        if self.stall.until.is_none() && report.asked {
            // Too late for the picture that it was asked for.
            return;
        }
        self.ask_all(Some(rank));
        if let Some(place) = self.stall.reports.get_mut(rank) {
            *place = Some(report);
        }
    }

    /// The number among all ranks of the job of the one with that rank in its world.
    fn number_of(&self, world: usize, number: u32) -> Option<u32> {
        let is = |rank: &Rank| rank.world == world && rank.number == number;
        self.ranks.iter().position(is).map(|at| at as u32)
    }

    /// Which ranks of the picture were spawned.
    fn spawned(&self) -> Vec<String> {
        let worlds = (1..self.worlds.len()).filter_map(|world| {
            let numbers = (0..).zip(&self.ranks).filter(|(_, rank)| rank.world == world).map(|(at, _)| at);
            let numbers: Vec<u32> = numbers.collect();
            let (first, last) = (numbers.first()?, numbers.last()?);
            Some(match numbers.len() {
                1 => format!("rank {first} is rank 0 of spawn {world}"),
                some => format!("ranks {first} to {last} are ranks 0 to {} of spawn {world}", some - 1),
            })
        });
        worlds.collect()
    }

    /// Prints the picture when all have answered, or the time is up.
    pub(super) fn check_picture(&mut self, now: Instant) {
        let Some(until) = self.stall.until else { return };
        let answered = |(number, report): (usize, &Option<Report>)| {
            report.is_some() || self.ranks[number].activity.is_none() || self.ranks[number].state != State::Initialised
        };
        if now < until && !self.stall.reports.iter().enumerate().all(answered) {
            return;
        }
        let gathered = std::mem::take(&mut self.stall);
        if self.ending.is_some() {
            return;
        }
        let first = gathered.first.map(|rank| rank as u32);
        let reports = gathered.reports.into_iter();
        // The mpiexec of all hosts knows those alone that the user has started.
        let shown = |(rank, _): &(usize, _)| self.uplink.is_none() || self.ranks[*rank].world == 0;
        let told: Vec<Told> =
            reports.enumerate().filter(shown).map(|(rank, report)| self.told_by(rank, report)).collect();
        match &self.uplink {
            Some(uplink) => uplink.waits(first.map(|rank| self.ranks[rank as usize].number), &told),
            None => {
                let lines = [headline(first, &told)].into_iter().chain(self.spawned()).chain(picture(&told));
                let lines: Vec<String> = lines.collect();
                self.say(&lines.join("\n  "));
            }
        }
    }

    fn told_by(&self, rank: usize, report: Option<Report>) -> Told {
        let known = &self.ranks[rank];
        match (known.state, report, known.alive) {
            (State::Initialised, Some(report), true) => Told::Report(report),
            (State::Initialised, None, true) => match known.activity {
                Some(address) => self.activity(known.mpi_process(), address).map_or(Told::Silent, Told::Seen),
                None => Told::Silent,
            },
            (State::Started, _, true) => Told::NotInitialised,
            (State::Finalized | State::Replaced, _, true) => Told::Finalized,
            (State::Lost, _, true) | (_, _, false) => Told::Ended,
        }
    }

    /// What process `pid` does, as its memory says. None where the kernel does not allow to look.
    fn activity(&self, pid: libc::pid_t, address: u64) -> Option<Seen> {
        let mut bytes = [0u8; ACTIVITY];
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: ACTIVITY };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: ACTIVITY };
        // SAFETY: writes at most ACTIVITY bytes into the array; the other process's memory is only read,
        // by the kernel, which checks the address.
        let got = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
        (got == ACTIVITY as isize).then(|| Activity::read(&bytes))
    }
}
