//! Ranks tell where the others find them, and wait for the addresses of all. Who ends before it has told is
//! noticed as any rank that ends too early.

use std::os::fd::{AsFd, OwnedFd};

use tern_pmi::control::{self, Message};
use tern_pmi::{addresses, parcel};

use super::Job;

impl Job<'_> {
    /// A rank tells its address. With the last one of its world, all get the table.
    pub(super) fn address(&mut self, rank: usize, fds: Vec<OwnedFd>) {
        let (world, number) = (self.ranks[rank].world, self.ranks[rank].number);
        self.ranks[rank].placed = true;
        let told = fds.into_iter().next().and_then(|fd| parcel::unpack(fd).ok());
        let Some(known) = self.worlds[world].as_mut() else { return };
        // One that cannot be read stands for nothing that could be reached: the device says so.
        known.addresses[number as usize] = Some(told.unwrap_or_default());
        let here = match &self.uplink {
            Some(_) => known.nodes.members(known.nodes.of(number)),
            None => (0..known.nodes.size()).collect(),
        };
        if here.iter().all(|rank| known.addresses[*rank as usize].is_some()) {
            let take = |rank: &u32| known.addresses[*rank as usize].take().unwrap_or_default();
            let all: Vec<Vec<u8>> = here.iter().map(take).collect();
            let all = all.iter().map(Vec::as_slice);
            match &self.uplink {
                Some(uplink) => uplink.addresses(world as u32, all),
                None => self.tell_addresses(world, &addresses::encode(all)),
            }
        }
    }

    pub(super) fn tell_addresses(&mut self, world: usize, table: &[u8]) {
        let table = match parcel::pack(table) {
            Ok(table) => table,
            Err(errno) => return self.fail(1, &format!("the addresses of the ranks cannot be passed on: {errno}")),
        };
        let answer = Message::Answer { value: 0, text: String::new() };
        for rank in self.ranks.iter().filter(|rank| rank.world == world) {
            if let Some(control) = &rank.control {
                // Who has ended since is told of as any other.
                let _ = control::send_with(control, &answer, &[table.as_fd()]);
            }
        }
    }
}
