//! What is measured: inside a node, over the model of a card's link, and whole programs.

pub mod card;
pub mod node;
pub mod programs;

use super::registry::Experiment;

/// All experiments, in the order in which they are measured.
pub const EXPERIMENTS: &[&Experiment] = &[
    &node::COSTS,
    &node::PING_PONG,
    &node::PING_PING,
    &node::STRATEGIES,
    &node::PATTERNS,
    &node::ALL_TO_ALL,
    &node::REGIONS,
    &node::BROADCAST,
    &programs::PATHS,
    &programs::SORT_AND_TRANSFORM,
    &card::HEADERS,
    &card::FLIGHT,
    &card::INTRA,
    &card::COLUMNS,
    &card::PACKETS,
    &programs::LAYERS,
    &card::EXPLAINED,
    &card::SEARCH,
    &card::FREQUENT,
    &card::SPECTRUM,
    &card::COLLECTIVES,
    &card::REUSE,
    &programs::FREQUENT,
    &programs::COUNTED,
    &card::OVERLAP,
    &card::SOLVER,
    &programs::PENTADIAGONAL,
];
