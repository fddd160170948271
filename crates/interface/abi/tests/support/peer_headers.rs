//! Finds the standard ABI's header of another MPI library.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `mpi_abi.h` of the peer `name`, or `None` after saying why not.
pub fn find(name: &str, package: &str) -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("TERN_PEERS_DIR") {
        if let Some(found) = search(&Path::new(&dir).join(name), 8) {
            return Some(found);
        }
        return skip(name, "TERN_PEERS_DIR has no mpi_abi.h of it");
    }
    // Where `make bench` and tests/same-binary-test.sh install them.
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/peers").join(name);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pypi").join(name);
    if let Some(found) = search(&installed, 8).or_else(|| search(&dir, 8)) {
        return Some(found);
    }
    match download(package, &dir) {
        Ok(()) => search(&dir, 8).or_else(|| skip(name, "the package has no mpi_abi.h")),
        Err(why) => skip(name, &why),
    }
}

/// Said past the test harness, which keeps back what tests print.
fn skip(name: &str, why: &str) -> Option<PathBuf> {
    let _ = writeln!(std::io::stderr(), "SKIPPED: comparison with the header of {name}: {why}");
    None
}

fn search(dir: &Path, depth: usize) -> Option<PathBuf> {
    let file = dir.join("mpi_abi.h");
    if file.is_file() {
        return Some(file);
    }
    let entries = std::fs::read_dir(dir).ok().filter(|_| depth > 0)?;
    let dirs = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|ty| ty.is_dir()));
    dirs.into_iter().find_map(|entry| search(&entry.path(), depth - 1))
}

/// Fetches the newest wheel of `package` and unpacks it in `dir`.
fn download(package: &str, dir: &Path) -> Result<(), String> {
    std::fs::create_dir_all(dir).map_err(|e| e.to_string())?;
    let venv = dir.join("venv");
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let python = venv.join("bin/python");
    let wheels = dir.join("wheels");
    run(Command::new(&python)
        .args(["-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps", "--only-binary", ":all:"])
        .arg("-d")
        .arg(&wheels)
        .arg(package))?;
    for wheel in std::fs::read_dir(&wheels).map_err(|e| e.to_string())?.flatten() {
        run(Command::new(&python).args(["-m", "zipfile", "-e"]).arg(wheel.path()).arg(dir.join("unpacked")))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{command:?}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().next_back().unwrap_or("").to_string();
    if output.status.success() { Ok(()) } else { Err(format!("{command:?} failed: {last}")) }
}
