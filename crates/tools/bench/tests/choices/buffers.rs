//! Which buffers are made shared memory, declared to the kernel module or registered with a network card, and which senders are offered a ring.

use super::machines;
use super::tree::row;
use std::fmt::Write;
use std::rc::Rc;
use tern_policy::costs::{Costs, Placement, Warmth};
use tern_policy::declaration::{self, Declaration};
use tern_policy::frequent;
use tern_policy::promote::{self, BufferUses};
use tern_policy::transfer::promotions;
use tern_policy::{Purpose, Ring, RingDemand};
use tern_settings::Mechanism;

const PURPOSES: [Purpose; 4] = [Purpose::Message, Purpose::Awaited, Purpose::Exchange, Purpose::Collective];
/// Uses of a sequence.
const USES: usize = 1000;

fn uses(count: Option<u32>) -> String {
    count.map_or("never".into(), |count| match count.checked_next_power_of_two() {
        // Counts that differ by a rounding of the figures are no other choice.
        Some(power) => format!("at most {power} uses"),
        None => "more uses than are counted".into(),
    })
}

/// From how many uses on it pays to promote a buffer, by its length.
fn pays(text: &mut String, costs: &Rc<Costs>) {
    for placement in [Placement::L3, Placement::Machine] {
        for (purpose, promotion) in PURPOSES.into_iter().zip(promotions(costs, Mechanism::Auto, placement, false)) {
            for warmth in Warmth::ALL {
                let of = |len: usize| if len == 0 { uses(None) } else { uses(promotion.break_even(len, warmth)) };
                _ = writeln!(text, "  promoted, {purpose:?}, {}, {}: {}", placement.name(), warmth.name(), row(of));
            }
        }
    }
    for (numbered, by_number) in [("CMA copies too", true), ("the module alone copies", false)] {
        let declaration = Declaration::new(Mechanism::Auto, costs.clone());
        let purpose = declaration::DeclaredFor::Transfer;
        let of = |len| declaration::Use { start: 1 << 20, len, placement: Placement::L3, by_number, purpose };
        _ = writeln!(text, "  declared, {numbered}: {}", row(|len| uses(declaration.break_even(&of(len)))));
        let takes = |len| if declaration.takes(len, by_number) { "by the module" } else { "by CMA" };
        _ = writeln!(text, "  a declared buffer, {numbered}: {}", row(takes));
    }
}

/// A program that uses its buffers in turn.
fn program(buffers: usize, apart: usize) -> impl Iterator<Item = usize> {
    (0..USES).map(move |use_of| (1 << 20) + use_of % buffers * apart)
}

/// What is promoted of a program's buffers of 48,000 bytes, of which each pays after so many uses: at which use, and what.
fn promoted(needed: u32, buffers: usize, apart: usize) -> String {
    let once = f64::from(needed) - 1.0;
    let costs = promote::Costs { promote: Box::new(move |_| once), saved: Box::new(|_, _| 2.0), look_up: 1.0 };
    let mut counted = BufferUses::new(false, 4096, costs);
    let mut due = Vec::new();
    for (number, start) in program(buffers, apart).enumerate() {
        let of = promote::Use { start, len: 48_000, moved: 48_000, way: 0 };
        if let Some(found) = counted.used(&of, |_| false, |_, _| true) {
            due.push(format!("{number}: {}", if found.is_row() { "a row" } else { "one" }));
            counted.promoted(&found);
        }
    }
    format!("{} times, {}", due.len(), due.iter().take(6).cloned().collect::<Vec<_>>().join(", "))
}

/// Which uses of a program's buffers go from where they lie, once each is registered at its tenth use.
fn registered(buffers: usize) -> String {
    let mut counted = frequent::Uses::new();
    let hits: Vec<usize> = (program(buffers, 1 << 16).enumerate())
        .filter_map(|(number, start)| counted.used(start as u64, 4096, 10).then_some(number))
        .collect();
    format!("{} of {USES} uses, the first {:?}; counted {:?}", hits.len(), hits.first(), counted.len())
}

/// From which use on a buffer is registered, by its length, where registering takes so long and copying so long for a byte.
fn counts(register: f64, byte: f64, share: u32) -> String {
    let costs = |size: usize| frequent::Costs { register, copy: byte * size as f64, look_up: 20.0 };
    let counts = frequent::Counts::new(costs, share);
    row(|len| counts.needed(len).map_or("never".to_owned(), |needed| format!("at use {needed}")))
}

/// When something is said of a ring in a thousand packets past it, of a peer that is asked to pause after each.
fn rings(ring: Ring) -> String {
    let demand = RingDemand::new(64);
    let mut said = Vec::new();
    for packet in 0..USES {
        if let Some(step) = demand.pass(|| ring) {
            said.push(format!("{packet} {step:?}"));
            demand.pause();
        }
    }
    said.join(", ")
}

pub fn text() -> String {
    let mut text =
        String::from("# Buffers: from which use on it pays to make their memory known, and what programs come to.\n");
    for (name, costs) in machines::all() {
        _ = writeln!(text, "\n{name}");
        pays(&mut text, &Rc::new(Costs { module: true, ..costs }));
    }
    text += "\na thousand uses\n";
    for (name, buffers, apart) in [
        ("one buffer", 1, 0),
        ("four, side by side", 4, 49_152),
        ("four, apart", 4, 1 << 20),
        ("a thousand", USES, 1 << 20),
    ] {
        for needed in [1, 20, 200] {
            _ = writeln!(text, "  {name}, each pays after {needed}: promoted {}", promoted(needed, buffers, apart));
        }
        _ = writeln!(text, "  {name}: from registered memory {}", registered(buffers));
    }
    text += "\na network card, from which use on a buffer is registered\n";
    for (name, register, byte) in
        [("cheap", 2_000.0, 0.1), ("dear", 50_000.0, 0.1), ("dear, slow copies", 50_000.0, 1.0)]
    {
        for share in [0, 25, 100] {
            _ = writeln!(text, "  registering is {name}, {share} percent: {}", counts(register, byte, share));
        }
    }
    text += "\nrings, a thousand short packets past them\n";
    for (name, ring) in [
        ("none, with room", Ring::None { room: true }),
        ("none, without room", Ring::None { room: false }),
        ("in use", Ring::InUse),
        ("paused", Ring::Paused),
    ] {
        _ = writeln!(text, "  {name}: {}", rings(ring));
    }
    text
}
