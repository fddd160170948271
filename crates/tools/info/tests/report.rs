//! tern-info as a user runs it.

use std::process::{Command, Output};

fn info(args: &[&str], env: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tern-info"));
    command.args(args).env_remove("TERN_LAUNCH").envs(env.iter().copied());
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_setting_tells_the_file_that_it_comes_from() {
    let folder = std::env::temp_dir().join(format!("tern-info-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("tern.conf"), "TERN_SPIN = 77\n").expect("a file");
    let home = folder.to_str().expect("a name");
    let shown = |env: &[(&str, &str)], line: &str| {
        let text = text(&info(&["settings"], env));
        assert!(text.lines().any(|found| found == line), "no {line:?} in\n{text}");
    };
    shown(&[("XDG_CONFIG_HOME", home)], "TERN_SPIN = 77 (user's file)");
    let files = text(&info(&["settings"], &[("XDG_CONFIG_HOME", home)]));
    let files = files.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(files.contains(&format!("{home}/tern.conf (user's file) is read; ")), "{files}");
    assert!(files.contains("etc/tern.conf (site's file) is not there"), "{files}");
    shown(&[("XDG_CONFIG_HOME", home), ("TERN_SPIN", "5")], "TERN_SPIN = 5 (environment)");
    shown(&[("XDG_CONFIG_HOME", home), ("TERN_CONF", "off")], "TERN_SPIN = auto (default)");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_machine_is_made_up_copied_and_shown() {
    let folder = std::env::temp_dir().join(format!("tern-info-machine-{}", std::process::id()));
    let [made, copy] = ["made", "copy"].map(|name| folder.join(name).to_str().expect("a name").to_owned());
    assert_eq!(text(&info(&["--make-topology", "2x2x2x4x2", &made], &[])), "");
    let of = |machine: &str, bound: &str| {
        text(&info(&["machine"], &[("TERN_TOPOLOGY", machine), ("TERN_BOUND", bound)]))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let shown = of(&made, "");
    for part in
        ["32 in 2 packages, 64 hardware threads", "8 x level 3, 32 MiB, for 8 threads each", "there threads 0-63"]
    {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    assert!(of(&made, "3,35").contains("there threads 3,35"));
    assert_eq!(text(&info(&["--save-topology", &copy], &[("TERN_TOPOLOGY", &made)])), "");
    assert_eq!(of(&copy, "").replace(&copy, &made), shown);
    let again = info(&["--make-topology", "1x1x1x2x1", &made], &[]);
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("not empty"));
    let wrong = info(&["--make-topology", "2x2", &made], &[]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("five numbers"), "{wrong:?}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn everything_has_its_line() {
    let all = text(&info(&[], &[]));
    for start in [
        "version ",
        "ABI ",
        "programs load ",
        "host ",
        "cores ",
        "this process ",
        "memory ",
        "shared memory ",
        "CMA ",
        "kernel module ",
        "promotion ",
        "huge pages ",
        "futex ",
        "membarrier ",
        "verbs ",
        "RDMA ",
        "libfabric ",
        "TERN_NETWORK ",
        "Tern would take ",
        "TERN_SPIN = ",
    ] {
        assert!(all.lines().any(|line| line.starts_with(start)), "no {start:?} in\n{all}");
    }
    for mechanism in text(&info(&["mechanisms"], &[])).lines().skip(2) {
        if !mechanism.starts_with(' ') {
            let value = &mechanism[18..];
            assert!(value.starts_with("yes") || value.starts_with("no: "), "{mechanism}");
        }
    }
}

#[test]
fn the_network_is_chosen_as_the_settings_say() {
    let taken = |network: &str| {
        let text = text(&info(&["networks"], &[("TERN_NETWORK", network), ("TERN_LIBFABRIC", "/nowhere")]));
        let line = text.split("Tern would take").nth(1).expect("the last line").split_whitespace();
        line.collect::<Vec<_>>().join(" ")
    };
    assert!(taken("tcp").starts_with("tcp, as TERN_NETWORK says"));
    assert!(taken("software").starts_with("software, as TERN_NETWORK says"));
    assert!(taken("ofi").starts_with("nothing: TERN_NETWORK=ofi, but libfabric cannot be loaded"));
    let rdma = taken("rdma");
    assert!(rdma.starts_with("rdma, as") || rdma.starts_with("nothing: TERN_NETWORK=rdma"), "{rdma}");
    let unknown = info(&["networks"], &[("TERN_NETWORK", "telegraph"), ("TERN_LIBFABRIC", "/nowhere")]);
    let error = String::from_utf8(unknown.stderr).unwrap();
    assert!(error.contains("TERN_NETWORK=telegraph"), "{error}");
}

#[test]
fn every_setting_has_value_source_default_and_meaning() {
    let text = text(&info(&["settings"], &[("TERN_SPIN", "12k")]));
    assert!(text.contains("TERN_SPIN = 12k (environment)\n"), "{text}");
    assert!(text.contains("TERN_YIELD = auto (default)\n"), "{text}");
    for entry in tern_settings::ALL {
        assert!(text.contains(&format!("{} = ", entry.name())), "{}", entry.name());
        assert!(text.contains(&entry.allowed()), "{}", entry.name());
        assert!(text.contains(entry.meaning().split(' ').next().unwrap()));
    }
}

#[test]
fn every_counter_and_event_has_its_line() {
    let text = text(&info(&["counters"], &[]));
    for entry in tern_counters::ALL {
        let line = format!("\n{} ({}, {})\n", entry.name, entry.class.name(), entry.unit);
        assert!(text.contains(&line), "no {line:?} in\n{text}");
    }
    for kind in tern_counters::events::Kind::ALL {
        assert!(text.contains(&format!("\n{} (", kind.name())), "{}", kind.name());
    }
}

#[test]
fn wrong_settings_are_told() {
    let output = info(&["settings"], &[("TERN_SPIN", "lots")]);
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(error.contains("TERN_SPIN=lots"), "{error}");
    assert!(text(&output).contains("TERN_SPIN = auto (default)"));
}

#[test]
fn other_launchers_are_named() {
    let text = text(&info(&["version"], &[("PMI_SIZE", "4"), ("PMI_RANK", "2")]));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("(Hydra) as one of several (PMI_SIZE=4)"), "{text}");
}

#[test]
fn a_missing_library_comes_with_the_remedy() {
    let all = text(&info(&["version"], &[("LD_LIBRARY_PATH", "/dev/null/none")]));
    let flat = all.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("want LD_LIBRARY_PATH") || flat.contains("libmpi_abi.so.1: "), "{all}");
}

#[test]
fn parts_and_options() {
    assert_eq!(text(&info(&["--version"], &[])), format!("tern-info (Tern) {}\n", env!("CARGO_PKG_VERSION")));
    assert!(text(&info(&["--help"], &[])).contains("mechanisms"));
    assert!(!text(&info(&["machine"], &[])).contains("TERN_SPIN"));
    let output = info(&["everything"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("version, machine, mechanisms, networks, settings"));
}
