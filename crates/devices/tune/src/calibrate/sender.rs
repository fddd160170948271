//! The measuring process that sends.

use std::sync::atomic::Ordering::{Relaxed, Release};

use super::arena::PART;
use super::roles::{EXTRA, Experiment, Process, TURNS, VECTORS, copies, copy, experiments, flush, io, times};
use super::turns::{Wait, play};
use tern_copy::use_vectors;
use tern_policy::costs::{Mover, Warmth};

/// Prepares its buffer, helps where both work, and looks at the clock.
pub(super) fn run(own: &mut Process<'_>) {
    let words = own.arena.words();
    // SAFETY: asks for nothing but leave for the other process to read this one's memory.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    words.sender[0].store(u64::from(std::process::id()), Relaxed);
    words.sender[1].store(own.private as u64, Relaxed);
    words.module[0].store(own.declare().map_or(0, |declared| declared.cookie), Relaxed);
    own.together(0);
    let core = rustix::thread::sched_getcpu();
    words.core.store(core as u32, Relaxed);
    words.set_packet(play(own, 0, Wait::Spin));
    for vectors in TURNS {
        use_vectors(vectors);
        for experiment in copies() {
            (0..times(&experiment)).for_each(|time| send(own, &experiment, time as u8));
        }
    }
    own.together(0);
    use_vectors(words.vectors.0.load(Relaxed) == VECTORS);
    let module = own.has_module();
    'all: for experiment in experiments(module) {
        for time in 0..times(&experiment) {
            if own.begin.elapsed() > own.budget {
                words.stop.0.store(1, Relaxed);
            }
            send(own, &experiment, time as u8);
            if words.stop.0.load(Relaxed) != 0 {
                break 'all;
            }
        }
    }
    own.together(0);
    own.note_losses(0);
    own.allow(EXTRA);
    own.together(0);
    let wake = play(own, 0, Wait::Sleep);
    own.together(0);
    words.set_turns(wake, play(own, 0, Wait::Yield));
}

/// The sender's part of one experiment.
fn send(own: &mut Process<'_>, experiment: &Experiment, fill: u8) {
    let (arena, size) = (own.arena, experiment.size);
    let source = match Process::is_shared(experiment.mover) {
        true => arena.source(),
        false => own.private,
    };
    // SAFETY: the buffer has LARGEST bytes, and the receiver does not look yet.
    unsafe { source.write_bytes(fill, size) };
    if experiment.warmth == Warmth::Cold {
        flush(source, size);
    }
    if let Mover::Eager | Mover::Pipe = experiment.mover {
        // The receiver has answered in the blocks.
        arena.each_line(size, |line| {
            // SAFETY: inside a block, which nobody writes to now.
            unsafe { line.read_volatile() };
        });
    }
    let words = arena.words();
    words.claim.0.store(0, Relaxed);
    own.together(0);
    // Everything that the receiver had prepared is known from here on.
    if words.stop.0.load(Relaxed) != 0 {
        return;
    }
    let chunk = Process::chunk(experiment.mover, size);
    match experiment.mover {
        Mover::MappedPush | Mover::MappedBoth => {
            own.share(size, chunk, |at, len| {
                // SAFETY: inside both buffers; each chunk is claimed once.
                unsafe { copy(source.add(at), arena.target().add(at), len) };
                true
            });
            // Release: pairs with the acquire in `sender_has_done`.
            words.done.0.store(own.step, Release);
        }
        Mover::CmaPush | Mover::CmaBoth => {
            let [pid, at_receiver] = words.receiver.each_ref().map(|word| word.load(Relaxed));
            own.share(size, chunk, |at, len| {
                let local = io(source.wrapping_add(at), len);
                let remote = io((at_receiver as usize + at) as *mut u8, len);
                // SAFETY: reads memory of this process only; writes to the receiver's buffer.
                let moved = unsafe { libc::process_vm_writev(pid as libc::pid_t, &local, 1, &remote, 1, 0) };
                if moved != len as isize {
                    words.refused.0.store(own.step, Relaxed);
                }
                moved == len as isize
            });
            // Release: as above, also for `refused`.
            words.done.0.store(own.step, Release);
        }
        Mover::Eager | Mover::Pipe => {
            for (part, at) in (0..size).step_by(PART).enumerate() {
                let len = PART.min(size - at);
                // SAFETY: inside the buffer and the block.
                unsafe { copy(source.add(at), arena.block(part), len) };
                // Release: pairs with the acquire in `receive`.
                words.filled[part].0.store(own.turn(part + 1), Release);
            }
        }
        Mover::Mapped | Mover::Cma | Mover::Module => {}
    }
    // The buffers and counters are the receiver's until it has done with them.
    own.together(0);
}
