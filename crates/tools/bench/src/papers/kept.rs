//! What is kept of an experiment in a folder of its own, so that an interrupted run goes on where it stopped.

use super::registry::Experiment;
use crate::figures::Figures;
use crate::session::Problem;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Figures of some rounds, and where they come from.
#[derive(Default)]
pub struct Kept {
    pub figures: Figures,
    /// Whole rounds behind the figures.
    pub rounds: usize,
    /// The last commit that changed what was measured.
    pub commit: String,
    /// The day of the last round.
    pub date: String,
    pub processor: String,
    pub kernel: String,
    /// Fewer sizes and less time than the registry says: nothing for a page.
    pub quick: bool,
    /// Headings of the columns that are not the lines' names.
    pub labels: BTreeMap<String, String>,
    pub problems: Vec<Problem>,
}

impl Kept {
    fn folder(output: &Path, experiment: &Experiment) -> PathBuf {
        output.join(experiment.name)
    }

    /// What an earlier run has left; nothing where there is none, or where it cannot be read, which is told.
    pub fn read(output: &Path, experiment: &Experiment) -> Self {
        let folder = Self::folder(output, experiment);
        match Self::read_from(&folder) {
            Ok(kept) => kept.unwrap_or_default(),
            Err(error) => {
                eprintln!("{}: {error}; it is measured anew", folder.display());
                Self::default()
            }
        }
    }

    fn read_from(folder: &Path) -> Result<Option<Self>, String> {
        let state = folder.join("state.json");
        if !state.exists() {
            return Ok(None);
        }
        let text = |path: &Path| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
        let state: Value = serde_json::from_str(&text(&state)?).map_err(|error| error.to_string())?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let mut kept = Self {
            rounds: state["rounds"].as_u64().unwrap_or(0) as usize,
            commit: word(&state["commit"]),
            date: word(&state["date"]),
            processor: word(&state["processor"]),
            kernel: word(&state["kernel"]),
            quick: state["quick"] == true,
            ..Self::default()
        };
        let labels = state["labels"].as_object().into_iter().flatten();
        kept.labels = labels.map(|(name, label)| (name.clone(), word(label))).collect();
        for problem in state["problems"].as_array().into_iter().flatten() {
            let [library, what, reason] = ["library", "what", "reason"].map(|key| word(&problem[key]));
            kept.problems.push(Problem { library, what, reason });
        }
        kept.figures.add_csv(&text(&folder.join("figures.csv"))?)?;
        Ok(Some(kept))
    }

    /// The figures come first, so that a state never tells of rounds that are not there.
    pub fn write(&self, output: &Path, experiment: &Experiment) -> Result<(), String> {
        let folder = Self::folder(output, experiment);
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&folder).map_err(told)?;
        let problems: Vec<Value> = self
            .problems
            .iter()
            .map(|problem| json!({"library": problem.library, "what": problem.what, "reason": problem.reason}))
            .collect();
        let state = json!({
            "rounds": self.rounds, "commit": self.commit, "date": self.date, "processor": self.processor,
            "kernel": self.kernel, "quick": self.quick, "labels": self.labels, "problems": problems,
        });
        let new = folder.join("state.json.new");
        fs::write(folder.join("figures.csv"), self.figures.csv()).map_err(told)?;
        fs::write(&new, format!("{state:#}\n")).map_err(told)?;
        fs::rename(&new, folder.join("state.json")).map_err(told)
    }

    /// Whether it can go on with further rounds of this kind, at this commit.
    pub fn goes_on(&self, commit: &str, quick: bool) -> bool {
        self.rounds > 0 && self.commit == commit && self.quick == quick
    }

    /// Whether there is nothing left to measure.
    pub fn is_whole(&self, rounds: usize, quick: bool) -> bool {
        self.rounds >= rounds && self.quick == quick
    }
}
