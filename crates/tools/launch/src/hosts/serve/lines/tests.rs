//! Every order in which the threads of the server may tell of an agent that calls twice.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tern_pmi::Nodes;

use super::super::{Agent, Event, Options, Server, Share, Up};
use crate::uplink::{CALLS_AGAIN, Down, Line, pair};

/// What is told of one host, by threads of which each keeps its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    FirstJoins,
    FirstEnds,
    SecondJoins,
    SecondBegins,
    SecondIsDone,
    SecondEnds,
    AgentEnds,
    /// A rank elsewhere has asked for processes there.
    Order,
}
use Step::*;

/// Every way to take turns between these.
fn merges(threads: &[&[Step]]) -> Vec<Vec<Step>> {
    if threads.iter().all(|thread| thread.is_empty()) {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, thread) in threads.iter().enumerate().filter(|(_, thread)| !thread.is_empty()) {
        let mut rest = threads.to_vec();
        rest[at] = &thread[1..];
        all.extend(merges(&rest).into_iter().map(|after| [&[thread[0]], &after[..]].concat()));
    }
    all
}

struct Job<'a> {
    server: Server<'a>,
    /// Ours and that of the agent, of each call.
    lines: [(Arc<Line>, Line); 2],
}

impl Job<'_> {
    /// A server whose only agent was started by it; or by another one, whose command has no process here.
    fn new(options: &Options, own: bool) -> Job<'_> {
        let mut agent = Agent::expected("a".into());
        agent.pid = i32::from(own) * i32::MAX;
        let shares = vec![Share { name: "a".into(), ranks: 1 }];
        let server = Server::new(options, 1, shares, Nodes::one(1), vec![agent]);
        let line = || {
            let (here, there) = pair();
            (Arc::new(here), there)
        };
        Job { server, lines: [line(), line()] }
    }

    fn take(&mut self, step: Step) {
        let line = |which: usize| self.lines[which].0.clone();
        let event = match step {
            FirstJoins => Event::Joined(0, line(0)),
            FirstEnds => Event::Lost(0, line(0)),
            SecondJoins => Event::Joined(0, line(1)),
            SecondBegins => Event::Begun(0, line(1)),
            SecondIsDone => Event::Told(0, Up::Done(0)),
            SecondEnds => Event::Lost(0, line(1)),
            AgentEnds if self.server.agents[0].pid == 0 => {
                Event::Told(0, Up::Ended { number: 0, text: "exit code 0".into() })
            }
            AgentEnds => Event::Ended(0, ExitStatus::from_raw(0)),
            Order => return self.server.give(0, 1, vec![7]),
        };
        self.server.take(event);
    }

    fn orders(&self) -> usize {
        let next = || Down::receive_of(&self.lines[1].1, Duration::ZERO);
        std::iter::from_fn(next).filter(|down| matches!(down, Down::Spawn(_))).count()
    }
}

/// The answer to the first call has not come through, and the agent has called once more. That is no loss, whenever the end of the
/// first is heard. What it is to do besides comes once, on the connection that it uses.
#[test]
fn an_agent_that_calls_twice_is_not_lost() {
    let options = Options::default();
    let second: &[Step] = &[SecondJoins, SecondBegins, SecondIsDone, SecondEnds];
    for order in merges(&[&[FirstJoins, FirstEnds], second, &[AgentEnds], &[Order]]) {
        let at = |step| order.iter().position(|other| *other == step);
        // It ends after it has got its part, and is asked for more before.
        if at(AgentEnds) < at(SecondJoins) || at(Order) > at(SecondIsDone) {
            continue;
        }
        for own in [true, false] {
            let mut job = Job::new(&options, own);
            order.iter().for_each(|&step| job.take(step));
            assert_eq!(job.server.code, None, "{order:?}");
            assert!(job.server.agents[0].is_over(Instant::now() + Duration::from_secs(60)), "{order:?}");
            assert_eq!(job.orders(), 1, "{order:?}");
        }
    }
}

/// One that does not call once more is lost: at once if what was run to start it has ended, or else after a while.
#[test]
fn an_agent_that_is_gone_is_lost() {
    let options = Options::default();
    let second: &[Step] = &[SecondJoins, SecondBegins, SecondEnds];
    let cases: [&[&[Step]]; 3] = [&[&[FirstJoins, FirstEnds], &[AgentEnds]], &[second, &[AgentEnds]], &[second]];
    for order in cases.into_iter().flat_map(merges) {
        for own in [true, false] {
            let mut job = Job::new(&options, own);
            order.iter().for_each(|&step| job.take(step));
            assert_eq!(job.server.code, Some(1), "{order:?}");
        }
    }
    let mut job = Job::new(&options, true);
    [FirstJoins, FirstEnds].into_iter().for_each(|step| job.take(step));
    job.server.check_calls(Instant::now());
    assert_eq!(job.server.code, None);
    job.server.check_calls(Instant::now() + CALLS_AGAIN);
    assert_eq!(job.server.code, Some(1));
}
