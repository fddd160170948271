//! What mpiexec tells the ranks about costs.

mod common;

use std::path::{Path, PathBuf};

use common::{Job, Run};

/// A directory that is removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("tern-costs-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Ranks print the name of the file and its first line.
fn job(ranks: &str, cache: &Path, costs: &str) -> Run {
    let script = "echo \"$TERN_COSTS_FILE\"; [ -z \"$TERN_COSTS_FILE\" ] || head -n 1 \"$TERN_COSTS_FILE\"";
    let job = Job::new(&["-n", ranks, "sh", "-c", script]).with(|command| {
        command.env("XDG_CACHE_HOME", cache).env("TERN_COSTS_FILE", "/from/outside").env("TERN_COSTS", costs);
    });
    let run = job.run();
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.err, "");
    run
}

/// As [`job`] of two ranks for which costs are measured. Where a process that measures does not get its core for a fifth of a
/// second, the job goes on without; then another one is started.
fn measured(cache: &Path) -> Run {
    let runs = std::iter::repeat_with(|| job("2", cache, "auto"));
    runs.take(30).find(|run| run.out != "\n\n").expect("nothing was ever measured")
}

/// Whether something can be measured here; says so if not.
fn can_measure() -> bool {
    let able = tern_node::usable_cores() > 1 && tern_node::memory_limit() >= 256 << 20;
    if !able {
        eprintln!("skipped: it takes two cores and 256 MiB to measure");
    }
    able
}

#[test]
fn measured_once_and_then_known() {
    if !can_measure() {
        return;
    }
    let scratch = Scratch::new("once");
    let first = measured(&scratch.0);
    let file = first.out.lines().next().unwrap().to_owned();
    assert!(file.starts_with(&format!("{}/tern/costs5-", scratch.0.display())), "{first:?}");
    assert_eq!(first.sorted(), [&*file, &*file, "tern-costs 5", "tern-costs 5"]);
    // It is read, and left as it is.
    std::fs::write(&file, "tern-costs 5\norigin a test\n").unwrap();
    assert_eq!(job("2", &scratch.0, "auto").sorted(), first.sorted());
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, "tern-costs 5\norigin a test\n");
    // Nonsense is measured anew.
    std::fs::write(&file, "tern-costs 5\norigin\n").unwrap();
    assert_eq!(measured(&scratch.0).sorted(), first.sorted());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.lines().count() > 10, "{text}");
}

#[test]
fn where_nothing_can_be_stored_the_costs_last_for_the_job() {
    if !can_measure() {
        return;
    }
    let run = measured(Path::new("/proc/nowhere"));
    let lines = run.sorted();
    assert!(lines[0].starts_with("/proc/"), "{run:?}");
    assert_eq!(lines[2..], ["tern-costs 5", "tern-costs 5"], "{run:?}");
}

#[test]
fn nothing_is_measured_for_one_rank_or_when_the_user_says_so() {
    let scratch = Scratch::new("never");
    assert_eq!(job("1", &scratch.0, "auto").out, "\n");
    assert_eq!(job("2", &scratch.0, "default").out, "\n\n");
    assert_eq!(job("2", &scratch.0, "/some/file").out, "\n\n");
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 0);
}
