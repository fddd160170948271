//! The end of the job in case of errors.

use crate::forked;
use crate::runtime::installed;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// This process runs what the program has registered for its exit.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Says `text`, ends every process of the job, and this one with exit code `code`. Functions of atexit run first, and may call MPI: if one comes
/// here again, the process ends at once.
pub fn abort(code: i32, text: &str) -> ! {
    tell(code, text);
    exit(code)
}

/// Says `text` and ends this process with exit code `code`, without MPI_Finalize: whoever sees to that calls it lost. The others of the job go on.
pub fn abort_alone(code: i32, text: &str) -> ! {
    if forked::is_child() {
        forked::end(code, text);
    }
    stop_for_debugger(text);
    say(&format!("{text}; it ends alone"));
    // What is not 0 must not become 0, of which a system keeps the low 8 bits.
    exit(if code != 0 && code & 0xff == 0 { 1 } else { code })
}

fn exit(code: i32) -> ! {
    // Relaxed: the other call that matters is this thread's own.
    if ENDING.swap(true, Ordering::Relaxed) {
        tern_node::end_process(code);
    }
    std::process::exit(code)
}

/// One write, so that lines of several processes do not mix. Nobody is left to tell if it fails.
fn say(text: &str) {
    let rank = installed().map_or_else(String::new, |runtime| format!("[{}]", runtime.me));
    let _ = std::io::stderr().write_all(format!("tern{rank}: {text}\n").as_bytes());
}

/// [`abort`] in the middle of a call, where the core's state is borrowed: functions of atexit do not run.
pub fn abort_inside(code: i32, text: &str) -> ! {
    tell(code, text);
    tern_node::end_process(code)
}

/// Says `text`, and that the job ends with exit code `code`, to whoever ends it. The child of a fork ends here, alone.
fn tell(code: i32, text: &str) {
    if forked::is_child() {
        forked::end(code, text);
    }
    stop_for_debugger(text);
    let runtime = installed();
    let kept =
        runtime.is_some_and(|runtime| runtime.job.launch == tern_pmi::Launch::Foreign && runtime.job.control.is_some());
    match runtime.and_then(|runtime| runtime.control()) {
        Some(control) if kept => control.abort_kept(code, text),
        Some(control) => control.abort(code, text),
        None => say(text),
    }
    tern_pmi::foreign::abort(code);
}

/// Stops under a debugger, with the stack of the call that has failed, before anybody ends the job and the debugger with it. Does nothing without one.
fn stop_for_debugger(text: &str) {
    if !std::fs::read_to_string("/proc/self/status").is_ok_and(|status| is_traced(&status)) {
        return;
    }
    say(&format!("{text}\n  It stops here for the debugger, and the job ends when that lets it continue"));
    // The signal is ignored, which a debugger is told of all the same: only those that trace otherwise, such as strace, pass it on.
    // SAFETY: no code runs for the signal, and what was done with it before comes back.
    unsafe {
        let before = libc::signal(libc::SIGTRAP, libc::SIG_IGN);
        libc::raise(libc::SIGTRAP);
        libc::signal(libc::SIGTRAP, before);
    }
}

/// Whether a process of this `/proc/PID/status` has a tracer.
fn is_traced(status: &str) -> bool {
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|pid| pid.trim() != "0")
}

/// From now on a panic says where it happened and in which rank, before it ends the process.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let rank = installed().map(|runtime| runtime.me);
        let place = panic.location().map_or_else(|| "an unknown place".into(), |at| at.to_string());
        let text = defect(rank, &place, panic.payload_as_str().unwrap_or("no message"));
        let _ = std::io::stderr().write_all(text.as_bytes());
    }));
}

fn defect(rank: Option<u32>, place: &str, message: &str) -> String {
    let rank = rank.map_or_else(|| "this process".into(), |rank| format!("rank {rank}"));
    format!(
        "tern: internal error in {rank} at {place}: {message}\n\
         tern: this is a defect of Tern and ends the job; please report it with these lines\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracer_is_seen() {
        assert!(is_traced("Name:\tx\nTracerPid:\t4711\nUid:\t0\n"));
        assert!(!is_traced("Name:\tx\nTracerPid:\t0\nUid:\t0\n") && !is_traced(""));
    }

    #[test]
    fn a_defect_is_told_with_rank_and_place() {
        let text = defect(Some(3), "src/a.rs:7:1", "no such thing");
        assert!(text.starts_with("tern: internal error in rank 3 at src/a.rs:7:1: no such thing\n"));
        assert!(text.ends_with('\n') && text.contains("report"));
    }
}
