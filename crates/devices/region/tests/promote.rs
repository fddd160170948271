//! Promotion, seen by real programs: the C programs in `tests/promote`, each case in a process of its
//! own. Says aloud what is skipped, and why; that counts as ignored.
//!
//! Usage: `cargo test -p tern-region --test promote -- [CASE...]`. The programs are linked with the
//! example `promote_c`, which is built here, for cargo does so only when it runs all tests.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::{Duration, Instant};

const PROGRAMS: [&str; 4] = ["memory", "fork", "refuse", "tell"];
/// A case that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

enum Outcome {
    Passed,
    Skipped(String),
    Failed(String),
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let directory = std::env::temp_dir().join(format!("tern-promote-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory for the programs");
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let examples = build_library();
    for program in PROGRAMS {
        let program = build(program, &directory, &examples);
        for case in cases(&program) {
            if !wanted.is_empty() && !wanted.contains(&case) {
                continue;
            }
            for (variant, outcome) in run_both(&program, &case, &directory) {
                let what = match outcome {
                    Outcome::Passed => "ok".to_owned(),
                    Outcome::Skipped(ref why) => format!("ignored, skipped: {why}"),
                    Outcome::Failed(ref why) => format!("FAILED\n{why}"),
                };
                println!("test {case}{variant} ... {what}");
                match outcome {
                    Outcome::Passed => passed += 1,
                    Outcome::Skipped(_) => skipped += 1,
                    Outcome::Failed(_) => failed += 1,
                }
            }
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {passed} passed; {failed} failed; {skipped} ignored");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Builds the library for the programs, in the profile that this test has, and gives its directory.
fn build_library() -> PathBuf {
    let own = std::env::current_exe().expect("own path");
    let target = own.parent().and_then(Path::parent).expect("target directory");
    let profile = target.file_name().and_then(|name| name.to_str()).expect("profile");
    let profile = if profile == "debug" { "dev" } else { profile };
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "-q", "-p", "tern-region", "--example", "promote_c", "--profile", profile])
        .arg("--target-dir")
        .arg(target.parent().expect("target directory"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.expect("cargo").success(), "the example promote_c does not build");
    target.join("examples")
}

/// Compiles a program of `tests/promote`.
fn build(name: &str, directory: &Path, examples: &Path) -> PathBuf {
    let library = examples.join("libpromote_c.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/promote/{name}.c"));
    let program = directory.join(name);
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-warning-option", "-Wno-use-after-free"])
        .arg(source)
        .arg("-o")
        .arg(&program)
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", examples.display()))
        .arg("-pthread")
        .status();
    assert!(status.expect("a C compiler").success(), "{name}.c does not compile");
    program
}

fn cases(program: &Path) -> Vec<String> {
    let output = Command::new(program).arg("--list").output().expect("the program starts");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Runs one case where the kernel is asked at each use, and where it tells of what is unmapped.
fn run_both(program: &Path, case: &str, directory: &Path) -> Vec<(String, Outcome)> {
    let mut outcomes = run(program, case, directory);
    if let Err(error) = tern_node::maps::watch::Watch::is_possible() {
        outcomes.push((" told".to_owned(), Outcome::Skipped(format!("userfaultfd: {error}"))));
        return outcomes;
    }
    let own = directory.join("told");
    std::fs::create_dir_all(&own).expect("a directory of its own");
    // SAFETY: this program has one thread.
    unsafe { std::env::set_var("PROMOTE_TOLD", "1") };
    outcomes.extend(run(program, case, &own).into_iter().map(|(variant, outcome)| (variant + " told", outcome)));
    // SAFETY: as above.
    unsafe { std::env::remove_var("PROMOTE_TOLD") };
    outcomes
}

/// Runs one case, in as many variants as it has, in the surroundings that it needs.
fn run(program: &Path, case: &str, directory: &Path) -> Vec<(String, Outcome)> {
    let mut command = Command::new(program);
    command.arg(case).current_dir(directory);
    let one = |outcome| vec![(String::new(), outcome)];
    match case {
        "another_allocator" => {
            [["libjemalloc.so.2"].as_slice(), &["libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so.3"]]
                .map(|names| (format!(" {}", names[0]), preloaded(program, case, names)))
                .into()
        }
        "advised_huge_pages" => one(finish(command.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"))),
        "reserved_huge_pages" => one(finish(command.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2"))),
        "little_memory" => one(in_a_small_group(program, case)),
        "dumps_core" => {
            ["shared", "frozen"].map(|kind| (format!(" {kind}"), dumps_core(program, kind, directory))).into()
        }
        _ => one(finish(&mut command)),
    }
}

/// Waits for a program, with a limit, and says how it went.
fn finish(command: &mut Command) -> Outcome {
    match output(command) {
        Err(why) => Outcome::Failed(why),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            match output.status.code() {
                Some(0) => Outcome::Passed,
                Some(77) => Outcome::Skipped(text.trim().to_owned()),
                _ => Outcome::Failed(format!("{text}{}", output.status)),
            }
        }
    }
}

fn output(command: &mut Command) -> Result<Output, String> {
    use std::process::Stdio;
    // A group of its own, so that its children end with it.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let start = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if start.elapsed() > LIMIT {
            // SAFETY: signals the group that was made for the child, which has not been waited for.
            unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
            let _ = child.wait();
            return Err(format!("hangs: killed after {LIMIT:?}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().map_err(|error| error.to_string())
}

fn preloaded(program: &Path, case: &str, names: &[&str]) -> Outcome {
    let directories =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];
    let paths = directories.iter().flat_map(|directory| names.iter().map(move |name| format!("{directory}/{name}")));
    match paths.into_iter().find(|path| Path::new(path).exists()) {
        Some(path) => finish(Command::new(program).arg(case).env("LD_PRELOAD", path)),
        None => Outcome::Skipped(format!("{} is not installed", names[0])),
    }
}

/// Runs a case in a cgroup with 128 MiB of memory.
fn in_a_small_group(program: &Path, case: &str) -> Outcome {
    let name = format!("tern-promote-{}", std::process::id());
    let kinds = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
    for (root, limit) in kinds {
        let group = Path::new(root).join(&name);
        if std::fs::create_dir(&group).is_err() {
            continue;
        }
        let limited = std::fs::write(group.join(limit), (128 << 20).to_string());
        let outcome = limited.ok().map(|()| {
            let enter = format!("echo $$ > {}/cgroup.procs && exec \"$0\" \"$1\"", group.display());
            finish(Command::new("sh").args(["-c", &enter]).arg(program).arg(case))
        });
        let _ = std::fs::remove_dir(&group);
        if let Some(outcome) = outcome {
            return outcome;
        }
    }
    Outcome::Skipped("no cgroup with a memory limit can be made here".to_owned())
}

/// Lets a program die with a core dump, and looks for its buffers in there.
fn dumps_core(program: &Path, kind: &str, directory: &Path) -> Outcome {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.trim().is_empty() || pattern.starts_with(['|', '/']) {
        return Outcome::Skipped(format!("core dumps go elsewhere ({})", pattern.trim()));
    }
    let directory = directory.join(format!("core-{kind}"));
    if let Err(error) = std::fs::create_dir(&directory) {
        return Outcome::Failed(error.to_string());
    }
    // In two parts, so that they are together in the buffers only.
    let words = format!("what {kind} memory");
    let mut command = Command::new(program);
    command.args(["dumps_core", kind, &words]).current_dir(&directory);
    match output(&mut command) {
        Err(why) => Outcome::Failed(why),
        Ok(output) if output.status.code() == Some(77) => {
            Outcome::Skipped(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => {
            let core = std::fs::read_dir(&directory).ok().and_then(|mut files| files.next()?.ok());
            let Some(core) = core.and_then(|file| std::fs::read(file.path()).ok()) else {
                return Outcome::Failed(format!(
                    "no core: {}{}",
                    String::from_utf8_lossy(&output.stdout),
                    output.status
                ));
            };
            let found = |buffer: u32| {
                let text = format!("{words} in buffer {buffer}");
                core.windows(text.len()).filter(|window| *window == text.as_bytes()).count()
            };
            // Every 64 bytes of 1 MiB and of 90 KiB.
            let (mapped, heaped) = (found(0), found(1));
            if mapped >= 16384 && heaped >= 1440 {
                Outcome::Passed
            } else {
                Outcome::Failed(format!("the core has {mapped} and {heaped} pieces of the buffers"))
            }
        }
    }
}
