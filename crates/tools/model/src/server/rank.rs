//! A process of the run, as its server knows it.

use super::Name;
use std::collections::HashMap;
use tern_atomics::wire::{Act, Range};

/// What it does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum State {
    /// It has not come yet.
    #[default]
    Away,
    /// It has asked at that time.
    Asks(f64),
    /// It goes on at that time.
    Resumes(f64),
    /// It waits for a line.
    Waits,
    /// It waits at a mark.
    Marks,
    /// It has come to its end.
    Ends,
}

impl State {
    /// When it goes on.
    pub fn time(self) -> Option<f64> {
        match self {
            State::Asks(time) | State::Resumes(time) => Some(time),
            State::Away | State::Waits | State::Marks | State::Ends => None,
        }
    }
}

/// A process.
#[derive(Debug)]
pub struct Rank {
    pub core: usize,
    /// Its number in the kernel.
    pub process: u64,
    pub state: State,
    pub clock: f64,
    pub act: Act,
    pub source: Range,
    pub target: Range,
    /// Counts what others have done to the lines that it held.
    pub stale: u64,
    /// Counts its waits.
    pub waits: u64,
    /// Lines that it has asked for early, and when they are there.
    pub comes: HashMap<Name, f64>,
}

impl Default for Rank {
    fn default() -> Rank {
        Rank {
            core: 0,
            process: 0,
            state: State::Away,
            clock: 0.0,
            act: Act::Begin,
            source: Range::default(),
            target: Range::default(),
            stale: 0,
            waits: 0,
            comes: HashMap::new(),
        }
    }
}
