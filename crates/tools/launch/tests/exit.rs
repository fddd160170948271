//! Exit codes, and what happens to the others when one rank ends.

mod common;

use common::{Job, mpiexec};

#[test]
fn success_is_0_and_silent() {
    let run = mpiexec(&["-n", "4", "true"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", ""));
}

#[test]
fn the_exit_code_of_a_rank_is_passed_on() {
    let run = mpiexec(&["-n", "3", "sh", "-c", "exit 7"]);
    assert_eq!(run.code, Some(7));
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    assert!(run.err.contains(", sh) exited with code 7"), "{}", run.err);
}

#[test]
fn a_failing_rank_is_named_and_ends_the_others() {
    let script = "if [ $TERN_RANK = 2 ]; then exit 5; fi; sleep 1000; echo late";
    let run = mpiexec(&["-n", "4", "sh", "-c", script]);
    assert_eq!(run.code, Some(5));
    assert!(run.err.starts_with("mpiexec: rank 2 (process "), "{}", run.err);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    assert_eq!(run.out, "");
}

#[test]
fn a_signal_is_128_more() {
    let run = mpiexec(&["-n", "2", "sh", "-c", "kill -SEGV $$"]);
    assert_eq!(run.code, Some(128 + 11));
    assert!(run.err.contains("was killed by signal 11 (SIGSEGV: "), "{}", run.err);
    let run = mpiexec(&["-n", "2", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(run.code, Some(128 + 9));
    assert!(run.err.contains("was killed by signal 9 (SIGKILL: "), "{}", run.err);
}

#[test]
fn ranks_that_ignore_sigterm_are_killed() {
    // The trap makes the shell ignore it, and its children too.
    let script = "trap '' TERM; if [ $TERN_RANK = 0 ]; then sleep 0.2; exit 4; fi; sleep 1000; sleep 1000";
    let run = Job::new(&["-n", "3", "sh", "-c", script]).with(|c| {
        c.env("TERN_GRACE", "100ms");
    });
    assert_eq!(run.run().code, Some(4));
}

#[test]
fn what_ranks_leave_in_the_background_is_ended() {
    // In a session of its own, with its parent gone.
    let script = "setsid sh -c 'sleep 1000 & sleep 1000' & exit 0";
    let run = mpiexec(&["-n", "2", "sh", "-c", script]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn programs_that_cannot_run() {
    let run = mpiexec(&["-n", "2", "tern-no-such-program"]);
    assert_eq!(run.code, Some(127));
    assert!(run.err.contains("tern-no-such-program"), "{}", run.err);
    let run = mpiexec(&["-n", "2", "/etc/passwd"]);
    assert_eq!(run.code, Some(126));
    assert!(run.err.contains("/etc/passwd is not executable"), "{}", run.err);
    let run = mpiexec(&["-n", "1", "true", ":", "-n", "1", "/"]);
    assert_eq!(run.code, Some(126));
    assert!(run.err.contains("is a directory"), "{}", run.err);
    let run = mpiexec(&["-wdir", "/tern-no-such-dir", "true"]);
    assert_eq!(run.code, Some(127));
    assert!(run.err.contains("/tern-no-such-dir"), "{}", run.err);
}

#[test]
fn a_program_that_the_kernel_refuses() {
    use std::os::unix::fs::PermissionsExt;
    // Executable by its mode, and for an interpreter that does not exist.
    let file = std::env::temp_dir().join(format!("tern-launch-{}", std::process::id()));
    std::fs::write(&file, "#!/tern-no-such-interpreter\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = mpiexec(&["-n", "3", file.to_str().unwrap()]);
    assert_eq!(run.code, Some(127));
    assert!(run.err.contains("cannot start rank 0"), "{}", run.err);
    // Without any interpreter it is a script for the shell.
    std::fs::write(&file, "echo rank $TERN_RANK $1\n").unwrap();
    let run = mpiexec(&["-n", "2", file.to_str().unwrap(), "x"]);
    assert_eq!((run.code, run.sorted()), (Some(0), vec!["rank 0 x", "rank 1 x"]));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_timeout_ends_the_job() {
    let run = mpiexec(&["--timeout", "0.3", "-n", "2", "sleep", "1000"]);
    assert_eq!(run.code, Some(124));
    assert!(run.err.contains("0.3 s (--timeout or MPIEXEC_TIMEOUT)"), "{}", run.err);
    assert_eq!(mpiexec(&["--timeout", "50", "-n", "2", "true"]).code, Some(0));
}

#[test]
fn a_timeout_may_come_from_the_environment() {
    let limited =
        |limit: &str, args: &[&str]| Job::new(args).with(|command| _ = command.env("MPIEXEC_TIMEOUT", limit)).run();
    let run = limited("0.3", &["sleep", "1000"]);
    assert_eq!(run.code, Some(124));
    assert!(run.err.contains("MPIEXEC_TIMEOUT"), "{}", run.err);
    let run = limited("0.3", &["--timeout", "50", "sleep", "0.6"]);
    assert_eq!(run.code, Some(0), "the option comes first: {}", run.err);
    for none in ["", "0", "-1"] {
        assert_eq!(limited(none, &["true"]).code, Some(0), "{none}");
    }
    let run = limited("soon", &["true"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("MPIEXEC_TIMEOUT needs a number of seconds"), "{}", run.err);
}

#[test]
fn wrong_options_start_nothing() {
    for (args, says) in [
        (&["--tag-ouput", "-n", "2", "true"][..], "did you mean --tag-output?"),
        (&["-n", "two", "true"], "-n needs a number"),
        (&["-n", "2"], "no program given"),
        (&[], "mpiexec --help"),
        (&["--hostfile", "x", "true"], "the host file x: No such file"),
    ] {
        let run = mpiexec(args);
        assert_eq!(run.code, Some(2), "{args:?}");
        assert!(run.err.contains(says), "{args:?}: {}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    }
}

#[test]
fn many_more_ranks_than_cores_and_as_root() {
    let run = mpiexec(&["--oversubscribe", "--allow-run-as-root", "-n", "64", "sh", "-c", "echo $TERN_RANK"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let mut ranks: Vec<u32> = run.out.lines().map(|line| line.parse().unwrap()).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (0..64).collect::<Vec<_>>());
}

#[test]
fn more_ranks_than_the_soft_limit_on_files_allows() {
    let script = "ulimit -Sn 100; exec \"$0\" -l -n 60 sh -c 'ulimit -Sn'";
    let run = Job::new(&[]).with(|command| {
        let mpiexec = command.get_program().to_owned();
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script]).arg(mpiexec);
        shell.stdin(std::process::Stdio::null());
        shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        *command = shell;
    });
    let run = run.run();
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    // The ranks have the limit of the user, not that of the launcher.
    assert_eq!(run.out.lines().filter(|line| line.ends_with("] 100")).count(), 60);
}

#[test]
fn help_and_version() {
    let run = mpiexec(&["--version"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(run.out, format!("mpiexec (Tern) {}\n", env!("CARGO_PKG_VERSION")));
    let run = mpiexec(&["--help"]);
    assert_eq!(run.code, Some(0));
    for option in ["-np", "-env", "-wdir", "--tag-output", "--timeout", "--bind-to", "--report-bindings"] {
        assert!(run.out.contains(option), "{option}");
    }
}

#[test]
fn how_far_a_job_may_grow_is_told_as_asked() {
    let told = |size: &str| mpiexec(&["--usize", size, "-n", "2", "sh", "-c", "echo $TERN_LAUNCH"]);
    assert_eq!(told("7").out.matches("universe=7").count(), 2);
    assert_eq!(told("infinite").out.matches("universe=0").count(), 2);
    let run = told("system");
    assert!(run.out.contains("universe=") && !run.out.contains("universe=0"), "{}", run.out);
    for wrong in ["0", "-1", "many"] {
        let run = told(wrong);
        assert_eq!(run.code, Some(2));
        assert!(run.err.contains("--usize needs a number of processes"), "{}", run.err);
    }
}
