//! What works between this process and each other one.

use super::shared::Shared;
use super::{Error, Mechanism, Standing};
use crate::cma::{self, Failed, Pid, Why};
use std::sync::atomic::{AtomicBool, AtomicU8};
use tern_atomics::Ordering;

const UNPROVEN: u8 = 0;
const WORKS: u8 = 1;
const LEFT: u8 = 2;

/// One other process.
#[derive(Default)]
pub struct Peer {
    cma: AtomicU8,
    /// The kernel module has copied from it or into it.
    module: AtomicBool,
    /// That its memory cannot be mapped has been said.
    unmapped: AtomicBool,
}

impl Shared {
    /// The process number under which this process reaches a member by CMA, if it does: proved by a
    /// transfer at the first question.
    pub fn cma(&self, member: u32) -> Option<Pid> {
        if !self.options.cma {
            return None;
        }
        let peer = &self.peers[member as usize];
        let pid = || self.tables.member(member).pid.load(Ordering::Relaxed) as Pid;
        // Acquire: pairs with the release in `prove`. What another thread has proved is a process number that it had read.
        match peer.cma.load(Ordering::Acquire) {
            WORKS => Some(pid()),
            UNPROVEN => self.prove(member).then(pid),
            _ => None,
        }
    }

    fn prove(&self, member: u32) -> bool {
        let block = self.tables.member(member);
        // Acquire: pairs with the release in `sit_down`.
        if block.joined.load(Ordering::Acquire) == 0 {
            return false;
        }
        let pid = block.pid.load(Ordering::Relaxed) as Pid;
        let (address, nonce) = (block.beacon.load(Ordering::Relaxed), block.nonce.load(Ordering::Relaxed));
        match cma::probe(pid, address, nonce) {
            Ok(()) => {
                // Release: pairs with the acquire in `cma`.
                self.peers[member as usize].cma.store(WORKS, Ordering::Release);
                true
            }
            // It is asked then, and found not to answer. One that lives without having this number is in
            // another pid namespace.
            Err(failed) if failed.why == Why::Gone && !self.seat.is_alive(member) => false,
            Err(failed) => {
                self.leave_cma(member, failed);
                false
            }
        }
    }

    /// After a transfer has failed: an error, or nothing when it is to be tried by other means.
    pub fn cma_failed(&self, member: u32, failed: Failed) -> Result<(), Error> {
        match failed.why {
            // The number was proved to be the right one.
            Why::Gone => Err(Error::PeerGone { member }),
            Why::BadAddress => Err(Error::Fault { member }),
            Why::Refused | Why::Stranger | Why::Other => {
                self.leave_cma(member, failed);
                Ok(())
            }
        }
    }

    /// The module has copied memory of that member's.
    pub fn module_works(&self, member: u32) {
        self.peers[member as usize].module.store(true, Ordering::Relaxed);
    }

    fn leave_cma(&self, member: u32, failed: Failed) {
        if self.peers[member as usize].cma.swap(LEFT, Ordering::Relaxed) != LEFT {
            tern_settings::warn!(
                "memory of process {member} is not copied directly (process_vm_readv): {failed}; \
                 two copies through shared memory do it, more slowly"
            );
        }
    }

    /// Says once for each member that its memory cannot be mapped here.
    pub fn not_mapped(&self, member: u32, error: &std::io::Error) {
        if !self.peers[member as usize].unmapped.swap(true, Ordering::Relaxed) {
            tern_settings::warn!(
                "shared memory of process {member} is not mapped here: {error}; its bytes go by other means, more slowly"
            );
        }
    }

    /// How a mechanism stands with a member.
    pub fn standing(&self, member: u32, mechanism: Mechanism) -> Standing {
        let peer = &self.peers[member as usize];
        match mechanism {
            Mechanism::Mapped if !self.options.mapped => Standing::Off,
            Mechanism::Mapped if peer.unmapped.load(Ordering::Relaxed) => Standing::Left,
            Mechanism::Mapped | Mechanism::Pipe => Standing::Works,
            Mechanism::KernelModule if !self.options.module => Standing::Off,
            Mechanism::KernelModule if self.module.is_none() => Standing::Absent,
            Mechanism::KernelModule if peer.module.load(Ordering::Relaxed) => Standing::Works,
            Mechanism::KernelModule => Standing::Unproven,
            Mechanism::Cma if !self.options.cma => Standing::Off,
            Mechanism::Cma => match peer.cma.load(Ordering::Relaxed) {
                WORKS => Standing::Works,
                LEFT => Standing::Left,
                _ => Standing::Unproven,
            },
        }
    }
}
