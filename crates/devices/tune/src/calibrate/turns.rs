//! What it takes to pass the turn to another process: one that is awake on another core, that
//! sleeps there, or that waits for the same core.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Instant;

use rustix::thread::futex;

use super::roles::{Process, clock_cost};

/// How the one waits whose turn it is not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Looks all the time.
    Spin,
    /// Sleeps until it is woken.
    Sleep,
    /// Gives up the core between looks.
    Yield,
}

impl Wait {
    /// How many turns are played.
    fn turns(self) -> u32 {
        match self {
            Wait::Spin => 300,
            Wait::Sleep | Wait::Yield => 40,
        }
    }
}

/// Both processes play: `me` is 0 for the one who begins, 1 for the other. Nanoseconds from one
/// to the other, the median.
pub(super) fn play(own: &Process<'_>, me: usize, how: Wait) -> f64 {
    let [mine, theirs] = {
        let balls = &own.arena.words().balls;
        [&balls[me].0, &balls[1 - me].0]
    };
    let pass = |turn: u32| {
        // Release: pairs with the acquire of who waits.
        mine.store(turn, Release);
        if how == Wait::Sleep {
            let _ = futex::wake(mine, futex::Flags::empty(), 1);
        }
    };
    let wait = |turn: u32| {
        // Acquire: pairs with the release in `pass`.
        let often = if how == Wait::Spin { 4096 } else { 8 };
        own.until_every(often, || match theirs.load(Acquire) {
            seen if seen == turn => true,
            seen => {
                match how {
                    Wait::Spin => {}
                    Wait::Yield => rustix::thread::sched_yield(),
                    Wait::Sleep => sleep(theirs, seen),
                }
                false
            }
        });
    };
    // Relaxed: no other process writes it.
    let before = mine.load(Relaxed);
    let mut times: Vec<f64> = (before + 1..=before + how.turns())
        .map(|turn| {
            let begin = Instant::now();
            if me == 0 {
                pass(turn);
                wait(turn);
            } else {
                wait(turn);
                pass(turn);
            }
            begin.elapsed().as_nanos() as f64
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    ((times[times.len() / 2] - clock_cost()) / 2.0).max(1.0)
}

/// Sleeps until the word is another than `seen`, or not much longer.
fn sleep(word: &std::sync::atomic::AtomicU32, seen: u32) {
    let limit = futex::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    let _ = futex::wait(word, futex::Flags::empty(), seen, Some(&limit));
}
