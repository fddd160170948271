//! Puts together what the ranks of all hosts wait for: when one of them says that nothing has moved, or when the
//! user asks.

use std::time::{Duration, Instant};

use super::{Agent, Server, Share};
use crate::picture::{Told, headline, picture};
use crate::say::say;
use crate::uplink::{Down, told};

/// How long agents have for an answer. Their ranks have half a second.
const ANSWER: Duration = Duration::from_secs(2);

/// The answers of hosts for a picture that is being made.
pub struct Gathering {
    /// When it is made with what there is.
    until: Instant,
    hosts: Vec<Option<Vec<Told>>>,
    /// The rank that began it, if it was not the user.
    first: Option<u32>,
}

impl Gathering {
    /// What the ranks of a host do.
    pub fn tell(&mut self, host: usize, ranks: Vec<Told>) {
        self.hosts[host] = Some(ranks);
    }
}

impl Server<'_> {
    /// When the picture is due, if one is being made.
    pub(super) fn picture_due(&self) -> Option<Instant> {
        self.stall.as_ref().map(|gathering| gathering.until)
    }

    /// Asks all agents for what their ranks do, unless that is under way.
    pub(super) fn ask_hosts(&mut self, first: Option<u32>) {
        if self.stall.is_none() {
            // Hosts without an agent, since they never had ranks or are lost, have nothing to tell.
            let known = |(agent, share): (&Agent, &Share)| {
                let never = share.ranks == 0 && agent.lines.last().is_none();
                (never || agent.lost).then(|| vec![Told::Ended; share.ranks as usize])
            };
            let hosts = self.agents.iter().zip(&self.shares).map(known).collect();
            self.stall = Some(Gathering { until: Instant::now() + ANSWER, hosts, first });
            self.tell_all(&Down::Ask);
        }
    }

    /// Host `number` tells what its ranks do; `first`: the one that has said so by itself.
    pub(super) fn host_waits(&mut self, number: usize, first: Option<u32>, ranks: &[u8]) {
        if first.is_some() {
            self.ask_hosts(first);
        }
        if let (Some(gathering), Some(ranks)) = (&mut self.stall, told::decode(ranks)) {
            gathering.tell(number, ranks);
        }
    }

    /// Prints the picture when all have answered, or the time is up.
    pub(super) fn check_picture(&mut self, now: Instant) {
        let complete =
            |gathering: &mut Gathering| now >= gathering.until || gathering.hosts.iter().all(Option::is_some);
        let Some(Gathering { hosts, first, .. }) = self.stall.take_if(complete) else { return };
        if self.is_ending() {
            return;
        }
        let ranks: Vec<Told> = (hosts.into_iter().zip(&self.shares))
            .flat_map(|(told, share)| told.unwrap_or_else(|| vec![Told::Silent; share.ranks as usize]))
            .collect();
        let ranks = self.by_rank(ranks);
        if first.is_none() && is_for_program(!tern_settings::STALL.get().is_zero(), &ranks) {
            return self.tell_all(&Down::Signal(libc::SIGUSR1));
        }
        say(&[headline(first, &ranks)].into_iter().chain(picture(&ranks)).collect::<Vec<_>>().join("\n  "));
    }
}

/// Whether the user's signal is for the program: when no rank can tell anything, unless the job is `watched` (TERN_STALL).
/// Then it is told that they do not answer.
fn is_for_program(watched: bool, ranks: &[Told]) -> bool {
    !watched && !ranks.iter().any(|told| matches!(told, Told::Report(_) | Told::Seen(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_pmi::report::Report;

    #[test]
    fn silence_is_told_where_the_job_is_watched() {
        let silent = [Told::Silent, Told::NotInitialised];
        assert!(is_for_program(false, &silent));
        assert!(!is_for_program(true, &silent));
        assert!(!is_for_program(false, &[Told::Silent, Told::Report(Report::default())]));
    }
}
