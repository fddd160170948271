//! The HCA itself.

use crate::made::{Made, made_by};
use crate::{Capabilities, CompletionChannel, CompletionQueue, Datagrams, Error, Event, Faults, Maker, Options};
use crate::{ProtectionDomain, Result, XrcDomain, rdma_core, software};
use std::os::fd::{AsFd, BorrowedFd};

/// An open HCA.
#[derive(Clone)]
pub struct Hca {
    pub(crate) made: Made<software::Hca, rdma_core::Hca>,
}

impl Hca {
    /// # Errors
    /// [`NoHca`](Error::NoHca) when there is none, with what to try.
    pub fn open(options: &Options) -> Result<Hca> {
        let made = match options.maker {
            Maker::Software => Made::Software(software::Hca::open(options)?),
            Maker::RdmaCore => Made::RdmaCore(rdma_core::Hca::open(options)?),
        };
        Ok(Hca { made })
    }

    /// What it can do.
    pub fn capabilities(&self) -> &Capabilities {
        made_by!(&self.made, it => it.capabilities())
    }

    /// A new protection domain.
    pub fn protection_domain(&self) -> Result<ProtectionDomain> {
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.protection_domain()?),
            Made::RdmaCore(it) => Made::RdmaCore(it.protection_domain()?),
        };
        Ok(ProtectionDomain { made })
    }

    /// A queue for `depth` completions. `channel` can be told of new ones.
    pub fn completion_queue(&self, depth: u32, channel: Option<&CompletionChannel>) -> Result<CompletionQueue> {
        let channel = channel.map(|channel| &channel.made);
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.completion_queue(depth, channel.map(Made::software).transpose()?)?),
            Made::RdmaCore(it) => {
                Made::RdmaCore(it.completion_queue(depth, channel.map(Made::rdma_core).transpose()?)?)
            }
        };
        Ok(CompletionQueue { made })
    }

    /// A new channel, for completion queues and datagrams.
    pub fn completion_channel(&self) -> Result<CompletionChannel> {
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.completion_channel()?),
            Made::RdmaCore(it) => Made::RdmaCore(it.completion_channel()?),
        };
        Ok(CompletionChannel { made })
    }

    /// A domain of XRC. All processes of a machine that give the same `file` share it: one connection then leads to the
    /// receive queues of all of them. Without one it belongs to this process.
    pub fn xrc_domain(&self, file: Option<BorrowedFd<'_>>) -> Result<XrcDomain> {
        let made = match &self.made {
            // What is reached by address needs no common domain.
            Made::Software(it) => Made::Software(it.xrc_domain()?),
            Made::RdmaCore(it) => Made::RdmaCore(it.xrc_domain(file)?),
        };
        Ok(XrcDomain { made })
    }

    /// A box for datagrams; `channel` hears of each that comes.
    pub fn datagrams(&self, channel: Option<&CompletionChannel>) -> Result<Datagrams> {
        let channel = channel.map(|channel| &channel.made);
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.datagrams(channel.map(Made::software).transpose()?)?),
            Made::RdmaCore(it) => Made::RdmaCore(it.datagrams(channel.map(Made::rdma_core).transpose()?)?),
        };
        Ok(Datagrams { made })
    }

    /// Times that a peer had no receive and a request was repeated, of all queue pairs; `None` where the maker
    /// cannot tell.
    pub fn not_ready(&self) -> Option<u64> {
        match &self.made {
            Made::Software(it) => Some(it.not_ready()),
            // Cards count for all processes together, if at all.
            Made::RdmaCore(_) => None,
        }
    }

    /// Takes the next event, if there is one. Never blocks.
    pub fn next_event(&self) -> Option<Event> {
        made_by!(&self.made, it => it.next_event())
    }

    /// Changes what goes wrong on purpose, from now on.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) with rdma-core.
    pub fn set_faults(&self, faults: Faults) -> Result<()> {
        match &self.made {
            Made::Software(it) => it.set_faults(faults),
            Made::RdmaCore(_) => Err(Error::Unsupported("faults on demand, with a real card".into())),
        }
    }
}

/// Readable while there are events.
impl AsFd for Hca {
    fn as_fd(&self) -> BorrowedFd<'_> {
        made_by!(&self.made, it => it.as_fd())
    }
}
