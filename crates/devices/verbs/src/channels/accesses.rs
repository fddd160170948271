//! The ends of accesses to the memory of other processes.

use super::Channels;
use crate::accesses::Held;

impl Channels {
    /// The request with that number has ended, and all before it.
    pub(super) fn accesses_ended(&self, peer: u32, number: u32, well: bool) {
        let it = &self.accesses.peers[peer as usize];
        if peer == self.me {
            self.accesses.own.get().into_iter().flatten().for_each(|own| own.sends.completed());
        }
        if !well {
            it.lost.set(true);
        }
        // Whoever asked for it has been told that it failed, and has its memory back.
        let well = well && !self.is_access_lost(peer);
        while let Some((at, what)) = self.accesses.next_over(peer, number) {
            self.give_up_held(what, well);
            if well {
                it.ended.set(at);
            }
        }
    }

    /// Whether accesses to that peer fail.
    pub(crate) fn is_access_lost(&self, peer: u32) -> bool {
        self.accesses.peers[peer as usize].lost.get() || self.known(peer).is_some_and(|channel| channel.lost.get())
    }

    /// Gives back what a request held, which has ended `well` or not.
    pub(crate) fn give_up_held(&self, what: Held, well: bool) {
        match what {
            Held::Nothing => {}
            Held::Buffer(buffer) => self.bounces.give(buffer),
            Held::Registered(memory) => self.registered.release(&memory),
            Held::Scattered(buffer, runs) => {
                let mut from = self.bounces.at(buffer).cast_const();
                for run in runs.iter().filter(|_| well) {
                    // SAFETY: the buffer holds what was read; the caller of `transfer` leaves the runs to it.
                    unsafe { std::ptr::copy_nonoverlapping(from, run.address as *mut u8, run.len as usize) };
                    from = from.wrapping_add(run.len as usize);
                }
                self.bounces.give(buffer);
            }
            Held::Answer(buffer, into) => {
                if well && !into.is_null() {
                    // SAFETY: the buffer is aligned to words; the place is the caller's for that.
                    unsafe { into.write_unaligned(self.bounces.at(buffer).cast::<u64>().read_unaligned()) };
                }
                self.bounces.give(buffer);
            }
        }
    }
}
