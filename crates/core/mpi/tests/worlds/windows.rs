//! Windows of a world: over words in shared memory, with memory that is mapped or is reached by messages, and over messages alone, as between
//! nodes.

use crate::network::Random;
use crate::process::{Comm, Done, Process, Trouble};
use std::rc::Rc;
use tern_adi::Data;
use tern_coll::ops::Op;
use tern_layout::{Basic, Type};
use tern_mpi::fault::consensus::Join;
use tern_rma::{Error, Exposure, Started, Target, Window};
use tern_settings::Mechanism;

/// Numbers in the window of each member. A sum of all, one that is changed under a lock, and one for each member to put to.
const SUM: usize = 0;
const LOCKED: usize = 1;
const PUT: usize = 2;

/// A window with the communicator that it has of its own.
struct Win<'a> {
    process: &'a Process,
    own: Rc<Comm>,
    window: Rc<Window>,
    number: Rc<Type>,
}

impl Win<'_> {
    fn at(&self, rank: usize, place: usize) -> Target<'_> {
        Target { rank: rank as u32, displacement: 8 * place as i64, ty: &self.number, count: 1 }
    }

    fn data(&self, number: &mut u64) -> Data {
        Data::new((&raw mut *number).cast(), 1, &self.number)
    }

    /// Waits until the access is complete at the origin.
    fn complete(&self, started: Result<Started, Error>) -> Done {
        let Started::Pending(ticket) = self.process.access(started)? else { return Ok(()) };
        self.process.adi.wait_until(&mut || self.window.is_done(ticket) || self.window.outcome(ticket).is_err());
        self.process.access(self.window.outcome(ticket))
    }

    fn get(&self, rank: usize, place: usize) -> Done<u64> {
        let mut number = 0;
        self.complete(self.window.get(&self.data(&mut number), &self.at(rank, place)))?;
        Ok(number)
    }

    fn put(&self, rank: usize, place: usize, mut number: u64) -> Done {
        self.complete(self.window.put(&self.data(&mut number), &self.at(rank, place)))?;
        self.process.access(self.window.flush(rank as u32))
    }

    fn add(&self, rank: usize, place: usize) -> Done {
        let (mut one, mut old) = (1u64, 0u64);
        let origin = (&raw mut one).cast_const().cast();
        self.complete(self.window.fetch_and_op(origin, (&raw mut old).cast(), &self.at(rank, place), Op::Sum))?;
        self.process.access(self.window.flush(rank as u32))
    }

    /// The number at `place` of this member.
    fn here(&self, place: usize) -> u64 {
        // SAFETY: the window has so many numbers, and those that could change them are on this thread.
        unsafe { self.window.base().cast::<u64>().add(place).read_volatile() }
    }
}

/// Makes a window, works with it and frees it.
pub fn one(process: &Process, comm: &Rc<Comm>, random: &mut Random) -> Done {
    process.begin(comm, "a window");
    process.check(comm)?;
    comm.windows.set(comm.windows.get() + 1);
    let own = process.comm(comm.name.id + comm.windows.get(), comm.procs.clone());
    let exposure = Exposure::Allocate { bytes: 8 * (PUT + comm.size()) };
    let (adi, peers) = (process.adi, own.peers.clone());
    let made = process.access(match random.below(3) {
        0 => Window::with(adi, peers, exposure, 1, Mechanism::Mapped),
        1 => Window::with(adi, peers, exposure, 1, Mechanism::Pipe),
        _ => Window::apart(adi, peers, exposure, 1),
    });
    let all = process.agree(comm, vec![u8::from(made.is_ok())], Join::And);
    if made.is_err() {
        // Goes on beside the program.
        process.begin_agreement(&own, vec![0], Join::And);
    }
    let win = Win { process, own, window: made?, number: Type::basic(Basic::Uint64) };
    process.facts.note_window();
    if all.value != [1] {
        return free(&win);
    }
    let done: Done = (0..1 + random.below(3)).map(|_| access(&win, random)).collect::<Vec<_>>().into_iter().collect();
    let ended = free(&win);
    done.and(ended)
}

/// As MPI_Win_free.
fn free(win: &Win<'_>) -> Done {
    win.window.flush_living();
    let met = win.process.agree(&win.own, vec![1], Join::And);
    win.process.begin(&win.own, "the end of a window");
    if met.failed.is_empty() && met.value == [1] {
        win.window.free();
        return Ok(());
    }
    win.window.free_without_others();
    Err(met.failed.iter().next().map_or(Trouble::Revoked, |rank| win.process.lost(win.own.procs[rank])))
}

fn access(win: &Win<'_>, random: &mut Random) -> Done {
    let (shift, which) = (random.below(win.own.size() as u64) as usize, random.below(5));
    match which {
        0 => add_shared(win, shift),
        1 => add_to_all(win),
        2 => add_alone(win, shift),
        3 => fence(win, shift),
        _ => post_and_start(win),
    }
}

/// Under a lock that others share.
fn add_shared(win: &Win<'_>, to: usize) -> Done {
    win.process.begin(&win.own, "a shared lock");
    win.process.access(win.window.lock(to as u32, false))?;
    win.process.pause();
    let done = win.add(to, SUM);
    done.and(win.process.access(win.window.unlock(to as u32)))
}

/// Under a lock for all.
fn add_to_all(win: &Win<'_>) -> Done {
    win.process.begin(&win.own, "a lock for all");
    win.process.access(win.window.lock_all())?;
    let done: Vec<Done> = (0..win.own.size()).map(|to| win.add(to, SUM)).collect();
    win.process.pause();
    let ended = win.process.access(win.window.unlock_all());
    done.into_iter().collect::<Done>().and(ended)
}

/// Two steps, which only a lock makes one.
fn add_alone(win: &Win<'_>, to: usize) -> Done {
    win.process.begin(&win.own, "a lock alone");
    win.process.access(win.window.lock(to as u32, true))?;
    let changed = win.get(to, LOCKED).and_then(|number| {
        win.process.pause();
        win.put(to, LOCKED, number + 1)
    });
    changed.and(win.process.access(win.window.unlock(to as u32)))
}

/// Each puts to another one between two fences.
fn fence(win: &Win<'_>, shift: usize) -> Done {
    win.process.begin(&win.own, "two fences");
    let (me, size) = (win.own.rank(), win.own.size());
    let begun = win.process.access(win.window.fence(true, true));
    let put = win.put((me + shift) % size, PUT + me, 1 + me as u64);
    let ended = win.process.access(win.window.fence(true, false));
    begun.and(put).and(ended)?;
    let from = (me + size - shift) % size;
    assert_eq!(win.here(PUT + from), 1 + from as u64, "what {from} has put");
    Ok(())
}

/// All put to all others.
fn post_and_start(win: &Win<'_>) -> Done {
    win.process.begin(&win.own, "post and start");
    let me = win.own.rank() as u32;
    let others: Vec<u32> = (0..win.own.size() as u32).filter(|&other| other != me).collect();
    win.window.post(&others, true);
    let mut done = win.process.access(win.window.start(&others, true));
    if done.is_ok() {
        let put = |&to: &u32| win.put(to as usize, PUT + me as usize, 1 + u64::from(me));
        done = others.iter().map(put).collect::<Vec<Done>>().into_iter().collect();
        done = done.and(win.process.access(win.window.complete()));
    }
    let waited = win.process.access(win.window.wait());
    if waited.is_ok() && done.is_ok() {
        others.iter().for_each(|&from| assert!(win.here(PUT + from as usize) <= 1 + u64::from(from)));
    }
    done.and(waited)
}
