//! Starts the ranks of a job.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tern_pmi::control::{self, Message};
use tern_pmi::{Descriptor, Nodes, TICKET, Ticket};

use super::{Job, Rank, World};
use crate::input;
use crate::options::Stdin;
use crate::output::{Output, Writer};
use crate::plan::Plan;
use crate::planned::{Planned, entry};
use crate::program::{NOT_EXECUTABLE, NOT_FOUND};
use crate::rank::State;
use crate::refused;
use crate::signals::{self, Signals};
use crate::spawn::{self, Process};
use crate::uplink::Uplink;

/// The numbers that a rank finds its descriptors under: out of the way of scripts, which use
/// low ones, and below 64, where the kernel's first table of descriptors ends.
const SEGMENT: RawFd = 60;
const CONTROL: RawFd = 61;
const PARENTS: RawFd = 62;

/// A rank to start.
pub(super) struct Start<'a> {
    pub world: usize,
    pub number: u32,
    pub program: &'a Planned,
    /// Number of the program among those of its world.
    pub appnum: usize,
    pub cores: Option<&'a [usize]>,
}

impl<'a> Job<'a> {
    /// Everything but the processes.
    pub(super) fn new(
        plan: &'a Plan, mask: libc::sigset_t, keeper: Option<OwnedFd>, uplink: Option<Uplink>,
    ) -> Result<Job<'a>, String> {
        let files = raise_file_limit(plan.ranks.len() + plan.nodes.count() as usize);
        let mut world = World::new(plan.job_id, plan.nodes.clone(), None)?;
        world.simulated = plan.simulated;
        Ok(Job {
            plan,
            mask,
            files,
            worlds: vec![Some(Box::new(world))],
            names: Vec::new(),
            joining: Vec::new(),
            ranks: Vec::with_capacity(plan.ranks.len()),
            output: Output::new(&plan.streams),
            inputs: Vec::new(),
            signals: Signals::new().map_err(|errno| refused::told("signalfd4", errno))?,
            keeper,
            debugger: None,
            held: plan.held.then(Vec::new),
            kept: None,
            uplink,
            orders: 0,
            idle_after: None,
            dismissed: false,
            naming: Vec::new(),
            code: None,
            losses: Default::default(),
            history: Default::default(),
            ending: None,
            deadline: plan.timeout.map(|timeout| Instant::now() + timeout),
            linger: None,
            grace: tern_settings::GRACE.get(),
            stall: Default::default(),
        })
    }

    /// Starts all ranks, or as many as it can until one fails, which ends the job.
    pub(super) fn start(&mut self) {
        let plan = self.plan;
        for (rank, &appnum) in plan.ranks.iter().enumerate() {
            let program = &plan.programs[appnum];
            let cores = plan.bound.as_ref().map(|bound| bound[rank].as_slice());
            let start = Start { world: 0, number: plan.numbers[rank], program, appnum, cores };
            if let Err((errno, step)) = self.start_rank(&start) {
                let name = &program.name;
                let code = match errno {
                    Errno::NOENT => NOT_FOUND,
                    Errno::ACCESS | Errno::NOEXEC => NOT_EXECUTABLE,
                    _ => 1,
                };
                return self.fail(code, &format!("cannot start rank {} ({name}): {step}{errno}", start.number));
            }
            self.report(rank);
        }
        self.tell_debugger();
        self.report_bindings();
        if !self.inputs.is_empty() {
            let inputs = std::mem::take(&mut self.inputs);
            let addressed = self.plan.streams.stdin == Stdin::Addressed;
            let reader = |(rank, pipe)| input::Reader::new(std::fs::File::from(pipe), addressed.then_some(rank));
            input::copy(std::io::stdin(), inputs.into_iter().map(reader).collect());
        }
    }

    /// Starts a rank of a world that exists.
    pub(super) fn start_rank(&mut self, start: &Start<'_>) -> Result<(), (Errno, String)> {
        signals::with_all_blocked(|| self.start_quietly(start))
    }

    fn start_quietly(&mut self, start: &Start<'_>) -> Result<(), (Errno, String)> {
        let at = |step: &'static str| move |errno: Errno| (errno, step.to_owned());
        let program = start.program;
        let (control, theirs) = sockets(start.number).map_err(at("socket: "))?;
        let own = self.own_variables(start, &theirs).map_err(at("fstat: "))?;
        let input = self.input(start).map_err(at("what it is to read: "))?;
        // Nobody can be bound to cores that are only shown: it is told where it counts as bound.
        let shown = start.cores.filter(|_| tern_node::is_shown());
        let shown = shown.map(|cores| entry(OsStr::new(tern_node::BOUND), OsStr::new(&tern_node::list(cores))));
        let told = own.iter().chain(&self.plan.costs).chain(&shown);
        let env: Vec<&CStr> = program.env.iter().chain(told).map(CString::as_c_str).collect();
        let mut fds: Vec<(RawFd, RawFd)> = Vec::with_capacity(5);
        fds.extend(input.as_ref().map(|input| (input.as_raw_fd(), 0)));
        let node = self.world(start.world).nodes.of(start.number);
        let [out, err] = self.output.add(Writer { world: start.world, rank: start.number, node })?;
        fds.extend(out.as_ref().map(|out| (out.as_raw_fd(), 1)));
        match &err {
            Some(err) => fds.push((err.as_raw_fd(), 2)),
            None if self.plan.streams.merge => fds.push((1, 2)),
            None => {}
        }
        let world = self.world(start.world);
        fds.extend([(theirs.as_raw_fd(), CONTROL), (world.segment(start.number).as_raw_fd(), SEGMENT)]);
        if let Some(parents) = &world.parents {
            fds.push((parents.as_raw_fd(), PARENTS));
        }
        let pid = spawn::spawn(&Process {
            file: &program.file,
            args: &program.args,
            env: &env,
            wdir: program.wdir.as_deref(),
            fds: &fds,
            cores: start.cores.filter(|_| shown.is_none()),
            mask: &self.mask,
            files: self.files,
        })
        .map_err(at(""))?;
        let theirs = Some(theirs);
        self.ranks.push(Rank {
            world: start.world,
            job: self.world(start.world).job_id,
            number: start.number,
            program: self.text_of(&program.name),
            attended: false,
            recalled: false,
            state: State::Started,
            pid,
            alive: true,
            control: Some(control),
            theirs,
            mpi: None,
            owner: None,
            placed: false,
            told: 0,
            activity: None,
        });
        Ok(())
    }

    /// The name of a program, which the last rank most likely has too.
    fn text_of(&self, name: &str) -> Rc<str> {
        let last = self.ranks.last().filter(|rank| &*rank.program == name);
        last.map_or_else(|| name.into(), |rank| rank.program.clone())
    }

    /// What a rank reads from, if not mpiexec's own standard input.
    fn input(&mut self, start: &Start<'_>) -> rustix::io::Result<Option<OwnedFd>> {
        match self.plan.streams.stdin {
            Stdin::Rank(rank) if (start.world, start.number) == (0, rank) => Ok(None),
            shared if shared.is_shared() && start.world == 0 => {
                let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
                self.inputs.push((start.number, write));
                Ok(Some(read))
            }
            _ => {
                let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
                rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty()).map(Some)
            }
        }
    }

    /// A world that has not ended.
    pub(super) fn world(&self, number: usize) -> &World {
        self.worlds[number].as_ref().expect("the world has not ended")
    }

    /// The variables that differ by rank.
    fn own_variables(&self, start: &Start<'_>, theirs: &OwnedFd) -> rustix::io::Result<[CString; 3]> {
        let world = self.world(start.world);
        let (rank, size) = (start.number, world.nodes.size());
        let parents = world.parents.as_ref();
        let ticket = Ticket {
            rank,
            size,
            job_id: world.job_id,
            launcher: std::process::id(),
            nodes: world.nodes.clone(),
            simulated: world.simulated,
            held: self.plan.held && start.world == 0,
            address: self.uplink.as_ref().and_then(|uplink| uplink.address),
            segment: Descriptor::of(world.segment(rank), SEGMENT)?,
            parents: parents.map(|fd| Descriptor::of(fd, PARENTS)).transpose()?,
            control: Descriptor::of(theirs, CONTROL)?,
            cores: self.kept.as_ref().map_or(self.plan.usable, |kept| kept.cores) as u32,
            appnum: start.appnum as u32,
            app_size: start.program.count,
            universe_size: self.plan.universe.unwrap_or(size.max(self.plan.usable as u32)),
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
    pub(super) fn report(&mut self, rank: usize) {
        if self.plan.verbose {
            let name = self.named(rank, self.ranks[rank].pid);
            self.say(&format!("{name} is started"));
        }
        if self.plan.report_bindings && self.ranks[rank].world > 0 {
            let line = self.binding(rank);
            self.say(&line);
        }
    }

    /// Tells the user where the ranks run, if asked to.
    fn report_bindings(&mut self) {
        if !self.plan.report_bindings {
            return;
        }
        let lines: Vec<String> = (0..self.ranks.len()).map(|rank| self.binding(rank)).collect();
        match &self.uplink {
            Some(uplink) => uplink.bindings(lines),
            None => lines.iter().for_each(|line| self.say(line)),
        }
    }

    /// Where a rank runs.
    fn binding(&self, rank: usize) -> String {
        let name = self.named(rank, self.ranks[rank].pid);
        let bound = self.plan.bound.as_ref().filter(|_| self.ranks[rank].world == 0);
        let Some(bound) = bound else {
            return format!("{name} is not bound (cores {})", tern_node::list(&self.plan.cores));
        };
        let picture = self.plan.shape.as_ref().map_or(String::new(), |shape| shape.picture(&bound[rank]));
        format!("{name} is bound to cores {} {picture}", tern_node::list(&bound[rank]))
    }
}

/// The two ends of a rank's socket, with its welcome waiting in the second.
fn sockets(rank: u32) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    control::ask_for_sender(&ours)?;
    control::send(&ours, &Message::Welcome { rank })?;
    Ok((ours, theirs))
}

impl World {
    /// Processes that will be started; `parents` is what they share with those that spawned them.
    ///
    /// Errors: a text that names the call that was refused.
    pub(super) fn new(job_id: u64, nodes: Nodes, parents: Option<OwnedFd>) -> Result<World, String> {
        // Not below the numbers above, so that no step of a start overwrites what a later one needs.
        let above = |fd: OwnedFd| {
            let copy = rustix::io::fcntl_dupfd_cloexec(fd, PARENTS + 1);
            copy.map_err(|errno| refused::told("fcntl(F_DUPFD_CLOEXEC)", errno))
        };
        let memory = || tern_pmi::new_segment().map_err(|errno| refused::told("memfd_create", errno));
        let segments = (0..nodes.count()).map(|_| above(memory()?));
        Ok(World {
            job_id,
            segments: segments.collect::<Result<_, _>>()?,
            addresses: vec![None; nodes.size() as usize],
            nodes,
            simulated: false,
            parents: parents.map(above).transpose()?,
            listener: listener(&control::address(job_id)).ok(),
        })
    }

    /// The shared memory of a rank's node.
    pub(super) fn segment(&self, rank: u32) -> &OwnedFd {
        &self.segments[self.nodes.of(rank) as usize]
    }
}

/// Where processes connect whose inherited socket was closed.
pub(super) fn listener(address: &SocketAddrUnix) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::bind(&socket, address)?;
    rustix::net::listen(&socket, 128)?;
    Ok(socket)
}

/// Makes room for the descriptors of a large job; gives the limit from before, for the ranks, if it
/// had to be raised.
pub(super) fn raise_file_limit(ranks: usize) -> Option<libc::rlimit> {
    let needed = 128 + ranks as u64 * 8;
    // SAFETY: plain data that the call fills.
    let before = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit
    };
    if before.rlim_cur >= needed {
        return None;
    }
    let raised = libc::rlimit { rlim_cur: needed.min(before.rlim_max), ..before };
    // SAFETY: reads the struct. If it fails, the start of some rank does, with a message.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) };
    Some(before)
}
