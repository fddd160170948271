//! The NAS Parallel Benchmarks: built from the folder that the user names, with results in the form of the benchmark program.
//!
//! They are not part of Tern. A copy of the folder is built with Tern's compilers; only what prints the results is replaced.

use super::registry::{Part, Work};
use crate::Places;
use crate::session::Session;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the folder must have.
const PARTS: [&str; 4] = ["common", "config", "sys", "Makefile"];
/// What replaces the printing of results: here, and there.
const RESULTS: [(&str, &str); 2] =
    [("nas/print_results.f", "common/print_results.f"), ("is/results.c", "common/c_print_results.c")];

/// The program `cg.S` for so many ranks: `cg.S.4`.
pub fn program(name: &str, ranks: usize) -> String {
    format!("{name}.{ranks}")
}

/// The library that counts uses of buffers.
pub fn counter(output: &Path) -> PathBuf {
    output.join("libtern_uses.so")
}

/// Compiles what the parts run. What is not there is told, once for each program.
pub fn compile<'a>(parts: impl Iterator<Item = &'a Part>, npb: Option<&Path>, places: &Places, session: &mut Session) {
    let mut programs: Vec<(String, &str, usize)> = Vec::new();
    let mut counted = false;
    for part in parts {
        if let Work::Nas(name) | Work::Reuse(name) = part.work {
            counted |= matches!(part.work, Work::Reuse(_));
            programs.push((program(name, part.ranks), name, part.ranks));
        }
    }
    programs.sort_unstable();
    programs.dedup();
    if programs.is_empty() {
        return;
    }
    let copy = match copied(npb, places, &session.output) {
        Ok(copy) => copy,
        Err(reason) => return session.problem("NAS Parallel Benchmarks", "all", reason),
    };
    for (program, name, ranks) in programs {
        match build(&copy, name, ranks) {
            Ok(file) => session.adopt(&program, file),
            Err(reason) => session.problem(&program, "all", reason),
        }
    }
    if counted && let Err(reason) = build_counter(places, &session.output) {
        session.problem("uses of buffers", "all", reason);
    }
}

/// A copy of the folder that is ready to be built.
fn copied(npb: Option<&Path>, places: &Places, output: &Path) -> Result<PathBuf, String> {
    let folder =
        npb.ok_or("--npb names the folder NPB3.x-MPI of the NAS Parallel Benchmarks, unpacked; it was not given")?;
    if let Some(missing) = PARTS.iter().map(|part| folder.join(part)).find(|path| !path.exists()) {
        return Err(format!("{} is not there", missing.display()));
    }
    let copy = output.join("npb");
    if copy.exists() {
        fs::remove_dir_all(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    }
    let status = Command::new("cp").arg("-r").arg(folder).arg(&copy).status();
    if !status.as_ref().is_ok_and(|status| status.success()) {
        return Err(format!("cannot copy {} to {}", folder.display(), copy.display()));
    }
    for (from, to) in RESULTS {
        let (from, to) = (places.source.join(from), copy.join(to));
        fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    let definitions = copy.join("config/make.def");
    let told = |error| format!("{}: {error}", definitions.display());
    fs::write(&definitions, definitions_of(&places.tern)).map_err(told)?;
    fs::create_dir_all(copy.join("bin")).map_err(told)?;
    // What another library's compiler left.
    for entry in fs::read_dir(&copy).map_err(told)?.flatten().filter(|entry| entry.path().is_dir()) {
        let files = fs::read_dir(entry.path()).into_iter().flatten().flatten().map(|entry| entry.path());
        for object in files.filter(|path| path.extension().is_some_and(|end| end == "o")) {
            let _ = fs::remove_file(object);
        }
    }
    Ok(copy)
}

/// What NPB's build asks for.
fn definitions_of(prefix: &Path) -> String {
    let (fortran, c) = (prefix.join("bin/mpifort"), prefix.join("bin/mpicc"));
    format!(
        "MPIF77 = {fortran}\nFLINK = $(MPIF77)\nFMPI_LIB =\nFMPI_INC =\n\
         FFLAGS = -O3 -w -std=legacy -fallow-argument-mismatch -fallow-invalid-boz\nFLINKFLAGS =\n\
         MPICC = {c}\nCLINK = $(MPICC)\nCMPI_LIB =\nCMPI_INC =\nCFLAGS = -O3 -w -std=gnu99\nCLINKFLAGS =\n\
         CC = cc\nBINDIR = ../bin\nRAND = randi8\n",
        fortran = fortran.display(),
        c = c.display()
    )
}

/// Benchmark and class of `cg.S`.
fn read(name: &str) -> Option<(&str, &str)> {
    name.split_once('.').filter(|(benchmark, class)| benchmark.len() == 2 && class.len() == 1)
}

fn build(copy: &Path, name: &str, ranks: usize) -> Result<PathBuf, String> {
    let (benchmark, class) = read(name).ok_or_else(|| format!("{name}: not BENCHMARK.CLASS"))?;
    let file = copy.join("bin").join(program(name, ranks));
    let mut make = Command::new("make");
    make.arg("-C").arg(copy.join(benchmark.to_uppercase()));
    make.args([format!("CLASS={class}"), format!("NPROCS={ranks}")]);
    let result = make.output().map_err(|error| format!("cannot start make: {error}"))?;
    if result.status.success() && file.exists() {
        return Ok(file);
    }
    let errors = String::from_utf8_lossy(&result.stderr).into_owned();
    let first = errors.lines().find(|line| line.contains("rror")).unwrap_or("make failed").trim();
    Err(first.to_string())
}

fn build_counter(places: &Places, output: &Path) -> Result<(), String> {
    let source = places.source.join("nas/uses.c");
    let mut compiler = Command::new(places.tern.join("bin/mpicc"));
    compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(counter(output)).arg(&source);
    let result = compiler.output().map_err(|error| format!("cannot start mpicc: {error}"))?;
    if result.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&result.stderr).lines().next().unwrap_or("mpicc failed").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::experiments::EXPERIMENTS;

    #[test]
    fn programs_of_the_experiments_are_known() {
        for part in EXPERIMENTS.iter().flat_map(|experiment| experiment.parts) {
            if let Work::Nas(name) | Work::Reuse(name) = part.work {
                assert!(read(name).is_some(), "{name}");
            }
        }
        assert_eq!((read("cg.S"), read("cg"), read("cg.SS")), (Some(("cg", "S")), None, None));
    }

    #[test]
    fn compilers_are_those_of_the_installed_library() {
        let text = definitions_of(Path::new("/opt/tern"));
        assert!(text.contains("MPIF77 = /opt/tern/bin/mpifort\n") && text.contains("MPICC = /opt/tern/bin/mpicc\n"));
    }
}
