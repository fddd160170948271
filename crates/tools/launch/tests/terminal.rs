//! mpiexec on a terminal: typed input, and the keys that send signals.

mod common;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;

use common::{Job, Running};

/// A job with a terminal of its own, which is the first program of a session, as a login shell is.
struct Terminal {
    running: Running,
    screen: File,
    shown: String,
}

impl Terminal {
    fn new(args: &[&str]) -> Terminal {
        let (mut ours, mut theirs) = (0, 0);
        let null = std::ptr::null_mut;
        // SAFETY: the numbers are written by the call; the rest keeps its default.
        let result = unsafe { libc::openpty(&mut ours, &mut theirs, null(), std::ptr::null(), std::ptr::null()) };
        assert_eq!(result, 0);
        // SAFETY: both are new and owned from here on.
        let (screen, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        // The job must not hold its own screen open.
        rustix::io::fcntl_setfd(&screen, rustix::io::FdFlags::CLOEXEC).unwrap();
        let job = Job::new(args).with(|command| {
            command.stdin(theirs.try_clone().unwrap());
            command.stdout(theirs.try_clone().unwrap());
            command.stderr(theirs);
            // SAFETY: system calls, which may be made between fork and exec.
            unsafe {
                command.pre_exec(|| {
                    // Who starts the tests in the background ignores them, and a shell cannot trap what was ignored before it.
                    libc::signal(libc::SIGINT, libc::SIG_DFL);
                    libc::signal(libc::SIGQUIT, libc::SIG_DFL);
                    libc::setsid();
                    libc::ioctl(0, libc::TIOCSCTTY, 0);
                    Ok(())
                })
            };
        });
        Terminal { running: job.start(), screen, shown: String::new() }
    }

    /// Reads until the screen shows this.
    fn wait_for(&mut self, text: &str) {
        while !self.shown.contains(text) {
            let mut bytes = [0; 1000];
            // EIO is how a terminal says that nobody writes to it any more.
            let length = self.screen.read(&mut bytes).unwrap_or(0);
            assert!(length > 0, "no {text:?} in {:?}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    }

    fn type_in(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).unwrap();
    }
}

#[test]
fn rank_0_reads_what_is_typed() {
    let script = "if [ $TERN_RANK = 0 ]; then echo ready; read word; echo \"<$word>\"; fi";
    let mut terminal = Terminal::new(&["-n", "3", "sh", "-c", script]);
    terminal.wait_for("ready");
    terminal.type_in("word\n");
    terminal.wait_for("<word>");
    assert_eq!(terminal.running.end().code, Some(0));
}

#[test]
fn control_c_ends_the_job_and_comes_once() {
    let script = "trap 'echo again' INT; echo ready$TERN_RANK
        while :; do sleep 0.01; done";
    let mut terminal = Terminal::new(&["-n", "2", "sh", "-c", script]);
    terminal.wait_for("ready0");
    terminal.wait_for("ready1");
    terminal.type_in("\x03");
    let Terminal { running, mut screen, mut shown } = terminal;
    // Ranks that go on are killed after the time of grace, and then the terminal closes.
    let mut bytes = Vec::new();
    let _ = screen.read_to_end(&mut bytes);
    shown.push_str(&String::from_utf8_lossy(&bytes));
    assert_eq!(running.end().code, Some(128 + 2));
    assert_eq!(shown.matches("again").count(), 2, "{shown:?}");
}

#[test]
fn control_backslash_is_sigquit() {
    let mut terminal = Terminal::new(&["-n", "2", "sh", "-c", "echo ready$TERN_RANK; sleep 1000; echo late"]);
    terminal.wait_for("ready0");
    terminal.wait_for("ready1");
    terminal.type_in("\x1c");
    assert_eq!(terminal.running.end().code, Some(128 + 3));
}
