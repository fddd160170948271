//! The link model: nothing comes earlier than the link could bring it, and waiting costs no processor.

use std::time::{Duration, Instant};
use tern_hca::conformance::{Side, SideOptions, connect, next};
use tern_hca::{Data, Hca, Link, Operation, Options, SendFlags, SendRequest, Status};

fn pair(link: Link) -> (Side, Side) {
    let open = || Hca::open(&Options { link, ..Options::default() }).expect("the software HCA is always there");
    let options = SideOptions::default();
    let (one, other) = (Side::new(open(), &options), Side::new(open(), &options));
    connect(&one.pair, &other.pair, &options.connection);
    (one, other)
}

#[test]
fn a_message_takes_the_links_time() {
    let link = Link { latency: Duration::from_millis(20), bandwidth: 0.1, ..Link::NONE };
    let (one, other) = pair(link);
    let (here, there) = (one.buffer(4 << 20), other.buffer(4 << 20));
    let start = Instant::now();
    assert_eq!(one.execute(Operation::Write(there.remote(0)), &[here.part(0, 8)]).status, Status::Success);
    assert!(start.elapsed() >= Duration::from_millis(40), "there and back");
    let start = Instant::now();
    assert_eq!(one.execute(Operation::Write(there.remote(0)), &[here.whole()]).status, Status::Success);
    // 4 MiB at 100 MB/s.
    assert!(start.elapsed() >= Duration::from_millis(40 + 41), "{:?}", start.elapsed());
}

#[test]
fn messages_follow_each_other_on_a_long_link() {
    let link = Link { latency: Duration::from_millis(300), ..Link::NONE };
    let (one, other) = pair(link);
    let (here, there) = (one.buffer(8), other.buffer(64));
    let start = Instant::now();
    for id in 0..32 {
        one.post(id, Operation::Write(there.remote(0)), &[here.whole()]).expect("posted");
    }
    (0..32).for_each(|id| assert_eq!(next(&one.sends).id, id));
    // One after the other they would take 19 s, there and back.
    assert!(start.elapsed() < Duration::from_secs(15), "they are under way at once");
}

#[test]
fn waiting_for_the_link_costs_no_processor() {
    let link = Link { latency: Duration::from_millis(200), ..Link::NONE };
    let (one, other) = pair(link);
    let (here, there) = (one.buffer(8), other.buffer(8));
    one.post(1, Operation::Write(there.remote(0)), &[here.whole()]).expect("posted");
    one.sends.arm().expect("armed");
    // The engine's thread by its name, which it gives itself a moment after it was started.
    let named =
        |path: &std::path::Path| std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "tern-hca");
    let path = loop {
        let tasks = std::fs::read_dir("/proc/self/task").expect("threads");
        if let Some(path) = tasks.flatten().map(|task| task.path()).find(|path| named(path)) {
            break path;
        }
        std::thread::yield_now();
    };
    let engine = || -> Duration {
        let stat = std::fs::read_to_string(path.join("schedstat")).expect("schedstat");
        Duration::from_nanos(stat.split(' ').next().and_then(|time| time.parse().ok()).expect("a time"))
    };
    let before = engine();
    let timeout = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
    let mut wait = [rustix::event::PollFd::new(&one.channel, rustix::event::PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut wait, Some(&timeout)), Ok(1), "the channel tells");
    let used = engine() - before;
    assert_eq!(next(&one.sends).status, Status::Success);
    assert!(used < Duration::from_millis(100), "of 400 ms the engine ran for {used:?}");
}

#[test]
fn registering_costs_what_the_card_takes() {
    let registration = Duration::from_millis(5);
    let link = Link { registration, registration_page: Duration::from_millis(1), ..Link::NONE };
    let hca = Hca::open(&Options { link, ..Options::default() }).expect("the software HCA is always there");
    let domain = hca.protection_domain().expect("a domain");
    let mut memory = vec![0u8; 16 << 10];
    let start = Instant::now();
    // SAFETY: the region ends before the memory.
    let region = unsafe { domain.register(memory.as_mut_ptr(), memory.len(), tern_hca::Access::ALL) };
    assert!(region.is_ok() && start.elapsed() >= Duration::from_millis(9));
}

#[test]
fn inline_bytes_cost_whoever_posts_them() {
    let link = Link { pio: 1e5, inline: 128, ..Link::NONE };
    let (one, other) = pair(link);
    let there = other.buffer(64);
    let start = Instant::now();
    let request = SendRequest {
        id: 1,
        operation: Operation::Write(there.remote(0)),
        data: Data::Inline(&[&[7; 40], &[8; 24]]),
        flags: SendFlags::SIGNALED,
        receive_queue: 0,
    };
    one.pair.post_send(&request).expect("posted");
    assert!(start.elapsed() >= Duration::from_micros(6400));
    assert_eq!(next(&one.sends).status, Status::Success);
}
