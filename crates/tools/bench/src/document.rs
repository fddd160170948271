//! Puts a report into a page that has a place for it.

use std::fs;
use std::path::Path;

/// The lines between which the report of `tern-bench name` stands.
fn place(name: &str) -> [String; 2] {
    ["from", "to"].map(|end| format!("<!-- written by tern-bench {name}, {end} here -->"))
}

/// Replaces what stands in the place of `name` in the page by the report, and copies the plots, those that are there, from `output` to the
/// folder `plots` beside the page: of each the file's name there and here.
pub fn put<'a>(
    page: &Path, name: &str, report: &str, output: &Path, plots: impl Iterator<Item = (&'a str, String)>,
) -> Result<(), String> {
    let told = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let old = fs::read_to_string(page).map_err(|error| told(page, &error))?;
    let [begin, end] = place(name);
    let new = replace(&old, name, report).ok_or_else(|| {
        told(page, &format!("there is no place for the report, between the lines `{begin}` and `{end}`"))
    })?;
    let folder = page.parent().unwrap_or(Path::new("")).join("plots");
    fs::create_dir_all(&folder).map_err(|error| told(&folder, &error))?;
    for (from, to) in plots {
        let (from, to) = (output.join(from), folder.join(to));
        if from.exists() {
            fs::copy(&from, &to).map_err(|error| told(&to, &error))?;
        }
    }
    fs::write(page, new).map_err(|error| told(page, &error))
}

/// `None`: the lines are not there.
fn replace(page: &str, name: &str, report: &str) -> Option<String> {
    let [begin, end] = place(name);
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n\n{}\n\n{end}{after}", report.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_takes_the_place_of_the_last_one() {
        let [begin, end] = place("all");
        let page = format!("a\n{begin}\nold\n{end}\nb\n");
        let once = replace(&page, "all", "new\n").unwrap();
        assert_eq!(once, format!("a\n{begin}\n\nnew\n\n{end}\nb\n"));
        assert_eq!(replace(&once, "all", "new\n").unwrap(), once);
        assert_eq!(replace(&page, "rdma", "new"), None);
    }
}
