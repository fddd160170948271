//! tern-tune: measures thoroughly what it costs to move bytes on this machine, and shows it.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tern_policy::costs::{Costs, Curve, Mover, Placement, Promotion, Warmth};
use tern_policy::declaration::{self, Declaration, DeclaredFor};
use tern_policy::transfer::SingleCopy;
use tern_settings::Mechanism;
use tern_tune::{Between, Machine, compare, explain, shared_cache, store};

const HELP: &str = "\
Measures what it costs to move messages between the cores of this machine, and keeps the result for
later jobs. mpiexec does the same in a tenth of a second on a machine that it does not know; this
takes longer and is exact. Run it while the machine is quiet, on the cores of the jobs (taskset).

  tern-tune [options]

  --rounds N      measure N times and take medians [20]; a round takes about 3 seconds
  --output FILE   write to this file instead, for TERN_COSTS=FILE; read it where nothing is measured
  --show          measure nothing: show what is known, in the file of --output or of TERN_COSTS if there is one
  --explain       show also what Tern chooses for each size, and why; and from which size on one
                  copy is better than two, beside what rules by the sizes of the caches give.
                  It shows what is known, as --show does, and measures only with --rounds
  --version       version of Tern
  --help          this
";

/// How often to measure where nothing else is asked for.
const ROUNDS: u32 = 20;

/// What the command line asks for.
#[derive(Default)]
struct Options {
    rounds: Option<u32>,
    output: Option<PathBuf>,
    show: bool,
    explain: bool,
}

fn main() {
    let code = match options(std::env::args().skip(1)) {
        Ok(Some(options)) => match run(&options) {
            Ok(text) => print(&text),
            Err(why) => fail(&why, 1),
        },
        Ok(None) => 0,
        Err(why) => fail(&format!("{why}; tern-tune --help"), 2),
    };
    std::process::exit(code)
}

fn fail(why: &str, code: i32) -> i32 {
    eprintln!("tern-tune: {why}");
    code
}

fn print(text: &str) -> i32 {
    i32::from(std::io::stdout().write_all(text.as_bytes()).is_err())
}

/// `None` if the question was answered already.
fn options(mut args: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--rounds" => {
                let text = value()?;
                let rounds = text.parse().ok().filter(|rounds| (1..=10_000).contains(rounds));
                options.rounds = Some(rounds.ok_or(format!("--rounds {text}: not a number between 1 and 10000"))?);
            }
            "--output" => options.output = Some(value()?.into()),
            "--show" => options.show = true,
            "--explain" => options.explain = true,
            "--help" | "-h" => {
                print(HELP);
                return Ok(None);
            }
            "--version" | "-V" => {
                print(&format!("tern-tune (Tern) {}\n", env!("CARGO_PKG_VERSION")));
                return Ok(None);
            }
            _ => return Err(format!("{arg} is not known")),
        }
    }
    Ok(Some(options))
}

impl Options {
    /// How often to measure; `None` to show what is known.
    fn measures(&self) -> Option<u32> {
        let rounds = if self.explain { self.rounds } else { self.rounds.or(Some(ROUNDS)) };
        rounds.filter(|_| !self.show)
    }
}

/// What is to be printed.
fn run(options: &Options) -> Result<String, String> {
    let cores = tern_node::affinity();
    let machine = Machine::new(&cores);
    let mut text = format!("{machine}\n");
    let costs = match options.measures() {
        None => {
            let stored = store::directory().map(|directory| directory.join(machine.file()));
            show(options.output.as_deref(), tern_settings::COSTS.get(), stored, &mut text)?
        }
        Some(_) if tern_node::is_shown() => {
            return Err(
                "the machine that TERN_TOPOLOGY shows cannot be measured; --show and --explain are possible".into()
            );
        }
        Some(rounds) => measure(&machine, &cores, rounds, options.output.as_deref(), &mut text)?,
    };
    let costs = Rc::new(Costs { module: tern_region::module::is_there(), ..costs });
    let placements = tern_tune::placements(&cores);
    for &placement in &placements {
        table(&mut text, &costs, placement);
        if options.explain {
            let _ = write!(text, "\n{}", explain(&costs, &facts(placement)));
        }
    }
    if options.explain {
        let cache = shared_cache(&tern_node::topology::Machine::read().caches, &cores);
        text += &compare(&costs, &placements, cache, cores.len() as u64);
    }
    figures(&mut text, &costs, &placements);
    Ok(text)
}

/// What is known already: what `output` holds, else what `setting`, the value of TERN_COSTS, names, else what was measured on this machine
/// and is in `stored`.
fn show(output: Option<&Path>, setting: &str, stored: Option<PathBuf>, text: &mut String) -> Result<Costs, String> {
    let mut read = |file: &Path| {
        let _ = writeln!(text, "from {}", file.display());
        let costs = store::read(file)?;
        let _ = writeln!(text, "{}", costs.origin);
        Ok(costs)
    };
    match (output, setting, stored) {
        (Some(file), ..) => read(file),
        (None, "auto" | "", Some(file)) if file.exists() => read(&file),
        (None, "auto" | "", _) => {
            text.push_str("not measured yet; by default Tern reckons with these\n");
            Ok(Costs::default())
        }
        (None, "default", _) => {
            text.push_str("those that Tern brings along, as TERN_COSTS=default asks for\n");
            Ok(Costs::default())
        }
        (None, file, _) => read(Path::new(file)),
    }
}

fn measure(
    machine: &Machine, cores: &[usize], rounds: u32, file: Option<&Path>, text: &mut String,
) -> Result<Costs, String> {
    // Time enough for all that there is to measure.
    let budget = Duration::from_secs(3);
    let bar = bar(rounds);
    let found = store::measure(machine, cores, budget, rounds, || bar.inc(1))
        .map_err(|why| format!("nothing can be measured here: {why}"))?;
    bar.finish_and_clear();
    let _ = writeln!(text, "meanwhile {}", found.signs);
    for gap in &found.gaps {
        let _ = writeln!(text, "{gap}; that stays as by default");
    }
    let file = match file {
        Some(file) => {
            store::write(file, &found.costs).map_err(|error| format!("{}: {error}", file.display()))?;
            file.to_owned()
        }
        None if !store::is_lasting(&found.costs) => {
            let _ = writeln!(text, "not kept, since it must be measured again: {}", found.costs.origin);
            return Ok(found.costs);
        }
        None => store::keep_for(machine, &found.costs)?,
    };
    let _ = writeln!(text, "written to {}: {}", file.display(), found.costs.origin);
    Ok(found.costs)
}

/// The rounds that are over, and the time that the others will take; nothing where no person sees it. It has no thread of its own, since
/// measuring forks.
fn bar(rounds: u32) -> ProgressBar {
    let style = ProgressStyle::with_template("tern-tune: {bar:30} round {pos} of {len}, about {eta} left");
    let bar = ProgressBar::new(rounds.into()).with_style(style.expect("the template is right"));
    bar.tick();
    bar
}

/// Microseconds and GB/s by size and mover.
fn table(text: &mut String, costs: &Costs, placement: Placement) {
    let pace = costs.pace(placement);
    for (warmth, state) in [(Warmth::Warm, "in cache"), (Warmth::Cold, "off cache")] {
        let _ = write!(
            text,
            "\nCores that {}, {state}: microseconds (GB/s). A packet takes {:.2}.\n{:>8}",
            placement.describe(),
            pace.packet / 1e3,
            "size"
        );
        let hidden = |mover: Mover| mover == Mover::Eager || mover == Mover::Module && !costs.module;
        let movers = Mover::ALL.into_iter().filter(|mover| !hidden(*mover));
        for mover in movers.clone() {
            let _ = write!(text, "{:>16}", mover.name());
        }
        text.push('\n');
        for size in (8..=22).step_by(2).map(|log| 1u64 << log) {
            let _ = write!(text, "{size:>8}");
            for mover in movers.clone() {
                let _ = write!(text, "{:>16}", time_and_rate(pace.at(mover, warmth, size), size));
            }
            text.push('\n');
        }
    }
}

/// Microseconds for `size` bytes, and gigabytes in a second. What one packet of the messages that were timed takes is no part of a
/// mover's time, which may leave nothing of a short one: that has no rate.
fn time_and_rate(ns: f64, size: u64) -> String {
    if ns < 10.0 {
        return "<0.01".into();
    }
    format!("{:.2} ({:.1})", ns / 1e3, size as f64 / ns)
}

/// The figures that no table has.
fn figures(text: &mut String, costs: &Rc<Costs>, placements: &[Placement]) {
    let _ = write!(
        text,
        "\nMore for each piece of a message: {:.0} ns, {:.0} ns by the kernel\n\
         To wake a process: {:.1} us; to switch to one on the same core: {:.1} us\n\
         To look up a promoted buffer: {:.0} ns\n",
        costs.piece,
        costs.kernel_piece,
        costs.wake / 1e3,
        costs.switch / 1e3,
        costs.lookup
    );
    for (name, size) in [("64 KiB", 1usize << 16), ("1 MiB", 1 << 20)] {
        let _ = write!(
            text,
            "To share a private buffer of {name}: {:.0} us, pays after",
            costs.promote.at(size as u64) / 1e3
        );
        for &placement in placements {
            let promotion = Promotion::for_messages(costs, placement, true);
            let [soon, late] = Warmth::ALL.map(|warmth| match promotion.break_even(size, warmth) {
                Some(uses) => uses.to_string(),
                None => "no number of".to_owned(),
            });
            let _ =
                write!(text, "\n  {soon} uses in cache, {late} off cache, between cores that {}", placement.describe());
        }
        text.push('\n');
    }
    if costs.module {
        pins(text, costs, placements);
    }
}

/// What the kernel module takes beside its copies, and after how many uses of private memory it pays.
fn pins(text: &mut String, costs: &Rc<Costs>, placements: &[Placement]) {
    let declaration = Declaration::new(Mechanism::Auto, costs.clone());
    for (name, len) in [("4 KiB", 4usize << 10), ("64 KiB", 1 << 16), ("1 MiB", 1 << 20)] {
        let us = |curve: &Curve| curve.at(len as u64) / 1e3;
        let (pin, unpin, attach) = (us(&costs.pin), us(&costs.unpin), us(&costs.attach));
        let _ = write!(
            text,
            "To declare {name} to the kernel module: {pin:.1} us; to give that up {unpin:.1} us, to map it {attach:.1} us; pays after"
        );
        for &placement in placements {
            let of = declaration::Use { start: 0, len, placement, by_number: true, purpose: DeclaredFor::Transfer };
            let uses = declaration.break_even(&of).map_or("no number of".to_owned(), |uses| uses.to_string());
            let _ = write!(text, "\n  {uses} uses, between cores that {}", placement.describe());
        }
        text.push('\n');
    }
}

/// Two processes that may do anything.
fn facts(placement: Placement) -> Between {
    Between {
        placement,
        crowded: false,
        push: true,
        pull: true,
        eager_limit: tern_settings::EAGER_LIMIT.get().unwrap_or(64 << 10),
        publish_from: 1,
        asked: Mechanism::Auto,
        single_copy: SingleCopy::default(),
        members: tern_node::usable_cores() as u64,
        cores: tern_node::usable_cores() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(args: &[&str]) -> Option<u32> {
        options(args.iter().map(|arg| arg.to_string())).unwrap().unwrap().measures()
    }

    #[test]
    fn what_is_known_is_explained_without_measuring() {
        assert_eq!(measures(&[]), Some(ROUNDS));
        assert_eq!(measures(&["--explain"]), None);
        assert_eq!(measures(&["--explain", "--rounds", "3"]), Some(3), "it was asked for");
        assert_eq!(measures(&["--show", "--rounds", "3"]), None);
        assert_eq!(measures(&["--rounds", "3"]), Some(3));
    }

    #[test]
    fn what_is_shown_is_what_jobs_get() {
        let folder = std::env::temp_dir().join(format!("tern-tune-shown-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str| folder.join(name);
        let shown = |output: Option<PathBuf>, setting: &str| {
            let mut text = String::new();
            show(output.as_deref(), setting, Some(file("stored")), &mut text).map(|_| text)
        };
        assert!(shown(None, "auto").unwrap().starts_with("not measured yet"));
        assert!(shown(None, "default").unwrap().contains("TERN_COSTS=default"));
        store::write(&file("named"), &Costs::default()).unwrap();
        let named = file("named").display().to_string();
        assert!(shown(None, &named).unwrap().contains(&named));
        assert!(shown(Some(file("named")), "default").unwrap().contains(&named));
        let missing = file("missing").display().to_string();
        assert!(shown(None, &missing).unwrap_err().contains(&missing));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_too_short_to_be_measured_has_no_rate() {
        assert_eq!(time_and_rate(1.0, 1024), "<0.01");
        assert_eq!(time_and_rate(0.0, 256), "<0.01");
        assert_eq!(time_and_rate(100.0, 1024), "0.10 (10.2)");
    }
}
