//! What is measured: jobs, each one launch of the benchmark program.

use crate::line::Extra;

/// The name of the benchmark program.
pub const BENCHMARKS: &str = "tern_mpi_bench";

/// Where the ranks of a job run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// One core for each rank.
    Bound,
    /// One core for each rank, neighbours side by side: the first ranks fill a cache, then a NUMA node, then a package.
    Packed,
    /// All ranks on all cores that are used, which are fewer than the ranks.
    Shared,
    /// The same, and on so many nodes, as far as the library knows simulated ones.
    Nodes(usize),
    /// Half of the ranks, and of the cores, on each of two hosts ([`crate::hosts`]), and between them nothing but TCP.
    Hosts,
}

/// One launch: benchmarks that run one after the other in the same processes.
#[derive(Clone, Debug)]
pub struct Job {
    /// Heading of the table that the figures go to.
    pub title: String,
    pub ranks: usize,
    pub binding: Binding,
    /// Names that the benchmark program knows.
    pub benchmarks: Vec<&'static str>,
    /// Message sizes in bytes; empty: the program's own.
    pub sizes: Vec<u64>,
    /// Whether `--sizes` may replace `sizes`.
    pub sized: bool,
    /// Time of one figure in one launch, milliseconds.
    pub time_ms: u64,
    /// Batches that this time is divided into.
    pub batches: u64,
    /// The wall time of the whole launch is a figure, too.
    pub wall: bool,
    /// Whether it matters how far apart the cores are.
    pub probed: bool,
    /// Which lines run beside the libraries, when they are asked for.
    pub extra: Option<Extra>,
    /// Names of the only lines that run it; empty: all.
    pub lines: Vec<String>,
    /// Another program than that of the benchmarks: its name. It is given `more` and nothing else.
    pub program: Option<String>,
    /// Further arguments of the program.
    pub more: Vec<String>,
    /// Further environment variables, for all lines.
    pub variables: Vec<(String, String)>,
    /// Time went by so many times more slowly than what the figures are to tell.
    pub slower: f64,
    /// One round is enough.
    pub once: bool,
    /// The job goes on without ranks that it loses.
    pub survives: bool,
    /// Seconds after which a launch is stopped, if that is before the timeout of all runs.
    pub limit_s: u64,
}

impl Job {
    pub fn new(title: &str, ranks: usize, binding: Binding, benchmarks: &[&'static str]) -> Self {
        Self {
            title: title.to_string(),
            ranks,
            binding,
            benchmarks: benchmarks.to_vec(),
            sizes: Vec::new(),
            sized: true,
            time_ms: 30,
            batches: 11,
            wall: false,
            probed: true,
            extra: None,
            lines: Vec::new(),
            program: None,
            more: Vec::new(),
            variables: Vec::new(),
            slower: 1.0,
            once: false,
            survives: false,
            limit_s: u64::MAX,
        }
    }

    fn mechanisms(mut self) -> Self {
        self.extra = Some(Extra::Mechanisms);
        self
    }

    pub fn sizes(mut self, sizes: &[u64]) -> Self {
        self.sizes = sizes.to_vec();
        self
    }

    fn quick(mut self, quick: bool, sizes: &[u64]) -> Self {
        if quick {
            self.time_ms = self.time_ms.min(20);
            self.sizes = sizes.to_vec();
        }
        self
    }

    /// Whether the ranks, which have a core each, can look where these are by themselves.
    pub fn looks_within(&self) -> bool {
        self.probed && self.ranks == 2 && self.binding == Binding::Bound && self.program.is_none()
    }

    /// The name of the program that is run.
    pub fn program(&self) -> &str {
        self.program.as_deref().unwrap_or(BENCHMARKS)
    }

    /// The arguments of the program.
    pub fn arguments(&self) -> Vec<String> {
        if self.program.is_some() {
            return self.more.clone();
        }
        let mut arguments: Vec<String> = self.benchmarks.iter().map(|b| b.to_string()).collect();
        if !self.sizes.is_empty() {
            let sizes: Vec<String> = self.sizes.iter().map(u64::to_string).collect();
            arguments.extend(["--sizes".to_string(), sizes.join(",")]);
        }
        arguments.extend(["--time-ms".to_string(), self.time_ms.to_string()]);
        arguments.extend(["--batches".to_string(), self.batches.to_string()]);
        arguments.extend(self.more.iter().cloned());
        arguments
    }
}

/// Two ranks, each on its core.
pub fn point_to_point(quick: bool) -> Vec<Job> {
    let some: &[u64] = &[8, 4096, 65536, 1048576];
    let job = |title: &str, benchmark| Job::new(title, 2, Binding::Bound, &[benchmark]);
    let title = "Matrix column, by derived type (vector; by turns; later, at the end of the run), and packed by hand, bytes of both ways counted";
    let mut column = job(title, "column").quick(quick, &[]);
    column.sized = false;
    let irregular = |title, benchmark| Job { sized: false, ..job(title, benchmark).quick(quick, &[262144, 4194304]) };
    vec![
        job("Ping-pong, half round trip, same buffers", "pingpong").quick(quick, some).mechanisms(),
        job("Ping-pong, by persistent requests", "pingpong_persistent").quick(quick, some),
        job("Ping-pong, buffer rewritten before each send and read after", "pingpong_written").quick(quick, some),
        job("Ping-pong, every message elsewhere in a 256 MiB pool", "pingpong_off").quick(quick, some).mechanisms(),
        job("Ping-pong, memory from MPI_Alloc_mem", "pingpong_alloc").quick(quick, some).mechanisms(),
        job("Both ways at once, bytes of both counted", "sendrecv").quick(quick, &some[1..]),
        job("Both ways at once, buffer rewritten before each send and read after", "sendrecv_written")
            .quick(quick, &some[1..]),
        job("Both ways at once, off cache", "sendrecv_off").quick(quick, &some[1..]),
        job("Exchange with neighbours: 4 receives, 4 sends, one wait", "halo").quick(quick, some),
        job("Exchange with neighbours, buffer rewritten before each send and read after", "halo_written")
            .quick(quick, some),
        job("Message rate, 64 messages in flight", "rate").quick(quick, &[8]),
        job("Several messages in flight", "stream").quick(quick, some),
        job("Several messages in flight, buffer rewritten before each send and read after", "stream_written")
            .quick(quick, some),
        column,
        irregular("Irregular datatype, blocks of 4 KiB with gaps, to and fro", "irregular"),
        irregular("Irregular datatype, blocks of 4 KiB with gaps, several messages in flight", "irregular_stream"),
    ]
}

/// Two ranks, each on its core: how much of its time one keeps for computing.
pub fn overlap(quick: bool) -> Vec<Job> {
    let receiver = "Share of its time that the receiver keeps for computing, receive posted early";
    let sender = "The same for the sender, until its send is complete locally";
    let both = "The same with both ranks sending, receiving and computing";
    let jobs = [
        (receiver, "", "overlap_recv"),
        (receiver, ", memory from MPI_Alloc_mem", "overlap_recv_alloc"),
        (receiver, ", off cache", "overlap_recv_off"),
        (sender, "", "overlap_send"),
        (sender, ", memory from MPI_Alloc_mem", "overlap_send_alloc"),
        (both, "", "overlap_both"),
        (both, ", buffer rewritten before each send and read after", "overlap_both_written"),
        (both, ", memory from MPI_Alloc_mem", "overlap_both_alloc"),
    ];
    let job = |(title, memory, benchmark): (&str, &str, &'static str)| {
        let title = format!("{title}{memory}");
        let mut job = Job::new(&title, 2, Binding::Bound, &[benchmark]);
        job.time_ms = 100;
        job.quick(quick, &[4096, 65536, 1048576]).mechanisms()
    };
    jobs.into_iter().map(job).collect()
}

/// Two ranks, each on its core.
pub fn collectives(quick: bool) -> Vec<Job> {
    let plain = "Collectives, 2 ranks";
    let persistent = "Collectives by persistent requests, 2 ranks";
    let written = "Collectives of data that is written before and read after, 2 ranks";
    let groups: [(&str, &[&'static str]); 8] = [
        (plain, &["barrier", "bcast"]),
        (plain, &["allreduce", "reduce"]),
        (plain, &["alltoall"]),
        (plain, &["allgather"]),
        (plain, &["gather", "scatter"]),
        (written, &["bcast_written", "allreduce_written", "alltoall_written", "allgather_written"]),
        (persistent, &["barrier_persistent", "bcast_persistent"]),
        (persistent, &["allreduce_persistent", "alltoall_persistent"]),
    ];
    let job =
        |(title, group): &(&str, &[&'static str])| Job::new(title, 2, Binding::Bound, group).quick(quick, &[8, 32768]);
    groups.iter().map(job).collect()
}

/// One file: two ranks, each on its core; and four, which write small blocks to a disk together.
pub fn files(quick: bool) -> Vec<Job> {
    let job = |title: &str, benchmark, some: &[u64]| {
        let together = ["file_sync", "file_cold"].contains(&benchmark);
        let (ranks, binding) = if together { (4, Binding::Shared) } else { (2, Binding::Bound) };
        let mut job = Job::new(title, ranks, binding, &[benchmark]);
        job.probed = false;
        job.time_ms = 200;
        job.quick(quick, some)
    };
    vec![
        job("One file, each rank its own part, in accesses of so many bytes", "file", &[65536]),
        job("One file, blocks of so many bytes in turns, 4 MiB for each rank", "file_blocks", &[512]),
        job("The same by 4 ranks, and MPI_File_sync", "file_sync", &[512]),
        job("The same, of a file of which nothing is cached", "file_cold", &[512]),
    ]
}

/// Two ranks, each on its core: one works on the memory of the other.
pub fn one_sided(quick: bool) -> Vec<Job> {
    let groups: [(&str, &[&'static str], &[u64]); 9] = [
        ("Put and flush, by kind of window", &["put_allocate", "put_shared", "put_create", "put_dynamic"], &[8, 65536]),
        ("Get and flush, by kind of window", &["get_allocate", "get_shared", "get_create", "get_dynamic"], &[8, 65536]),
        ("Windows of puts, then a flush", &["put_stream", "put_stream_create"], &[8, 65536]),
        ("Windows of gets, then a flush", &["get_stream", "get_stream_create"], &[8, 65536]),
        (
            "Get from a target that computes, and looks into the library every 0.1 ms",
            &["get_computing", "get_computing_create"],
            &[8, 65536],
        ),
        (
            "Atomic operations on one word",
            &["fetch_allocate", "fetch_create", "fetch_computing", "swap_allocate"],
            &[8],
        ),
        ("Accumulate (sum of longs) and flush", &["accumulate_allocate", "accumulate_create"], &[8, 65536]),
        ("A put with its epoch: lock and unlock, fence, post and start", &["put_lock", "put_fence", "put_post"], &[8]),
        (
            "What assertions save: a lock, fences around a put, a fence of no epoch",
            &["put_lock", "put_lock_nocheck", "put_fences", "put_fences_asserted", "fence_idle", "fence_idle_asserted"],
            &[8],
        ),
    ];
    let job = |(title, benchmarks, some): &(&str, &[&'static str], &[u64])| {
        let mut job = Job::new(title, 2, Binding::Bound, benchmarks).quick(quick, some);
        job.sized = some.len() > 1;
        job
    };
    groups.iter().map(job).collect()
}

/// Two hosts that reach each other by TCP alone: one rank on each, a socket between them without any MPI, and two on each.
pub fn network(quick: bool) -> Vec<Job> {
    let some = |ranks, title: &str, benchmarks: &[&'static str], sizes: &[u64]| {
        let mut job = Job::new(title, ranks, Binding::Hosts, benchmarks).sizes(sizes);
        job.probed = false;
        job.time_ms = 60;
        job.quick(quick, &[8, 65536])
    };
    let job = |title: &str, benchmarks: &[&'static str], sizes: &[u64]| some(2, title, benchmarks, sizes);
    let collectives = &["barrier", "bcast", "allreduce", "alltoall"];
    let all = &[8, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304];
    let mut plain = job("TCP: a socket without MPI, half round trip", &["socket"], all);
    plain.lines = vec!["tern".into()];
    vec![
        plain,
        job("TCP: ping-pong, half round trip", &["pingpong"], all),
        job("TCP: both ways at once, bytes of both counted", &["sendrecv"], &all[1..]),
        job("TCP: message rate, 64 messages in flight", &["rate"], &[8]),
        job("TCP: several messages in flight", &["stream"], &[1024, 16384, 262144]),
        job("TCP: collectives, 2 hosts of 1 rank", collectives, &[8, 1024, 65536, 1048576]),
        some(4, "TCP: collectives, 2 hosts of 2 ranks", collectives, &[8, 1024, 65536, 1048576]),
    ]
}

/// More ranks than cores. The batches are long, so that each holds many turns of every rank; and there are few
/// launches, since it takes some peers longer to start than to be measured. A peer that is thousands of times
/// slower than the others gives the figures that it has when its time is over.
pub fn oversubscribed(quick: bool, ranks: &[usize]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &ranks in ranks {
        let job = |benchmarks: &[&'static str], sizes: &[u64]| {
            let title = format!("{ranks} ranks, more than cores");
            let mut job = Job::new(&title, ranks, Binding::Shared, benchmarks).sizes(sizes);
            job.extra = Some(Extra::Crowded);
            (job.time_ms, job.batches, job.limit_s) = if quick { (40, 3, 20) } else { (60, 3, 20) };
            if quick {
                job.sizes.truncate(1);
            }
            job
        };
        jobs.push(job(&["pingpong", "barrier", "barrier_tested", "allreduce", "bcast", "reduce"], &[8, 1024, 65536]));
        jobs.push(job(&["bcast", "gather", "scatter"], &[32 << 10, 256 << 10, 1 << 20, 4 << 20]));
        jobs.push(job(&["alltoall", "allgather", "computing", "comm_split", "comm_dup"], &[8, 1024, 16384]));
    }
    jobs
}

/// Jobs that go on without ranks that they lose: agreement and shrinking, before and after a loss, for the libraries that have them; and what short
/// and long messages of Tern take with that option and without it.
pub fn survival(quick: bool, ranks: &[usize], cores: usize) -> Vec<Job> {
    let title = "Ping-pong, with jobs that go on and without";
    let mut jobs = vec![Job::new(title, 2, Binding::Bound, &["pingpong"]).sizes(&[8, 65536]).quick(quick, &[8, 65536])];
    jobs[0].lines = ["tern", "tern-ft"].map(String::from).to_vec();
    jobs[0].extra = Some(Extra::Surviving);
    for &ranks in ranks {
        let binding = if ranks <= cores { Binding::Bound } else { Binding::Shared };
        // A launch that loses a rank can do nothing after that.
        for benchmarks in [&["agree", "shrink"][..], &["lost"], &["notice"]] {
            jobs.push(surviving(quick, "Agreement and shrinking (size: ranks)", ranks, binding, benchmarks));
        }
    }
    let title = "Two hosts over TCP (size: ranks)";
    jobs.extend([2, 4].map(|ranks| surviving(quick, title, ranks, Binding::Hosts, &["notice"])));
    jobs
}

fn surviving(quick: bool, title: &str, ranks: usize, binding: Binding, benchmarks: &[&'static str]) -> Job {
    let mut job = Job::new(title, ranks, binding, benchmarks);
    job.lines = ["tern", "openmpi"].map(String::from).to_vec();
    (job.sized, job.probed, job.survives) = (false, false, true);
    (job.time_ms, job.batches, job.limit_s) = if quick { (20, 3, 30) } else { (60, 5, 30) };
    job
}

/// MPI_Init to MPI_Finalize, and what a rank occupies in between.
pub fn startup(ranks: &[usize], cores: usize) -> Vec<Job> {
    let mut jobs = Vec::new();
    for &ranks in ranks {
        let enough = ranks <= cores;
        let binding = if enough { Binding::Bound } else { Binding::Shared };
        for (benchmark, wall) in [("hello", true), ("memory", false)] {
            let title = "Start and memory (size: ranks)";
            let mut job = Job::new(title, ranks, binding, &[benchmark]);
            job.sized = false;
            job.probed = false;
            job.wall = wall;
            jobs.push(job);
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_benchmarks_sizes_and_time() {
        let job = Job::new("t", 2, Binding::Bound, &["barrier", "bcast"]).sizes(&[8, 64]);
        let expected = "barrier bcast --sizes 8,64 --time-ms 30 --batches 11";
        assert_eq!(job.arguments().join(" "), expected);
    }

    #[test]
    fn a_job_without_sizes_leaves_them_to_the_program() {
        let job = Job::new("t", 2, Binding::Bound, &["barrier"]);
        assert!(!job.arguments().contains(&"--sizes".to_string()));
    }

    #[test]
    fn quick_suites_cost_less_than_full_ones() {
        let cost = |jobs: Vec<Job>| jobs.iter().map(|j| j.time_ms).sum::<u64>();
        assert!(cost(point_to_point(true)) < cost(point_to_point(false)));
        assert!(cost(overlap(true)) < cost(overlap(false)));
        assert!(cost(files(true)) < cost(files(false)));
        assert!(cost(survival(true, &[4], 2)) < cost(survival(false, &[4], 2)));
        assert!(cost(oversubscribed(true, &[8])) < cost(oversubscribed(false, &[8])));
    }
}
