//! The network of a world that has one node.

use std::time::Duration;
use tern_device::{Abilities, Channel, Header, Payload, Sink};

/// A device that reaches nobody.
pub struct Nobody;

/// They limit no other device.
static ABILITIES: Abilities = Abilities {
    name: "nobody",
    packet: usize::MAX,
    piece: None,
    eager: usize::MAX,
    direct_from: usize::MAX,
    inline: usize::MAX,
    latency_ns: 0.0,
    bandwidth: f64::INFINITY,
    lines: false,
    look: 1,
    write_back: false,
};

impl Channel for Nobody {
    fn abilities(&self) -> &Abilities {
        &ABILITIES
    }

    fn reaches(&self, _: u32) -> bool {
        false
    }

    fn copy_and_send(&self, _: u32, _: &Header, _: Payload<'_>) -> Option<usize> {
        None
    }

    fn poll(&self, _: &mut dyn Sink) -> usize {
        0
    }

    fn glance(&self, _: u32) {}

    fn prepare_sleep(&self) -> u32 {
        0
    }

    fn sleep(&self, _: u32, _: Duration) {}

    fn awake(&self) -> u32 {
        0
    }

    fn end_sleep(&self) {}

    fn ring(&self, _: u32) {}
}
