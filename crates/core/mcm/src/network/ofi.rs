//! The ofi device.

use std::io::Result;
use tern_ofi::{Endpoint, Settings};
use tern_pmi::Job;

/// Opens an endpoint for the processes of the other nodes.
pub fn open(job: &Job) -> Result<Endpoint> {
    let default = Settings::default();
    let named = |name: &str| Some(name.to_owned()).filter(|name| name != "auto");
    let eager = tern_settings::EAGER_LIMIT.get().map_or(default.eager, |bytes| bytes as usize);
    // Of the faults of the software network one can be had here too.
    let faults: tern_hca::Faults = tern_settings::FAULTS.get().parse().map_err(std::io::Error::other)?;
    let settings = Settings {
        library: named(tern_settings::LIBFABRIC.get()),
        provider: named(tern_settings::OFI_PROVIDER.get()),
        domain: named(tern_settings::INTERFACE.get()),
        eager,
        silence: tern_settings::PEER_TIMEOUT.get(),
        registered: tern_settings::REGISTERED.get(),
        locked: faults.locked,
        ..default
    };
    Endpoint::open(job.rank, job.size, &settings)
}

/// Whether there is a card that libfabric alone drives, or drives better.
pub fn has_card() -> bool {
    tern_ofi::cards(std::path::Path::new("/sys")).next().is_some()
}
