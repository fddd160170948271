//! The machines: their costs, and what follows from these for a pair of processes.

use tern_policy::costs::{Costs, Placement};
use tern_policy::pair::{Pair, ahead};
use tern_policy::transfer::Thresholds;
use tern_settings::Mechanism;

/// Longest message that goes without asking inside a node, in bytes.
pub const EAGER: usize = 64 << 10;
/// Bytes that may be on their way to one receiver.
const WINDOW: usize = 256 << 10;

/// The machines, by name. The first two were measured: an AMD EPYC (Zen 4) and an Intel Xeon (Cascade Lake). The others are made up: one whose
/// kernel copies slowly, one whose kernel copies quickly, and one whose packets cost next to nothing.
pub fn all() -> [(&'static str, Costs); 5] {
    [
        ("zen4", include_str!("machines/zen4.costs")),
        ("cascade-lake", include_str!("machines/cascade-lake.costs")),
        ("slow-kernel", include_str!("machines/slow-kernel.costs")),
        ("quick-kernel", include_str!("machines/quick-kernel.costs")),
        ("quick-packets", include_str!("machines/quick-packets.costs")),
    ]
    .map(|(name, text)| (name, tern_tune::text::decode(text).unwrap_or_else(|why| panic!("{name}: {why}"))))
}

/// Longest message that goes without asking to a receiver that waits, in bytes.
pub fn waiting_limit() -> usize {
    EAGER.max(ahead(WINDOW))
}

/// Two processes of a node.
pub fn near(costs: &Costs, placement: Placement, crowded: bool) -> Pair {
    let thresholds = Thresholds { costs, asked: Mechanism::Auto, placement };
    let length = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let published_from =
        [false, true].map(|shared| length(thresholds.packets_below(shared, !shared, waiting_limit() as u64)));
    let kernel_from = length(thresholds.kernel_fetches_from());
    Pair { near: true, crowded, published_from, kernel_from, ..Pair::default() }
}
