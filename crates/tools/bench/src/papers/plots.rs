//! Plots in the axes of the papers.

use super::claims::{lines, saved};
use super::registry::{Plot, Shows};
use super::{Report, repeat};
use crate::bars::{self, Group};
use crate::chart::{self, Across, Curve, Panel, Style, draw as draw_chart};
use crate::figures::{Row, Summary};
use crate::plot::style;
use std::path::Path;

/// Nothing lower has a place on a logarithmic axis.
const LOWEST: f64 = 1e-3;

/// The file of an entry's plot.
pub fn file(report: &Report) -> String {
    format!("{}_{}_{}.svg", report.paper.name, report.entry.kind.name(), report.entry.number)
}

fn value(
    plot: &Plot, line: &str, row: &Row, summary: &dyn Fn(&str) -> Option<Summary>, first: Option<f64>,
) -> Option<f64> {
    let median = summary(line)?.median;
    match plot.shows {
        Shows::Values if plot.scale == chart::Scale::Logarithmic => Some(median.max(LOWEST)),
        Shows::Values | Shows::Bars => Some(median),
        Shows::Throughput => Some(row.size as f64 / median),
        Shows::Saved(against) => {
            let other = summary(against)?.median;
            (line != against).then(|| saved(median, other, row.higher_is_better()))
        }
        Shows::Times(_) => first.map(|first| median / first),
    }
}

fn curve(report: &Report, plot: &Plot, line: &str, (title, benchmark): (&str, &str)) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (_, kept) in &report.kept {
        let firsts = match plot.shows {
            Shows::Times(of) => kept.figures.points((of, benchmark), |_, summary| Some(summary(line)?.median)),
            _ => Vec::new(),
        };
        points.extend(kept.figures.points((title, benchmark), |row, summary| {
            let first = firsts.iter().find(|(size, _)| *size == row.size as f64).map(|(_, value)| *value);
            value(plot, line, row, &summary, first)
        }));
    }
    points
}

fn panels(report: &Report, plot: &Plot, peers: &[String]) -> Vec<Panel> {
    let mut panels = Vec::new();
    for (title, benchmark, heading) in plot.panels {
        let mut curves: Vec<Curve> = Vec::new();
        for (experiment, kept) in &report.kept {
            for line in lines(experiment, peers) {
                let points = curve(report, plot, &line, (title, benchmark));
                let label = kept.labels.get(&line).cloned().unwrap_or_else(|| line.clone());
                let known = curves.iter().any(|curve| curve.label == label);
                if !points.is_empty() && !known {
                    curves.push(Curve { label, style: style_of(&line, curves.len()), points });
                }
            }
        }
        if !curves.is_empty() {
            panels.push(Panel { heading: (*heading).to_string(), across: Across::Bytes, curves });
        }
    }
    panels
}

/// Tern as it comes is thick, and so is the first line where it is not there.
fn style_of(line: &str, place: usize) -> Style {
    match style(line) {
        Style::Dashed if place == 0 => Style::Own,
        known => known,
    }
}

/// The bars of the panels: the value of each line in the first of the rows.
fn groups(report: &Report, plot: &Plot, peers: &[String]) -> Vec<Group> {
    let mut groups = Vec::new();
    for (title, benchmark, heading) in plot.panels {
        let mut bars: Vec<(String, Style, f64)> = Vec::new();
        for (experiment, kept) in &report.kept {
            let of_panel = |row: &Row| row.title == *title && row.benchmark == *benchmark;
            for (_, summary) in kept.figures.rows().filter(|(row, _)| of_panel(row)).take(1) {
                for line in lines(experiment, peers) {
                    let label = kept.labels.get(&line).cloned().unwrap_or_else(|| line.clone());
                    let style = style_of(&line, bars.len());
                    bars.extend(summary(&line).filter(|summary| !summary.bad).map(|one| (label, style, one.median)));
                }
            }
        }
        if !bars.is_empty() {
            groups.push(Group { label: (*heading).to_string(), bars });
        }
    }
    groups
}

/// Whether there is something to draw.
pub fn has_figures(report: &Report, peers: &[String]) -> bool {
    let plot = repeat(report.entry).and_then(|repeat| repeat.plot.as_ref());
    plot.is_some_and(|plot| match plot.shows {
        Shows::Bars => !groups(report, plot, peers).is_empty(),
        _ => !panels(report, plot, peers).is_empty(),
    })
}

/// Draws the plot of an entry, if it has one and its figures are there.
pub fn draw(report: &Report, peers: &[String], folder: &Path) -> Result<(), String> {
    let Some(plot) = repeat(report.entry).and_then(|repeat| repeat.plot.as_ref()) else { return Ok(()) };
    if !has_figures(report, peers) {
        return Ok(());
    }
    let title = format!("{}, {}", report.paper.name, report.entry.title());
    if plot.shows == Shows::Bars {
        return bars::draw(&folder.join(file(report)), &title, plot.unit, &groups(report, plot, peers));
    }
    let panels = panels(report, plot, peers);
    draw_chart(&folder.join(file(report)), &title, plot.unit, plot.scale, &panels)
}
