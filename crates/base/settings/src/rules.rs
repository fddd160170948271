//! Which rules of the policy are switched off (TERN_POLICY).

use crate::{Kind, PolicyRule};

/// The rules that are switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffRules(u64);

/// Stands for every rule.
const ALL: &str = "all";

impl OffRules {
    /// True when the rule is switched off.
    #[inline]
    pub fn has(self, rule: PolicyRule) -> bool {
        self.0 >> rule as u32 & 1 == 1
    }
}

/// Names with `-` in front, separated by commas. Its word has a bit for each rule.
impl Kind for OffRules {
    const TYPE: &'static str = "rules";

    fn parse(text: &str, _: (u64, u64)) -> Result<u64, String> {
        let names = PolicyRule::words();
        let mut off = 0;
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let name = part.strip_prefix('-');
            let name =
                name.ok_or_else(|| format!("must have - in front of each name of a rule, as in -{}", names[0]))?;
            off |= match names.iter().position(|known| known.eq_ignore_ascii_case(name)) {
                Some(at) => 1 << at,
                None if name.eq_ignore_ascii_case(ALL) => (1 << names.len()) - 1,
                None => return Err(format!("names {name}, which is none of the rules {}, {ALL}", names.join(", "))),
            };
        }
        Ok(off)
    }

    fn decode(word: u64, _: &'static str) -> Self {
        OffRules(word)
    }

    fn allowed(_: (u64, u64)) -> String {
        format!("names with - in front, separated by commas: {}, {ALL}", PolicyRule::words().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<OffRules, String> {
        OffRules::parse(text, (0, 0)).map(|word| OffRules::decode(word, ""))
    }

    #[test]
    fn named_rules_are_off_and_others_on() {
        let off = parse("-copies, -Expect-Ready").unwrap();
        assert!(off.has(PolicyRule::Copies) && off.has(PolicyRule::ExpectReady) && !off.has(PolicyRule::Habits));
        assert_eq!(parse(""), Ok(OffRules::default()));
        let all = parse("-all").unwrap();
        assert!((0..PolicyRule::words().len()).all(|rule| all.0 >> rule & 1 == 1));
        // The values of a word that settings keep for themselves are not among those.
        assert!(PolicyRule::words().len() < 63);
    }

    #[test]
    fn what_is_no_rule_is_refused_with_the_list() {
        let why = parse("-copies,-copy").unwrap_err();
        assert!(why.starts_with("names copy, ") && why.contains("habits, ") && why.ends_with(", all"), "{why}");
        let why = parse("copies").unwrap_err();
        assert!(why.contains("- in front"), "{why}");
    }
}
