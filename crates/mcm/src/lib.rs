//! The multi-communication-method layer: which device carries a message, progress, waiting.

pub mod lock;
mod wait;

pub use tern_device::{
    Delivery, Direct, Gather, Header, Key, LineArea, Memory, Outgoing, Payload, Sink, copy_short,
};
pub use wait::{Patience, Step};

use std::cell::Cell;
use std::os::fd::AsFd;
use tern_device::Device;
use tern_shm::Shm;

/// The devices of this process. Today that is shared memory alone: all processes share a node.
pub struct Mcm {
    device: Box<dyn Device>,
    me: u32,
    size: u32,
    patience: Patience,
    /// Looks of nonblocking calls, one after the other, that found nothing.
    vain: Cell<u32>,
}

impl Mcm {
    /// The devices for a process of `job`, with the settings that concern them.
    ///
    /// Errors: the job's shared memory cannot be sized or mapped.
    pub fn open(job: &tern_pmi::Job) -> std::io::Result<Mcm> {
        let ring = tern_settings::RING_SIZE.get().map(|bytes| bytes as usize);
        let device = Shm::new(job.segment.as_fd(), job.local_rank, job.local_size, job.node_cores, ring)?;
        let mut patience = Patience::new(job.local_size, job.node_cores);
        let looks = |count: u64| count.min(u32::MAX as u64) as u32;
        if let Some(spins) = tern_settings::SPIN.get() {
            patience.spins = looks(spins);
        }
        if let Some(yields) = tern_settings::YIELD.get() {
            patience.yields = looks(yields);
        }
        Ok(Mcm::new(Box::new(device), job.rank, job.size, patience))
    }

    /// `me` of `size` processes, reached through `device`.
    pub fn new(device: Box<dyn Device>, me: u32, size: u32, patience: Patience) -> Mcm {
        Mcm { device, me, size, patience, vain: Cell::new(0) }
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

    /// True when whoever has copied a long payload should write its lines back
    /// ([`tern_device::Abilities::write_back`]).
    pub fn write_back(&self) -> bool {
        self.device.abilities().write_back
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

    /// See [`Device::set_waiting`]. [`Mcm::wait`] lowers it when it ends.
    #[inline]
    pub fn set_waiting(&self, waiting: bool) {
        self.device.set_waiting(waiting);
    }

    /// See [`Device::direct`].
    #[inline]
    pub fn direct(&self) -> Option<&dyn Direct> {
        self.device.direct()
    }

    /// See [`Device::ring`].
    #[inline]
    pub fn ring(&self, peer: u32) {
        self.device.ring(peer);
    }
}
