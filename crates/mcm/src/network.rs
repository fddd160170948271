//! The network device of this process, as the settings say.

use std::io::{Error, Result};
use std::net::IpAddr;
use std::sync::Arc;
use tern_device::Device;
use tern_hca::Maker;
use tern_pmi::Job;
use tern_settings::{Network, TupleQ};
use tern_verbs::{Endpoint, Settings, Transport};

/// Opens the network, tells all processes of the world where this one is found, and learns where they are.
///
/// Errors: there is no network, a setting cannot be read, the processes do not use the same network, or the launcher
/// cannot be reached.
pub fn open(job: &Job) -> Result<Box<dyn Device>> {
    let open = |maker| {
        let settings = settings(job, maker)?;
        let endpoint = Endpoint::open(job.rank, job.size, &settings)?;
        if settings.transport != endpoint.transport() && job.rank == 0 {
            tern_settings::warn!("the network card has no XRC: each process is connected to each that it sends to");
        }
        Ok::<_, Error>(endpoint)
    };
    let (maker, endpoint) = match tern_settings::NETWORK.get() {
        Network::Software => (Maker::Software, open(Maker::Software)?),
        Network::Rdma => (Maker::RdmaCore, open(Maker::RdmaCore)?),
        // Cards are for machines.
        Network::Auto if job.simulated => (Maker::Software, open(Maker::Software)?),
        Network::Auto => match open(Maker::RdmaCore) {
            Ok(endpoint) => (Maker::RdmaCore, endpoint),
            Err(_) => (Maker::Software, open(Maker::Software)?),
        },
    };
    // In front of each address stands what kind of network it is for.
    let kind = maker as u8;
    let own = [&[kind], &endpoint.address()[..]].concat();
    let addresses = job.exchange(&own)?;
    if let Some(other) = addresses.iter().position(|address| address.first() != Some(&kind)) {
        return Err(Error::other(format!(
            "rank {} uses the network '{}' and rank {other} another: see which machine lacks its card, or set {} \
             to {} for all",
            job.rank,
            name(maker),
            tern_settings::Entry::name(&tern_settings::NETWORK),
            name(Maker::Software),
        )));
    }
    let addresses: Vec<&[u8]> = addresses.iter().map(|address| &address[1..]).collect();
    Ok(Box::new(endpoint.join(&addresses)?))
}

fn name(maker: Maker) -> &'static str {
    match maker {
        Maker::Software => "software",
        Maker::RdmaCore => "rdma",
    }
}

/// What the user has set, for the network of this job.
fn settings(job: &Job, maker: Maker) -> Result<Settings> {
    let interface = Some(tern_settings::INTERFACE.get()).filter(|name| *name != "auto").map(str::to_owned);
    let default = Settings::default();
    let address: Option<IpAddr> = job.address;
    let reached = address.filter(|_| maker == Maker::Software).map(|address| address.to_string());
    Ok(Settings {
        maker,
        address: address.filter(|_| interface.is_none()),
        interface: interface.or(reached),
        transport: match tern_settings::TRANSPORT.get() {
            tern_settings::Transport::Xrc => Transport::Xrc,
            tern_settings::Transport::Auto | tern_settings::Transport::Rc => Transport::Rc,
        },
        node: job.node,
        node_file: Some(Arc::new(job.segment.try_clone()?)),
        link: tern_settings::LINK.get().parse().map_err(Error::other)?,
        faults: tern_settings::FAULTS.get().parse().map_err(Error::other)?,
        packet: tern_settings::PACKET.get() as usize,
        eager: tern_settings::EAGER_LIMIT.get().map_or(default.eager, |bytes| bytes as usize),
        credits: tern_settings::CREDITS.get() as u32,
        buffers: tern_settings::RECEIVES.get() as u32,
        rings: tern_settings::RINGS.get() as u32,
        ring_after: tern_settings::RINGS_AFTER.get().min(u32::MAX as u64) as u32,
        ring_cell: tern_settings::RINGS_CELL.get() as u32,
        header_cache: tern_settings::HEADER_CACHE.get(),
        ports: tern_settings::PORTS.get() as u32,
        tuples: tern_settings::TUPLEQ.get() != TupleQ::Off,
        queues: match tern_settings::TUPLEQ.get() {
            TupleQ::Queues => tern_settings::TUPLEQ_QUEUES.get() as u32,
            TupleQ::Auto | TupleQ::Write | TupleQ::Off => 0,
        },
        direct: tern_settings::TUPLEQ_THRESHOLD.get() as usize,
        tuple_copy: tern_settings::TUPLEQ_COPY.get() as usize,
        registered: tern_settings::REGISTERED.get(),
        frequent: tern_settings::FREQUENT.get(),
        frequent_share: tern_settings::FREQUENT_SHARE.get() as u32,
        explain: tern_settings::EXPLAIN.get(),
        ..default
    })
}
