//! What a device does with a message once its receive is known: the steps of a sender that sees a published receive, and of a receiver that may get
//! the message from where it lies.

use super::machines;
use super::tree::row;
use std::fmt::Write;
use std::rc::Rc;
use tern_policy::CopyMode;
use tern_policy::transfer::{Chooser, SingleCopy, Situation, Stage};
use tern_settings::Mechanism;

/// What holds of a message beside its length, by name.
fn situations(stage: Stage) -> Vec<(String, Situation)> {
    let mut all = Vec::new();
    for (memory, source_shared, target_shared) in
        [("private", false, false), ("from shared", true, false), ("to shared", false, true), ("shared", true, true)]
    {
        for (kernel, copies) in [("kernel", true), ("no kernel", false)] {
            for (waiting, waits) in [("the other waits", true), ("the other computes", false)] {
                for (cores, crowded) in [("apart", false), ("crowded", true)] {
                    let situation = Situation {
                        stage,
                        source_shared,
                        target_shared,
                        push: copies && stage == Stage::Published,
                        pull: copies && stage == Stage::Requested,
                        other_waits: waits,
                        crowded,
                        by_module: false,
                        has_copier: false,
                        ..Situation::default()
                    };
                    all.push((format!("{memory}, {kernel}, {waiting}, {cores}"), situation));
                }
            }
        }
    }
    all
}

/// The same for a message of that length. What does not matter is not looked at, as a device does it.
fn of(size: usize, situation: &Situation) -> Situation {
    let sized = Situation { size: size as u64, eager: size <= machines::EAGER, ..*situation };
    Situation { other_waits: sized.other_waits && sized.needs_the_other(), ..sized }
}

pub fn text() -> String {
    let mut text =
        String::from("# From which length on a device takes which step. What is tried goes its presumed way.\n");
    for (name, costs) in machines::all() {
        // It stays in its first round, which goes the presumed ways.
        let chooser = Chooser::new(Rc::new(costs), Mechanism::Auto, SingleCopy::default());
        _ = writeln!(text, "\n{name}");
        for (key, situation) in situations(Stage::Published) {
            for (sender, waits) in [("its sender waits", true), ("its sender goes on", false)] {
                for copy in [CopyMode::ByCosts, CopyMode::Single, CopyMode::Packets] {
                    if copy != CopyMode::ByCosts && !(situation.source_shared && situation.target_shared) {
                        continue;
                    }
                    let step = |size| {
                        let chosen = chooser.deliver(&of(size, &situation), waits, copy, || 0);
                        chosen.map_or("Stream".into(), |chosen| format!("{:?}", chosen.way))
                    };
                    _ = writeln!(text, "  published, {key}, {sender}, {copy:?}: {}", row(step));
                }
            }
        }
        for (key, situation) in situations(Stage::Requested) {
            let step = |size| format!("{:?}", chooser.get(&of(size, &situation), || 0).way);
            _ = writeln!(text, "  requested, {key}: {}", row(step));
        }
    }
    text
}
