//! Compiles the benchmark program, once for each binary interface.

use crate::library::{Abi, Library};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `mpi.h` for a library lies. For the standard ABI the header of the peers is
/// `mpi_abi.h`; a small `mpi.h` that includes it is written to `scratch`.
fn include_folder(library: &Library, scratch: &Path) -> Result<PathBuf, String> {
    let include = library.prefix.join("include");
    if library.is_tern() || library.abi == Abi::OpenMpi {
        return Ok(include);
    }
    let header = include.join("mpi_abi.h");
    if !header.exists() {
        return Err(format!("{} is missing", header.display()));
    }
    let folder = scratch.join(format!("include-{}", library.name));
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join("mpi.h"), format!("#include \"{}\"\n", header.display())))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    if files.is_empty() {
        return Err(format!("no C sources in {}", folder.display()));
    }
    Ok(files)
}

/// Compiles the sources against one library and returns the program. It names no library path,
/// so that it runs on every library of the same binary interface.
pub fn compile(library: &Library, source: &Path, output: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(output).map_err(|error| format!("{}: {error}", output.display()))?;
    let program = output.join(match library.abi {
        Abi::Standard => "tern_mpi_bench.abi",
        Abi::OpenMpi => "tern_mpi_bench.openmpi",
    });
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-g", "-std=gnu11", "-o"]).arg(&program);
    command.arg("-I").arg(include_folder(library, output)?);
    command.args(sources(source)?).arg(library.shared_object());
    if library.abi == Abi::OpenMpi {
        // Open MPI's launcher does not set the library path; its own compiler does it thus.
        command.arg(format!("-Wl,-rpath,{}", library.lib().display()));
    } else {
        // What the library itself needs is looked up at run time.
        command.arg("-Wl,--allow-shlib-undefined");
    }
    let result = command.output().map_err(|error| format!("cannot start {compiler}: {error}"))?;
    if result.status.success() {
        return Ok(program);
    }
    let errors = String::from_utf8_lossy(&result.stderr);
    let first = errors.lines().find(|line| line.contains("error") || line.contains("undefined"));
    Err(format!("{compiler} with {}: {}", library.label, first.unwrap_or(&errors).trim()))
}
