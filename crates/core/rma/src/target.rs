//! The far side of an access.

use std::rc::Rc;
use tern_layout::Type;

/// Where an access goes: `count` elements of `ty` in the window of `rank`.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Rank in the window's group.
    pub rank: u32,
    /// From the beginning of that rank's window, in its displacement units; in a dynamic window
    /// the absolute address in the target process.
    pub displacement: i64,
    pub ty: &'a Rc<Type>,
    pub count: i64,
}

/// What became of an access at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It is complete at the origin, and, after the next flush, at the target.
    Done,
    /// It is under way: see [`crate::Window::is_done`].
    Pending(Ticket),
}

/// An access that is under way. It need not be given back. The number of a message, or of an access by the card to the memory
/// of that rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(pub(crate) u64, pub(crate) Option<u32>);
