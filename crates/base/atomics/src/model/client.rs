//! A process's side of a model: its slot, its clock, and when it asks.

use super::cache::{Held, Line, lines};
use super::maps;
use crate::wire::{Act, Header, LOOKED, Range, Slot, length};
use rustix::fs::{Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::thread::futex;
use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest range whose lines are known one by one; longer ones always ask.
const SHORT: u64 = 512;

/// The header's address, and the slot's, and the core of this process.
#[derive(Clone, Copy, Debug)]
struct Joined {
    header: usize,
    slot: usize,
    core: u32,
}

static JOINED: OnceLock<Joined> = OnceLock::new();

thread_local! {
    /// Whether this thread has begun.
    static ON: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    static CLIENT: RefCell<Option<Client>> = const { RefCell::new(None) };
}

/// Somebody has begun: else no thread looks further.
static ANY: AtomicBool = AtomicBool::new(false);

impl Joined {
    fn header(&self) -> &'static Header {
        // SAFETY: mapped in `join`, and never unmapped.
        unsafe { &*std::ptr::with_exposed_provenance(self.header) }
    }

    fn slot(&self) -> &'static Slot {
        // SAFETY: as above; the file has a slot for each process.
        unsafe { &*std::ptr::with_exposed_provenance(self.slot) }
    }
}

/// Joins the run of the model whose file has this name, as process `rank`, bound to `core` of the made-up machine.
///
/// # Errors
/// The file cannot be opened or mapped, or is too short for that process.
pub fn join(name: &str, rank: u32, core: u32) -> std::io::Result<()> {
    let file = rustix::fs::open(name, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let slots = (rustix::fs::fstat(&file)?.st_size as usize).saturating_sub(size_of::<Header>()) / size_of::<Slot>();
    if rank as usize >= slots {
        return Err(std::io::Error::other(format!("{name} is for {slots} processes")));
    }
    let rights = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping.
    let at = unsafe { mmap(std::ptr::null_mut(), length(slots), rights, MapFlags::SHARED, &file, 0)? };
    let header = at.expose_provenance();
    let slot = header + size_of::<Header>() + rank as usize * size_of::<Slot>();
    let _ = JOINED.set(Joined { header, slot, core });
    Ok(())
}

/// How many cores the made-up machine has.
pub fn cores() -> Option<u32> {
    JOINED.get().map(|joined| joined.header().cores.load(Ordering::Relaxed))
}

/// The clock stands still until all processes have come here, and is virtual from then on.
pub fn begin() {
    let Some(&joined) = JOINED.get() else { return };
    let [step, near] =
        [&joined.header().step, &joined.header().near].map(|word| f64::from_bits(word.load(Ordering::Relaxed)));
    let mut client =
        Client { joined, clock: 0.0, until: 0.0, step, near, stale: 0, held: Held::default(), looked: Vec::new() };
    let process = Range { offset: std::process::id().into(), ..Range::default() };
    client.ask(Act::Begin, Range { offset: joined.core.into(), ..Range::default() }, process);
    CLIENT.set(Some(client));
    ON.set(true);
    ANY.store(true, Ordering::Relaxed);
}

/// The clock is real again, once all processes have come here.
pub fn end() {
    with(|client| client.ask(Act::End, Range::default(), Range::default()));
    ON.set(false);
    CLIENT.set(None);
}

/// What this thread does with its client; `None` if it has none.
#[inline]
pub fn with<R>(act: impl FnOnce(&mut Client) -> R) -> Option<R> {
    if !ANY.load(Ordering::Relaxed) || !ON.get() {
        return None;
    }
    CLIENT.with_borrow_mut(|client| client.as_mut().map(act))
}

/// What the clock shows when all begin, so that it is later than what a real clock has shown before.
const BEGIN: u64 = 1 << 50;

/// Nanoseconds of the virtual clock, while there is one.
#[inline]
pub fn now() -> Option<u64> {
    with(|client| BEGIN + client.clock as u64)
}

/// The clock goes on by so many nanoseconds.
pub fn spend(nanoseconds: u64) {
    with(|client| client.clock += nanoseconds as f64);
}

/// All processes come here at once, by their clocks. `level`: what the server is told.
pub fn mark(level: i32) {
    with(|client| client.ask(Act::Mark, Range { offset: level as u64, ..Range::default() }, Range::default()));
}

/// All looks since the last call were in vain: waits until a line that was looked at changes. False without a model, and nothing has
/// happened.
pub fn pause() -> bool {
    with(Client::pause).is_some()
}

/// A process of a model.
pub struct Client {
    joined: Joined,
    /// Nanoseconds since all have begun.
    clock: f64,
    /// Until then nobody else changes what this process holds.
    until: f64,
    /// Nanoseconds of an access that moves no line.
    step: f64,
    /// Bytes of a nanosecond, within the caches of a core.
    near: f64,
    stale: u64,
    held: Held,
    /// Lines read since the last pause.
    looked: Vec<Line>,
}

impl Client {
    /// Bytes that lie in one run.
    pub fn touch(&mut self, act: Act, at: *const u8, len: usize) {
        let range = maps::find(at, len);
        if len == 0 || range.file == 0 {
            return;
        }
        let alone = act != Act::Read;
        let is_short = range.bytes <= SHORT;
        if is_short && !alone {
            self.look(range);
        }
        if is_short && self.clock <= self.until && self.held.has(range, alone) {
            self.clock += self.step;
            return;
        }
        let ranges = if alone { [Range::default(), range] } else { [range, Range::default()] };
        self.ask(act, ranges[0], ranges[1]);
        if is_short {
            self.held.add(range, alone);
        }
    }

    /// A copy, of which either side may be private.
    pub fn copy(&mut self, to: *const u8, from: *const u8, len: usize) {
        let [source, target] = [from, to].map(|at| maps::find(at, len));
        if source.file != 0 || target.file != 0 {
            self.ask(Act::Copy, source, target);
        } else if len as u64 > SHORT {
            self.clock += len as f64 / self.near;
        }
    }

    /// Bytes between private memory of this process and of another one.
    pub fn take(&mut self, process: i32, len: usize) {
        let range = Range { file: 0, offset: process as u64, bytes: len as u64 };
        self.ask(Act::Take, range, Range::default());
    }

    /// Asks for a line early, to write it if `alone`.
    pub fn fetch(&mut self, at: *const u8, len: usize, alone: bool) {
        let range = maps::find(at, len);
        if len != 0 && range.file != 0 && !(self.clock <= self.until && self.held.has(range, alone)) {
            let ranges = if alone { [Range::default(), range] } else { [range, Range::default()] };
            self.ask(Act::Fetch, ranges[0], ranges[1]);
        }
    }

    fn look(&mut self, range: Range) {
        for line in lines(range).take(LOOKED) {
            if self.looked.len() <= LOOKED && !self.looked.contains(&line) {
                self.looked.push(line);
            }
        }
    }

    fn pause(&mut self) {
        let slot = self.joined.slot();
        slot.looked.store(self.looked.len() as u32, Ordering::Relaxed);
        for (to, line) in slot.lines.iter().zip(&self.looked) {
            to[0].store(line.0, Ordering::Relaxed);
            to[1].store(line.1, Ordering::Relaxed);
        }
        self.looked.clear();
        self.ask(Act::Pause, Range::default(), Range::default());
    }

    /// Asks, and sleeps until it is answered.
    fn ask(&mut self, act: Act, source: Range, target: Range) {
        let (header, slot) = (self.joined.header(), self.joined.slot());
        slot.act.store(act as u32, Ordering::Relaxed);
        slot.source.store(source);
        slot.target.store(target);
        slot.clock.set(self.clock);
        // Release: pairs with the acquire in the server, which reads what was stored before.
        slot.asks.store(1, Ordering::Release);
        header.bell.fetch_add(1, Ordering::Release);
        let _ = futex::wake(&header.bell, futex::Flags::empty(), 1);
        // Acquire: pairs with the release of the server's answer, and so with what other processes have stored.
        while slot.asks.load(Ordering::Acquire) == 1 {
            let _ = futex::wait(&slot.asks, futex::Flags::empty(), 1, None);
        }
        if header.failed.load(Ordering::Relaxed) == 1 {
            eprintln!("tern: the model's run has failed: all processes wait for each other");
            std::process::abort();
        }
        self.clock = slot.clock.get();
        self.until = slot.until.get();
        let stale = slot.stale.load(Ordering::Relaxed);
        if stale != self.stale {
            self.stale = stale;
            self.held.clear();
        }
    }
}
