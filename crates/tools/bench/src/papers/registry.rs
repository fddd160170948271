//! What the registry of the papers is made of: papers, their figures and tables, and what repeats them.

use crate::chart::Scale;
use crate::knem::experiments::Direct;
use crate::line::Setting;

/// One of the five papers.
pub struct Paper {
    /// What `--paper` calls it, which is also the name of its page.
    pub name: &'static str,
    pub title: &'static str,
    /// Authors and place.
    pub source: &'static str,
    /// What the page says before its table: where the paper's system is in Tern, and what is other here than there.
    pub about: &'static str,
    pub entries: &'static [Entry],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Figure,
    Table,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Figure => "figure",
            Self::Table => "table",
        }
    }
}

/// A figure or a table.
pub struct Entry {
    pub kind: Kind,
    pub number: u32,
    /// What it measured and found, in the paper's own figures.
    pub found: &'static str,
    pub how: How,
}

impl Entry {
    /// `figure 9`.
    pub fn title(&self) -> String {
        format!("{} {}", self.kind.name(), self.number)
    }
}

/// How an entry is repeated.
pub enum How {
    /// A drawing of a design, in which nothing is measured: where it is in Tern.
    Drawn(&'static str),
    /// Not on this kind of machine, and why.
    Impossible(&'static str),
    Measured(Repeat),
}

/// A repetition.
pub struct Repeat {
    /// Their figures are shown, first things first.
    pub experiments: &'static [&'static Experiment],
    /// Of these only rows with one of these titles; empty: all.
    pub titles: &'static [&'static str],
    /// What is other here than in the paper, in a sentence or two.
    pub here: &'static str,
    /// Each must hold for the verdict `agrees`.
    pub claims: &'static [Claim],
    pub plot: Option<Plot>,
    /// It ran on the model of a link in place of a card.
    pub modelled: bool,
    /// What the kernel takes for its copies belongs to the reason of a verdict `differs`.
    pub by_kernel: bool,
    /// What is known, and measured elsewhere, of the reason why the figures differ from the paper's.
    pub reason: &'static str,
}

/// What a paper says of its figures, in a form that figures of another machine can be held against.
pub struct Claim {
    /// The quantity, as the subject of a sentence.
    pub says: &'static str,
    pub title: &'static str,
    pub benchmark: &'static str,
    pub quantity: Quantity,
    /// From the first size to the last one, both of them included, bytes.
    pub sizes: [u64; 2],
    pub over: Over,
    /// From the least to the greatest value that agrees with the paper.
    pub range: [f64; 2],
}

/// What is computed of the medians at a size.
#[derive(Clone, Copy)]
pub enum Quantity {
    /// By how many percent less time `line` takes than `against`.
    Saved { line: &'static str, against: &'static str },
    /// The value of `line` itself, in the unit of the row.
    Value { line: &'static str },
    /// The value of `line` divided by that of the same line in the rows with the title `of`.
    Ratio { line: &'static str, of: &'static str },
    /// The value of `line` in percent of its value of another benchmark of the title `of`, as rates of one process: the former counts both ways.
    Kept { line: &'static str, of: &'static str, benchmark: &'static str },
    /// The rate of `line` in percent above that of another benchmark, whose rows are times of single messages.
    Faster { line: &'static str, of: &'static str, benchmark: &'static str },
    /// `part` in percent of `line`, both times of another benchmark each: the one of this claim, and this one of the title `of`.
    Share { part: &'static str, of: &'static str, benchmark: &'static str, line: &'static str },
}

/// How the values of several sizes become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Over {
    Median,
    Greatest,
    Least,
}

/// A diagram in the axes of the paper.
pub struct Plot {
    pub unit: &'static str,
    pub scale: Scale,
    pub shows: Shows,
    pub panels: &'static [Panel],
}

/// Title of the figures, benchmark, heading.
pub type Panel = (&'static str, &'static str, &'static str);

/// What the vertical axis has.
#[derive(Clone, Copy, PartialEq)]
pub enum Shows {
    /// The values as they are.
    Values,
    /// Message size divided by them: MB/s.
    Throughput,
    /// How much less time each line takes than this one, percent.
    Saved(&'static str),
    /// The values as bars, a group for each panel.
    Bars,
    /// By how much each line differs from the values of the same line in the rows with this title: times.
    Times(&'static str),
}

/// What is measured in one go, and kept in a folder of its own.
pub struct Experiment {
    /// The name of the folder.
    pub name: &'static str,
    /// Tern with settings. Tern as it comes is a line only where `plain` says it.
    pub lines: &'static [Setting],
    /// Tern as it comes, and the other libraries beside it.
    pub plain: bool,
    pub parts: &'static [Part],
}

/// A launch of each line.
pub struct Part {
    pub title: &'static str,
    pub benchmarks: &'static [&'static str],
    pub sizes: &'static [u64],
    pub ranks: usize,
    pub place: Place,
    /// The only lines of the experiment that run it; empty: all.
    pub lines: &'static [&'static str],
    pub work: Work,
    /// Milliseconds for a figure.
    pub time: u64,
    /// The model of a link, and how many times slower than it is called it runs; the figures are given as without that.
    pub link: Option<(&'static str, u32)>,
    /// Further arguments of the program.
    pub more: &'static [&'static str],
    /// Work of a stage, in microseconds of the link's time.
    pub work_us: u64,
}

/// Where the ranks run.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    /// On the cores of one node.
    Node,
    /// On so many simulated nodes.
    Nodes(usize),
}

/// What runs.
#[derive(Clone, Copy, PartialEq)]
pub enum Work {
    Benchmarks,
    /// The program of shortest paths, with these arguments.
    Paths(&'static str),
    /// A program of the NAS Parallel Benchmarks: `cg.S`.
    Nas(&'static str),
    /// The same, with a count of how often its buffers are used again.
    Reuse(&'static str),
    /// Processes that copy without MPI.
    Direct(Direct),
    /// What an empty call, a page and a byte cost the kernel.
    Costs,
    /// Looking a buffer up in tables of several kinds.
    Search,
    /// What Tern itself says of copies and registrations.
    Explained,
}

/// A part with the benchmark program on a node, to be changed by `..`.
pub const fn part(
    title: &'static str, benchmarks: &'static [&'static str], sizes: &'static [u64], ranks: usize,
) -> Part {
    Part {
        title,
        benchmarks,
        sizes,
        ranks,
        place: Place::Node,
        lines: &[],
        work: Work::Benchmarks,
        time: 30,
        link: None,
        more: &[],
        work_us: 0,
    }
}

/// The same on simulated nodes, one for each rank, over the model of a link.
pub const fn card(
    title: &'static str, benchmarks: &'static [&'static str], sizes: &'static [u64], ranks: usize,
    link: (&'static str, u32),
) -> Part {
    Part { place: Place::Nodes(ranks), time: 60, link: Some(link), ..part(title, benchmarks, sizes, ranks) }
}

/// A program without sizes.
pub const fn program(title: &'static str, benchmark: &'static [&'static str], ranks: usize, work: Work) -> Part {
    Part { work, ..part(title, benchmark, &[], ranks) }
}

/// A repetition, to be changed by `..`.
pub const REPEAT: Repeat = Repeat {
    experiments: &[],
    titles: &[],
    here: "",
    claims: &[],
    plot: None,
    modelled: false,
    by_kernel: false,
    reason: "",
};

/// Any value from here on, or up to here.
pub const ANY: f64 = 1e9;

pub const fn figure(number: u32, found: &'static str, how: How) -> Entry {
    Entry { kind: Kind::Figure, number, found, how }
}

pub const fn table(number: u32, found: &'static str, how: How) -> Entry {
    Entry { kind: Kind::Table, number, found, how }
}
