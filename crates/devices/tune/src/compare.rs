//! What the papers' rules give, beside what the costs of a machine give.

use std::fmt::Write;

use tern_policy::costs::{Costs, Placement, SharedCache, Warmth};
use tern_policy::pair::Group;
use tern_policy::transfer::{ROOTED, Rooted, Situation, Stage, Transfer, among_all, between_two, choose};
use tern_settings::Mechanism;

use crate::explain::bytes;

/// Numbers of processes that are shown for collectives.
const PROCESSES: [u64; 3] = [4, 8, 16];
/// Sizes that are looked at: powers of two.
const LOGS: std::ops::RangeInclusive<u32> = 10..=24;

/// The least size from which on, up to the largest that is looked at, `is` holds.
fn from(is: impl Fn(u64) -> bool) -> Option<u64> {
    LOGS.rev().map(|log| 1u64 << log).take_while(|&size| is(size)).last()
}

/// The same of messages between private memories of two that wait: the kernel's copy is the cheapest.
fn of_messages(costs: &Costs, placement: Placement, warmth: Warmth) -> Option<u64> {
    from(|size| {
        let stage = Stage::Requested;
        let situation = Situation { size, stage, pull: true, placement, warmth, ..Situation::default() };
        matches!(choose(costs, Mechanism::Auto, &situation).transfer, Transfer::Cma { .. })
    })
}

/// The same of a collective with a root: the region is cheaper.
fn of_collective(costs: &Costs, rooted: Rooted) -> Option<u64> {
    from(|len| {
        let group = Group { len: len as usize, ..rooted.group };
        let rooted = Rooted { group, ..rooted };
        rooted.by_region(costs) < rooted.through_lines(costs)
    })
}

/// A table: for each placement and pattern from how many bytes on one copy by the kernel is better than two. `cache`: what cores that
/// share one share; `cores`: how many there are.
pub fn compare(costs: &Costs, placements: &[Placement], cache: Option<SharedCache>, cores: u64) -> String {
    let mut text = String::from(
        "\nFrom how many bytes on one copy by the kernel is better than two, of private memory. Rule: that of the papers about KNEM,\n",
    );
    match cache {
        Some(cache) => {
            let _ = writeln!(
                text,
                "with a cache of {} for {} of the cores. It holds where nothing was measured. Costs: as above, for one message or call.",
                bytes(cache.size),
                cache.processes
            );
        }
        None => text.push_str(
            "with no cache known. It holds where nothing was measured. Costs: as above, for one message or call.\n",
        ),
    }
    text.push_str("TERN_SINGLE_COPY_FROM and TERN_COLL_SINGLE_COPY_FROM ask for others.\n");
    let _ =
        writeln!(text, "{:>8} {:<26}{:>10}{:>16}{:>16}", "cores of", "pattern", "rule", "costs, in cache", "off cache");
    for &placement in placements {
        let mut row = |pattern: &str, rule: u64, costs: [Option<String>; 2]| {
            let [warm, cold] = costs.map(Option::unwrap_or_default);
            let _ = writeln!(text, "{:>8} {pattern:<26}{:>10}{warm:>16}{cold:>16}", placement.name(), bytes(rule));
        };
        let messages = Warmth::ALL.map(|warmth| Some(shown(of_messages(costs, placement, warmth))));
        row("message", between_two(placement, cache), messages);
        for processes in PROCESSES {
            let others = processes - 1;
            let group = |others: u64, apart, writes| {
                let group = Group { others: others as usize, len: 0, apart, writes, shared: false };
                Rooted { group, cores, placement }
            };
            let mut row =
                |pattern: String, rule, group| row(&pattern, rule, [Some(shown(of_collective(costs, group))), None]);
            row(format!("broadcast to {others}"), ROOTED, group(others, false, false));
            row(format!("scatter to {others}"), ROOTED, group(others, true, false));
            row(format!("gather from {others}"), ROOTED, group(others, true, true));
            // What each of them reads from another one.
            row(format!("alltoall of {processes}"), among_all(processes), group(1, true, false));
        }
    }
    text
}

fn shown(size: Option<u64>) -> String {
    size.map_or("never".to_owned(), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_policy::costs::{Curve, Mover};

    /// A byte takes so many nanoseconds by the kernel after a microsecond, and 1 in any other way.
    fn costs(kernel: f64) -> Costs {
        let mut costs = Costs::default();
        let line = |first: f64, slope: f64| {
            Curve::new(vec![(0, first), (1 << 30, first + slope * f64::from(1 << 30))]).unwrap()
        };
        for pace in &mut costs.paces {
            pace.packet = 0.0;
            for mover in Mover::ALL {
                let by_kernel = matches!(mover, Mover::Cma | Mover::CmaPush | Mover::CmaBoth);
                let (first, slope) = if by_kernel { (10_000.0, kernel) } else { (0.0, 1.0) };
                pace.movers[mover as usize] = std::array::from_fn(|_| line(first, slope));
            }
        }
        costs
    }

    #[test]
    fn a_threshold_of_costs_is_where_the_kernel_begins_to_be_cheaper_for_good() {
        let of = |kernel| of_messages(&costs(kernel), Placement::L3, Warmth::Warm);
        // 10 us and half a nanosecond a byte against 1: from 20,000 bytes on.
        assert_eq!([of(0.5), of(2.0)], [Some(32 << 10), None]);
    }

    #[test]
    fn the_table_has_a_row_for_each_placement_and_pattern() {
        let cache = Some(SharedCache { size: 4 << 20, processes: 2 });
        let text = compare(&costs(0.5), &[Placement::L3, Placement::Machine], cache, 16);
        let row = |start: &str| {
            let row = text.lines().find(|line| line.trim_start().starts_with(start)).expect(start);
            row.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(row("l3 message"), "l3 message 1 MiB 32 KiB 32 KiB");
        assert_eq!(row("machine message"), "machine message 16 KiB 32 KiB 32 KiB");
        assert!(row("l3 broadcast to 3 ").starts_with("l3 broadcast to 3 128 KiB "), "{text}");
        assert!(row("machine alltoall of 16").starts_with("machine alltoall of 16 16 KiB "), "{text}");
        assert_eq!(text.lines().filter(|line| line.contains("gather from")).count(), 2 * PROCESSES.len());
    }
}
