//! Which algorithm a collective takes, and whether a root tells of a region, by the costs.

use super::machines;
use super::tree::by_length;
use std::fmt::Write;
use tern_coll::{Algorithm, Collective, Selection, Shape, choose_with};
use tern_policy::pair::Group;
use tern_tune::collective::Rooted;
use tern_tune::{Chooser, Mechanism, Placement};

const PROCESSES: [usize; 9] = [1, 2, 3, 4, 7, 8, 16, 17, 40];

fn row<T: PartialEq + std::fmt::Display>(of: impl FnMut(usize) -> T) -> String {
    by_length(of).iter().map(|(from, what)| format!("{from} {what}")).collect::<Vec<_>>().join(", ")
}

fn algorithms(selection: &Selection, text: &mut String) {
    for &collective in Collective::ALL {
        for commutative in [true, false] {
            for processes in PROCESSES {
                let of = |bytes: usize| {
                    choose_with(selection, collective, Shape { processes, bytes: bytes as u64, commutative })
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
                            let way = if advice.region { "region" } else { "lines" };
                            if advice.sure { way.to_owned() } else { format!("{way} (tries)") }
                        };
                        _ = writeln!(text, "  {others} others {reading}, {memory}, {cores} cores: {}", row(of));
                    }
                }
            }
        }
    }
}

pub fn text() -> String {
    let mut text = String::from("# From which length on a collective takes what, by messages.\n");
    algorithms(&Selection::default(), &mut text);
    text += "\nmore members than cores\n";
    algorithms(&Selection::default().on_one_node(true), &mut text);
    text += "\nbcast=chain is asked for\n";
    let mut selection = Selection::default();
    selection.force(Collective::Bcast, Algorithm::Chain);
    algorithms(&selection, &mut text);
    // A chooser reads its costs by a function without state: the default ones.
    let chooser = Chooser::new(tern_tune::Costs::default, Mechanism::Auto);
    let group = Group { others: 3, len: 1 << 20, apart: false, writes: false, shared: false };
    let times = chooser.times(&Rooted { group, cores: 4, placement: Placement::L3 });
    _ = writeln!(text, "\nwithout a setting no length decides instead of costs: {}", times.bound.is_none());
    regions(&mut text);
    text
}
