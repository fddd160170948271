//! tern-info: version, what this machine offers each mechanism of Tern and why not, and every
//! setting with its value, and every counter.

mod counters;
mod library;
mod machine;
mod mechanisms;
mod networks;
mod print;
mod settings;

use std::io::Write;
use std::path::Path;

use tern_node::Made;

const HELP: &str = "\
Says what Tern is, what this machine offers it, and how it is set.

  tern-info [parts]

Parts, all if none is given:
  version      version of Tern and of the library that programs would load
  machine      cores, caches, memory, limits
  mechanisms   what each way to move data or to wait needs, and whether it is there
  networks     cards, what libfabric reaches, TCP interfaces; which of them Tern would take between hosts, and why
  settings     every TERN_* setting: value, where it was set, meaning, default
  counters     what Tern counts, and the events that tools can be told of

  --save-topology DIR         copies what Tern reads of this machine's packages, NUMA nodes, caches and cores into a
                              folder, for TERN_TOPOLOGY=DIR on another machine
  --make-topology SHAPE DIR   makes up a machine: 2x1x6x8x2 are 2 packages of 1 NUMA node of 6 third-level caches of
                              8 cores of 2 hardware threads; packages that differ are joined by +; behind it, each
                              after a colon, l2=N (cores that share a second-level cache), no-l3, no-caches, no-numa,
                              offline=LIST
  --version                   the version alone
  --help                      this
";

/// The name of a part of the report, and its text.
type Part = (&'static str, fn() -> String);

/// The parts of the report, in order.
const PARTS: [Part; 6] = [
    ("version", library::report),
    ("machine", machine::report),
    ("mechanisms", mechanisms::report),
    ("networks", networks::report),
    ("settings", settings::report),
    ("counters", counters::report),
];

fn main() {
    let args: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let text = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version" | "-V"] => format!("tern-info (Tern) {}\n", env!("CARGO_PKG_VERSION")),
        ["--help" | "-h"] => HELP.to_owned(),
        [library::DESCRIBE] => describe_library(),
        ["--save-topology", folder] => {
            done(tern_node::save(Path::new(folder)).map_err(|why| format!("{folder}: {why}")))
        }
        ["--make-topology", shape, folder] => done(make(shape, Path::new(folder))),
        _ => match args.iter().find(|arg| PARTS.iter().all(|(name, _)| name != arg)) {
            Some(unknown) => {
                eprintln!("tern-info: {unknown} is none of {}; tern-info --help", names());
                std::process::exit(2);
            }
            None => report(&args),
        },
    };
    if std::io::stdout().write_all(text.as_bytes()).is_err() {
        std::process::exit(1);
    }
}

/// Nothing to print, or the end with a line for the user.
fn done(result: Result<(), String>) -> String {
    result.map_or_else(
        |why| {
            eprintln!("tern-info: {why}");
            std::process::exit(1)
        },
        |()| String::new(),
    )
}

fn make(shape: &str, folder: &Path) -> Result<(), String> {
    shape.parse::<Made>()?.write(folder).map_err(|why| format!("{}: {why}", folder.display()))
}

/// What this program asks itself for; exit code 1 says that there is no library.
fn describe_library() -> String {
    library::describe().unwrap_or_else(|why| {
        print!("{why}");
        std::process::exit(1)
    })
}

fn names() -> String {
    PARTS.map(|(name, _)| name).join(", ")
}

/// The parts that were asked for.
fn report(wanted: &[String]) -> String {
    let asked = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let parts: Vec<String> = PARTS.iter().filter(|(name, _)| asked(name)).map(|(_, part)| part()).collect();
    parts.join("\n")
}
