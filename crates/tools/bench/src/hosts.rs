//! Two hosts on this machine, for what goes over a network: two network namespaces with a wire between them
//! (`bench/hosts.sh`). Each has a name and half of the cores, so that no library takes the other for its own machine.

use std::path::{Path, PathBuf};
use std::process::Command;

/// By what they are reached.
pub const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

/// They are there as long as this.
pub struct Hosts {
    /// The remote shell to them.
    pub shell: PathBuf,
    /// The cores of each, as the shell wants to know them.
    pub cores: String,
}

impl Hosts {
    /// Makes them. `source`: where the C sources of the benchmark are.
    ///
    /// Errors: this user may not; there are fewer than two cores.
    pub fn make(source: &Path, cores: &[usize]) -> Result<Hosts, String> {
        if cores.len() < 2 {
            return Err("two hosts need two cores".into());
        }
        let shell = source.join("hosts.sh");
        let (first, second) = cores.split_at(cores.len() / 2);
        let list = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let hosts = Hosts { cores: format!("{} {}", list(first), list(second)), shell };
        let made = Command::new(&hosts.shell).arg("make").output();
        let made = made.map_err(|error| format!("{}: {error}", hosts.shell.display()))?;
        match made.status.success() {
            true => Ok(hosts),
            false => Err(format!(
                "two hosts in network namespaces cannot be made, which root may do: {}",
                String::from_utf8_lossy(&made.stderr).trim()
            )),
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = Command::new(&self.shell).arg("remove").status();
    }
}
