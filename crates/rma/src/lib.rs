//! One-sided communication (MPI 5.0, chapter 12) below the API.
//!
//! A [`Window`] is memory that the members of a group expose to each other. It knows processes,
//! [`Peers`](tern_coll::Peers) and layouts, and nothing of handles, epochs' rules or error handlers:
//! whoever calls has checked the arguments, but for the range of an access, which is checked here.
//!
//! All calls are made with the library's lock held. Those that wait make progress meanwhile.

mod error;
mod target;
mod window;

pub use error::{Class, Error};
pub use target::{Started, Target, Ticket};
pub use window::{Exposure, Window};
