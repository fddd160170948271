//! The test programs and scripts: each says what it shows, in a form that tests/run.sh and tests/README.md tell.

mod sources;

use sources::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Words of a sentence that says something.
const FEWEST: usize = 6;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a folder that end so.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|other| other == end)).collect();
    files.sort();
    files
}

/// The name of a key that begins a line of comment, such as `ranks` in `// ranks: 2`.
fn key(line: &str) -> Option<&str> {
    let (key, _) = line.split_once(": ")?;
    (!key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')).then_some(key)
}

/// What is wrong with the comment at the top of a program: lines with keys that run.sh knows come first, then what it shows.
fn fault(text: &str, keys: &[&str]) -> Option<String> {
    let lines: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//")).map(str::trim).collect();
    let of_keys = lines.iter().take_while(|line| key(line).is_some()).count();
    let unknown = lines[..of_keys].iter().filter_map(|line| key(line)).find(|key| !keys.contains(key));
    let words = lines[of_keys..].iter().flat_map(|line| line.split_whitespace()).count();
    match (unknown, words) {
        (Some(key), _) => Some(format!("run.sh knows no key `{key}`")),
        (None, words) if words < FEWEST => Some("the comment at its top does not say what it shows".to_string()),
        _ => None,
    }
}

#[test]
fn each_program_begins_with_what_it_shows() {
    let script = read(&root().join("tests/run.sh"));
    let keys: Vec<&str> = script.lines().filter_map(|line| key(line.strip_prefix("#   // ")?)).collect();
    assert!(keys.contains(&"ranks") && keys.contains(&"timeout"), "{keys:?}");
    let programs = files(&root().join("tests/c"), "c");
    assert!(programs.len() > 100, "{} programs", programs.len());
    let faults = programs.iter().filter_map(|path| Some(format!("{}: {}", path.display(), fault(&read(path), &keys)?)));
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_program_that_says_nothing_is_found() {
    let fault = |text| fault(text, &["ranks"]);
    assert_eq!(fault("// ranks: 2\n// Messages of all lengths arrive in order.\n#include <mpi.h>\n"), None);
    assert!(fault("// ranks: 2\n#include <mpi.h>\n// Messages of all lengths arrive in order.\n").is_some());
    assert!(fault("// Info objects.\n").is_some());
    assert!(
        fault("// rank: 2\n// Messages of all lengths arrive in order.\n").is_some_and(|fault| fault.contains("rank"))
    );
}

/// The page names every folder and every script of the tests.
#[test]
fn the_page_of_the_tests_names_each_script_and_folder() {
    let page = read(&root().join("tests/README.md"));
    let entries = fs::read_dir(root().join("tests")).expect("the tests").flatten();
    let names = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().is_dir()));
    let wanted = names.filter(|(name, folder)| (*folder && name != "__pycache__") || name.ends_with(".sh"));
    let missing: Vec<String> = wanted
        .map(|(name, folder)| if folder { format!("`{name}/`") } else { format!("`{name}`") })
        .filter(|name| !page.contains(name))
        .collect();
    assert_eq!(missing, Vec::<String>::new(), "tests/README.md does not name them");
    for name in page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| !name.contains('*') && (name.ends_with("-test.sh") || name.ends_with('/')))
    {
        let path = root().join("tests").join(name);
        assert!(path.exists() || root().join(name).exists(), "tests/README.md names {name}, which is not there");
    }
}

/// One `with` serves all scripts.
#[test]
fn no_script_has_a_with_of_its_own() {
    for path in files(&root().join("tests"), "sh") {
        let own = read(&path).lines().any(|line| line.starts_with("with()") || line.starts_with("with ()"));
        assert_eq!(own, path.ends_with("common.sh"), "{}", path.display());
    }
}

#[test]
fn times_stand_beside_those_of_the_run_before() {
    let folder = std::env::temp_dir().join(format!("tern-times-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (kept, now) = (folder.join("kept"), folder.join("now"));
    let run = |times: &str| {
        fs::write(&now, times).expect("written");
        let output = Command::new(root().join("scripts/test-times.sh")).args([&kept, &now]).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout)
            .expect("text")
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let first = run("      10        5  C programs\n       3        2  mpi4py\n");
    assert!(first.contains(&"10 5 new C programs".to_string()), "{first:?}");
    let second = run("      12        4  C programs\n");
    assert!(second.contains(&"12 4 +2 -1 C programs".to_string()), "{second:?}");
    assert!(second.iter().all(|line| !line.contains("mpi4py")), "what did not run is not told: {second:?}");
    let third = run("       3        3  mpi4py\n");
    assert!(third.contains(&"3 3 +0 +1 mpi4py".to_string()), "but kept: {third:?}");
    fs::remove_dir_all(&folder).expect("removed");
}
