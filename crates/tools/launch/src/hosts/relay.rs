//! Passes on what agents write, in whole lines: several of them write to what may be one pipe.

use std::io::{Error, ErrorKind, Read, Write};
use std::thread::JoinHandle;

/// A line longer than this is passed on in parts; agents cut theirs before.
const LONGEST: usize = 4 << 20;

/// Passes what comes from `from` on to `to`, until its end. The thread gives the error that the first write failed with, but
/// for that of a pipe whose reader has seen enough.
pub fn relay(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) -> JoinHandle<Option<Error>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut lost = None;
        let mut piece = vec![0; 64 << 10];
        loop {
            let len = match from.read(&mut piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(len) => len,
                Err(_) => 0,
            };
            kept.extend_from_slice(&piece[..len]);
            let whole = match kept.iter().rposition(|byte| *byte == b'\n') {
                _ if len == 0 || kept.len() > LONGEST => kept.len(),
                Some(end) => end + 1,
                None => 0,
            };
            // If nobody reads any more, ranks go on all the same.
            if let Err(error) = to.write_all(&kept[..whole]).and_then(|()| to.flush()) {
                lost = lost.or(Some(error).filter(|error| error.kind() != ErrorKind::BrokenPipe));
            }
            kept.drain(..whole);
            if len == 0 {
                return lost;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Notes each write.
    #[derive(Clone, Default)]
    struct Writes(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no panic").push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Takes nothing, for that reason.
    struct Refuses(ErrorKind);

    impl Write for Refuses {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_cannot_be_passed_on_is_told() {
        let passes =
            |kind| relay(&b"one\ntwo\n"[..], Refuses(kind)).join().expect("no panic").map(|error| error.kind());
        assert_eq!(passes(ErrorKind::StorageFull), Some(ErrorKind::StorageFull));
        assert_eq!(passes(ErrorKind::BrokenPipe), None);
    }

    #[test]
    fn only_whole_lines_are_passed_on() {
        let writes = Writes::default();
        let pieces = b"one\ntw".chain(&b"o\nthr"[..]).chain(&b"ee"[..]);
        relay(pieces, writes.clone()).join().expect("no panic");
        assert_eq!(*writes.0.lock().expect("no panic"), [b"one\n".to_vec(), b"two\n".to_vec(), b"three".to_vec()]);
    }
}
