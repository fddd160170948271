//! Tuple queues and single copies: the optional part of the contract (docs/adding-a-device.md#what-comes-after-packets), of several traits.

use crate::{Copying, Found, Memory, PairFacts, SharedMemory, SingleCopy, Then, TupleQueue};
use tern_policy::CopyMode;
use tern_policy::transfer::{Chooser, Chosen, ChosenBy, Deliver, Get};

/// A device that publishes receives and copies each byte once. Whoever implements the traits implements this.
pub trait Direct: PairFacts + TupleQueue + SingleCopy + SharedMemory {}

impl<D: PairFacts + TupleQueue + SingleCopy + SharedMemory> Direct for D {}

/// The way of a message at `source` into the published receive `found`, by the facts that the device states: [`Chooser::deliver`]. `None`: on the
/// stream. `waits`: the sender waits until the message has left, else it would rather compute.
#[inline]
pub fn way_into(
    direct: &dyn Direct, chooser: Option<&Chooser>, peer: u32, (source, found): (&Memory, &Found),
    (waits, then, mode): (bool, Then, CopyMode), now: impl FnOnce() -> u64,
) -> Option<Chosen<Deliver>> {
    let situation = direct.situation(peer, Copying::IntoPublished { source, found }, then);
    match chooser.zip(situation) {
        Some((chooser, situation)) => chooser.deliver(&situation, waits, mode, now),
        None => Some(Chosen { way: Deliver::Card, by: ChosenBy::Only }),
    }
}

/// The way of a message from `source`, where its sender has told that it lies, to `target`: [`Chooser::get`].
#[inline]
pub fn way_from(
    direct: &dyn Direct, chooser: Option<&Chooser>, peer: u32, (source, target): (&Memory, &Memory), then: Then,
    now: impl FnOnce() -> u64,
) -> Chosen<Get> {
    let situation = direct.situation(peer, Copying::FromSender { source, target }, then);
    match chooser.zip(situation) {
        Some((chooser, situation)) => chooser.get(&situation, now),
        None => Chosen { way: Get::Card, by: ChosenBy::Only },
    }
}
