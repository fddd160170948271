//! A window of its own for the terminal of each rank, or of some (`--xterm`).

use crate::ranges::ranges;
use std::ffi::OsString;
use std::ops::RangeInclusive;

/// Which ranks get a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// None for all.
    ranks: Option<Vec<RangeInclusive<u32>>>,
    /// The window stays when its program has ended.
    stay: bool,
}

impl Windows {
    /// From `all` or `-1`, or ranks such as `0,2-3`; with `!` behind them the windows stay. None for other words.
    pub fn parse(text: &str) -> Option<Windows> {
        let (list, stay) = text.strip_suffix('!').map_or((text, false), |list| (list, true));
        if matches!(list, "all" | "-1") {
            return Some(Windows { ranks: None, stay });
        }
        let ranks = ranges(list)?;
        let is_empty = |range: &RangeInclusive<u32>| range.is_empty();
        (!ranks.iter().any(is_empty)).then_some(Windows { ranks: Some(ranks), stay })
    }

    /// The words that stand before a program: a shell which knows its rank, and puts xterm before the program or not.
    pub fn prefix(&self) -> [OsString; 4] {
        let hold = if self.stay { " -hold" } else { "" };
        let xterm = format!("exec xterm{hold} -T \"rank $TERN_RANK\" -e \"$@\"");
        let text = match &self.ranks {
            None => xterm,
            Some(ranks) => {
                let test = |range: &RangeInclusive<u32>| {
                    let (first, last) = (range.start(), range.end());
                    format!("{{ [ \"$TERN_RANK\" -ge {first} ] && [ \"$TERN_RANK\" -le {last} ]; }}")
                };
                let tests: Vec<_> = ranks.iter().map(test).collect();
                format!("if {}; then {xterm}; fi; exec \"$@\"", tests.join(" || "))
            }
        };
        ["sh".into(), "-c".into(), text.into(), "sh".into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// What a shell runs for `rank`, with a stand-in for xterm.
    fn run(windows: &str, rank: u32) -> String {
        let prefix = Windows::parse(windows).expect("ranks").prefix();
        let text = prefix[2].to_str().expect("text").replace("exec xterm", "exec echo xterm");
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", &text, "sh", "echo", "a b"]).env("TERN_RANK", rank.to_string()).output();
        String::from_utf8(output.expect("a shell").stdout).expect("text")
    }

    #[test]
    fn chosen_ranks_get_a_window() {
        assert_eq!(run("all", 3), "xterm -T rank 3 -e echo a b\n");
        assert_eq!(run("-1!", 0), "xterm -hold -T rank 0 -e echo a b\n");
        for (rank, chosen) in [(0, true), (1, false), (2, true), (3, true), (12, false)] {
            assert_eq!(run("0,2-3", rank).starts_with("xterm"), chosen, "rank {rank}");
        }
    }

    #[test]
    fn other_words_are_no_ranks() {
        assert!(["", "a", "1-", "3-2", "1,,2", "./solver"].iter().all(|text| Windows::parse(text).is_none()));
    }
}
