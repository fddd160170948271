//! The maker that uses libibverbs. Not built yet: [`Hca::open`] says so, and there are no objects.
//!
//! Each type here stands behind the public type of the same name.

use crate::hca::{Capabilities, Event, Options};
use crate::queue_pair::{Connection, Limits, QueuePairOptions, State};
use crate::{Access, Completion, Error, ReceiveLimits, Result, Segment, SendRequest};
use std::convert::Infallible;
use std::os::fd::BorrowedFd;

#[derive(Clone)]
pub struct Hca(Infallible);
#[derive(Clone)]
pub struct ProtectionDomain(Infallible);
#[derive(Clone)]
pub struct CompletionQueue(Infallible);
#[derive(Clone)]
pub struct CompletionChannel(Infallible);
#[derive(Clone)]
pub struct SharedReceiveQueue(Infallible);
#[derive(Clone)]
pub struct XrcDomain(Infallible);
pub struct MemoryRegion(Infallible);
pub struct QueuePair(Infallible);
pub struct Datagrams(Infallible);

impl Hca {
    pub fn open(_options: &Options) -> Result<Hca> {
        Err(Error::NoHca(
            "libibverbs is not used yet; take the software HCA".into(),
        ))
    }
    pub fn capabilities(&self) -> &Capabilities {
        match self.0 {}
    }
    pub fn protection_domain(&self) -> Result<ProtectionDomain> {
        match self.0 {}
    }
    pub fn completion_queue(
        &self,
        _depth: u32,
        _channel: Option<&CompletionChannel>,
    ) -> Result<CompletionQueue> {
        match self.0 {}
    }
    pub fn completion_channel(&self) -> Result<CompletionChannel> {
        match self.0 {}
    }
    pub fn xrc_domain(&self) -> Result<XrcDomain> {
        match self.0 {}
    }
    pub fn datagrams(&self, _channel: Option<&CompletionChannel>) -> Result<Datagrams> {
        match self.0 {}
    }
    pub fn next_event(&self) -> Option<Event> {
        match self.0 {}
    }
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}

impl ProtectionDomain {
    /// # Safety
    /// As [`crate::ProtectionDomain::register`].
    pub unsafe fn register(
        &self,
        _address: *mut u8,
        _len: usize,
        _access: Access,
    ) -> Result<MemoryRegion> {
        match self.0 {}
    }
    pub fn queue_pair(&self, _options: &QueuePairOptions<'_>) -> Result<QueuePair> {
        match self.0 {}
    }
    pub fn xrc_initiator(
        &self,
        _completions: &CompletionQueue,
        _limits: &Limits,
    ) -> Result<QueuePair> {
        match self.0 {}
    }
    pub fn shared_receive_queue(
        &self,
        _limits: &ReceiveLimits,
        _token: u64,
    ) -> Result<SharedReceiveQueue> {
        match self.0 {}
    }
    pub fn xrc_receive_queue(
        &self,
        _domain: &XrcDomain,
        _completions: &CompletionQueue,
        _limits: &ReceiveLimits,
        _token: u64,
    ) -> Result<SharedReceiveQueue> {
        match self.0 {}
    }
}

impl MemoryRegion {
    pub fn local_key(&self) -> u32 {
        match self.0 {}
    }
    pub fn remote_key(&self) -> u32 {
        match self.0 {}
    }
    pub fn address(&self) -> u64 {
        match self.0 {}
    }
    pub fn len(&self) -> usize {
        match self.0 {}
    }
}

impl CompletionQueue {
    pub fn poll(&self, _into: &mut [Completion]) -> Result<usize> {
        match self.0 {}
    }
    pub fn arm(&self) -> Result<()> {
        match self.0 {}
    }
}

impl CompletionChannel {
    pub fn drain(&self) -> bool {
        match self.0 {}
    }
    pub fn set_waker(&self, _wake: Box<dyn Fn() + Send + Sync>) -> Result<()> {
        match self.0 {}
    }
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}

impl SharedReceiveQueue {
    pub fn post_receive(&self, _id: u64, _segments: &[Segment]) -> Result<()> {
        match self.0 {}
    }
    pub fn arm_limit(&self, _low: u32) -> Result<()> {
        match self.0 {}
    }
    pub fn number(&self) -> Option<u32> {
        match self.0 {}
    }
}

impl XrcDomain {
    pub fn target(&self) -> Result<QueuePair> {
        match self.0 {}
    }
}

impl Datagrams {
    pub fn address(&self) -> &[u8] {
        match self.0 {}
    }
    pub fn send(&self, _to: &[u8], _bytes: &[u8]) -> Result<()> {
        match self.0 {}
    }
    pub fn receive(&self, _into: &mut Vec<u8>) -> Result<bool> {
        match self.0 {}
    }
}

impl QueuePair {
    pub fn number(&self) -> u32 {
        match self.0 {}
    }
    pub fn address(&self) -> Vec<u8> {
        match self.0 {}
    }
    pub fn limits(&self) -> Limits {
        match self.0 {}
    }
    pub fn connect(&self, _peer: &[u8], _connection: &Connection) -> Result<()> {
        match self.0 {}
    }
    pub fn state(&self) -> State {
        match self.0 {}
    }
    pub fn reason(&self) -> Option<String> {
        match self.0 {}
    }
    pub fn fail(&self) -> Result<()> {
        match self.0 {}
    }
    pub fn post_send(&self, _request: &SendRequest<'_>) -> Result<()> {
        match self.0 {}
    }
    pub fn post_receive(&self, _id: u64, _segments: &[Segment]) -> Result<()> {
        match self.0 {}
    }
}
