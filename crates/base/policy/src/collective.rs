//! What a collective does: one pure function, [`collective`], of what all members know.
//!
//! Members choose each for themselves. So everything that a choice looks at must be the same at all of them: the [`Members`] of the
//! communicator, the [`Shape`] of the call, what the user asks for ([`Selection`]), and what all have learned in the same calls ([`InPlace`]).
//!
//! The answer is data, a [`CollPlan`]: the way that is taken, with a reason. Some ways may be refused by the memory of one member. Then a
//! plan has a second way, which is always possible, and all members go on with that. Whether a member tells of its memory it decides alone, by
//! [`Offer`] and [`tells_of_private`].
//!
//! | way | what the members do |
//! |---|---|
//! | [`CollWay::Lines`] | each publishes what it gives in shared memory, at once or in parts, and reads the others' |
//! | [`CollWay::InPlace`] | they read each other's memory where it lies |
//! | [`CollWay::Region`] | the root declares its memory, and the others copy from it, or to it |
//! | [`CollWay::Shares`] | each combines its share of all vectors |
//! | [`CollWay::Tree`] | members of a large node publish and read along a tree of caches, NUMA nodes and packages ([`Tree`]) |
//! | [`CollWay::Levels`] | lines inside each node, messages between the nodes' leaders |
//! | [`CollWay::Schedule`] | they send messages, by an algorithm |
//!
//! TERN_COLL forces each of them by its name ([`Forced`]).

mod algorithm;
mod choice;
mod explain;
mod limits;
mod names;
mod offer;
mod plan;
mod read_in_place;
mod selection;
mod shape;
mod structure;
mod tree;

pub use algorithm::{Messages, choose, fits};
pub use choice::{Short, algorithm, collective, may_read_in_place};
pub use explain::explain;
pub use limits::{CHAIN_SEGMENT, agreement_width, chunk, has_shares, longest_part};
pub use names::{Algorithm, Collective};
pub use offer::{NoRegion, Offer, tells_of_private};
pub use plan::{CollPlan, CollReason, CollStep, CollWay};
pub use read_in_place::{InPlace, Measured, ReadInPlace};
pub use selection::{Forced, Selection, SelectionError, able};
pub use shape::{Beside, Members, Operands, Shape, Without};
pub use structure::{has_levels, has_tree, may_grow};
pub use tree::{ANYWHERE, Edges, Parts, TREE_FROM, Top, Tree, TreeForm, grows};

#[cfg(test)]
mod tests;
