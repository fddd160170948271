//! How programs are asked for: texts that MPI_Comm_spawn and mpiexec both know (MPI 5.0, sections 11.8.4 and 11.5).

/// The numbers from 1 to `most` that `soft` allows, in falling order: ranges `a`, `a:b` or `a:b:c`, separated by commas.
///
/// Errors: none for a text that is something else.
pub fn soft(soft: &str, most: u32) -> Option<Vec<u32>> {
    let most = i64::from(most);
    let mut counts = Vec::new();
    for range in soft.split(',') {
        let parts = range.split(':').map(|part| part.trim().parse::<i64>());
        let parts: Vec<i64> = parts.collect::<Result<_, _>>().ok()?;
        let (first, last, step) = match parts[..] {
            [only] => (only, only, 1),
            [first, last] => (first, last, 1),
            [first, last, step] if step != 0 => (first, last, step),
            _ => return None,
        };
        let inside = |&at: &i64| if step > 0 { at <= last } else { at >= last };
        // What is above the most that is asked for does not count, however long the range is.
        let first = if step > 0 || first <= most { first } else { first - (first - most) / step * step };
        let all = std::iter::successors(Some(first), |at| at.checked_add(step)).take_while(inside);
        let all = all.take_while(|&at| if step > 0 { at <= most } else { at > 0 });
        counts.extend(all.filter(|&at| (1..=most).contains(&at)).map(|at| at as u32));
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.dedup();
    Some(counts)
}

/// The keys and values of a file: `key = value` on each line that is neither empty nor begins with `#`. The error is a
/// line for the user.
pub fn file(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let lines = text.lines().map(str::trim).zip(1..);
    let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(line, number)| {
            let (key, value) =
                line.split_once('=').map_or((line, ""), |(key, value)| (key.trim_end(), value.trim_start()));
            match key {
                "" => Err(format!("line {number}, {line:?}, has no key")),
                "file" => Err(format!("line {number} names a further file, which is not looked for")),
                _ if !line.contains('=') => Err(format!("line {number}, {line:?}, is not `key = value`")),
                _ => Ok((key, value)),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_ranges_are_read_as_the_standard_has_them() {
        assert_eq!(soft("3", 5).unwrap(), [3]);
        assert_eq!(soft("1:3", 5).unwrap(), [3, 2, 1]);
        assert_eq!(soft("0:10:4", 9).unwrap(), [8, 4]);
        assert_eq!(soft("10:1:-3", 8).unwrap(), [7, 4, 1]);
        assert_eq!(soft("2 : 4, 7", 9).unwrap(), [7, 4, 3, 2]);
        assert_eq!(soft("1:9000000000000", 2).unwrap(), [2, 1]);
        assert_eq!(soft("9000000000000:1:-1", 2).unwrap(), [2, 1]);
        assert_eq!(soft("6:9", 5).unwrap(), [0u32; 0]);
        for wrong in ["", "a", "1:2:0", "1:2:3:4", "1,,2"] {
            assert_eq!(soft(wrong, 5), None, "{wrong}");
        }
    }

    #[test]
    fn files_have_a_key_and_a_value_in_each_line() {
        let text = "# where\n\n wdir = /tmp/a b\nsoft=1:3\n  path =\nother = x = y\n";
        assert_eq!(file(text).unwrap(), [("wdir", "/tmp/a b"), ("soft", "1:3"), ("path", ""), ("other", "x = y")]);
        for (text, why) in [("\nwdir\n", "line 2, \"wdir\", is not"), ("= x", "line 1"), ("file = b", "further file")] {
            let wrong = file(text).unwrap_err();
            assert!(wrong.contains(why), "{wrong}");
        }
    }
}
