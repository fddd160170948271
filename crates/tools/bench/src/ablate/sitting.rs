//! One sitting: what was measured on a machine in one go, and the file that keeps it.

use crate::figures::{Row, is_overhead};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::statistics::median;

/// The line in which all rules are on, and that of rules for private memory.
pub const ON: &str = "tern";
pub const ON_PRIVATE: &str = "tern-private";
/// What stands behind the names of the same lines a second time, as controls.
pub const AGAIN: &str = "-again";
/// The form of the file.
const FORM: u64 = 1;

/// The values of a line in the rounds; `None` where the cores lay badly meanwhile.
pub type Rounds = Vec<Option<f64>>;

/// How often the rules acted in a launch, by the library's own counters.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    pub line: String,
    pub benchmark: String,
    /// 0 where the launch had all sizes.
    pub size: u64,
    pub rules: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sitting {
    pub processor: String,
    pub kernel: String,
    pub cores: Vec<usize>,
    pub can_demote: bool,
    pub counted: Vec<Counted>,
    /// Rows with the rounds of each line.
    pub rows: Vec<(Row, BTreeMap<String, Rounds>)>,
}

/// What each round says of a line beside the one in which all rules are on: the logarithm of the ratio, above 0 where that one is better. Times of
/// overlap are differences of small times; they are compared by difference, over the larger of the two medians. A share has no such
/// values, for the time that belongs to it is a row of its own.
pub fn rounds(row: &Row, on: &Rounds, off: &Rounds) -> Vec<f64> {
    let both: Vec<[f64; 2]> = on.iter().zip(off).filter_map(|(on, off)| Some([(*on)?, (*off)?])).collect();
    let sign = if row.higher_is_better() { 1.0 } else { -1.0 };
    if row.is_share() {
        return Vec::new();
    }
    if is_overhead(&row.benchmark) {
        let medians = [0, 1].map(|side| median(&both.iter().map(|pair| pair[side]).collect::<Vec<_>>()).abs());
        let larger = medians[0].max(medians[1]);
        return if larger > 0.0 {
            both.iter().map(|[on, off]| sign * (on - off) / larger).collect()
        } else {
            Vec::new()
        };
    }
    both.iter().filter(|pair| pair.iter().all(|value| *value > 0.0)).map(|[on, off]| sign * (on / off).ln()).collect()
}

/// An effect in percent: how much better the row is with the rule than without.
pub fn percent(row: &Row, effect: f64) -> f64 {
    100.0 * if is_overhead(&row.benchmark) { effect } else { effect.exp_m1() }
}

impl Sitting {
    /// How often a rule acted in a row's launch, of that size alone or of all sizes. `None`: nobody has counted.
    pub fn acted(&self, line: &str, benchmark: &str, size: u64, rule: &str) -> Option<u64> {
        let of = |counted: &&Counted| counted.line == line && counted.benchmark == benchmark;
        let found = self.counted.iter().filter(of).find(|counted| counted.size == size || counted.size == 0)?;
        Some(found.rules.get(rule).copied().unwrap_or(0))
    }

    /// Whether that launch had no other size.
    pub fn counted_alone(&self, line: &str, benchmark: &str, size: u64) -> bool {
        self.counted.iter().any(|one| one.line == line && one.benchmark == benchmark && one.size == size)
    }

    /// The most rounds of a line.
    pub fn rounds(&self) -> usize {
        self.rows.iter().flat_map(|(_, lines)| lines.values()).map(Vec::len).max().unwrap_or(0)
    }

    fn value(&self) -> Value {
        let row = |(row, lines): &(Row, BTreeMap<String, Rounds>)| {
            json!({"title": row.title, "benchmark": row.benchmark, "size": row.size, "unit": row.unit, "ranks": row.ranks,
                "lines": lines})
        };
        let counted =
            |one: &Counted| json!({"line": one.line, "benchmark": one.benchmark, "size": one.size, "rules": one.rules});
        json!({
            "ablate": FORM, "processor": self.processor, "kernel": self.kernel, "cores": self.cores,
            "can_demote": self.can_demote,
            "counted": self.counted.iter().map(counted).collect::<Vec<_>>(),
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(&self.value()).map_err(|error| error.to_string())?;
        fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Reads what [`Sitting::write`] has written; an error names the file and what it lacks.
    pub fn read(path: &Path) -> Result<Self, String> {
        let told = |error: String| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| told(error.to_string()))?;
        let value = serde_json::from_str(&text).map_err(|error| told(error.to_string()))?;
        Self::parse(&value).map_err(told)
    }

    fn parse(value: &Value) -> Result<Self, String> {
        if value["ablate"].as_u64() != Some(FORM) {
            return Err("not a sitting of `tern-bench ablate` of this version".to_string());
        }
        let cores = list(value, "cores")?.iter().filter_map(Value::as_u64).map(|core| core as usize).collect();
        let counted = |one: &Value| {
            let counts = one["rules"].as_object().ok_or("counts without rules")?;
            let rules = counts.iter().filter_map(|(name, count)| Some((name.clone(), count.as_u64()?))).collect();
            let (line, benchmark) = (text(one, "line")?, text(one, "benchmark")?);
            Ok(Counted { line, benchmark, size: number(one, "size")?, rules })
        };
        Ok(Self {
            processor: text(value, "processor")?,
            kernel: text(value, "kernel")?,
            cores,
            can_demote: value["can_demote"].as_bool().ok_or("no can_demote")?,
            counted: list(value, "counted")?.iter().map(counted).collect::<Result<_, String>>()?,
            rows: list(value, "rows")?.iter().map(parse_row).collect::<Result<_, String>>()?,
        })
    }
}

fn list<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>, String> {
    value[name].as_array().ok_or_else(|| format!("no {name}"))
}

fn text(value: &Value, name: &str) -> Result<String, String> {
    value[name].as_str().map(str::to_string).ok_or_else(|| format!("no {name}"))
}

fn number(value: &Value, name: &str) -> Result<u64, String> {
    value[name].as_u64().ok_or_else(|| format!("no {name}"))
}

fn parse_row(value: &Value) -> Result<(Row, BTreeMap<String, Rounds>), String> {
    let row = Row {
        title: text(value, "title")?,
        benchmark: text(value, "benchmark")?,
        size: number(value, "size")?,
        unit: text(value, "unit")?,
        ranks: number(value, "ranks")? as usize,
    };
    let mut lines = BTreeMap::new();
    for (name, rounds) in value["lines"].as_object().ok_or("a row without lines")? {
        let rounds = rounds.as_array().ok_or("a line without rounds")?;
        lines.insert(name.clone(), rounds.iter().map(Value::as_f64).collect());
    }
    Ok((row, lines))
}

/// The first name of this form in a folder that no file has.
pub fn free(folder: &Path) -> PathBuf {
    (1..)
        .map(|number| folder.join(format!("sitting-{number}.json")))
        .find(|path| !path.exists())
        .expect("a free number")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(benchmark: &str, unit: &str) -> Row {
        Row { title: "t".into(), benchmark: benchmark.into(), size: 8, unit: unit.into(), ranks: 2 }
    }

    #[test]
    fn what_is_better_with_the_rule_is_above_zero() {
        let of = |row: &Row, on: f64, off: f64| {
            let rounds = rounds(row, &vec![Some(on); 3], &vec![Some(off); 3]);
            percent(row, rounds[0]).round()
        };
        assert_eq!(of(&row("b", "us"), 10.0, 12.0), 20.0);
        assert_eq!(of(&row("b", "M/s"), 12.0, 10.0), 20.0);
        assert_eq!(of(&row("b", "M/s"), 10.0, 20.0), -50.0);
        assert_eq!(of(&row("b_overhead", "us"), -1.0, 2.0), 150.0);
        assert_eq!(of(&row("b_overhead", "us"), 2.0, 0.0), -100.0);
        assert!(rounds(&row("b", "%"), &vec![Some(90.0)], &vec![Some(40.0)]).is_empty(), "a share");
    }

    #[test]
    fn a_round_counts_if_both_lines_have_it() {
        let on = vec![Some(1.0), None, Some(1.0), Some(1.0)];
        let off = vec![Some(1.0), Some(2.0), None];
        assert_eq!(rounds(&row("b", "us"), &on, &off), [0.0]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let lines = BTreeMap::from([(ON.to_string(), vec![Some(1.5), None]), ("copies".to_string(), vec![Some(2.0)])]);
        let rules = BTreeMap::from([("copies".to_string(), 7)]);
        let counted = Counted { line: ON.into(), benchmark: "pingpong".into(), size: 8, rules };
        let sitting = Sitting {
            processor: "p".into(),
            kernel: "6".into(),
            cores: vec![0, 1],
            can_demote: true,
            counted: vec![counted],
            rows: vec![(row("pingpong", "us"), lines)],
        };
        assert_eq!(Sitting::parse(&sitting.value()), Ok(sitting.clone()));
        assert_eq!(sitting.acted(ON, "pingpong", 8, "copies"), Some(7));
        assert_eq!(sitting.acted(ON, "pingpong", 8, "stores"), Some(0));
        assert_eq!(sitting.acted(ON, "pingpong", 64, "copies"), None);
        assert!(Sitting::parse(&json!({"figures": []})).is_err());
        let mut lacking = sitting.value();
        lacking["rows"][0]["lines"] = Value::Null;
        assert_eq!(Sitting::parse(&lacking), Err("a row without lines".to_string()));
    }
}
