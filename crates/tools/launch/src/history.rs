//! The ranks that a job has lost (`--with-ft`), in the order of their losses, and what each living one has heard of them.
//!
//! A rank takes what the launcher says while it waits in MPI. One that computes takes nothing, for any time, and its socket holds a few hundred
//! messages. The launcher must not wait for it. How much a rank has been told is therefore one number, up to where in this list; the rest
//! follows when its socket has room.

use std::collections::HashSet;
use std::os::fd::AsFd;

use rustix::io::Errno;
use tern_pmi::control::{self, Lost, MOST_LOST, Message};

/// The ranks that are lost, here and elsewhere.
#[derive(Debug, Default)]
pub struct History {
    lost: Vec<Lost>,
    known: HashSet<Lost>,
}

impl History {
    /// Notes which ranks of a world are lost; those that were noted before stay where they are.
    pub fn note(&mut self, job_id: u64, ranks: &[u32]) {
        let lost = ranks.iter().map(|&rank| Lost { job_id, rank });
        self.lost.extend(lost.filter(|&lost| self.known.insert(lost)));
    }

    /// Whether a rank that was told the first `told` has not heard of all.
    pub fn goes_beyond(&self, told: usize) -> bool {
        told < self.lost.len()
    }

    /// Tells a rank at `socket`, which has been told of the first `told`, of as many others as there is room for. Never waits.
    pub fn tell(&self, socket: impl AsFd, told: &mut usize) {
        while self.goes_beyond(*told) && control::has_room(&socket) {
            let some = &self.lost[*told..self.lost.len().min(*told + MOST_LOST)];
            match control::send_at_once(&socket, &Message::Lost(some.to_vec())) {
                Ok(()) => *told += some.len(),
                Err(Errno::AGAIN) => return,
                // It is about to end, which is seen where its socket is read.
                Err(_) => *told = self.lost.len(),
            }
        }
    }
}

#[cfg(test)]
mod tests;
