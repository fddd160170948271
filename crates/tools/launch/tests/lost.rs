//! Jobs that go on when they lose ranks (`--with-ft`). This program runs itself as the ranks, as `mpi.rs` does: what a rank does is a
//! row of words in TERN_TEST_ACTS.

mod common;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{Job, Run, send, until};
use tern_pmi::control::{Control, Message};
use tern_pmi::report::Report;
use tern_pmi::{Order, Orders};

/// Not a test by itself: a rank.
#[test]
fn rank() {
    let Ok(acts) = std::env::var("TERN_TEST_ACTS") else {
        return;
    };
    let number: usize = std::env::var("TERN_RANK").unwrap().parse().unwrap();
    let acts = acts.split(',').cycle().nth(number).unwrap();
    println!("@rank {number} is told {}", std::env::var("TERN_FT").unwrap_or_default());
    let mut job = None;
    for act in acts.split(' ') {
        let control = || {
            let job: &tern_pmi::Job = job.as_ref().expect("init comes first");
            job.control.as_ref().expect("there is a launcher")
        };
        match act.split_once('-').unwrap_or((act, "")) {
            ("init", "") => job = Some(tern_pmi::init().unwrap()),
            ("finalize", "") => control().finalized(),
            ("exit", code) => std::process::exit(code.parse().unwrap()),
            ("kill", "") => send(std::process::id() as i32, libc::SIGKILL),
            ("abort", "") => control().abort(42, "the reason"),
            ("publish", port) => assert_eq!(publish(control(), port), 0),
            ("refused", port) => assert_eq!(publish(control(), port), -1),
            ("lookup", port) => {
                let asked = Message::Lookup { service: service() };
                assert_eq!(control().ask(&asked, &[]).unwrap(), (0, port.into()));
            }
            ("meet", "") => assert_eq!(job.as_ref().unwrap().exchange(b"here").unwrap().len(), 2),
            ("report", "") => control().stalled(&Report { function: "MPI_Recv".into(), ..Report::default() }),
            ("orphan", "") => {
                // What has started it is its agent.
                send(rustix::process::getppid().unwrap().as_raw_pid(), libc::SIGKILL);
                std::thread::sleep(Duration::from_secs(1000));
            }
            ("mark", name) => std::fs::write(scratch().join(name), "").unwrap(),
            ("await", name) => until(name, || scratch().join(name).exists().then_some(())),
            ("spawn", children) => {
                let (count, orders) = orders(children);
                assert_eq!(control().spawn(&orders, None).unwrap(), (count as i32, String::new()));
            }
            ("hang", "") => std::thread::sleep(Duration::from_secs(1000)),
            other => panic!("{other:?}"),
        }
    }
    std::process::exit(0);
}

/// A name that no other job of this machine has.
fn service() -> String {
    scratch().to_string_lossy().into_owned()
}

/// Children that do these things, with `+` between them and `/` between children; how many they are.
fn orders(children: &str) -> (u32, Orders) {
    let mut command = vec![std::env::current_exe().unwrap().into_os_string()];
    command.extend(RANK.map(Into::into));
    let count = children.split('/').count() as u32;
    let order = Order { count, command, wdir: None, path: None, host: None, arch: None };
    let mut env: Vec<_> = std::env::vars_os().filter(|(name, _)| name != "TERN_TEST_ACTS").collect();
    env.push(("TERN_TEST_ACTS".into(), children.replace('+', " ").replace('/', ",").into()));
    let port = Some("nobody connects".into());
    (count, Orders { job_id: tern_pmi::new_job_id(), commands: vec![order], env, directory: "/".into(), port })
}

fn publish(control: &Control, port: &str) -> i32 {
    control.ask(&Message::Publish { service: service(), port: port.into() }, &[]).unwrap().0
}

fn scratch() -> PathBuf {
    std::env::var_os("TERN_TEST_FILE").expect("a folder for marks").into()
}

const RANK: [&str; 4] = ["--exact", "rank", "--nocapture", "--test-threads=1"];

/// A folder for the marks of a job, removed with this value.
struct Marks(PathBuf);

impl Marks {
    fn new() -> Marks {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tern-lost-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        Marks(folder)
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.0.join("said")).unwrap()
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A job whose ranks do these things, by `before`, words that stand before this program.
fn job(marks: &Path, options: &[&str], before: &[&str], acts: &str) -> Job {
    let exe = std::env::current_exe().unwrap();
    let ranks = acts.split(',').count().to_string();
    let program = [before, &[exe.to_str().unwrap()], &RANK[..]].concat();
    Job::new(&[options, &["-n", &ranks], &program].concat()).with(|command| {
        command.env("TERN_TEST_ACTS", acts).env("TERN_TEST_FILE", marks);
        command.stderr(std::fs::File::create(marks.join("said")).unwrap());
    })
}

/// Runs it; makes the mark `over` when mpiexec has said `losses` times that the job goes on.
fn run(job: Job, marks: &Marks, losses: usize) -> Run {
    let mut running = job.start();
    let told = || marks.said().matches("the job goes on").count();
    until("the losses are told", || (told() == losses || running.child.try_wait().unwrap().is_some()).then_some(()));
    std::fs::write(marks.0.join("over"), "").unwrap();
    Run { err: marks.said(), ..running.end() }
}

fn with_ft(options: &[&str], acts: &str, losses: usize) -> Run {
    let marks = Marks::new();
    let run = run(job(&marks.0, &[&["--with-ft"], options].concat(), &[], acts), &marks, losses);
    Run { err: marks.said(), ..run }
}

#[test]
fn a_job_goes_on_without_the_ranks_that_it_loses() {
    let run = with_ft(&[], "init await-over finalize,init kill,init exit-0,init exit-6", 3);
    assert_eq!((run.code, run.err.lines().count()), (Some(0), 3), "{run:?}");
    for (rank, how) in [
        (1, "was killed by signal 9 (SIGKILL"),
        (2, "exited with code 0 without calling MPI_Finalize"),
        (3, "exited with code 6 without calling MPI_Finalize"),
    ] {
        let line = run.err.lines().find(|line| line.starts_with(&format!("mpiexec: rank {rank} (process ")));
        let line = line.unwrap_or_else(|| panic!("{run:?}"));
        assert!(line.contains(how) && line.ends_with("; the job goes on without it"), "{line}");
    }
    assert_eq!(run.out.matches(" is told on\n").count(), 4, "{run:?}");
}

#[test]
fn the_exit_code_is_that_of_those_who_came_to_the_end() {
    let run = with_ft(&[], "init await-over finalize exit-3,init await-over finalize,init kill", 1);
    assert_eq!(run.code, Some(3), "{run:?}");
    // Where nobody has come to the end, it is that of the first one lost, and the last one leaves nobody.
    let run = with_ft(&[], "init exit-6,init await-over kill", 1);
    assert_eq!(run.code, Some(6), "{run:?}");
    assert!(run.err.trim_end().ends_with(')'), "{run:?}");
}

#[test]
fn what_ends_a_job_ends_one_that_has_lost_ranks() {
    let run = with_ft(&[], "init await-over abort hang,init hang,init kill", 1);
    assert_eq!((run.code, run.err.contains("): the reason")), (Some(42), true), "{run:?}");
    // Who comes to MPI_Init waits for one that never will.
    let run = with_ft(&[], "exit-0,init hang", 1);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.err.contains("ended without calling MPI_Init, which rank 1 has called"), "{run:?}");
    assert_eq!(with_ft(&[], "kill,init hang", 1).code, Some(137));
    let marks = Marks::new();
    let running = job(&marks.0, &["--with-ft"], &[], "init hang,init kill").start();
    until("the loss is told", || marks.said().contains("; the job goes on without it").then_some(()));
    send(running.pid(), libc::SIGTERM);
    assert_eq!(running.end().code, Some(143));
}

#[test]
fn the_setting_asks_for_it_and_the_option_counts_more() {
    for (options, code) in [(&[][..], 0), (&["--with-ft", "off"], 137), (&["-envnone"], 0)] {
        let marks = Marks::new();
        // What inherits nothing is told where the marks are.
        let (acts, folder) = ("init await-over finalize,init kill", marks.0.to_str().unwrap());
        let told = ["-env", "TERN_TEST_ACTS", acts, "-env", "TERN_TEST_FILE", folder];
        let job = job(&marks.0, &[options, &told].concat(), &[], acts);
        let run = run(job.with(|command| _ = command.env("TERN_FT", "on")), &marks, 1);
        assert_eq!(run.code, Some(code), "{options:?}: {run:?}");
    }
}

#[test]
fn a_lost_rank_behind_a_wrapper_is_told_once() {
    let marks = Marks::new();
    let script = "\"$@\"; until [ -e \"$TERN_TEST_FILE/over\" ]; do sleep 0.01; done; exit 9";
    let acts = "init await-over finalize,init kill";
    let job = job(&marks.0, &["--with-ft"], &["sh", "-c", script, "sh"], acts);
    let run = run(job, &marks, 1);
    // That of the shell whose program has come to the end counts.
    assert_eq!((run.code, run.err.matches("rank 1 (process ").count()), (Some(9), 1), "{run:?}");
    assert!(run.err.contains("ended without calling MPI_Finalize; the job goes on without it"), "{run:?}");
}

/// What a rank publishes for its successor: the second one can take the name when the first is lost.
const NAMES: &str = "init meet publish-one mark-published await-seen kill,\
    init meet await-published lookup-one refused-two mark-seen await-over publish-two lookup-two finalize";

#[test]
fn names_of_a_lost_rank_are_taken_back() {
    let run = with_ft(&[], &NAMES.replace("meet ", ""), 1);
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = with_ft(&HOSTS, NAMES, 1);
    assert_eq!(run.code, Some(0), "{run:?}");
}

/// Runs a job that goes on; makes each mark when mpiexec has said the words with it.
fn step_by_step(acts: &str, steps: &[(&str, &str)]) -> Run {
    let marks = Marks::new();
    let running =
        job(&marks.0, &["--with-ft"], &[], acts).with(|command| _ = command.env("TERN_LINGER", "1ms")).start();
    for (mark, words) in steps {
        until(words, || marks.said().contains(words).then_some(()));
        std::fs::write(marks.0.join(mark), "").unwrap();
    }
    Run { err: marks.said(), ..running.end() }
}

#[test]
fn a_picture_shows_who_is_lost() {
    let steps = [("lost", "; the job goes on without it"), ("told", "\n  rank 1: has ended")];
    assert_eq!(step_by_step("init await-lost report await-told finalize,init kill", &steps).code, Some(0));
}

#[test]
fn who_fails_after_finalize_leaves_the_others_their_time() {
    let steps = [("failed", "exited with code 3 after MPI_Finalize; the others go on\n"), ("lost", "without it\n")];
    let acts = "init finalize exit-3,init await-lost finalize,init await-failed kill";
    assert_eq!(step_by_step(acts, &steps).code, Some(3));
}

#[test]
fn who_is_lost_in_init_ends_a_job_of_several_nodes() {
    let nodes = ["--nodes", "2"];
    let run = with_ft(&nodes, "init meet await-over finalize,init meet kill", 1);
    assert_eq!(run.code, Some(0), "{run:?}");
    // The other one would wait for the place of the lost one.
    let run = with_ft(&nodes, "init meet hang,init kill", 1);
    assert_eq!((run.code, run.err.contains("goes on")), (Some(137), false), "{run:?}");
}

/// Two hosts, each of them an agent on this machine.
const HOSTS: [&str; 4] = ["--launcher", "fork", "--hosts", "a,b"];

#[test]
fn a_job_of_several_hosts_goes_on_without_a_rank() {
    let run = with_ft(&HOSTS, "init meet await-over finalize,init meet kill", 1);
    assert_eq!((run.code, run.err.lines().count()), (Some(0), 1), "{run:?}");
    assert!(run.err.contains("rank 1 (process ") && run.err.contains(" was killed by signal 9 (SIGKILL"), "{run:?}");
    let run = with_ft(&HOSTS, "init meet kill,init meet await-over exit-6", 1);
    assert_eq!(run.code, Some(137), "{run:?}");
    let run = with_ft(&HOSTS, "init meet await-over abort hang,init meet kill", 1);
    assert_eq!(run.code, Some(42), "{run:?}");
    let run = with_ft(&HOSTS, "init meet hang,init kill", 1);
    assert_eq!(run.code, Some(137), "{run:?}");
}

#[test]
fn a_job_goes_on_without_a_host() {
    let run = with_ft(&HOSTS, "init meet await-over finalize,init meet orphan", 1);
    assert_eq!((run.code, run.err.lines().count()), (Some(0), 1), "{run:?}");
    assert!(run.err.contains("the connection to host b is lost"), "{run:?}");
    assert!(run.err.trim_end().ends_with("; the job goes on without rank 1"), "{run:?}");
    // All ranks of it are named, and they count where nobody has come to the end.
    let acts = "init meet await-over exit-6,init meet orphan";
    let run = with_ft(&HOSTS, acts, 1);
    assert_eq!(run.code, Some(1), "{run:?}");
    let run = with_ft(&HOSTS, "init meet hang,init orphan", 1);
    assert_eq!((run.code, run.err.contains("goes on")), (Some(1), false), "{run:?}");
    // Names go with it.
    let run = with_ft(&HOSTS, &NAMES.replace("kill", "orphan"), 1);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn a_job_goes_on_without_a_rank_that_was_spawned() {
    let run = with_ft(&[], "init spawn-init+kill/init+await-over+finalize await-over finalize", 1);
    assert_eq!((run.code, run.err.lines().count()), (Some(0), 1), "{run:?}");
    assert!(run.err.contains("rank 0 of spawn 1 (process "), "{run:?}");
    // One that ends before its MPI_Init has not met those that have spawned it, and no more do the others.
    let run = with_ft(&[], "init spawn-exit-0/init+hang await-over finalize", 1);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.err.contains("; the others of the same spawn are ended, and the job goes on"), "{run:?}");
    // One child on each host.
    let children = "spawn-init+meet+await-over+finalize/init+meet+orphan";
    let run = with_ft(&HOSTS, &format!("init meet {children} await-over finalize,init meet hang"), 1);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.err.contains("; the job goes on without rank 1 and rank 1 of spawn 1"), "{run:?}");
}
