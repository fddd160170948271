//! Output of ranks that passes through mpiexec: with the rank or the time in front of each line, or into files.
//!
//! Each rank writes into pipes of its own. Whole lines go into a queue, and from there to the
//! launcher's standard output or error, or to a file, whenever that has room, so that the launcher never waits
//! for whoever reads it.

mod lines;
mod name;
mod taken;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::options::Streams;
use lines::Lines;
pub use name::Writer;
pub use taken::until_taken;

/// With this many bytes in the queue no more are read from the ranks: they wait in their pipes.
const FULL: usize = 4 << 20;

/// One pipe from a rank.
struct Source {
    pipe: OwnedFd,
    lines: Lines,
    sink: usize,
}

/// Where lines go.
struct Sink {
    to: To,
    queue: Vec<u8>,
    written: usize,
    /// Bytes that one write may have, so that it does not block after `poll` saw room: a pipe that is writable has room
    /// for PIPE_BUF bytes at least.
    most: usize,
    closed: bool,
}

enum To {
    StandardOutput,
    StandardError,
    File(PathBuf, OwnedFd),
}

/// The pipes of all ranks and the places where their lines go.
pub struct Output {
    streams: Streams,
    sources: Vec<Source>,
    /// The first two are the launcher's standard output and error.
    sinks: Vec<Sink>,
    /// What is wrong with one of them, for the user.
    lost: Option<String>,
}

/// Which descriptor to poll, and for what.
pub enum Wish<'a> {
    /// Readable: source number.
    Read(usize, BorrowedFd<'a>),
    /// Writable: sink number.
    Write(usize, BorrowedFd<'a>),
}

impl Output {
    /// Without any rank.
    pub fn new(streams: &Streams) -> Output {
        let sinks = vec![Sink::new(To::StandardOutput), Sink::new(To::StandardError)];
        Output { streams: streams.clone(), sources: Vec::new(), sinks, lost: None }
    }

    /// Puts a line of the launcher's own among those of the standard error.
    pub fn say(&mut self, text: &str) {
        self.sinks[1].queue.extend_from_slice(format!("mpiexec: {text}\n").as_bytes());
    }

    /// What the user is to know of output that could not be written; told once.
    pub fn lost(&mut self) -> Option<String> {
        self.lost.take()
    }

    /// Makes the pipes of a rank; gives the ends for its standard output and error, where they are not mpiexec's own.
    ///
    /// Errors: what failed, in words, with the error.
    pub fn add(&mut self, of: Writer) -> Result<[Option<OwnedFd>; 2], (Errno, String)> {
        let Streams { tag, timestamp, merge, .. } = self.streams;
        let places = [self.streams.out.clone(), self.streams.err.clone().filter(|_| !merge)];
        let mut ends = [None, None];
        for (number, place) in places.into_iter().enumerate().take(if merge { 1 } else { 2 }) {
            let sink = match place {
                Some(pattern) => self.file(name::name(&pattern, of))?,
                None if tag || timestamp => number,
                None => continue,
            };
            let lines = Lines::new(tag.then(|| of.tag()).as_deref(), timestamp);
            ends[number] = Some(self.pipe(lines, sink).map_err(|errno| (errno, "pipe: ".into()))?);
        }
        if merge && let Some(out) = &ends[0] {
            ends[1] = Some(out.try_clone().map_err(|_| (Errno::MFILE, "dup: ".into()))?);
        }
        Ok(ends)
    }

    /// The sink for a file, whose folder is made if it is missing.
    fn file(&mut self, path: PathBuf) -> Result<usize, (Errno, String)> {
        let known = |sink: &Sink| matches!(&sink.to, To::File(name, _) if *name == path);
        if let Some(number) = self.sinks.iter().position(known) {
            return Ok(number);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let made = std::fs::create_dir_all(folder).and_then(|()| tern_files::create(&path));
        let file = made.map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::ACCESS);
            (errno, format!("the file {} for its output: ", path.display()))
        })?;
        self.sinks.push(Sink::new(To::File(path, file.into())));
        Ok(self.sinks.len() - 1)
    }

    fn pipe(&mut self, lines: Lines, sink: usize) -> rustix::io::Result<OwnedFd> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&read, true)?;
        self.sources.push(Source { pipe: read, lines, sink });
        Ok(write)
    }

    /// What to poll now.
    pub fn wishes(&self) -> impl Iterator<Item = Wish<'_>> {
        let reads = self
            .sources
            .iter()
            .enumerate()
            .filter(|(_, source)| self.sinks[source.sink].waiting() < FULL)
            .map(|(number, source)| Wish::Read(number, source.pipe.as_fd()));
        let writes = self
            .sinks
            .iter()
            .enumerate()
            .filter(|(_, sink)| sink.waiting() > 0)
            .map(|(number, sink)| Wish::Write(number, sink.stream()));
        reads.chain(writes)
    }

    /// Reads from these sources, which `poll` found readable; in rising order of number.
    pub fn read(&mut self, ready: &[usize]) {
        for number in ready.iter().rev() {
            let source = &mut self.sources[*number];
            let sink = &mut self.sinks[source.sink];
            let mut bytes = [0u8; 1 << 16];
            match rustix::io::read(&source.pipe, &mut bytes) {
                Ok(0) => {
                    source.lines.flush(&mut sink.queue);
                    self.sources.remove(*number);
                }
                Ok(_) if sink.closed => {
                    // Nobody reads the launcher's output, so nobody reads the rank's.
                    self.sources.remove(*number);
                }
                Ok(length) => source.lines.push(&bytes[..length], &mut sink.queue),
                Err(_) => {}
            }
        }
    }

    /// Writes to a sink, which `poll` found writable.
    pub fn write(&mut self, number: usize) {
        let lost = self.sinks[number].write();
        self.lost = self.lost.take().or(lost);
    }

    /// Reads and writes whatever is left. Every process that could write more has ended; what a
    /// process elsewhere holds open is not waited for.
    pub fn finish(&mut self) {
        loop {
            let before = self.sources.len();
            let mut moved = false;
            for number in (0..self.sources.len()).rev() {
                let sink = self.sources[number].sink;
                let waiting = self.sinks[sink].waiting();
                self.read(&[number]);
                moved |= self.sinks[sink].waiting() != waiting;
            }
            self.drain();
            if !moved && self.sources.len() == before {
                break;
            }
        }
        for source in &mut self.sources {
            source.lines.flush(&mut self.sinks[source.sink].queue);
        }
        self.drain();
    }

    fn drain(&mut self) {
        for sink in &mut self.sinks {
            while sink.waiting() > 0 {
                let lost = sink.write();
                self.lost = self.lost.take().or(lost);
            }
        }
    }
}

impl Sink {
    fn new(to: To) -> Sink {
        let mut sink = Sink { to, queue: Vec::new(), written: 0, most: 4096, closed: false };
        let status = rustix::fs::fstat(sink.stream());
        if status.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile) {
            sink.most = 1 << 20;
        }
        sink
    }

    fn stream(&self) -> BorrowedFd<'_> {
        match &self.to {
            To::StandardOutput => rustix::stdio::stdout(),
            To::StandardError => rustix::stdio::stderr(),
            To::File(_, file) => file.as_fd(),
        }
    }

    fn waiting(&self) -> usize {
        self.queue.len() - self.written
    }

    /// Writes as much as there is room for; what the user is to know if nothing more can be written.
    fn write(&mut self) -> Option<String> {
        let mut lost = None;
        let end = self.queue.len().min(self.written + self.most);
        match rustix::io::write(self.stream(), &self.queue[self.written..end]) {
            Ok(length) => self.written += length,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => std::thread::sleep(std::time::Duration::from_millis(1)),
            Err(errno) => {
                self.closed = true;
                self.written = self.queue.len();
                // Who reads a pipe may have seen enough.
                let is_loss = errno != Errno::PIPE && !matches!(self.to, To::StandardError);
                lost = is_loss.then(|| format!("output of the ranks is lost: write to {}: {errno}", self.name()));
            }
        }
        if self.written == self.queue.len() {
            self.queue.clear();
            self.written = 0;
        } else if self.written > FULL {
            self.queue.drain(..self.written);
            self.written = 0;
        }
        lost
    }

    fn name(&self) -> String {
        match &self.to {
            To::StandardOutput => "the standard output".into(),
            To::StandardError => "the standard error".into(),
            To::File(path, _) => path.display().to_string(),
        }
    }
}
