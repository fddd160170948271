//! What each way to move data or to wait needs, tried out here and now.

mod memory;
mod network;
mod waiting;

use crate::print;

/// What a trial found.
pub enum Found {
    /// It works; with what there is to say of it.
    Yes(String),
    /// It does not; why, and what can be done.
    No(String),
}

/// The name of a mechanism, and how to try it.
type Trial = (&'static str, fn() -> Found);

/// The mechanisms, in the order in which they are printed.
const ALL: [Trial; 10] = [
    ("shared memory", memory::memfd),
    ("CMA", memory::cma),
    ("kernel module", memory::kernel_module),
    ("promotion", memory::promotion),
    ("huge pages", memory::huge_pages),
    ("futex", waiting::futex),
    ("membarrier", waiting::membarrier),
    ("pidfd", waiting::pidfd),
    ("verbs", network::verbs),
    ("locked memory", network::locked_memory),
];

/// Each mechanism with yes or no and why.
pub fn report() -> String {
    let mut text = print::heading("Mechanisms");
    for (name, trial) in ALL {
        let value = match trial() {
            Found::Yes(more) if more.is_empty() => "yes".to_owned(),
            Found::Yes(more) => format!("yes: {more}"),
            Found::No(why) => format!("no: {why}"),
        };
        text.push_str(&print::line(name, &value));
    }
    text
}

/// A small file without its last newline.
fn read(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}
