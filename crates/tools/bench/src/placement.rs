//! Where the two cores were while something was measured, and what figures from there are worth.
//!
//! In a virtual machine the host moves the virtual cores within seconds: a cache line then takes several times longer
//! from one to the other, or both are threads of one core. Figures from different places must not stand beside each
//! other; nor are figures worth anything while the host gives the cores to others, or other programs compute on them.

/// Above this multiple of the near way, cores are far apart.
const FAR: f64 = 2.0;
/// Below this multiple of it they are two threads of one core. Both as in the benchmark program (place.c).
const ONE: f64 = 0.6;
/// Share of the time in which the cores had something to do that the host may give to others.
const STOLEN: f64 = 0.03;
/// Share of that time that other programs of this machine may have.
const OTHERS: f64 = 0.08;
/// The near way is the shortest that was seen so often, that is, with so many within this factor of it, and as one in so many
/// looks: two threads of one core pass a line in less, and cannot always be told from two cores.
pub const OFTEN: usize = 3;
const SHARE: usize = 5;
const ALIKE: f64 = 1.3;

/// What was seen before and after a launch, or all the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Nanoseconds for a cache line from core to core, one way: the shortest that was seen.
    pub least_ns: f64,
    /// And the longest.
    pub most_ns: f64,
    /// Both are threads of one physical core, as far as was known then.
    pub shared: bool,
    /// Share of their time that the host has given to others during the launch.
    pub stolen: f64,
}

/// What figures stand beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Near each other all the time.
    Near,
    /// Far apart all the time.
    Far,
    /// Neither, or nothing to rely on.
    Bad,
}

impl Placement {
    /// As one look has it.
    pub fn at(line_ns: f64, shared: bool) -> Self {
        Self { least_ns: line_ns, most_ns: line_ns, shared, stolen: 0.0 }
    }

    /// Measured by what takes `near_ns` between cores near each other.
    pub fn kind(&self, near_ns: f64) -> Kind {
        match self {
            _ if self.shared || self.is_stolen() || self.is_one(near_ns) => Kind::Bad,
            _ if self.most_ns <= FAR * near_ns => Kind::Near,
            _ if self.least_ns > FAR * near_ns => Kind::Far,
            _ => Kind::Bad,
        }
    }

    /// The host has given away too much of the cores' time.
    pub fn is_stolen(&self) -> bool {
        self.stolen > STOLEN
    }

    /// So short a way is within one core.
    pub fn is_one(&self, near_ns: f64) -> bool {
        self.least_ns < ONE * near_ns
    }

    /// What was seen here and there.
    pub fn and(self, other: Self) -> Self {
        Self {
            least_ns: self.least_ns.min(other.least_ns),
            most_ns: self.most_ns.max(other.most_ns),
            shared: self.shared || other.shared,
            stolen: self.stolen.max(other.stolen),
        }
    }
}

/// Whether so large a share of the time was of other programs that a figure says nothing.
pub fn is_disturbed(others: f64) -> bool {
    others > OTHERS
}

/// The shortest way between cores that are not one; `None` when there was none such. One that was hardly ever seen is
/// not it, if another was.
pub fn near_ns(seen: impl Iterator<Item = Placement>) -> Option<f64> {
    let mut ways: Vec<f64> = seen.filter(|placement| !placement.shared).map(|placement| placement.most_ns).collect();
    ways.sort_by(f64::total_cmp);
    let seen = |often: usize| ways.windows(often).find(|ways| ways[often - 1] <= ALIKE * ways[0]).map(|ways| ways[0]);
    seen(OFTEN.max(ways.len() / SHARE)).or_else(|| seen(OFTEN)).or_else(|| ways.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line_ns: f64) -> Placement {
        Placement::at(line_ns, false)
    }

    #[test]
    fn near_and_far_and_neither() {
        let kind = |placement: Placement| placement.kind(50.0);
        assert_eq!(kind(at(55.0)), Kind::Near);
        assert_eq!(kind(at(160.0)), Kind::Far);
        assert_eq!(kind(at(160.0).and(at(250.0))), Kind::Far);
        assert_eq!(kind(at(55.0).and(at(160.0))), Kind::Bad, "it changed");
        assert_eq!(kind(at(20.0)), Kind::Bad, "threads of one core");
        assert_eq!(kind(Placement::at(55.0, true)), Kind::Bad);
    }

    #[test]
    fn a_host_that_takes_the_cores_is_no_good_place() {
        assert_eq!(Placement { stolen: 0.01, ..at(30.0) }.kind(30.0), Kind::Near);
        assert_eq!(Placement { stolen: 0.2, ..at(30.0) }.kind(30.0), Kind::Bad);
        assert_eq!(Placement { stolen: 0.2, ..at(160.0) }.kind(30.0), Kind::Bad);
    }

    #[test]
    fn what_was_seen_before_and_after_counts() {
        assert_eq!(
            at(30.0).and(Placement::at(160.0, true)),
            Placement { least_ns: 30.0, ..Placement::at(160.0, true) }
        );
    }

    #[test]
    fn the_near_way_was_seen_more_than_once() {
        let near = |ways: &[f64]| near_ns(ways.iter().map(|ns| at(*ns)));
        assert_eq!(near(&[160.0, 52.0, 30.0, 58.0, 250.0, 55.0]), Some(52.0), "30 ns were seen once");
        assert_eq!(near(&[160.0, 30.0]), Some(30.0));
        let mostly = [[29.0; 4].as_slice(), &[60.0; 10], &[160.0; 20]].concat();
        assert_eq!(near(&mostly), Some(60.0), "29 ns is one core");
        assert_eq!(near(&[]), None);
        assert_eq!(near_ns([Placement::at(14.0, true), at(30.0)].into_iter()), Some(30.0));
        assert_eq!(near_ns([Placement::at(14.0, true)].into_iter()), None);
    }
}
