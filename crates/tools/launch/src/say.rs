//! Lines for the user.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set in processes that are no mpiexec to the user, who has started another launcher.
pub static UNNAMED: AtomicBool = AtomicBool::new(false);

/// One line to the standard error, in one write.
pub fn say(text: &str) {
    let name = if UNNAMED.load(Ordering::Relaxed) { "tern" } else { "mpiexec" };
    // Nobody can be told when the standard error itself fails.
    let _ = std::io::stderr().write_all(format!("{name}: {text}\n").as_bytes());
}
