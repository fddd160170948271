//! Everything that a decision may come to, by all answers to what it asks.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Answers questions by a script, and with the first answer behind its end.
#[derive(Default)]
pub struct Oracle {
    script: Vec<usize>,
    /// The questions so far: their words, which answer was given, and of how many.
    asked: Vec<(String, usize, usize)>,
}

impl Oracle {
    /// The number of the answer to a question. One that was asked before is answered as before, and is not told again.
    pub fn ask(&mut self, question: &str, answers: &[&str]) -> usize {
        let number = self.script.get(self.asked.len()).copied().unwrap_or_default();
        self.asked.push((format!("{question} {}", answers[number]), number, answers.len()));
        number
    }

    /// Whether it is so.
    pub fn is(&mut self, question: &str) -> bool {
        self.ask(question, &["no", "yes"]) == 1
    }
}

/// One line for each sequence of answers: `question answer; question answer => result`.
pub fn explore(mut decide: impl FnMut(&mut Oracle) -> String) -> String {
    let mut text = String::new();
    let mut script = Vec::new();
    loop {
        let mut oracle = Oracle { script, ..Oracle::default() };
        let result = decide(&mut oracle);
        let words: Vec<&str> = oracle.asked.iter().map(|(words, ..)| words.as_str()).collect();
        _ = writeln!(text, "  {} => {result}", if words.is_empty() { "-".into() } else { words.join("; ") });
        // The last question that has another answer gets it.
        let Some(last) = oracle.asked.iter().rposition(|&(_, number, of)| number + 1 < of) else { return text };
        script = oracle.asked[..=last].iter().map(|&(_, number, _)| number).collect();
        script[last] += 1;
    }
}

/// Trees that were met, each with a number.
#[derive(Default)]
pub struct Trees(BTreeMap<String, usize>);

impl Trees {
    fn number(&mut self, tree: String) -> usize {
        let next = self.0.len() + 1;
        *self.0.entry(tree).or_insert(next)
    }

    /// The trees by length, as exact ranges: `0 T1, 8192 T2`. From 0 bytes to 64 MiB.
    pub fn by_length(&mut self, tree: impl Fn(usize) -> String) -> String {
        let parts = by_length(|len| self.number(tree(len)));
        parts.iter().map(|(from, number)| format!("{from} T{number}")).collect::<Vec<_>>().join(", ")
    }

    /// All of them.
    pub fn text(&self) -> String {
        let mut trees: Vec<_> = self.0.iter().collect();
        trees.sort_by_key(|&(_, number)| number);
        trees.into_iter().fold(String::new(), |mut text, (tree, number)| {
            _ = write!(text, "\nT{number}\n{tree}");
            text
        })
    }
}

/// The same as text: `0 packets, 8192 one copy`.
pub fn row<T: PartialEq + std::fmt::Display>(of: impl FnMut(usize) -> T) -> String {
    by_length(of).iter().map(|(from, what)| format!("{from} {what}")).collect::<Vec<_>>().join(", ")
}

/// What holds from which length on, where it changes at most once between two powers of two.
pub fn by_length<T: PartialEq>(mut of: impl FnMut(usize) -> T) -> Vec<(usize, T)> {
    let mut parts = vec![(0, of(0))];
    let mut before = 0;
    for length in (0..=26).map(|power| 1 << power) {
        let here = of(length);
        if here != parts[parts.len() - 1].1 {
            let (mut low, mut high) = (before, length);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if of(middle) == parts[parts.len() - 1].1 { low = middle } else { high = middle }
            }
            parts.push((high, of(high)));
            if parts[parts.len() - 1].1 != here {
                parts.push((length, here));
            }
        }
        before = length;
    }
    parts
}
