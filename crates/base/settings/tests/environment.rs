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
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
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
    let (out, err) =
        run(&[("TERN_SPIN", "2k"), ("TERN_COLL", "bcast=ring"), ("TERN_COLL_LINES", "off"), ("TERN_LOG", "info")]);
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
    assert!(err.contains("tern: warning: TERN_SPIN=much: the value must be a whole number"), "{err}");
    assert!(err.contains("TERN_YEILD is not a setting of Tern; did you mean TERN_YIELD?"), "{err}");
}

#[test]
fn only_rank_0_speaks() {
    let (_, err) = run(&[("TERN_SPIN", "much"), ("TERN_LAUNCH", "rank=1 size=2")]);
    assert_eq!(err, "");
    let (_, err) = run(&[("TERN_SPIN", "much"), ("TERN_LAUNCH", "rank=0 size=2")]);
    assert_eq!(err.lines().count(), 1, "{err}");
    let (_, err) = run(&[("TERN_SPIN", "much"), ("TERN_LAUNCH", "rank=0 size=2 warned=TERN_SPIN")]);
    assert_eq!(err, "");
}

#[test]
fn what_a_program_sets_is_used() {
    // In a process of its own: settings are the process's.
    if std::env::var("TERN_TEST_CHILD").is_err() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "what_a_program_sets_is_used"])
            .env("TERN_TEST_CHILD", "1")
            .env("TERN_COLL", "bcast=ring")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let entry = |name| *tern_settings::ALL.iter().find(|entry| entry.name() == name).unwrap();
    let before = tern_settings::COLL.get();
    entry("TERN_COLL").set("bcast=binomial").unwrap();
    assert_eq!((before, tern_settings::COLL.get()), ("bcast=ring", "bcast=binomial"));
    assert_eq!(entry("TERN_COLL").source(), tern_settings::Source::Program);
    let promote = entry("TERN_PROMOTE");
    assert_eq!((promote.words(), promote.word()), (&["off", "auto", "always"][..], 1));
    promote.set("always").unwrap();
    assert_eq!((promote.value(), promote.word()), ("always", 2));
    assert!(promote.set("never").unwrap_err().contains("off, auto, always"));
    assert_eq!(promote.value(), "always");
    entry("TERN_SPIN").set("4k").unwrap();
    assert_eq!(tern_settings::SPIN.get(), Some(4096));
}
