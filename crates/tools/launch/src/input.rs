//! The standard input for all ranks: each gets all of it (`--stdin all`), or the lines that are for it (`--gdb`).

mod addressed;

use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex};

use addressed::Addressed;

/// What has been read, and whether that is all.
#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    complete: bool,
}

/// Who gets the input.
pub struct Reader<W> {
    into: W,
    /// Which lines are for it, if not all are.
    lines: Option<Addressed>,
}

impl<W> Reader<W> {
    /// The end to write to; with a rank, it gets the lines that are for that one.
    pub fn new(into: W, rank: Option<u32>) -> Reader<W> {
        Reader { into, lines: rank.map(Addressed::new) }
    }
}

/// Reads `from` to its end, and writes that to each of `to`, which are closed then. One that does not take it does not
/// hold the others up; so all of it is kept in memory until the last one has it.
pub fn copy<W: Write + Send + 'static>(mut from: impl Read + Send + 'static, to: Vec<Reader<W>>) {
    let text = Arc::new((Mutex::new(Text::default()), Condvar::new()));
    for into in to {
        let text = text.clone();
        std::thread::spawn(move || hand_on(&text, into));
    }
    std::thread::spawn(move || {
        let mut piece = vec![0; 64 << 10];
        loop {
            let len = match from.read(&mut piece) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Ok(len) => len,
                Err(_) => 0,
            };
            let mut now = text.0.lock().expect("no thread panics");
            now.bytes.extend_from_slice(&piece[..len]);
            now.complete = len == 0;
            text.1.notify_all();
            if now.complete {
                return;
            }
        }
    });
}

fn hand_on(text: &(Mutex<Text>, Condvar), mut reader: Reader<impl Write>) {
    let mut done = 0;
    loop {
        let mut now = text.0.lock().expect("no thread panics");
        while now.bytes.len() == done && !now.complete {
            now = text.1.wait(now).expect("no thread panics");
        }
        let piece = now.bytes[done..].to_vec();
        drop(now);
        let ends = piece.is_empty();
        done += piece.len();
        let own = reader.lines.as_mut().map_or_else(|| piece.clone(), |lines| lines.take(&piece));
        // Who has closed its end reads no more.
        if reader.into.write_all(&own).is_err() || ends {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::PipeReader;

    #[test]
    fn each_gets_all_and_one_that_does_not_read_holds_nobody_up() {
        let long: Vec<u8> = (0..1 << 20).map(|at| at as u8).collect();
        let (readers, writers): (Vec<PipeReader>, Vec<_>) = (0..3).map(|_| std::io::pipe().unwrap()).unzip();
        copy(std::io::Cursor::new(long.clone()), writers.into_iter().map(|to| Reader::new(to, None)).collect());
        // The first is read last; before that its pipe is full.
        for mut reader in readers.into_iter().rev() {
            let mut got = Vec::new();
            reader.read_to_end(&mut got).unwrap();
            assert_eq!(got, long);
        }
    }
}
