//! Asynchronous copies, and the thread that does them when a core is idle.

use super::Error;
use super::member;
use super::shared::{Engine, Shared, lock};
use super::transfer::{Step, Transfer};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

/// The status word of a copy that is under way.
pub const PENDING: u32 = 0;
/// The status word of a copy that is done.
pub const DONE: u32 = 1;
/// The status word of a copy that has failed; [`Space::poll`](super::Space::poll) says why.
pub const FAILED: u32 = 2;

/// Bytes of a step of an asynchronous copy: how long a poll may take, or a cancel has to wait.
pub const STEP: u64 = 256 << 10;
/// The longest sleep of a copy thread while there are no copies under way.
const SLEEP: Duration = Duration::from_secs(10);

/// An asynchronous copy.
pub struct Job {
    word: AtomicU32,
    /// Done by the copy thread; otherwise by whoever polls.
    threaded: bool,
    work: Mutex<Option<Transfer>>,
    error: Mutex<Option<Error>>,
}

impl Job {
    /// One step, unless somebody else is at it; true when it has come further.
    pub fn step(&self, shared: &Arc<Shared>, engine: &mut Engine) -> bool {
        let mut work = match self.work.try_lock() {
            Ok(work) => work,
            Err(TryLockError::Poisoned(work)) => work.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let Some(transfer) = work.as_mut() else { return false };
        // SAFETY: who started it keeps the memory until the status word says that it is over, or
        // the status is dropped, which waits for this lock.
        match unsafe { transfer.step(shared, engine, STEP) } {
            Ok(Step::Moved) if transfer.rest > 0 => return true,
            Ok(Step::Waiting) => return false,
            Ok(Step::Moved | Step::Done) => self.end(shared, &mut work, DONE),
            Err(error) => {
                *lock(&self.error) = Some(error);
                self.end(shared, &mut work, FAILED);
            }
        }
        true
    }

    /// A thread is at it, or gives it up.
    #[cfg(test)]
    pub fn is_busy(&self) -> bool {
        self.work.try_lock().is_err()
    }

    fn end(&self, shared: &Shared, work: &mut Option<Transfer>, word: u32) {
        // The regions are let go first, so that who sees the word may destroy them at once.
        *work = None;
        // Release: pairs with the acquire of whoever reads the word; the bytes are there.
        self.word.store(word, Ordering::Release);
        if self.threaded {
            // Another thread may wait for it.
            member::ring(shared.member());
        }
    }
}

/// An asynchronous copy that was started. Dropping it gives up what is not done yet; afterwards
/// nothing is moved any more.
pub struct Status {
    job: Arc<Job>,
    shared: Arc<Shared>,
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Status").field("word", self.word()).field("threaded", &self.job.threaded).finish()
    }
}

impl Status {
    /// The status word: [`PENDING`], then [`DONE`] or [`FAILED`]. Read it with acquire. Without the
    /// copy thread it changes only while this process polls or waits in its space.
    pub fn word(&self) -> &AtomicU32 {
        &self.job.word
    }

    /// A copy thread does it, so that it ends without polling.
    pub fn is_offloaded(&self) -> bool {
        self.job.threaded
    }

    #[cfg(test)]
    pub(super) fn job(&self) -> Arc<Job> {
        self.job.clone()
    }

    /// The result, when it is over.
    pub(super) fn result(&self) -> Option<Result<(), Error>> {
        // Acquire: pairs with the release in `end`.
        match self.job.word.load(Ordering::Acquire) {
            PENDING => None,
            DONE => Some(Ok(())),
            _ => Some(Err(lock(&self.job.error).clone().unwrap_or(Error::NoRegion))),
        }
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        *lock(&self.job.work) = None;
        lock(&self.shared.jobs).retain(|job| !Arc::ptr_eq(job, &self.job));
    }
}

impl Shared {
    /// Puts a copy among those under way.
    pub fn start(self: &Arc<Self>, transfer: Transfer, threaded: bool) -> Status {
        let job = Arc::new(Job {
            word: AtomicU32::new(PENDING),
            threaded,
            work: Mutex::new(Some(transfer)),
            error: Mutex::new(None),
        });
        lock(&self.jobs).push(job.clone());
        if threaded {
            member::ring(self.member());
        }
        Status { job, shared: self.clone() }
    }

    /// Goes on with asynchronous copies by one step each: those of the copy thread, or the others.
    /// True when one has come further.
    pub fn step_jobs(self: &Arc<Self>, engine: &mut Engine, threaded: bool) -> bool {
        let jobs: Vec<Arc<Job>> = lock(&self.jobs).iter().filter(|job| job.threaded == threaded).cloned().collect();
        let mut moved = false;
        for job in jobs {
            moved |= job.step(self, engine);
            if job.word.load(Ordering::Relaxed) != PENDING {
                lock(&self.jobs).retain(|other| !Arc::ptr_eq(other, &job));
            }
        }
        moved
    }

    /// The copy thread: does what was given to it, and answers peers.
    pub fn run_thread(self: &Arc<Self>) {
        let Ok(mut engine) = self.engine() else { return };
        let mut looks = 0;
        while !self.stop.load(Ordering::Acquire) {
            let token = member::listen(self.member());
            let moved = self.step_jobs(&mut engine, true);
            if self.serve() || moved {
                looks = 0;
            } else if lock(&self.jobs).iter().any(|job| job.threaded) || !Shared::is_patience_over(looks) {
                self.pause(token, &mut looks);
            } else {
                member::sleep(self.member(), token, SLEEP);
            }
        }
    }
}

/// Whether a core that this process may use has nothing to do: it may use more than one, and fewer
/// threads run on the machine than it has cores.
pub fn is_core_idle() -> bool {
    let usable = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let cores = std::fs::read_to_string("/proc/stat").map_or(1, |text| count_cores(&text));
    let running = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| running(&text));
    running.is_some_and(|running| has_idle_core(usable, running, cores))
}

/// `running` threads, this one among them, on `cores` cores of which this process may use `usable`.
fn has_idle_core(usable: u32, running: u32, cores: u32) -> bool {
    usable > 1 && running < cores
}

/// Cores that are up, from /proc/stat.
fn count_cores(text: &str) -> u32 {
    let named =
        |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    text.lines().filter(named).count() as u32
}

/// Threads that run or could, from /proc/loadavg: "0.20 0.18 0.12 1/80 11206".
fn running(text: &str) -> Option<u32> {
    text.split_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_understood() {
        assert_eq!(running("0.20 0.18 0.12 1/80 11206\n"), Some(1));
        assert_eq!(running("nothing"), None);
        assert_eq!(count_cores("cpu  1 2 3\ncpu0 1 2\ncpu1 1 2\nintr 5\ncpufreq 1\n"), 2);
    }

    #[test]
    fn a_core_is_idle_when_fewer_run_than_there_are() {
        assert!(has_idle_core(2, 1, 2));
        assert!(!has_idle_core(2, 2, 2));
        // It is somebody else's core.
        assert!(!has_idle_core(1, 1, 2));
        assert!(!has_idle_core(8, 9, 8));
    }

    #[test]
    fn a_machine_says_how_many_run() {
        let text = std::fs::read_to_string("/proc/loadavg").expect("/proc/loadavg");
        assert!(running(&text).is_some_and(|running| running >= 1));
    }
}
