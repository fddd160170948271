//! Whether a reader has taken what was written.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::fs::FileType;

/// Between two looks at a pipe.
const PAUSE: Duration = Duration::from_millis(1);

/// Waits until the reader of a pipe has taken all that was written to it, or for as long as `limit`. Anything else than a
/// pipe needs no wait. A launcher that is told to end the job closes such pipes, and what it has not read is lost.
pub fn until_taken(stream: BorrowedFd<'_>, limit: Duration) {
    let until = Instant::now() + limit;
    while holds_bytes(stream) && Instant::now() < until {
        std::thread::sleep(PAUSE);
    }
}

/// Whether bytes wait in a pipe.
fn holds_bytes(stream: BorrowedFd<'_>) -> bool {
    let kind = rustix::fs::fstat(stream).map(|stat| FileType::from_raw_mode(stat.st_mode));
    kind == Ok(FileType::Fifo) && rustix::io::ioctl_fionread(stream.as_fd()).is_ok_and(|bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_when_the_reader_has_taken_all() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        rustix::io::write(&writer, b"text").expect("room");
        let reading = std::thread::spawn(move || {
            let mut bytes = [0; 2];
            for _ in 0..2 {
                std::thread::sleep(PAUSE);
                rustix::io::read(&reader, &mut bytes).expect("text");
            }
            reader
        });
        until_taken(writer.as_fd(), Duration::from_secs(600));
        assert!(!holds_bytes(writer.as_fd()));
        reading.join().expect("no panic");
    }

    #[test]
    fn a_reader_that_takes_nothing_is_not_waited_for_longer_than_the_limit() {
        let (_reader, writer) = rustix::pipe::pipe().expect("a pipe");
        rustix::io::write(&writer, b"text").expect("room");
        until_taken(writer.as_fd(), 2 * PAUSE);
        assert!(holds_bytes(writer.as_fd()), "nobody has read");
    }

    #[test]
    fn a_file_needs_no_wait() {
        let file = rustix::fs::memfd_create("file", rustix::fs::MemfdFlags::CLOEXEC).expect("a memfd");
        rustix::io::write(&file, b"text").expect("room");
        assert!(!holds_bytes(file.as_fd()));
    }
}
