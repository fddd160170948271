//! Costs of the ways to move bytes between two processes of a node: measured, stored, and explained to the user.
//!
//! What costs are, and what is chosen by them, is in the crate `tern-policy` ([`tern_policy::costs`], [`tern_policy::transfer`]). This crate
//! [measures](calibrate()) them between two processes that it forks, [stores](store) them as [text], and finds out what else a choice
//! depends on: [where two processes are](Places), and [what their caches hold](OwnCacheRoom).

mod cache;
mod calibrate;
mod chooser;
mod compare;
mod explain;
mod machine;
mod place;
pub mod store;
pub mod text;

pub use cache::{OwnCacheRoom, shared_cache};
pub use calibrate::{Calibration, Disturbance, Signs, calibrate};
pub use chooser::{chooser, single_copy};
pub use compare::compare;
pub use explain::{Between, explain};
pub use machine::Machine;
pub use place::{Places, placements};
pub use store::load;
