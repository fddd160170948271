//! Output of ranks with the rank in front of each line (`--tag-output`).
//!
//! Each rank writes into pipes of its own. Whole lines go into a queue, and from there to the
//! launcher's standard output or error whenever that has room, so that the launcher never waits
//! for whoever reads it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::FileType;
use rustix::io::Errno;

/// A line longer than this is cut into lines of this length.
const LONGEST_LINE: usize = 1 << 20;
/// With this many bytes in the queue no more are read from the ranks: they wait in their pipes.
const FULL: usize = 4 << 20;

/// Turns pieces of text into tagged lines.
struct Lines {
    tag: Vec<u8>,
    partial: Vec<u8>,
}

impl Lines {
    fn new(tag: &str) -> Lines {
        Lines { tag: format!("[{tag}] ").into_bytes(), partial: Vec::new() }
    }

    /// Adds text; whole lines go to `queue`.
    fn push(&mut self, text: &[u8], queue: &mut Vec<u8>) {
        for piece in text.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.partial.len() >= LONGEST_LINE {
                self.flush(queue);
            }
        }
    }

    /// Moves what there is of the last line to `queue`, as a line.
    fn flush(&mut self, queue: &mut Vec<u8>) {
        if self.partial.is_empty() {
            return;
        }
        queue.extend_from_slice(&self.tag);
        queue.append(&mut self.partial);
        if !queue.ends_with(b"\n") {
            queue.push(b'\n');
        }
    }
}

/// One pipe from a rank.
struct Source {
    pipe: OwnedFd,
    lines: Lines,
    sink: usize,
}

/// The launcher's standard output or error.
struct Sink {
    queue: Vec<u8>,
    written: usize,
    /// Bytes that one write may have, so that it does not block after `poll` saw room.
    most: usize,
    closed: bool,
}

/// The pipes of all ranks and the two places where their lines go.
pub struct Output {
    sources: Vec<Source>,
    sinks: [Sink; 2],
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
    pub fn new() -> Output {
        Output { sources: Vec::new(), sinks: [Sink::new(0), Sink::new(1)] }
    }

    /// Puts a line of the launcher's own among those of the standard error.
    pub fn say(&mut self, text: &str) {
        self.sinks[1].queue.extend_from_slice(format!("mpiexec: {text}\n").as_bytes());
    }

    /// Makes the pipes of a rank; gives the ends for its standard output and error.
    pub fn add(&mut self, tag: &str) -> rustix::io::Result<[OwnedFd; 2]> {
        Ok([self.pipe(tag, 0)?, self.pipe(tag, 1)?])
    }

    fn pipe(&mut self, tag: &str, sink: usize) -> rustix::io::Result<OwnedFd> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&read, true)?;
        self.sources.push(Source { pipe: read, lines: Lines::new(tag), sink });
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
            .map(|(number, _)| Wish::Write(number, stream(number)));
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
        self.sinks[number].write(stream(number));
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
        for (number, sink) in self.sinks.iter_mut().enumerate() {
            while sink.waiting() > 0 {
                sink.write(stream(number));
            }
        }
    }
}

impl Sink {
    fn new(number: usize) -> Sink {
        let file = rustix::fs::fstat(stream(number))
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
        // A pipe that is writable has room for PIPE_BUF bytes at least.
        let most = if file { 1 << 20 } else { 4096 };
        Sink { queue: Vec::new(), written: 0, most, closed: false }
    }

    fn waiting(&self) -> usize {
        self.queue.len() - self.written
    }

    fn write(&mut self, stream: BorrowedFd<'_>) {
        let end = self.queue.len().min(self.written + self.most);
        match rustix::io::write(stream, &self.queue[self.written..end]) {
            Ok(length) => self.written += length,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => std::thread::sleep(std::time::Duration::from_millis(1)),
            Err(_) => {
                self.closed = true;
                self.written = self.queue.len();
            }
        }
        if self.written == self.queue.len() {
            self.queue.clear();
            self.written = 0;
        } else if self.written > FULL {
            self.queue.drain(..self.written);
            self.written = 0;
        }
    }
}

fn stream(number: usize) -> BorrowedFd<'static> {
    if number == 0 { rustix::stdio::stdout() } else { rustix::stdio::stderr() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_whole_lines() {
        let mut lines = Lines::new("3");
        let mut queue = Vec::new();
        lines.push(b"one\ntw", &mut queue);
        assert_eq!(queue, b"[3] one\n");
        lines.push(b"o\n\nthree", &mut queue);
        assert_eq!(queue, b"[3] one\n[3] two\n[3] \n");
        lines.flush(&mut queue);
        assert_eq!(queue, b"[3] one\n[3] two\n[3] \n[3] three\n");
        lines.flush(&mut queue);
        assert_eq!(queue.iter().filter(|byte| **byte == b'\n').count(), 4);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut lines = Lines::new("0");
        let mut queue = Vec::new();
        for _ in 0..3 {
            lines.push(&vec![b'x'; LONGEST_LINE / 2], &mut queue);
        }
        assert_eq!(queue.len(), 4 + LONGEST_LINE + 1);
        assert_eq!(lines.partial.len(), LONGEST_LINE / 2);
    }
}
