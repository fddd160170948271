//! Settings as a process reads them. Each test runs this program again with an environment.

use std::process::Command;

/// Runs the test `child` of this program with these variables; gives its two streams.
fn run(variables: &[(&str, &str)]) -> (String, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env("TERN_TEST_CHILD", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(output.status.success());
    (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// Not a test by itself: what the other tests run.
#[test]
fn child() {
    if std::env::var("TERN_TEST_CHILD").is_err() {
        return;
    }
    println!("spin {:?}", tern_settings::SPIN.get());
    println!("coll {:?}", tern_settings::COLL.get());
    println!("lines {:?}", tern_settings::COLL_LINES.get());
    for entry in tern_settings::ALL {
        println!("{} {:?} {}", entry.name(), entry.value(), entry.source());
    }
    tern_settings::info!("an info line");
}

#[test]
fn values_come_from_the_environment() {
    let (out, err) = run(&[
        ("TERN_SPIN", "2k"),
        ("TERN_COLL", "bcast=ring"),
        ("TERN_COLL_LINES", "off"),
        ("TERN_LOG", "info"),
    ]);
    assert!(out.contains("spin Some(2048)\n"), "{out}");
    assert!(out.contains("coll \"bcast=ring\"\n"), "{out}");
    assert!(out.contains("lines false\n"), "{out}");
    assert!(out.contains("TERN_SPIN \"2k\" environment\n"), "{out}");
    assert!(out.contains("TERN_YIELD \"auto\" default\n"), "{out}");
    assert_eq!(err, "tern: info: an info line\n");
}

#[test]
fn wrong_ones_get_one_line_and_the_default() {
    let (out, err) = run(&[("TERN_SPIN", "much"), ("TERN_YEILD", "3")]);
    assert!(out.contains("spin None\n"), "{out}");
    assert!(out.contains("TERN_SPIN \"auto\" default\n"), "{out}");
    assert_eq!(err.lines().count(), 2, "{err}");
    assert!(
        err.contains("tern: warning: TERN_SPIN=much: the value must be a whole number"),
        "{err}"
    );
    assert!(
        err.contains("TERN_YEILD is not a setting of Tern; did you mean TERN_YIELD?"),
        "{err}"
    );
}

#[test]
fn only_rank_0_speaks() {
    let (_, err) = run(&[("TERN_SPIN", "much"), ("TERN_LAUNCH", "rank=1 size=2")]);
    assert_eq!(err, "");
    let (_, err) = run(&[("TERN_SPIN", "much"), ("TERN_LAUNCH", "rank=0 size=2")]);
    assert_eq!(err.lines().count(), 1, "{err}");
    let (_, err) = run(&[
        ("TERN_SPIN", "much"),
        ("TERN_LAUNCH", "rank=0 size=2 warned=TERN_SPIN"),
    ]);
    assert_eq!(err, "");
}
