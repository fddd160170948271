use std::sync::{Arc, mpsc};
use std::time::Duration;

use tern_pmi::{Nodes, Order, Orders, addresses};

use super::super::{Agent, Event, Server, Share};
use crate::options::Options;
use crate::uplink::{About, Down, Line, Up, pair};

/// The random numbers of the first world, and of the one that is spawned.
const JOB: u64 = 1;
const SPAWNED: u64 = 2;

/// Two hosts with a rank each, which have told where they are.
struct Two {
    server: Server<'static>,
    /// Our ends of the connections, and those of the agents.
    lines: [(Arc<Line>, Line); 2],
}

impl Two {
    fn new(goes_on: bool) -> Two {
        let options: &Options = Box::leak(Box::new(Options { goes_on, ..Options::default() }));
        let names = ["a", "b"];
        let shares = names.map(|name| Share { name: name.into(), ranks: 1 }).into();
        let agents = names.map(|name| Agent::expected(name.into())).into();
        let server = Server::new(options, JOB, shares, Nodes::even(2, 2), agents);
        let mut server = Server { slots: vec![None; 2], ..server };
        let line = || {
            let (here, there) = pair();
            (Arc::new(here), there)
        };
        let lines = [line(), line()];
        for (number, (line, _)) in lines.iter().enumerate() {
            server.take(Event::Joined(number, line.clone()));
            server.take(Event::Begun(number, line.clone()));
        }
        let mut two = Two { server, lines };
        (0..2).for_each(|number| two.tells(number, place(0)));
        two
    }

    fn tells(&mut self, number: usize, told: Up) {
        self.server.take(Event::Told(number, told));
    }

    fn loses(&mut self, number: usize) {
        self.server.take(Event::Lost(number, self.lines[number].0.clone()));
    }

    /// What an agent was told, but for its part and for tables of addresses.
    fn heard(&self, number: usize) -> Vec<Down> {
        let next = || Down::receive_of(&self.lines[number].1, Duration::from_millis(50));
        std::iter::from_fn(next).filter(|told| !matches!(told, Down::Begin(_) | Down::Addresses(..))).collect()
    }
}

/// The place of the one rank of an agent in that world.
fn place(world: u32) -> Up {
    Up::Addresses(world, addresses::encode([&b"here"[..]].into_iter()))
}

/// The rank of the first host asks for a process on each, or for two on that host.
fn spawn(host: Option<&str>) -> Up {
    let host = host.map(Into::into);
    let order = Order { count: 2, command: vec!["p".into()], wdir: None, path: None, host, arch: None };
    let port = Some("port".into());
    Up::Spawn {
        rank: 0,
        orders: Orders { job_id: SPAWNED, commands: vec![order], env: vec![], directory: "/".into(), port }.encode(),
    }
}

#[test]
fn without_the_wish_a_lost_host_ends_the_job() {
    let mut two = Two::new(false);
    two.loses(1);
    assert!(two.server.is_ending());
    assert_eq!(two.heard(0), [Down::End]);
}

#[test]
fn the_others_are_told_to_leave_when_they_have_no_ranks() {
    let mut two = Two::new(true);
    two.tells(0, Up::Idle(0));
    assert_eq!(two.heard(0), []);
    two.loses(1);
    assert_eq!(two.heard(0), [Down::Lost(JOB, vec![1]), Down::Leave]);
    assert_eq!(two.server.losses.code(None), 1);
    assert!(!two.server.is_ending());
}

#[test]
fn a_host_whose_ranks_have_ended_takes_none_with_it() {
    let mut two = Two::new(true);
    two.tells(1, Up::Idle(0));
    two.loses(1);
    assert_eq!((two.server.losses.code(None), two.server.is_ending()), (0, false));
}

#[test]
fn names_of_a_lost_host_are_taken_back() {
    let mut two = Two::new(true);
    let about = |what| Up::Name { rank: 0, what, service: "s".into(), port: "p".into() };
    two.tells(1, about(About::Publish));
    two.tells(0, about(About::LookUp));
    two.loses(1);
    two.tells(0, about(About::LookUp));
    let answer = |value, text: &str| Down::Answer(0, value, text.into());
    assert_eq!(two.heard(0), [answer(0, "p"), Down::Lost(JOB, vec![1]), Down::Unpublished("s".into()), answer(-1, "")]);
}

#[test]
fn a_spawn_fails_with_a_host_that_is_to_take_part() {
    let mut two = Two::new(true);
    two.tells(0, spawn(None));
    assert!(matches!(two.heard(0)[..], [Down::Spawn(_)]));
    two.tells(0, Up::Started { world: 1, failed: None });
    two.loses(1);
    let told = [Down::Lost(JOB, vec![1]), Down::Lost(SPAWNED, vec![1]), Down::Recall(1)];
    assert_eq!(
        two.heard(0),
        told.into_iter().chain([Down::Answer(0, -1, "host b is lost".into())]).collect::<Vec<_>>()
    );
    // The next one goes where it can.
    two.tells(0, spawn(Some("b")));
    assert_eq!(two.heard(0), [Down::Answer(0, -1, "host b is lost".into())]);
    two.tells(0, spawn(None));
    assert!(matches!(two.heard(0)[..], [Down::Spawn(_)]));
    assert!(!two.server.is_ending());
}

#[test]
fn spawned_ranks_that_wait_for_each_other_in_init_are_ended() {
    for met in [false, true] {
        let mut two = Two::new(true);
        two.tells(0, spawn(None));
        (0..2).for_each(|number| two.tells(number, Up::Started { world: 1, failed: None }));
        two.tells(0, place(1));
        if met {
            two.tells(1, place(1));
        }
        assert_eq!(two.server.ranks_on(1), "rank 1 and rank 1 of spawn 1");
        two.loses(1);
        assert!(!two.server.is_ending());
        let mut told = vec![Down::Lost(JOB, vec![1]), Down::Lost(SPAWNED, vec![1])];
        if !met {
            told.extend([Down::Recall(1), Down::Lost(SPAWNED, vec![0, 1])]);
        }
        let heard: Vec<Down> = two.heard(0).into_iter().filter(|told| !matches!(told, Down::Spawn(_))).collect();
        let answer = Down::Answer(0, 2, String::new());
        assert_eq!(heard, std::iter::once(answer).chain(told).collect::<Vec<_>>());
    }
}

#[test]
fn a_spawned_rank_that_ends_before_it_is_met_takes_its_world_with_it() {
    let lost = || Up::WorldLost { world: 1, code: 137, text: "rank 1 of spawn 1 was killed".into() };
    let mut two = Two::new(true);
    two.tells(0, spawn(None));
    two.tells(1, Up::Started { world: 1, failed: None });
    // The parents still wait for the start of it.
    two.tells(1, lost());
    assert!(matches!(two.heard(0)[..], [Down::Spawn(_)]));
    two.tells(0, Up::Started { world: 1, failed: None });
    assert_eq!(two.heard(0), [Down::Recall(1), Down::Answer(0, -1, "rank 1 of spawn 1 was killed".into())]);

    let mut two = Two::new(true);
    two.tells(0, spawn(None));
    (0..2).for_each(|number| two.tells(number, Up::Started { world: 1, failed: None }));
    two.heard(0);
    two.tells(1, lost());
    two.tells(0, lost());
    assert_eq!(two.heard(0), [Down::Recall(1), Down::Lost(SPAWNED, vec![0, 1])]);
    assert_eq!((two.server.is_ending(), two.server.losses.code(None)), (false, 137));
}

#[test]
fn an_agent_that_comes_late_learns_who_was_lost() {
    let mut two = Two::new(true);
    two.tells(0, Up::Lost { world: 0, rank: 0, code: 137, text: "rank 0 was killed".into() });
    let lost = || Down::Lost(JOB, vec![0]);
    assert_eq!(two.heard(1), [lost()]);
    two.server.take(Event::Begun(1, two.lines[1].0.clone()));
    assert_eq!(two.heard(1), [lost()]);
}

/// One agent is stopped, and reads nothing; the server goes on for the other one, and what the first was told waits for it.
#[test]
fn an_agent_that_does_not_read_holds_nobody_up() {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut two = Two::new(true);
        // More than sockets hold.
        (0..64).for_each(|_| two.server.tell_all(&Down::Spawn(vec![7; 1 << 20])));
        two.tells(0, Up::Lost { world: 0, rank: 0, code: 137, text: "rank 0 was killed".into() });
        let _ = tell.send(two.lines);
    });
    let lines = told.recv_timeout(Duration::from_secs(60)).expect("nobody is waited for");
    for (_, agent) in &lines {
        let next = || Down::receive(agent).expect("it is told all");
        let all: Vec<Down> =
            std::iter::repeat_with(next).take_while(|told| *told != Down::Lost(JOB, vec![0])).collect();
        assert_eq!(all.iter().filter(|told| matches!(told, Down::Spawn(_))).count(), 64);
    }
}
