//! Signals to mpiexec, and its sudden death.

mod common;

use common::{Job, Running, send, stat, until};

/// A job of three ranks, each a shell that has started a process in a session of its own. Its process group is not that of the
/// tests: where those lead a session, as below `setsid`, that one is orphaned, and no process of it is stopped by SIGTSTP.
fn sleepers() -> Running {
    let script = "setsid sleep 1000 & sleep 1000; echo late";
    let job = Job::new(&["-n", "3", "sh", "-c", script]).with(|command| {
        std::os::unix::process::CommandExt::process_group(command, 0);
    });
    let running = job.start();
    running.wait_for("sleep", 6);
    running
}

#[test]
fn signals_to_end_end_the_job() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        let running = sleepers();
        send(running.pid(), signal);
        let run = running.end();
        assert_eq!(run.code, Some(128 + signal));
        assert_eq!(run.out, "");
    }
}

#[test]
fn ranks_may_tidy_up_before_they_end() {
    let script = "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    let job = Job::new(&["-n", "2", "sh", "-c", script]).with(|command| {
        command.env("TERN_GRACE", "30s");
    });
    let (running, mut output) = talking(job);
    output.wait_for(2);
    send(running.pid(), libc::SIGTERM);
    output.wait_for(4);
    assert_eq!(running.end().code, Some(128 + 15));
    assert_eq!(output.lines, ["ready", "ready", "tidy", "tidy"]);
}

#[test]
fn a_second_signal_does_not_wait() {
    let script = "trap '' TERM INT; echo ready; while :; do sleep 0.01; done";
    let job = Job::new(&["-n", "2", "sh", "-c", script]).with(|command| {
        command.env("TERN_GRACE", "1h");
    });
    let (running, mut output) = talking(job);
    output.wait_for(2);
    send(running.pid(), libc::SIGINT);
    std::thread::sleep(std::time::Duration::from_millis(700));
    send(running.pid(), libc::SIGINT);
    assert_eq!(running.end().code, Some(128 + 2));
}

#[test]
fn user_signals_are_passed_on() {
    let script = "trap 'echo one' USR1; trap 'echo two; exit 0' USR2; echo ready; while :; do sleep 0.01; done";
    let job = Job::new(&["-n", "2", "sh", "-c", script]);
    let (running, mut output) = talking(job);
    output.wait_for(2);
    send(running.pid(), libc::SIGUSR1);
    output.wait_for(4);
    send(running.pid(), libc::SIGUSR2);
    output.wait_for(6);
    assert_eq!(running.end().code, Some(0));
    assert_eq!(output.lines, ["ready", "ready", "one", "one", "two", "two"]);
}

#[test]
fn a_job_can_be_stopped_and_go_on() {
    let running = sleepers();
    let shells = running.wait_for("sh", 3);
    let server = running.server();
    let all: Vec<i32> = shells.iter().copied().chain([running.pid(), server]).collect();
    let stopped = |pid: &i32| stat(*pid).is_some_and(|(_, state, _)| state == 'T');
    send(running.pid(), libc::SIGTSTP);
    until("all are stopped", || all.iter().all(stopped).then_some(()));
    send(running.pid(), libc::SIGCONT);
    until("all go on", || (!all.iter().any(stopped)).then_some(()));
    // And a job that is stopped can be ended.
    send(running.pid(), libc::SIGTSTP);
    until("all are stopped", || all.iter().all(stopped).then_some(()));
    send(running.pid(), libc::SIGTERM);
    send(running.pid(), libc::SIGCONT);
    assert_eq!(running.end().code, Some(128 + 15));
}

#[test]
fn nothing_survives_the_death_of_mpiexec() {
    let running = sleepers();
    send(running.pid(), libc::SIGKILL);
    running.wait_for_nobody();
}

#[test]
fn nothing_survives_the_death_of_the_server() {
    let running = sleepers();
    send(running.server(), libc::SIGKILL);
    let run = running.end();
    assert_eq!(run.code, Some(128 + 9));
    assert!(run.err.contains("killed by signal 9"), "{}", run.err);
}

#[test]
fn nothing_survives_when_both_die() {
    let running = Job::new(&["-n", "3", "sleep", "1000"]).start();
    running.wait_for("sleep", 3);
    let server = running.server();
    send(running.pid(), libc::SIGKILL);
    send(server, libc::SIGKILL);
    running.wait_for_nobody();
}

/// Starts a job whose output is read while it runs.
fn talking(job: Job) -> (Running, Output) {
    let mut running = job.start();
    let reader = std::io::BufReader::new(running.child.stdout.take().unwrap());
    (running, Output { reader, lines: Vec::new() })
}

/// Lines that a job prints while it runs.
struct Output {
    reader: std::io::BufReader<std::process::ChildStdout>,
    lines: Vec<String>,
}

impl Output {
    fn wait_for(&mut self, count: usize) {
        while self.lines.len() < count {
            let mut line = String::new();
            let length = std::io::BufRead::read_line(&mut self.reader, &mut line).unwrap();
            assert!(length > 0, "the output ended after {:?}", self.lines);
            self.lines.push(line.trim_end().to_owned());
        }
    }
}
