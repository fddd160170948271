//! What is kept of an experiment in a folder of its own, so that an interrupted run goes on where it stopped.

use crate::figures::Figures;
use crate::session::Problem;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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
    /// What was asked for, where that may change from run to run: rounds of another kind do not mix with these.
    pub asked: String,
    /// Headings of the columns that are not the lines' names.
    pub labels: BTreeMap<String, String>,
    pub problems: Vec<Problem>,
}

/// The word of a value; nothing for what is no word.
pub fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// Problems as they are written.
pub fn written(problems: &[Problem]) -> Vec<Value> {
    let one = |problem: &Problem| json!({"library": problem.library, "what": problem.what, "reason": problem.reason});
    problems.iter().map(one).collect()
}

/// Problems as [`written`] has made them.
pub fn problems(value: &Value) -> Vec<Problem> {
    let one = |problem: &Value| {
        let [library, what, reason] = ["library", "what", "reason"].map(|key| word(&problem[key]));
        Problem { library, what, reason }
    };
    value.as_array().into_iter().flatten().map(one).collect()
}

impl Kept {
    /// What an earlier run has left in this folder; nothing where there is none, or where it cannot be read, which is told.
    pub fn read(folder: &Path) -> Self {
        match Self::read_from(folder) {
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
        let mut kept = Self {
            rounds: state["rounds"].as_u64().unwrap_or(0) as usize,
            commit: word(&state["commit"]),
            date: word(&state["date"]),
            processor: word(&state["processor"]),
            kernel: word(&state["kernel"]),
            quick: state["quick"] == true,
            asked: word(&state["asked"]),
            problems: problems(&state["problems"]),
            ..Self::default()
        };
        let labels = state["labels"].as_object().into_iter().flatten();
        kept.labels = labels.map(|(name, label)| (name.clone(), word(label))).collect();
        kept.figures.add_csv(&text(&folder.join("figures.csv"))?)?;
        Ok(Some(kept))
    }

    /// The figures come first, so that a state never tells of rounds that are not there.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(told)?;
        let state = json!({
            "rounds": self.rounds, "commit": self.commit, "date": self.date, "processor": self.processor,
            "kernel": self.kernel, "quick": self.quick, "asked": self.asked, "labels": self.labels,
            "problems": written(&self.problems),
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
