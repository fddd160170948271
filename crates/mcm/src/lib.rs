//! The multi-communication-method layer: which device carries a message, progress, waiting.

pub mod lock;
mod wait;

pub use tern_device::{Gather, Header, LineArea, Payload, Sink};
pub use wait::{Patience, Step};

use tern_device::Device;

/// The devices of this process. Today that is shared memory alone: all processes share a node.
pub struct Mcm {
    device: Box<dyn Device>,
    me: u32,
    size: u32,
    patience: Patience,
}

impl Mcm {
    /// `me` of `size` processes, reached through `device`.
    pub fn new(device: Box<dyn Device>, me: u32, size: u32, patience: Patience) -> Mcm {
        Mcm { device, me, size, patience }
    }

    /// The number of this process.
    #[inline]
    pub fn me(&self) -> u32 {
        self.me
    }

    /// The number of processes.
    pub fn size(&self) -> u32 {
        self.size
    }

    #[inline]
    fn device(&self) -> &dyn Device {
        &*self.device
    }

    /// Largest payload of a packet to `peer`.
    pub fn packet(&self, _peer: u32) -> usize {
        self.device.abilities().packet
    }

    /// Sends a packet as [`Device::copy_and_send`] does, on the device that reaches `peer`.
    #[inline]
    pub fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        self.device.copy_and_send(peer, header, payload)
    }

    /// Hands what has arrived on any device to `sink`; returns the number of packets.
    #[inline]
    pub fn poll(&self, sink: &mut dyn Sink) -> usize {
        self.device.poll(sink)
    }

    /// See [`Device::lines`].
    pub fn lines(&self, peer: u32, index: u32) -> Option<LineArea> {
        self.device.lines(peer, index)
    }

    /// See [`Device::ring`].
    #[inline]
    pub fn ring(&self, peer: u32) {
        self.device.ring(peer);
    }
}
