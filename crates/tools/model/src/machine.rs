//! A made-up machine: its shape, and what a line costs between two of its cores.

use std::path::Path;

/// Machines with a file, by name.
const MACHINES: [(&str, &str); 5] = [
    ("2x-epyc-7r13", include_str!("../machines/2x-epyc-7r13")),
    ("2x-epyc-9654", include_str!("../machines/2x-epyc-9654")),
    ("2x-xeon-8375c", include_str!("../machines/2x-xeon-8375c")),
    ("graviton3", include_str!("../machines/graviton3")),
    ("4x-grace", include_str!("../machines/4x-grace")),
];

/// How far apart two cores are: what is the nearest that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// A core: they are its hyper-threads, with a second-level cache in common.
    Core,
    /// A third-level cache.
    Near,
    /// A NUMA node.
    Node,
    /// A package.
    Inside,
    /// Nothing.
    Across,
}

/// All of them, the nearest first.
pub const DISTANCES: [Distance; 5] =
    [Distance::Core, Distance::Near, Distance::Node, Distance::Inside, Distance::Across];

/// What has a number of its own in the whole machine, for a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub package: usize,
    pub node: usize,
    pub cache: usize,
    pub core: usize,
}

/// A shape with costs.
#[derive(Clone, Debug)]
pub struct Machine {
    pub packages: usize,
    /// NUMA nodes of a package.
    pub nodes: usize,
    /// Third-level caches of a package.
    pub caches: usize,
    /// Cores of such a cache.
    pub cores: usize,
    /// Hyper-threads of a core. The first ones of all cores are counted first, as Linux does.
    pub threads: usize,
    /// Nanoseconds of a line's transfer by [`Distance`].
    transfer: [f64; 5],
    /// Bytes a nanosecond that one core reads, by [`Distance`].
    bytes: [f64; 5],
    /// Nanoseconds of a line from the memory of the core's own node.
    pub memory: f64,
    /// Bytes a nanosecond over the link of each third-level cache.
    pub cache_link: f64,
    /// The same of the memory of each NUMA node.
    pub memory_link: f64,
    /// The same of each package's link to the others.
    pub package_link: f64,
    /// Bytes a nanosecond that a core copies in its own caches.
    pub copy: f64,
    /// Loads of a core that are on their way at one time.
    pub window: usize,
    /// Nanoseconds of instructions for each access.
    pub step: f64,
}

impl Machine {
    /// The names of all machines.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MACHINES.iter().map(|(name, _)| *name)
    }

    /// The machine called `name`; the error says what its file lacks, or that there is none.
    pub fn named(name: &str) -> Result<Machine, String> {
        let file = MACHINES.iter().find(|(known, _)| *known == name);
        Machine::parse(file.ok_or_else(|| format!("no machine is called {name}"))?.1)
    }

    /// The machine of a file of the same form, measured somewhere else.
    pub fn of_file(path: &Path) -> Result<Machine, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Machine::parse(&text)
    }

    /// Reads lines of the form `word number # source`. A level that a machine does not have may be left out, and so may the links, which have
    /// no limit then.
    pub fn parse(text: &str) -> Result<Machine, String> {
        let given = |word: &str| {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(word))?;
            Some(figure(word, line))
        };
        let number = |word: &str| given(word).unwrap_or_else(|| Err(format!("{word} has no line with a source")));
        let or = |word: &str, otherwise: f64| given(word).unwrap_or(Ok(otherwise));
        let [near, inside, across] = ["near", "inside", "across"].map(number);
        let [near_bytes, inside_bytes, across_bytes] = ["near_bytes", "inside_bytes", "across_bytes"].map(number);
        let (near, inside, near_bytes, inside_bytes) = (near?, inside?, near_bytes?, inside_bytes?);
        let machine = Machine {
            packages: number("packages")? as usize,
            nodes: or("nodes", 1.0)? as usize,
            caches: number("caches")? as usize,
            cores: number("cores")? as usize,
            threads: or("threads", 1.0)? as usize,
            transfer: [or("smt", near)?, near, or("node", inside)?, inside, across?],
            bytes: [near_bytes, near_bytes, or("node_bytes", inside_bytes)?, inside_bytes, across_bytes?],
            memory: or("memory", inside)?,
            cache_link: or("cache_link", f64::INFINITY)?,
            memory_link: or("memory_link", f64::INFINITY)?,
            package_link: or("package_link", f64::INFINITY)?,
            copy: or("copy", near_bytes)?,
            window: or("window", 10.0)? as usize,
            step: number("step")?,
        };
        match machine.caches % machine.nodes {
            0 => Ok(machine),
            _ => Err("a cache would lie in several nodes".into()),
        }
    }

    /// Where hyper-thread `core` is.
    pub fn places(&self, core: usize) -> Place {
        let core = core % self.size();
        let cache = core / self.cores;
        Place { package: cache / self.caches, node: cache / (self.caches / self.nodes), cache, core }
    }

    /// The package and the cache, counted through the machine, of `core`.
    pub fn place(&self, core: usize) -> (usize, usize) {
        let place = self.places(core);
        (place.package, place.cache)
    }

    /// Cores, without further hyper-threads.
    pub fn size(&self) -> usize {
        self.packages * self.caches * self.cores
    }

    pub fn distance(&self, one: usize, other: usize) -> Distance {
        let (one, other) = (self.places(one), self.places(other));
        match () {
            () if one.core == other.core => Distance::Core,
            () if one.cache == other.cache => Distance::Near,
            () if one.node == other.node => Distance::Node,
            () if one.package == other.package => Distance::Inside,
            () => Distance::Across,
        }
    }

    /// Nanoseconds until `bytes` have come over that distance: a transfer, and the bytes beyond the first line.
    pub fn cost(&self, distance: Distance, bytes: usize) -> f64 {
        self.transfer[distance as usize] + bytes.saturating_sub(64) as f64 / self.bytes[distance as usize]
    }

    /// The machine as [`tern_node::Made`] writes it.
    pub fn topology(&self) -> String {
        format!("{}x{}x{}x{}x1", self.packages, self.nodes, self.caches / self.nodes, self.cores)
    }

    /// Nanoseconds of the shortest transfer between cores.
    pub fn nearest(&self) -> f64 {
        self.transfer[Distance::Near as usize]
    }

    /// Nanoseconds in which a core copies so many bytes within its own caches.
    pub fn own(&self, bytes: usize) -> f64 {
        bytes as f64 / self.copy
    }

    /// How many parts there are at each level: cores of a cache, caches of a node, nodes of a package, packages; with the distance between them.
    pub fn levels(&self) -> [(usize, Distance); 4] {
        let parts = [self.cores, self.caches / self.nodes, self.nodes, self.packages];
        std::array::from_fn(|level| (parts[level], DISTANCES[level + 1]))
    }

    /// Nanoseconds that a barrier of all cores is measured by: at each level one transfer for each of the others, up and down.
    pub fn bound(&self) -> f64 {
        self.bound_of(self.size())
    }

    /// The same of the first `ranks` cores.
    pub fn bound_of(&self, ranks: usize) -> f64 {
        let (mut members, mut one_way) = (ranks, 0.0);
        for (parts, distance) in self.levels() {
            one_way += (parts.min(members) as f64 - 1.0) * self.transfer[distance as usize];
            members = members.div_ceil(parts);
        }
        2.0 * one_way
    }
}

/// The number in a line that has a source.
fn figure(word: &str, line: &str) -> Result<f64, String> {
    let (figure, source) = line.split_once('#').ok_or_else(|| format!("{word} has no line with a source"))?;
    if source.trim().is_empty() {
        return Err(format!("{word} has no source"));
    }
    let figure = figure.split_whitespace().nth(1).and_then(|figure| figure.parse::<f64>().ok());
    figure.filter(|figure| *figure > 0.0).ok_or_else(|| format!("{word} has no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_has_its_numbers_with_sources() {
        for name in Machine::names() {
            let machine = Machine::named(name).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
            assert!(machine.cache_link.is_finite() && machine.memory_link.is_finite(), "{name}");
        }
        assert!(Machine::parse("packages 2 #").is_err(), "a number without a source");
        assert!(Machine::named("abacus").is_err());
    }

    #[test]
    fn a_measured_file_may_leave_out_what_is_not_there() {
        let text = "packages 1 # x\ncaches 1 # x\ncores 2 # x\nnear 30 # x\ninside 30 # x\nacross 30 # x\n\
            near_bytes 20 # x\ninside_bytes 20 # x\nacross_bytes 20 # x\nstep 1 # x";
        let machine = Machine::parse(text).expect("a machine");
        assert_eq!((machine.size(), machine.nodes, machine.window), (2, 1, 10));
        assert!(Machine::parse(&format!("{text}\nnodes 2 # x")).is_err(), "half a cache");
        let path = std::env::temp_dir().join(format!("tern-machine-{}", std::process::id()));
        std::fs::write(&path, text).expect("a file");
        let read = Machine::of_file(&path);
        std::fs::remove_file(&path).expect("the file");
        assert_eq!(read.expect("a machine").bound(), 60.0);
        assert!(Machine::of_file(&path).is_err());
    }

    #[test]
    fn each_level_has_a_distance() {
        let machine = Machine::named("2x-epyc-7r13").expect("a machine");
        let from_first = |core| machine.distance(0, core);
        assert_eq!([96, 7, 8, 23, 24, 47, 48].map(from_first), {
            use Distance::{Across, Core, Inside, Near, Node};
            [Core, Near, Node, Node, Inside, Inside, Across]
        });
        assert_eq!(machine.bound(), 2.0 * (7.0 * 23.0 + 2.0 * 107.0 + 107.0 + 197.0));
        assert_eq!(machine.bound_of(8), 2.0 * 7.0 * 23.0);
    }
}
