//! What peers cost a process, measured for some and reckoned for very many.

use crate::session::Session;
use std::fmt::Write;

/// Processes of a node, in the model.
const PER_NODE: f64 = 64.0;
const PEERS: [f64; 6] = [64.0, 256.0, 1024.0, 16384.0, 131072.0, 1048576.0];

/// The line through the last two points, where the receive buffers that all peers share have reached their limit: value
/// without peers, and of each peer.
fn fit(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let &[.., (x, y), (most, there)] = points else { return None };
    let slope = (there - y) / (most - x);
    (most > x).then_some((y - slope * x, slope))
}

fn points(session: &Session, benchmark: &str, line: &str) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (row, summary) in session.figures.rows() {
        if row.benchmark == benchmark {
            points.extend(summary(line).map(|it| (row.size as f64, it.median)));
        }
    }
    points
}

/// The table of the model; nothing when too little was measured. With RC a connection is to a process, with XRC to
/// a node, and the processes of a node share what it needs for receiving.
pub fn text(session: &Session) -> String {
    let Some((base, each)) = fit(&points(session, "peers_memory", "RC")) else { return String::new() };
    let pairs = fit(&points(session, "peers_pairs", "RC")).map_or(1.0, |(_, slope)| slope);
    let mut text = format!(
        "\nReckoned from the line through the last two of what was measured with RC: {base:.0} KiB, and {each:.1} KiB and {pairs:.2} queue \
         pairs for each peer. XRC with {PER_NODE:.0} processes on a node: as much for each node, and 0.2 KiB for the \
         address of each process.\n\n| peers | RC, queue pairs | RC, MiB | XRC, queue pairs | XRC, MiB |\n|---|---|---|---|---|\n"
    );
    for peers in PEERS {
        let nodes = (peers / PER_NODE).ceil();
        let mib = |kib: f64| kib / 1024.0;
        let _ = writeln!(
            text,
            "| {peers} | {:.0} | {:.1} | {:.0} | {:.1} |",
            pairs * peers,
            mib(base + each * peers),
            // One to send on and one to receive on: an XRC connection has a direction.
            2.0 * nodes,
            mib(base + each * nodes + 0.2 * peers),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_through_the_last_points() {
        let (base, each) = fit(&[(1.0, 3.0), (2.0, 14.0), (4.0, 18.0)]).unwrap();
        assert!((base - 10.0).abs() < 1e-9 && (each - 2.0).abs() < 1e-9);
    }

    #[test]
    fn too_few_points_make_no_line() {
        assert_eq!(fit(&[(1.0, 2.0)]), None);
        assert_eq!(fit(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(fit(&[]), None);
    }
}
