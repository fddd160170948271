//! What TERN_CHAOS asks for: a seed, and how much of each kind of harm.

use std::cell::Cell;
use std::str::FromStr;
use std::time::Duration;
use tern_settings::Kind;

/// The longest stop that may be asked for, in nanoseconds.
const LONGEST: u64 = 1_000_000_000;

/// Events among which that of a death is drawn, where the user names no number.
const WITHIN: u64 = 1000;

/// Numbers that follow from a seed alone (the generator SplitMix64).
#[derive(Debug)]
pub struct Random(Cell<u64>);

impl Random {
    /// The numbers of process `rank`. Two processes with one seed have nothing in common.
    pub fn new(seed: u64, rank: u32) -> Random {
        let mixed = Random(Cell::new(seed ^ u64::from(rank).wrapping_mul(0xd134_2543_de82_ef95)));
        Random(Cell::new(mixed.next()))
    }

    fn next(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut word = self.0.get();
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// A number from 0 to `limit` - 1; 0 where the limit is 0.
    pub fn below(&self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}

/// So many of so many, at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    hits: u64,
    of: u64,
}

impl Share {
    const NONE: Share = Share { hits: 0, of: 1 };
    const EIGHTH: Share = Share { hits: 1, of: 8 };

    /// Reads `N/M`, or `0` for none.
    fn parse(text: &str) -> Option<Share> {
        if text == "0" {
            return Some(Share::NONE);
        }
        let (hits, of) = text.split_once('/')?;
        let share = Share { hits: hits.parse().ok()?, of: of.parse().ok()? };
        (share.of > 0 && share.hits <= share.of).then_some(share)
    }

    /// Whether the next event is one of them.
    pub fn meets(self, random: &Random) -> bool {
        self.hits > 0 && random.below(self.of) < self.hits
    }
}

/// Who dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    /// A share of the processes, each at an event that is drawn from its first `within` ones.
    Some { share: Share, within: u64 },
    /// The process of this rank, at this event.
    One { rank: u32, event: u64 },
}

impl Death {
    fn parse(text: &str) -> Option<Death> {
        let (who, event) = text.split_once('@').map_or((text, None), |(who, event)| (who, Some(event)));
        let event = event.map(|event| event.parse::<u64>().ok().filter(|&event| event > 0));
        match who.parse() {
            Ok(rank) if event.is_some() => Some(Death::One { rank, event: event?? }),
            _ => Some(Death::Some { share: Share::parse(who)?, within: event.unwrap_or(Some(WITHIN))? }),
        }
    }
}

/// What is to happen. As text: a seed, and behind it parts such as `delay=1ms` or `kill=1/4`, with commas between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What all of it follows from.
    pub seed: u64,
    /// The longest time for which a process stops.
    pub delay: Duration,
    /// How often something is kept back while others pass it.
    pub reorder: Share,
    /// How often a request is refused that may be refused.
    pub refuse: Share,
    deaths: Vec<Death>,
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Plan, String> {
        let mut parts = text.split(',').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let seed =
            first.parse().map_err(|_| format!("TERN_CHAOS begins with a seed, a number, and not with '{first}'"))?;
        let (delay, deaths) = (Duration::from_micros(100), Vec::new());
        let mut plan = Plan { seed, delay, reorder: Share::EIGHTH, refuse: Share::EIGHTH, deaths };
        for part in parts {
            plan.read(part).ok_or_else(|| format!("'{part}' is no part of TERN_CHAOS; see the list of settings"))?;
        }
        Ok(plan)
    }
}

impl Plan {
    fn read(&mut self, part: &str) -> Option<()> {
        let (name, value) = part.split_once('=')?;
        match name {
            "delay" => self.delay = Duration::from_nanos(Duration::parse(value, (0, LONGEST)).ok()?),
            "reorder" => self.reorder = Share::parse(value)?,
            "refuse" => self.refuse = Share::parse(value)?,
            "kill" => self.deaths.push(Death::parse(value)?),
            _ => return None,
        }
        Some(())
    }

    /// The event at which the process of that rank dies; `None`: it does not. One that a program has started (MPI_Comm_spawn) is never among a
    /// share, or no job could replace what it has lost.
    pub fn death(&self, rank: u32, spawned: bool) -> Option<u64> {
        let numbers = Random::new(!self.seed, rank);
        let event = |death: &Death| match *death {
            Death::One { rank: one, event } => (one == rank).then_some(event),
            // Both are drawn in any case, so that the next draw does not depend on this one.
            Death::Some { share, within } => {
                let (dies, event) = (share.meets(&numbers), 1 + numbers.below(within));
                (dies && !spawned).then_some(event)
            }
        };
        self.deaths.iter().filter_map(event).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_says_what_happens() {
        let plan: Plan = "7".parse().expect("a seed alone");
        assert_eq!((plan.seed, plan.delay, plan.reorder), (7, Duration::from_micros(100), Share::EIGHTH));
        assert_eq!(plan.death(0, false), None);
        let plan: Plan = "8, delay=2ms,reorder=1/3,refuse=0,kill=2@31".parse().expect("all parts");
        assert_eq!((plan.delay, plan.reorder), (Duration::from_millis(2), Share { hits: 1, of: 3 }));
        assert_eq!(plan.refuse, Share::NONE);
        assert_eq!([0, 1, 2].map(|rank| plan.death(rank, true)), [None, None, Some(31)]);
        for wrong in
            ["", "x", "7,fire", "7,fire=1/2", "7,delay=3", "7,refuse=2/1", "7,kill=3", "7,kill=1/2@0", "7,kill=1@"]
        {
            assert!(wrong.parse::<Plan>().is_err(), "{wrong:?} was taken");
        }
    }

    #[test]
    fn a_share_of_the_processes_dies_at_events_of_its_own() {
        let plan: Plan = "3,kill=1/4@500".parse().expect("a share");
        let deaths: Vec<u64> = (0..4000).filter_map(|rank| plan.death(rank, false)).collect();
        assert!((800..1200).contains(&deaths.len()), "{} of 4000", deaths.len());
        assert!(deaths.iter().all(|event| (1..=500).contains(event)));
        assert!(deaths.iter().any(|&event| event < 100) && deaths.iter().any(|&event| event > 400));
        assert!((0..4000).all(|rank| plan.death(rank, false) == plan.death(rank, false)));
        assert!((0..4000).all(|rank| plan.death(rank, true).is_none()));
        let all: Plan = "3,kill=1/1".parse().expect("a share");
        assert!((0..100).all(|rank| all.death(rank, false).is_some_and(|event| event <= WITHIN)));
    }

    #[test]
    fn numbers_follow_from_seed_and_rank() {
        let first = |seed, rank| Random::new(seed, rank).next();
        assert_eq!(first(5, 1), first(5, 1));
        let mut all: Vec<u64> = (0..50).flat_map(|seed| (0..50).map(move |rank| first(seed, rank))).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2500);
        let random = Random::new(5, 1);
        assert_eq!(random.below(0), 0);
        assert!((0..1000).all(|_| random.below(3) < 3));
    }
}
