//! Starts the ranks of a job.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tern_pmi::control::{self, Message};
use tern_pmi::{Descriptor, TICKET, Ticket};

use super::{Job, Rank};
use crate::output::Output;
use crate::plan::{Plan, entry};
use crate::program::{NOT_EXECUTABLE, NOT_FOUND};
use crate::rank::State;
use crate::signals::{self, Signals};
use crate::spawn::{self, Process};

/// The numbers that a rank finds its two descriptors under: out of the way of scripts, which use
/// low ones, and below 64, where the kernel's first table of descriptors ends.
const SEGMENT: RawFd = 60;
const CONTROL: RawFd = 61;

impl<'a> Job<'a> {
    /// Everything but the processes.
    pub(super) fn new(plan: &'a Plan, keeper: OwnedFd) -> rustix::io::Result<Job<'a>> {
        let job_id = tern_pmi::new_job_id();
        let files = raise_file_limit(plan);
        // Not below the numbers above, so that no step of a start overwrites what a later one needs.
        let segment = rustix::io::fcntl_dupfd_cloexec(tern_pmi::new_segment()?, CONTROL + 1)?;
        Ok(Job {
            plan,
            job_id,
            files,
            segment,
            listener: listener(job_id).ok(),
            joining: Vec::new(),
            ranks: Vec::with_capacity(plan.ranks.len()),
            output: Output::new(),
            signals: Signals::new()?,
            keeper,
            code: None,
            ending: None,
            deadline: plan.timeout.map(|timeout| Instant::now() + timeout),
            grace: tern_settings::GRACE.get(),
            stall: Default::default(),
        })
    }

    /// Starts all ranks, or as many as it can until one fails, which ends the job.
    pub(super) fn start(&mut self, mask: &libc::sigset_t) {
        let files = self.files;
        let null = match rustix::fs::open(
            "/dev/null",
            rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        ) {
            Ok(null) => null,
            Err(errno) => return self.fail(1, &format!("cannot open /dev/null: {errno}")),
        };
        for rank in 0..self.plan.ranks.len() {
            let started = signals::with_all_blocked(|| self.start_rank(rank, mask, &null, files));
            if let Err((errno, step)) = started {
                let name = &self.plan.programs[self.plan.ranks[rank]].name;
                let code = match errno {
                    Errno::NOENT => NOT_FOUND,
                    Errno::ACCESS | Errno::NOEXEC => NOT_EXECUTABLE,
                    _ => 1,
                };
                return self.fail(
                    code,
                    &format!("cannot start rank {rank} ({name}): {step}{errno}"),
                );
            }
            self.report(rank);
        }
    }

    fn start_rank(
        &mut self,
        rank: usize,
        mask: &libc::sigset_t,
        null: &OwnedFd,
        files: Option<libc::rlimit>,
    ) -> Result<(), (Errno, &'static str)> {
        let program = &self.plan.programs[self.plan.ranks[rank]];
        let (control, theirs) = sockets(rank as u32).map_err(|errno| (errno, "socket: "))?;
        let own = self
            .own_variables(rank, &theirs)
            .map_err(|errno| (errno, "fstat: "))?;
        let env: Vec<&CStr> = program
            .env
            .iter()
            .chain(&own)
            .chain(&self.plan.costs)
            .map(CString::as_c_str)
            .collect();
        let mut fds: Vec<(RawFd, RawFd)> = Vec::with_capacity(5);
        if rank > 0 {
            fds.push((null.as_raw_fd(), 0));
        }
        let pipes = match self.plan.tag_output {
            true => Some(self.output.add(rank).map_err(|errno| (errno, "pipe: "))?),
            false => None,
        };
        if let Some([out, err]) = &pipes {
            fds.extend([(out.as_raw_fd(), 1), (err.as_raw_fd(), 2)]);
        }
        fds.extend([
            (theirs.as_raw_fd(), CONTROL),
            (self.segment.as_raw_fd(), SEGMENT),
        ]);
        let pid = spawn::spawn(&Process {
            file: &program.file,
            args: &program.args,
            env: &env,
            wdir: program.wdir.as_deref(),
            fds: &fds,
            cores: self.plan.bound.as_ref().map(|bound| bound[rank].as_slice()),
            mask,
            files,
        })
        .map_err(|errno| (errno, ""))?;
        let theirs = Some(theirs);
        self.ranks.push(Rank {
            state: State::Started,
            pid,
            alive: true,
            control: Some(control),
            theirs,
            mpi: None,
            activity: None,
        });
        Ok(())
    }

    /// The variables that differ by rank.
    fn own_variables(&self, rank: usize, theirs: &OwnedFd) -> rustix::io::Result<[CString; 3]> {
        let size = self.plan.ranks.len() as u32;
        let appnum = self.plan.ranks[rank];
        let ticket = Ticket {
            rank: rank as u32,
            size,
            job_id: self.job_id,
            launcher: std::process::id(),
            segment: Descriptor::of(&self.segment, SEGMENT)?,
            control: Descriptor::of(theirs, CONTROL)?,
            cores: self.plan.usable as u32,
            appnum: appnum as u32,
            app_size: self.plan.programs[appnum].count,
            universe_size: size,
            warned: self.plan.warned.clone(),
        };
        let variable = |name: &str, value: String| entry(OsStr::new(name), OsStr::new(&value));
        Ok([
            variable(TICKET, ticket.to_string()),
            variable("TERN_RANK", rank.to_string()),
            variable("TERN_SIZE", size.to_string()),
        ])
    }

    /// Tells the user of a rank that was started, if asked to.
    fn report(&mut self, rank: usize) {
        if !self.plan.verbose && !self.plan.report_bindings {
            return;
        }
        let name = self.named(rank, self.ranks[rank].pid);
        if self.plan.verbose {
            self.say(&format!("{name} is started"));
        }
        if self.plan.report_bindings {
            let where_ = match &self.plan.bound {
                Some(bound) => format!("is bound to cores {}", tern_node::list(&bound[rank])),
                None => format!("is not bound (cores {})", tern_node::list(&self.plan.cores)),
            };
            self.say(&format!("{name} {where_}"));
        }
    }
}

/// The two ends of a rank's socket, with its welcome waiting in the second.
fn sockets(rank: u32) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    control::ask_for_sender(&ours)?;
    control::send(&ours, &Message::Welcome { rank })?;
    Ok((ours, theirs))
}

/// Where processes connect whose inherited socket was closed.
fn listener(job_id: u64) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::bind(&socket, &control::address(job_id))?;
    rustix::net::listen(&socket, 128)?;
    Ok(socket)
}

/// Makes room for the descriptors of a large job; gives the limit from before, for the ranks, if it
/// had to be raised.
fn raise_file_limit(plan: &Plan) -> Option<libc::rlimit> {
    let needed = 128 + plan.ranks.len() as u64 * 5;
    // SAFETY: plain data that the call fills.
    let before = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit
    };
    if before.rlim_cur >= needed {
        return None;
    }
    let raised = libc::rlimit {
        rlim_cur: needed.min(before.rlim_max),
        ..before
    };
    // SAFETY: reads the struct. If it fails, the start of some rank does, with a message.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) };
    Some(before)
}
