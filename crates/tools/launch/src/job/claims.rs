//! Who has which rank: processes that connect to ask for one, and the one that initialises MPI.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use rustix::process::{Pid, PidfdFlags};
use tern_pmi::control::{self, Attached, Message, Received};
use tern_pmi::parcel;

use super::{Job, Rank};
use crate::rank::State;

impl Job<'_> {
    /// A process connects.
    pub(super) fn accept(&mut self, world: usize) {
        let world = self.worlds[world].as_ref();
        let Some(listener) = world.and_then(|world| world.listener.as_ref()) else {
            return;
        };
        // The address can be read by everybody on this machine.
        if let Ok(socket) = accept_with(listener, SocketFlags::CLOEXEC)
            && parcel::is_own_user(&socket)
        {
            // Without it the process behind a wrapper is not watched; there is no other loss.
            let _ = control::ask_for_sender(&socket);
            self.joining.push(Some(socket));
        }
    }

    /// A process that has connected says what it wants, or goes away.
    pub(super) fn join(&mut self, at: usize) {
        let Some(socket) = self.joining[at].take() else {
            return;
        };
        let Ok(Received::Message(Message::Join { rank, job_id }, Attached { pid, .. })) =
            control::receive(&socket, false)
        else {
            return;
        };
        let world = |world: usize| self.worlds[world].as_ref();
        let asked = self
            .ranks
            .iter()
            .position(|of| of.number == rank && world(of.world).is_some_and(|world| world.job_id == job_id));
        match asked {
            Some(rank) if self.kept.is_some() && self.ranks[rank].attended => self.come(rank, socket, pid),
            Some(rank) => match &mut self.held {
                Some(held) => held.push((rank, socket)),
                None => self.give(rank, socket),
            },
            None => {}
        }
    }

    /// Gives a rank to the process behind `socket`, if nobody has it.
    pub(super) fn give(&mut self, rank: usize, socket: OwnedFd) {
        let free = self.ranks[rank].theirs.take_if(|theirs| {
            matches!(control::receive(theirs, false), Ok(Received::Message(Message::Welcome { .. }, _)))
        });
        if free.is_some() {
            let Rank { world, number, .. } = self.ranks[rank];
            let welcome = Message::Welcome { rank: number };
            if let Some(world) = &self.worlds[world] {
                let files = [Some(world.segment(number)), world.parents.as_ref()];
                let files: Vec<_> = files.into_iter().flatten().map(AsFd::as_fd).collect();
                // If the process is gone by now, so is the rank; its end is seen as any other.
                let _ = control::send_with(&socket, &welcome, &files);
            }
            self.ranks[rank].control = Some(socket);
            return;
        }
        self.listen(rank);
        let by = self.ranks[rank].owner.unwrap_or(self.ranks[rank].pid);
        let _ = control::send(&socket, &Message::Refused { by: by as u32 });
    }

    /// A rank has initialised MPI in process `pid`, if that is known.
    pub(super) fn hello(&mut self, number: usize, pid: Option<libc::pid_t>) {
        let rank = &mut self.ranks[number];
        rank.state = State::Initialised;
        rank.owner = rank.owner.or(pid);
        // Its welcome is taken. Without this end it is seen when the process closes its own.
        rank.theirs = None;
        // It learns who was lost before, also where it initialises MPI again.
        rank.told = 0;
        self.tell_lost_to(number);
        let rank = &mut self.ranks[number];
        if let Some(pid) = pid.filter(|pid| rank.alive && (rank.attended || rank.pid != *pid)) {
            let watch = watch(pid);
            let ended = matches!(watch, Err(Errno::SRCH));
            rank.mpi = Some((pid, watch.ok()));
            if ended {
                self.mpi_ended(number);
            }
        }
    }

    /// The process that initialised MPI for a rank has ended, though the one that was started for
    /// the rank, such as a shell, may live.
    pub(super) fn mpi_ended(&mut self, number: usize) {
        self.listen(number);
        let Some((pid, _)) = self.ranks[number].mpi.take() else {
            return;
        };
        if self.ranks[number].state == State::Initialised {
            let name = self.named(number, pid);
            self.missed(number, name);
        }
        self.closed(number);
        if !self.ranks[number].alive {
            // The one that was started for it has ended before.
            self.forget(number);
        }
    }
}

/// A descriptor that becomes readable when the process ends.
fn watch(pid: libc::pid_t) -> rustix::io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(Errno::INVAL)?;
    rustix::process::pidfd_open(pid, PidfdFlags::empty())
}
