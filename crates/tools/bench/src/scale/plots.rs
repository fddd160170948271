//! Plots of the results: time over size for each number of ranks, and time over ranks for some sizes.

use super::results::{LineOf, Results};
use crate::chart::{Across, Curve, Panel, Scale, draw};
use crate::plot::style;
use crate::report::bytes;
use std::path::Path;

/// Sizes that have a plot over ranks, if they were measured.
const SIZES: [u64; 4] = [8, 1 << 10, 64 << 10, 1 << 20];

/// A plot that was drawn.
pub struct Plot {
    pub file: String,
    pub title: String,
}

/// A panel of one collective, with a curve for each line: points of (bytes or ranks, microseconds).
fn panel(results: &Results, heading: &str, across: Across, points: impl Fn(&str) -> Vec<(f64, f64)>) -> Panel {
    let curve =
        |line: &LineOf| Curve { label: line.label.clone(), style: style(&line.name), points: points(&line.name) };
    let curves = results.lines.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect();
    Panel { heading: heading.to_string(), across, curves }
}

/// Of each collective time over size.
fn over_size(results: &Results, ranks: usize) -> Vec<Panel> {
    let title = Results::title(ranks);
    let of = |operation: &String| {
        panel(results, operation, Across::Bytes, |line| {
            results.figures.points((&title, operation), |_, summary| Some(summary(line)?.median))
        })
    };
    results.operations().iter().map(of).filter(|panel| !panel.curves.is_empty()).collect()
}

/// Of each collective time over ranks; a barrier, which has no size, is with the first of them.
fn over_ranks(results: &Results, size: u64, with_barrier: bool) -> Vec<Panel> {
    let of = |operation: &String| {
        panel(results, operation, Across::Ranks, |line| {
            let wanted = |bytes: u64| bytes == size || (with_barrier && bytes == 0);
            let rows = results.figures.rows().filter(|(row, _)| row.benchmark == *operation && wanted(row.size));
            let mut points: Vec<(f64, f64)> = rows
                .filter_map(|(row, summary)| {
                    let summary = summary(line).filter(|summary| !summary.bad)?;
                    Some((row.ranks as f64, summary.median))
                })
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        })
    };
    results.operations().iter().map(of).filter(|panel| !panel.curves.is_empty()).collect()
}

/// The sizes of the plots over ranks: of [`SIZES`] those that were measured, or else the least and the greatest.
fn sizes(results: &Results) -> Vec<u64> {
    let mut measured: Vec<u64> = results.figures.rows().map(|(row, _)| row.size).filter(|size| *size > 0).collect();
    measured.sort_unstable();
    measured.dedup();
    let mut known = SIZES.to_vec();
    known.retain(|size| measured.contains(size));
    if known.is_empty() {
        known.extend(measured.first().into_iter().chain(measured.last()));
        known.dedup();
    }
    known
}

/// Draws all plots for which there are figures into the folder.
pub fn draw_all(results: &Results, folder: &Path) -> Result<Vec<Plot>, String> {
    let mut plots = Vec::new();
    let mut add = |file: String, title: String, panels: Vec<Panel>| {
        if panels.is_empty() {
            return Ok(());
        }
        draw(&folder.join(&file), &title, "us", Scale::Logarithmic, &panels)?;
        plots.push(Plot { file, title });
        Ok::<(), String>(())
    };
    for ranks in results.ranks() {
        let title = format!("Collectives of {ranks} ranks, {}", results.said("processor"));
        add(format!("ranks-{ranks}.svg"), title, over_size(results, ranks))?;
    }
    if results.ranks().len() > 1 {
        for (number, size) in sizes(results).into_iter().enumerate() {
            let (panels, size) = (over_ranks(results, size, number == 0), bytes(size));
            let title = format!("Collectives of {size} by ranks, {}", results.said("processor"));
            add(format!("size-{}.svg", size.replace(' ', "-")), title, panels)?;
        }
    }
    Ok(plots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::tests::{Folder, add, results};

    #[test]
    fn each_number_of_ranks_and_some_sizes_have_a_plot() {
        let folder = Folder::new("plots");
        let plots = draw_all(&results(), &folder.0).unwrap();
        let files: Vec<&str> = plots.iter().map(|plot| plot.file.as_str()).collect();
        assert_eq!(files, ["ranks-8.svg", "ranks-96.svg", "size-8-B.svg", "size-1-KiB.svg"]);
        let text = |file: &str| std::fs::read_to_string(folder.0.join(file)).unwrap();
        for word in ["barrier", "bcast", "Tern", "openmpi-xhc", "64 ranks"] {
            assert!(text("size-8-B.svg").contains(word), "{word}");
        }
        assert!(!text("size-1-KiB.svg").contains("\nbarrier\n"), "it stands in one of them");
        assert!(text("ranks-96.svg").contains("1 KiB"));
    }

    #[test]
    fn sizes_are_known_ones_or_the_ends() {
        let mut other = results();
        assert_eq!(sizes(&other), [8, 1 << 10]);
        other.figures = Default::default();
        for size in [24, 48, 96] {
            add(&mut other.figures, ("bcast", 2, size), "tern", &[1.0]);
        }
        assert_eq!(sizes(&other), [24, 96]);
    }

    #[test]
    fn disturbed_figures_are_not_drawn() {
        let mut results = results();
        let row = results.figures.rows().next().unwrap().0.clone();
        results.figures = Default::default();
        let sample = crate::figures::Sample { value: 1.0, placement: None, others: 0.9 };
        results.figures.add(row, "tern", sample);
        assert!(over_ranks(&results, 8, true).is_empty());
    }
}
