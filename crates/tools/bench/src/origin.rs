//! Where figures come from: the commit of what was measured, and the day.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// What figures are of: the library, which is all crates but the tools.
const MEASURED: [&str; 2] = ["crates", ":!crates/tools"];

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(words).arg("--").args(MEASURED).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// The last commit that changed what is measured; `unknown` outside a repository.
pub fn commit(root: &Path) -> String {
    git(root, &["log", "-1", "--format=%h"]).unwrap_or_else(|| "unknown".to_string())
}

/// How many commits have changed what is measured since that one. `None` where this history does not have it.
pub fn later(root: &Path, commit: &str) -> Option<u64> {
    git(root, &["rev-list", "--count", &format!("{commit}..HEAD")])?.parse().ok()
}

/// Today, as `2026-11-30`, in Greenwich.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    day(seconds / 86400)
}

/// The date of a day since 1970-01-01. Years begin in March here, so that a leap day is the last of a year.
fn day(since: u64) -> String {
    let days = since + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let dates = [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_787, "2026-11-30")];
        for (since, date) in dates {
            assert_eq!(day(since), date);
        }
    }

    #[test]
    fn a_commit_of_another_history_has_no_age() {
        assert_eq!(later(Path::new("."), "not-a-commit"), None);
        assert_eq!(commit(Path::new("/")), "unknown");
    }
}
