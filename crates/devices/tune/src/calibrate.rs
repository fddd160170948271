//! Measures the costs of this machine: two processes, each on a core of its own, move memory
//! between them by every mechanism, in the way that the protocols do.
//!
//! They are forked from the caller and write what they find into memory that all three share. Both
//! walk through the same list of experiments in step; the sender looks at the clock and ends the
//! walk when the time is over, so the list begins with what matters most: small sizes. A size that
//! was not reached is extrapolated by its [`Curve`]. What takes little time comes last. Whatever goes wrong costs figures, never more:
//! the defaults stand for what is missing.

mod arena;
mod disturbance;
mod pins;
mod promotion;
mod receiver;
mod roles;
mod sender;
mod turns;

use std::sync::atomic::Ordering;
use std::time::Duration;

use tern_node::Ticks;

use crate::place;
use arena::{Arena, Found};
pub use disturbance::{Disturbance, Signs};
use tern_policy::costs::{Costs, Curve, Mover, Pace, Placement, Warmth};

/// Sizes that are measured. Larger ones cost as much per byte as the last.
const SIZES: [usize; 8] = [256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// The largest of them.
const LARGEST: usize = SIZES[SIZES.len() - 1];
/// Sizes that are promoted, and those that are declared to the kernel module.
const PROMOTED: [usize; 3] = [64 << 10, 256 << 10, 1 << 20];
const PINNED: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];
/// The movers that are measured, by number of the mover; eager messages move as piped ones do.
const MOVERS: [Mover; 8] = {
    let [Mover::Eager, movers @ ..] = Mover::ALL else { panic!("eager is the first of them") };
    movers
};
/// What a packet costs beside the way of its cache line: making it, matching, taking it apart.
const HANDLING: f64 = 40.0;

/// So many placements share the time that there is. Where there are more, it takes longer.
const WHOLE: usize = 3;

/// Memory below which nothing is measured: it takes 16 MiB, and must not take them from others.
const MEMORY: u64 = 256 << 20;

/// What was measured.
pub struct Calibration {
    /// The costs.
    pub costs: Costs,
    /// What was seen of others meanwhile: the figures may be far from those of a quiet machine.
    pub signs: Signs,
    /// What could not be measured, a line each.
    pub gaps: Vec<String>,
}

/// Measures between some two of `cores` for every placement that they offer, in about `budget`
/// altogether, `rounds` times; the figures are medians. `measured` is called after each round. The error, one line,
/// says why nothing could be measured.
///
/// Forks; the caller should have one thread.
pub fn calibrate(
    cores: &[usize], budget: Duration, rounds: u32, mut measured: impl FnMut(),
) -> Result<Calibration, String> {
    if tern_node::memory_limit() < MEMORY {
        return Err("there is little memory".into());
    }
    let pairs = place::pairs(cores);
    if pairs.is_empty() {
        return Err("there is only one core".into());
    }
    let share = budget / pairs.len().min(WHOLE) as u32;
    let mut found: Vec<(Placement, Vec<Found>)> = pairs.iter().map(|(placement, _)| (*placement, Vec::new())).collect();
    for _ in 0..rounds.max(1) {
        for ((_, pair), (_, rounds)) in pairs.iter().zip(&mut found) {
            rounds.push(measure(*pair, share)?);
        }
        measured();
    }
    let medians = found.into_iter().map(|(placement, rounds)| (placement, Found::median(&rounds)));
    Ok(conclude(medians.collect()))
}

/// Runs the two processes.
fn measure(cores: [usize; 2], budget: Duration) -> Result<Found, String> {
    let arena = Arena::new().map_err(|errno| format!("no shared memory: {errno}"))?;
    let before = Ticks::now(&cores);
    let sender = roles::start(&arena, cores[0], budget, sender::run)?;
    let receiver = roles::start(&arena, cores[1], budget, receiver::run);
    let sent = roles::wait(sender);
    let received = receiver.and_then(roles::wait);
    if arena.words().complete.0.load(Ordering::Relaxed) == 0 {
        sent.and(received)?;
    }
    let mut found = arena.found();
    found.signs.stolen = Ticks::now(&cores).stolen_since(before);
    Ok(found)
}

/// Turns what was found into costs.
fn conclude(found: Vec<(Placement, Found)>) -> Calibration {
    let mut costs = Costs::default();
    let mut gaps = Vec::new();
    for placement in Placement::ALL {
        // A placement that these cores do not have stands in the same ratio as by default to the
        // nearest that they have.
        let default = Costs::default();
        let nearest = found.iter().rev().find(|(measured, _)| *measured <= placement);
        let Some((measured, found)) = nearest.or(found.first()) else {
            continue;
        };
        let ratio = default.pace(placement).packet / default.pace(*measured).packet;
        let told = (*measured == placement).then_some(&mut gaps);
        costs.paces[placement as usize] = pace(found, default.pace(*measured), told).further(ratio);
    }
    // Threads of one core hinder each other.
    let apart = found.iter().find(|(placement, _)| *placement != Placement::Smt);
    if let Some((_, found)) = apart.or(found.first()) {
        let single = |measured: Option<f64>, figure: &mut f64| {
            if let Some(ns) = measured {
                *figure = ns;
            }
        };
        single(found.piece, &mut costs.piece);
        single(found.kernel_piece, &mut costs.kernel_piece);
        single(found.wake, &mut costs.wake);
        single(found.switch, &mut costs.switch);
        single(found.lookup, &mut costs.lookup);
        costs.vectors = found.vectors.is_some_and(|vectors| vectors > 0.0);
        whole(&PROMOTED, &found.promote, &mut costs.promote);
        let [pin, unpin, attach] = &found.pins;
        for (found, curve) in [(pin, &mut costs.pin), (unpin, &mut costs.unpin), (attach, &mut costs.attach)] {
            whole(&PINNED, found, curve);
        }
    }
    let signs = found.iter().fold(Signs::default(), |signs, (_, found)| signs.worst(found.signs));
    Calibration { costs, signs, gaps }
}

/// Takes over a curve of which every point was found.
fn whole(sizes: &[usize], found: &[Option<f64>], curve: &mut Curve) {
    let points: Option<Vec<_>> = sizes.iter().zip(found).map(|(size, ns)| Some((*size as u64, (*ns)?))).collect();
    if let Some(Ok(measured)) = points.map(Curve::new) {
        *curve = measured;
    }
}

/// The costs between two cores that were measured, with `default` where nothing was found.
fn pace(found: &Found, default: &Pace, mut gaps: Option<&mut Vec<String>>) -> Pace {
    let mut pace = default.clone();
    if let Some(packet) = found.packet {
        pace.packet = packet + HANDLING;
    }
    for (number, mover) in MOVERS.into_iter().enumerate() {
        // What is measured ends with the sender's word that it has done, which counts as a packet.
        let word = match mover {
            Mover::CmaPush | Mover::CmaBoth | Mover::MappedPush | Mover::MappedBoth => found.packet.unwrap_or(0.0),
            _ => 0.0,
        };
        for warmth in Warmth::ALL {
            let points: Vec<(u64, f64)> = SIZES
                .iter()
                .zip(found.moves[number][warmth as usize])
                .filter_map(|(size, ns)| Some((*size as u64, (ns? - word).max(1.0))))
                .collect();
            let curve = match points.len() {
                // Without the kernel module nothing is missing.
                0 if mover == Mover::Module => continue,
                0 | 1 => Err("was not measured".to_owned()),
                _ => Curve::new(points),
            };
            match (curve, &mut gaps) {
                (Ok(curve), _) => pace.movers[mover as usize][warmth as usize] = curve,
                (Err(why), Some(gaps)) => {
                    gaps.push(format!("{} {}: {why}", mover.name(), warmth.name()));
                }
                (Err(_), None) => {}
            }
        }
    }
    pace.movers[Mover::Eager as usize] = pace.movers[Mover::Pipe as usize].clone();
    pace
}

#[cfg(test)]
mod tests;
