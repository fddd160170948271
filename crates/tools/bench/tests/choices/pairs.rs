//! What follows from the costs for two processes of each placement, and which way a message whose receive is known goes there. Placements of which
//! the same holds share a line.

use super::machines;
use super::tree::row;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;
use tern_policy::costs::{Costs, Placement, Warmth};
use tern_policy::transfer::{Chooser, CopyMode, SingleCopy, Situation, Stage, Thresholds};
use tern_settings::Mechanism;

/// Writes what holds for each placement, those together of which the same holds.
fn by_placement(text: &mut String, what: &str, of: impl Fn(Placement) -> String) {
    let mut known: BTreeMap<usize, (Vec<&str>, String)> = BTreeMap::new();
    for placement in Placement::ALL {
        let here = of(placement);
        let next = known.len();
        let at = known.iter().find(|(_, (_, other))| *other == here).map_or(next, |(at, _)| *at);
        known.entry(at).or_insert_with(|| (Vec::new(), here)).0.push(placement.name());
    }
    for (names, what_holds) in known.values() {
        _ = writeln!(text, "  {what}, {}: {what_holds}", names.join(" and "));
    }
}

fn lengths(text: &mut String, costs: &Costs) {
    for (cores, crowded) in [("apart", false), ("crowded", true)] {
        by_placement(text, cores, |placement| {
            let pair = machines::near(costs, placement, crowded);
            let fetched = |sure| Thresholds { costs, asked: Mechanism::Auto, placement }.fetched(sure);
            format!(
                "published from {:?}, the kernel from {}, fetched alone {:?}, surely {:?}",
                pair.published_from,
                pair.kernel_from,
                fetched(false),
                fetched(true)
            )
        });
    }
}

/// Kinds of copies beside where the memory lies: what the user asks for, the module, a thread beside the program, blocks, and a cold cache.
fn kinds() -> Vec<(&'static str, Mechanism, Situation)> {
    let plain = Situation { push: true, pull: true, ..Situation::default() };
    let (auto, module) = (Mechanism::Auto, Situation { by_module: true, ..plain });
    vec![
        ("plain", auto, plain),
        ("cold", auto, Situation { warmth: Warmth::Cold, ..plain }),
        ("blocks of 4 KiB", auto, Situation { block: 4 << 10, ..plain }),
        ("declared to the module", auto, module),
        ("a thread may copy", auto, Situation { has_copier: true, ..plain }),
        ("a thread may copy, declared to the module", auto, Situation { has_copier: true, ..module }),
        ("the other computes", auto, Situation { other_waits: false, ..plain }),
        ("pipe is asked for", Mechanism::Pipe, plain),
        ("cma is asked for", Mechanism::Cma, plain),
        ("mapped is asked for", Mechanism::Mapped, plain),
        ("module is asked for", Mechanism::Module, module),
    ]
}

fn copies(text: &mut String, costs: &Rc<Costs>) {
    for (kind, asked, plain) in kinds() {
        let chooser = Chooser::new(costs.clone(), asked, SingleCopy::default());
        for (memory, source_shared, target_shared) in [
            ("private", false, false),
            ("from shared", true, false),
            ("to shared", false, true),
            ("shared", true, true),
        ] {
            let of = |placement, stage, size: usize| Situation {
                size: size as u64,
                eager: size <= machines::EAGER,
                stage,
                source_shared,
                target_shared,
                push: plain.push && stage == Stage::Published,
                pull: plain.pull && stage == Stage::Requested,
                placement,
                ..plain
            };
            by_placement(text, &format!("published, {memory}, {kind}"), |placement| {
                row(|size| {
                    let situation = of(placement, Stage::Published, size);
                    let chosen = chooser.deliver(&situation, true, CopyMode::ByCosts, || 0);
                    chosen.map_or("on the stream".into(), |chosen| format!("{:?} by {:?}", chosen.way, chosen.by))
                })
            });
            by_placement(text, &format!("requested, {memory}, {kind}"), |placement| {
                row(|size| {
                    let chosen = chooser.get(&of(placement, Stage::Requested, size), || 0);
                    format!("{:?} by {:?}", chosen.way, chosen.by)
                })
            });
        }
    }
}

pub fn text() -> String {
    let mut text =
        String::from("# From which length on two processes of each placement take what, and by whom that is chosen.\n");
    for (name, costs) in machines::all() {
        _ = writeln!(text, "\n{name}");
        lengths(&mut text, &costs);
        copies(&mut text, &Rc::new(costs));
    }
    text
}
