//! The HCA of this process, and what all its channels share.

use crate::settings::Settings;
use crate::transport::{Transport, Ways};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::Arc;
use tern_hca::{
    CompletionChannel, CompletionQueue, Hca, Limits, Maker, Options, ProtectionDomain, QueuePair, QueuePairOptions,
    ReceiveLimits, Result, SharedReceiveQueue,
};

/// Requests that a queue pair holds: the most, and the fewest where there are so many peers that the completion queue of the
/// card has no room for as many of each.
const DEPTH: u32 = 128;
const FEWEST: u32 = 32;
/// Receives that a queue of a tuple holds.
pub const QUEUE_DEPTH: u32 = 64;
/// Segments of a request: header and payload of a packet, or the blocks of a datatype.
const GATHER: u32 = 16;
/// Bytes that travel in the request itself, where the card takes as many.
const INLINE: u32 = 192;

/// The objects that every channel needs. Any thread may use them.
#[derive(Clone)]
pub struct Fabric {
    pub hca: Hca,
    pub domain: ProtectionDomain,
    /// Where everything ends.
    pub completions: CompletionQueue,
    /// What tells of it.
    pub notices: CompletionChannel,
    /// Where all packets are received.
    pub receives: SharedReceiveQueue,
    /// With XRC; `None` with RC.
    pub ways: Option<Arc<Ways>>,
    limits: Limits,
    ports: u32,
}

impl Fabric {
    /// For a process of a world of `world` processes.
    ///
    /// Errors: there is no HCA, or it has too little of something.
    pub fn open(settings: &Settings, world: u32) -> Result<Fabric> {
        let options = Options {
            maker: settings.maker,
            interface: settings.interface.clone(),
            link: settings.link,
            faults: settings.faults,
        };
        let hca = Hca::open(&options)?;
        let able = hca.capabilities();
        let receives = ReceiveLimits { depth: settings.buffers.min(able.receive.depth), scatter: 1 };
        let queued = settings.queues.saturating_mul(QUEUE_DEPTH);
        let over_xrc = settings.transport == Transport::Xrc && able.xrc;
        // What goes over another port than the first has a queue pair of its own to each peer, which XRC is to save.
        let ports = if over_xrc { 1 } else { settings.ports.clamp(1, u32::from(able.ports.max(1))) };
        let (pairs, arrivals) = (world.saturating_mul(ports), receives.depth.saturating_add(queued));
        let limits = Limits {
            depth: depth(able.completions, arrivals, pairs).min(able.send.depth),
            gather: GATHER.min(able.send.gather),
            inline: INLINE.min(able.send.inline),
        };
        let all = pairs.saturating_mul(limits.depth).saturating_add(arrivals);
        let domain = hca.protection_domain()?;
        let notices = hca.completion_channel()?;
        let completions = hca.completion_queue(all.min(able.completions), Some(&notices))?;
        let ways = match over_xrc {
            true => Some(Arc::new(Ways::new(&hca, settings.node_file.as_deref())?)),
            false => None,
        };
        let receives = match &ways {
            Some(ways) => domain.xrc_receive_queue(&ways.domain, &completions, &receives, 0)?,
            None => domain.shared_receive_queue(&receives, 0)?,
        };
        Ok(Fabric { hca, domain, completions, notices, receives, ways, limits, ports })
    }

    /// A queue pair that is not connected yet. With XRC nothing can be sent to it, since a queue of an XRC domain
    /// serves no other connections; it is for requests that need no receive.
    pub fn queue_pair(&self) -> Result<QueuePair> {
        let options = QueuePairOptions {
            send_completions: &self.completions,
            receive_completions: &self.completions,
            shared_receive_queue: self.ways.is_none().then_some(&self.receives),
            send: self.limits,
            receive: ReceiveLimits { depth: 0, scatter: 0 },
        };
        self.domain.queue_pair(&options)
    }

    /// The sending end of an XRC connection, not connected yet.
    pub fn initiator(&self) -> Result<QueuePair> {
        self.domain.xrc_initiator(&self.completions, &self.limits)
    }

    /// What its channels are made of.
    pub fn transport(&self) -> Transport {
        if self.ways.is_some() { Transport::Xrc } else { Transport::Rc }
    }

    /// Ports that carry long messages to a peer together.
    pub fn ports(&self) -> u32 {
        self.ports
    }

    /// Largest limits of its queue pairs.
    pub fn limits(&self) -> Limits {
        self.limits
    }
}

/// Requests of each queue pair, so that a queue for `completions` has room for the ends of all, and for `arrivals`.
fn depth(completions: u32, arrivals: u32, pairs: u32) -> u32 {
    (completions.saturating_sub(arrivals) / pairs.max(1)).clamp(FEWEST, DEPTH)
}

/// The address by which peers reach this process over plain sockets.
pub fn own_address(settings: &Settings) -> IpAddr {
    if let Some(address) = settings.address {
        return address;
    }
    let of_interface = settings.interface.as_ref().and_then(|name| name.parse().ok());
    match settings.maker {
        Maker::Software => of_interface.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        Maker::RdmaCore => outward().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    }
}

/// The address that packets to other networks would leave from. Nothing is sent.
fn outward() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_completions_have_room() {
        assert_eq!(depth(1 << 22, 1024, 4096), DEPTH);
        for pairs in [2, 247, 248, 500, 990] {
            let depth = depth(32767, 1024, pairs);
            assert!(pairs * depth + 1024 <= 32767 && (FEWEST..=DEPTH).contains(&depth), "{depth} for {pairs}");
        }
        assert_eq!(depth(1000, 2000, 7), FEWEST);
    }
}
