//! Signals to mpiexec: what they mean for the job.

use std::time::{Duration, Instant};

use super::Job;
use crate::descendants;
use crate::options::Stdin;
use crate::signals::{self, Signal};

/// A signal to end that comes again this long after the first one means: at once.
const IMPATIENT: Duration = Duration::from_millis(500);

impl Job<'_> {
    /// Does what the signals that have come ask for.
    pub(super) fn take_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            self.signal(signal);
        }
    }

    pub(super) fn signal(&mut self, signal: Signal) {
        match signal.number {
            libc::SIGCHLD => self.reap(),
            // It is for the debuggers, which stop their ranks by it.
            libc::SIGINT if self.plan.streams.stdin == Stdin::Addressed => {
                if !signal.from_kernel {
                    self.forward(signal.number);
                }
            }
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => self.end_by(signal),
            libc::SIGTSTP => {
                if !signal.from_kernel {
                    self.forward(signal.number);
                }
                signals::send(rustix::process::getpid().as_raw_pid(), libc::SIGSTOP);
            }
            libc::SIGUSR1 if self.can_ask() => self.ask_all(None),
            other => self.forward(other),
        }
    }

    /// Passes a signal on to the processes that were started.
    fn forward(&self, signal: libc::c_int) {
        // The launcher of attended ranks has told them itself.
        for pid in self.ranks.iter().filter(|rank| rank.alive && !rank.attended).map(|rank| rank.pid) {
            signals::send(pid, signal);
        }
    }

    /// Somebody asks for the end of the job.
    fn end_by(&mut self, signal: Signal) {
        match &mut self.ending {
            Some(ending) => {
                if ending.since.elapsed() > IMPATIENT {
                    ending.kill_at = Instant::now();
                }
            }
            None => {
                self.code.get_or_insert(128 + signal.number);
                if !signal.from_kernel {
                    descendants::signal(signal.number);
                }
                descendants::signal(libc::SIGCONT);
                self.set_ending();
            }
        }
    }
}
