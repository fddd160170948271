//! Plots of what was measured.

use super::experiments::EXPERIMENTS;
use crate::chart::{Curve, Panel, Scale, Style, draw};
use crate::session::Session;
use std::path::Path;

struct Plot {
    file: &'static str,
    title: &'static str,
    unit: &'static str,
    scale: Scale,
    /// Title of the figures, benchmark, heading.
    panels: &'static [(&'static str, &'static str, &'static str)],
}

const PLOTS: [Plot; 7] = [
    Plot {
        file: "headers.svg",
        title: "Ping-pong with and without header caching",
        unit: "us",
        scale: Scale::Logarithmic,
        panels: &[("Header caching, ping-pong", "pingpong", "half round trip")],
    },
    Plot {
        file: "packets.svg",
        title: "Ping-pong with buffers of 2 KiB",
        unit: "us",
        scale: Scale::Logarithmic,
        panels: &[("Small communication buffers, ping-pong", "pingpong", "half round trip")],
    },
    Plot {
        file: "frequent.svg",
        title: "Frequently used eager buffers",
        unit: "us",
        scale: Scale::Logarithmic,
        panels: &[
            ("Frequent buffers, ping-pong", "pingpong_nonblocking", "ping-pong, half round trip"),
            ("Frequent buffers, collectives", "bcast", "broadcast"),
            ("Frequent buffers, collectives", "scatter", "scatter"),
        ],
    },
    Plot {
        file: "reuse.svg",
        title: "Time of a send, by how often buffers are used again",
        unit: "us",
        scale: Scale::Logarithmic,
        panels: &[
            ("Frequent buffers, spectrum of use", "spectrum_send", "spectrum"),
            ("Frequent buffers, conjugate gradients", "gradient_send", "conjugate gradients"),
            ("Frequent buffers, wavefront", "wavefront_send", "wavefront"),
        ],
    },
    Plot {
        file: "overlap.svg",
        title: "Share of its time that a process keeps for computing",
        unit: "%",
        scale: Scale::Percent,
        panels: &[
            ("Overlap of the receiver", "overlap_recv", "receiver"),
            ("Overlap of the sender", "overlap_send", "sender"),
        ],
    },
    Plot {
        file: "solver.svg",
        title: "Alternating-direction solver",
        unit: "us a step",
        scale: Scale::Logarithmic,
        panels: &[("Alternating-direction solver", "solver", "4 ranks")],
    },
    Plot {
        file: "peers.svg",
        title: "Memory of a process, KiB, by the number of peers that it has met",
        unit: "KiB",
        scale: Scale::Logarithmic,
        panels: &[("What a peer costs", "peers_memory", "measured")],
    },
];

fn panel(session: &Session, (title, benchmark, heading): (&str, &str, &str)) -> Panel {
    let names = EXPERIMENTS
        .iter()
        .find(|experiment| experiment.titles().any(|known| known == title))
        .map_or(&[][..], |experiment| experiment.variants);
    let curve = |(place, name): (usize, &str)| {
        let point = |(row, summary): (&crate::figures::Row, _)| {
            let summary: &dyn Fn(&str) -> Option<crate::figures::Summary> = &summary;
            (row.title == title && row.benchmark == benchmark && row.size > 0)
                .then(|| summary(name).map(|it| (row.size as f64, it.median)))
                .flatten()
        };
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (row, summary) in session.figures.rows() {
            points.extend(point((row, summary)));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let style = if place == 0 { Style::Own } else { Style::Solid(place - 1) };
        Curve { label: name.to_string(), style, points }
    };
    let curves = names.iter().map(|variant| variant.name).enumerate().map(curve);
    Panel { heading: heading.to_string(), curves: curves.filter(|curve| !curve.points.is_empty()).collect() }
}

/// Draws the plots for which there are figures.
pub fn write(session: &Session, folder: &Path) -> Result<(), String> {
    for plot in &PLOTS {
        let panels: Vec<Panel> = plot.panels.iter().map(|what| panel(session, *what)).collect();
        let panels: Vec<Panel> = panels.into_iter().filter(|panel| !panel.curves.is_empty()).collect();
        if !panels.is_empty() {
            draw(&folder.join(plot.file), plot.title, plot.unit, plot.scale, &panels)?;
        }
    }
    Ok(())
}
