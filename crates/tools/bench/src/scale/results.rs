//! All figures of a run and what they are of, as one file has them.

use super::machine::Level;
use crate::figures::{Figures, Row, Sample, Summary};
use crate::kept::{problems, word, written};
use crate::placement::Placement;
use crate::session::Problem;
use serde_json::{Value, json};
use std::collections::HashMap;

/// What the file says that it is. A later form has another number.
const FORM: &str = "tern-bench scale 1";

/// A line of the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct LineOf {
    pub name: String,
    /// Heading of its column, with the version where it is known.
    pub label: String,
    /// Settings, as a user would write them.
    pub settings: String,
    pub is_tern: bool,
}

/// Figures with the machine that they are of.
#[derive(Default)]
pub struct Results {
    /// The machine, in names and words.
    pub about: Vec<(String, String)>,
    pub levels: Vec<Level>,
    pub lines: Vec<LineOf>,
    pub figures: Figures,
    pub problems: Vec<Problem>,
    /// Rounds of the figures that have fewest.
    pub rounds: usize,
    pub quick: bool,
    /// The last commit that changed the library.
    pub commit: String,
    /// Of Tern.
    pub version: String,
    /// The day of the last round.
    pub date: String,
}

/// A sample as numbers: value, share of others, and, where it was looked, the least and the most nanoseconds of a line from core to core, whether both
/// were one core, and what the host took.
fn numbers(sample: &Sample) -> Vec<f64> {
    let place = sample.placement.map(|p| [p.least_ns, p.most_ns, f64::from(u8::from(p.shared)), p.stolen]);
    [sample.value, sample.others].into_iter().chain(place.into_iter().flatten()).collect()
}

/// `None`: these are not the numbers of a sample.
fn sample(value: &Value) -> Option<Sample> {
    let numbers: Vec<f64> = value.as_array()?.iter().map(Value::as_f64).collect::<Option<_>>()?;
    let placement = match numbers[..] {
        [_, _] => None,
        [_, _, least_ns, most_ns, shared, stolen] => {
            Some(Placement { least_ns, most_ns, shared: shared != 0.0, stolen })
        }
        _ => return None,
    };
    // On logarithmic axes and in ratios there is no other.
    (numbers[0] > 0.0).then_some(Sample { value: numbers[0], placement, others: numbers[1] })
}

impl Results {
    /// The heading of the rows for so many ranks.
    pub fn title(ranks: usize) -> String {
        format!("{ranks} ranks")
    }

    /// The name of Tern's line as it comes.
    pub fn own(&self) -> Option<&LineOf> {
        self.lines.iter().find(|line| line.is_tern && line.name == "tern")
    }

    /// The lines that are not Tern's.
    pub fn peers(&self) -> Vec<&LineOf> {
        self.lines.iter().filter(|line| !line.is_tern).collect()
    }

    /// The words about the machine under a name; nothing where there are none.
    pub fn said(&self, name: &str) -> &str {
        self.about.iter().find(|(known, _)| known == name).map_or("", |(_, words)| words)
    }

    /// Ranks that were measured, ascending.
    pub fn ranks(&self) -> Vec<usize> {
        let mut ranks: Vec<usize> = self.figures.rows().map(|(row, _)| row.ranks).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Collectives that were measured, in their order.
    pub fn operations(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (row, _) in self.figures.rows() {
            if !names.contains(&row.benchmark) {
                names.push(row.benchmark.clone());
            }
        }
        names
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let about: Vec<_> = self.about.iter().map(|(name, words)| json!([name, words])).collect();
        let levels: Vec<_> = self
            .levels
            .iter()
            .map(|level| json!({"name": level.name, "cores": level.cores, "parts": level.parts}))
            .collect();
        let lines: Vec<_> = self
            .lines
            .iter()
            .map(|l| json!({"name": l.name, "label": l.label, "settings": l.settings, "tern": l.is_tern}))
            .collect();
        let document = json!({
            "form": FORM, "machine": about, "levels": levels, "lines": lines, "problems": written(&self.problems),
            "rounds": self.rounds, "quick": self.quick, "commit": self.commit, "version": self.version, "date": self.date,
        });
        // One line for each figure, so that people can read it and the file stays short.
        let head = format!("{document:#}");
        let figures = self.written_figures().join(",\n    ");
        format!("{},\n  \"figures\": [\n    {figures}\n  ]\n}}\n", head.trim_end().trim_end_matches('}').trim_end())
    }

    fn written_figures(&self) -> Vec<String> {
        let samples: HashMap<(&Row, &str), &[Sample]> =
            self.figures.values().map(|(row, name, samples)| ((row, name), samples)).collect();
        let mut all = Vec::new();
        for (row, summary) in self.figures.rows() {
            for LineOf { name, .. } in &self.lines {
                let Some(Summary { median, spread, bad, .. }) = summary(name) else { continue };
                let of_line = samples.get(&(row, name.as_str())).copied().unwrap_or_default();
                let samples: Vec<Vec<f64>> = of_line.iter().map(numbers).collect();
                let figure = json!({
                    "operation": row.benchmark, "ranks": row.ranks, "bytes": row.size, "unit": row.unit, "line": name,
                    "median": median, "spread": spread, "disturbed": bad, "samples": samples,
                });
                all.push(figure.to_string());
            }
        }
        all
    }

    /// What [`Self::text`] has written, here or elsewhere.
    ///
    /// Errors: it is of another form, or something in it is not what it should be.
    pub fn read(text: &str) -> Result<Self, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if document["form"] != FORM {
            return Err(format!("this is no file of `{FORM}`"));
        }
        let list = |name: &str| document[name].as_array().cloned().unwrap_or_default();
        let count = |value: &Value| value.as_u64().unwrap_or(0) as usize;
        let line = |line: &Value| LineOf {
            name: word(&line["name"]),
            label: word(&line["label"]),
            settings: word(&line["settings"]),
            is_tern: line["tern"] == true,
        };
        let level = |level: &Value| Level {
            name: word(&level["name"]),
            cores: count(&level["cores"]),
            parts: count(&level["parts"]),
        };
        let mut results = Self {
            about: list("machine").iter().map(|pair| (word(&pair[0]), word(&pair[1]))).collect(),
            levels: list("levels").iter().map(level).collect(),
            lines: list("lines").iter().map(line).collect(),
            figures: Figures::default(),
            problems: problems(&document["problems"]),
            rounds: count(&document["rounds"]),
            quick: document["quick"] == true,
            commit: word(&document["commit"]),
            version: word(&document["version"]),
            date: word(&document["date"]),
        };
        for figure in list("figures") {
            results.add(&figure).ok_or_else(|| format!("this is no figure: {figure}"))?;
        }
        if results.figures.is_empty() { Err("it has no figures".into()) } else { Ok(results) }
    }

    /// `None`: it is none.
    fn add(&mut self, figure: &Value) -> Option<()> {
        let ranks = figure["ranks"].as_u64().filter(|ranks| *ranks > 0)? as usize;
        let row = Row {
            title: Self::title(ranks),
            benchmark: figure["operation"].as_str()?.to_string(),
            size: figure["bytes"].as_u64()?,
            unit: figure["unit"].as_str().filter(|unit| *unit == "us")?.to_string(),
            ranks,
        };
        let line = figure["line"].as_str()?;
        for one in figure["samples"].as_array()? {
            self.figures.add(row.clone(), line, sample(one)?);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::tests;

    #[test]
    fn what_is_written_is_read_again() {
        let mut results = tests::results();
        let row = results.figures.rows().next().unwrap().0.clone();
        let placement = Some(Placement { least_ns: 50.0, most_ns: 60.5, shared: true, stolen: 0.25 });
        results.figures.add(row, "tern", Sample { value: 1.5, placement, others: 0.125 });
        let again = Results::read(&results.text()).unwrap();
        assert_eq!(again.figures.csv(), results.figures.csv());
        assert_eq!((&again.about, &again.levels, &again.lines), (&results.about, &results.levels, &results.lines));
        assert_eq!((&again.problems, again.rounds, &again.date), (&results.problems, 3, &results.date));
        assert_eq!(again.text(), results.text());
        assert_eq!(
            (again.ranks(), again.operations()),
            (vec![8, 96], vec!["barrier".to_string(), "bcast".to_string()])
        );
    }

    #[test]
    fn other_files_are_refused() {
        let text = tests::results().text();
        let error = |from: &str, to: &str| {
            let other = text.replacen(from, to, 1);
            assert_ne!(other, text, "{from} is in the text");
            Results::read(&other).err().unwrap()
        };
        assert!(error("scale 1\"", "scale 2\"").contains("no file of"));
        assert!(error("\"us\"", "\"parsec\"").contains("no figure"));
        assert!(error("\"ranks\":8", "\"ranks\":-8").contains("no figure"));
        assert!(error("[1.0,0.0]", "[-1.0,0.0]").contains("no figure"));
        assert!(error("[1.0,0.0]", "[1.0]").contains("no figure"));
        assert!(Results::read("{").is_err());
        assert!(Results::read(&format!("{{\"form\": \"{FORM}\"}}")).err().unwrap().contains("no figures"));
    }
}
