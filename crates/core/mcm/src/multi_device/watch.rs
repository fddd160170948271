//! Wakes a process that sleeps on its bell in shared memory when something comes from the network.
//!
//! Nobody can sleep on a futex and a descriptor at once. So a thread waits for the descriptor, and rings this
//! process's own bell. It does so once for each sleep: while the process is awake the thread sleeps itself.

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::thread::futex;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tern_shm::Alarm;
use tern_threads::Thread;

/// The process is awake: the thread has nothing to do.
const IDLE: u32 = 0;
/// The process sleeps, or has slept, and nothing has come from the network since.
const ARMED: u32 = 1;
/// The thread is to end.
const OVER: u32 = 2;

/// The thread.
pub struct Watch {
    state: Arc<AtomicU32>,
    /// Ends a wait for the descriptor.
    end: Arc<OwnedFd>,
    thread: Option<Thread>,
}

impl Watch {
    /// Begins to watch a descriptor; rings `alarm`, whose memory outlives this.
    ///
    /// Errors: no descriptor or thread is left.
    pub fn new(network: BorrowedFd<'_>, alarm: Alarm) -> std::io::Result<Watch> {
        let network = network.try_clone_to_owned()?;
        let state = Arc::new(AtomicU32::new(IDLE));
        let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let (shared, stop) = (state.clone(), end.clone());
        let thread = Thread::start("tern-watch", 64 << 10, move || watch(&shared, &network, &stop, &alarm))?;
        Ok(Watch { state, end, thread: Some(thread) })
    }

    /// From now on, until it has happened once, the process is woken when something comes. Any thread may call this.
    pub fn arm(&self) {
        // It pairs with the exchange in `watch`: one of the two sees what the other has done before.
        if self.state.compare_exchange(IDLE, ARMED, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            let _ = futex::wake(&self.state, futex::Flags::PRIVATE, 1);
        }
    }
}

/// Descriptors that are watched as one. One that is closed is no longer among them.
pub struct Many(OwnedFd);

impl Many {
    /// None yet.
    ///
    /// Errors: no descriptor is left.
    pub fn new() -> std::io::Result<Many> {
        Ok(Many(epoll::create(CreateFlags::CLOEXEC)?))
    }

    /// One more, also for who watches already.
    ///
    /// Errors: no memory is left.
    pub fn add(&self, one: BorrowedFd<'_>) -> std::io::Result<()> {
        Ok(epoll::add(&self.0, one, EventData::new_u64(0), EventFlags::IN)?)
    }

    /// Is readable when one of them is.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.state.store(OVER, Ordering::SeqCst);
        let _ = futex::wake(&self.state, futex::Flags::PRIVATE, 1);
        let _ = rustix::io::write(&*self.end, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

/// What the thread does.
fn watch(state: &AtomicU32, network: &OwnedFd, end: &OwnedFd, alarm: &Alarm) {
    loop {
        match state.load(Ordering::SeqCst) {
            OVER => return,
            IDLE => _ = futex::wait(state, futex::Flags::PRIVATE, IDLE, None),
            _ => {
                let fds = &mut [network.as_fd(), end.as_fd()].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
                let _ = poll(fds, None);
                // Idle first: a process that goes to sleep again finds that, or its flag is seen by the ring.
                let _ = state.compare_exchange(ARMED, IDLE, Ordering::SeqCst, Ordering::SeqCst);
                alarm.ring();
            }
        }
    }
}
