//! A made-up machine: its shape, and what a line costs between two of its cores.

/// Machines with a file, by name.
const MACHINES: [(&str, &str); 5] = [
    ("2x-epyc-7r13", include_str!("../machines/2x-epyc-7r13")),
    ("2x-epyc-9654", include_str!("../machines/2x-epyc-9654")),
    ("2x-xeon-8375c", include_str!("../machines/2x-xeon-8375c")),
    ("graviton3", include_str!("../machines/graviton3")),
    ("4x-grace", include_str!("../machines/4x-grace")),
];

/// How far apart two cores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// They share a third-level cache.
    Near,
    /// They share a package only.
    Inside,
    /// They share nothing.
    Across,
}

/// A shape with costs.
#[derive(Clone, Debug)]
pub struct Machine {
    pub packages: usize,
    /// Third-level caches of a package.
    pub caches: usize,
    /// Cores of such a cache.
    pub cores: usize,
    /// Nanoseconds of a line's transfer by [`Distance`].
    transfer: [f64; 3],
    /// Bytes a nanosecond that one core reads, by [`Distance`].
    bytes: [f64; 3],
    /// Bytes a nanosecond that a core copies within its own caches.
    own: f64,
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

    /// Reads lines of the form `word number # source`.
    pub fn parse(text: &str) -> Result<Machine, String> {
        let number = |word: &str| {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(word));
            let (figure, source) = line
                .and_then(|line| line.split_once('#'))
                .ok_or_else(|| format!("{word} has no line with a source"))?;
            if source.trim().is_empty() {
                return Err(format!("{word} has no source"));
            }
            let figure = figure.split_whitespace().nth(1).and_then(|figure| figure.parse::<f64>().ok());
            figure.filter(|figure| *figure > 0.0).ok_or_else(|| format!("{word} has no number"))
        };
        Ok(Machine {
            packages: number("packages")? as usize,
            caches: number("caches")? as usize,
            cores: number("cores")? as usize,
            transfer: [number("near")?, number("inside")?, number("across")?],
            bytes: [number("near_bytes")?, number("inside_bytes")?, number("across_bytes")?],
            own: number("own_bytes")?,
            step: number("step")?,
        })
    }

    /// The package and the cache, counted through the machine, of `core`.
    pub fn place(&self, core: usize) -> (usize, usize) {
        (core / (self.caches * self.cores), core / self.cores)
    }

    pub fn size(&self) -> usize {
        self.packages * self.caches * self.cores
    }

    pub fn distance(&self, one: usize, other: usize) -> Distance {
        let ((package, cache), (its_package, its_cache)) = (self.place(one), self.place(other));
        match (package == its_package, cache == its_cache) {
            (true, true) => Distance::Near,
            (true, false) => Distance::Inside,
            (false, _) => Distance::Across,
        }
    }

    /// Nanoseconds until `bytes` have come over that distance: a transfer, and the bytes beyond the first line.
    pub fn cost(&self, distance: Distance, bytes: usize) -> f64 {
        self.transfer[distance as usize] + bytes.saturating_sub(64) as f64 / self.bytes[distance as usize]
    }

    /// The machine as [`tern_node::Made`] writes it.
    pub fn topology(&self) -> String {
        format!("{}x1x{}x{}x1", self.packages, self.caches, self.cores)
    }

    /// Nanoseconds of the shortest transfer.
    pub fn nearest(&self) -> f64 {
        self.transfer[Distance::Near as usize]
    }

    /// Nanoseconds in which a core moves so many bytes within its own caches.
    pub fn own(&self, bytes: usize) -> f64 {
        bytes as f64 / self.own
    }

    /// Nanoseconds that a barrier needs at least: at each level one transfer for each of the others, up and down.
    pub fn bound(&self) -> f64 {
        let others = [self.cores, self.caches, self.packages].map(|parts| parts as f64 - 1.0);
        2.0 * others.iter().zip(self.transfer).map(|(others, transfer)| others * transfer).sum::<f64>()
    }
}
