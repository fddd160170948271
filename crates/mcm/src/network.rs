//! The network device of this process, as the settings say.

use crate::sockets::Sockets;
use tern_device::Device;
use tern_pmi::Job;

/// Opens the network, tells all processes of the world where this one is found, and learns where they are.
///
/// Errors: there is no network, or the launcher cannot be reached.
pub fn open(job: &Job) -> std::io::Result<Box<dyn Device>> {
    let sockets = Sockets::listen(job.rank)?;
    let addresses = job.exchange(&sockets.address())?;
    Ok(Box::new(sockets.connect(&addresses)?))
}
