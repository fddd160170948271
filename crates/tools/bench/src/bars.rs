//! Bars in groups, with one legend, as SVG: figures that no size tells apart.

use crate::chart::{Style, colour, draw_legend, others, text, told};
use plotters::prelude::*;
use std::path::Path;

/// Bars that stand side by side, under one label.
pub struct Group {
    pub label: String,
    /// Label of the legend, style, and value.
    pub bars: Vec<(String, Style, f64)>,
}

const GROUP: u32 = 190;
const HEIGHT: u32 = 400;
const LEGEND: u32 = 190;
const TITLE: u32 = 44;
/// What a group leaves free at either side, of a width of 1.
const FREE: f64 = 0.15;

/// All labels of the groups in order, each once, with style and colour.
fn legend(groups: &[Group]) -> Vec<(String, Style, RGBColor)> {
    let mut colours = others();
    let mut entries: Vec<(String, Style, RGBColor)> = Vec::new();
    for (label, style, _) in groups.iter().flat_map(|group| &group.bars) {
        if !entries.iter().any(|(known, ..)| known == label) {
            entries.push((label.clone(), *style, colour(*style, &mut colours)));
        }
    }
    entries
}

/// Draws groups of bars into an SVG file.
///
/// Errors: there is no group, or the file cannot be written.
pub fn draw(file: &Path, title: &str, unit: &str, groups: &[Group]) -> Result<(), String> {
    let entries = legend(groups);
    let most = groups.iter().flat_map(|group| &group.bars).map(|bar| bar.2).fold(0.0, f64::max);
    if groups.is_empty() || most <= 0.0 {
        return Err(format!("{}: nothing to draw", file.display()));
    }
    let width = GROUP * groups.len() as u32 + 80 + LEGEND;
    let root = SVGBackend::new(file, (width, HEIGHT + TITLE)).into_drawing_area();
    root.fill(&WHITE).map_err(told)?;
    let (head, body) = root.split_vertically(TITLE);
    head.draw_text(title, &text(20), (12, 14)).map_err(told)?;
    let (diagram, side) = body.split_horizontally(width - LEGEND);
    let mut builder = ChartBuilder::on(&diagram);
    builder.margin(8).x_label_area_size(34).y_label_area_size(64);
    let mut chart = builder.build_cartesian_2d(0.0..groups.len() as f64, 0.0..most * 1.1).map_err(told)?;
    let mut mesh = chart.configure_mesh();
    let axes = mesh.disable_x_mesh().disable_x_axis().y_desc(unit).label_style(text(12)).axis_desc_style(text(13));
    axes.bold_line_style(BLACK.mix(0.18)).light_line_style(BLACK.mix(0.06)).draw().map_err(told)?;
    for (place, group) in groups.iter().enumerate() {
        let wide = (1.0 - 2.0 * FREE) / group.bars.len() as f64;
        for (number, (label, _, value)) in group.bars.iter().enumerate() {
            let from = place as f64 + FREE + wide * number as f64;
            let colour = entries.iter().find(|(known, ..)| known == label).map_or(BLACK, |(.., colour)| *colour);
            let bar = Rectangle::new([(from, 0.0), (from + wide * 0.9, *value)], colour.filled());
            chart.draw_series([bar]).map_err(told)?;
        }
        let at = 80 + GROUP as i32 * place as i32 + 10;
        diagram.draw_text(&group.label, &text(12), (at, HEIGHT as i32 - 30)).map_err(told)?;
    }
    draw_legend(&side, &entries)?;
    root.present().map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_for_each_value_and_a_label_for_each_group() {
        let file = std::env::temp_dir().join(format!("tern-bench-bars-{}.svg", std::process::id()));
        let bars = |value| vec![("one".to_string(), Style::Own, value), ("two".to_string(), Style::Dashed, 1.0)];
        let groups = ["cg", "mg"].map(|label| Group { label: label.to_string(), bars: bars(2.0) });
        let drawn = draw(&file, "programs", "s", &groups);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let _ = std::fs::remove_file(&file);
        drawn.expect("a file");
        for word in ["cg", "mg", "one", "two", "programs"] {
            assert!(text.contains(&format!("\n{word}\n")), "{word}");
        }
        assert!(draw(&file, "nothing", "s", &[]).is_err());
    }
}
