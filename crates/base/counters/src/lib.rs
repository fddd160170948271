//! What Tern counts, declared once in [`table`], and the events that it tells tools of ([`events`]).
//!
//! A counter is a word of the process. The library's lock lets one thread write at a time, so adding is
//! a plain load, addition and store; any thread may read at any time, and sees a value that was right
//! a moment ago. Counters begin at 0 when the process does, whatever becomes of MPI.
//!
//! A counter with a category is shown everywhere by its line in the table: as a performance variable of
//! the tool interface (MPI 5.0 section 15.3), in the table of TERN_STATS, by `tern-info counters` and in
//! `docs/counters.md`.

mod counter;
pub mod events;
mod render;
mod table;

pub use counter::{Counter, Lengths, Level};
pub use render::markdown;
pub use table::*;

/// What a counter's value means (the classes of MPI 5.0 section 15.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// How often something has happened.
    Counter,
    /// The sum of an amount, such as bytes.
    Aggregate,
    /// How much of something there is now.
    Level,
    /// The most of something that there ever was.
    Peak,
}

impl Class {
    /// True when the value only grows with what happens, so that a difference of two readings says what
    /// has happened between them.
    pub fn is_sum(self) -> bool {
        matches!(self, Class::Counter | Class::Aggregate)
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Class::Counter => "counter",
            Class::Aggregate => "aggregate",
            Class::Level => "level",
            Class::Peak => "high watermark",
        }
    }
}

/// For whom a counter is (the verbosity levels of MPI 5.0 section 15.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Everybody who runs a program.
    User,
    /// Who makes it faster.
    Tuner,
    /// Who works on Tern.
    Developer,
}

/// A part of Tern, which the counters and settings are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Category {
    pub name: &'static str,
    pub meaning: &'static str,
}

/// One line of the table.
pub struct Entry {
    pub name: &'static str,
    /// Name of its category.
    pub category: &'static str,
    pub class: Class,
    /// What one of it is: messages, bytes, …
    pub unit: &'static str,
    pub audience: Audience,
    meaning: &'static [&'static str],
    read: fn() -> u64,
}

impl Entry {
    /// The value now.
    pub fn value(&self) -> u64 {
        (self.read)()
    }

    /// What is counted.
    pub fn meaning(&self) -> String {
        self.meaning.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
    }
}
