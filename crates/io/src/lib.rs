//! What MPI files (MPI 5.0, chapter 14) need below the API and without communication.
//!
//! - [`File`]: an open file; its size, its space, its bytes at an offset
//! - [`View`]: which bytes of the file a process sees, and in which order: its *stream*
//! - [`Representation`]: what basic types look like in the file
//! - [`read`] and [`write`]: between a part of the stream and a layout in memory
//! - [`plan`]: the pure part of collective buffering: who does what
//!
//! Units: a *position* is a number of bytes in the stream of a view, in file representation (an MPI
//! offset is a position divided by [`View::etype_size`]); an *offset* is a byte of the file.
//!
//! Nothing here has heard of a communicator or a handle, and nothing communicates but by byte-range
//! locks of the file.

mod access;
mod error;
mod file;
mod lock;
pub mod plan;
mod representation;
mod view;

pub use access::{Choice, Hints, Memory, Window, read, read_window, write, write_window};
pub use error::{Class, Error};
pub use file::{File, Mode};
pub use lock::{Guard, Sharing};
pub use representation::{Conversion, Representation};
pub use view::{Segments, View};
