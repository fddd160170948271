//! Who has made a choice, for the user: TERN_EXPLAIN=used.

use crate::rules::Rule;
use core::fmt;

/// Who has made a choice.
#[derive(Clone, Copy)]
pub enum Maker {
    /// A rule.
    Rule(&'static Rule),
    /// The costs of the machine, by which that mechanism was chosen.
    Costs(&'static str),
    /// Neither: so it is by default.
    Default,
    /// Neither: that mechanism is the nearest one that reaches the memory.
    Nearest(&'static str),
    /// A setting of the user's.
    Setting(&'static str),
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Maker::Rule(rule) => write!(f, "rule {}", rule.name),
            Maker::Costs(mechanism) => write!(f, "by costs: {mechanism}"),
            Maker::Default => f.write_str("by default"),
            Maker::Nearest(mechanism) => write!(f, "nearest way: {mechanism}"),
            Maker::Setting(name) => write!(f, "{name}"),
        }
    }
}

/// Why a choice was made, and who has made it.
#[derive(Clone, Copy)]
pub struct Why {
    /// The words behind "since".
    pub reason: &'static str,
    /// Who has made it.
    pub maker: Maker,
}

impl Why {
    /// For that reason, by that one.
    pub fn new(reason: &'static str, maker: Maker) -> Why {
        Why { reason, maker }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason, self.maker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    #[test]
    fn the_user_is_told_who_has_chosen() {
        let told = |maker| Why::new("it is so", maker).to_string();
        assert_eq!(told(Maker::Rule(&rules::COPIES)), "it is so (rule copies)");
        assert_eq!(told(Maker::Costs("cma")), "it is so (by costs: cma)");
        assert_eq!(told(Maker::Default), "it is so (by default)");
        assert_eq!(told(Maker::Nearest("mapped")), "it is so (nearest way: mapped)");
        assert_eq!(told(Maker::Setting("TERN_EAGER_LIMIT")), "it is so (TERN_EAGER_LIMIT)");
    }
}
