//! Costs of the ways to move bytes between two processes of a node, and the choice between them.
//!
//! [`Costs`] is plain data: nanoseconds by size for every mechanism, placement and state of the
//! caches. [`choose()`] is a pure function of costs and a [`Situation`]; [`Chooser`] remembers its
//! answers in a table, so that the path of a message pays one load.

mod calibrate;
mod choose;
pub mod collective;
mod compare;
mod costs;
mod curve;
mod defaults;
mod explain;
mod machine;
mod place;
pub mod single_copy;
mod sizes;
pub mod store;
mod table;
mod text;
mod thresholds;
mod warmth;

pub use calibrate::{Calibration, Disturbance, Signs, calibrate};
pub use choose::{By, CMA_BOTH_FROM, Choice, Situation, Stage, Transfer, choose, cma_chunk};
pub use compare::compare;
pub use costs::{ByPlacement, Costs, Mover, Pace, Placement, Warmth};
pub use curve::Curve;
pub use explain::{Facts, explain};
pub use machine::Machine;
pub use place::{Places, placements};
pub use store::load;
pub use table::Chooser;
pub use tern_settings::Mechanism;
pub use thresholds::Thresholds;
pub use warmth::{CacheRoom, Recency};
