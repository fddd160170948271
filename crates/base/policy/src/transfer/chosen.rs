//! A way that was chosen for a message whose receive is known, and by whom.

/// A way that was chosen for a message whose receive is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen<W> {
    /// The way.
    pub way: W,
    /// Who has chosen it.
    pub by: ChosenBy,
}

/// Who has chosen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The costs of the machine.
    Costs,
    /// A trial of the two ways that the costs leave open: the rule `copies`.
    Trial,
    /// What the plan has told of the copy ([`CopyMode`](super::CopyMode)): a trial of the sender's, or that its program computes.
    Plan,
    /// That a copy beside the program costs the program nothing.
    Offload,
    /// The user, by TERN_MECHANISM.
    Mechanism,
    /// The user, by TERN_SINGLE_COPY_FROM.
    Length,
    /// There was no other way.
    Only,
}
