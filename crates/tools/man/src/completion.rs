//! Completion for bash of a launcher's command line, from what it prints with `--help`.
//!
//! Words that begin with a dash are options. Words in capitals behind one are its values; in the first column of an
//! item they belong to all options of the item. `a|b` is a choice.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The values of an option, as the help calls them.
type Values = Vec<String>;

/// The completion of `name`, which starts programs.
pub fn script(name: &str, help: &str) -> String {
    let options = options(help);
    let all = options.keys().map(String::as_str).collect::<Vec<&str>>().join(" ");
    let mut cases = String::new();
    for (values, names) in by_values(&options) {
        _ = writeln!(cases, "            {}) values={} kind={} ;;", names.join(" | "), values.len(), kind(&values));
    }
    let function = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let text = include_str!("../texts/completion.bash").replace("@NAME@", name).replace("@FUNCTION@", &function);
    text.replace("@OPTIONS@", &all).replace("@CASES@\n", &cases)
}

/// All options of a help text.
fn options(help: &str) -> BTreeMap<String, Values> {
    let mut all: BTreeMap<String, Values> = BTreeMap::new();
    // The values of the item that the line belongs to.
    let mut of_item = Values::new();
    for line in help.lines() {
        let (term, rest) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
        let is_item = line.starts_with(' ') && term.starts_with('-');
        let (term, rest) = if is_item { (term, rest) } else { ("", line.trim()) };
        if is_item {
            of_item.clear();
            let mut names = Vec::new();
            for word in term.split_whitespace().map(bare) {
                if is_option(word) {
                    // Values stand behind the last of the names that they belong to.
                    if !of_item.is_empty() {
                        names.drain(..).for_each(|name| add(&mut all, name, &of_item));
                        of_item.clear();
                    }
                    names.push(word);
                } else if is_value(word) {
                    of_item.push(word.into());
                }
            }
            names.into_iter().for_each(|name| add(&mut all, name, &of_item));
        } else if !line.starts_with(' ') {
            of_item.clear();
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        for (at, name) in words.iter().enumerate().filter(|(_, word)| is_option(bare(word))) {
            let own = match ends(name) {
                true => 0,
                false => words[at + 1..].iter().take_while(|word| is_value(bare(word))).count(),
            };
            let own: Values = words[at + 1..][..own].iter().map(|word| bare(word).to_string()).collect();
            let also = rest.contains("also ") && own.is_empty() && !name.contains('=');
            add(&mut all, bare(name), if also { &of_item } else { &own });
        }
    }
    all
}

/// An option that was found; what stands behind `=` in it is its value.
fn add(all: &mut BTreeMap<String, Values>, name: &str, values: &Values) {
    let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
    let known = all.entry(name.into()).or_default();
    if known.is_empty() {
        *known = value.map_or(values.clone(), |value| vec![value.into()]);
    }
}

/// A word without what stands around it in a sentence.
fn bare(word: &str) -> &str {
    word.trim_matches(['(', ')', ',', ';', '.', ':'])
}

/// Whether what follows in the sentence does not belong to the word.
fn ends(word: &str) -> bool {
    word.ends_with([')', ',', ';', '.', ':'])
}

fn is_option(word: &str) -> bool {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).unwrap_or("");
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_=".contains(&c))
}

fn is_value(word: &str) -> bool {
    let capitals = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit() || b"_,:=".contains(&c);
    !word.is_empty()
        && (word.bytes().all(capitals) && word.bytes().any(|c| c.is_ascii_uppercase()) || word.contains('|'))
}

/// Options that take values, those with the same together.
fn by_values(options: &BTreeMap<String, Values>) -> BTreeMap<Values, Vec<&str>> {
    let mut groups: BTreeMap<Values, Vec<&str>> = BTreeMap::new();
    for (name, values) in options.iter().filter(|(_, values)| !values.is_empty()) {
        groups.entry(values.clone()).or_default().push(name);
    }
    groups
}

/// What the value is completed with.
fn kind(values: &Values) -> String {
    match values[0].as_str() {
        "DIR" => "folder".into(),
        "FILE" => "file".into(),
        "CMD" | "COMMAND" => "command".into(),
        "NAME" | "NAME=VALUE" => "variable".into(),
        // What is written in capitals stands for a word.
        choice if choice.contains('|') => {
            let words = choice.split('|').filter(|word| word.bytes().any(|c| c.is_ascii_lowercase()));
            format!("'words {}'", words.collect::<Vec<_>>().join(" "))
        }
        _ => "none".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
Starts.

  run [options] program

Options:
  -n, -np N        number of processes (also -c, --count)
  -env NAME VALUE  variable; also -x NAME=VALUE
  --bind-to core|none|PART   where
  --per N, -P N    ranks
  --quiet          nothing (-q), as FILE is

--mca NAME VALUE, --map-by and -v are taken: A dash - is none.
";

    #[test]
    fn options_are_found_with_their_values() {
        let values = |name: &str| options(HELP)[name].join(" ");
        assert_eq!(
            ["-n", "-c", "-env", "-x", "--per", "-P"].map(values),
            ["N", "N", "NAME VALUE", "NAME=VALUE", "N", "N"]
        );
        assert_eq!(
            ["--bind-to", "--quiet", "-q", "--mca", "--map-by", "-v"].map(values),
            ["core|none|PART", "", "", "NAME VALUE", "", ""]
        );
        assert_eq!(options(HELP).len(), 14);
    }

    #[test]
    fn the_script_knows_them() {
        let script = script("run", HELP);
        for text in [
            "complete -F _run run",
            "--count | --per | -P | -c | -n | -np) values=1 kind=none",
            "-env) values=2 kind=variable",
            "kind='words core none'",
        ] {
            assert!(script.contains(text), "{text} is not in {script}");
        }
    }
}
