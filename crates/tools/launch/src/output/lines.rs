//! Pieces of text become whole lines, with the rank or the time in front.

use std::time::{SystemTime, UNIX_EPOCH};

/// A line longer than this is cut into lines of this length.
pub const LONGEST_LINE: usize = 1 << 20;

/// Turns pieces of text into lines.
pub struct Lines {
    /// What stands for the rank in front of each line, if anything.
    tag: Option<String>,
    /// Whether the time stands there.
    timed: bool,
    partial: Vec<u8>,
}

impl Lines {
    pub fn new(tag: Option<&str>, timed: bool) -> Lines {
        Lines { tag: tag.map(str::to_owned), timed, partial: Vec::new() }
    }

    /// Adds text; whole lines go to `queue`.
    pub fn push(&mut self, text: &[u8], queue: &mut Vec<u8>) {
        for piece in text.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.partial.len() >= LONGEST_LINE {
                self.flush(queue);
            }
        }
    }

    /// Moves what there is of the last line to `queue`: as a line, if something stands in front of it.
    pub fn flush(&mut self, queue: &mut Vec<u8>) {
        if self.partial.is_empty() {
            return;
        }
        let prefix = match (&self.tag, self.timed) {
            (None, false) => return queue.append(&mut self.partial),
            (Some(tag), false) => format!("[{tag}] "),
            (None, true) => format!("[{}] ", now()),
            (Some(tag), true) => format!("[{}] [{tag}] ", now()),
        };
        queue.extend_from_slice(prefix.as_bytes());
        queue.append(&mut self.partial);
        if !queue.ends_with(b"\n") {
            queue.push(b'\n');
        }
    }
}

/// The local time, as 2026-11-27 10:22:07.123.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs() as libc::time_t;
    // SAFETY: plain data that the call fills, from a number.
    let time = unsafe {
        let mut time: libc::tm = std::mem::zeroed();
        libc::localtime_r(&seconds, &mut time);
        time
    };
    format!(
        "{}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}",
        1900 + time.tm_year,
        1 + time.tm_mon,
        time.tm_mday,
        time.tm_hour,
        time.tm_min,
        time.tm_sec,
        since.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_whole_lines() {
        let mut lines = Lines::new(Some("3"), false);
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
    fn without_anything_in_front_no_byte_is_changed() {
        let mut lines = Lines::new(None, false);
        let mut queue = Vec::new();
        lines.push(b"one\ntw", &mut queue);
        assert_eq!(queue, b"one\n");
        lines.push(b"o", &mut queue);
        lines.flush(&mut queue);
        assert_eq!(queue, b"one\ntwo");
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut lines = Lines::new(Some("0"), false);
        let mut queue = Vec::new();
        for _ in 0..3 {
            lines.push(&vec![b'x'; LONGEST_LINE / 2], &mut queue);
        }
        assert_eq!(queue.len(), 4 + LONGEST_LINE + 1);
        assert_eq!(lines.partial.len(), LONGEST_LINE / 2);
    }

    #[test]
    fn the_time_has_a_form_that_sorts() {
        let mut lines = Lines::new(Some("1"), true);
        let mut queue = Vec::new();
        lines.push(b"text\n", &mut queue);
        let line = String::from_utf8(queue).unwrap();
        let form: String = line.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(form, "[0000-00-00 00:00:00.000] [0] text\n");
    }
}
