//! What peers cost a process: by what was measured for some, and reckoned for very many with a card.

use crate::session::Session;
use std::fmt::Write;

/// Processes of a node, in the model.
const PER_NODE: f64 = 64.0;
const PEERS: [f64; 6] = [64.0, 256.0, 1024.0, 16384.0, 131072.0, 1048576.0];
/// What Tern keeps of a peer (`verbs::Channel` and its places in tables), and its part of a job's addresses, in KiB.
const CHANNEL: f64 = 1.0;
/// The send queue of a queue pair on a card, in KiB: 128 requests with 16 segments each, of 16 bytes, behind 32 bytes that
/// say what to do; rounded up to 64.
const SEND_QUEUE: f64 = 128.0 * 320.0 / 1024.0;
/// What a card keeps of a queue pair beside its queues, in KiB.
const CONTEXT: f64 = 0.5;

/// What the connections to so many peers take, with RC or with XRC.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Connections {
    queue_pairs: f64,
    mib: f64,
}

/// A queue pair for each process.
fn reliable(peers: f64) -> Connections {
    let kib = peers * (CHANNEL + SEND_QUEUE + CONTEXT);
    Connections { queue_pairs: peers, mib: kib / 1024.0 }
}

/// One for each node to send on, and on average one to receive on, which has no send queue.
fn extended(peers: f64) -> Connections {
    let nodes = (peers / PER_NODE).ceil();
    let kib = peers * CHANNEL + nodes * (SEND_QUEUE + 2.0 * CONTEXT);
    Connections { queue_pairs: 2.0 * nodes, mib: kib / 1024.0 }
}

/// The slope of the line through the first and the last of what was measured.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let &[(x, y), .., (most, there)] = points else { return None };
    (most > x).then(|| (there - y) / (most - x))
}

/// Peers and KiB, where every rank is a node.
fn measured(session: &Session, line: &str) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (row, summary) in session.figures.rows().filter(|(row, _)| row.benchmark == "peers_memory") {
        let first = points.last().is_none_or(|(peers, _)| *peers < row.size as f64);
        points.extend(summary(line).filter(|_| first).map(|it| (row.size as f64, it.median)));
    }
    points
}

/// What was measured by peer, and the table of the model.
pub fn text(session: &Session) -> String {
    let mut text = String::new();
    if let (Some(rc), Some(xrc)) = (slope(&measured(session, "RC")), slope(&measured(session, "XRC"))) {
        let _ =
            writeln!(text, "\nMeasured, every rank a node: {rc:.1} KiB for each peer with RC, {xrc:.1} KiB with XRC.");
    }
    let _ = write!(
        text,
        "\nReckoned for a card. Tern keeps {CHANNEL} KiB of a peer. A send queue of a queue pair takes {SEND_QUEUE:.0} KiB (128 requests \
         of 16 segments), and the card keeps {CONTEXT} KiB of it. RC has a queue pair for each peer; XRC has, with \
         {PER_NODE:.0} processes on a node, two for each node: one to send on and, on average, one to receive on, which needs no \
         send queue. Receive buffers come on top, 8.3 MiB however many peers there are.\n\n\
         | peers | RC, queue pairs | RC, MiB | XRC, queue pairs | XRC, MiB |\n|---|---|---|---|---|\n"
    );
    for peers in PEERS {
        let (rc, xrc) = (reliable(peers), extended(peers));
        let _ =
            writeln!(text, "| {peers} | {} | {:.1} | {} | {:.1} |", rc.queue_pairs, rc.mib, xrc.queue_pairs, xrc.mib);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_from_the_first_to_the_last() {
        assert_eq!(slope(&[(2.0, 100.0), (4.0, 0.0), (12.0, 120.0)]), Some(2.0));
        assert_eq!(slope(&[(2.0, 1.0)]), None);
        assert_eq!(slope(&[(2.0, 1.0), (2.0, 3.0)]), None);
        assert_eq!(slope(&[]), None);
    }

    #[test]
    fn xrc_grows_with_the_nodes() {
        assert_eq!((reliable(1024.0).queue_pairs, extended(1024.0).queue_pairs), (1024.0, 32.0));
        assert_eq!(extended(65.0).queue_pairs, 4.0);
        assert!(reliable(1048576.0).mib > 10.0 * extended(1048576.0).mib);
    }
}
