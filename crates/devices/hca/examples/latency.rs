//! What the software HCA costs beside its link model: ping-pong of two processes, half round trip.
//!
//! `cargo run --release -p tern-hca --features conformance --example latency [near|tcp] [LINK]`

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;
use tern_hca::conformance::{Side, SideOptions};
use tern_hca::{Completion, Connection, Data, Hca, Operation, Options, SendFlags, SendRequest};

const SIZES: [usize; 7] = [0, 8, 64, 1024, 8192, 65536, 1 << 20];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let word = |at: usize, default: &str| arguments.get(at).cloned().unwrap_or(default.into());
    let (carrier, link) = (word(1, "near"), word(2, "none"));
    let options = Options {
        faults: if carrier == "tcp" { "tcp" } else { "" }.parse().expect("faults"),
        link: link.parse().expect("a link"),
        ..Options::default()
    };
    let side = Side::new(Hca::open(&options).expect("an HCA"), &SideOptions::default());
    let first = arguments.get(3).is_none();
    let mine = side.pair.address();
    let mut second = None;
    let peer = if first {
        let mut child = Command::new(std::env::current_exe().expect("a program"))
            .args([&carrier, &link, "second"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a second process");
        child.stdin.take().expect("a pipe").write_all(&mine).expect("told");
        let mut peer = vec![0; mine.len()];
        child.stdout.take().expect("a pipe").read_exact(&mut peer).expect("heard");
        second = Some(child);
        peer
    } else {
        let mut peer = vec![0; mine.len()];
        std::io::stdin().read_exact(&mut peer).expect("heard");
        std::io::stdout().write_all(&mine).expect("told");
        std::io::stdout().flush().expect("told");
        peer
    };
    side.pair.connect(&peer, &Connection::default()).expect("connected");
    for size in SIZES {
        let count = if size < 65536 { 20_000 } else { 500 };
        let (out, into) = (side.buffer(size.max(1)), side.buffer(size.max(1)));
        (0..8).for_each(|id| side.receive(id, &[into.whole()]));
        let mut times = Vec::new();
        for _ in 0..5 {
            let start = Instant::now();
            for _ in 0..count / 5 {
                if first {
                    send(&side, &out, size);
                }
                receive(&side);
                side.receive(1, &[into.whole()]);
                if !first {
                    send(&side, &out, size);
                }
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / (count / 5) as f64 / 2.0);
        }
        times.sort_by(f64::total_cmp);
        if first {
            println!("{carrier} {link} {size:8} B {:8.2} us", times[2]);
        }
        // What was posted and not used.
        for _ in 0..8 {
            send(&side, &out, 0);
        }
        (0..8).for_each(|_| receive(&side));
    }
    if let Some(mut second) = second {
        second.wait().expect("its end");
    }
}

fn send(side: &Side, out: &tern_hca::conformance::Buffer, size: usize) {
    let bytes = [7; 64];
    let whole = [out.part(0, size)];
    let inline = [&bytes[..size.min(64)]];
    let data = if size <= 64 { Data::Inline(&inline) } else { Data::Segments(&whole) };
    let flags = SendFlags::SIGNALED;
    let request = SendRequest { id: 1, operation: Operation::Send, data, flags, receive_queue: 0 };
    let mut done = [Completion::default(); 8];
    while side.pair.post_send(&request) == Err(tern_hca::Error::QueueFull) {
        side.sends.poll(&mut done).expect("polled");
    }
}

fn receive(side: &Side) {
    let mut done = [Completion::default(); 1];
    while side.receives.poll(&mut done).expect("polled") == 0 {}
    assert_eq!(done[0].status, tern_hca::Status::Success, "{:?}", side.pair.reason());
}
