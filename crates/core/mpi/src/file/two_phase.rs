//! Collective access in two phases (Thakur, Gropp, Lusk: Data Sieving and Collective I/O in ROMIO,
//! 1999): data travels between the processes that own it and a few *aggregators*, each of which
//! accesses a part of the file in long runs. Who does what in which round, the engine's plan says.
//!
//! In a round, each process sends each aggregator a list of the runs that it has in the
//! aggregator's window, and the data follows; when reading, it comes back. Both sides know from the
//! requests who has anything there. Lists and data have tags of their own, since they cross on the
//! way between two aggregators.

mod data;

use super::access::Access;
use super::agree::consent;
use super::buffer::Buffer;
use super::runs::{Runs, decode, encode};
use super::{AccessKind, File};
use crate::constants::MPI_ERR_NO_MEM;
use crate::error::Result;
use crate::exchange::Circle;
use crate::runtime::adi;
use crate::task::until;
use data::{Source, Target, copy_in, take_out};
use std::ops::Range;
use tern_adi::Data;
use tern_io::plan::{Plan, Request};
use tern_io::{Window, read_window, write_window};

/// A collective access with a plan.
pub struct TwoPhase<'a> {
    pub file: &'a File,
    pub lists: &'a Circle,
    pub data: &'a Circle,
    pub plan: &'a Plan,
    /// Of all processes.
    pub requests: &'a [Request],
}

/// A transfer under way, and what has to live until it ends.
type Pending = (tern_adi::Request, Vec<u8>);

/// Receives under way, each with the part of the request that it is for.
type Replies = Vec<(Range<u64>, tern_adi::Request, Vec<u8>)>;

/// What this process has in the window of an aggregator: its part of the request, and where that lies in the file.
struct Share {
    aggregator: usize,
    part: Range<u64>,
    runs: Runs,
    /// The runs as they are told.
    list: Vec<u8>,
}

impl Share {
    /// Nothing: nobody counts on data of this process.
    fn none(aggregator: usize) -> Share {
        Share { aggregator, part: 0..0, runs: Runs::default(), list: Vec::new() }
    }
}

/// What this process has said and sent for a round.
struct Told {
    /// Its own runs, and their data, if it is an aggregator.
    own: Option<(Runs, Data, Vec<u8>)>,
    pending: Vec<Pending>,
}

/// What this process has asked for in a round.
#[derive(Default)]
struct Asked {
    /// Its own runs, and where the part of the request begins that they are for, if it is an aggregator.
    own: Option<(Runs, u64)>,
    /// Lists on their way.
    sends: Vec<Pending>,
    replies: Replies,
}

/// What a process has in the window of this aggregator; an error where there is no memory for the list of it.
type Lists = Vec<(usize, Result<Runs>)>;

/// A round of a collective write: an aggregator's window, and the transfers into its buffer and out of this process.
struct Collected {
    window: Window,
    pending: Vec<Pending>,
}

impl Collected {
    /// The window, when its bytes are in the buffer.
    async fn end(self) -> Window {
        end_all(self.pending).await;
        self.window
    }
}

async fn end(request: tern_adi::Request) -> u64 {
    until(|| adi().is_done(request).then_some(())).await;
    adi().take(request).bytes
}

async fn end_all(pending: Vec<Pending>) {
    for (request, _hold) in pending {
        end(request).await;
    }
}

impl TwoPhase<'_> {
    /// Does this process's part; returns the bytes of memory moved. All fail when access to the file
    /// fails at an aggregator.
    pub async fn run(&self, way: AccessKind, access: Result<Access>) -> Result<u64> {
        let done = match way {
            AccessKind::Write => self.write(access.as_ref().ok()).await,
            AccessKind::Read => self.read(access.as_ref().ok()).await,
        };
        let accessed = done.as_ref().map(|_| Vec::new()).map_err(Clone::clone);
        let accessed = consent(self.lists, accessed).await;
        access?;
        accessed?;
        done
    }

    fn takes_part(&self, process: usize, window: &Range<u64>) -> bool {
        let request = &self.requests[process];
        request.bytes > 0 && request.first < window.end && window.start < request.end
    }

    /// Number and rank of each aggregator that counts on a list of this process.
    fn aggregators(&self, round: u64) -> impl Iterator<Item = (usize, usize)> + '_ {
        let all = self.plan.aggregators().iter().copied().enumerate();
        all.filter(move |&(index, _)| self.takes_part(self.lists.me, &self.plan.window(index, round)))
    }

    /// What this process has in the window of each of them.
    ///
    /// Errors: MPI_ERR_NO_MEM.
    fn shares(&self, access: &Access, round: u64) -> Result<Vec<Share>> {
        let Access { transfer, position } = access;
        let (view, len) = (&transfer.view.io, transfer.bytes);
        let share = |(index, aggregator)| {
            let part = self.plan.share(view, *position, len, index, round);
            let runs = Runs::of(view, position + part.start, part.end - part.start)?;
            let list = if aggregator == self.lists.me { Vec::new() } else { encode(&runs)? };
            Ok(Share { aggregator, part, runs, list })
        };
        self.aggregators(round).map(share).collect()
    }

    /// The same of a process that has no data, or no memory for it.
    fn no_shares(&self, round: u64) -> Vec<Share> {
        self.aggregators(round).map(|(_, aggregator)| Share::none(aggregator)).collect()
    }

    /// Sends a list of runs to another aggregator.
    fn tell(&self, aggregator: usize, mut list: Vec<u8>) -> Option<Pending> {
        let data = Data::Bytes(list.as_mut_ptr(), list.len());
        self.lists.start_send(aggregator, data).map(|request| (request, list))
    }

    /// What every process has in the window of this aggregator, if it is one; `own` is what it has itself.
    async fn lists(&self, mut own: Option<Runs>, round: u64) -> Lists {
        let me = self.lists.me;
        let Some(index) = self.plan.aggregator(me) else { return Vec::new() };
        let window = self.plan.window(index, round);
        let mut lists = Vec::new();
        for process in 0..self.requests.len() {
            if !self.takes_part(process, &window) {
                continue;
            }
            let runs = match own.take_if(|_| process == me) {
                Some(runs) => Ok(runs),
                None => match self.lists.receive(process).await {
                    Err(error) if error.code != MPI_ERR_NO_MEM => {
                        // It is lost, and has no part in the window. The end of the call says so.
                        continue;
                    }
                    list => list.and_then(|list| decode(&list)),
                },
            };
            if runs.as_ref().is_ok_and(|runs| runs.bytes() == 0) {
                continue;
            }
            lists.push((process, runs));
        }
        lists
    }

    /// The window of those lists, and room for it in the buffer.
    ///
    /// Errors: MPI_ERR_NO_MEM.
    fn window(&self, lists: &Lists, buffer: &mut Buffer) -> Result<Window> {
        let mut window = Window::new();
        for (_, runs) in lists {
            runs.as_ref().map_err(Clone::clone)?.add_to(&mut window)?;
        }
        let range = window.range();
        buffer.reserve((range.end - range.start) as usize)?;
        Ok(window)
    }

    async fn write(&self, access: Option<&Access>) -> Result<u64> {
        let source = access.map(Source::new).transpose();
        let failed = source.as_ref().err().cloned();
        let source = source.ok().flatten();
        // A part that could not be converted is not there, but the others' is.
        let access = access.filter(|_| source.is_some());
        let mut outcome = failed.map_or(Ok(()), Err);
        let mut buffers = self.file.buffers.take();
        let mut full = None;
        // Writers of one file wait for each other in the kernel: while one half writes, the other collects.
        let early = self.plan.aggregator(self.lists.me).is_some_and(|index| index % 2 == 1);
        for round in 0..self.plan.rounds() {
            let (told, gathered) = self.send(access, source.as_ref(), round);
            outcome = outcome.and(gathered);
            // While a window is written, others put what they have for the next one into the other buffer.
            if early {
                outcome = outcome.and(self.put(full.take(), &mut buffers[1]));
            }
            let begun = self.collect(told, round, &mut buffers[0]).await;
            outcome = outcome.and(self.put(full.take(), &mut buffers[1]));
            match begun {
                Ok(collected) => full = Some(collected.end().await),
                Err(failed) => outcome = outcome.and(Err(failed)),
            }
            buffers.swap(0, 1);
        }
        outcome = outcome.and(self.put(full, &mut buffers[1]));
        self.file.buffers.replace(buffers);
        outcome.map(|()| access.map_or(0, |access| access.transfer.native_bytes()))
    }

    /// Writes a window whose bytes are in the buffer, if there is one.
    fn put(&self, window: Option<Window>, buffer: &mut Buffer) -> Result<()> {
        let Some(window) = window else { return Ok(()) };
        let range = window.range();
        if range.is_empty() {
            return Ok(());
        }
        let engine = self.file.engine()?;
        // SAFETY: reserved when the window was collected, and all transfers have ended.
        let bytes = unsafe { buffer.bytes((range.end - range.start) as usize) };
        Ok(write_window(&engine, &window, bytes, &self.file.access_hints())?)
    }

    /// Sends what this process has for a round; nothing where there is no memory for all of it, which is the second result.
    fn send(&self, access: Option<&Access>, source: Option<&Source<'_>>, round: u64) -> (Told, Result<()>) {
        let gathered = access.zip(source).map(|(access, source)| {
            let shares = self.shares(access, round)?;
            let parts = shares.into_iter().map(|share| source.part(share.part.clone()).map(|data| (share, data)));
            parts.collect::<Result<Vec<_>>>()
        });
        let (gathered, outcome) = match gathered.transpose() {
            Ok(gathered) => (gathered, Ok(())),
            Err(lack) => (None, Err(lack)),
        };
        let nothing = || self.no_shares(round).into_iter().map(|share| (share, (Data::none(), Vec::new()))).collect();
        let (mut told, mut data) = (Told { own: None, pending: Vec::new() }, Vec::new());
        for (Share { aggregator, runs, list, .. }, (part, hold)) in gathered.unwrap_or_else(nothing) {
            match aggregator == self.lists.me {
                true => told.own = Some((runs, part, hold)),
                false => {
                    told.pending.extend(self.tell(aggregator, list));
                    data.push((aggregator, part, hold));
                }
            }
        }
        for (aggregator, part, hold) in data.into_iter().filter(|(_, part, _)| !part.is_empty()) {
            told.pending.extend(self.data.start_send(aggregator, part).map(|request| (request, hold)));
        }
        (told, outcome)
    }

    /// Begins to receive what the others have for the window of a round. Where there is no memory for it, nobody waits, and all
    /// is taken to nowhere.
    async fn collect(&self, told: Told, round: u64, buffer: &mut Buffer) -> Result<Collected> {
        let me = self.lists.me;
        let Told { own, mut pending } = told;
        let mut outcome = Ok(());
        let (runs, own) = own.map(|(runs, data, hold)| (runs, (data, hold))).unzip();
        let lists = self.lists(runs, round).await;
        let window = self.window(&lists, buffer);
        for (process, runs) in lists {
            let layout = window.as_ref().map_err(Clone::clone).and_then(|window| runs?.layout(window.range().start));
            match (layout, own.as_ref().filter(|_| process == me)) {
                (Ok(layout), Some((data, _hold))) => copy_in(data, &layout, buffer.base()),
                (Ok(ty), None) => {
                    let data = Data::Typed { base: buffer.base(), count: 1, ty };
                    pending.push((self.data.start_receive(process, data), Vec::new()));
                }
                (Err(lack), own) => {
                    outcome = outcome.and(Err(lack));
                    if own.is_none() {
                        pending.push((self.data.start_receive(process, Data::none()), Vec::new()));
                    }
                }
            }
        }
        match outcome.and(window) {
            Ok(window) => Ok(Collected { window, pending }),
            Err(lack) => {
                end_all(pending).await;
                Err(lack)
            }
        }
    }

    async fn read(&self, access: Option<&Access>) -> Result<u64> {
        let target = access.map(Target::new).transpose();
        let mut outcome = target.as_ref().map(|_| ()).map_err(Clone::clone);
        let mut target = target.ok().flatten();
        let mut buffers = self.file.buffers.take();
        for round in 0..self.plan.rounds() {
            let read = self.read_round(target.as_mut(), round, &mut buffers[0]).await;
            outcome = outcome.and(read);
        }
        self.file.buffers.replace(buffers);
        outcome?;
        target.map_or(Ok(0), Target::finish)
    }

    /// Asks for what this process reads in a round.
    ///
    /// Errors: MPI_ERR_NO_MEM, and nothing was asked for.
    fn ask(&self, target: &mut Target<'_>, round: u64) -> Result<Asked> {
        let shares = self.shares(target.access, round)?;
        let rooms: Result<Vec<_>> = shares
            .into_iter()
            .map(|share| {
                let own = share.aggregator == self.lists.me;
                let room = if own { (Data::none(), Vec::new()) } else { target.room(share.part.clone())? };
                Ok((share, room))
            })
            .collect();
        let mut asked = Asked::default();
        for (Share { aggregator, part, runs, list }, (data, hold)) in rooms? {
            if aggregator == self.lists.me {
                asked.own = Some((runs, part.start));
                continue;
            }
            asked.sends.extend(self.tell(aggregator, list));
            if !part.is_empty() {
                asked.replies.push((part, self.data.start_receive(aggregator, data), hold));
            }
        }
        Ok(asked)
    }

    /// Tells the aggregators that count on a list that there is nothing in it.
    fn ask_nothing(&self, round: u64) -> Asked {
        let mut asked = Asked::default();
        for Share { aggregator, runs, list, .. } in self.no_shares(round) {
            match aggregator == self.lists.me {
                true => asked.own = Some((runs, 0)),
                false => asked.sends.extend(self.tell(aggregator, list)),
            }
        }
        asked
    }

    async fn read_round(&self, mut target: Option<&mut Target<'_>>, round: u64, buffer: &mut Buffer) -> Result<()> {
        let me = self.lists.me;
        let asked = target.as_mut().map(|target| self.ask(target, round)).transpose();
        let mut outcome = asked.as_ref().map(|_| ()).map_err(Clone::clone);
        let Asked { own, mut sends, replies } = asked.ok().flatten().unwrap_or_else(|| self.ask_nothing(round));
        let (runs, own) = own.unzip();
        let lists = self.lists(runs, round).await;
        let window = self.window(&lists, buffer);
        let read = window.and_then(|window| self.fetch(&window, buffer));
        // Nothing is there of a file that could not be read; the readers must not wait for it.
        let (start, end_of_file) = read.as_ref().copied().unwrap_or_default();
        outcome = outcome.and(read.map(|_| ()));
        for (process, runs) in lists {
            let there = runs.and_then(|runs| runs.before(end_of_file));
            let layout = there.and_then(|there| Ok((there.layout(start)?, there.bytes() as usize)));
            let given = match (layout, own.filter(|_| process == me).zip(target.as_mut())) {
                (Ok((layout, len)), Some((from, target))) => take_out(&layout, len, buffer.base(), from, target),
                (Err(lack), Some(_)) => Err(lack),
                (layout, None) => {
                    let data = match &layout {
                        Ok((ty, _)) => Data::Typed { base: buffer.base(), count: 1, ty: ty.clone() },
                        Err(_) => Data::none(),
                    };
                    sends.extend(self.data.start_send(process, data).map(|request| (request, Vec::new())));
                    layout.map(|_| ())
                }
            };
            outcome = outcome.and(given);
        }
        for (share, request, bytes) in replies {
            let came = end(request).await;
            if let Some(target) = target.as_mut() {
                target.came(share.start, came, &bytes);
            }
        }
        end_all(sends).await;
        outcome
    }

    /// Reads a window into the buffer. Gives where it begins, and up to where the file has bytes.
    fn fetch(&self, window: &Window, buffer: &mut Buffer) -> Result<(u64, u64)> {
        let range = window.range();
        if range.is_empty() {
            return Ok((range.start, 0));
        }
        let engine = self.file.engine()?;
        // SAFETY: reserved with the window; no transfer has begun.
        let bytes = unsafe { buffer.bytes((range.end - range.start) as usize) };
        Ok((range.start, read_window(&engine, window, bytes, &self.file.access_hints())?))
    }
}
