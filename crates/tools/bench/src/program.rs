//! Compiles the benchmark program, and others, once for each binary interface.

use crate::library::{Abi, Library};
use crate::suite::BENCHMARKS;
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

/// A program in C.
pub struct Program {
    /// Its file has this name, and the binary interface behind a dot.
    pub name: String,
    pub files: Vec<PathBuf>,
    /// Further words for the compiler.
    pub words: Vec<String>,
}

impl Program {
    /// The benchmark program, whose sources are all of a folder.
    pub fn benchmarks(folder: &Path) -> Result<Self, String> {
        let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
        files.sort();
        if files.is_empty() {
            return Err(format!("no C sources in {}", folder.display()));
        }
        Ok(Self { name: BENCHMARKS.to_string(), files, words: Vec::new() })
    }
}

/// Compiles a program against one library and returns its file. It names no library path,
/// so that it runs on every library of the same binary interface.
pub fn compile(library: &Library, program: &Program, output: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(output).map_err(|error| format!("{}: {error}", output.display()))?;
    let file = output.join(match library.abi {
        Abi::Standard => format!("{}.abi", program.name),
        Abi::OpenMpi => format!("{}.openmpi", program.name),
    });
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-g", "-std=gnu11", "-o"]).arg(&file);
    command.arg("-I").arg(include_folder(library, output)?);
    command.args(&program.words).args(&program.files).arg(library.shared_object());
    if library.abi == Abi::OpenMpi {
        // Open MPI's launcher does not set the library path; its own compiler does it thus.
        command.arg(format!("-Wl,-rpath,{}", library.lib().display()));
    } else {
        // What the library itself needs is looked up at run time.
        command.arg("-Wl,--allow-shlib-undefined");
    }
    let result = command.output().map_err(|error| format!("cannot start {compiler}: {error}"))?;
    if result.status.success() {
        return Ok(file);
    }
    let errors = String::from_utf8_lossy(&result.stderr);
    let first = errors.lines().find(|line| line.contains("error") || line.contains("undefined"));
    Err(format!("{compiler} with {}: {}", library.label, first.unwrap_or(&errors).trim()))
}
