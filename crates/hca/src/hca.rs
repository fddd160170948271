//! The HCA itself.

use crate::{CompletionChannel, CompletionQueue, Datagrams, Faults, Link, ProtectionDomain, Result, XrcDomain};
use crate::{Error, made_by, rdma_core, software};
use std::os::fd::{AsFd, BorrowedFd};

/// An object of one maker or the other.
#[derive(Clone)]
pub(crate) enum Made<S, R> {
    Software(S),
    RdmaCore(R),
}

/// Who makes the objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Maker {
    #[default]
    Software,
    RdmaCore,
}

/// Which HCA to open.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub maker: Maker,
    /// rdma-core: the device and its port, as "mlx5_0" or "mlx5_0:1"; `None` is the first that has an active port.
    /// Software: the address of an interface by which peers reach this process, as "10.0.0.1"; `None` is loopback.
    pub interface: Option<String>,
    /// What the software HCA behaves like. rdma-core takes no notice.
    pub link: Link,
    /// What goes wrong on purpose, in the software HCA. rdma-core takes no notice.
    pub faults: Faults,
}

/// With what the 64-bit atomics of peers are atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomics {
    None,
    /// With those that come through this HCA.
    Hca,
    /// With the processor's too.
    Global,
}

/// What an HCA can do.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// Its name, as "software" or "mlx5_0".
    pub name: String,
    pub atomics: Atomics,
    pub xrc: bool,
    /// Ports that queue pairs can be put on.
    pub ports: u8,
    pub shared_receive_queues: bool,
    /// The largest [`Limits`](crate::Limits) of a send queue, each on its own: not all at once.
    pub send: crate::Limits,
    /// The same for receive queues, own and shared.
    pub receive: crate::ReceiveLimits,
    /// Completions that one queue holds.
    pub completions: u32,
    /// Bytes of one message.
    pub message: u32,
    /// What it costs, as far as the maker can say: nanoseconds for a short message one way.
    pub latency_ns: f64,
    /// Bytes per nanosecond.
    pub bandwidth: f64,
}

/// What happens to objects without a request of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A shared receive queue has fewer receives than its limit ([`SharedReceiveQueue::arm_limit`](crate::SharedReceiveQueue::arm_limit)).
    ReceiveQueueLow { token: u64 },
    /// A queue pair went to error without a request that could say so: `why`.
    QueuePairError { queue_pair: u32, why: String },
    /// The peer has ended the connection, or is gone. The queue pair stays as it is until something is
    /// posted, and that fails. Not every maker can tell.
    Disconnected { queue_pair: u32 },
    /// The HCA is gone or broken.
    Fatal(String),
}

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

    pub fn capabilities(&self) -> &Capabilities {
        made_by!(&self.made, it => it.capabilities())
    }

    pub fn protection_domain(&self) -> Result<ProtectionDomain> {
        let made = match &self.made {
            Made::Software(it) => Made::Software(it.protection_domain()?),
            Made::RdmaCore(it) => Made::RdmaCore(it.protection_domain()?),
        };
        Ok(ProtectionDomain { made })
    }

    /// A queue for `depth` completions. `channel` can be told of new ones.
    pub fn completion_queue(&self, depth: u32, channel: Option<&CompletionChannel>) -> Result<CompletionQueue> {
        let made = match (&self.made, channel.map(|channel| &channel.made)) {
            (Made::Software(it), None) => Made::Software(it.completion_queue(depth, None)?),
            (Made::Software(it), Some(Made::Software(channel))) => {
                Made::Software(it.completion_queue(depth, Some(channel))?)
            }
            (Made::RdmaCore(it), None) => Made::RdmaCore(it.completion_queue(depth, None)?),
            (Made::RdmaCore(it), Some(Made::RdmaCore(channel))) => {
                Made::RdmaCore(it.completion_queue(depth, Some(channel))?)
            }
            _ => return Err(crate::completion::mixed()),
        };
        Ok(CompletionQueue { made })
    }

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
        let made = match (&self.made, channel.map(|channel| &channel.made)) {
            (Made::Software(it), None) => Made::Software(it.datagrams(None)?),
            (Made::Software(it), Some(Made::Software(channel))) => Made::Software(it.datagrams(Some(channel))?),
            (Made::RdmaCore(it), None) => Made::RdmaCore(it.datagrams(None)?),
            (Made::RdmaCore(it), Some(Made::RdmaCore(channel))) => Made::RdmaCore(it.datagrams(Some(channel))?),
            _ => return Err(crate::completion::mixed()),
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
