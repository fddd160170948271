//! Plots of what was measured.

use super::experiments::{EXPERIMENTS, Experiment, Plot};
use super::tables::saved;
use crate::chart::{Across, Curve, Panel, Scale, Style, draw};
use crate::figures::{Row, Summary};
use crate::session::Session;
use std::path::Path;

/// Nothing lower has a place on a logarithmic axis.
const LOWEST: f64 = 0.1;

fn panel(session: &Session, experiment: &Experiment, plot: &Plot, place: usize) -> Panel {
    let (title, benchmark, heading) = plot.panels[place];
    let least = if plot.scale == Scale::Logarithmic { LOWEST } else { f64::NEG_INFINITY };
    let mut curves = Vec::new();
    for (number, variant) in experiment.variants.iter().enumerate() {
        let style = if number == 0 { Style::Own } else { Style::Solid(number - 1) };
        let value = |row: &Row, summary: &dyn Fn(&str) -> Option<Summary>| match plot.saved {
            true => saved(experiment, variant.name, row, summary).filter(|_| number != 1),
            false => Some(summary(variant.name)?.median.max(least)),
        };
        let points = session.figures.points((title, benchmark), value);
        curves.push(Curve { label: variant.name.to_string(), style, points });
    }
    curves.retain(|curve| !curve.points.is_empty());
    let across = if benchmark.starts_with("peers") { Across::Peers } else { Across::Bytes };
    Panel { heading: heading.to_string(), across, curves }
}

/// Draws the plots for which there are figures.
pub fn write(session: &Session, folder: &Path) -> Result<(), String> {
    for experiment in EXPERIMENTS {
        for plot in experiment.plots {
            let panels = (0..plot.panels.len()).map(|place| panel(session, experiment, plot, place));
            let panels: Vec<Panel> = panels.filter(|panel| !panel.curves.is_empty()).collect();
            if !panels.is_empty() {
                draw(&folder.join(plot.file), plot.title, plot.unit, plot.scale, &panels)?;
            }
        }
    }
    Ok(())
}
