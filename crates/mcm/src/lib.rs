//! The multi-communication-method layer: which device carries a message, progress, waiting.

pub mod lock;
mod wait;

pub use tern_device::{
    DEPTH, Delivery, Direct, Direction, Gather, Header, Key, LineArea, Memory, Outgoing, Payload, Pull, Recall, Run,
    Sink, copy_short,
};
pub use wait::{Patience, Step};

use std::cell::Cell;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use tern_device::Device;
use tern_shm::Shm;

/// The devices of this process. Today that is shared memory alone: all processes share a node.
pub struct Mcm {
    device: Carrier,
    me: u32,
    size: Cell<u32>,
    patience: Cell<Patience>,
    /// Cores that the processes of the node share.
    cores: u32,
    /// Looks of nonblocking calls, one after the other, that found nothing.
    vain: Cell<u32>,
    /// Waits that sleep tell so.
    watched: Cell<bool>,
}

/// The device. Packets go through shared memory so often that it is called by name.
#[allow(clippy::large_enum_variant, reason = "there is one of it, and no box is in the way of a packet")]
enum Carrier {
    Shm(Shm),
    Other(Box<dyn Device>),
}

impl Mcm {
    /// The devices for a process of `job`, with the settings that concern them.
    ///
    /// Errors: the job's shared memory cannot be sized or mapped.
    pub fn open(job: &tern_pmi::Job) -> std::io::Result<Mcm> {
        let ring = tern_settings::RING_SIZE.get().map(|bytes| bytes as usize);
        let device = Shm::new(job.segment.as_fd(), job.local_rank, job.local_size, job.node_cores, ring)?;
        if tern_settings::EXPLAIN.get() && job.rank == 0 && job.size > 1 {
            // All of it in one write, so that lines of other ranks do not come between.
            let _ = std::io::stderr().write_all(device.explain().as_bytes());
        }
        let patience = Patience::as_set(job.local_size, job.node_cores);
        Ok(Mcm { cores: job.node_cores, ..Mcm::over(Carrier::Shm(device), job.rank, job.size, patience) })
    }

    /// `me` of `size` processes, reached through `device`.
    pub fn new(device: Box<dyn Device>, me: u32, size: u32, patience: Patience) -> Mcm {
        Mcm::over(Carrier::Other(device), me, size, patience)
    }

    fn over(device: Carrier, me: u32, size: u32, patience: Patience) -> Mcm {
        let (size, patience) = (Cell::new(size), Cell::new(patience));
        Mcm { device, me, size, patience, cores: u32::MAX, vain: Cell::new(0), watched: Cell::new(false) }
    }

    /// The number of this process.
    #[inline]
    pub fn me(&self) -> u32 {
        self.me
    }

    /// The number of processes.
    pub fn size(&self) -> u32 {
        self.size.get()
    }

    /// See [`Shm::connect`]: further processes are known by numbers from [`Mcm::size`] on.
    pub fn connect(
        &self,
        file: BorrowedFd<'_>,
        offset: u64,
        me: u32,
        processes: u32,
        newcomers: &[u32],
    ) -> std::io::Result<u32> {
        let Carrier::Shm(shm) = &self.device else {
            return Err(std::io::Error::other("this device reaches no process of another job"));
        };
        let first = shm.connect(file, offset, me, processes, newcomers)?;
        self.size.set(first + newcomers.len() as u32);
        self.patience.set(Patience::as_set(shm.known(), self.cores));
        Ok(first)
    }

    /// See [`Shm::disconnect`].
    pub fn disconnect(&self, first: u32) {
        if let Carrier::Shm(shm) = &self.device {
            shm.disconnect(first);
            self.patience.set(Patience::as_set(shm.known(), self.cores));
        }
    }

    #[inline]
    fn device(&self) -> &dyn Device {
        match &self.device {
            Carrier::Shm(shm) => shm,
            Carrier::Other(other) => &**other,
        }
    }

    /// Largest message to `peer` that should go without asking.
    pub fn eager(&self, _peer: u32) -> usize {
        self.device().abilities().eager
    }

    /// Payload bytes that travel with a header at no further cost.
    pub fn inline(&self) -> usize {
        self.device().abilities().inline
    }

    /// Sends a packet whose payload travels with the header, whole or not at all.
    #[inline(always)]
    pub fn send_short(&self, peer: u32, header: &Header, payload: &[u8]) -> bool {
        match &self.device {
            Carrier::Shm(shm) => shm.send_short(peer, header, payload),
            // A device that takes more than the header takes what travels with it.
            Carrier::Other(_) if !payload.is_empty() => false,
            Carrier::Other(other) => other.copy_and_send(peer, header, Payload::Bytes(&[])).is_some(),
        }
    }

    /// True when whoever has copied a long payload should write its lines back
    /// ([`tern_device::Abilities::write_back`]).
    pub fn write_back(&self) -> bool {
        self.device().abilities().write_back
    }

    /// Sends a packet as [`Device::copy_and_send`] does, on the device that reaches `peer`.
    #[inline]
    pub fn copy_and_send(&self, peer: u32, header: &Header, payload: Payload<'_>) -> Option<usize> {
        match &self.device {
            Carrier::Shm(shm) => shm.copy_and_send(peer, header, payload),
            Carrier::Other(other) => other.copy_and_send(peer, header, payload),
        }
    }

    /// Hands what has arrived on any device to `sink`; returns the number of packets.
    #[inline]
    pub fn poll<S: Sink>(&self, sink: &mut S) -> usize {
        match &self.device {
            Carrier::Shm(shm) => shm.poll_into(sink),
            Carrier::Other(other) => other.poll(sink),
        }
    }

    /// See [`Device::take_next`].
    #[inline]
    pub fn take_next(
        &self,
        peer: u32,
        looks: u32,
        mut take: impl FnMut(&Header, &[u8]) -> bool,
    ) -> bool {
        match &self.device {
            Carrier::Shm(shm) => shm.take_from(peer, looks, take),
            Carrier::Other(other) => other.take_next(peer, looks, &mut take),
        }
    }

    /// See [`Device::glance`].
    #[inline]
    pub fn glance(&self, looks: u32) {
        match &self.device {
            Carrier::Shm(shm) => shm.glance(looks),
            Carrier::Other(other) => other.glance(looks),
        }
    }

    /// See [`Device::lines`].
    pub fn lines(&self, peer: u32, index: u32) -> Option<LineArea> {
        self.device().lines(peer, index)
    }

    /// See [`Device::set_waiting`]. [`Mcm::wait`] lowers it when it ends.
    #[inline]
    pub fn set_waiting(&self, waiting: bool) {
        self.device().set_waiting(waiting);
    }

    /// See [`Device::direct`].
    #[inline]
    pub fn direct(&self) -> Option<&dyn Direct> {
        self.device().direct()
    }

    /// See [`Device::ring`].
    #[inline]
    pub fn ring(&self, peer: u32) {
        self.device().ring(peer);
    }
}
