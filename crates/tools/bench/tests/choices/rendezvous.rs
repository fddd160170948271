//! Who moves the bytes of a message that waits at its sender.

use std::fmt::Write;
use tern_policy::{RndvFacts, Source, rendezvous};

pub const SOURCES: [(&str, Source); 8] = [
    ("opaque", Source::Opaque),
    ("private", Source::Private { dense: true }),
    ("private blocks", Source::Private { dense: false }),
    ("shared", Source::Shared { dense: true, sure: true }),
    ("shared blocks", Source::Shared { dense: false, sure: true }),
    ("speculative", Source::Shared { dense: true, sure: false }),
    ("registered", Source::Registered),
    ("segments", Source::Segments),
];

pub fn text() -> String {
    let mut text = String::from("# Source, target, what holds => the plans in their order.\n");
    for (source_name, source) in SOURCES {
        for (target_name, target) in SOURCES {
            for flags in 0..32 {
                let [coarse, kernel, network_gets, network_puts, single_copy] =
                    std::array::from_fn(|bit| flags >> bit & 1 == 1);
                let facts = RndvFacts {
                    bytes: 100_000,
                    source,
                    target,
                    coarse,
                    kernel,
                    network_gets,
                    network_puts,
                    single_copy,
                };
                let plans: Vec<String> = rendezvous(facts).map(|plan| format!("{plan:?}")).collect();
                if plans.len() == 1 {
                    // Packets alone: the default.
                    continue;
                }
                let named = [
                    (coarse, "coarse"),
                    (kernel, "kernel"),
                    (network_gets, "gets"),
                    (network_puts, "puts"),
                    (single_copy, "single copy"),
                ];
                let named: Vec<&str> = named.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name).collect();
                _ = writeln!(text, "{source_name} to {target_name}, {} => {}", named.join(", "), plans.join(", "));
            }
        }
    }
    text
}
