//! Ping-pong between two processes over the software HCA: `pingpong [LINK] [ROUNDS]`.
//!
//! HERE and THERE are the addresses of interfaces at the two ends, and ENTER is what starts the other end's
//! process: so they can be in two network namespaces, as in `HERE=10.0.0.1 THERE=10.0.0.2 ENTER="ip netns exec b"`.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use tern_hca::*;

struct End {
    pair: QueuePair,
    queue: CompletionQueue,
    memory: Vec<u8>,
    region: MemoryRegion,
}

const MOST: usize = 1 << 20;

fn end(link: &str) -> End {
    let link = link.parse().expect("a link");
    let hca = Hca::open(&Options { link, ..Options::default() }).expect("a software HCA");
    let domain = hca.protection_domain().expect("a protection domain");
    let queue = hca.completion_queue(1024, None).expect("a completion queue");
    let limits = Limits { depth: 128, gather: 4, inline: 128 };
    let pair = domain
        .queue_pair(&QueuePairOptions {
            send_completions: &queue,
            receive_completions: &queue,
            shared_receive_queue: None,
            send: limits,
            receive: ReceiveLimits { depth: 128, scatter: 4 },
        })
        .expect("a queue pair");
    let mut memory = vec![1; 2 * MOST];
    // SAFETY: the region ends before the memory.
    let region = unsafe { domain.register(memory.as_mut_ptr(), memory.len(), Access::ALL) }.expect("registered");
    End { pair, queue, memory, region }
}

impl End {
    fn send(&self, len: usize) {
        let segment = [self.region.segment(0, len as u32)];
        let data = if len <= 128 { Data::Inline(&[&self.memory[..len]]) } else { Data::Segments(&segment) };
        let (id, operation, flags) = (0, Operation::Send, SendFlags::SIGNALED);
        self.pair.post_send(&SendRequest { id, operation, data, flags, receive_queue: 0 }).expect("posted");
    }

    fn receive(&self) {
        self.pair.post_receive(1, &[self.region.segment(MOST, MOST as u32)]).expect("posted");
    }

    fn wait(&self) {
        let mut completions = [Completion::default(); 8];
        loop {
            let count = self.queue.poll(&mut completions).expect("poll");
            assert!(completions[..count].iter().all(|one| one.status == Status::Success), "{completions:?}");
            if completions[..count].iter().any(|one| one.id == 1) {
                return;
            }
            if count == 0 {
                std::hint::spin_loop();
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let link = arguments.get(1).map_or("none", String::as_str);
    let rounds: usize = arguments.get(2).map_or(3000, |text| text.parse().expect("a number"));
    let sizes = [0, 8, 64, 256, 1024, 4096, 16384, 65536, 1 << 20];
    let end = end(link);
    let address = end.pair.address();
    end.receive();
    if arguments.get(3).is_some() {
        std::io::stdout().write_all(&address).expect("a parent");
        std::io::stdout().flush().expect("a parent");
        let mut peer = vec![0; address.len()];
        std::io::stdin().read_exact(&mut peer).expect("a parent");
        end.pair.connect(&peer, &Connection::default()).expect("connected");
        for len in sizes {
            for _ in 0..count(rounds, len) {
                end.wait();
                end.receive();
                end.send(len);
            }
        }
        // The last one has to go out.
        std::thread::sleep(std::time::Duration::from_millis(50));
        return;
    }
    let enter = std::env::var("ENTER").unwrap_or_else(|_| "env".into());
    let mut enter = enter.split(' ');
    let mut child: Child = Command::new(enter.next().expect("a command"))
        .args(enter)
        .arg(&arguments[0])
        .args([link, &rounds.to_string(), "child"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut peer = vec![0; address.len()];
    child.stdout.as_mut().expect("piped").read_exact(&mut peer).expect("its address");
    child.stdin.as_mut().expect("piped").write_all(&address).expect("a child");
    end.pair.connect(&peer, &Connection::default()).expect("connected");
    for len in sizes {
        let rounds = count(rounds, len);
        let start = Instant::now();
        for _ in 0..rounds {
            end.send(len);
            end.wait();
            end.receive();
        }
        let one_way = start.elapsed().as_secs_f64() * 1e6 / rounds as f64 / 2.0;
        println!("{len:8} bytes {one_way:9.2} us {:9.1} MB/s", len as f64 / one_way);
    }
    child.wait().expect("a child");
}

fn count(rounds: usize, len: usize) -> usize {
    if len > 100_000 { rounds / 20 } else { rounds }
}
