//! Memory that may be short: allocations that can be refused, and the last words of a process that can have no more.
//!
//! Where the program decides how long something is (data, counts, blocks of a datatype), the library asks with the functions of
//! [`mod@room`]. They give a [`Lack`] in place of the memory, which the caller makes an error of its call. What the library needs
//! for its own books is allocated as usual in Rust. Each library of Tern has [`Checked`] as its global allocator: where the system
//! has nothing, the process ends with a line that tells the call, the size, the limits, and what to try.

mod checked;
mod room;
mod words;

pub use checked::Checked;
pub use room::{Lack, collect, copy, probe, push, raw, reserve, resize, room, zeroed};
pub use words::{Names, end, write};
