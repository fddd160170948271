//! Whether a receive is published, for each answer to what its process asks.

use super::machines;
use super::tree::{Oracle, Trees, explore};
use std::fmt::Write;
use tern_policy::pair::Pair;
use tern_policy::{Likely, RecvFacts, RecvLook, RecvPlan, receive, receive_located, receive_waiting};
use tern_tune::Placement;

/// A receive, and where its message comes from.
#[derive(Clone, Copy)]
struct Case {
    pair: Pair,
    kernel: bool,
    size: usize,
    dense: bool,
}

struct World<'a> {
    case: &'a Case,
    oracle: &'a mut Oracle,
    shared: Option<bool>,
    speculative: Option<Option<bool>>,
}

impl World<'_> {
    fn fits(&self, sure: bool) -> bool {
        self.case.size <= machines::EAGER && self.case.pair.fetches(self.case.size, sure)
    }
}

impl RecvLook for World<'_> {
    fn exchanges(&mut self, at_once: bool) -> bool {
        self.oracle.is(if at_once { "exchanges at once" } else { "exchanges" })
    }

    fn packets_were_chosen(&mut self) -> bool {
        self.oracle.is("packets were chosen")
    }

    fn suits_packets(&mut self, shared: bool) -> bool {
        let (size, pair) = (self.case.size, self.case.pair);
        size <= machines::waiting_limit() && size < pair.packets_below(shared, || self.case.kernel)
    }

    fn suits_fetching(&mut self, sure: bool) -> bool {
        self.case.dense && self.fits(sure)
    }

    fn suits_kernel(&mut self) -> bool {
        self.case.pair.suits_kernel(self.case.size, || self.case.kernel) != Likely::No
    }

    fn speculative(&mut self) -> Option<bool> {
        if !self.case.dense {
            return None;
        }
        *self.speculative.get_or_insert_with(|| {
            [None, Some(false), Some(true)][self.oracle.ask("speculate", &["none", "unsure", "sure"])]
        })
    }

    fn publishes_again(&mut self) -> bool {
        self.oracle.is("publish again")
    }

    fn is_shared(&mut self) -> bool {
        *self.shared.get_or_insert_with(|| self.oracle.ask("locate", &["private", "shared"]) == 1)
    }

    fn at_once_applies(&mut self) -> bool {
        true
    }
}

fn posted(case: &Case, facts: &RecvFacts, oracle: &mut Oracle) -> String {
    let mut world = World { case, oracle, shared: None, speculative: None };
    let plan = receive(facts, &mut world);
    if plan != RecvPlan::Publish || world.shared.is_some() {
        return format!("{plan:?}");
    }
    let shared = world.is_shared();
    format!("{:?}", receive_located(facts, shared, &mut world))
}

fn rows(trees: &mut Trees, text: &mut String, case: Case) {
    for dense in [true, false] {
        let case = Case { dense, ..case };
        let shape = if dense { "Dense" } else { "Blocks" };
        let waiting = |size| {
            let case = Case { size, ..case };
            explore(|oracle| {
                let mut world = World { case: &case, oracle, shared: None, speculative: None };
                format!("{:?}", receive_waiting(&mut world))
            })
        };
        _ = writeln!(text, "  a call that waits for nothing else, {shape}: {}", trees.by_length(waiting));
        for flags in 0..32 {
            let [near, call_waits, call_exchanges, at_once, alone] = std::array::from_fn(|bit| flags >> bit & 1 == 1);
            if call_exchanges && !call_waits || (at_once || alone) && (call_waits || !near) {
                // The engine does not state this.
                continue;
            }
            let of = |size| {
                let case = Case { size, ..case };
                let eager_limit = machines::EAGER;
                let facts = RecvFacts { size, eager_limit, near, call_waits, call_exchanges, at_once, alone };
                explore(|oracle| posted(&case, &facts, oracle))
            };
            let named = [
                (near, "near"),
                (call_waits, "the call waits"),
                (call_exchanges, "the call exchanges"),
                (at_once, "at once"),
                (alone, "alone"),
            ];
            let named: Vec<&str> = named.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name).collect();
            _ = writeln!(text, "  posted, {shape}{}: {}", named.iter().map(|name| format!(", {name}")).collect::<String>(), trees.by_length(of));
        }
    }
}

pub fn text() -> String {
    let mut trees = Trees::default();
    let mut text = String::from("# From which length on a receive goes by which tree. The trees follow.\n");
    for (name, costs) in machines::all() {
        for (cores, crowded) in [("apart", false), ("crowded", true)] {
            let pair = machines::near(&costs, Placement::L3, crowded);
            _ = writeln!(text, "\n{name}, {cores}");
            rows(&mut trees, &mut text, Case { pair, kernel: true, size: 0, dense: true });
        }
    }
    text += "\nno kernel copies\n";
    let pair = machines::near(&machines::all()[0].1, Placement::L3, false);
    rows(&mut trees, &mut text, Case { pair, kernel: false, size: 0, dense: true });
    text += "\na network\n";
    rows(&mut trees, &mut text, Case { pair: Pair::default(), kernel: false, size: 0, dense: true });
    text + &trees.text()
}
