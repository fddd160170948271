//! What a member decides alone, since the others do not know its memory: whether it tells them of it.

use crate::pair::{Bound, Group, Times};
use tern_settings::Mechanism;

/// Why the root of a collective tells of no region. The others learn that from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRegion {
    /// The others do not reach its memory, or its shape is irregular.
    OutOfReach,
    /// The memory that it gathers in has come to be shared: senders of messages copy there without the kernel.
    ByMessages,
    /// Two copies through shared memory are sooner, by the costs.
    Costs,
    /// TERN_MECHANISM asks for another way.
    Asked,
    /// It is shorter than what the user has copied once (TERN_COLL_SINGLE_COPY_FROM).
    Shorter,
    /// The costs were not measured, and it is shorter than what is copied once then.
    Unmeasured,
}

impl NoRegion {
    /// All of them.
    pub const ALL: [NoRegion; 6] = [
        NoRegion::OutOfReach,
        NoRegion::ByMessages,
        NoRegion::Costs,
        NoRegion::Asked,
        NoRegion::Shorter,
        NoRegion::Unmeasured,
    ];

    /// The number by which the others are told; never 0.
    pub fn number(self) -> u8 {
        self as u8 + 1
    }

    /// The reverse of [`NoRegion::number`].
    pub fn numbered(number: u8) -> Option<NoRegion> {
        NoRegion::ALL.into_iter().find(|ground| ground.number() == number)
    }
}

/// Memory of a root that the others reach.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// What the others have to do with it.
    pub group: Group,
    /// The user asks for a region.
    pub forced: bool,
    /// Senders of messages have come to reach it without the kernel, which the region would need.
    pub by_messages: bool,
    /// How long the collective takes by each way; `None`: no way inside the node is known.
    pub times: Option<Times>,
}

impl Offer {
    /// Why the root does not tell of it; `None`: it does. `asked`: the mechanism of TERN_MECHANISM.
    pub fn refusal(&self, asked: Mechanism) -> Option<NoRegion> {
        let advised = |times: Times| times.advise(asked, &self.group).region;
        match self.times {
            _ if self.forced => None,
            _ if self.by_messages => Some(NoRegion::ByMessages),
            None => Some(NoRegion::OutOfReach),
            Some(times) if advised(times) => None,
            Some(_) if asked != Mechanism::Auto => Some(NoRegion::Asked),
            Some(times) => Some(match times.bound_of(&self.group) {
                Some(Bound { is_asked: true, .. }) => NoRegion::Shorter,
                Some(_) => NoRegion::Unmeasured,
                None => NoRegion::Costs,
            }),
        }
    }
}

/// Whether a member tells the others where its private memory lies, for the kernel to copy `group.len` bytes of it: where that is surely
/// sooner, or the user asks (`forced`).
///
/// Members that tell no place go by lines at once. The trial of both ways is of memory that is shared.
pub fn tells_of_private(forced: bool, group: &Group, times: Option<Times>, asked: Mechanism) -> bool {
    let advice = times.map(|times| times.advise(asked, group)).unwrap_or_default();
    forced || advice.region && advice.sure
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: Group = Group { others: 3, len: 1 << 20, apart: false, writes: false, shared: false };
    const SLOW: Option<Times> = Some(Times { lines: 1.0, region: 100.0, bound: None });
    const QUICK: Option<Times> = Some(Times { lines: 100.0, region: 1.0, bound: None });
    const OFFER: Offer = Offer { group: GROUP, forced: false, by_messages: false, times: QUICK };

    #[test]
    fn each_refusal_has_its_ground() {
        let refusal = |offer: Offer| offer.refusal(Mechanism::Auto);
        assert_eq!(refusal(OFFER), None);
        assert_eq!(refusal(Offer { times: SLOW, ..OFFER }), Some(NoRegion::Costs));
        let bounded = |is_asked| Some(Times { bound: Some(Bound { from: 2 << 20, is_asked }), ..SLOW.unwrap() });
        assert_eq!(refusal(Offer { times: bounded(true), ..OFFER }), Some(NoRegion::Shorter));
        assert_eq!(refusal(Offer { times: bounded(false), ..OFFER }), Some(NoRegion::Unmeasured));
        assert_eq!(refusal(Offer { times: None, ..OFFER }), Some(NoRegion::OutOfReach));
        assert_eq!(refusal(Offer { by_messages: true, ..OFFER }), Some(NoRegion::ByMessages));
        assert_eq!(Offer { times: SLOW, ..OFFER }.refusal(Mechanism::Mapped), Some(NoRegion::Asked));
        assert_eq!(refusal(Offer { forced: true, by_messages: true, times: SLOW, ..OFFER }), None);
    }

    #[test]
    fn grounds_are_told_by_number() {
        assert!(NoRegion::ALL.into_iter().all(|ground| NoRegion::numbered(ground.number()) == Some(ground)));
        assert_eq!([0, 7].map(NoRegion::numbered), [None, None]);
    }

    #[test]
    fn private_memory_is_told_where_that_is_sure_or_asked_for() {
        let tells = |forced, times| tells_of_private(forced, &GROUP, times, Mechanism::Auto);
        let close = Some(Times { lines: 100.0, region: 70.0, bound: None });
        assert_eq!([QUICK, close, SLOW, None].map(|times| tells(false, times)), [true, false, false, false]);
        assert!(tells(true, SLOW));
    }
}
