//! The layers of Tern: a crate depends only on crates below it. The table of docs/architecture.md is made of this list and of the manifests.

#[path = "../sources/mod.rs"]
mod sources;
mod table;

use serde_json::Value;
use std::process::Command;

/// Crates that belong together. Each depends on its own floor and on those below it.
struct Floor {
    name: &'static str,
    /// For the reader of docs/architecture.md.
    about: &'static str,
    /// Top to bottom. Crates of one line do not depend on each other.
    layers: &'static [&'static [&'static str]],
}

/// Top to bottom.
const FLOORS: &[Floor] = &[
    Floor {
        name: "interface",
        about: "What programs are compiled and linked with: C and Fortran, in the standard ABI and in those of others.",
        layers: &[
            &["tern-fortran-abi", "tern-fortran-mpich", "tern-fortran-openmpi"],
            // The faces know the core by its table of functions only: no crate of the core is below them but tern-table and tern-memory.
            &["tern-mpich", "tern-openmpi"],
            &["tern-face", "tern-fortran"],
            &["tern-abi"],
            &["tern-table"],
        ],
    },
    Floor {
        name: "core",
        about: "What the standard defines, and the protocols behind it. Among them only `mcm` names a device.",
        layers: &[&["tern-mpi"], &["tern-rma"], &["tern-coll"], &["tern-io"], &["tern-adi"], &["tern-mcm"]],
    },
    Floor {
        name: "devices",
        about: "How bytes get from one process to another.",
        layers: &[
            &["tern-shm", "tern-verbs", "tern-tcp", "tern-ofi", "tern-pipes"],
            &["tern-device"],
            &["tern-tune"],
            // A library for C programs, which nothing here uses.
            &["tern-region-c"],
            &["tern-region"],
            &["tern-hca", "tern-registration"],
            &["tern-proof"],
        ],
    },
    Floor {
        name: "base",
        about: "What all floors stand on: decisions, layouts of data, the machine, memory, settings.",
        layers: &[
            &["tern-layout"],
            &["tern-node"],
            &["tern-policy"],
            &["tern-pmi"],
            &["tern-settings", "tern-counters", "tern-copy", "tern-files", "tern-damage"],
            &["tern-threads", "tern-memory"],
            // Below the copies and the node, which tell it what they touch and ask it for the time.
            &["tern-atomics"],
        ],
    },
];

/// They use the layers; nothing uses them.
const PROGRAMS: &[&str] =
    &["tern-launch", "tern-info", "tern-bench", "tern-man", "tern-model", "tern-msgq", "tern-tune-program"];

/// A program that is a library for another one.
const SHARED: (&str, &str) = ("tern-bench", "tern-model");

/// Top to bottom.
fn layers() -> impl Iterator<Item = &'static [&'static str]> {
    FLOORS.iter().flat_map(|floor| floor.layers).copied()
}

/// From a crate to one that it depends on.
type Edge = (String, String);

/// Every dependency between crates of the workspace, those of tests and build scripts too.
fn edges(metadata: &Value) -> Vec<Edge> {
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let ours: Vec<String> = packages.iter().map(&name).collect();
    let mut edges = Vec::new();
    for package in packages {
        let dependencies = package["dependencies"].as_array().expect("a list of dependencies");
        for dependency in dependencies.iter().filter(|dependency| ours.contains(&name(dependency))) {
            edges.push((name(package), name(dependency)));
        }
    }
    edges
}

fn level(name: &str) -> Option<usize> {
    layers().position(|layer| layer.contains(&name))
}

/// What is wrong with one dependency.
fn fault((user, used): &Edge) -> Option<String> {
    if (user.as_str(), used.as_str()) == SHARED {
        return None;
    }
    if PROGRAMS.contains(&used.as_str()) {
        return Some(format!("{user} depends on {used}, which is a program"));
    }
    let Some(below) = level(used) else {
        return Some(format!("{used} has no place among the layers: give it one in {}", file!()));
    };
    if PROGRAMS.contains(&user.as_str()) {
        return None;
    }
    let Some(above) = level(user) else {
        return Some(format!("{user} has no place among the layers: give it one in {}", file!()));
    };
    (above >= below).then(|| format!("{user} depends on {used}, which is not below it"))
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn crates_depend_only_on_what_is_below() {
    let metadata = metadata();
    let edges = edges(&metadata);
    // The way from the top to the bottom is there, so the list was read.
    for (user, used) in [("tern-abi", "tern-mpi"), ("tern-mpi", "tern-adi"), ("tern-shm", "tern-device")] {
        assert!(edges.contains(&(user.into(), used.into())), "no dependency of {user} on {used}");
    }
    let faults: Vec<String> = edges.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The policy decides and never acts: it knows the settings and the counters of its rules, and nothing that moves, measures or stores.
#[test]
fn the_policy_depends_on_nothing_that_acts() {
    let edges = edges(&metadata());
    let mut used: Vec<&str> = edges.iter().filter(|(user, _)| user == "tern-policy").map(|(_, used)| &**used).collect();
    used.sort_unstable();
    assert_eq!(used, ["tern-counters", "tern-settings"]);
}

/// The policy sees no file, clock, thread or process: what it is compiled with has none.
#[test]
fn the_policy_has_no_system_to_act_on() {
    let src = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../base/policy/src");
    let root = std::fs::read_to_string(src.join("lib.rs")).expect("the root of the crate");
    assert!(root.contains("\n#![cfg_attr(not(test), no_std)]\n"));
    for (file, text) in sources::files(&src, &["tests"]) {
        let brings = text.lines().find(|line| line.trim_start().starts_with("extern crate std"));
        assert_eq!(brings, None, "{}", file.display());
    }
}

/// The folder of a crate is that of its floor; those of programs lie in `tools`.
#[test]
fn crates_lie_on_their_floors() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let wrong = packages.iter().filter_map(|package| {
        let name = package["name"].as_str().expect("a name");
        let path = std::path::Path::new(package["manifest_path"].as_str().expect("a path"));
        let floor = path.ancestors().nth(2).and_then(|folder| folder.file_name()).expect("a folder");
        let wanted = FLOORS.iter().find(|floor| floor.layers.iter().any(|layer| layer.contains(&name)));
        let wanted = wanted.map_or("tools", |floor| floor.name);
        (floor != wanted).then(|| format!("{name} lies in {}, and stands on {wanted}", floor.display()))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn every_crate_has_a_place() {
    for package in metadata()["packages"].as_array().expect("a list of packages") {
        let name = package["name"].as_str().expect("a name");
        assert!(PROGRAMS.contains(&name) || level(name).is_some(), "{name} is in no layer");
    }
}

#[test]
fn a_wrong_dependency_is_found() {
    let crates = |list: &[(&str, &[&str])]| {
        let package = |(name, used): &(&str, &[&str])| {
            let used: Vec<Value> = used.iter().map(|used| serde_json::json!({ "name": used })).collect();
            serde_json::json!({ "name": name, "dependencies": used })
        };
        serde_json::json!({ "packages": list.iter().map(package).collect::<Vec<_>>() })
    };
    let faults = |list: &[(&str, &[&str])]| -> usize { edges(&crates(list)).iter().filter_map(fault).count() };
    let device: (&str, &[&str]) = ("tern-device", &[]);
    let adi: (&str, &[&str]) = ("tern-adi", &[]);
    // Right ones, and crates of others.
    assert_eq!(faults(&[("tern-shm", &["tern-device", "libc"]), device]), 0);
    assert_eq!(faults(&[("tern-launch", &["tern-device"]), device]), 0);
    // Upwards, sideways, to itself, to a program, and to and from a crate without a place.
    assert_eq!(faults(&[("tern-device", &["tern-adi"]), adi]), 1);
    assert_eq!(faults(&[("tern-shm", &["tern-verbs"]), ("tern-verbs", &[])]), 1);
    assert_eq!(faults(&[("tern-adi", &["tern-adi"])]), 1);
    assert_eq!(faults(&[("tern-mpi", &["tern-bench"]), ("tern-bench", &[])]), 1);
    assert_eq!(faults(&[("tern-mpi", &["tern-new"]), ("tern-new", &[])]), 1);
    assert_eq!(faults(&[("tern-new", &["tern-adi"]), adi]), 1);
}
