//! Curves against message size, in panels side by side with one legend, as SVG.

use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;
use std::ops::Range;
use std::path::Path;

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Style {
    /// Tern's own: thick.
    Own,
    /// A peer, with its colour by number.
    Solid(usize),
    /// Another line, with the next colour that is free.
    Dashed,
}

/// One line of a legend, and its points (bytes, value).
pub struct Curve {
    pub label: String,
    pub style: Style,
    pub points: Vec<(f64, f64)>,
}

/// What the horizontal axis counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Across {
    Bytes,
    Peers,
    Ranks,
}

/// One diagram.
pub struct Panel {
    pub heading: String,
    pub across: Across,
    pub curves: Vec<Curve>,
}

/// The vertical axis.
#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    Logarithmic,
    /// Up to 100, and from LOWEST or what is above it; what is below is drawn at the edge.
    Percent,
    /// The same, but up to what is needed.
    Difference,
}

const LOWEST: f64 = -50.0;
const OWN: RGBColor = RGBColor(200, 20, 30);
const PEERS: [RGBColor; 4] =
    [RGBColor(31, 100, 180), RGBColor(40, 140, 50), RGBColor(20, 170, 190), RGBColor(240, 140, 20)];
const OTHERS: [RGBColor; 6] = [
    RGBColor(120, 70, 60),
    RGBColor(220, 90, 180),
    RGBColor(110, 110, 110),
    RGBColor(160, 160, 20),
    RGBColor(110, 60, 180),
    RGBColor(250, 110, 110),
];

const PANEL: (u32, u32) = (460, 400);
const LEGEND: u32 = 190;
const TITLE: u32 = 44;

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The colour of a style; another one of `others` for each that is dashed.
pub fn colour(style: Style, others: &mut impl Iterator<Item = RGBColor>) -> RGBColor {
    match style {
        Style::Own => OWN,
        Style::Solid(number) => PEERS[number % PEERS.len()],
        Style::Dashed => others.next().unwrap_or(BLACK),
    }
}

/// The colours of lines that are neither Tern's own nor a peer's, over and over.
pub fn others() -> impl Iterator<Item = RGBColor> {
    OTHERS.into_iter().cycle()
}

/// All labels of the panels in order, each once, with style and colour.
fn legend(panels: &[Panel]) -> Vec<(String, Style, RGBColor)> {
    let mut others = others();
    let mut entries: Vec<(String, Style, RGBColor)> = Vec::new();
    for curve in panels.iter().flat_map(|panel| &panel.curves) {
        if !entries.iter().any(|(label, ..)| *label == curve.label) {
            let colour = colour(curve.style, &mut others);
            entries.push((curve.label.clone(), curve.style, colour));
        }
    }
    entries
}

/// Least and greatest of the points' coordinates, over all panels.
fn extent(panels: &[Panel], of: impl Fn(&(f64, f64)) -> f64) -> Range<f64> {
    let points = panels.iter().flat_map(|p| &p.curves).flat_map(|c| &c.points);
    let start = f64::INFINITY..f64::NEG_INFINITY;
    points.map(of).fold(start, |range, value| range.start.min(value)..range.end.max(value))
}

/// Message sizes as people write them.
fn bytes(size: &f64) -> String {
    match size.round() as u64 {
        size if size >= 1 << 20 => format!("{} MiB", size >> 20),
        size if size >= 1 << 10 => format!("{} KiB", size >> 10),
        size => format!("{size} B"),
    }
}

/// The style of a text of this size.
pub fn text(size: u32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&BLACK)
}

/// Anything that can go wrong while drawing, as a message.
pub fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Draws the curves of a panel whose axes are there already. `place` brings a value into the range.
fn curves<Y>(
    chart: &mut ChartContext<SVGBackend, Cartesian2d<LogCoord<f64>, Y>>, panel: &Panel,
    entries: &[(String, Style, RGBColor)], place: impl Fn(f64) -> f64,
) -> Result<(), String>
where
    Y: Ranged<ValueType = f64>,
{
    // Tern's own comes last, on top of the others.
    let mut ordered: Vec<&Curve> = panel.curves.iter().collect();
    ordered.sort_by_key(|curve| curve.style == Style::Own);
    for curve in ordered {
        let known = entries.iter().find(|(label, ..)| *label == curve.label);
        let colour = known.map_or(BLACK, |(.., colour)| *colour);
        let points: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.0, place(p.1))).collect();
        let width = if curve.style == Style::Own { 4 } else { 2 };
        let line = colour.stroke_width(width);
        let path = points.iter().copied();
        match curve.style {
            Style::Dashed => chart.draw_series(DashedLineSeries::new(path, 6, 4, line)).map_err(told)?,
            _ => chart.draw_series(LineSeries::new(path, line)).map_err(told)?,
        };
        let dots = points.into_iter().map(|at| Circle::new(at, 1 + width, colour.filled()));
        chart.draw_series(dots).map_err(told)?;
    }
    Ok(())
}

fn panel(
    area: &Area, one: &Panel, unit: &str, scale: Scale, [x, y]: [Range<f64>; 2], entries: &[(String, Style, RGBColor)],
) -> Result<(), String> {
    let mut builder = ChartBuilder::on(area);
    builder.caption(&one.heading, text(15)).margin(8).margin_right(20).x_label_area_size(34).y_label_area_size(54);
    let x = x.log_scale().base(if one.across == Across::Ranks { 2.0 } else { 4.0 });
    match scale {
        Scale::Logarithmic => {
            let mut chart = builder.build_cartesian_2d(x, y.log_scale()).map_err(told)?;
            let label = |value: &f64| format!("{value}");
            mesh(&mut chart, unit, one.across, &label)?;
            curves(&mut chart, one, entries, |value| value)
        }
        Scale::Percent | Scale::Difference => {
            let low = y.start;
            let mut chart = builder.build_cartesian_2d(x, y).map_err(told)?;
            mesh(&mut chart, unit, one.across, &|value: &f64| format!("{value:.0}"))?;
            curves(&mut chart, one, entries, |value| value.max(low))
        }
    }
}

fn mesh<Y>(
    chart: &mut ChartContext<SVGBackend, Cartesian2d<LogCoord<f64>, Y>>, unit: &str, across: Across,
    label: &dyn Fn(&f64) -> String,
) -> Result<(), String>
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let across: &dyn Fn(&f64) -> String = match across {
        Across::Bytes => &bytes,
        Across::Peers => &|count| format!("{count:.0} peers"),
        Across::Ranks => &|count| format!("{count:.0} ranks"),
    };
    let mut mesh = chart.configure_mesh();
    mesh.x_labels(8)
        .max_light_lines(4)
        .x_label_formatter(across)
        .y_label_formatter(label)
        .y_desc(unit)
        .label_style(text(12))
        .axis_desc_style(text(13))
        .bold_line_style(BLACK.mix(0.18))
        .light_line_style(BLACK.mix(0.06));
    mesh.draw().map_err(told)
}

/// Draws labels with their lines and colours.
pub fn draw_legend(area: &Area, entries: &[(String, Style, RGBColor)]) -> Result<(), String> {
    for (row, (label, style, colour)) in entries.iter().enumerate() {
        let y = 30 + 22 * row as i32;
        let width = if *style == Style::Own { 4 } else { 2 };
        let line = colour.stroke_width(width);
        let pieces: &[(i32, i32)] = match style {
            Style::Dashed => &[(4, 10), (14, 20), (24, 30)],
            _ => &[(4, 30)],
        };
        for &(from, to) in pieces {
            let piece = PathElement::new(vec![(from, y), (to, y)], line);
            area.draw(&piece).map_err(told)?;
        }
        let dot = Circle::new((17, y), 1 + width, colour.filled());
        area.draw(&dot).map_err(told)?;
        area.draw_text(label, &text(13), (38, y - 7)).map_err(told)?;
    }
    Ok(())
}

/// Most panels that stand side by side; more make further rows.
const SIDE_BY_SIDE: usize = 4;

/// Draws panels side by side, with axes of the same range, into an SVG file.
pub fn draw(file: &Path, title: &str, unit: &str, scale: Scale, panels: &[Panel]) -> Result<(), String> {
    let entries = legend(panels);
    let columns = panels.len().min(SIDE_BY_SIDE);
    let rows = panels.len().div_ceil(SIDE_BY_SIDE);
    let height = (PANEL.1 * rows as u32).max(40 + 22 * entries.len() as u32);
    let width = PANEL.0 * columns as u32 + LEGEND;
    let root = SVGBackend::new(file, (width, height + TITLE)).into_drawing_area();
    root.fill(&WHITE).map_err(told)?;
    let (head, body) = root.split_vertically(TITLE);
    head.draw_text(title, &text(20), (12, 14)).map_err(told)?;
    let (diagrams, side) = body.split_horizontally(width - LEGEND);
    let x = extent(panels, |point| point.0);
    let values = extent(panels, |point| point.1);
    let y = match scale {
        Scale::Logarithmic => values.start / 1.2..values.end * 1.2,
        Scale::Percent => values.start.clamp(LOWEST, 0.0)..100.0,
        Scale::Difference => values.start.clamp(LOWEST, 0.0)..values.end.max(10.0) * 1.1,
    };
    let x = x.start / 1.3..x.end * 1.3;
    for (area, one) in diagrams.split_evenly((rows, columns)).iter().zip(panels) {
        panel(area, one, unit, scale, [x.clone(), y.clone()], &entries)?;
    }
    draw_legend(&side, &entries)?;
    root.present().map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_people_do() {
        assert_eq!([8.0, 1024.0, 4194304.0].map(|size| bytes(&size)), ["8 B", "1 KiB", "4 MiB"]);
    }

    #[test]
    fn a_legend_has_each_label_once_and_colours_apart() {
        let curve = |label: &str, style| Curve { label: label.into(), style, points: Vec::new() };
        let panel = || Panel {
            heading: String::new(),
            across: Across::Bytes,
            curves: vec![curve("a", Style::Dashed), curve("b", Style::Dashed), curve("t", Style::Own)],
        };
        let entries = legend(&[panel(), panel()]);
        assert_eq!(entries.len(), 3);
        assert_ne!(entries[0].2, entries[1].2);
        assert_eq!(entries[2].2, OWN);
    }
}
