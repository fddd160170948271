//! What a program promises of its contexts (MPI 5.0 section 7.4.4). docs/parts/communicators.md#assertions tells what each promise buys.

use crate::{ANY_SOURCE, ANY_TAG, Pattern};
use std::collections::BTreeMap;

/// What this process promises of one context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assertions {
    /// No receive names [`ANY_SOURCE`].
    pub no_any_source: bool,
    /// No receive names [`ANY_TAG`].
    pub no_any_tag: bool,
    /// Each message that this process receives is as long as its receive.
    pub exact_length: bool,
    /// Neither its messages nor its receives need be matched in the order of their calls.
    pub allow_overtaking: bool,
}

impl Assertions {
    /// Whether receives with wildcards of each kind may be open, in the order of the patterns with wildcards that match a tuple: of the
    /// source, of the tag, of both.
    pub fn wildcards(&self) -> [bool; 3] {
        let (source, tag) = (!self.no_any_source, !self.no_any_tag);
        [source, tag, source && tag]
    }
}

/// The promises of all contexts; those that promise nothing are left out.
#[derive(Clone, Debug, Default)]
pub struct Asserted(BTreeMap<u32, Assertions>);

impl Asserted {
    /// From now on this holds of `context`.
    pub fn set(&mut self, context: u32, assertions: Assertions) {
        if assertions == Assertions::default() {
            self.0.remove(&context);
        } else {
            self.0.insert(context, assertions);
        }
    }

    /// What holds of `context`.
    pub fn of(&self, context: u32) -> Assertions {
        self.0.get(&context).copied().unwrap_or_default()
    }

    /// A receive of `pattern` is posted, which has wildcards. A promise that it breaks is not believed any more: its message would not be
    /// found for it.
    pub fn note_wild(&mut self, pattern: &Pattern) {
        if let Some(assertions) = self.0.get_mut(&pattern.context) {
            assertions.no_any_source &= pattern.source != ANY_SOURCE;
            assertions.no_any_tag &= pattern.tag != ANY_TAG;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_holds_for_its_context_until_it_is_taken_back_or_broken() {
        let mut asserted = Asserted::default();
        let both = Assertions { no_any_source: true, no_any_tag: true, ..Assertions::default() };
        asserted.set(4, both);
        assert_eq!((asserted.of(4), asserted.of(6)), (both, Assertions::default()));
        assert_eq!(asserted.of(6).wildcards(), [true; 3]);
        assert_eq!(asserted.of(4).wildcards(), [false; 3]);
        asserted.note_wild(&Pattern { context: 6, source: ANY_SOURCE, tag: ANY_TAG });
        assert_eq!(asserted.of(4), both, "another context's wildcards say nothing of this one");
        asserted.note_wild(&Pattern { context: 4, source: ANY_SOURCE, tag: 1 });
        assert_eq!(asserted.of(4).wildcards(), [true, false, false]);
        asserted.note_wild(&Pattern { context: 4, source: 0, tag: ANY_TAG });
        assert_eq!(asserted.of(4).wildcards(), [true; 3]);
        asserted.set(4, Assertions::default());
        assert!(asserted.0.is_empty());
    }
}
