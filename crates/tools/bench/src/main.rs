//! `tern-bench`: runs the benchmark program in `bench/` on Tern and on other MPI libraries, on
//! the same cores in the same run, interleaved, and prints one table with Tern first.
//!
//! - [`peers`] installs the other libraries from PyPI; [`library`] knows how each is started, [`mod@line`]
//!   which settings it gets.
//! - [`program`] compiles the benchmark program, once for each binary interface.
//! - [`suite`] says what is measured; [`session`] runs it, round by round, through [`run`].
//! - [`probe`] looks how far apart the cores are, which changes in a virtual machine; [`placement`] says which figures
//!   may stand beside each other.
//! - [`figures`] reads the output and condenses rounds to medians; [`report`] writes the table,
//!   the CSV and the JSON, [`plot`], [`chart`] and [`bars`] draw the plots.
//! - [`scale`] measures collectives on all cores of a large node, and writes a report that can be sent.
//! - [`papers`] is the figures and tables of five papers, repeated.
//! - [`knem`] is the experiments of the papers about KNEM.
//! - [`rdma`] compares the parts of Tern's network device with each other.
//! - [`kept`] keeps what was measured of an experiment, with its [`origin`], so that an interrupted run goes on.
//! - [`instructions`] counts the instructions of a short message.
//! - [`model`] runs collectives on large nodes that are made up, in virtual time.
//! - [`ablate`] finds what each rule of the policy is worth.

mod ablate;
mod bars;
mod chart;
mod cores;
mod document;
mod figures;
mod hosts;
mod instructions;
mod kept;
mod knem;
mod library;
mod line;
mod model;
mod origin;
mod papers;
mod peers;
mod placement;
mod plot;
mod probe;
mod program;
mod progress;
mod rdma;
mod report;
mod run;
mod scale;
mod session;
mod suite;
mod variants;

use clap::{Args, Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Benchmarks of Tern beside MPICH, Open MPI and Intel MPI.
#[derive(Parser)]
#[command(name = "tern-bench", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: Options,
}

#[derive(Subcommand)]
enum Command {
    /// Install the other libraries (Python virtual environments under target/peers)
    Peers,
    /// Every suite below except `instructions`, with plots
    All,
    /// Point-to-point at two ranks, each on its core
    P2p,
    /// How much of its time a rank keeps for computing while a message moves
    Overlap,
    /// Collectives at two ranks, each on its core
    Coll,
    /// One file, written and read by two ranks, beside pwrite and pread
    Files,
    /// One-sided communication at two ranks, each on its core
    Rma,
    /// More ranks than cores
    Oversubscribed,
    /// Start, stop and memory of a program that does nothing
    Startup,
    /// Two ranks that reach each other by TCP alone; not part of `all`
    Network,
    /// Jobs that go on without lost ranks: agreement, shrinking, and messages; not part of `all`
    Survival,
    /// The parts of the network device, each on and off, on the software HCA; not part of `all`
    Rdma,
    /// The figures and tables of the five papers that Tern brings together, repeated, with verdicts; not part of `all`
    Papers(papers::Words),
    /// The experiments of the papers about KNEM, by mechanism; not part of `all`
    Knem {
        /// The folder NPB3.x-MPI of the NAS Parallel Benchmarks, for the integer sort
        #[arg(long, value_name = "DIR")]
        npb: Option<PathBuf>,
    },
    /// A process of `knem`
    #[command(name = knem::member::COMMAND, hide = true)]
    Member(knem::member::Words),
    /// What each rule of the policy is worth: off in turn, beside all on; not part of `all`
    Ablate {
        /// Measure nothing: judge these sittings of earlier runs, of several machines too
        #[arg(long, value_name = "FILE", num_args = 1..)]
        results: Vec<PathBuf>,
        /// Only these rules
        #[arg(long, value_delimiter = ',', value_name = "RULE")]
        rules: Vec<String>,
    },
    /// All collectives on 2 to all cores of this node, beside peers tuned for large nodes; not part of `all`
    Scale(scale::Words),
    /// Collectives on a large node that is made up, in virtual time, with --ranks; not part of `all`
    Model(model::Words),
    /// Plots of the figures.json that an earlier run has left in the output folder
    Plot,
    /// Instructions of a short send and receive, counted by valgrind
    Instructions,
}

#[derive(Args, Clone)]
struct Options {
    /// Installed Tern: has bin/mpiexec, lib/libmpi_abi.so.1, include/mpi.h
    #[arg(long, global = true, value_name = "PREFIX")]
    tern: Option<PathBuf>,
    /// Fewer rounds, sizes and less time per point: to see that it runs, not to compare
    #[arg(long, global = true)]
    quick: bool,
    /// Message sizes in bytes instead of each benchmark's own
    #[arg(long, global = true, value_delimiter = ',', value_name = "BYTES")]
    sizes: Vec<u64>,
    /// Libraries, and lines that Tern knows: tern-pipe, tern-cma, tern-mapped, tern-promote, tern-off, openmpi-xhc, openmpi-acoll
    #[arg(long, global = true, value_delimiter = ',', default_value = "tern,mpich,openmpi,openmpi-ucx,impi")]
    libraries: Vec<String>,
    /// A further line: a library, another prefix of it, and settings; may be repeated
    #[arg(long = "line", global = true, value_name = "NAME=LIBRARY[@PREFIX][:VARIABLE=VALUE]...")]
    lines: Vec<String>,
    /// Tern also with each of its mechanisms forced, in ping-pong and overlap
    #[arg(long, global = true)]
    mechanisms: bool,
    /// Add to the figures that are in the output folder, for measuring in several sittings
    #[arg(long, global = true)]
    add: bool,
    /// Seconds that a launch waits, all in all, for the cores to be near each other [default: 5, with --quick 1]; with 0 all
    /// figures count, wherever the cores were and whoever else was on them
    #[arg(long, global = true, value_name = "SECONDS")]
    patience: Option<u64>,
    /// Only these benchmarks of the suite
    #[arg(long, global = true, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// How often each library runs each benchmark, in turn [default: 5, with --quick 2]; the column n says what came of it
    #[arg(long, global = true)]
    rounds: Option<usize>,
    /// Ranks of the oversubscribed suite [default: 4,8,16, with --quick 8], of `startup` [default: 2,8,32], of `scale` [default: powers of two, whole caches, NUMA nodes, packages, and all cores], and of `survival` [default: 2,4,8,16,32,64]
    #[arg(long, global = true, value_delimiter = ',')]
    ranks: Vec<usize>,
    /// Cores to use, taken from those that this process may run on [default: 2, of `scale` all]
    #[arg(long, global = true)]
    cores: Option<usize>,
    /// Seconds after which a run is stopped and reported as failed
    #[arg(long, global = true, default_value_t = 120)]
    timeout: u64,
    /// For `papers`: the folder of its pages. For `all`, `plot`, `rdma` and `knem`: a file that has a place for its report, between two lines of comment; the plots go to the folder `plots` beside it
    #[arg(long, global = true, value_name = "PATH")]
    markdown: Option<PathBuf>,
    /// Where the C sources of the benchmark program are
    #[arg(long, global = true, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Where programs and results go [default: target/bench]
    #[arg(long, global = true, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print each command before it runs
    #[arg(long, short, global = true)]
    verbose: bool,
}

/// Places that the subcommands use.
struct Places {
    tern: PathBuf,
    peers: PathBuf,
    source: PathBuf,
    output: PathBuf,
    /// Where the sources of this program were.
    root: PathBuf,
}

impl Places {
    fn new(options: &Options) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let root = root.canonicalize().unwrap_or_else(|_| PathBuf::from("."));
        let or = |given: &Option<PathBuf>, default: PathBuf| given.clone().unwrap_or(default);
        let peers = std::env::var_os("TERN_PEERS_DIR").map(PathBuf::from);
        Self {
            tern: or(&options.tern, root.join("target/prefix")),
            peers: peers.unwrap_or_else(|| root.join("target/peers")),
            source: or(&options.source, root.join("bench")),
            output: or(&options.output, root.join("target/bench")),
            root,
        }
    }
}

/// Draws the figures of the output folder, and puts the report into the page that is asked for.
fn plots(options: &Options, places: &Places) -> Result<(), String> {
    plot::write(&places.output)?;
    options.markdown.as_ref().map_or(Ok(()), |page| plot::put(page, &places.output))
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let places = Places::new(&cli.options);
    let result = match cli.command {
        Command::Peers => peers::install(&places.peers),
        Command::Plot => plots(&cli.options, &places),
        Command::Scale(words) => scale::run(&words, &cli.options, &places),
        Command::Model(words) => model::measure(&cli.options, &places, &words),
        Command::Rdma => rdma::measure(&cli.options, &places),
        Command::Papers(words) => papers::run(&words, &cli.options, &places, &places.root),
        Command::Knem { npb } => knem::measure(&cli.options, &places, npb.as_ref()),
        Command::Member(words) => knem::member::run(&words),
        Command::Ablate { results, rules } => match results.as_slice() {
            [] => ablate::measure(&cli.options, &places, &rules),
            files => ablate::compare(files),
        },
        Command::Instructions => with_session(&cli.options, &places, instructions::count),
        command => with_session(&cli.options, &places, |session| {
            report::measure(session, &suites(&command, &cli.options))?;
            match command {
                Command::All => plots(&cli.options, &places),
                _ => Ok(()),
            }
        }),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("tern-bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn with_session(
    options: &Options, places: &Places, action: impl FnOnce(&mut session::Session) -> Result<(), String>,
) -> Result<(), String> {
    action(&mut session::Session::start(options, places)?)
}

fn suites(command: &Command, options: &Options) -> Vec<suite::Job> {
    let quick = options.quick;
    let several = |default: &[usize]| match options.ranks.as_slice() {
        [] => default.to_vec(),
        given => given.to_vec(),
    };
    let crowds: &[usize] = if quick { &[8] } else { &[4, 8, 16] };
    match command {
        Command::P2p => suite::point_to_point(quick),
        Command::Overlap => suite::overlap(quick),
        Command::Coll => suite::collectives(quick),
        Command::Files => suite::files(quick),
        Command::Rma => suite::one_sided(quick),
        Command::Oversubscribed => suite::oversubscribed(quick, &several(crowds)),
        Command::Network => suite::network(quick),
        Command::Survival => suite::survival(quick, &several(&[2, 4, 8, 16, 32, 64]), options.cores.unwrap_or(2)),
        Command::Startup => suite::startup(&several(&[2, 8, 32]), options.cores.unwrap_or(2)),
        Command::All => {
            let mut jobs = suite::point_to_point(quick);
            jobs.extend(suite::overlap(quick));
            jobs.extend(suite::collectives(quick));
            jobs.extend(suite::files(quick));
            jobs.extend(suite::one_sided(quick));
            jobs.extend(suite::oversubscribed(quick, &several(crowds)));
            jobs.extend(suite::startup(&[2, 8, 32], options.cores.unwrap_or(2)));
            jobs
        }
        Command::Peers
        | Command::Plot
        | Command::Rdma
        | Command::Scale(_)
        | Command::Model(_)
        | Command::Papers(_)
        | Command::Knem { .. }
        | Command::Member(_)
        | Command::Ablate { .. }
        | Command::Instructions => Vec::new(),
    }
}
