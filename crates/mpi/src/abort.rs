//! The end of the job in case of errors.

use crate::runtime::installed;
use std::io::Write;

/// Says `text`, ends every process of the job, and this one with exit code `code`.
pub fn abort(code: i32, text: &str) -> ! {
    let control = installed().and_then(|runtime| runtime.job.control.as_ref());
    match control {
        Some(control) => control.abort(code, text),
        None => {
            // One write, so that lines of several processes do not mix. Nobody is left to tell if
            // it fails.
            let _ = std::io::stderr().write_all(format!("tern: {text}\n").as_bytes());
        }
    }
    std::process::exit(code)
}
