//! Why something could not be done.

use std::fmt;

/// What most functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// Each text says what failed, with which values, and what to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// There is no such HCA, or its library is missing.
    NoHca(String),
    /// The HCA, or this maker, does not have it.
    Unsupported(String),
    /// An argument that no HCA would take.
    Invalid(String),
    /// The queue has no free slot: poll completions first.
    QueueFull,
    /// Memory was not registered: what lies there does not allow it.
    Registration(String),
    /// Limits of objects, memory that may be registered, or descriptors.
    Resources(String),
    /// The queue pair is in a state in which this cannot be done.
    State(String),
    /// The completion queue overflowed: completions are lost, and its queue pairs are in error.
    Overrun,
    /// The object was made before a fork, and this is the child.
    Forked,
    /// The operating system or the driver refused.
    System(String),
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoHca(why) => write!(out, "no HCA: {why}"),
            Error::Unsupported(what) => write!(out, "not supported: {what}"),
            Error::Invalid(what) => write!(out, "invalid: {what}"),
            Error::QueueFull => out.write_str("the queue is full: poll completions first"),
            Error::Registration(why) => write!(out, "memory was not registered: {why}"),
            Error::Resources(what) => write!(out, "out of resources: {what}"),
            Error::State(what) => write!(out, "wrong state: {what}"),
            Error::Overrun => out.write_str("the completion queue overflowed"),
            Error::Forked => out.write_str("made before a fork, used in the child"),
            Error::System(what) => out.write_str(what),
        }
    }
}

impl std::error::Error for Error {}
