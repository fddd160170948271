//! What is measured in this process, or is said by Tern itself, and no benchmark program runs.

use super::registry::{Experiment, Part};
use crate::Places;
use crate::figures::{Row, Sample};
use crate::knem::module;
use crate::rdma::explain;
use crate::session::Session;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;
use tern_policy::frequent::Uses;

fn add(session: &mut Session, part: &Part, benchmark: &str, (size, unit): (u64, &str), line: &str, value: f64) {
    let (title, benchmark) = (part.title.to_string(), benchmark.to_string());
    let row = Row { title, benchmark, size, unit: unit.to_string(), ranks: part.ranks };
    session.figures.add(row, line, Sample { value, placement: None, others: 0.0 });
}

/// Bytes of the memory in which copies lie elsewhere each time, as that of the benchmark program.
const POOL: usize = 256 << 20;

/// What copies take, mapped and by the kernel, and an empty call.
pub fn costs(part: &Part, session: &mut Session) -> Result<(), String> {
    let empty = module::empty_call().ok_or("an empty call cannot be timed")?;
    let lines = ["mapped copy", "CMA", "CMA, a byte of each page", "empty call"];
    for &size in part.sizes {
        let [same, other] = [module::copies(size as usize), module::copies_off(size as usize, POOL)];
        for (benchmark, [mapped, cma, page]) in [("copy", same), ("copy_off", other)] {
            for (line, ns) in lines.into_iter().zip([mapped, cma, page, Some(empty)]) {
                let ns = ns.ok_or_else(|| format!("{line}: the kernel refuses it"))?;
                add(session, part, benchmark, (size, "us"), line, ns / 1e3);
            }
        }
    }
    Ok(())
}

/// Looks for one of the buffers, over and over.
const LOOKS: u64 = 200_000;

/// Numbers that visit all places below `count` in no order that a cache would guess.
fn places(count: u64) -> impl Iterator<Item = u64> {
    (0..LOOKS).map(move |look| look.wrapping_mul(0x9e37_79b9_7f4a_7c15) % count)
}

/// Nanoseconds of one.
fn each(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / LOOKS as f64
}

/// Tern's table of uses, and a tree, with so many buffers in them.
pub fn search(part: &Part, session: &mut Session) -> Result<(), String> {
    let (length, never) = (1024, u32::MAX);
    let address = |place: u64| 0x7f00_0000_0000 + place * 4096;
    for &count in part.sizes {
        let (mut table, mut tree) = (Uses::new(), BTreeMap::new());
        for place in 0..count {
            table.used(address(place), length, never);
            tree.insert((address(place), length), 0_u32);
        }
        let start = Instant::now();
        for place in places(count) {
            black_box(table.used(black_box(address(place)), length, never));
        }
        add(session, part, part.benchmarks[0], (count, "ns"), "hash table", each(start));
        let start = Instant::now();
        for place in places(count) {
            if let Some(uses) = tree.get_mut(&(black_box(address(place)), length)) {
                *uses = black_box(uses.saturating_add(1));
            }
        }
        add(session, part, part.benchmarks[0], (count, "ns"), "binary tree", each(start));
    }
    Ok(())
}

/// What Tern has measured of the model at its start: copies, and from how many uses on registering pays.
pub fn explained(experiment: &Experiment, part: &Part, places: &Places, session: &mut Session) -> Result<(), String> {
    let (Some(setting), Some((link, _))) = (experiment.lines.first(), part.link) else {
        return Err("no line or no link".to_string());
    };
    let said = explain::said(setting, link, places, session);
    let costs = explain::costs(&said);
    if costs.is_empty() {
        return Err("Tern prints no table of frequently used buffers".to_string());
    }
    for (size, copy_ns, uses) in costs.into_iter().filter(|(size, ..)| part.sizes.contains(size)) {
        add(session, part, "copy_cost", (size, "us"), setting.name, copy_ns / 1e3);
        if let Some(uses) = uses {
            add(session, part, "break_even", (size, "uses"), setting.name, uses);
        }
    }
    Ok(())
}
