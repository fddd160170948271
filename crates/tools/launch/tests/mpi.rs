//! Ranks that speak with the launcher. This program runs itself as the ranks: what a rank does is
//! a word per rank in TERN_TEST_ACTS, and it starts as the MPI library does.

mod common;

use std::process::Command;
use std::time::Duration;

use common::{Job, Run, mpiexec};

/// Not a test by itself: a rank.
#[test]
fn rank() {
    let Ok(acts) = std::env::var("TERN_TEST_ACTS") else {
        return;
    };
    let number: usize = std::env::var("TERN_RANK").unwrap().parse().unwrap();
    let act = acts.split(',').cycle().nth(number).unwrap();
    if act == "none" {
        return;
    }
    if act == "late" {
        std::thread::sleep(Duration::from_millis(300));
    }
    let job = match tern_pmi::init() {
        Ok(job) => job,
        Err(error) => {
            println!("@refused: {error}");
            std::process::exit(0);
        }
    };
    if act == "alone" {
        println!("@alone {} of {}", job.rank, job.size);
        std::process::exit(i32::from(job.control.is_some()));
    }
    assert_eq!(job.rank as usize, number);
    let inode = rustix::fs::fstat(&job.segment).unwrap().st_ino;
    println!("@rank {} of {} program {:?} of {} inode {inode}", job.rank, job.size, job.appnum, job.app_size);
    let control = job.control.as_ref().unwrap();
    match act {
        "finalize" | "late" => control.finalized(),
        "finalize-3" => {
            control.finalized();
            std::thread::sleep(Duration::from_millis(100));
            std::process::exit(3);
        }
        "finalize-hang" => {
            control.finalized();
            std::thread::sleep(Duration::from_secs(1000));
        }
        "finalize-slowly" => {
            std::thread::sleep(Duration::from_millis(500));
            control.finalized();
        }
        "exit" => std::process::exit(0),
        "exec" => {
            use std::os::unix::process::CommandExt;
            let wait = "while [ ! -e \"$TERN_TEST_FILE\" ]; do sleep 0.01; done";
            panic!("{}", Command::new("sh").args(["-c", wait]).exec());
        }
        "exec-again" => {
            use std::os::unix::process::CommandExt;
            panic!("{}", myself().env("TERN_TEST_ACTS", "alone").exec());
        }
        "child" => {
            // As Python's multiprocessing does it: with the descriptors closed, and with them inherited.
            for close in ["exec 60>&- 61>&-;", ""] {
                let script = format!("{close} \"$0\" \"$@\"; exit $?");
                let own = myself();
                let words = std::iter::once(own.get_program()).chain(own.get_args());
                let mut child = Command::new("bash");
                child.arg("-c").arg(script).args(words).env("TERN_TEST_ACTS", "alone");
                assert!(child.status().unwrap().success());
            }
            control.finalized();
        }
        "exit-6" => std::process::exit(6),
        "abort" => {
            control.abort(42, "the reason");
            std::process::exit(42);
        }
        "abort-and-stay" => {
            control.abort(43, "");
            std::thread::sleep(Duration::from_secs(1000));
        }
        "kill" => common::send(std::process::id() as i32, libc::SIGKILL),
        "hang" => std::thread::sleep(Duration::from_secs(1000)),
        other => panic!("{other}"),
    }
}

/// This program as a rank.
fn myself() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(RANK);
    command
}

const RANK: [&str; 4] = ["--exact", "rank", "--nocapture", "--test-threads=1"];

/// A job of this program.
fn job(ranks: usize, acts: &str) -> Job {
    job_with(&[], ranks, acts)
}

fn job_with(options: &[&str], ranks: usize, acts: &str) -> Job {
    let exe = std::env::current_exe().unwrap();
    let ranks = ranks.to_string();
    let args = [options, &["-n", &ranks, exe.to_str().unwrap()], &RANK[..]].concat();
    Job::new(&args).with(|command| {
        command.env("TERN_TEST_ACTS", acts);
    })
}

/// A job of shells that run this program by `script`, where it is `"$@"`.
fn wrapped(ranks: usize, acts: &str, script: &str) -> Run {
    let exe = std::env::current_exe().unwrap();
    let ranks = ranks.to_string();
    let args = [&["-n", &ranks, "sh", "-c", script, "sh", exe.to_str().unwrap()], &RANK[..]].concat();
    let job = Job::new(&args).with(|command| {
        command.env("TERN_TEST_ACTS", acts);
    });
    job.run()
}

/// What the ranks printed after the mark.
fn said(run: &Run) -> Vec<String> {
    let mut lines: Vec<String> =
        run.out.split('@').skip(1).map(|part| part.lines().next().unwrap().to_owned()).collect();
    lines.sort();
    lines
}

#[test]
fn all_ranks_join_the_same_job() {
    let run = job(4, "finalize").run();
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let said = said(&run);
    assert_eq!(said.len(), 4, "{said:?}");
    let inode = said[0].rsplit(' ').next().unwrap();
    for (rank, line) in said.iter().enumerate() {
        assert_eq!(*line, format!("rank {rank} of 4 program Some(0) of 4 inode {inode}"));
    }
}

#[test]
fn descriptors_closed_on_the_way_are_no_obstacle() {
    let checked = Command::new("bash").args(["-c", "exec 60>&-"]).status();
    if !checked.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no bash here to close descriptors above 9");
        return;
    }
    let run = wrapped(3, "finalize", "exec bash -c 'exec 60>&- 61>&-; exec \"$@\"' bash \"$@\"");
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert_eq!(said(&run).len(), 3);
}

#[test]
fn a_rank_is_taken_once() {
    // A second program under the same rank, after the first one.
    let run = wrapped(2, "finalize", "\"$@\" && \"$@\"");
    let refused = said(&run).into_iter().filter(|line| line.contains("already taken")).count();
    assert_eq!((run.code, refused), (Some(0), 2), "{run:?}");
}

#[test]
fn abort_ends_the_job_with_its_code() {
    let run = job(3, "hang,abort,hang").run();
    assert_eq!(run.code, Some(42));
    assert!(run.err.starts_with("mpiexec: rank 1 (process "), "{}", run.err);
    assert!(run.err.trim_end().ends_with("): the reason"), "{}", run.err);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    let run = job(2, "abort-and-stay,hang").run();
    assert_eq!(run.code, Some(43));
    assert!(run.err.trim_end().ends_with("called MPI_Abort with code 43"), "{}", run.err);
}

#[test]
fn to_leave_without_finalize_ends_the_job() {
    let run = job(3, "hang,hang,exit").run();
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("rank 2 (process ") && run.err.contains("without calling MPI_Finalize"), "{}", run.err);
    let run = job(2, "hang,exit-6").run();
    assert_eq!(run.code, Some(6));
    assert!(run.err.contains("exited with code 6 without calling MPI_Finalize"), "{}", run.err);
    let run = job(2, "kill,hang").run();
    assert_eq!(run.code, Some(137));
    assert!(run.err.contains("rank 0 ") && run.err.contains("SIGKILL"), "{}", run.err);
}

#[test]
fn to_leave_without_init_ends_the_job() {
    for acts in ["hang,none", "none,hang"] {
        let run = job(2, acts).run();
        assert_eq!(run.code, Some(1));
        assert!(run.err.contains("ended without calling MPI_Init, which rank "), "{}", run.err);
    }
    // All is well if nobody calls it.
    assert_eq!(job(2, "none").run().code, Some(0));
    assert_eq!(mpiexec(&["-n", "1", "true"]).code, Some(0));
}

#[test]
fn to_fail_after_finalize_lets_the_others_go_on() {
    let run = job(2, "finalize-3,finalize-slowly").run();
    assert_eq!(run.code, Some(3));
    assert!(
        run.err.contains("rank 0 (process ") && run.err.contains("exited with code 3 after MPI_Finalize"),
        "{}",
        run.err
    );
    assert_eq!(said(&run).len(), 2);
    assert_eq!(job(2, "late,finalize").run().code, Some(0));
}

#[test]
fn a_rank_behind_a_wrapper_is_missed_too() {
    // The shell lives on and would keep the others waiting.
    let run = wrapped(2, "hang,kill", "\"$@\"; sleep 1000");
    assert_eq!(run.code, Some(1));
    assert!(
        run.err.contains("rank 1 (process ") && run.err.contains("ended without calling MPI_Finalize"),
        "{}",
        run.err
    );
    let run = wrapped(2, "finalize", "\"$@\"; exit 0");
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

/// The others may wait for it in ways that are not MPI's.
#[test]
fn who_fails_after_finalize_gives_the_others_a_time() {
    let run = job(2, "finalize-hang,finalize-3").with(|command| _ = command.env("TERN_LINGER", "300ms")).run();
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(
        run.err.contains("exited with code 3 after MPI_Finalize; the others may go on for 0.3 s (TERN_LINGER)"),
        "{run:?}"
    );
    assert!(run.err.contains("the other ranks have not ended in the time that they had since rank 1"), "{run:?}");
}

#[test]
fn a_child_of_a_rank_is_a_world_of_one() {
    let run = job(2, "child").run();
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.out.matches("@alone 0 of 1").count(), 4, "{run:?}");
}

#[test]
fn a_rank_that_executes_another_program_is_no_error() {
    let scratch = std::env::temp_dir().join(format!("tern-exec-{}", std::process::id()));
    std::fs::create_dir(&scratch).unwrap();
    let (said, go) = (scratch.join("said"), scratch.join("go"));
    let running = job_with(&["-v"], 2, "exec").with(|command| {
        command.env("TERN_TEST_FILE", &go).stderr(std::fs::File::create(&said).unwrap());
    });
    let running = running.start();
    let told = || std::fs::read_to_string(&said).unwrap().matches("has executed another program").count();
    common::until("both are another program", || (told() == 2).then_some(()));
    std::fs::write(&go, "").unwrap();
    let run = running.end();
    std::fs::remove_dir_all(scratch).unwrap();
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = job(2, "exec-again").run();
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.out.matches("@alone 0 of 1").count(), 2, "{run:?}");
}
