//! What the kernel tells of the time of cores.

/// Time of some cores since the start of the machine, in ticks: what the host has given to others, and all in which
/// they had something to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    stolen: u64,
    busy: u64,
}

impl Ticks {
    /// Zeros where the kernel does not tell.
    pub fn now(cores: &[usize]) -> Ticks {
        Ticks::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default(), cores)
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
            Ticks { stolen: sum.stolen + times.get(7).unwrap_or(&0), busy: sum.busy + busy }
        })
    }

    /// Which part of the time in which the cores had something to do was given to others, from 0 to 1.
    pub fn stolen_since(self, before: Ticks) -> f64 {
        let busy = self.busy.saturating_sub(before.busy).max(1);
        self.stolen.saturating_sub(before.stolen) as f64 / busy as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_cores_that_are_asked_for_count() {
        let stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 60 0 20 500 5 1 4 10 7 0\ncpu1 9 9 9 9 9 9 9 9 9 9\ncpu10 40 0 30 500 0 0 0 30\nctxt 8\n";
        let (before, now) = (Ticks::parse(stat, &[0, 10]), Ticks { stolen: 90, busy: 395 });
        assert_eq!((before.stolen, before.busy), (40, 195));
        assert_eq!(now.stolen_since(before), 0.25);
        let unknown = Ticks::parse("cpu0 1 2", &[0]);
        assert_eq!(unknown.stolen_since(Ticks::default()), 0.0);
    }
}
