//! One run of a command: bounded in time, with everything that it started ended afterwards.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper, waitpid,
};
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What came of a run.
pub struct Outcome {
    pub output: String,
    /// `None` when it went well, otherwise why not.
    pub failure: Option<String>,
    /// It did not end in its time; what it printed until then holds.
    pub stopped: bool,
    pub wall: Duration,
    /// Share of the cores' time that other programs of this machine had meanwhile, from 0 to 1.
    pub others: f64,
}

impl Outcome {
    pub fn not_started(reason: String) -> Self {
        Self { output: String::new(), failure: Some(reason), stopped: false, wall: Duration::ZERO, others: 0.0 }
    }
}

/// Makes processes that lose their parent children of this one, so that launchers' helpers
/// that detach themselves are found, too.
pub fn adopt_orphans() -> Result<(), String> {
    set_child_subreaper(Some(getpid())).map_err(|e| format!("PR_SET_CHILD_SUBREAPER: {e}"))
}

/// Processes with their parents, from /proc.
fn processes() -> Vec<(i32, i32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The name stands in parentheses and may hold anything; state and parent follow it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if let Some(parent) = parent.and_then(|text| text.parse().ok()) {
            found.push((pid, parent));
        }
    }
    found
}

/// Everything below `root` in the tree of processes.
fn descendants(root: i32, processes: &[(i32, i32)]) -> Vec<i32> {
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(processes.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

/// Kills what a run has left behind and returns how many processes that were. Waits briefly
/// for those that are just ending by themselves.
fn sweep(patience: Duration) -> usize {
    let me = getpid().as_raw_nonzero().get();
    let start = Instant::now();
    let mut killed = Vec::new();
    loop {
        let left = descendants(me, &processes());
        if left.is_empty() {
            return killed.len();
        }
        for pid in left.into_iter().filter_map(Pid::from_raw) {
            if start.elapsed() >= patience && !killed.contains(&pid) {
                // It may have ended meanwhile: then there is nothing to do.
                let _ = kill_process(pid, Signal::KILL);
                killed.push(pid);
            }
            // Only children can be collected; for others this is an error without effect.
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
        if start.elapsed() > patience + Duration::from_secs(5) {
            return killed.len();
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until an error is kept.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits until the child ends; `None` when it does not in time. Sleeps meanwhile: to look every so often takes a part of a core that
/// is measured, in a virtual machine a tenth of it.
fn wait(child: &mut Child, timeout: Duration) -> Option<std::process::ExitStatus> {
    let end = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()?;
    let start = Instant::now();
    loop {
        let left = Timespec::try_from(timeout.saturating_sub(start.elapsed())).ok()?;
        match poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => {}
            Err(_) | Ok(0) => return None,
            Ok(_) => return child.wait().ok(),
        }
    }
}

/// The last lines of what a failed run said, in one line.
fn last_words(output: &str, errors: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .chain(errors.lines())
        .map(str::trim)
        .filter(|line| line.chars().any(char::is_alphanumeric) && crate::figures::parse(line).is_none())
        .collect();
    let told = lines.iter().find(|line| line.contains("tern_mpi_bench:"));
    let words = told.map_or_else(|| lines[..lines.len().min(3)].join(" / "), |line| line.to_string());
    words.chars().take(300).collect()
}

/// Runs a command to its end or to the timeout.
pub fn run(command: &mut Command, timeout: Duration) -> Outcome {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let program = command.get_program().to_string_lossy();
            return Outcome::not_started(format!("cannot start {program}: {error}"));
        }
    };
    let output = child.stdout.take().map(collect);
    let errors = child.stderr.take().map(collect);
    let status = wait(&mut child, timeout);
    let wall = start.elapsed();
    let patience = if status.is_some() { 500 } else { 0 };
    let left = sweep(Duration::from_millis(patience));
    if status.is_none() {
        // Collected already by the sweep; this only tidies up the handle.
        let _ = child.wait();
    }
    let text =
        |reader: Option<thread::JoinHandle<String>>| reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    let (output, errors) = (text(output), text(errors));
    let failure = match status {
        Some(status) if status.success() && left > 0 => Some(format!("left {left} processes behind")),
        Some(status) if status.success() => None,
        Some(status) => Some(format!("{status}: {}", last_words(&output, &errors))),
        None => Some(format!("stopped after {} s", timeout.as_secs())),
    };
    Outcome { output, failure, stopped: status.is_none(), wall, others: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// The sweep takes every descendant of this process, so one run at a time.
    static ONE: Mutex<()> = Mutex::new(());

    fn shell(script: &str, timeout: Duration) -> Outcome {
        let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
        adopt_orphans().unwrap();
        run(Command::new("sh").args(["-c", script]), timeout)
    }

    #[test]
    fn keeps_the_output_of_a_run() {
        let outcome = shell("echo hello", Duration::from_secs(60));
        assert_eq!(outcome.output, "hello\n");
        assert_eq!(outcome.failure, None);
    }

    #[test]
    fn says_why_a_run_failed() {
        let outcome = shell("echo x 8 1.0 us; echo tern_mpi_bench: no memory >&2; exit 3", Duration::from_secs(60));
        let failure = outcome.failure.unwrap();
        assert!(failure.contains('3') && failure.contains("no memory"), "{failure}");
        assert!(!failure.contains("x 8"), "{failure}");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_failure() {
        let outcome = run(&mut Command::new("/dev/null/none/mpiexec"), Duration::from_secs(60));
        assert!(outcome.failure.unwrap().contains("/dev/null/none/mpiexec"));
    }

    #[test]
    fn a_timeout_ends_the_whole_tree() {
        // The inner shell detaches itself and would live on.
        let script = "setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000";
        let outcome = shell(script, Duration::from_millis(500));
        assert!(outcome.failure.unwrap().contains("stopped after"));
        let pid: i32 = outcome.output.trim().parse().unwrap();
        assert!(!processes().iter().any(|(p, _)| *p == pid), "{pid} is alive");
    }

    #[test]
    fn what_is_left_behind_is_ended_and_told() {
        let outcome = shell("setsid sleep 1000 >/dev/null 2>&1 & exit 0", Duration::from_secs(60));
        assert_eq!(outcome.failure.unwrap(), "left 1 processes behind");
    }

    #[test]
    fn descendants_are_found_at_any_depth() {
        let tree = [(2, 1), (3, 2), (4, 3), (5, 9), (6, 1)];
        assert_eq!(descendants(1, &tree), [2, 6, 3, 4]);
    }
}
