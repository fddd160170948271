//! Writes the functions and constants of a face, for its build script.

pub mod entries;
pub mod facts;
mod rules;
pub mod stub;

pub use entries::entries;
pub use facts::{AbiFacts, values};
