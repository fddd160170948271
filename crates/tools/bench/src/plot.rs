//! Plots of `figures.json`: which figures stand in which plot.

use crate::chart::{Across, Curve, Panel, Scale, Style, draw};
use crate::document;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What a panel shows of the values of a benchmark.
#[derive(Clone, Copy, PartialEq)]
enum Quantity {
    /// The value as it is, microseconds.
    Time,
    /// Message size divided by time: GB/s.
    Bandwidth,
    /// The value as it is, GB/s.
    Rate,
    /// The value as it is, percent.
    Share,
}

/// One file: panels that share their axes and their legend.
struct Plot {
    file: &'static str,
    title: &'static str,
    quantity: Quantity,
    /// Benchmark and heading of each panel.
    panels: &'static [(&'static str, &'static str)],
}

const PING_PONG: &[(&str, &str)] = &[
    ("pingpong", "same buffers, in cache"),
    ("pingpong_off", "other buffers each time, off cache"),
    ("pingpong_alloc", "memory from MPI_Alloc_mem"),
];

const PLOTS: [Plot; 6] = [
    Plot { file: "latency.svg", title: "Ping-pong, half round trip", quantity: Quantity::Time, panels: PING_PONG },
    Plot { file: "bandwidth.svg", title: "Ping-pong, bandwidth", quantity: Quantity::Bandwidth, panels: PING_PONG },
    Plot {
        file: "exchange.svg",
        title: "Both ways at once, bandwidth of both",
        quantity: Quantity::Rate,
        panels: &[("sendrecv", "same buffers, in cache"), ("sendrecv_off", "other buffers each time, off cache")],
    },
    Plot {
        file: "overlap_recv.svg",
        title: "Share of its time that the receiver keeps for computing",
        quantity: Quantity::Share,
        panels: &[
            ("overlap_recv", "same buffers, in cache"),
            ("overlap_recv_off", "other buffers each time, off cache"),
            ("overlap_recv_alloc", "memory from MPI_Alloc_mem"),
        ],
    },
    Plot {
        file: "overlap_send.svg",
        title: "Share of its time that the sender keeps for computing",
        quantity: Quantity::Share,
        panels: &[("overlap_send", "same buffers, in cache"), ("overlap_send_alloc", "memory from MPI_Alloc_mem")],
    },
    Plot {
        file: "overlap_both.svg",
        title: "Share of their time that both keep, when both send, receive and compute",
        quantity: Quantity::Share,
        panels: &[
            ("overlap_both", "same buffers, in cache"),
            ("overlap_both_written", "buffer rewritten before each send and read after"),
            ("overlap_both_alloc", "memory from MPI_Alloc_mem"),
        ],
    },
];

/// The libraries of a document, as (name, label), in their order.
fn libraries(document: &Value) -> Vec<(&str, &str)> {
    let all = document["libraries"].as_array().into_iter().flatten();
    all.filter_map(|library| Some((library["name"].as_str()?, library["label"].as_str()?))).collect()
}

/// The points of one benchmark and library at two ranks, by ascending size. Sizes of zero have no
/// place on a logarithmic axis, and bad figures none at all.
fn points(document: &Value, benchmark: &str, library: &str, quantity: Quantity) -> Vec<(f64, f64)> {
    let point = |figure: &Value| {
        let good = figure["bad"] != true && figure["ranks"] == 2;
        let wanted = good && figure["benchmark"] == benchmark && figure["library"] == library;
        let (size, median) = (figure["size"].as_f64()?, figure["median"].as_f64()?);
        let value = match quantity {
            Quantity::Bandwidth => size / median / 1e3,
            _ => median,
        };
        (wanted && size > 0.0).then_some((size, value))
    };
    let figures = document["figures"].as_array().into_iter().flatten();
    let mut points: Vec<(f64, f64)> = figures.filter_map(point).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// Peers and Tern have solid lines; Tern with a mechanism forced, or another line, has a dashed one.
pub fn style(name: &str) -> Style {
    match name {
        "tern" => Style::Own,
        "mpich" => Style::Solid(0),
        "openmpi" => Style::Solid(1),
        "openmpi-ucx" => Style::Solid(2),
        "impi" => Style::Solid(3),
        _ => Style::Dashed,
    }
}

fn panels(document: &Value, plot: &Plot) -> Vec<Panel> {
    let panel = |(benchmark, heading): &(&str, &str)| {
        let curve = |(name, label): (&str, &str)| Curve {
            label: label.to_string(),
            style: style(name),
            points: points(document, benchmark, name, plot.quantity),
        };
        let curves = libraries(document).into_iter().map(curve);
        Panel {
            across: Across::Bytes,
            heading: heading.to_string(),
            curves: curves.filter(|curve| !curve.points.is_empty()).collect(),
        }
    };
    let all = plot.panels.iter().map(panel);
    all.filter(|panel| !panel.curves.is_empty()).collect()
}

/// Puts the report that an earlier run has left in the folder into a page, with the plots.
pub fn put(page: &Path, folder: &Path) -> Result<(), String> {
    let path = folder.join("report.md");
    let report = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    document::put(page, "all", &report, folder, PLOTS.iter().map(|plot| (plot.file, plot.file.to_owned())))
}

/// Draws the plots for which `figures.json` in `folder` has figures, beside it.
pub fn write(folder: &Path) -> Result<(), String> {
    let path = folder.join("figures.json");
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| told(&error))?;
    let document: Value = serde_json::from_str(&text).map_err(|error| told(&error))?;
    for plot in &PLOTS {
        let panels = panels(&document, plot);
        if panels.is_empty() {
            continue;
        }
        let (unit, scale) = match plot.quantity {
            Quantity::Time => ("us", Scale::Logarithmic),
            Quantity::Bandwidth | Quantity::Rate => ("GB/s", Scale::Logarithmic),
            Quantity::Share => ("%", Scale::Percent),
        };
        let file = folder.join(plot.file);
        draw(&file, plot.title, unit, scale, &panels)?;
        eprintln!("written: {}", file.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        let figure = |benchmark: &str, library: &str, size: u64, median: f64| json!({"benchmark": benchmark, "library": library, "size": size, "median": median, "ranks": 2});
        json!({
            "libraries": [{"name": "tern", "label": "Tern"}, {"name": "mpich", "label": "MPICH 5"}],
            "figures": [
                figure("pingpong", "tern", 65536, 4.0),
                figure("pingpong", "tern", 1024, 0.5),
                figure("pingpong", "tern", 0, 0.1),
                figure("pingpong", "mpich", 1024, 0.8),
                figure("overlap_recv", "mpich", 1024, -3.0),
                figure("overlap_recv", "mpich", 4096, 30.0),
            ],
        })
    }

    #[test]
    fn points_ascend_and_leave_out_size_zero() {
        let found = points(&document(), "pingpong", "tern", Quantity::Time);
        assert_eq!(found, [(1024.0, 0.5), (65536.0, 4.0)]);
    }

    #[test]
    fn bandwidth_is_size_by_time() {
        let found = points(&document(), "pingpong", "tern", Quantity::Bandwidth);
        assert_eq!(found, [(1024.0, 2.048), (65536.0, 16.384)]);
    }

    #[test]
    fn a_plot_is_drawn_for_what_was_measured_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("tern-bench-plot-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("figures.json"), document().to_string()).unwrap();
        write(&folder).unwrap();
        let latency = fs::read_to_string(folder.join("latency.svg")).unwrap();
        let there = |name: &str| folder.join(name).exists();
        let (share, exchange) = (there("overlap_recv.svg"), there("exchange.svg"));
        fs::remove_dir_all(&folder).unwrap();
        for word in ["<svg", "Tern", "MPICH 5", "64 KiB", "Ping-pong, half round trip"] {
            assert!(latency.contains(word), "{word}");
        }
        assert!(share && !exchange);
    }

    #[test]
    fn a_missing_file_is_told() {
        assert!(write(Path::new("/dev/null/none")).unwrap_err().contains("figures.json"));
    }
}
