//! Which way a collective takes, which algorithm its messages, and whether a root tells of a region, by the costs.

use super::machines;
use super::tree::row;
use std::fmt::Write;
use std::rc::Rc;
use tern_policy::collective::{
    Algorithm, Beside, CollPlan, CollStep, CollWay, Collective, Forced, InPlace, Members, Messages, Operands,
    Selection, Shape, Without, algorithm, collective,
};
use tern_policy::costs::Placement;
use tern_policy::pair::Group;
use tern_policy::transfer::{Chooser, Rooted, SingleCopy};
use tern_settings::Mechanism;

const PROCESSES: [usize; 9] = [1, 2, 3, 4, 7, 8, 16, 17, 40];

fn algorithms(selection: &Selection, crowded: bool, text: &mut String) {
    for &collective in Collective::ALL {
        for commutative in [true, false] {
            for processes in PROCESSES {
                let of = |bytes| {
                    let messages = Messages { processes, bytes, commutative, crowded, two_groups: false };
                    algorithm(selection, collective, messages)
                };
                let order = if commutative { "" } else { ", in order" };
                _ = writeln!(text, "  {collective}, {processes} processes{order}: {}", row(of));
            }
        }
    }
}

fn regions(text: &mut String) {
    for (name, costs) in machines::all() {
        _ = writeln!(text, "\nregions, {name}");
        for others in [1, 3, 15] {
            for (reading, apart, writes) in
                [("read one block", false, false), ("read blocks", true, false), ("write blocks", true, true)]
            {
                for (memory, shared) in [("private", false), ("shared", true)] {
                    for cores in [1, 2, 64] {
                        let of = |len: usize| {
                            let group = Group { others, len, apart, writes, shared };
                            let rooted = Rooted { group, cores, placement: Placement::L3 };
                            let advice = rooted.times(&costs).advise(Mechanism::Auto, &group);
                            if advice.region { "region" } else { "lines" }
                        };
                        _ = writeln!(text, "  {others} others {reading}, {memory}, {cores} cores: {}", row(of));
                    }
                }
            }
        }
    }
}

/// Where the others had better have the kernel copy private memory that is read in place: one of them at a time, by costs that leave no doubt.
fn private_places(text: &mut String) {
    for (name, costs) in machines::all() {
        let of = |len: usize| {
            let group = Group { others: 1, len, apart: true, writes: false, shared: false };
            let rooted = Rooted { group, cores: 64, placement: Placement::L3 };
            let advice = rooted.times(&costs).advise(Mechanism::Auto, &group);
            if advice.region && advice.sure { "by the kernel" } else { "not" }
        };
        _ = writeln!(text, "private memory in place, {name}: {}", row(of));
    }
}

/// Bytes of one payload of the lines.
const CAPACITY: usize = 32 << 10;

/// The ways of a plan, each tried if the one before it is refused, with the parts of what is longer than they take at once.
fn ways(plan: &CollPlan, bytes: usize, reduces: bool) -> String {
    let way = |step: CollStep| match step.way {
        CollWay::Lines { part } if part < bytes => format!("lines in parts of {part}"),
        CollWay::Levels { part } if part < bytes && reduces => "levels, in parts".into(),
        way => way.name().to_owned(),
    };
    let mut ways: Vec<String> = plan.steps().map(way).collect();
    ways.dedup();
    ways.join(" or ")
}

/// The ways of `what` by length, for all that the choice looks at beside that.
fn rows(what: Collective, members: &Members, at: &str, selection: &Selection, text: &mut String) {
    const LEARNED: [(InPlace, &str); 3] =
        [(InPlace::Ask, ", asks"), (InPlace::Rest, ", rests"), (InPlace::Otherwise, ", otherwise")];
    let one_node = matches!(members.beside, Beside::Lines { .. });
    let reads = what.reduces() || matches!(what, Collective::Allgather | Collective::Alltoall);
    for commutative in if what.reduces() { &[true, false][..] } else { &[true] } {
        let order = if *commutative { "" } else { ", in order" };
        for (learned, known) in if reads && one_node { &LEARNED[..] } else { &[(InPlace::Ask, "")] } {
            for (persistent, kept) in [(false, ""), (true, ", persistent")] {
                let of = |crowded| {
                    row(|len| {
                        let bytes = if what == Collective::Barrier { 0 } else { len };
                        let vectors = Operands::Vectors { commutative: *commutative };
                        let operands = if what.reduces() { vectors } else { Operands::Nothing };
                        let (members, shape) = (Members { crowded, ..*members }, Shape { bytes, operands, persistent });
                        ways(&collective(what, &members, &shape, selection, *learned), bytes, what.reduces())
                    })
                };
                let (free, crowded) = (of(false), of(true));
                let size = members.size;
                _ = writeln!(text, "  {what}, {size} on {at}{order}{known}{kept}: {free}");
                if crowded != free {
                    _ = writeln!(text, "  {what}, {size} on {at}, crowded{order}{known}{kept}: {crowded}");
                }
            }
        }
    }
}

/// Members on one node, and half of them on each of two.
fn places(size: usize) -> [(Members, &'static str); 2] {
    let levels = Beside::Levels { capacity: CAPACITY, widest: size.div_ceil(2) };
    // Two are one on each node, and have nothing to win.
    let apart = if size > 2 { levels } else { Beside::Nothing(Without::Apart) };
    [(Beside::Lines { capacity: CAPACITY, tree: false }, "one node"), (apart, "two nodes")]
        .map(|(beside, at)| (Members { size, beside, crowded: false, asked: Mechanism::Auto }, at))
}

fn all_ways(text: &mut String) {
    for &what in Collective::ALL {
        for place in 0..2 {
            for size in [2, 3, 4, 8, 16, 40] {
                let (members, at) = places(size)[place];
                rows(what, &members, at, &Selection::default(), text);
            }
        }
        for size in [16, 96, 288] {
            let beside = Beside::Lines { capacity: CAPACITY, tree: true };
            let members = Members { beside, ..places(size)[0].0 };
            rows(what, &members, "one large node", &Selection::default(), text);
        }
    }
}

pub fn text() -> String {
    let mut text = String::from("# From which length on a collective takes what, by messages.\n");
    algorithms(&Selection::default(), false, &mut text);
    text += "\nmore members than cores\n";
    algorithms(&Selection::default(), true, &mut text);
    text += "\nbcast=chain is asked for\n";
    let mut selection = Selection::default();
    selection.force(Collective::Bcast, Forced::Schedule(Algorithm::Chain));
    algorithms(&selection, false, &mut text);
    let chooser = Chooser::new(Rc::default(), Mechanism::Auto, SingleCopy::default());
    let group = Group { others: 3, len: 1 << 20, apart: false, writes: false, shared: false };
    let times = chooser.times(&Rooted { group, cores: 4, placement: Placement::L3 });
    _ = writeln!(text, "\nwithout a setting no length decides instead of costs: {}", times.bound.is_none());
    regions(&mut text);
    text += "\n";
    private_places(&mut text);
    text += "\n# From which block or vector length on a call takes which way; \"or\": if the way before is refused.\n";
    all_ways(&mut text);
    text
}
