//! How far a series of measurements is, and how long the rest will take: a bar on a terminal, else a line for each job.

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

/// Progress through a number of jobs.
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// Of no jobs: it shows nothing.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Of `jobs` jobs, none of which has begun.
    pub fn of(jobs: usize) -> Self {
        let bar = ProgressBar::new(jobs as u64);
        let style = ProgressStyle::with_template("[{pos}/{len}] {bar:25} about {eta} left: {msg}");
        Self(Some(bar.with_style(style.expect("the template is right"))))
    }

    /// The next job begins: `what` is in it.
    pub fn begin(&self, what: String) {
        let Some(bar) = &self.0 else { return };
        if bar.is_hidden() {
            let place = format!("[{}/{}]", bar.position() + 1, bar.length().unwrap_or_default());
            match bar.position() {
                0 => eprintln!("{place} {what}"),
                _ => eprintln!("{place} {what} (about {} left)", HumanDuration(bar.eta())),
            }
        }
        bar.set_message(what);
        bar.tick();
    }

    /// The job that has begun is over.
    pub fn end(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }

    /// Prints a line to the standard error, above the bar.
    pub fn say(&self, line: &str) {
        match &self.0 {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    /// All is over.
    pub fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
