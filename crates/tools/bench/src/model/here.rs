//! This machine as one of the model's: its cores in one cache, a line's transfer between two of them, and how fast one core reads what
//! the other has written.

use crate::probe;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

/// Bytes that one core writes and the other one reads: more than a first-level cache has, less than a second-level cache.
const BYTES: usize = 256 << 10;
const ROUNDS: u32 = 50;

/// Bytes a nanosecond that one core copies of what the other one has written: the best of some rounds.
fn bandwidth(cores: [usize; 2]) -> f64 {
    let words: Vec<AtomicU32> = (0..BYTES / 4).map(|_| AtomicU32::new(0)).collect();
    let turn = AtomicU32::new(0);
    let (words, turn) = (&words, &turn);
    thread::scope(|scope| {
        scope.spawn(move || {
            probe::pin(cores[1]);
            for round in 0..ROUNDS {
                words.iter().for_each(|word| word.store(round, Ordering::Relaxed));
                // Release: pairs with the acquire of the other one's wait, as its store does with the one here.
                turn.store(2 * round + 1, Ordering::Release);
                probe::until(turn, 2 * round + 2);
            }
        });
        let reader = scope.spawn(move || {
            probe::pin(cores[0]);
            let mut to = vec![0u8; BYTES];
            let mut best = f64::INFINITY;
            for round in 0..ROUNDS {
                probe::until(turn, 2 * round + 1);
                let start = Instant::now();
                // SAFETY: the writer waits meanwhile.
                unsafe { std::ptr::copy_nonoverlapping(words.as_ptr().cast::<u8>(), to.as_mut_ptr(), BYTES) };
                black_box(&mut to);
                best = best.min(start.elapsed().as_nanos() as f64);
                turn.store(2 * round + 2, Ordering::Release);
            }
            BYTES as f64 / best
        });
        reader.join().unwrap_or(10.0)
    })
}

/// Bytes a nanosecond that one core copies within its own caches: the best of some rounds.
fn own_bandwidth(core: usize) -> f64 {
    let copy = move || {
        probe::pin(core);
        let (from, mut to) = (vec![1u8; BYTES], vec![0u8; BYTES]);
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            to.copy_from_slice(black_box(&from));
            black_box(&mut to);
            best = best.min(start.elapsed().as_nanos() as f64);
        }
        BYTES as f64 / best
    };
    thread::scope(|scope| scope.spawn(copy).join().unwrap_or(50.0))
}

/// Nanoseconds in which one core takes a line that the other one has just changed, and changes it: half of a way to and fro by compare and swap, as the
/// figures of the machine files were measured. The best of some rounds.
fn transfer(cores: [usize; 2]) -> f64 {
    const TRIPS: u32 = 1000;
    let word = AtomicU32::new(0);
    let word = &word;
    let turns = move |core: usize, mine: u32| {
        probe::pin(core);
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..TRIPS {
                while word.compare_exchange(mine, 1 - mine, Ordering::AcqRel, Ordering::Relaxed).is_err() {}
            }
            best = best.min(start.elapsed().as_nanos() as f64);
        }
        best / f64::from(2 * TRIPS)
    };
    thread::scope(|scope| {
        scope.spawn(move || turns(cores[1], 1));
        scope.spawn(move || turns(cores[0], 0)).join().unwrap_or(100.0)
    })
}

/// This machine, measured now, as a machine file has it.
///
/// # Errors
/// It has fewer than two cores.
pub fn text() -> Result<String, String> {
    let cores = tern_node::kernel_affinity();
    let &[first, second, ..] = cores.as_slice() else {
        return Err("a machine of one core has no transfers to measure".into());
    };
    let (line, bytes) = (transfer([first, second]), bandwidth([first, second]));
    let mut text = format!(
        "packages 1 # assumed\ncaches 1 # assumed\ncores {} # the cores that this process may run on\n",
        cores.len()
    );
    for place in ["near", "inside", "across"] {
        text.push_str(&format!("{place} {line:.1} # measured between the first two\n"));
        text.push_str(&format!("{place}_bytes {bytes:.2} # measured there\n"));
    }
    text.push_str(&format!("own_bytes {:.2} # measured on the first\n", own_bandwidth(first)));
    text.push_str("step 2 # assumed\n");
    Ok(text)
}

/// The setting by which a job in the model takes the costs that jobs of this machine have measured; none if they have measured none.
pub fn costs(tern: &Path) -> Vec<(String, String)> {
    const TOLD: &str = "TERN_COSTS_FILE=";
    let said = Command::new(tern.join("bin/mpiexec")).args(["-n", "2", "env"]).output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
    let file = said.lines().find_map(|line| line.strip_prefix(TOLD)).filter(|file| !file.is_empty());
    file.map(|file| ("TERN_COSTS".to_string(), file.to_string())).into_iter().collect()
}
