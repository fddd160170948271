//! Collectives on a large node that is made up, in virtual time: the unchanged library, built with a model (crate `tern-model`).
//!
//! - [`cells`] says what is measured, and reads it from what the model's server has noted.
//! - [`here`] is this machine as one of the model's, measured by a short run.
//! - [`check`] compares the model of this machine with a run of the same program on it.

mod cells;
mod check;
mod here;

use crate::chart::{Across, Curve, Panel, Scale, Style, draw};
use crate::{Options, Places};
use cells::{Cell, OPERATIONS};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tern_model::job::{self, Job, Outcome};
use tern_model::machine::Machine;

/// What the user asks for.
#[derive(Args)]
pub struct Words {
    /// 2x-epyc-7r13, 2x-epyc-9654, 2x-xeon-8375c, graviton3, 4x-grace; here: this machine
    #[arg(long, default_value = "here")]
    machine: String,
    /// One line for OPERATION BYTES: operation, bytes, microseconds for a call, lines that cross each kind of border
    #[arg(long, num_args = 2, value_names = ["OPERATION", "BYTES"])]
    plain: Option<Vec<String>>,
    /// Compare the model of this machine with a run on it
    #[arg(long)]
    check: bool,
    /// Collectives [default: all of barrier, bcast, reduce, allreduce, allgather, gather, scatter, alltoall]
    operations: Vec<String>,
    /// A program of one's own, with its arguments, in place of the collectives. For each place between two calls of MPI_Pcontrol it is told what the
    /// last passage took
    #[arg(last = true)]
    program: Vec<String>,
}

/// A machine, and what runs on it.
struct Stage<'a> {
    name: &'a str,
    machine: Machine,
    ranks: usize,
    places: &'a Places,
    output: PathBuf,
    /// What the library gets for its choices, beside the environment.
    variables: Vec<(String, String)>,
    verbose: bool,
}

impl Stage<'_> {
    /// Runs a program in virtual time.
    fn run(&self, program: &[String]) -> Result<Outcome, String> {
        let job = Job {
            machine: &self.machine,
            ranks: self.ranks,
            tern: &self.places.tern,
            folder: &self.output,
            variables: &self.variables,
        };
        let outcome = job.run(program)?;
        if self.verbose {
            eprintln!("the server was asked {} times", outcome.run.asked);
        }
        if outcome.run.naps > 0 {
            eprintln!(
                "note: all ranks waited for each other {} times; times after that are too long",
                outcome.run.naps
            );
        }
        Ok(outcome)
    }

    /// Compiles the program of the collectives.
    fn compile(&self) -> Result<String, String> {
        let (source, file) = (self.places.source.join("model/collectives.c"), self.output.join("collectives"));
        let compiler = self.places.tern.join("bin/mpicc");
        let done = Command::new(&compiler).args(["-O2", "-o"]).arg(&file).arg(&source).output();
        let done = done.map_err(|error| format!("{}: {error}", compiler.display()))?;
        match done.status.success() {
            true => Ok(file.to_string_lossy().into_owned()),
            false => Err(format!("{}: {}", source.display(), String::from_utf8_lossy(&done.stderr))),
        }
    }

    /// The cells of one operation, in one run.
    fn measure(&self, program: &str, cells: &[Cell]) -> Result<Vec<cells::Figure>, String> {
        let words: Vec<String> = [program.to_string()].into_iter().chain(cells.iter().map(Cell::word)).collect();
        cells::figures(cells, &self.run(&words)?.run.marks)
    }
}

/// What `tern-bench model` does.
pub fn measure(options: &Options, places: &Places, words: &Words) -> Result<(), String> {
    let output = places.output.join("model");
    fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    job::library(&places.tern)?;
    let machine = match words.machine.as_str() {
        "here" => {
            let text = here::text()?;
            if options.verbose || words.check {
                print!("# here:\n{text}");
            }
            Machine::parse(&text)?
        }
        name => Machine::named(name)?,
    };
    let ranks = options.ranks.first().copied().unwrap_or(machine.size());
    // Jobs on this machine know what copies cost here, and so do those in its model.
    let variables = if words.machine == "here" { here::costs(&places.tern) } else { Vec::new() };
    let stage = Stage { name: &words.machine, machine, ranks, places, output, variables, verbose: options.verbose };
    if !words.program.is_empty() {
        let outcome = stage.run(&words.program)?;
        print!("{}", outcome.output);
        cells::between(&outcome.run.marks).iter().for_each(|line| println!("{line}"));
        return Ok(());
    }
    if let Some([operation, bytes]) = words.plain.as_deref() {
        let bytes = bytes.parse().map_err(|_| format!("{bytes} is no number of bytes"))?;
        let cell = Cell::new(cells::known(operation)?, bytes, ranks);
        let program = stage.compile()?;
        stage.measure(&program, &[cell])?.iter().for_each(|figure| println!("{}", figure.plain()));
        return Ok(());
    }
    let operations: Vec<&str> = match words.operations.as_slice() {
        [] => OPERATIONS.to_vec(),
        given => given.iter().map(|name| cells::known(name)).collect::<Result<_, _>>()?,
    };
    if words.check {
        return check::run(&stage, &operations, &options.sizes);
    }
    curves(&stage, &operations, &options.sizes)
}

/// Prints a line for each cell, and draws a plot of each operation.
fn curves(stage: &Stage, operations: &[&'static str], sizes: &[u64]) -> Result<(), String> {
    let program = stage.compile()?;
    println!(
        "# {}, {} ranks: operation, bytes, microseconds for a call, lines that cross each kind of border",
        stage.name, stage.ranks
    );
    let mut panels = Vec::new();
    for operation in operations {
        let (cells, left_out) = cells::of(operation, sizes, stage.ranks);
        let figures = stage.measure(&program, &cells)?;
        figures.iter().for_each(|figure| println!("{}", figure.plain()));
        if let Some(bytes) = left_out {
            println!(
                "# {operation} of {bytes} bytes and more is left out: its buffers take more than {} GiB",
                cells::MOST >> 30
            );
        }
        let points: Vec<_> = figures.iter().map(|figure| (figure.bytes.max(1) as f64, figure.microseconds)).collect();
        let curve = Curve { label: "Tern".into(), style: Style::Own, points };
        panels.push(Panel { heading: operation.to_string(), across: Across::Bytes, curves: vec![curve] });
    }
    plot(stage, &panels)
}

fn plot(stage: &Stage, panels: &[Panel]) -> Result<(), String> {
    let file: &Path = &stage.output.join(format!("{}-{}.svg", stage.name, stage.ranks));
    let title = format!("{} ranks on {}, in the model", stage.ranks, stage.name);
    draw(file, &title, "µs", Scale::Logarithmic, panels)?;
    println!("# plot: {}", file.display());
    Ok(())
}
