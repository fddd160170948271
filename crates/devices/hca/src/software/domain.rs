//! Domains: of memory and what uses it, and of XRC.

use super::completion::CompletionQueue;
use super::queue_pair::{QueuePair, Source};
use super::receives::{Receives, XrcShared};
use super::regions::{ANY_DOMAIN, mapped, writable};
use super::shared::Shared;
use crate::{Access, Error, Limits, ReceiveLimits, Result, Segment};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tern_threads::Mutex;

#[derive(Clone)]
pub struct ProtectionDomain {
    pub(super) number: u32,
    pub(super) hca: Arc<Shared>,
}

impl ProtectionDomain {
    /// # Safety
    /// As [`crate::ProtectionDomain::register`].
    pub unsafe fn register(&self, address: *mut u8, len: usize, access: Access) -> Result<MemoryRegion> {
        self.hca.alive()?;
        let address = address as u64;
        let refused = |why: &str| Err(Error::Registration(format!("{len} bytes at {address:#x}: {why}")));
        if (access.remote_write || access.remote_atomic) && !access.local_write {
            return refused("access for remote writing or atomics needs that for local writing");
        }
        if len == 0 || address.checked_add(len as u64).is_none() {
            return refused("no such range");
        }
        self.refuse_on_demand(address, len)?;
        let last = address + len as u64 - 1;
        let there = mapped(address, len as u64);
        if !there || access.local_write && !(writable(address) && writable(last)) {
            self.hca.counts.registered.fetch_sub(len as u64, Ordering::Relaxed);
            return refused(if there { "it may not be written to" } else { "nothing is mapped there" });
        }
        self.pay(len);
        let key = self.hca.engine().regions.add(address, len as u64, access, self.number);
        Ok(MemoryRegion { key, address, len, hca: self.hca.clone() })
    }

    /// Counts the memory, if faults do not forbid it.
    fn refuse_on_demand(&self, address: u64, len: usize) -> Result<()> {
        let (faults, counts) = (self.hca.faults(), &self.hca.counts);
        let total = counts.registered.fetch_add(len as u64, Ordering::Relaxed) + len as u64;
        let refused = if faults.registration.meets(counts.registrations.fetch_add(1, Ordering::Relaxed)) {
            "refused on demand".to_string()
        } else if let Some(limit) = faults.locked.filter(|&limit| total > limit) {
            counts.registered.fetch_sub(len as u64, Ordering::Relaxed);
            return Err(Error::Resources(format!(
                "{len} bytes to be registered, {total} in all; the limit on demand is {limit}"
            )));
        } else {
            return Ok(());
        };
        counts.registered.fetch_sub(len as u64, Ordering::Relaxed);
        Err(Error::Registration(format!("{len} bytes at {address:#x}: {refused}")))
    }

    /// Takes the time that the link model's card would; like a card, at the caller's cost.
    fn pay(&self, len: usize) {
        self.hca.occupy(self.hca.link.registration_of(len.div_ceil(4096) as u32));
    }

    /// `completions`: of sends, then of receives.
    pub fn queue_pair(
        &self, completions: [&CompletionQueue; 2], shared: Option<&SharedReceiveQueue>, send: &Limits,
        receive: &ReceiveLimits,
    ) -> Result<QueuePair> {
        let [sent, received] = completions.map(|queue| Some(queue.0.clone()));
        let source = match shared {
            Some(shared) => Source::Shared(shared.0.clone()),
            None => Source::Own(Arc::new(Receives::new(&self.hca, receive, self.number, 0)?)),
        };
        QueuePair::new(&self.hca, self.number, sent, received, source, send)
    }

    pub fn xrc_initiator(&self, completions: &CompletionQueue, limits: &Limits) -> Result<QueuePair> {
        QueuePair::new(&self.hca, self.number, Some(completions.0.clone()), None, Source::Initiator, limits)
    }

    pub fn shared_receive_queue(&self, limits: &ReceiveLimits, token: u64) -> Result<SharedReceiveQueue> {
        self.hca.alive()?;
        let receives = Receives::new(&self.hca, limits, self.number, token)?;
        Ok(SharedReceiveQueue(Arc::new(receives), None))
    }

    pub fn xrc_receive_queue(
        &self, domain: &XrcDomain, completions: &CompletionQueue, limits: &ReceiveLimits, token: u64,
    ) -> Result<SharedReceiveQueue> {
        self.hca.alive()?;
        let receives = Receives::new(&self.hca, limits, self.number, token)?;
        let queue = domain.domain.shared.add(receives, completions.0.clone());
        Ok(SharedReceiveQueue(queue, Some(domain.clone())))
    }
}

pub struct MemoryRegion {
    key: u32,
    address: u64,
    len: usize,
    hca: Arc<Shared>,
}

impl MemoryRegion {
    pub fn local_key(&self) -> u32 {
        self.key
    }

    pub fn remote_key(&self) -> u32 {
        self.key
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        if !self.hca.forked() {
            self.hca.engine().regions.remove(self.key);
            self.hca.counts.registered.fetch_sub(self.len as u64, Ordering::Relaxed);
        }
    }
}

/// A domain of XRC.
#[derive(Default)]
pub struct Xrc {
    pub shared: Arc<XrcShared>,
    /// Targets of initiators that called for a receive queue.
    pub guests: Mutex<Vec<QueuePair>>,
}

impl Xrc {
    pub fn target(&self, hca: &Arc<Shared>) -> Result<QueuePair> {
        let none = Limits { depth: 0, gather: 0, inline: 0 };
        QueuePair::new(hca, ANY_DOMAIN, None, None, Source::Xrc(self.shared.clone()), &none)
    }
}

#[derive(Clone)]
pub struct XrcDomain {
    pub(super) domain: Arc<Xrc>,
    pub(super) hca: Arc<Shared>,
}

impl XrcDomain {
    pub fn target(&self) -> Result<QueuePair> {
        self.domain.target(&self.hca)
    }
}

#[derive(Clone)]
pub struct SharedReceiveQueue(
    Arc<Receives>,
    #[allow(dead_code, reason = "what it was made from stays")] Option<XrcDomain>,
);

impl SharedReceiveQueue {
    pub fn post_receive(&self, id: u64, segments: &[Segment]) -> Result<()> {
        self.0.hca().alive()?;
        self.0.post(id, segments)
    }

    pub fn arm_limit(&self, low: u32) -> Result<()> {
        self.0.hca().alive()?;
        self.0.arm_limit(low);
        Ok(())
    }

    pub fn number(&self) -> Option<u32> {
        self.0.number()
    }

    pub fn address(&self) -> Option<Vec<u8>> {
        Some(self.0.hca().pair_address(self.number()?).encode())
    }
}
