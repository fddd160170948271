//! Registrations of memory with a network card: kept after their transfer, because registering is
//! slow, and never used for memory that has been unmapped since.
//!
//! - [`cache`] is which registrations there are: a data structure that knows neither cards nor the
//!   kernel. A registration in use stays; of the others the least recently used goes first.
//! - [`Registrations`] joins the two with whatever registers memory, and with the kernel's word of what this process unmaps
//!   ([`tern_node::maps::watch`]). Memory whose unmapping the kernel does not tell of is registered for one transfer only.
//!
//! It knows nothing of MPI. One thread at a time uses it; others may unmap what they like.

pub mod cache;
mod keep;

pub use cache::{Limits, Use};
pub use keep::{Registrations, Totals};
