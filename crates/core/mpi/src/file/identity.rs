//! Whether the names that the processes give lead to one file.

use super::agree::consent;
use crate::constants::*;
use crate::error::Result;
use crate::exchange::Circle;
use crate::runtime::runtime;
use std::collections::HashMap;

/// What tells a file from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its number in its file system.
    number: u64,
    /// The file system's number, which a network's file system has of each node's own.
    device: u64,
    /// The job of the process that has opened it, and the node of that job.
    node: [u64; 2],
}

impl Identity {
    pub fn of(file: &tern_io::File) -> Result<Identity> {
        let (device, number) = file.identity()?;
        let runtime = runtime();
        let node = [runtime.job.job_id, u64::from(runtime.nodes[runtime.me as usize])];
        Ok(Identity { number, device, node })
    }

    fn encode(self) -> Vec<u8> {
        [self.number, self.device, self.node[0], self.node[1]].into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    fn decode(bytes: &[u8]) -> Identity {
        let word = |index: usize| u64::from_ne_bytes(bytes[8 * index..][..8].try_into().expect("eight bytes"));
        Identity { number: word(0), device: word(1), node: [word(2), word(3)] }
    }
}

/// All fail if opening failed at one process, or with MPI_ERR_NOT_SAME if two have opened different files.
pub async fn same(circle: &Circle, own: Result<Identity>) -> Result<()> {
    let values = consent(circle, own.map(Identity::encode)).await?;
    match other(values.iter().map(|value| Identity::decode(value))) {
        None => Ok(()),
        Some(rank) => {
            err!(MPI_ERR_NOT_SAME, "the name that rank {rank} gives leads to another file than that of a lower rank")
        }
    }
}

/// The first rank that has another file than one before it. Devices are compared within a node only.
fn other(mut all: impl Iterator<Item = Identity>) -> Option<usize> {
    let mut number = None;
    let mut devices = HashMap::new();
    all.position(|file| {
        *number.get_or_insert(file.number) != file.number
            || *devices.entry(file.node).or_insert(file.device) != file.device
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_devices_mean_nothing_on_other_nodes() {
        let on = |&[number, device, node]: &[u64; 3]| Identity { number, device, node: [5, node] };
        let other = |all: &[[u64; 3]]| other(all.iter().map(on));
        assert_eq!(other(&[[7, 40, 1], [7, 40, 1]]), None);
        assert_eq!(other(&[[7, 40, 1], [8, 40, 1]]), Some(1));
        assert_eq!(other(&[[7, 40, 1], [7, 41, 1]]), Some(1));
        assert_eq!(other(&[[7, 40, 1], [7, 53, 2], [7, 40, 1], [7, 53, 2]]), None);
        assert_eq!(other(&[[7, 40, 1], [7, 53, 2], [7, 54, 2]]), Some(2));
        assert_eq!(other(&[[7, 40, 1], [8, 40, 2]]), Some(1));
    }

    #[test]
    fn identities_come_through() {
        let own = Identity { number: 1, device: u64::MAX, node: [3, 4] };
        assert_eq!(Identity::decode(&own.encode()), own);
    }
}
