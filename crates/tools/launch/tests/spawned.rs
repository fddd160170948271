//! Ranks that ask the launcher for further processes. This program runs itself as all of them; what one
//! does is a word in TERN_TEST_ACT.

mod common;

use std::os::fd::AsFd;
use std::process::Command;
use std::time::Duration;

use common::{Job, Run, until};
use tern_pmi::control::Message;
use tern_pmi::names::look_up;
use tern_pmi::{Order, Orders};

/// Not a test by itself: a rank.
#[test]
fn rank() {
    let Ok(act) = std::env::var("TERN_TEST_ACT") else {
        return;
    };
    if act == "no-mpi" {
        return;
    }
    let job = tern_pmi::init().unwrap();
    let own = job.control.is_none().then(|| tern_pmi::attend().unwrap());
    let control = job.control.as_ref().or(own.as_ref()).unwrap();
    if let Some(parents) = &job.parents {
        let text = tern_pmi::parcel::unpack(parents.try_clone().unwrap()).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (rank, size, app) = (job.rank, job.size, job.appnum.unwrap());
        println!("@child {rank} of {size} program {app}: {text}");
    }
    let (act, child) = act.split_once('+').unwrap_or((&act, ""));
    let spawn = |orders: &Orders| {
        let memory = tern_pmi::parcel::pack(b"from the parents").unwrap();
        control.spawn(orders, Some(memory.as_fd())).unwrap()
    };
    match act {
        "finalize" => control.finalized(),
        "exit-3" => {
            control.finalized();
            std::process::exit(3);
        }
        "exit" => std::process::exit(0),
        "kill" => common::send(std::process::id() as i32, libc::SIGKILL),
        "hang" => std::thread::sleep(Duration::from_secs(1000)),
        "spawn" => {
            println!("@started {:?}", spawn(&orders(child, &[2])));
            control.finalized();
        }
        "spawn-and-hang" => {
            println!("@started {:?}", spawn(&orders(child, &[1])));
            std::thread::sleep(Duration::from_secs(1000));
        }
        "several" => {
            println!("@started {:?}", spawn(&orders("finalize", &[1, 2])));
            let mut wrong = orders("finalize", &[1, 2]);
            wrong.commands[1].command[0] = "/dev/null/none/program".into();
            println!("@refused {:?}", spawn(&wrong));
            control.finalized();
        }
        "names" => names(control),
        "publish-and-hang" => {
            let service = std::env::var("TERN_TEST_SERVICE").unwrap();
            let port = "the port".to_owned();
            assert_eq!(control.ask(&Message::Publish { service, port }, &[]).unwrap().0, 0);
            std::thread::sleep(Duration::from_secs(1000));
        }
        other => panic!("{other}"),
    }
}

fn names(control: &tern_pmi::Control) {
    let ask = |message| control.ask(&message, &[]).unwrap();
    let (service, port) = (format!("a service of {}", std::process::id()), "a port".to_owned());
    let publish = Message::Publish { service: service.clone(), port: port.clone() };
    let unpublish = Message::Unpublish { service: service.clone(), port: port.clone() };
    assert_eq!(look_up(&service).unwrap(), None);
    assert_eq!(ask(publish.clone()).0, 0);
    assert_eq!(ask(publish).0, -1);
    assert_eq!(look_up(&service).unwrap(), Some(port));
    assert_eq!(ask(unpublish.clone()).0, 0);
    assert_eq!(ask(unpublish).0, -1);
    control.finalized();
}

/// Processes of this program that do `act`, for each count a command of its own.
fn orders(act: &str, counts: &[u32]) -> Orders {
    let mut command = vec![std::env::current_exe().unwrap().into_os_string()];
    command.extend(RANK.map(Into::into));
    let order = |&count| Order { count, command: command.clone(), wdir: None, path: None, host: None, arch: None };
    let mut env: Vec<_> = std::env::vars_os().filter(|(name, _)| name != "TERN_TEST_ACT").collect();
    env.push(("TERN_TEST_ACT".into(), act.into()));
    let commands = counts.iter().map(order).collect();
    Orders { job_id: tern_pmi::new_job_id(), commands, env, directory: "/".into(), port: None }
}

const RANK: [&str; 4] = ["--exact", "rank", "--nocapture", "--test-threads=1"];

fn job(act: &str, options: &[&str]) -> Job {
    let exe = std::env::current_exe().unwrap();
    let mut args: Vec<&str> = options.to_vec();
    args.push(exe.to_str().unwrap());
    args.extend(RANK);
    Job::new(&args).with(|command| _ = command.env("TERN_TEST_ACT", act))
}

/// The lines with a mark, sorted.
fn said(run: &Run) -> Vec<&str> {
    let mut lines: Vec<&str> = run.out.lines().filter(|line| line.contains('@')).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn children_learn_who_they_are() {
    let run = job("spawn+finalize", &["-n", "1"]).run();
    assert_eq!(run.code, Some(0), "{run:?}");
    let expected = [
        "@child 0 of 2 program 0: from the parents",
        "@child 1 of 2 program 0: from the parents",
        "@started (2, \"\")",
    ];
    assert_eq!(said(&run).len(), 3, "{run:?}");
    expected.iter().for_each(|line| assert!(run.out.contains(line), "{line}: {run:?}"));
}

#[test]
fn all_are_started_or_none() {
    let run = job("several", &["-n", "1"]).run();
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.out.contains("@started (3, \"\")"), "{run:?}");
    assert!(run.out.contains("@child 2 of 3 program 1"), "{run:?}");
    assert!(run.out.contains("@refused (-2, \"there is no program /dev/null/none/program"), "{run:?}");
    assert_eq!(run.out.matches("@child").count(), 3, "{run:?}");
}

#[test]
fn output_tells_the_spawn() {
    let run = job("spawn+finalize", &["--tag-output", "-n", "1"]).run();
    for tag in ["[0] ", "[1:0] ", "[1:1] "] {
        assert!(run.out.lines().any(|line| line.starts_with(tag)), "{tag}: {run:?}");
    }
}

#[test]
fn a_child_that_dies_ends_the_job() {
    let run = job("spawn-and-hang+kill", &["-n", "1"]).run();
    assert_eq!(run.code, Some(137), "{run:?}");
    assert!(run.err.contains("mpiexec: rank 0 of spawn 1 (process "), "{run:?}");
    assert!(run.err.contains("was killed by signal 9"), "{run:?}");
    let run = job("spawn-and-hang+exit", &["-n", "1"]).run();
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.err.contains("without calling MPI_Finalize"), "{run:?}");
}

#[test]
fn the_code_of_a_child_counts() {
    let run = job("spawn+exit-3", &["-n", "1"]).run();
    assert_eq!(run.code, Some(3), "{run:?}");
}

#[test]
fn a_child_without_mpi_is_not_waited_for() {
    let run = job("spawn-and-hang+no-mpi", &["-n", "1"]).run();
    assert_eq!(run.code, Some(1), "{run:?}");
    let text = "ended without calling MPI_Init, which those that spawned it wait for";
    assert!(run.err.contains(text), "{run:?}");
}

#[test]
fn the_launcher_takes_the_children_with_it() {
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        let running = job("spawn-and-hang+hang", &["-n", "2"]).start();
        until("all run", || (running.alive().len() == 6).then_some(()));
        common::send(running.pid(), signal);
        running.wait_for_nobody();
    }
}

#[test]
fn names_are_kept() {
    let run = job("names", &["-n", "1"]).run();
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn names_are_known_to_other_jobs_until_theirs_ends() {
    let service = format!("a service of test {}", std::process::id());
    let publisher = job("publish-and-hang", &["-n", "1"]);
    let running = publisher.with(|command| _ = command.env("TERN_TEST_SERVICE", &service)).start();
    let port = until("it is published", || look_up(&service).unwrap());
    assert_eq!(port, "the port");
    common::send(running.pid(), libc::SIGTERM);
    running.wait_for_nobody();
    assert_eq!(look_up(&service).unwrap(), None);
}

/// This program without a launcher. mpiexec is found in PATH.
fn alone(act: &str) -> std::process::Output {
    let mpiexec = std::path::Path::new(env!("CARGO_BIN_EXE_mpiexec"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", mpiexec.parent().unwrap().display());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(RANK).env("TERN_TEST_ACT", act).env("PATH", path).env_remove("TERN_LAUNCH");
    command.output().unwrap()
}

#[test]
fn a_process_without_a_launcher_starts_one() {
    let output = alone("spawn+finalize");
    assert!(output.status.success(), "{output:?}");
    // The output ends when the launcher has, which holds its descriptor: so it has ended.
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("@started (2, \"\")"), "{out}");
    assert_eq!(out.matches("@child").count(), 2, "{out}");
    assert!(alone("names").status.success());
}

#[test]
fn a_child_that_dies_ends_a_process_without_a_launcher_too() {
    let output = alone("spawn-and-hang+kill");
    assert!(!output.status.success(), "{output:?}");
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("rank 0 of spawn 1 (process "), "{err}");
}
