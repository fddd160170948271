//! Whether other load was in the way while costs were measured: pure functions of what was seen meanwhile.
//!
//! Figures that others have disturbed must not be kept: each later job on the machine would go by them. Three signs tell.
//! A process that had something to do all the time was off its core. The host gave the core to another machine. Tries of the
//! same experiment took far from the same time, which load on other cores does too: it takes caches and memory away.

use std::fmt;

/// What was seen of others while two processes measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signs {
    /// Which part of the time the process that lost more of it was off its core, from 0 to 1.
    pub lost: f64,
    /// Which part of the busy time of the two cores the host gave to others, from 0 to 1.
    pub stolen: f64,
    /// How much longer than the quickest try the median one took, of the median experiment: 0 where all took as long.
    pub spread: f64,
}

/// How far figures can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disturbance {
    /// They are those of a quiet machine.
    None,
    /// They are near those of a quiet machine: good enough until they can be measured again.
    Some,
    /// They say nothing.
    Much,
}

/// From the first on there is some disturbance, from the second on there is much: time off the core, which part of all. It is less than
/// 0.001 on a quiet machine; another program at the lowest priority makes it 0.014, at a usual one 0.2 and more.
const LOST: [f64; 2] = [0.01, 0.1];
/// The same for the spread, which is 0.05 on a quiet machine.
const SPREAD: [f64; 2] = [0.2, 1.0];

impl Signs {
    /// What they say together: the worst of them counts.
    pub fn judge(&self) -> Disturbance {
        let level = |value: f64, [some, much]: [f64; 2]| match value {
            _ if value >= much => Disturbance::Much,
            _ if value >= some => Disturbance::Some,
            _ => Disturbance::None,
        };
        level(self.lost, LOST).max(level(self.stolen, LOST)).max(level(self.spread, SPREAD))
    }

    /// The worst of each.
    pub fn worst(self, other: Signs) -> Signs {
        Signs {
            lost: self.lost.max(other.lost),
            stolen: self.stolen.max(other.stolen),
            spread: self.spread.max(other.spread),
        }
    }
}

impl fmt::Display for Signs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: f64| format!("{:.1} %", 100.0 * part);
        write!(
            f,
            "others had the cores for {} of the time, the host took {}, and the same took {} longer the next time",
            percent(self.lost),
            percent(self.stolen),
            percent(self.spread)
        )
    }
}

/// How much longer than the least the median is. `None` of less than three values, or if the least is 0.
pub fn spread(values: &mut [f64]) -> Option<f64> {
    let median = median(values)?;
    let least = values[0];
    (values.len() >= 3 && least > 0.0).then(|| median / least - 1.0)
}

/// The value in the middle; sorts them.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_machine_is_believed() {
        assert_eq!(Signs::default().judge(), Disturbance::None);
        assert_eq!(Signs { lost: 0.005, stolen: 0.0, spread: 0.1 }.judge(), Disturbance::None);
    }

    #[test]
    fn each_sign_alone_is_enough() {
        let quiet = Signs::default();
        for (some, much) in [
            (Signs { lost: 0.05, ..quiet }, Signs { lost: 0.3, ..quiet }),
            (Signs { stolen: 0.05, ..quiet }, Signs { stolen: 0.3, ..quiet }),
            (Signs { spread: 0.5, ..quiet }, Signs { spread: 1.5, ..quiet }),
        ] {
            assert_eq!((some.judge(), much.judge()), (Disturbance::Some, Disturbance::Much), "{some:?}");
            assert_eq!(some.worst(much), much);
            assert_eq!(much.worst(quiet), much);
        }
    }

    #[test]
    fn one_bad_try_is_no_spread_and_many_are() {
        assert_eq!(spread(&mut [10.0, 90.0, 11.0, 10.0, 10.0]), Some(0.0));
        assert_eq!(spread(&mut [20.0, 20.0, 10.0, 30.0]), Some(1.0));
        assert_eq!(spread(&mut [10.0, 20.0]), None);
        assert_eq!(spread(&mut [0.0, 1.0, 2.0]), None, "quicker than the clock");
    }

    #[test]
    fn signs_are_told_in_percent() {
        let text = Signs { lost: 0.041, stolen: 0.0, spread: 0.5 }.to_string();
        assert!(text.contains("4.1 %") && text.contains("50.0 %"), "{text}");
    }
}
