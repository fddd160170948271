//! Every setting, declared once: name, type, default, allowed values, meaning.
//!
//! To add one, add an entry here and run
//! `cargo run -q -p tern-settings --example settings-md > docs/settings.md`.

use std::time::Duration;

use crate::{Entry, Explain, OffRules, Scope, Setting, choice};

/// An hour in nanoseconds.
const HOUR: u64 = 3600 * 1_000_000_000;

choice! {
    /// How much Tern writes to the standard error.
    pub enum Level {
        /// What ends the job or makes a call fail.
        Error = "error",
        /// What works, but not as asked or not as well as it could.
        Warn = "warn",
        /// What Tern chose, once per job or communicator.
        Info = "info",
        /// What Tern does, for developers.
        Debug = "debug",
    }
}

choice! {
    /// How large messages move between two processes of a node.
    pub enum Mechanism {
        /// By the one that costs least.
        Auto = "auto",
        /// Two copies through shared cells.
        Pipe = "pipe",
        /// One copy by the kernel: process_vm_readv and process_vm_writev.
        Cma = "cma",
        /// As `cma`, by the kernel module /dev/tern where that is installed: memory is pinned once, and peers
        /// reach no other memory than what was declared. See docs/kernel-module.md.
        Module = "module",
        /// One copy between pages that both processes have mapped.
        Mapped = "mapped",
    }
}

choice! {
    /// Whether private memory that is sent from or received into often becomes shared memory, at
    /// the same addresses.
    pub enum Promote {
        /// Never.
        Off = "off",
        /// When it pays, and the program cannot tell.
        Auto = "auto",
        /// At the first use. For programs that call madvise on memory of malloc's for other than
        /// advice, or make processes past the C library, this is wrong.
        Always = "always",
    }
}

choice! {
    /// Who copies long messages of a node while the program goes on.
    pub enum Offload {
        /// The program's own calls.
        Off = "off",
        /// A thread, or the kernel module, in processes of one thread that have a core to spare.
        Auto = "auto",
        /// A thread, wherever the process runs.
        Thread = "thread",
        /// The kernel module, by its own threads, where it copies between the two processes.
        Module = "module",
        /// The same, by a DMA engine where the kernel has one.
        Dma = "dma",
    }
}

choice! {
    /// How messages above the eager limit travel to another node.
    pub enum Rendezvous {
        /// As the device finds best: by RDMA where the memory can be registered.
        Auto = "auto",
        /// The receiver reads them from the sender's memory.
        Rget = "rget",
        /// The sender writes them into the receiver's memory.
        Rput = "rput",
        /// Both copy.
        Packets = "packets",
    }
}

choice! {
    /// What carries messages between nodes.
    pub enum Network {
        /// A card where there is one, else TCP: first those of which libfabric knows more than libibverbs. Simulated nodes use the
        /// software card.
        Auto = "auto",
        /// Plain TCP sockets.
        Tcp = "tcp",
        /// Whatever libfabric reaches.
        Ofi = "ofi",
        /// RDMA by software, over TCP.
        Software = "software",
        /// RDMA by a card, through libibverbs.
        Rdma = "rdma",
        /// Pipes between simulated nodes: the example of docs/adding-a-device.md.
        Pipes = "pipes",
    }
}

choice! {
    /// How receives from other nodes are shown to their senders.
    pub enum TupleQ {
        /// As `write`.
        Auto = "auto",
        /// In a table of the sender's, which then writes into them.
        Write = "write",
        /// In a queue of the network card for each communicator, source and tag that is used often, to which the
        /// sender sends. Needs TERN_VERBS_TRANSPORT=xrc; else as `write`.
        Queues = "queues",
        /// Not at all.
        Off = "off",
    }
}

choice! {
    /// Which queue pairs a process holds with a network card.
    pub enum Transport {
        /// What pays. Today that is `rc`.
        Auto = "auto",
        /// One for each process that it sends to.
        Rc = "rc",
        /// One for each node, where the card has XRC: less memory when there are many processes.
        Xrc = "xrc",
    }
}

choice! {
    /// The error handler of the predefined communicators, and of calls before and after them (MPI 5.0 section 9.3).
    pub enum ErrorHandler {
        /// MPI_ERRORS_ARE_FATAL
        Fatal = "mpi_errors_are_fatal",
        /// MPI_ERRORS_ABORT
        Abort = "mpi_errors_abort",
        /// MPI_ERRORS_RETURN
        Return = "mpi_errors_return",
    }
}

choice! {
    /// The resource manager that gives mpiexec its hosts.
    pub enum Manager {
        /// The one whose job mpiexec is in.
        Auto = "auto",
        /// None: mpiexec uses what it is told.
        None = "none",
        /// Slurm.
        Slurm = "slurm",
        /// PBS and Torque.
        Pbs = "pbs",
        /// LSF.
        Lsf = "lsf",
        /// Grid Engine.
        Sge = "sge",
    }
}

choice! {
    /// What starts the agents of mpiexec on other hosts.
    pub enum Starter {
        /// That of the resource manager, else TERN_REMOTE_SHELL.
        Auto = "auto",
        /// The command of TERN_REMOTE_SHELL.
        Ssh = "ssh",
        /// Slurm's srun.
        Srun = "srun",
        /// LSF's blaunch.
        Blaunch = "blaunch",
        /// Grid Engine's qrsh.
        Qrsh = "qrsh",
        /// They all run on this machine.
        Fork = "fork",
    }
}

choice! {
    /// A rule of the policy, by which Tern decides how bytes go. `tern-policy` says what each of them does.
    pub enum PolicyRule {
        Habits = "habits",
        Copies = "copies",
        Segments = "segments",
        ExpectReady = "expect-ready",
        Lend = "lend",
        Stores = "stores",
        Demote = "demote",
        ReadInPlace = "read-in-place",
        Spread = "spread",
        Strangers = "strangers",
        GiveWay = "give-way",
        AskOwner = "ask-owner",
        GuardMode = "guard-mode",
        Promote = "promote",
        Declare = "declare",
        Frequent = "frequent",
        Rings = "rings",
        TurnColumns = "turn-columns",
    }
}

/// Declares the settings and the list of all of them.
/// `NAME: type = "VARIABLE", "default" [, smallest..=largest] [=> "category" [, Scope]]; ` with the meaning as
/// doc comment. The categories are those of the counters; without one it is "general", and without a
/// scope each process may change it until MPI is initialised.
macro_rules! settings {
    ($($(#[doc = $meaning:literal])+ $name:ident: $type:ty = $variable:literal, $default:literal $(, $min:literal ..= $max:expr)? $(=> $category:literal $(, $scope:ident)?)?;)+) => {
        $(
            $(#[doc = $meaning])+
            pub static $name: Setting<$type> = Setting::new(
                $variable,
                $default,
                [$($meaning),+].as_slice(),
                (0 $(+ $min)?, settings!(@max $($max)?)),
                settings!(@place $($category $($scope)?)?),
            );
        )+

        /// Every setting, in the order of the documentation.
        pub static ALL: &[&(dyn Entry + Sync)] = &[$(&$name),+];
    };
    (@max) => { 0 };
    (@max $max:expr) => { $max };
    (@place) => { ("general", Scope::Process) };
    (@place $category:literal) => { ($category, Scope::Process) };
    (@place $category:literal $scope:ident) => { ($category, Scope::$scope) };
}

settings! {
    /// Largest message, in bytes, that is sent at once without asking whether the receiver is
    /// ready. `auto`: the device chooses, and longer ones of calls that wait may go so to a receiver that is seen to wait.
    EAGER_LIMIT: Option<u64> = "TERN_EAGER_LIMIT", "auto", 0..=1 << 30 => "sending";

    /// Bytes of memory for messages that came before their receives. When they take more, their senders have to ask before they
    /// send on, until half of it is free again. A standard send may then wait for its receive. A message counts 128 bytes
    /// beside its own. `auto`: 64 MiB, doubled whenever they are reached and as much again is free for each rank of the
    /// machine. Free is half of the memory that the machine, the control groups and ulimit -v leave by then.
    UNEXPECTED: Option<u64> = "TERN_UNEXPECTED", "auto", 0..=1 << 50 => "receiving";

    /// How messages above the eager limit travel to another node. Where the way asked for is not possible,
    /// they go in packets.
    RENDEZVOUS: Rendezvous = "TERN_RENDEZVOUS", "auto" => "sending", Job;

    /// Bytes of memory that may stay registered with a network card for the next transfer. Registrations are
    /// given up when the program unmaps their memory. 0: registered for one transfer each.
    REGISTERED: u64 = "TERN_REGISTERED", "4294967296", 0..=1 << 50 => "sending";

    /// How receives from other nodes are shown to their senders, who then fill them while the receiver computes.
    TUPLEQ: TupleQ = "TERN_TUPLEQ", "auto" => "publishing", Job;

    /// Queues of the network card for TERN_TUPLEQ=queues, at most; the one that was used least makes room for another.
    TUPLEQ_QUEUES: u64 = "TERN_TUPLEQ_QUEUES", "64", 1..=65536 => "publishing";

    /// Smallest receive, in bytes, that is shown to a sender on another node, and smallest message that looks for
    /// one.
    TUPLEQ_THRESHOLD: u64 = "TERN_TUPLEQ_THRESHOLD", "8192", 1..=1 << 40 => "publishing", Job;

    /// Messages to other nodes of up to so many bytes are copied by their sender when they find their receive, so that it
    /// goes on at once. Longer ones are written from where they lie, and the sender waits for their end. 0: none
    /// is copied.
    TUPLEQ_COPY: u64 = "TERN_TUPLEQ_COPY", "16384", 0..=1 << 24 => "publishing";

    /// Whether buffers that are often sent from to other nodes are registered with the network card, so that short
    /// messages leave from there without a copy.
    FREQUENT: bool = "TERN_FREQUENT", "on" => "sending";

    /// At which part of the number of uses from which on that pays, in percent, a buffer is registered. 0: at the
    /// first use, whether it pays or not.
    FREQUENT_SHARE: u64 = "TERN_FREQUENT_SHARE", "25", 0..=1000 => "sending";

    /// How often a waiting process looks for progress before it starts to yield its core. `auto`:
    /// chosen from the number of ranks and of cores that they may use.
    SPIN: Option<u64> = "TERN_SPIN", "auto", 0..=1 << 40 => "waiting";

    /// How often a waiting process yields its core before it sleeps. `auto`: chosen from the
    /// number of ranks and of cores that they may use.
    YIELD: Option<u64> = "TERN_YIELD", "auto", 0..=1 << 40 => "waiting";

    /// Bytes of shared memory for the small messages from one process to another. `auto`: the
    /// device chooses from the number of ranks.
    RING_SIZE: Option<u64> = "TERN_RING_SIZE", "auto", 4096..=1 << 30 => "sending", Job;

    /// Forces the way of a collective operation, for tests and tuning: pairs of operation and way, such as
    /// `bcast=binomial,allreduce=in_place`. `lines`: control lines. `tree`: control lines along a tree of caches, NUMA nodes and packages. `in_place`: members read each other's memory where it lies. `shares`: each combines a
    /// share of the vectors. `region`: members copy from each other's memory, or to the root's, in whatever form there is. `levels`: two levels. Any
    /// other name is an algorithm of messages, without control lines and without two levels. Where a way cannot serve a call, the usual choice
    /// is taken. Empty: Tern chooses.
    COLL: &'static str = "TERN_COLL", "" => "collectives", Job;

    /// Whether small collective operations inside a node go over shared control lines instead of
    /// messages.
    COLL_LINES: bool = "TERN_COLL_LINES", "on" => "collectives", Job;

    /// The only mechanism that moves messages of 1 KiB and more inside a node, for tests. A message
    /// for which it is not possible is piped. One-sided accesses go by it too, whatever their length;
    /// those to memory of MPI_Win_allocate_shared are always mapped. `auto`: the one that costs least.
    MECHANISM: Mechanism = "TERN_MECHANISM", "auto" => "moving";

    /// Messages of so many bytes and more between private memories of a node are copied once, by the kernel, if it copies
    /// between the two processes; shorter ones twice, through shared memory. It holds while both processes wait, and in steps of a
    /// quarter of a power of two, from 4k on. `auto`: what costs least; where no costs were measured, a rule by the sizes of the caches.
    SINGLE_COPY_FROM: Option<u64> = "TERN_SINGLE_COPY_FROM", "auto", 0..=1 << 40 => "moving";

    /// The length for blocks of collectives from which on one copy is made: of broadcasts (from 32k on), scatters and gathers
    /// (from 16k on) among three processes and more by a region of the root's memory; where all read from all, from 8k on. `auto`:
    /// what costs least; where no costs were measured, with a root one copy from 128k on.
    COLL_SINGLE_COPY_FROM: Option<u64> = "TERN_COLL_SINGLE_COPY_FROM", "auto", 0..=1 << 40 => "moving";

    /// What Tern takes its costs to be when it chooses how to move messages. `auto`: measured
    /// once on a machine, and then kept in a file; `default`: figures that Tern brings along; else
    /// the name of a file that tern-tune has written.
    COSTS: &'static str = "TERN_COSTS", "auto" => "moving";

    /// What carries messages between nodes. All processes of a job use the same.
    NETWORK: Network = "TERN_NETWORK", "auto" => "moving", Job;

    /// The provider of libfabric that TERN_NETWORK=ofi uses, as libfabric names it: efa, `tcp;ofi_rxm`. `auto`: the first that is
    /// there of cxi, efa, opx, psm3 and `verbs;ofi_rxm`. For other networks Tern has devices of its own.
    OFI_PROVIDER: &'static str = "TERN_OFI_PROVIDER", "auto" => "moving", Job;

    /// The file of libfabric that is loaded. `auto`: libfabric.so.1, where the system finds it.
    LIBFABRIC: &'static str = "TERN_LIBFABRIC", "auto" => "moving";

    /// The network card, and its port if it has several, as `mlx5_0:1`; for the software network the address of an
    /// interface, as 10.0.0.1. For TCP a list of names of interfaces, addresses and networks, as `eth0,10.1.0.0/16`; with `^` in
    /// front all others serve, as `^docker0`. Long messages over TCP take all interfaces that a list without `^` names, together.
    /// `auto`: the first card that is connected; the interface by which mpiexec is reached. TCP tries all of a peer's addresses
    /// in turn, until the peer has proven itself at one.
    INTERFACE: &'static str = "TERN_INTERFACE", "auto" => "moving";

    /// Ports on which processes, and mpiexec for those it starts on other hosts, listen for TCP connections of the job, as 20000-20100: what a
    /// firewall lets pass. `auto`: any. A host needs as many as it has processes, and one more where mpiexec runs.
    PORT_RANGE: &'static str = "TERN_PORT_RANGE", "auto" => "moving";

    /// Ports of the network card that carry long messages together, in stripes. The software network has as many as are asked
    /// for; where a card has fewer, those that it has are used.
    PORTS: u64 = "TERN_PORTS", "1", 1..=8 => "moving", Job;

    /// Which link the software network behaves like, for studies: `none` for as fast as it can, `sdr-pcix`, `ddr`,
    /// `qdr`, `hdr` or `ndr`. With a number behind it, as in `ddr/16`, it is slower by that in all respects.
    LINK: &'static str = "TERN_LINK", "none" => "moving", Job;

    /// Bytes of the buffers by which a network moves short messages, and so of its largest packet.
    PACKET: u64 = "TERN_PACKET", "8192", 512..=1 << 20 => "sending", Job;

    /// A header that is much like the one before it on the same connection travels as what differs.
    HEADER_CACHE: bool = "TERN_HEADER_CACHE", "on" => "sending", Job;

    /// Packets that a process of another node may send here ahead of what has been received.
    CREDITS: u64 = "TERN_CREDITS", "32", 3..=4096 => "receiving", Job;

    /// The most packets of other nodes that a process has memory for at once. Processes that all send as much as they
    /// may share it; what finds none is sent again.
    RECEIVES: u64 = "TERN_RECEIVES", "1024", 64..=65536 => "receiving";

    /// The most processes of other nodes that may write short packets into a ring in this process's memory, of 32 cells.
    RINGS: u64 = "TERN_RINGS", "16", 0..=65536 => "receiving";

    /// Short packets after which a process is offered a ring.
    RINGS_AFTER: u64 = "TERN_RINGS_AFTER", "64", 1..=1 << 30 => "receiving";

    /// Bytes of a cell of a ring, and so of the longest packet that goes into one.
    RINGS_CELL: u64 = "TERN_RINGS_CELL", "1024", 64..=16384 => "receiving";

    /// Whether a process has a connection to each process that it sends to, or to each node. Where the card has no XRC, or
    /// the job goes on without lost processes (TERN_FT), it is to each process.
    TRANSPORT: Transport = "TERN_VERBS_TRANSPORT", "auto" => "moving", Job;

    /// Faults of the software network, for tests, with commas between. `cut-after=N`: each queue pair loses its connection
    /// after N messages. `cut-port=P/N`: each one on port P fails after N messages. `rnr=N/M`: of M sends that come, N find
    /// no receive. `access=N/M`: of M accesses of peers to memory, N are refused. `full=N/M`: of M requests that are posted
    /// to send, N find the queue full. `no-registration=N/M`: of M registrations, N are refused. `locked=BYTES`: no more
    /// memory is registered, with K, M or G; over libfabric too. `slow=DURATION`: each message that comes waits so long, as
    /// 50us or 2ms. `early-room`: a queue has room again before completions are polled. `pins`: registrations hold pages, as
    /// those of cards do. `tcp`: peers of this machine are reached by TCP and not through shared memory.
    FAULTS: &'static str = "TERN_FAULTS", "" => "moving";

    /// Chaos by a seed, for tests: a number, and behind it parts with commas between. The same value does the same again, as far as the
    /// program does. `delay=DURATION`: processes stop for up to so long, 100us unless told. `reorder=N/M`: at N of M chances what peers
    /// have sent is kept back while others pass it, 1/8 unless told. `refuse=N/M`: of M requests that may be refused, N are, 1/8 unless
    /// told. `kill=N/M`: of M processes N die, each at one of its first 1000 events; `kill=N/M@E`: at one of its first E.
    /// `kill=RANK@E`: this one dies at event E. With `0` a part is off. docs/debugging.md says more.
    CHAOS: &'static str = "TERN_CHAOS", "" => "moving", Job;

    /// Rank 0 prints which way messages of each size will move, what the other ways would
    /// cost, and the rules of the policy, with those that are off. `used`: it prints at the end which ways messages,
    /// one-sided accesses and collectives have taken, how often, and why. Accesses take no short way then.
    EXPLAIN: Explain = "TERN_EXPLAIN", "off" => "moving", Job;

    /// Rules of the policy that are switched off, for studies: what such a rule would decide takes its plain default then.
    /// docs/policy.md says what each of them does. TERN_EXPLAIN lists them.
    POLICY: OffRules = "TERN_POLICY", "" => "policy", Job;

    /// Whether private memory of malloc's that messages use often becomes shared memory in place. Other
    /// processes of the node then copy from and to it without the kernel's help. `auto`: where it pays,
    /// in processes with one thread whose programs cannot tell. `always`: at the first use, and also in
    /// programs that call madvise or the like. The user must then know that they do not call it with
    /// MADV_DONTNEED on memory of malloc's.
    PROMOTE: Promote = "TERN_PROMOTE", "auto" => "promotion";

    /// Whether a thread of the library copies long messages inside a node, so that the program computes meanwhile: those of sends that the
    /// program does not wait for, and those that a late receive finds. `auto`: where the process has one thread and more cores than ranks may
    /// run on them. Private memory that is declared to the kernel module is copied by that instead, where it is quicker. `thread`: always, also where
    /// it takes the core of a rank. `module`, `dma`: the kernel module copies private memory, which is declared to it at its first use.
    OFFLOAD: Offload = "TERN_OFFLOAD", "auto" => "moving";

    /// Whether the kernel tells of promoted memory that the program unmaps (userfaultfd, where it is allowed), so that it need not be
    /// asked at each use; off: it is asked.
    WATCH: bool = "TERN_WATCH", "on" => "promotion";

    /// How long mpiexec waits for processes that it has asked to end before it kills them.
    GRACE: Duration = "TERN_GRACE", "2s", 0..=HOUR => "general", Launcher;

    /// How long the other end of a TCP connection between hosts may give no sign before it counts as lost, and the job ends. It is
    /// asked when nothing has come for a third of that time. Between processes, and between mpiexec and its agents. A rank that has
    /// waited so long for a peer to which it has no connection, in a call or by MPI_Test or MPI_Iprobe in a loop, calls that peer. A
    /// message whose receiver's machine answers no call for twice that time (3 seconds at least, a minute at most) cannot be delivered:
    /// the job ends, or a call fails by the error handler. The same holds over RDMA for the call by which two processes set up a queue
    /// pair, and over libfabric for a peer that takes nothing. Over libfabric a process that ends waits so long, 5 seconds at least, until
    /// what it has sent has left.
    PEER_TIMEOUT: Duration = "TERN_PEER_TIMEOUT", "30s", 1_000_000_000..=HOUR => "general", Job;

    /// A folder that machines share, for names that MPI_Publish_name makes known to jobs on other machines: each is a file
    /// there, which only its user can read, until the job ends. `none`: jobs find names of jobs on their own machine.
    NAMES: &'static str = "TERN_NAMES", "none" => "general", Job;

    /// A folder for the files of the job's shared memory, by its full path, such as `/dev/shm`. They have no name there, and end with the job.
    /// Checkpoints of DMTCP need it (docs/checkpoints.md), for no user but root can make a memfd anew by its path. `none`: memfds.
    SHARED_FILES: &'static str = "TERN_SHARED_FILES", "none" => "general", Launcher;

    /// The file of libpmix.so.2, for programs that a launcher starts which speaks PMIx. `auto`: the one that the launcher
    /// has loaded, or else that of the system.
    PMIX: &'static str = "TERN_PMIX", "auto" => "general", Launcher;

    /// The command by which mpiexec runs its agent on another host. `{host}` in it stands for the host's name, which
    /// otherwise comes behind it.
    REMOTE_SHELL: &'static str = "TERN_REMOTE_SHELL", "ssh -o BatchMode=yes" => "general", Launcher;

    /// What starts the agents of mpiexec on other hosts. `auto`: TERN_REMOTE_SHELL if that is set; in a job of Slurm, LSF or
    /// Grid Engine what belongs to it; else ssh.
    LAUNCHER: Starter = "TERN_LAUNCHER", "auto" => "general", Launcher;

    /// The resource manager that tells mpiexec hosts and slots, if no hosts are named.
    MANAGER: Manager = "TERN_RMK", "auto" => "general", Launcher;

    /// Where what Tern has counted goes when MPI is finalised: `off` or empty nowhere, `on` or `1` to
    /// the standard error of rank 0, else to the file of that name, which rank 0 writes. `2` is as `1`, with a
    /// column for each rank in jobs of any size. All ranks must ask for it.
    STATS: &'static str = "TERN_STATS", "off" => "general", Always;

    /// A rank that has waited inside MPI for this long while nothing moved says what it waits for. Then
    /// mpiexec prints one picture of the whole job. It does so on SIGUSR1 too, which is not passed on
    /// then. `0`: never.
    STALL: Duration = "TERN_STALL", "0", 0..=100 * HOUR;

    /// Looks for mistakes of the program, at the price of speed: every send waits for its receive,
    /// the arguments of collectives are compared between the ranks, and the types of messages between
    /// sender and receiver; memory of operations under way is watched; races of messages and of
    /// one-sided accesses are told; what was not freed is listed by MPI_Finalize.
    CHECK: bool = "TERN_CHECK", "off";

    /// Kinds of memory that the program asks for, separated by commas, as mpiexec's `-memory-alloc-kinds` has them:
    /// `mpi`, `system`, and `mpi` with `:alloc_mem`, `:win_allocate` or `:win_allocate_shared` behind it. What is
    /// supported is told by the info key `mpi_memory_alloc_kinds` of communicators, windows, files and sessions.
    MEMORY_ALLOC_KINDS: &'static str = "TERN_MEMORY_ALLOC_KINDS", "" => "general", Always;

    /// The error handler that a program starts with, as mpiexec -initial-errhandler sets it: that of MPI_COMM_WORLD,
    /// MPI_COMM_SELF, the communicator with the parents, and of calls while MPI is not initialised.
    INITIAL_ERRHANDLER: ErrorHandler = "TERN_INITIAL_ERRHANDLER", "mpi_errors_are_fatal";

    /// How long the other ranks may go on when one has failed after its MPI_Finalize, or waits there because an uncaught exception of
    /// Python has ended its program. Then the job ends. `0`: as long as they like.
    LINGER: Duration = "TERN_LINGER", "60s", 0..=100 * HOUR => "general", Launcher;

    /// Whether the job goes on when a process is lost: calls that need it fail with MPI_ERR_PROC_FAILED, and all others work on
    /// (docs/fault-tolerance.md). `mpiexec --with-ft` sets it.
    FT: bool = "TERN_FT", "off" => "general", Job;

    /// A folder that shows another machine in place of this one, in the layout of `/sys/devices/system`, by its full path: packages, NUMA
    /// nodes, caches, cores. Ranks are placed on that machine and choose by what they share there. Nobody is bound, and whether ranks
    /// share cores follows from the real machine. For tests, and to see what Tern does on the machine of another user: `tern-info
    /// --save-topology DIR` copies a machine, `tern-info --make-topology 2x1x6x8x1 DIR` makes one up. Costs are not measured then.
    TOPOLOGY: &'static str = "TERN_TOPOLOGY", "" => "general", Launcher;

    /// The file of a run in virtual time, which `tern-bench model` sets for the library that has a model. Others refuse to run with it.
    MODEL: &'static str = "TERN_MODEL", "" => "general", Job;

    /// The file of settings in place of the site's, `PREFIX/etc/tern.conf`, and of the user's, `~/.config/tern.conf`; `off`: none. A line of
    /// such a file is `TERN_NAME = value`. The environment counts more than a file.
    CONF: &'static str = "TERN_CONF", "" => "general", Launcher;

    /// How much Tern writes to the standard error.
    LOG: Level = "TERN_LOG", "warn" => "general", Always;
}
