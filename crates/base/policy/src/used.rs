//! What was taken, how often, and why: TERN_EXPLAIN=used.
//!
//! Each process keeps a row for each kind of peer, operation, power of two of the length, way and reason. At the end the rows of all processes
//! come together, as lines of text.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// A kind of transfer, and how it went.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// "send", "MPI_Bcast".
    pub operation: String,
    /// Between whom: "cores with one cache of level 3", "4 processes of one node".
    pub peers: String,
    /// The length is below this power of two, in bytes, and not below half of it; 0: nothing was moved; the largest number: of any length.
    pub below: u64,
    /// "one copy into the published receive".
    pub way: String,
    /// The words behind "since".
    pub reason: String,
}

/// Rows, with the number of transfers of each.
#[derive(Debug, Default)]
pub struct Used(BTreeMap<Row, u64>);

/// The row of those that have no room.
const OTHER_ROWS: [&str; 4] = ["further rows", "of all kinds", "not told apart", "a process has no room for more rows"];
/// Bytes that are kept for it.
const OTHERS: usize = 120;

fn line(row: &Row, count: u64) -> String {
    let Row { operation, peers, below, way, reason } = row;
    format!("{count}\t{operation}\t{peers}\t{below}\t{way}\t{reason}\n")
}

/// The power of two that a length is below of.
fn below(len: usize) -> u64 {
    if len == 0 { 0 } else { (len as u64).checked_add(1).map_or(u64::MAX, u64::next_power_of_two) }
}

impl Used {
    /// A transfer of `len` bytes has gone so.
    pub fn note(&mut self, operation: &str, peers: &str, len: usize, way: &str, reason: &str) {
        self.note_many(1, operation, peers, below(len), (way, reason));
    }

    /// Many of them, of lengths below one.
    pub fn note_many(&mut self, count: u64, operation: &str, peers: &str, below: u64, (way, reason): (&str, &str)) {
        if count == 0 {
            return;
        }
        let [operation, peers, way, reason] = [operation, peers, way, reason].map(str::to_owned);
        *self.0.entry(Row { operation, peers, below, way, reason }).or_default() += count;
    }

    /// The rows as text of `most` bytes at most, for [`Used::add`]. Those that were taken most come first; a last row counts those that have
    /// no room.
    pub fn encode(&self, most: usize) -> String {
        let mut rows: Vec<(&Row, &u64)> = self.0.iter().collect();
        rows.sort_by_key(|&(_, count)| core::cmp::Reverse(count));
        let (mut text, mut others) = (String::new(), 0);
        for (row, count) in rows {
            let line = line(row, *count);
            if others > 0 || text.len() + line.len() + OTHERS > most {
                others += count;
            } else {
                text += &line;
            }
        }
        if others > 0 {
            let [operation, peers, way, reason] = OTHER_ROWS.map(str::to_owned);
            text += &line(&Row { operation, peers, below: u64::MAX, way, reason }, others);
        }
        text
    }

    /// Adds the rows of another process. Lines that are none are left out.
    pub fn add(&mut self, text: &str) {
        for line in text.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            let [count, operation, peers, below, way, reason] = parts[..] else { continue };
            let (Ok(count), Ok(below)) = (count.parse(), below.parse()) else { continue };
            self.note_many(count, operation, peers, below, (way, reason));
        }
    }

    /// The table for the user: of each operation and kind of peer the lengths in rising order, those ways first that were taken most.
    pub fn table(&self, processes: usize) -> String {
        let mut text = format!("tern: ways that were taken by {processes} processes (TERN_EXPLAIN=used)\n");
        let mut rows: Vec<(&Row, &u64)> = self.0.iter().collect();
        rows.sort_by(|(a, more), (b, less)| {
            (&a.operation, &a.peers, a.below, less).cmp(&(&b.operation, &b.peers, b.below, more))
        });
        let mut group = None;
        for (row, count) in rows {
            if group != Some((&row.operation, &row.peers)) {
                let _ = writeln!(text, "{}, {}:", row.operation, row.peers);
                group = Some((&row.operation, &row.peers));
            }
            let _ = writeln!(text, "  {:>10}  {count:>9} x  {}, since {}", length(row.below), row.way, row.reason);
        }
        text
    }
}

/// "< 64 KiB"
fn length(below: u64) -> String {
    match below {
        0 => "0 B".into(),
        u64::MAX => "any".into(),
        _ if below < 1 << 10 => format!("< {below} B"),
        _ if below < 1 << 20 => format!("< {} KiB", below >> 10),
        _ if below < 1 << 30 => format!("< {} MiB", below >> 20),
        _ => format!("< {} GiB", below >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_processes_come_together() {
        let [mut a, mut b] = [Used::default(), Used::default()];
        for _ in 0..3 {
            a.note("send", "neighbours", 65_536, "one copy", "it is quicker");
        }
        b.note("send", "neighbours", 100_000, "one copy", "it is quicker");
        b.note("send", "neighbours", 0, "one packet", "it is short");
        a.add(&b.encode(usize::MAX));
        a.add("nonsense\n1\t2\n");
        let text = a.table(2);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert!(lines[0].contains("2 processes"), "{text}");
        assert_eq!(lines[1], "send, neighbours:");
        assert_eq!(lines[2], "0 B          1 x  one packet, since it is short");
        assert_eq!(lines[3], "< 128 KiB          4 x  one copy, since it is quicker");
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn rows_without_room_are_counted() {
        let mut used = Used::default();
        (0..100).for_each(|row| used.note_many(1 + row, &format!("operation {row}"), "all", 8, ("a way", "it is")));
        let text = used.encode(1000);
        assert!(text.len() <= 1000 && text.starts_with("100\toperation 99\t"), "{text}");
        let mut told = Used::default();
        told.add(&text);
        assert_eq!(told.0.values().sum::<u64>(), 5050, "each transfer is counted");
        assert!(told.table(1).contains("further rows, of all kinds:"), "{text}");
    }

    #[test]
    fn the_way_that_was_taken_most_comes_first() {
        let mut used = Used::default();
        used.note("send", "all", 5, "seldom", "it is");
        (0..9).for_each(|_| used.note("send", "all", 6, "often", "it is"));
        let text = used.table(1);
        assert!(text.find("often") < text.find("seldom"), "{text}");
    }

    #[test]
    fn a_length_is_below_the_next_power_of_two() {
        assert_eq!([0, 1, 7, 8, 65_535, 65_536].map(below), [0, 2, 8, 16, 65_536, 131_072]);
        assert_eq!(length(2), "< 2 B");
        assert_eq!(length(131_072), "< 128 KiB");
    }
}
