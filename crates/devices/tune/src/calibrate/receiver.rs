//! The measuring process that receives, and takes the times.

use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Instant;

use super::arena::{LINE, PART};
use super::disturbance::{median, spread};
use super::pins;
use super::promotion;
use super::roles::{
    COPIES, EXTRA, Experiment, Process, TURNS, VECTORS, clock_cost, copies, copy, experiments, flush, io, pin,
    quickest, take, times,
};
use super::turns::{Wait, play};
use tern_copy::use_vectors;
use tern_policy::costs::{Mover, Warmth};
use tern_region::Run;

/// What is not the C library must be so much faster. Of two that are alike, no noise should decide.
const CLEARLY: f64 = 0.95;

/// Messages from so many bytes on take long enough that two tries of one experiment can be compared.
const STEADY: usize = 4 << 10;

/// Takes the times of all experiments.
pub(super) fn run(own: &mut Process<'_>) {
    let words = own.arena.words();
    // SAFETY: asks for nothing but leave for the other process to write to this one's memory.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    words.receiver[0].store(u64::from(std::process::id()), Relaxed);
    words.receiver[1].store(own.private as u64, Relaxed);
    words.module[1].store(own.module.is_some().into(), Relaxed);
    own.together(1);
    play(own, 1, Wait::Spin);
    let clock = clock_cost();
    choose_copies(own);
    let mut spreads = Vec::new();
    let module = own.has_module();
    'all: for experiment in experiments(module) {
        // The best with the target read before, and without.
        let mut best = [f64::INFINITY; 2];
        let mut tries = [Vec::new(), Vec::new()];
        for time in 0..times(&experiment) {
            let reads = time % 2;
            let taken = receive(own, &experiment, reads == 1);
            if words.stop.0.load(Relaxed) != 0 {
                break 'all;
            }
            // The first two are warm-ups.
            if let (Some(ns), 2..) = (taken, time) {
                best[reads] = best[reads].min((ns - clock).max(0.0));
                tries[reads].push(ns);
            }
        }
        let ns = (best[0] + best[1]) / 2.0;
        if ns.is_finite() {
            words.set_move(experiment.number, experiment.warmth as usize, experiment.size_number, ns);
        }
        if experiment.size >= STEADY {
            spreads.extend(tries.iter_mut().filter_map(|tries| spread(tries)));
        }
    }
    words.set_spread(median(&mut spreads).unwrap_or(0.0));
    pieces(own);
    own.together(1);
    own.note_losses(1);
    words.complete.0.store(1, Relaxed);
    own.allow(EXTRA);
    pins::measure(own);
    promotion::measure(words);
    own.together(1);
    play(own, 1, Wait::Sleep);
    pin(words.core.load(Relaxed) as usize);
    own.together(1);
    play(own, 1, Wait::Yield);
}

/// Finds out whether copies are faster by vectors.
fn choose_copies(own: &mut Process<'_>) {
    let mut took = [const { [const { Vec::new() }; COPIES] }; 2];
    for vectors in TURNS {
        use_vectors(vectors);
        for (number, experiment) in copies().enumerate() {
            let times = (0..times(&experiment)).filter_map(|time| receive(own, &experiment, time % 2 == 1));
            took[usize::from(vectors)][number].extend(times);
        }
    }
    let vectors = are_faster(took);
    // Relaxed: ordered by `together`.
    own.arena.words().vectors.0.store(if vectors { VECTORS } else { VECTORS - 1 }, Relaxed);
    own.together(1);
    use_vectors(vectors);
}

/// Whether vectors are clearly faster than the C library, whose times come first: by experiment, in nanoseconds. Medians tell. The
/// quickest try is mostly one in which the sender had its part done before this process looked at the clock. Beside other load such
/// a try decided one launch in twelve.
fn are_faster(mut took: [[Vec<f64>; COPIES]; 2]) -> bool {
    let mut sum = |kind: usize| took[kind].iter_mut().map(|tries| median(tries)).sum::<Option<f64>>();
    sum(0).zip(sum(1)).is_some_and(|(libc, vectors)| vectors < CLEARLY * libc)
}

/// The receiver's part of one experiment: nanoseconds, `None` if it failed or the time is over.
///
/// A program reads what it has received, and then its core holds the lines of the buffer; that
/// hinders a sender who writes there. A program that only passes buffers on does not. So it is
/// measured both ways.
fn receive(own: &mut Process<'_>, experiment: &Experiment, reads: bool) -> Option<f64> {
    let (arena, size) = (own.arena, experiment.size);
    let target = match experiment.mover {
        Mover::MappedPush | Mover::MappedBoth => arena.target(),
        _ => own.private,
    };
    if experiment.warmth == Warmth::Cold {
        flush(target, size);
    } else if reads {
        for at in (0..size).step_by(LINE) {
            // SAFETY: inside the buffer, which nobody writes to now.
            unsafe { target.add(at).read_volatile() };
        }
    }
    // As adi does with a long message whose first part was slow.
    let streams = experiment.warmth == Warmth::Cold && size >= 64 << 10;
    own.together(1);
    let words = arena.words();
    if words.stop.0.load(Relaxed) != 0 {
        return None;
    }
    let [pid, at_sender] = words.sender.each_ref().map(|word| word.load(Relaxed));
    let read = |at: usize, len: usize| {
        let local = io(target.wrapping_add(at), len);
        let remote = io((at_sender as usize + at) as *mut u8, len);
        // SAFETY: writes to memory of this process only, inside the buffer.
        let moved = unsafe { libc::process_vm_readv(pid as libc::pid_t, &local, 1, &remote, 1, 0) };
        moved == len as isize
    };
    let chunk = Process::chunk(experiment.mover, size);
    let begin = Instant::now();
    let moved = match experiment.mover {
        Mover::Mapped => {
            // SAFETY: inside both buffers; the sender has filled its one (`together`).
            unsafe { copy(arena.source(), target, size) };
            true
        }
        Mover::MappedPush | Mover::CmaPush => sender_has_done(own),
        Mover::MappedBoth => {
            own.share(size, chunk, |at, len| {
                // SAFETY: inside both buffers; each chunk is claimed once.
                unsafe { copy(arena.source().add(at), target.add(at), len) };
                true
            });
            sender_has_done(own)
        }
        Mover::Cma => read(0, size),
        Mover::Module => {
            let (cookie, local) = (words.module[0].load(Relaxed), [Run::new(target, size)]);
            // SAFETY: writes to memory of this process only, inside the buffer.
            own.module.as_ref().is_some_and(|module| unsafe { module.read(cookie, 0, &local) } == Ok(size))
        }
        Mover::CmaBoth => {
            let mut moved = true;
            own.share(size, chunk, |at, len| {
                moved = read(at, len);
                moved
            });
            sender_has_done(own) && moved
        }
        Mover::Eager | Mover::Pipe => {
            for (part, at) in (0..size).step_by(PART).enumerate() {
                // Acquire: pairs with the release in `send`.
                own.until(|| words.filled[part].0.load(Acquire) == own.turn(part + 1));
                let len = PART.min(size - at);
                // SAFETY: inside the block and the buffer.
                unsafe { take(arena.block(part), target.add(at), len, streams && at > 0) };
            }
            true
        }
    };
    let took = begin.elapsed().as_nanos() as f64;
    if let Mover::Eager | Mover::Pipe = experiment.mover {
        // As one who answers: the blocks of the pipe go to and fro.
        arena.each_line(size, |line| {
            // SAFETY: inside a block, which nobody reads now.
            unsafe { line.write_volatile(0) };
        });
    }
    own.together(1);
    moved.then_some(took)
}

/// Waits until the sender has copied its part; true if it could.
fn sender_has_done(own: &Process<'_>) -> bool {
    let words = own.arena.words();
    // Acquire: pairs with the release in `send`.
    own.until(|| words.done.0.load(Acquire) == own.step);
    words.refused.0.load(Relaxed) != own.step
}

/// What pieces cost more than the same bytes in one.
fn pieces(own: &mut Process<'_>) {
    const PIECE: usize = 64;
    const STRIDE: usize = 256;
    const COUNT: usize = 1024;
    let (from, to) = (own.arena.source(), own.private);
    // SAFETY: inside both buffers.
    let strided = quickest(|| unsafe {
        for piece in 0..COUNT {
            copy(from.add(piece * STRIDE), to.add(piece * PIECE), PIECE);
        }
    });
    // SAFETY: as above.
    let dense = quickest(|| unsafe { copy(from, to, COUNT * PIECE) });
    let words = own.arena.words();
    let [pid, at_sender] = words.sender.each_ref().map(|word| word.load(Relaxed));
    let remote: [libc::iovec; 64] =
        std::array::from_fn(|piece| io((at_sender as usize + piece * 4096) as *mut u8, 1024));
    let mut moved = true;
    let mut read = |runs: &[libc::iovec]| {
        let total = runs.iter().map(|run| run.iov_len).sum();
        let local = io(to, total);
        quickest(|| {
            // SAFETY: writes to memory of this process only, inside the buffer.
            let got = unsafe {
                let (pid, runs_len) = (pid as libc::pid_t, runs.len() as libc::c_ulong);
                libc::process_vm_readv(pid, &local, 1, runs.as_ptr(), runs_len, 0)
            };
            moved &= got == total as isize;
        })
    };
    let many = read(&remote);
    let one = read(&[io(at_sender as *mut u8, 64 << 10)]);
    let each = |more: f64, count: usize| (more / count as f64).max(0.0);
    words.set_pieces(each(strided - dense, COUNT), moved.then(|| each(many - one, remote.len())));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries around these times: the first ones are slow.
    fn tries(ns: [f64; COPIES]) -> [Vec<f64>; COPIES] {
        ns.map(|ns| [20.0, 3.0, 1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.0].map(|factor| factor * ns).into())
    }

    #[test]
    fn vectors_are_taken_where_they_are_clearly_faster() {
        assert!(are_faster([tries([2000.0, 4000.0]), tries([1600.0, 3300.0])]));
        assert!(!are_faster([tries([2000.0, 4000.0]), tries([2800.0, 5500.0])]));
        assert!(!are_faster([tries([2000.0, 4000.0]), tries([1960.0, 3900.0])]), "a little faster may be noise");
    }

    #[test]
    fn a_try_that_the_sender_has_done_alone_decides_nothing() {
        let [libc, mut vectors] = [tries([2000.0, 4000.0]), tries([2800.0, 5500.0])];
        vectors[1][4] = 110.0;
        assert!(!are_faster([libc.clone(), vectors.clone()]));
        assert!(are_faster([vectors, libc]));
    }

    #[test]
    fn without_all_times_it_is_the_c_library() {
        let [some, none] = [tries([2000.0, 4000.0]), tries([1000.0, 2000.0]).map(|_| Vec::new())];
        assert!(!are_faster([none.clone(), some.clone()]) && !are_faster([some, none]));
    }
}
