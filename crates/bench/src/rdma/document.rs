//! Puts the report into a page that has a place for it.

use super::experiments::EXPERIMENTS;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- written by tern-bench rdma, from here -->";
const END: &str = "<!-- written by tern-bench rdma, to here -->";

/// Replaces what stands between the two lines in the page by the report, and copies the plots from `output` to the folder `plots`
/// beside the page. `report` is given what stands before the names of the plots' files.
pub fn put(page: &Path, output: &Path, report: impl FnOnce(&str) -> String) -> Result<(), String> {
    let told = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let old = fs::read_to_string(page).map_err(|error| told(page, &error))?;
    let new = replace(&old, &report("plots/rdma_")).ok_or_else(|| {
        told(page, &format!("there is no place for the report, between the lines `{BEGIN}` and `{END}`"))
    })?;
    let plots = page.parent().unwrap_or(Path::new("")).join("plots");
    fs::create_dir_all(&plots).map_err(|error| told(&plots, &error))?;
    for plot in EXPERIMENTS.iter().flat_map(|experiment| experiment.plots) {
        let from = output.join(plot.file);
        if from.exists() {
            let to = plots.join(format!("rdma_{}", plot.file));
            fs::copy(&from, &to).map_err(|error| told(&to, &error))?;
        }
    }
    fs::write(page, new).map_err(|error| told(page, &error))
}

/// `None`: the lines are not there.
fn replace(page: &str, report: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", report.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_takes_the_place_of_the_last_one() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let once = replace(&page, "new\n").unwrap();
        assert_eq!(once, format!("a\n{BEGIN}\n\nnew\n\n{END}\nb\n"));
        assert_eq!(replace(&once, "new\n").unwrap(), once);
        assert_eq!(replace("a\nb\n", "new"), None);
    }
}
