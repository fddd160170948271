//! What was counted, printed when MPI is finalised (TERN_STATS).

use crate::constants::{MPI_INT32_T, MPI_UINT64_T};
use crate::datatype;
use crate::objects::Comm;
use crate::runtime::adi;
use std::io::Write;
use std::path::Path;
use std::rc::Rc;
use tern_coll::lines::Mismatch;
use tern_coll::lines::refusal::Known;
use tern_coll::ops::Op;
use tern_coll::{Buffer, Operator, Root};
use tern_counters::{ALL, Class};

/// Up to so many ranks have a column each where the user has not asked for columns.
const COLUMNS: usize = 8;

/// Where the table goes.
#[derive(Debug, PartialEq)]
enum Destination {
    Nowhere,
    StandardError,
    /// The same, with a column for each rank, however many there are.
    EachRank,
    File(&'static str),
}

/// What a value of TERN_STATS asks for. A number is a level, as in other libraries, and never the name of a file.
fn destination(value: &'static str) -> Destination {
    match value {
        "" | "off" | "0" | "no" | "false" => Destination::Nowhere,
        "on" | "1" | "yes" | "true" => Destination::StandardError,
        level if level.bytes().all(|byte| byte.is_ascii_digit()) => Destination::EachRank,
        file => Destination::File(file),
    }
}

/// What this process has counted, if it is to be printed.
pub fn wanted() -> Option<Vec<u64>> {
    match destination(tern_settings::STATS.get()) {
        Destination::Nowhere => None,
        _ => Some(ALL.iter().map(|entry| entry.value()).collect()),
    }
}

/// A vector of `count` elements of a predefined type.
pub fn buffer<T>(data: &mut [T], datatype: usize) -> Buffer {
    let ty = datatype::lookup(datatype).expect("the type is predefined").layout.clone();
    Buffer { base: data.as_mut_ptr().cast(), count: data.len() as i64, ty }
}

/// Waits until all processes of the world have come; true when it holds for all of them that they
/// `wish`. So no process waits for values that another does not send.
pub fn meet(world: &Comm, wish: bool) -> bool {
    let peers = &world.peers;
    if let Some(lines) = peers.lines(adi()) {
        crate::collective::settle(world, &Known::END);
        loop {
            match lines.meet_at_the_end(adi(), wish) {
                // Others have made a call that fails, since this process is here. They may come here too, and must find it.
                Err(Mismatch::Operation { .. } | Mismatch::Root { .. } | Mismatch::Bytes { .. }) => {}
                met => return met.unwrap_or(false),
            }
        }
    }
    // Of a length that a program seldom reduces: a call of the program that others make must not take this for its own.
    let mut all = [wish as i32; 5];
    let buffer = buffer(&mut all, MPI_INT32_T);
    let least = Operator::Predefined(Op::Min);
    let met = match tern_coll::fast::allreduce(adi(), peers, std::ptr::null(), &buffer, &least).done {
        Some(result) => result.is_ok(),
        None => tern_coll::run(adi(), peers, tern_coll::allreduce(peers, None, &buffer, &least)).is_ok(),
    };
    met && all[0] == 1
}

/// Brings the values of all processes to rank 0, which prints them. All processes call it.
pub fn print(world: &Rc<Comm>, mut own: Vec<u64>) {
    let mut values = vec![0; if world.rank == 0 { ALL.len() * world.size() as usize } else { 0 }];
    let send = buffer(&mut own, MPI_UINT64_T);
    let recv = (world.rank == 0).then(|| Buffer { count: ALL.len() as i64, ..buffer(&mut values, MPI_UINT64_T) });
    let gather = tern_coll::gather(&world.peers, Some(&send), recv.as_ref(), Root::Rank(0));
    if tern_coll::run(adi(), &world.peers, gather).is_err() || world.rank != 0 {
        return;
    }
    let ranks: Vec<&[u64]> = values.chunks_exact(ALL.len()).collect();
    let destination = destination(tern_settings::STATS.get());
    let columns = if destination == Destination::EachRank { ranks.len() } else { COLUMNS };
    write(&destination, &table(&ranks, columns));
}

/// To the standard error, in one piece, or to the file that TERN_STATS names.
fn write(destination: &Destination, text: &str) {
    match destination {
        Destination::Nowhere => {}
        // Nobody can be told when the standard error itself fails.
        Destination::StandardError | Destination::EachRank => _ = std::io::stderr().write_all(text.as_bytes()),
        Destination::File(name) => {
            let written = tern_files::create(Path::new(name)).and_then(|mut file| file.write_all(text.as_bytes()));
            if let Err(error) = written {
                tern_settings::warn!("TERN_STATS={name}: the file cannot be written: {error}");
            }
        }
    }
}

/// One line for each counter that is not 0 at all ranks. Up to `columns` ranks have a column each.
fn table(ranks: &[&[u64]], columns: usize) -> String {
    let single = ranks.len() <= columns;
    let mut header = vec!["counter".to_owned(), "all".to_owned()];
    match single {
        true if ranks.len() == 1 => header.truncate(1),
        true => {}
        false => header.extend(["least".to_owned(), "most".to_owned()]),
    }
    if single {
        header.extend((0..ranks.len()).map(|rank| format!("rank {rank}")));
    }
    let mut lines = vec![header];
    for (at, entry) in ALL.iter().enumerate() {
        let values = || ranks.iter().map(|values| values[at]);
        if values().all(|value| value == 0) {
            continue;
        }
        let together = match entry.class {
            Class::Peak => values().max().unwrap_or(0),
            _ => values().sum(),
        };
        let mut line = vec![format!("{} [{}]", entry.name, entry.unit)];
        if ranks.len() > 1 {
            line.push(together.to_string());
        }
        if single {
            line.extend(values().map(|value| value.to_string()));
        } else {
            line.extend([values().min(), values().max()].map(|value| value.unwrap_or(0).to_string()));
        }
        lines.push(line);
    }
    let mut text = match ranks.len() {
        1 => "tern: counted by 1 process until MPI_Finalize\n".to_string(),
        n => format!("tern: counted by {n} processes until MPI_Finalize; of a peak, `all` is the highest\n"),
    };
    let widths: Vec<usize> =
        (0..lines[0].len()).map(|column| lines.iter().map(|line| line[column].len()).max().unwrap_or(0)).collect();
    for line in lines {
        text.push_str(&format!("{:<1$}", line[0], widths[0]));
        line.iter().zip(&widths).skip(1).for_each(|(value, width)| text.push_str(&format!("  {value:>width$}")));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(&str, u64)]) -> Vec<u64> {
        let value = |name: &str| of.iter().find(|(other, _)| *other == name).map_or(0, |(_, value)| *value);
        ALL.iter().map(|entry| value(entry.name)).collect()
    }

    #[test]
    fn zeros_are_left_out_and_peaks_are_not_added() {
        let a = values(&[("sent_short", 3), ("unexpected_queue_peak", 5)]);
        let b = values(&[("sent_short", 4), ("unexpected_queue_peak", 2)]);
        let text = table(&[&a, &b], COLUMNS);
        let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["counter", "all", "rank", "0", "rank", "1"]);
        assert_eq!(lines[1], ["sent_short", "[messages]", "7", "3", "4"]);
        assert_eq!(lines[2], ["unexpected_queue_peak", "[messages]", "5", "5", "2"]);
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn many_ranks_have_least_and_most() {
        let ranks: Vec<Vec<u64>> = (0..20).map(|rank| values(&[("barrier", rank)])).collect();
        let text = table(&ranks.iter().map(Vec::as_slice).collect::<Vec<_>>(), COLUMNS);
        assert!(text.contains("barrier [calls]  190      0    19\n"), "{text}");
    }

    #[test]
    fn a_single_process_is_its_own_sum() {
        let text = table(&[&values(&[("barrier", 2)])], COLUMNS);
        assert!(text.ends_with("counter          rank 0\nbarrier [calls]       2\n"), "{text}");
    }

    #[test]
    fn a_level_gives_each_rank_its_column() {
        assert_eq!(destination("1"), Destination::StandardError);
        assert_eq!(destination("2"), Destination::EachRank);
        assert_eq!(destination("2.txt"), Destination::File("2.txt"));
        let ranks: Vec<Vec<u64>> = (0..20).map(|rank| values(&[("barrier", rank)])).collect();
        let ranks: Vec<&[u64]> = ranks.iter().map(Vec::as_slice).collect();
        let text = table(&ranks, ranks.len());
        assert!(text.contains("  rank 18  rank 19\n"), "{text}");
        assert!(text.ends_with("       18       19\n"), "{text}");
    }
}
