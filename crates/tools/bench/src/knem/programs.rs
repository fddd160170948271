//! The applications: shortest paths, and the integer sort of the NAS Parallel Benchmarks.

use super::experiments::EXPERIMENTS;
use crate::Places;
use crate::program::Program;
use crate::session::Session;
use std::fs;
use std::path::{Path, PathBuf};

/// The example program of shortest paths.
const PATHS: &str = "asp";
/// Where it is, beside the folder of the benchmark program.
const PATHS_FILE: &str = "../demo/asp.c";

/// Compiles what the experiments run. What is not there is told.
pub fn compile(session: &mut Session, places: &Places, npb: Option<&PathBuf>) {
    let parts = EXPERIMENTS.iter().flat_map(|experiment| experiment.parts);
    let mut names: Vec<&str> = parts.filter_map(|part| part.program.map(|[name, ..]| name)).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let program = match name {
            PATHS => self::paths(places),
            _ => sort(name, places, npb, &session.output),
        };
        match program {
            Ok(program) => session.compile(&program, name),
            Err(reason) => session.problem(name, "all", reason),
        }
    }
}

/// The program of shortest paths.
///
/// Errors: its source is not there.
pub fn paths(places: &Places) -> Result<Program, String> {
    let source = places.source.join(PATHS_FILE);
    if !source.exists() {
        return Err(format!("{} is not there", source.display()));
    }
    Ok(program(PATHS, vec![source], Vec::new()))
}

fn program(name: &str, files: Vec<PathBuf>, words: Vec<String>) -> Program {
    // What peers' compilers say of other people's programs is not looked at.
    Program { name: name.to_string(), files, words: [words, vec!["-O3".to_string(), "-w".to_string()]].concat() }
}

/// What NPB's own tool would write for class and number of processes.
fn parameters(class: char, ranks: usize) -> String {
    let text = ["NPBVERSION", "COMPILETIME", "MPICC", "CFLAGS", "CLINK", "CLINKFLAGS", "CMPI_LIB", "CMPI_INC"];
    let text: String = text.iter().map(|name| format!("#define {name} \"\"\n")).collect();
    format!("#define CLASS '{class}'\n#define NUM_PROCS {ranks}\n{text}")
}

/// The integer sort, `is.CLASS.RANKS`, from the folder of NPB's MPI version.
fn sort(name: &str, places: &Places, npb: Option<&PathBuf>, output: &Path) -> Result<Program, String> {
    let folder =
        npb.ok_or("--npb names the folder NPB3.x-MPI of the NAS Parallel Benchmarks, unpacked; it was not given")?;
    let (class, ranks) = read(name).ok_or_else(|| format!("{name}: not is.CLASS.RANKS"))?;
    let files = vec![folder.join("IS/is.c"), folder.join("common/c_timers.c"), places.source.join("is/results.c")];
    if let Some(missing) = files.iter().find(|file| !file.exists()) {
        return Err(format!("{} is not there", missing.display()));
    }
    let include = output.join(name.to_owned() + ".include");
    let header = include.join("npbparams.h");
    fs::create_dir_all(&include)
        .and_then(|()| fs::write(&header, parameters(class, ranks)))
        .map_err(|error| format!("{}: {error}", header.display()))?;
    Ok(program(name, files, vec![format!("-I{}", include.display())]))
}

/// Class and ranks of `is.A.4`.
fn read(name: &str) -> Option<(char, usize)> {
    let (class, ranks) = name.strip_prefix("is.")?.split_once('.')?;
    Some((class.chars().next()?, ranks.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_the_experiments_are_known_and_fit_their_ranks() {
        for part in EXPERIMENTS.iter().flat_map(|experiment| experiment.parts) {
            match part.program {
                Some([PATHS, ..]) | None => {}
                Some([name, ..]) => assert_eq!(read(name), Some(('A', part.ranks)), "{name}"),
            }
        }
        assert_eq!(read("is.A"), None);
    }

    #[test]
    fn the_sort_is_compiled_for_a_class_and_a_number_of_ranks() {
        let text = parameters('B', 4);
        assert!(text.contains("#define CLASS 'B'\n#define NUM_PROCS 4\n") && text.contains("#define CFLAGS \"\"\n"));
    }
}
