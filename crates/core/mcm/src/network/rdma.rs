//! The RDMA device, over a card or the software HCA.

use std::io::Result;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tern_hca::Maker;
use tern_pmi::Job;
use tern_settings::{Entry, TupleQ};
use tern_verbs::{Endpoint, Settings, Transport};

/// The shortest and the longest time for which a call waits for the machine of a peer.
const CALL: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(60)];

/// Opens the card, or the software HCA.
pub fn open(job: &Job, maker: Maker) -> Result<Endpoint> {
    let settings = settings(job, maker)?;
    let endpoint = Endpoint::open(job.rank, job.size, &settings)?;
    if settings.transport != endpoint.transport() && job.rank == 0 {
        tern_settings::warn!("the network card has no XRC: each process is connected to each that it sends to");
    }
    Ok(endpoint)
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
        transport: transport(job),
        node: job.node,
        node_file: Some(Arc::new(job.segment.try_clone()?)),
        link: tern_settings::LINK.get().parse().map_err(std::io::Error::other)?,
        faults: tern_settings::FAULTS.get().parse().map_err(std::io::Error::other)?,
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
        silence: (2 * tern_settings::PEER_TIMEOUT.get()).clamp(CALL[0], CALL[1]),
        explain: tern_settings::EXPLAIN.get() == tern_settings::Explain::Choices,
        ..default
    })
}

/// Where the job goes on without lost processes, one that ends must not take the connections to others of its node with it.
fn transport(job: &Job) -> Transport {
    match tern_settings::TRANSPORT.get() {
        tern_settings::Transport::Xrc if tern_settings::FT.get() => {
            if job.rank == 0 {
                tern_settings::note!(
                    "{}=xrc is not followed: over XRC all processes of a node are lost with one of them, and this job goes on \
                     without lost processes. Each process is connected to each that it sends to",
                    tern_settings::TRANSPORT.name()
                );
            }
            Transport::Rc
        }
        tern_settings::Transport::Xrc => Transport::Xrc,
        tern_settings::Transport::Auto | tern_settings::Transport::Rc => Transport::Rc,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use tern_settings::{Entry, FAULTS};

    /// TERN_FAULTS tells the user of the faults that are parsed, all of them and no other.
    #[test]
    fn the_faults_that_are_told_are_those_that_are_parsed() {
        let meaning = FAULTS.meaning();
        let told: BTreeSet<&str> = meaning.split('`').skip(1).step_by(2).collect();
        assert_eq!(told, tern_hca::Faults::kinds().collect());
    }
}
