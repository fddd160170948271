//! By which mechanism a device copies, and what is tried beside that, by the costs.

use super::machines;
use super::tree::by_length;
use std::fmt::Write;
use tern_policy::costs::{Costs, Placement, Warmth};
use tern_policy::transfer::{Situation, Stage, Transfer, choose};
use tern_settings::Mechanism;

/// Situations, by name.
fn situations() -> Vec<(String, Situation)> {
    let mut all = Vec::new();
    for (stage_name, stage) in
        [("unseen", Stage::Unseen), ("published", Stage::Published), ("requested", Stage::Requested)]
    {
        for (memory, source_shared, target_shared) in [
            ("private", false, false),
            ("from shared", true, false),
            ("to shared", false, true),
            ("shared", true, true),
        ] {
            for (kernel, copies) in [("kernel", true), ("no kernel", false)] {
                for (waiting, other_waits) in [("waits", true), ("computes", false)] {
                    for (cores, crowded) in [("apart", false), ("crowded", true)] {
                        let situation = Situation {
                            stage,
                            source_shared,
                            target_shared,
                            push: copies,
                            pull: copies,
                            other_waits,
                            crowded,
                            by_module: false,
                            has_copier: false,
                            ..Situation::default()
                        };
                        all.push((format!("{stage_name}, {memory}, {kernel}, {waiting}, {cores}"), situation));
                    }
                }
            }
        }
    }
    all
}

fn row(costs: &Costs, situation: Situation) -> String {
    let of = |size: usize| {
        let situation = Situation { size: size as u64, ..situation };
        let choice = choose(costs, Mechanism::Auto, &situation);
        let name = |transfer: Transfer| transfer.name().replace(", ", " by ");
        match choice.rival(&situation) {
            Some(rival) => format!("{} (tries {})", name(choice.transfer), name(rival)),
            None => name(choice.transfer),
        }
    };
    by_length(of).iter().map(|(from, what)| format!("{from} {what}")).collect::<Vec<_>>().join(", ")
}

pub fn text() -> String {
    let mut text = String::from("# From which length on a device takes what, by costs alone.\n");
    for (name, costs) in machines::all() {
        _ = writeln!(text, "\n{name}");
        for (key, situation) in situations() {
            _ = writeln!(text, "  {key}: {}", row(&costs, situation));
        }
        for (key, block) in [("blocks of 512 bytes", 512), ("blocks of 8 KiB", 8 << 10)] {
            let situation =
                Situation { stage: Stage::Requested, pull: true, source_shared: true, block, ..Situation::default() };
            _ = writeln!(text, "  requested, from shared, {key}: {}", row(&costs, situation));
        }
        for placement in Placement::ALL {
            for warmth in Warmth::ALL {
                let situation = Situation {
                    stage: Stage::Published,
                    source_shared: true,
                    target_shared: true,
                    push: true,
                    placement,
                    warmth,
                    ..Situation::default()
                };
                let key = format!("published, shared, {}, {}", placement.name(), warmth.name());
                _ = writeln!(text, "  {key}: {}", row(&costs, situation));
            }
        }
    }
    text
}
