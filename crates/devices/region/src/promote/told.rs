//! What the kernel tells of promoted memory that the program unmaps or moves, so that it need not be asked at each use.

use rustix::fd::RawFd;
use std::ops::Range;
use tern_node::maps::watch::Watch;

/// Whether the kernel tells this process of what it unmaps. Errors: those of [`Watch::start`].
pub fn tells() -> rustix::io::Result<()> {
    Watch::is_possible()
}

/// Whether it tells.
#[derive(Default)]
pub enum Told {
    /// It does not, or nobody wants to know.
    #[default]
    Off,
    /// From the first promotion on.
    Wanted,
    /// Of all that is promoted.
    On(Box<Watch>),
    /// Not of all of it, so that nobody listens. Who unmaps what it does tell of waits until that is read, though.
    Part(Box<Watch>),
}

/// What there is to hear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum News {
    /// Nobody tells.
    Unknown,
    None,
    Some,
}

impl Told {
    pub fn is_on(&self) -> bool {
        matches!(self, Told::On(_))
    }

    /// The descriptor that such news come from.
    pub fn descriptor(&self) -> Option<RawFd> {
        match self {
            Told::On(watch) | Told::Part(watch) => Some(watch.descriptor()),
            Told::Off | Told::Wanted => None,
        }
    }

    #[inline]
    pub fn news(&self) -> News {
        match self {
            // A child of fork is told nothing.
            Told::On(watch) if !watch.is_mine() => News::Unknown,
            Told::On(watch) if watch.has_news() => News::Some,
            Told::On(_) => News::None,
            Told::Off | Told::Wanted | Told::Part(_) => News::Unknown,
        }
    }

    /// What was to hear is heard.
    pub fn take(&mut self) {
        if let Told::On(watch) = self {
            watch.take(&mut |_, _| {});
        }
    }

    /// Is told of these pages too from now on. Where that is impossible, of nothing any more.
    pub fn watch(&mut self, pages: &Range<usize>) {
        if let Told::Wanted = self {
            *self = Watch::start().map_or(Told::Off, |watch| Told::On(Box::new(watch)));
        }
        let failed = matches!(self, Told::On(watch) if watch.watch(pages.start as u64, pages.end as u64).is_err());
        *self = match std::mem::take(self) {
            Told::On(watch) if failed => Told::Part(watch),
            other => other,
        };
    }
}
