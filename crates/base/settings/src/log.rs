//! Lines for the user on the standard error, by the level that TERN_LOG asks for.
//!
//! Each line is one write, so that lines of several processes do not mix.

use std::fmt::Arguments;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Level;

/// The rank in front of every line; `u32::MAX` while it is not known.
static RANK: AtomicU32 = AtomicU32::new(u32::MAX);

/// Puts the rank in MPI_COMM_WORLD in front of every later line.
pub fn set_rank(rank: u32) {
    RANK.store(rank, Ordering::Relaxed);
}

/// Whether this process speaks for its job where all would say the same: it is rank 0, or alone.
pub fn speaks_for_all() -> bool {
    matches!(RANK.load(Ordering::Relaxed), 0 | u32::MAX)
}

/// Whether lines of this level are asked for.
#[inline]
pub fn enabled(level: Level) -> bool {
    level <= crate::LOG.get()
}

/// Writes one line, whatever TERN_LOG says; use the macros instead.
pub fn line(level: Level, text: Arguments<'_>) {
    let word = match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info => "info",
        Level::Debug => "debug",
    };
    write(word, text);
}

/// Writes a note, whatever TERN_LOG says; use the macro instead.
pub fn note(text: Arguments<'_>) {
    write("note", text);
}

fn write(word: &str, text: Arguments<'_>) {
    let line = match RANK.load(Ordering::Relaxed) {
        u32::MAX => format!("tern: {word}: {text}\n"),
        rank => format!("tern[{rank}]: {word}: {text}\n"),
    };
    // Nobody can be told when the standard error itself fails.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Writes an error line, with the arguments of `format!`.
#[macro_export]
macro_rules! error {
    ($($arg:tt)*) => { $crate::log::line($crate::Level::Error, format_args!($($arg)*)) };
}

/// Writes a warning line, with the arguments of `format!`.
#[macro_export]
macro_rules! warn {
    ($($arg:tt)*) => {
        if $crate::log::enabled($crate::Level::Warn) {
            $crate::log::line($crate::Level::Warn, format_args!($($arg)*))
        }
    };
}

/// Writes a line about what the standard permits and advises against, with the arguments of `format!`; where warnings are asked for.
#[macro_export]
macro_rules! note {
    ($($arg:tt)*) => {
        if $crate::log::enabled($crate::Level::Warn) {
            $crate::log::note(format_args!($($arg)*))
        }
    };
}

/// Writes an info line, with the arguments of `format!`.
#[macro_export]
macro_rules! info {
    ($($arg:tt)*) => {
        if $crate::log::enabled($crate::Level::Info) {
            $crate::log::line($crate::Level::Info, format_args!($($arg)*))
        }
    };
}

/// Writes a debug line, with the arguments of `format!`.
#[macro_export]
macro_rules! debug {
    ($($arg:tt)*) => {
        if $crate::log::enabled($crate::Level::Debug) {
            $crate::log::line($crate::Level::Debug, format_args!($($arg)*))
        }
    };
}
