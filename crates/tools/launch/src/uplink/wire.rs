//! What an agent and the mpiexec that has started it tell each other, over a connection on which both have proven themselves.
//!
//! A message is its parts (`tern_pmi::parcel`); the first one is its kind.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tern_pmi::parcel::{Reader, Writer};

use super::Line;
use crate::mpir::Process;

/// How long the first message to an agent may take.
const FIRST: Duration = Duration::from_secs(60);

/// To an agent.
#[derive(Debug, PartialEq, Eq)]
pub enum Down {
    /// Start this: a `Part`.
    Begin(Vec<u8>),
    /// The addresses of all ranks of a world (`tern_pmi::addresses`).
    Addresses(u32, Vec<u8>),
    /// Start a share of a further world: a [`super::Order`].
    Spawn(Vec<u8>),
    /// The further world of that number could not be completed: its ranks end.
    Recall(u32),
    /// The answer to the rank that has asked: its number among those of the agent, value and text.
    Answer(u32, i32, String),
    /// A name is taken back, which some rank has published.
    Unpublished(String),
    /// Nobody needs this agent any more.
    Leave,
    /// End the ranks.
    End,
    /// Pass this signal on to the ranks.
    Signal(i32),
    /// Ranks of the world with this random number are lost, and the job goes on: those here are to know.
    Lost(u64, Vec<u32>),
    /// Tell what the ranks wait for.
    Ask,
    /// A debugger has seen all ranks, which go on from MPI_Init.
    Release,
}

/// What a rank wants of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Publish = 0,
    Unpublish = 1,
    LookUp = 2,
}

/// From an agent.
#[derive(Debug, PartialEq, Eq)]
pub enum Up {
    /// It has been told what to do, and has begun.
    Begun,
    /// The addresses of its ranks of a world.
    Addresses(u32, Vec<u8>),
    /// Its rank of that number, among those that it has, asks for further processes (`tern_pmi::Orders`) that are to find their
    /// parents at a port.
    Spawn { rank: u32, orders: Vec<u8> },
    /// Its share of that further world is started; or the number of the command that could not be, and why.
    Started { world: u32, failed: Option<(u32, String)> },
    /// Its rank asks about a name.
    Name { rank: u32, what: About, service: String, port: String },
    /// It has no ranks that run, after so many orders of further ones.
    Idle(u32),
    /// The job must end: exit code, and what to tell the user.
    Failed(i32, String),
    /// A rank of a world is lost, and the job goes on: the code that it would have given the job, and what to tell the user.
    Lost { world: u32, rank: u32, code: i32, text: String },
    /// A rank of a further world has ended before it has met those that spawned it, and the job goes on without that world: the code that the
    /// rank would have given the job, and what to tell the user.
    WorldLost { world: u32, code: i32, text: String },
    /// The first of its ranks has ended MPI: told where ranks may be lost.
    Finalized,
    /// A rank that has initialised MPI, and one that has ended and will never do so; empty for none.
    Standing { waits: String, gone: String },
    /// All its ranks have ended: exit code.
    Done(i32),
    /// What its ranks wait for ([`super::told`]); `first` has said by itself that nothing moves.
    Waits { first: Option<u32>, ranks: Vec<u8> },
    /// Where its ranks run: a line for each.
    Bindings(Vec<String>),
    /// The ranks that it has started, for debuggers.
    Processes(Vec<Process>),
    /// What was run to start the agent of that number has ended.
    Ended { number: u32, text: String },
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Down {
    fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Down::Begin(part) => out.number(1).bytes(part),
            Down::Addresses(world, table) => out.number(2).number((*world).into()).bytes(table),
            Down::End => out.number(3),
            Down::Signal(signal) => out.number(4).number(*signal as u64),
            Down::Ask => out.number(5),
            Down::Spawn(order) => out.number(6).bytes(order),
            Down::Recall(world) => out.number(7).number((*world).into()),
            Down::Answer(rank, value, text) => {
                out.number(8).number((*rank).into()).number(*value as u64).bytes(text.as_bytes())
            }
            Down::Leave => out.number(9),
            Down::Release => out.number(11),
            Down::Unpublished(service) => out.number(10).bytes(service.as_bytes()),
            Down::Lost(job, ranks) => {
                out.number(12).number(*job);
                ranks.iter().fold(&mut out, |out, rank| out.number((*rank).into()))
            }
        };
        out.0
    }

    fn decode(bytes: &[u8]) -> Option<Down> {
        let input = &mut Reader(bytes);
        Some(match input.number()? {
            1 => Down::Begin(input.bytes()?.to_vec()),
            2 => Down::Addresses(input.number()? as u32, input.bytes()?.to_vec()),
            3 => Down::End,
            4 => Down::Signal(input.number()? as i32),
            5 => Down::Ask,
            6 => Down::Spawn(input.bytes()?.to_vec()),
            7 => Down::Recall(input.number()? as u32),
            8 => Down::Answer(input.number()? as u32, input.number()? as i32, text(input.bytes()?)),
            9 => Down::Leave,
            10 => Down::Unpublished(text(input.bytes()?)),
            11 => Down::Release,
            12 => {
                let job = input.number()?;
                let mut ranks = Vec::new();
                while !input.0.is_empty() {
                    ranks.push(input.number()?.try_into().ok()?);
                }
                Down::Lost(job, ranks)
            }
            _ => return None,
        })
    }

    /// Sends it without waiting for the agent: one that is stopped holds up no other.
    pub fn send(&self, line: &Arc<Line>) -> io::Result<()> {
        line.send_soon(&self.encode())
    }

    /// Waits for the next one.
    ///
    /// Errors: the other side is gone, or what came is no message.
    pub fn receive(line: &Line) -> io::Result<Down> {
        Down::decode(&line.receive(None)?).ok_or_else(damaged)
    }

    /// The next one, if it comes in that time.
    #[cfg(test)]
    pub fn receive_of(line: &Line, time: Duration) -> Option<Down> {
        Down::decode(&line.receive(Some(time)).ok()?)
    }

    /// The first one, [`Down::Begin`]: what it holds.
    ///
    /// Errors: as of [`Down::receive`]; it does not come in time.
    pub fn receive_first(line: &Line) -> io::Result<Vec<u8>> {
        match Down::decode(&line.receive(Some(FIRST))?) {
            Some(Down::Begin(part)) => Ok(part),
            _ => Err(damaged()),
        }
    }
}

impl Up {
    fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Up::Begun => out.number(1),
            Up::Addresses(world, table) => out.number(2).number((*world).into()).bytes(table),
            Up::Failed(code, text) => out.number(3).number(*code as u64).bytes(text.as_bytes()),
            Up::Standing { waits, gone } => out.number(4).bytes(waits.as_bytes()).bytes(gone.as_bytes()),
            Up::Done(code) => out.number(5).number(*code as u64),
            Up::Lost { world, rank, code, text } => out
                .number(14)
                .number((*world).into())
                .number((*rank).into())
                .number(*code as u64)
                .bytes(text.as_bytes()),
            Up::Finalized => out.number(15),
            Up::WorldLost { world, code, text } => {
                out.number(16).number((*world).into()).number(*code as u64).bytes(text.as_bytes())
            }
            Up::Waits { first, ranks } => {
                out.number(6).number(first.map_or(0, |rank| 1 + u64::from(rank))).bytes(ranks)
            }
            Up::Ended { number, text } => out.number(8).number((*number).into()).bytes(text.as_bytes()),
            Up::Bindings(lines) => {
                out.number(7).number(lines.len() as u64);
                lines.iter().for_each(|line| _ = out.bytes(line.as_bytes()));
                &mut out
            }
            Up::Processes(processes) => {
                out.number(13).number(processes.len() as u64);
                processes.iter().for_each(|process| process.encode(&mut out));
                &mut out
            }
            Up::Spawn { rank, orders } => out.number(11).number((*rank).into()).bytes(orders),
            Up::Started { world, failed } => {
                let (command, why) = failed.as_ref().map_or((0, ""), |(command, why)| (1 + u64::from(*command), why));
                out.number(12).number((*world).into()).number(command).bytes(why.as_bytes())
            }
            Up::Name { rank, what, service, port } => {
                let numbers = out.number(9).number((*rank).into()).number(*what as u64);
                numbers.bytes(service.as_bytes()).bytes(port.as_bytes())
            }
            Up::Idle(orders) => out.number(10).number((*orders).into()),
        };
        out.0
    }

    fn decode(bytes: &[u8]) -> Option<Up> {
        let input = &mut Reader(bytes);
        Some(match input.number()? {
            1 => Up::Begun,
            2 => Up::Addresses(input.number()? as u32, input.bytes()?.to_vec()),
            3 => Up::Failed(input.number()? as i32, text(input.bytes()?)),
            4 => Up::Standing { waits: text(input.bytes()?), gone: text(input.bytes()?) },
            5 => Up::Done(input.number()? as i32),
            14 => Up::Lost {
                world: input.number()?.try_into().ok()?,
                rank: input.number()?.try_into().ok()?,
                code: input.number()? as i32,
                text: text(input.bytes()?),
            },
            15 => Up::Finalized,
            16 => Up::WorldLost {
                world: input.number()?.try_into().ok()?,
                code: input.number()? as i32,
                text: text(input.bytes()?),
            },
            6 => {
                let first = input.number()?.checked_sub(1).map(|rank| rank as u32);
                Up::Waits { first, ranks: input.bytes()?.to_vec() }
            }
            8 => Up::Ended { number: input.number()? as u32, text: text(input.bytes()?) },
            7 => Up::Bindings((0..input.number()?).map(|_| Some(text(input.bytes()?))).collect::<Option<_>>()?),
            13 => Up::Processes((0..input.number()?).map(|_| Process::decode(input)).collect::<Option<_>>()?),
            11 => Up::Spawn { rank: input.number()? as u32, orders: input.bytes()?.to_vec() },
            12 => {
                let world = input.number()? as u32;
                let (command, why) = (input.number()?.checked_sub(1), text(input.bytes()?));
                Up::Started { world, failed: command.map(|command| (command as u32, why)) }
            }
            9 => {
                let rank = input.number()? as u32;
                let what = match input.number()? {
                    0 => About::Publish,
                    1 => About::Unpublish,
                    2 => About::LookUp,
                    _ => return None,
                };
                Up::Name { rank, what, service: text(input.bytes()?), port: text(input.bytes()?) }
            }
            10 => Up::Idle(input.number()? as u32),
            _ => return None,
        })
    }

    pub fn send(&self, line: &Line) -> io::Result<()> {
        line.send(&self.encode())
    }

    /// As [`Down::receive`].
    pub fn receive(line: &Line) -> io::Result<Up> {
        Up::decode(&line.receive(None)?).ok_or_else(damaged)
    }
}

fn damaged() -> io::Error {
    io::Error::other("what came is no message of this version of mpiexec")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    #[test]
    fn messages_survive_the_wire() {
        for message in [
            Down::Begin(vec![1, 2]),
            Down::Addresses(1, vec![]),
            Down::End,
            Down::Signal(-1),
            Down::Ask,
            Down::Spawn(vec![4]),
            Down::Recall(5),
            Down::Answer(1, -2, "no".into()),
            Down::Leave,
            Down::Release,
            Down::Lost(1, vec![3, 9]),
            Down::Unpublished("s".into()),
        ] {
            assert_eq!(Down::decode(&message.encode()), Some(message));
        }
        for message in [
            Up::Begun,
            Up::Addresses(2, vec![3; 100]),
            Up::Failed(-5, "über".into()),
            Up::Standing { waits: "rank 1".into(), gone: String::new() },
            Up::Done(124),
            Up::Lost { world: 2, rank: 1, code: 137, text: "rank 1".into() },
            Up::WorldLost { world: 2, code: 137, text: "rank 1".into() },
            Up::Finalized,
            Up::Spawn { rank: 3, orders: vec![1] },
            Up::Started { world: 2, failed: None },
            Up::Started { world: 2, failed: Some((0, "why".into())) },
            Up::Name { rank: 1, what: About::LookUp, service: "s".into(), port: "p".into() },
            Up::Idle(7),
            Up::Waits { first: Some(0), ranks: vec![1, 2] },
            Up::Waits { first: None, ranks: vec![] },
            Up::Bindings(vec!["one".into(), String::new()]),
            Up::Ended { number: 3, text: "exit code 1".into() },
            Up::Processes(vec![Process { host: "a".into(), executable: "/b".into(), pid: 7 }]),
        ] {
            assert_eq!(Up::decode(&message.encode()), Some(message));
        }
        assert_eq!(Down::decode(&[]), None);
        assert_eq!(Up::decode(&[9; 8]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Down::decode(&bytes);
            let _ = Up::decode(&bytes);
        }

        #[test]
        fn damaged_messages_are_refused_or_survive(
            which in 0..4usize, changes in prop::collection::vec(any::<Change>(), 1..4),
        ) {
            let down = [
                Down::Begin(vec![1, 2]),
                Down::Addresses(1, vec![7; 9]),
                Down::Answer(1, -2, "no".into()),
                Down::Signal(15),
            ];
            if let Some(read) = Down::decode(&damage(&down[which].encode(), &changes)) {
                prop_assert_eq!(Down::decode(&read.encode()), Some(read));
            }
            let up = [
                Up::Bindings(vec!["one".into(), String::new()]),
                Up::Started { world: 2, failed: Some((0, "why".into())) },
                Up::Name { rank: 1, what: About::LookUp, service: "s".into(), port: "p".into() },
                Up::Waits { first: Some(0), ranks: vec![1, 2] },
            ];
            if let Some(read) = Up::decode(&damage(&up[which].encode(), &changes)) {
                prop_assert_eq!(Up::decode(&read.encode()), Some(read));
            }
        }
    }
}
