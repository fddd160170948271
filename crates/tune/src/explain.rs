//! A table for the user who asks why a message went the way it did (TERN_EXPLAIN).

use std::fmt::Write;

use tern_settings::Mechanism;

use crate::choose::{FETCHED_BY_KERNEL_FROM, may_fetch_by_kernel};
use crate::{Costs, Placement, Situation, Stage, Transfer, Warmth, choose};

/// What is the same for all messages between two processes.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Where the two are.
    pub placement: Placement,
    /// More ranks than cores.
    pub crowded: bool,
    /// Both may write to each other by CMA.
    pub push: bool,
    /// Both may read from each other by CMA.
    pub pull: bool,
    /// Largest message that is sent eagerly.
    pub eager_limit: u64,
    /// Smallest receive that is published.
    pub publish_from: u64,
    /// What TERN_MECHANISM asks for.
    pub asked: Mechanism,
}

/// Sizes that are shown.
const SIZES: [u64; 10] = [64, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];

/// What a message may meet: stage, whether the other process waits, and how to say it.
const CASES: [(Stage, bool, &str); 4] = [
    (Stage::Unseen, true, "no receive is there yet"),
    (Stage::Published, true, "the receive is published, its owner waits"),
    (Stage::Published, false, "the receive is published, its owner computes"),
    (Stage::Requested, false, "the receive came late, the sender computes"),
];

/// For each size and case: which way is chosen, and what all ways would cost, in microseconds.
/// Buffers are in the cache and contiguous.
pub fn explain(costs: &Costs, facts: &Facts) -> String {
    let mut text = format!(
        "How messages move between cores that {}{}.\n\
         Microseconds until both processes are done; * is what is chosen, - what is not possible.\n\
         map: a copy between pages that both have mapped, cma: a copy by the kernel; send, recv,\n\
         both: who copies. Warm buffers in one piece.\n\
         Costs: {}\n",
        match facts.placement {
            Placement::Cache => "share a cache",
            Placement::Node => "share a NUMA node",
            Placement::Machine => "are on different NUMA nodes",
        },
        match facts.crowded {
            true => ", with more ranks than cores",
            false => "",
        },
        costs.origin,
    );
    if facts.asked != Mechanism::Auto {
        let _ = writeln!(text, "TERN_MECHANISM allows {:?} only.", facts.asked);
    }
    if let Some(size) = tried_from(costs, facts) {
        let _ = writeln!(
            text,
            "Private buffers of two that exchange messages, or of which one waits for the other's: from {}\n\
             on it is tried on the messages themselves whether they go sooner in packets (eager, pipe) or\n\
             by the kernel, alone (cma recv).",
            bytes(size)
        );
    }
    for (buffers, shared) in [("private", false), ("shared", true)] {
        for (stage, other_waits, case) in CASES {
            let _ = writeln!(text, "\nBuffers {buffers}; {case}:");
            header(&mut text);
            for size in SIZES {
                if stage == Stage::Published && size < facts.publish_from {
                    continue;
                }
                // Only who sees a published receive knows where the message goes.
                let published = stage == Stage::Published;
                let situation = Situation {
                    size,
                    stage,
                    other_waits,
                    source_shared: shared,
                    target_shared: shared && published,
                    push: facts.push && published,
                    pull: facts.pull && !published,
                    eager: size <= facts.eager_limit,
                    block: 0,
                    placement: facts.placement,
                    warmth: Warmth::Warm,
                    crowded: facts.crowded,
                };
                row(&mut text, costs, facts.asked, &situation);
            }
        }
    }
    text
}

/// The first size that is shown of which receivers that wait try to have the kernel copy it alone, if there is one.
fn tried_from(costs: &Costs, facts: &Facts) -> Option<u64> {
    let tries = facts.pull && !facts.crowded && facts.asked == Mechanism::Auto;
    let may = |&size: &u64| size >= FETCHED_BY_KERNEL_FROM && may_fetch_by_kernel(costs, facts.placement, size);
    SIZES.into_iter().find(may).filter(|_| tries)
}

/// Width of a column.
const WIDTH: usize = 10;
/// Heads of the columns, in the order of [`Transfer::ALL`].
const HEADS: [&str; 8] = ["eager", "map send", "map recv", "map both", "pipe", "cma send", "cma recv", "cma both"];

fn header(text: &mut String) {
    let _ = write!(text, "{:>8}", "size");
    for head in HEADS {
        let _ = write!(text, "{head:>WIDTH$}");
    }
    text.push('\n');
}

fn row(text: &mut String, costs: &Costs, asked: Mechanism, situation: &Situation) {
    let choice = choose(costs, asked, situation);
    let _ = write!(text, "{:>8}", bytes(situation.size));
    for (transfer, ns) in Transfer::ALL.into_iter().zip(choice.all) {
        let mark = match transfer == choice.transfer {
            true => "*",
            false => "",
        };
        let figure = match ns {
            Some(ns) => format!("{mark}{:.2}", ns / 1000.0),
            None => "-".into(),
        };
        let _ = write!(text, "{figure:>WIDTH$}");
    }
    text.push('\n');
}

/// `64 B`, `4 KiB`, `16 MiB`.
pub(crate) fn bytes(size: u64) -> String {
    match size {
        0..1024 => format!("{size} B"),
        1024..1_048_576 => format!("{} KiB", size >> 10),
        _ => format!("{} MiB", size >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Curve, Mover};

    const FACTS: Facts = Facts {
        placement: Placement::Cache,
        crowded: false,
        push: true,
        pull: true,
        eager_limit: 64 << 10,
        publish_from: 4 << 10,
        asked: Mechanism::Auto,
    };

    /// The rows under the heading that begins with these words: size, and the column with the mark.
    fn marks(text: &str, heading: &str) -> Vec<(String, String)> {
        let lines = text.lines().skip_while(|line| !line.starts_with(heading));
        let rows = lines.skip(2).take_while(|line| !line.is_empty());
        rows.map(|line| {
            let columns: Vec<&str> =
                line.as_bytes()[8..].chunks(WIDTH).map(|column| str::from_utf8(column).unwrap().trim()).collect();
            assert_eq!(columns.len(), Transfer::ALL.len());
            let marked: Vec<usize> = (0..columns.len()).filter(|at| columns[*at].starts_with('*')).collect();
            assert_eq!(marked.len(), 1, "{line}");
            let name = Transfer::ALL[marked[0]].name().to_owned();
            (line[..8].trim().to_owned(), name)
        })
        .collect()
    }

    #[test]
    fn every_row_marks_what_choose_chooses() {
        let text = explain(&Costs::default(), &FACTS);
        assert!(text.starts_with("How messages move between cores that share a cache.\n"), "{text}");
        assert!(text.contains("\nCosts: figures of another machine\n"), "{text}");
        let computes = "Buffers private; the receive is published, its owner computes";
        let rows = marks(&text, computes);
        assert_eq!(rows.len(), 8);
        assert!(rows.iter().all(|(_, name)| name == "cma, sender"), "{rows:?}");
        let late = marks(&text, "Buffers shared; the receive came late, the sender computes");
        assert_eq!(late.len(), SIZES.len());
        assert!(late.iter().all(|(_, name)| name == "mapped, receiver"), "{late:?}");
        let unseen = marks(&text, "Buffers private; no receive is there yet");
        assert_eq!(unseen[0], ("64 B".into(), "eager".into()));
        let waits = marks(&text, "Buffers shared; the receive is published, its owner waits");
        assert_eq!(waits.last(), Some(&("16 MiB".into(), "mapped, both".into())));
    }

    #[test]
    fn what_is_tried_is_said() {
        let mut costs = Costs::default();
        let says = |costs: &Costs, facts: &Facts| explain(costs, facts).contains("from 16 KiB\non it is tried");
        for pace in &mut costs.paces {
            pace.movers[Mover::Cma as usize] = pace.movers[Mover::Eager as usize].clone();
        }
        assert!(says(&costs, &FACTS));
        assert!(!says(&costs, &Facts { crowded: true, ..FACTS }));
        for pace in &mut costs.paces {
            pace.movers[Mover::Cma as usize] = std::array::from_fn(|_| Curve::new(vec![(0, 1e9), (1, 1e9)]).unwrap());
        }
        assert!(!says(&costs, &FACTS));
    }

    #[test]
    fn what_is_not_possible_has_no_figure() {
        let facts = Facts {
            push: false,
            pull: false,
            asked: Mechanism::Pipe,
            crowded: true,
            placement: Placement::Machine,
            ..FACTS
        };
        let text = explain(&Costs::default(), &facts);
        assert!(
            text.starts_with("How messages move between cores that are on different NUMA nodes, with more ranks"),
            "{text}"
        );
        assert!(text.contains("\nTERN_MECHANISM allows Pipe only.\n"), "{text}");
        for (_, name) in marks(&text, "Buffers shared; no receive") {
            assert!(["eager", "pipe"].contains(&&*name), "{name}");
        }
        let row = text.lines().find(|line| line.starts_with(" 256 KiB")).unwrap();
        let shown = row.split_whitespace().filter(|word| *word == "-").count();
        // All but the pipe.
        assert_eq!(shown, Transfer::ALL.len() - 1, "{row}");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(bytes(64), "64 B");
        assert_eq!(bytes(16 << 10), "16 KiB");
        assert_eq!(bytes(1 << 20), "1 MiB");
    }
}
