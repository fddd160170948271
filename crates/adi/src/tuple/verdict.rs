//! What MPI asks of messages and receives (MPI 5.0 section 3.5), for worlds in which nothing is left to do.

use crate::matching::Place;
use crate::{Pattern, Tuple};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    pub sender: usize,
    /// Position in the sender's program.
    pub number: usize,
}

#[derive(Clone)]
pub struct Receive {
    pub pattern: Pattern,
    pub place: Option<Place>,
    pub got: Option<Message>,
    pub cancelled: bool,
}

/// Checks who has got which of `all` messages; `receives` are in the order of posting.
pub fn judge(all: &[Message], tuple: impl Fn(Message) -> Tuple, receives: &[Receive]) {
    let owner = |message: Message| receives.iter().position(|receive| receive.got == Some(message));
    // Pairs of messages of which the first had to leave before the second.
    let mut before: Vec<(Message, Message)> = Vec::new();
    for &message in all {
        let sent = tuple(message);
        let Some(receive) = owner(message) else {
            let waits =
                |receive: &Receive| receive.got.is_none() && !receive.cancelled && receive.pattern.matches(&sent);
            assert!(!receives.iter().any(waits), "a message and its receive both wait");
            continue;
        };
        assert!(receives[receive].pattern.matches(&sent), "a receive got what it did not ask for");
        for &earlier in all.iter().filter(|other| other.sender == message.sender && other.number < message.number) {
            if receives[receive].pattern.matches(&tuple(earlier)) {
                assert!(owner(earlier).is_some(), "{message:?} overtook {earlier:?}");
                before.push((earlier, message));
            }
        }
        for earlier in &receives[..receive] {
            if earlier.pattern.matches(&sent) && !earlier.cancelled {
                before.push((earlier.got.expect("an older receive was passed over"), message));
            }
        }
    }
    // An order must exist.
    let mut left = all.to_vec();
    while !left.is_empty() {
        let free =
            |message: &Message| !before.iter().any(|(first, second)| second == message && left.contains(first));
        let at = left.iter().position(free).unwrap_or_else(|| panic!("{left:?} overtook each other"));
        left.remove(at);
    }
}
