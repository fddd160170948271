//! A table for the user who asks why a message went the way it did (TERN_EXPLAIN).

use std::fmt::Write;
use std::rc::Rc;

use tern_policy::costs::{Costs, Placement, Warmth};
use tern_policy::declaration::{self, Declaration, DeclaredFor};
use tern_policy::pair::{Advice, Group};
use tern_policy::transfer::{
    Choice, FETCHED_BY_KERNEL_FROM, Rooted, SingleCopy, Situation, Stage, Thresholds, Transfer, choose,
    may_fetch_by_kernel,
};
use tern_settings::Mechanism;

/// What is the same for all messages between two processes.
#[derive(Clone, Copy, Debug)]
pub struct Between {
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
    /// From which lengths on one copy is made, where costs do not decide.
    pub single_copy: SingleCopy,
    /// Processes of the node, and the cores that they share.
    pub members: u64,
    pub cores: u64,
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
pub fn explain(costs: &Costs, facts: &Between) -> String {
    let mut text = format!(
        "How messages move between cores that {}{}.\n\
         Microseconds until both processes are done; * is what is chosen, - what is not possible.\n\
         map: a copy between pages that both have mapped, cma: a copy by the kernel; send, recv,\n\
         both: who copies. Warm buffers in one piece.\n\
         Costs: {}\n",
        facts.placement.describe(),
        match facts.crowded {
            true => ", with more ranks than cores",
            false => "",
        },
        costs.origin,
    );
    if facts.asked != Mechanism::Auto {
        let _ = writeln!(text, "TERN_MECHANISM allows {:?} only.", facts.asked);
    }
    if let Some(from) = facts.single_copy.asked_from(facts.asked, facts.placement) {
        let _ = writeln!(text, "TERN_SINGLE_COPY_FROM asks for one copy of private memory from {} on.", bytes(from));
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
    if costs.module {
        declared(&mut text, costs, facts);
    }
    for (buffers, shared) in [("private", false), ("shared", true)] {
        for (stage, other_waits, case) in CASES {
            let _ = writeln!(text, "\nBuffers {buffers}; {case}:");
            header(&mut text);
            let mut passed: Vec<(u64, &str)> = Vec::new();
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
                    by_module: costs.module && !shared,
                    crowded: facts.crowded,
                    has_copier: false,
                };
                let asked = facts.single_copy.mechanism(facts.asked, &situation);
                let choice = choose(costs, asked, &situation);
                row(&mut text, size, &choice);
                passed.extend(choice.passes_over(asked, &situation).map(|why| (size, why)));
            }
            why_not_smallest(&mut text, &passed);
        }
    }
    if facts.members > 2 {
        regions(&mut text, costs, facts);
    }
    classes(&mut text, costs, facts);
    text
}

/// From which use on private memory is declared to the kernel module.
fn declared(text: &mut String, costs: &Costs, facts: &Between) {
    let declaration = Declaration::new(Mechanism::Auto, Rc::new(costs.clone()));
    let of = |len| declaration::Use {
        start: 0,
        len,
        placement: facts.placement,
        by_number: facts.push || facts.pull,
        purpose: DeclaredFor::Transfer,
    };
    let uses = |len: usize| declaration.break_even(&of(len)).map_or("never".to_owned(), |uses| uses.to_string());
    let [short, middle, long] = [16 << 10, 64 << 10, 1 << 20].map(uses);
    let _ = writeln!(
        text,
        "The kernel module is there: in the tables cma is its copy of memory that was declared to it, where that is quicker. Memory is\n\
         declared from a use on that pays: of 16 KiB {short}, of 64 KiB {middle}, of 1 MiB {long}."
    );
}

/// From which lengths on a way pays, by what the cores of two processes share.
fn classes(text: &mut String, costs: &Costs, facts: &Between) {
    let _ = writeln!(
        text,
        "\nThresholds by what the cores of two processes share; * is the class of the tables above. A receive that is waited for is\n\
         published from these lengths on, for which packets take longer, in shared and in private memory; a receiver that waits\n\
         fetches such lengths alone; and from the last length on the kernel is tried. - is never."
    );
    let _ = writeln!(
        text,
        "{:>9}{:>11}{:>10}{:>10}{:>18}{:>10}",
        "class", "packet us", "shared", "private", "fetched", "kernel"
    );
    for placement in Placement::ALL {
        let thresholds = Thresholds { costs, asked: facts.asked, placement };
        let length = |least: u64| if least == u64::MAX { "-".into() } else { bytes(least) };
        let fetched = thresholds.fetched(true);
        let fetched = match fetched.is_empty() {
            true => "-".into(),
            false => format!("{} .. {}", bytes(*fetched.start() as u64), bytes(*fetched.end() as u64)),
        };
        let private = if facts.push { thresholds.packets_below(false, true, facts.eager_limit) } else { u64::MAX };
        let kernel = match facts.single_copy.asked_from(facts.asked, placement) {
            _ if !facts.pull => u64::MAX,
            asked => asked.unwrap_or_else(|| thresholds.kernel_fetches_from()),
        };
        let _ = writeln!(
            text,
            "{:>9}{:>11.2}{:>10}{:>10}{fetched:>18}{:>10}",
            format!("{}{}", if placement == facts.placement { "*" } else { "" }, placement.name()),
            costs.pace(placement).packet / 1e3,
            length(thresholds.packets_below(true, false, facts.eager_limit)),
            length(private),
            length(kernel)
        );
    }
}

/// What a root decides by of collectives that may go by a region of its memory.
fn regions(text: &mut String, costs: &Costs, facts: &Between) {
    let _ = writeln!(
        text,
        "\nCollectives of {} processes on {} cores with a root, private memory: microseconds through shared memory, in two\n\
         copies, and by a region of the root's, in one by the kernel. * is better by these costs, and is taken; ? where they are\n\
         close. TERN_COLL=bcast=region asks for it.",
        facts.members, facts.cores
    );
    let _ = writeln!(
        text,
        "{:>8}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "size", "bcast", "region", "scatter", "region", "gather", "region"
    );
    for len in SIZES.into_iter().filter(|&len| len >= 16 << 10) {
        let _ = write!(text, "{:>8}", bytes(len));
        for (apart, writes) in [(false, false), (true, false), (true, true)] {
            let group = Group { others: facts.members as usize - 1, len: len as usize, apart, writes, shared: false };
            let times = Rooted { group, cores: facts.cores, placement: facts.placement }.times(costs);
            let possible = if writes { facts.push } else { facts.pull };
            let advice = match possible {
                true => times.advise(facts.asked, &group),
                false => Advice { region: false, sure: true },
            };
            let figure = |ns: f64, better: bool| {
                let mark = if better { "*" } else { "" };
                format!("{mark}{:.1}{}", ns / 1000.0, if advice.sure { "" } else { "?" })
            };
            let region = if possible { figure(times.region, advice.region) } else { "-".into() };
            let _ = write!(text, "{:>12}{region:>12}", figure(times.lines, !advice.region));
        }
        text.push('\n');
    }
}

/// The first size that is shown of which receivers that wait try to have the kernel copy it alone, if there is one.
fn tried_from(costs: &Costs, facts: &Between) -> Option<u64> {
    let is_decided = facts.asked != Mechanism::Auto || facts.single_copy.is_asked;
    let tries = facts.pull && !facts.crowded && !is_decided;
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

/// Under a table: for which sizes the star is not at the smallest figure, by reasons.
fn why_not_smallest(text: &mut String, passed: &[(u64, &str)]) {
    for group in passed.chunk_by(|a, b| a.1 == b.1) {
        let sizes: Vec<String> = group.iter().map(|(size, _)| bytes(*size)).collect();
        let _ = writeln!(text, "* is not the smallest figure for {}: {}.", sizes.join(", "), group[0].1);
    }
}

fn row(text: &mut String, size: u64, choice: &Choice) {
    let _ = write!(text, "{:>8}", bytes(size));
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
    use tern_policy::costs::{Curve, Mover, PLACEMENTS};

    const FACTS: Between = Between {
        placement: Placement::L3,
        crowded: false,
        push: true,
        pull: true,
        eager_limit: 64 << 10,
        publish_from: 4 << 10,
        asked: Mechanism::Auto,
        single_copy: SingleCopy {
            messages: [None; PLACEMENTS],
            collectives: None,
            is_asked: false,
            are_collectives_asked: false,
        },
        members: 2,
        cores: 2,
    };

    /// The rows under the heading that begins with these words: size, and the column with the mark.
    fn marks(text: &str, heading: &str) -> Vec<(String, String)> {
        let lines = text.lines().skip_while(|line| !line.starts_with(heading));
        let rows = lines.skip(2).take_while(|line| !line.is_empty() && !line.starts_with('*'));
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
    fn a_star_that_is_not_the_smallest_has_its_reason() {
        let text = explain(&Costs::default(), &FACTS);
        let computes =
            text.split("\n\n").find(|part| part.contains("the receive came late, the sender computes")).unwrap();
        let lines = computes.lines().filter(|line| line.starts_with("* is not the smallest figure for "));
        let explained = lines.filter(|line| line.contains("leaves the other process alone")).count();
        assert!(explained > 0, "{computes}");
        let waits = text.split("\n\n").find(|part| part.contains("its owner waits")).unwrap();
        assert!(!waits.contains("* is not"), "{waits}");
    }

    #[test]
    fn what_is_tried_is_said() {
        let mut costs = Costs::default();
        let says = |costs: &Costs, facts: &Between| explain(costs, facts).contains("from 16 KiB\non it is tried");
        for pace in &mut costs.paces {
            pace.movers[Mover::Cma as usize] = pace.movers[Mover::Eager as usize].clone();
        }
        assert!(says(&costs, &FACTS));
        assert!(!says(&costs, &Between { crowded: true, ..FACTS }));
        for pace in &mut costs.paces {
            pace.movers[Mover::Cma as usize] = std::array::from_fn(|_| Curve::new(vec![(0, 1e9), (1, 1e9)]).unwrap());
        }
        assert!(!says(&costs, &FACTS));
    }

    #[test]
    fn a_length_that_is_asked_for_decides_in_the_tables_too() {
        let single_copy = SingleCopy { messages: [Some(256 << 10); PLACEMENTS], is_asked: true, ..FACTS.single_copy };
        let text = explain(&Costs::default(), &Between { single_copy, ..FACTS });
        assert!(text.contains("TERN_SINGLE_COPY_FROM asks for one copy of private memory from 256 KiB on."), "{text}");
        assert!(!text.contains("on it is tried"), "nothing else is tried: {text}");
        let waits = marks(&text, "Buffers private; no receive is there yet");
        let copied_once = |size: &str| waits.iter().any(|(at, name)| at == size && name.starts_with("cma"));
        assert_eq!(["16 KiB", "64 KiB", "256 KiB", "1 MiB"].map(copied_once), [false, false, true, true], "{waits:?}");
        let (_, classes) = text.split_once("\nThresholds by what").expect("a heading");
        assert!(classes.lines().skip(4).all(|row| row.ends_with("256 KiB")), "{classes}");
    }

    #[test]
    fn collectives_of_three_and_more_are_explained() {
        assert!(!explain(&Costs::default(), &FACTS).contains("\nCollectives of"));
        let facts = Between { members: 4, cores: 4, ..FACTS };
        let row = |facts: &Between| {
            let text = explain(&Costs::default(), facts);
            let rows = text.split_once("\nCollectives of 4 processes on 4 cores").expect("a heading").1.to_owned();
            rows.lines().find(|line| line.starts_with("   1 MiB")).expect("a row").to_owned()
        };
        assert_eq!(row(&facts).matches('*').count(), 3);
        let pipe = row(&Between { asked: Mechanism::Pipe, pull: false, push: false, ..facts });
        assert_eq!((pipe.matches(" -").count(), pipe.contains('?')), (3, false), "{pipe}");
    }

    #[test]
    fn classes_and_their_thresholds_are_told() {
        let mut costs = Costs::default();
        costs.paces[Placement::Machine as usize].packet = 1e6;
        let text = explain(&costs, &FACTS);
        let (_, classes) = text.split_once("\nThresholds by what the cores of two processes share").expect("a heading");
        let rows: Vec<&str> = classes.lines().skip(4).collect();
        let names: Vec<&str> = rows.iter().map(|row| row.split_whitespace().next().unwrap()).collect();
        assert_eq!(names, ["smt", "l2", "*l3", "numa", "machine"]);
        assert!(rows[2].contains(" KiB"), "{}", rows[2]);
        assert!(rows[4].contains("1000.00") && rows[4].contains(" - "), "nothing pays so far away: {}", rows[4]);
    }

    #[test]
    fn what_is_not_possible_has_no_figure() {
        let facts = Between {
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
