//! What MPI files (MPI 5.0, chapter 14) need below the API and without communication.
//!
//! - [`File`]: an open file; its size, its space, its bytes at an offset
//! - [`View`]: which bytes of the file a process sees, and in which order: its *stream*
//! - [`Representation`]: what basic types look like in the file
//! - [`read`] and [`write()`]: between a part of the stream and a layout in memory
//! - [`plan`]: the pure part of collective buffering: who does what; a [`Window`] of it is accessed by
//!   [`read_window`] and [`write_window`]
//!
//! Units: a *position* is a number of bytes in the stream of a view, in file representation (an MPI
//! offset is a position divided by [`View::etype_size`]); an *offset* is a byte of the file.
//!
//! A module names modules below it only: accesses, plans and windows stand above [`File`] and [`View`], and these above what an access
//! wishes ([`Hints`]), costs, and a [`Grid`] of runs.
//!
//! Nothing here has heard of a communicator or a handle, and nothing communicates but by byte-range
//! locks of the file.

mod access;
mod cost;
mod error;
mod file;
mod grid;
mod habit;
mod hints;
mod lock;
mod memory;
pub mod plan;
mod representation;
mod view;
mod window;

pub use access::{read, write};
pub use error::{Class, Error};
pub use file::{Buffer, File, Mode};
pub use grid::Grid;
pub use hints::{AccessKind, Choice, Hints};
pub use lock::{Guard, Sharing};
pub use memory::Memory;
pub use representation::{Conversion, Representation};
pub use view::{Segments, View};
pub use window::{Window, read_window, write_window};
