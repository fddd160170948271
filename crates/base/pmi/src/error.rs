//! Why a process cannot take its place in a job, with the remedy.

use std::fmt;

use rustix::io::Errno;

/// Why [`crate::init`] failed. The text says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Another process has the rank that the environment gives this one.
    Taken {
        /// The rank.
        rank: u32,
        /// The process that has it, if known.
        by: Option<u32>,
    },
    /// A launcher that leaves no way to reach it started several processes.
    Foreign {
        /// Its name.
        launcher: &'static str,
        /// The variable that tells, with its value.
        evidence: String,
        /// How the program is to be started.
        remedy: &'static str,
    },
    /// The launcher does not do what PMI-1 asks of it, or PMIx cannot be had.
    Protocol {
        /// Why.
        text: String,
    },
    /// The keeper of this node cannot be started, or cannot be reached.
    Keeper {
        /// Why.
        text: String,
    },
    /// The ticket in the environment is damaged.
    Ticket {
        /// The part that is missing or wrong.
        key: &'static str,
        /// The whole value.
        text: String,
    },
    /// The launcher cannot be reached.
    Launcher {
        /// Its process number.
        pid: u32,
        /// Why.
        errno: Errno,
    },
    /// No shared memory.
    Segment {
        /// Why.
        errno: Errno,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Taken { rank, by } => {
                write!(f, "rank {rank} of this job is already taken")?;
                if let Some(pid) = by {
                    write!(f, " by process {pid}")?;
                }
                f.write_str(
                    ". A program that an MPI process starts cannot be the same rank. To run it as \
                     a world of its own, start it without the variable TERN_LAUNCH: \
                     env -u TERN_LAUNCH program",
                )
            }
            Error::Foreign { launcher, evidence, remedy } => write!(
                f,
                "this process was started by {launcher} as one of several ({evidence}), and there is no way to that \
                 launcher: each would be rank 0 of 1. Remedy: {remedy}"
            ),
            Error::Protocol { text } => write!(
                f,
                "cannot join the job of the launcher that has started this process: {text}. See \
                 docs/launchers.md; Tern's own mpiexec needs no other launcher"
            ),
            Error::Keeper { text } => {
                write!(f, "the keeper of this node, which Tern needs under another launcher than its own: {text}")
            }
            Error::Ticket { key, text } => write!(
                f,
                "the variable TERN_LAUNCH is damaged at {key:?} ({text:?}). It is set by Tern's \
                 mpiexec for each rank; start the program with the mpiexec of this version of \
                 Tern, or unset the variable"
            ),
            Error::Launcher { pid, errno } => write!(
                f,
                "cannot reach the launcher, process {pid}: {errno}. Either the job has ended, or \
                 this process runs in another network namespace and the descriptors that it had \
                 inherited were closed. Let the program that starts this one keep its inherited \
                 descriptors open; or unset TERN_LAUNCH to run as a world of one"
            ),
            Error::Segment { errno } => write!(
                f,
                "cannot make shared memory (memfd_create: {errno}). See the limits on open files \
                 (ulimit -n) and on memory, and whether the filter of a container (seccomp) allows the call"
            ),
        }
    }
}

impl std::error::Error for Error {}
