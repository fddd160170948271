//! Part of the engine: what the caller has said of the call under way, and of its sends.

use tern_mcm::Memory;
use tern_policy::Caller;

/// What the call that is under way exchanges with processes of this node: messages to which most likely both sides come at the same time,
/// so that each had better copy its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchanges {
    /// Nothing, as far as is known.
    Nothing,
    /// What may go without asking.
    Short,
    /// Everything: it sends as well as it receives.
    All,
}

/// The call that is under way.
#[derive(Debug)]
pub struct Call {
    /// The caller waits for what it starts, before the program goes on.
    pub waits: bool,
    /// What the caller exchanges.
    pub exchanges: Exchanges,
    /// Whether the call lends what it sends, once that is chosen.
    pub lends: Option<bool>,
    /// Where the memory of the receive lies that the call is about to publish, if that was found out just now.
    pub located: Option<Memory>,
    /// What synchronous sends are marked with.
    pub mark: u32,
}

impl Call {
    pub fn new() -> Call {
        Call { waits: false, exchanges: Exchanges::Nothing, lends: None, located: None, mark: 0 }
    }

    /// A call begins that waits for what it starts.
    #[inline]
    pub fn begin(&mut self) {
        (self.waits, self.lends) = (true, None);
    }

    /// It has waited for that.
    #[inline]
    pub fn end(&mut self) {
        (self.waits, self.exchanges) = (false, Exchanges::Nothing);
    }

    /// The caller of a send, by whether that send is waited for.
    #[inline]
    pub fn caller(&self, waits: bool) -> Caller {
        match waits {
            true if self.waits => Caller::Call,
            true => Caller::Blocking,
            false => Caller::Nonblocking,
        }
    }

    /// Whether the call exchanges messages of `len` bytes with a peer to which so long ones go without asking.
    #[inline]
    pub fn exchanges(&self, len: usize, eager_limit: impl FnOnce() -> usize) -> bool {
        match self.exchanges {
            Exchanges::Nothing => false,
            Exchanges::Short => len <= eager_limit(),
            Exchanges::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_what_it_does_until_it_is_over() {
        let mut call = Call::new();
        assert_eq!([true, false].map(|waits| call.caller(waits)), [Caller::Blocking, Caller::Nonblocking]);
        call.lends = Some(true);
        call.begin();
        assert_eq!((call.caller(true), call.lends), (Caller::Call, None));
        assert!(!call.exchanges(1, || 100));
        call.exchanges = Exchanges::Short;
        assert!(call.exchanges(100, || 100) && !call.exchanges(101, || 100));
        call.exchanges = Exchanges::All;
        assert!(call.exchanges(101, || unreachable!("all are exchanged")));
        call.end();
        assert!(!call.exchanges(1, || 100) && call.caller(true) == Caller::Blocking);
    }
}
