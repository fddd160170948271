//! Layout of the report.

/// Columns of a line.
const WIDTH: usize = 96;
/// Columns of a name.
const NAME: usize = 16;

/// A line `name  value`; a long value goes on under itself.
pub fn line(name: &str, value: &str) -> String {
    let indent = " ".repeat(NAME + 2);
    let mut text = String::new();
    for (at, part) in wrap(value, WIDTH - NAME - 2).iter().enumerate() {
        match at {
            0 => text.push_str(&format!("{name:NAME$}  {part}\n")),
            _ => text.push_str(&format!("{indent}{part}\n")),
        }
    }
    text
}

/// A heading.
pub fn heading(text: &str) -> String {
    format!("{text}\n{}\n", "-".repeat(text.len()))
}

/// Breaks text at blanks; at least one line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Bytes for people.
pub fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 { format!("{value} {}", units[unit]) } else { format!("{value:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_go_on_under_themselves() {
        let text = line("name", &"word ".repeat(40));
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with(&" ".repeat(NAME + 2))));
        assert_eq!(line("a", ""), format!("{:NAME$}  \n", "a"));
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!(size(512), "512 B");
        assert_eq!(size(32 << 10), "32 KiB");
        assert_eq!(size(3 << 29), "1.5 GiB");
    }
}
