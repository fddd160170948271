//! Plots of what was measured.

use super::experiments::{EXPERIMENTS, Plot};
use crate::chart::{Across, Curve, Panel, draw};
use crate::plot::style;
use crate::session::Session;
use std::path::Path;

fn panel(session: &Session, plot: &Plot, (title, benchmark, heading): (&str, &str, &str)) -> Panel {
    let mut curves = Vec::new();
    for library in &session.libraries {
        let points = session.figures.points((title, benchmark), |row, summary| {
            let median = summary(&library.name)?.median;
            Some(if plot.bandwidth { row.size as f64 / median / 1e3 } else { median })
        });
        curves.push(Curve { label: library.label.clone(), style: style(&library.name), points });
    }
    curves.retain(|curve| !curve.points.is_empty());
    Panel { heading: heading.to_string(), across: Across::Bytes, curves }
}

fn panels(session: &Session, plot: &Plot) -> Vec<Panel> {
    let all = plot.panels.iter().map(|one| panel(session, plot, *one));
    all.filter(|panel| !panel.curves.is_empty()).collect()
}

pub fn has_figures(session: &Session, plot: &Plot) -> bool {
    !panels(session, plot).is_empty()
}

/// Draws the plots for which there are figures.
pub fn write(session: &Session, folder: &Path) -> Result<(), String> {
    for plot in EXPERIMENTS.iter().flat_map(|experiment| experiment.plots) {
        let panels = panels(session, plot);
        if !panels.is_empty() {
            draw(&folder.join(plot.file), plot.title, plot.unit, plot.scale, &panels)?;
        }
    }
    Ok(())
}
