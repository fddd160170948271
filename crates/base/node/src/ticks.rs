//! What the kernel tells of the time of cores.

/// Time of some cores since the start of the machine, in ticks: what the host has given to others, all in which
/// they had something to do, and that of programs outside the kernel; of that last the part of this process and of the
/// descendants whose end has been taken note of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    stolen: u64,
    busy: u64,
    programs: u64,
    own: u64,
}

impl Ticks {
    /// Zeros where the kernel does not tell.
    pub fn now(cores: &[usize]) -> Ticks {
        let read = |file| std::fs::read_to_string(file).unwrap_or_default();
        Ticks { own: own(&read("/proc/self/stat")), ..Ticks::parse(&read("/proc/stat"), cores) }
    }

    /// From the lines of /proc/stat for these cores: user, nice, system, idle, iowait, irq, softirq, steal; what
    /// follows is part of these.
    fn parse(stat: &str, cores: &[usize]) -> Ticks {
        let times = stat.lines().filter_map(|line| {
            let (core, times) = line.strip_prefix("cpu")?.split_once(' ')?;
            cores.contains(&core.parse().ok()?).then_some(times)
        });
        times.fold(Ticks::default(), |sum, times| {
            let times: Vec<u64> = times.split_ascii_whitespace().map_while(|time| time.parse().ok()).take(8).collect();
            let idle: u64 = times.iter().skip(3).take(2).sum();
            let busy = times.iter().sum::<u64>() - idle;
            let programs: u64 = times.iter().take(2).sum();
            let stolen = sum.stolen + times.get(7).unwrap_or(&0);
            Ticks { stolen, busy: sum.busy + busy, programs: sum.programs + programs, ..sum }
        })
    }

    /// Which part of the time in which the cores had something to do was given to others, from 0 to 1.
    pub fn stolen_since(self, before: Ticks) -> f64 {
        let busy = self.busy.saturating_sub(before.busy).max(1);
        self.stolen.saturating_sub(before.stolen) as f64 / busy as f64
    }

    /// Which part of that time other programs of this machine had, from 0 to 1. What the kernel does for whomever is left out.
    pub fn others_since(self, before: Ticks) -> f64 {
        let busy = self.busy.saturating_sub(before.busy).max(1);
        let programs = self.programs.saturating_sub(before.programs);
        programs.saturating_sub(self.own.saturating_sub(before.own)) as f64 / busy as f64
    }
}

/// From /proc/self/stat: the time of this process outside the kernel, and that of its descendants. The name of the program, in
/// parentheses, may have spaces.
fn own(stat: &str) -> u64 {
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
    [11, 13].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_cores_that_are_asked_for_count() {
        let stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 60 0 20 500 5 1 4 10 7 0\ncpu1 9 9 9 9 9 9 9 9 9 9\ncpu10 40 0 30 500 0 0 0 30\nctxt 8\n";
        let (before, now) = (Ticks::parse(stat, &[0, 10]), Ticks { stolen: 90, busy: 395, ..Ticks::default() });
        assert_eq!((before.stolen, before.busy, before.programs), (40, 195, 100));
        assert_eq!(now.stolen_since(before), 0.25);
        let unknown = Ticks::parse("cpu0 1 2", &[0]);
        assert_eq!(unknown.stolen_since(Ticks::default()), 0.0);
    }

    #[test]
    fn what_other_programs_had_is_what_is_not_ones_own() {
        let stat = "17 (a ) b) S 1 17 17 0 -1 4194304 100 0 0 0 30 7 50 9 20 0 1 0 100";
        assert_eq!(own(stat), 80);
        let before = Ticks { busy: 100, programs: 40, own: 10, ..Ticks::default() };
        let alone = Ticks { busy: 300, programs: 140, own: 110, ..Ticks::default() };
        assert_eq!(alone.others_since(before), 0.0);
        assert_eq!(Ticks { own: 60, ..alone }.others_since(before), 0.25);
        // Where the two files round otherwise, nobody is accused.
        assert_eq!(Ticks { own: 115, ..alone }.others_since(before), 0.0);
        assert_eq!(Ticks::default().others_since(before), 0.0);
    }
}
