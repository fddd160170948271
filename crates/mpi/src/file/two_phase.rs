//! Collective access in two phases (Thakur, Gropp, Lusk: Data Sieving and Collective I/O in ROMIO,
//! 1999): data travels between the processes that own it and a few *aggregators*, each of which
//! accesses a part of the file in long runs. Who does what in which round, the engine's plan says.
//!
//! In a round, each process sends each aggregator a list of the runs that it has in the
//! aggregator's window, and the data follows; when reading, it comes back. Both sides know from the
//! requests who has anything there. Lists and data have tags of their own, since they cross on the
//! way between two aggregators.

use super::access::Access;
use super::agree::consent;
use super::buffer::Buffer;
use super::runs::{Runs, decode, encode};
use super::{File, Way};
use crate::error::Result;
use crate::exchange::Circle;
use crate::runtime::adi;
use crate::task::until;
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

/// What this process has said and sent for a round.
struct Told {
    shares: Vec<(usize, Range<u64>, Runs)>,
    pending: Vec<Pending>,
}

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
    pub async fn run(&self, way: Way, access: Result<Access>) -> Result<u64> {
        let done = match way {
            Way::Write => self.write(access.as_ref().ok()).await,
            Way::Read => self.read(access.as_ref().ok()).await,
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

    /// This process's runs in the window of each aggregator where it takes part, and the part of its
    /// request that these are.
    fn shares(&self, access: Option<&Access>, round: u64) -> Vec<(usize, Range<u64>, Runs)> {
        let Some(Access { transfer, position }) = access else { return Vec::new() };
        let (view, len) = (&transfer.view.io, transfer.bytes);
        let mut shares = Vec::new();
        for (index, &aggregator) in self.plan.aggregators().iter().enumerate() {
            if self.takes_part(self.lists.me, &self.plan.window(index, round)) {
                let share = self.plan.share(view, *position, len, index, round);
                let runs = Runs::of(view, position + share.start, share.end - share.start);
                shares.push((aggregator, share, runs));
            }
        }
        shares
    }

    /// Sends the lists of runs to the other aggregators.
    fn tell(&self, shares: &[(usize, Range<u64>, Runs)]) -> Vec<Pending> {
        let mut pending = Vec::new();
        for (aggregator, _, runs) in shares.iter().filter(|share| share.0 != self.lists.me) {
            let mut list = encode(runs);
            let data = Data::Bytes(list.as_mut_ptr(), list.len());
            pending.extend(self.lists.start_send(*aggregator, data).map(|request| (request, list)));
        }
        pending
    }

    /// What every process has in the window of this aggregator, if it is one.
    async fn lists(&self, shares: &[(usize, Range<u64>, Runs)], round: u64) -> Vec<(usize, Runs)> {
        let me = self.lists.me;
        let Some(index) = self.plan.aggregator(me) else { return Vec::new() };
        let window = self.plan.window(index, round);
        let mut lists = Vec::new();
        for process in 0..self.requests.len() {
            if !self.takes_part(process, &window) {
                continue;
            }
            let runs = match shares.iter().find(|share| process == me && share.0 == me) {
                Some((_, _, runs)) => runs.clone(),
                None => match self.lists.receive(process).await {
                    Ok(list) => decode(&list),
                    // It is lost, and has no part in the window. The end of the call says so.
                    Err(_) => continue,
                },
            };
            lists.push((process, runs));
        }
        lists
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
            let told = self.send(access, source.as_ref(), round);
            // While a window is written, others put what they have for the next one into the other buffer.
            if early {
                outcome = outcome.and(self.put(full.take(), &mut buffers[1]));
            }
            let begun = self.collect(told, source.as_ref(), round, &mut buffers[0]).await;
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

    /// Sends what this process has for a round.
    fn send(&self, access: Option<&Access>, source: Option<&Source<'_>>, round: u64) -> Told {
        let me = self.lists.me;
        let shares = self.shares(access, round);
        let mut pending = self.tell(&shares);
        for (aggregator, share, _) in shares.iter().filter(|share| share.0 != me && !share.1.is_empty()) {
            let Some(source) = source else { continue };
            let (data, hold) = source.part(share.clone());
            pending.extend(self.data.start_send(*aggregator, data).map(|request| (request, hold)));
        }
        Told { shares, pending }
    }

    /// Begins to receive what the others have for the window of a round.
    async fn collect(
        &self, told: Told, source: Option<&Source<'_>>, round: u64, buffer: &mut Buffer,
    ) -> Result<Collected> {
        let me = self.lists.me;
        let Told { shares, mut pending } = told;
        let lists = self.lists(&shares, round).await;
        let mut window = Window::new();
        lists.iter().for_each(|(_, runs)| runs.add_to(&mut window));
        let range = window.range();
        buffer.reserve((range.end - range.start) as usize);
        for (process, runs) in lists.iter().filter(|(_, runs)| runs.bytes() > 0) {
            let layout = runs.layout(range.start)?;
            match shares.iter().find(|share| *process == me && share.0 == me).zip(source) {
                Some(((_, share, _), source)) => {
                    let (data, _hold) = source.part(share.clone());
                    copy_in(&data, &layout, buffer.base());
                }
                None => {
                    let data = Data::Typed { base: buffer.base(), count: 1, ty: layout };
                    pending.push((self.data.start_receive(*process, data), Vec::new()));
                }
            }
        }
        Ok(Collected { window, pending })
    }

    async fn read(&self, access: Option<&Access>) -> Result<u64> {
        let mut target = access.map(Target::new);
        let mut buffers = self.file.buffers.take();
        let mut outcome = Ok(());
        for round in 0..self.plan.rounds() {
            let read = self.read_round(access, target.as_mut(), round, &mut buffers[0]).await;
            outcome = outcome.and(read);
        }
        self.file.buffers.replace(buffers);
        outcome?;
        target.map_or(Ok(0), Target::finish)
    }

    async fn read_round(
        &self, access: Option<&Access>, mut target: Option<&mut Target<'_>>, round: u64, buffer: &mut Buffer,
    ) -> Result<()> {
        let me = self.lists.me;
        let shares = self.shares(access, round);
        let mut sends = self.tell(&shares);
        let mut replies: Replies = Vec::new();
        for (aggregator, share, _) in shares.iter().filter(|share| share.0 != me && !share.1.is_empty()) {
            let Some(target) = target.as_mut() else { continue };
            let (data, hold) = target.room(share.clone());
            replies.push((share.clone(), self.data.start_receive(*aggregator, data), hold));
        }
        let lists = self.lists(&shares, round).await;
        let mut window = Window::new();
        lists.iter().for_each(|(_, runs)| runs.add_to(&mut window));
        let range = window.range();
        let bytes = (range.end - range.start) as usize;
        buffer.reserve(bytes);
        let read = match bytes {
            0 => Ok(0),
            _ => self.file.engine().and_then(|engine| {
                // SAFETY: reserved above; no transfer has begun.
                let bytes = unsafe { buffer.bytes(bytes) };
                Ok(read_window(&engine, &window, bytes, &self.file.access_hints())?)
            }),
        };
        // Nothing is there of a file that could not be read; the readers must not wait for it.
        let end_of_file = *read.as_ref().unwrap_or(&0);
        let outcome = read.map(|_| ());
        for (process, runs) in lists.iter().filter(|(_, runs)| runs.bytes() > 0) {
            let there = runs.before(end_of_file);
            let layout = there.layout(range.start)?;
            match shares.iter().find(|share| *process == me && share.0 == me).zip(target.as_mut()) {
                Some(((_, share, _), target)) => {
                    let mut bytes = vec![0; there.bytes() as usize];
                    // SAFETY: the runs lie in the buffer, which the window covers.
                    unsafe { layout.pack(buffer.base(), 1, 0, &mut bytes) };
                    target.put(share.start, &bytes);
                }
                None => {
                    let data = Data::Typed { base: buffer.base(), count: 1, ty: layout };
                    sends.extend(self.data.start_send(*process, data).map(|request| (request, Vec::new())));
                }
            }
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
}

/// Puts a part of this process's own data where it belongs in the buffer of a window.
fn copy_in(data: &Data, layout: &tern_layout::Type, buffer: *mut u8) {
    let Data::Bytes(base, len) = data else { return };
    // SAFETY: a part of the user's buffer, or of a packed copy of it, that is as long as the runs,
    // and these lie in the buffer.
    unsafe { layout.unpack(buffer, 1, 0, std::slice::from_raw_parts(*base, *len)) };
}

/// The data of a request in file representation.
enum Source<'a> {
    /// As it lies in memory, in one run.
    Dense(*mut u8),
    /// To be gathered.
    Scattered(&'a Access),
    /// Converted.
    Converted(Vec<u8>),
}

impl<'a> Source<'a> {
    fn new(access: &'a Access) -> Result<Source<'a>> {
        let memory = access.transfer.memory();
        let representation = access.transfer.view.io.representation();
        if !representation.is_plain() {
            // SAFETY: the program keeps its buffer valid until the operation is complete.
            return Ok(Source::Converted(unsafe { representation.pack(&memory)? }));
        }
        Ok(match memory.ty.dense_run(memory.count) {
            Some((at, _)) => Source::Dense(memory.base.wrapping_offset(at as isize)),
            None => Source::Scattered(access),
        })
    }

    /// A part of it, and what holds the bytes if they were gathered.
    fn part(&self, share: Range<u64>) -> (Data, Vec<u8>) {
        let len = (share.end - share.start) as usize;
        match self {
            Source::Dense(base) => (Data::Bytes(base.wrapping_add(share.start as usize), len), Vec::new()),
            Source::Converted(bytes) => {
                let base = bytes[share.start as usize..][..len].as_ptr().cast_mut();
                (Data::Bytes(base, len), Vec::new())
            }
            Source::Scattered(access) => {
                let memory = access.transfer.memory();
                let mut bytes = vec![0; len];
                // SAFETY: the program keeps its buffer valid until the operation is complete.
                unsafe { memory.ty.pack(memory.base, memory.count, share.start, &mut bytes) };
                (Data::Bytes(bytes.as_mut_ptr(), len), bytes)
            }
        }
    }
}

/// Where the data of a request goes.
struct Target<'a> {
    access: &'a Access,
    place: Place,
    /// Bytes that have come, in file representation.
    came: u64,
}

enum Place {
    Dense(*mut u8),
    Scattered,
    /// To be converted at the end.
    Converted(Vec<u8>),
}

impl<'a> Target<'a> {
    fn new(access: &'a Access) -> Target<'a> {
        let memory = access.transfer.memory();
        let place = match memory.ty.dense_run(memory.count) {
            _ if !access.transfer.view.io.representation().is_plain() => {
                Place::Converted(vec![0; access.transfer.bytes as usize])
            }
            Some((at, _)) => Place::Dense(memory.base.wrapping_offset(at as isize)),
            None => Place::Scattered,
        };
        Target { access, place, came: 0 }
    }

    /// Where a part of it may be received, and what holds it meanwhile.
    fn room(&mut self, share: Range<u64>) -> (Data, Vec<u8>) {
        let len = (share.end - share.start) as usize;
        match &mut self.place {
            Place::Dense(base) => (Data::Bytes(base.wrapping_add(share.start as usize), len), Vec::new()),
            Place::Converted(bytes) => {
                let room = &mut bytes[share.start as usize..][..len];
                (Data::Bytes(room.as_mut_ptr(), len), Vec::new())
            }
            Place::Scattered => {
                let mut bytes = vec![0; len];
                (Data::Bytes(bytes.as_mut_ptr(), len), bytes)
            }
        }
    }

    /// So many bytes have come into the room of the part that begins at `from`.
    fn came(&mut self, from: u64, bytes: u64, held: &[u8]) {
        if let Place::Scattered = self.place {
            self.scatter(from, &held[..bytes as usize]);
        }
        self.came += bytes;
    }

    /// Puts bytes of this process's own where they belong.
    fn put(&mut self, from: u64, bytes: &[u8]) {
        match &mut self.place {
            // SAFETY: the program keeps its buffer valid and unshared until the operation is complete.
            Place::Dense(base) => unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), base.wrapping_add(from as usize), bytes.len());
            },
            Place::Converted(room) => room[from as usize..][..bytes.len()].copy_from_slice(bytes),
            Place::Scattered => self.scatter(from, bytes),
        }
        self.came += bytes.len() as u64;
    }

    fn scatter(&self, from: u64, bytes: &[u8]) {
        let memory = self.access.transfer.memory();
        // SAFETY: as in `put`.
        unsafe { memory.ty.unpack(memory.base, memory.count, from, bytes) };
    }

    /// Bytes of memory that have come. The file ends once, so these are the first ones.
    fn finish(self) -> Result<u64> {
        let Place::Converted(bytes) = &self.place else { return Ok(self.came) };
        let representation = self.access.transfer.view.io.representation();
        // SAFETY: as in `put`.
        Ok(unsafe { representation.unpack(&self.access.transfer.memory(), &bytes[..self.came as usize])? })
    }
}
