//! Whether a receive is published, for each answer to what its process asks.

use super::machines;
use super::tree::{Oracle, Trees, explore};
use std::fmt::Write;
use tern_policy::costs::Placement;
use tern_policy::pair::Pair;
use tern_policy::{RecvFacts, RecvKnown, RecvOutcome, RecvPlan, RecvStep, receive, receive_located, receive_waiting};

/// A receive, and where its message comes from.
#[derive(Clone, Copy)]
struct Case {
    pair: Pair,
    kernel: bool,
    size: usize,
    dense: bool,
}

impl Case {
    /// Takes all steps.
    fn decide(
        &self, ask: fn(&RecvFacts, &RecvKnown) -> RecvOutcome<RecvPlan>, facts: &RecvFacts, known: &mut RecvKnown,
        oracle: &mut Oracle,
    ) -> RecvPlan {
        loop {
            match ask(facts, known) {
                Err(RecvStep::Speculate) => {
                    let answers = [None, Some(false), Some(true)];
                    let some = |oracle: &mut Oracle| answers[oracle.ask("speculate", &["none", "unsure", "sure"])];
                    known.speculative = Some(if self.dense { some(oracle) } else { None });
                }
                Err(RecvStep::Locate) => known.shared = Some(oracle.ask("locate", &["private", "shared"]) == 1),
                Ok(plan) => return plan,
            }
        }
    }

    fn facts(&self) -> RecvFacts {
        RecvFacts {
            size: self.size,
            pair: Pair { kernel: self.kernel, ..self.pair },
            eager_limit: machines::EAGER,
            waiting_limit: machines::waiting_limit(),
            near: true,
            fetchable: self.dense,
            call_waits: true,
            call_exchanges: false,
            at_once: false,
            alone: false,
            exchanges: false,
            exchanges_at_once: false,
        }
    }
}

fn posted(case: &Case, facts: &RecvFacts, oracle: &mut Oracle) -> String {
    let mut known = RecvKnown::default();
    let plan = case.decide(receive, facts, &mut known, oracle);
    if plan != RecvPlan::Publish || known.shared.is_some() {
        return format!("{plan:?}");
    }
    format!("{:?}", case.decide(receive_located, facts, &mut known, oracle))
}

fn rows(trees: &mut Trees, text: &mut String, case: Case) {
    // Habits are asked for first, where they may matter.
    for dense in [true, false] {
        let case = Case { dense, ..case };
        let shape = if dense { "Dense" } else { "Blocks" };
        let waiting = |size| {
            let case = Case { size, ..case };
            explore(|oracle| {
                format!("{:?}", case.decide(receive_waiting, &case.facts(), &mut RecvKnown::default(), oracle))
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
                let facts = RecvFacts { near, call_waits, call_exchanges, at_once, alone, ..case.facts() };
                explore(|oracle| {
                    let mut habit = |what| near && !call_waits && oracle.is(what);
                    let exchanges = habit("exchanges");
                    let exchanges_at_once = habit("exchanges at once");
                    posted(&case, &RecvFacts { exchanges, exchanges_at_once, ..facts }, oracle)
                })
            };
            let named = [
                (near, "near"),
                (call_waits, "the call waits"),
                (call_exchanges, "the call exchanges"),
                (at_once, "at once"),
                (alone, "alone"),
            ];
            let named: String =
                named.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| format!(", {name}")).collect();
            _ = writeln!(text, "  posted, {shape}{named}: {}", trees.by_length(of));
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
