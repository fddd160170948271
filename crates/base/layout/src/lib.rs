//! Datatype layouts: constructors, segment walk, pack and unpack.
//!
//! A [`Type`] is an immutable MPI datatype (MPI 5.0, chapter 5). Each one carries
//! - its bounds and sizes, and the constructor call that made it (for the envelope);
//! - a *program*: where the bytes of one element lie, in the order of the type map, in the
//!   simplest form that was found when the type was built;
//! - a *signature*: the sequence of basic types, for element counts, external32 and checks.
//!
//! Program and signature are bounded by the arguments of the constructors, never by the
//! amount of data. Data moves through one engine, the [`Cursor`], which walks a number of
//! elements in the order of the type map and can start at any byte of the packed stream.
//!
//! Units: all sizes, extents, strides and offsets are bytes unless a name says elements.

#![warn(missing_docs)]

mod array;
mod basic;
mod blocks;
mod bounds;
mod construct;
mod cursor;
mod distribution;
mod error;
mod external;
mod kernel;
mod leaf;
mod matching;
mod program;
mod quad;
mod signature;
mod spread;
mod transfer;
mod types;

pub use basic::{Basic, Class};
pub use blocks::{Blocks, copy_blocks};
pub use cursor::{Cursor, Segments};
pub use distribution::{DistArg, Distribution, Order};
pub use error::{Argument, Error};
pub use signature::SignatureRuns;
pub use spread::Spread;
pub use types::{Constructor, Type};

/// Counts, extents and displacements: as wide as MPI_Count and MPI_Aint.
pub type Count = i64;
