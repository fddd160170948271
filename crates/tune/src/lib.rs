//! Costs of the ways to move bytes between two processes of a node, and the choice between them.
//!
//! [`Costs`] is plain data: nanoseconds by size for every mechanism, placement and state of the
//! caches. [`choose`] is a pure function of costs and a [`Situation`]; [`Chooser`] remembers its
//! answers in a table, so that the path of a message pays one load.

mod choose;
mod costs;
mod curve;
mod defaults;
mod table;

pub use choose::{By, Choice, Situation, Stage, Transfer, choose};
pub use costs::{Costs, Mover, Pace, Placement, Warmth};
pub use curve::Curve;
pub use table::Chooser;
pub use tern_settings::Mechanism;
