//! What the info object of MPI_Comm_spawn asks for (MPI 5.0 section 11.8.4).

use crate::constants::*;
use crate::error::{Error, Result};
use crate::info;
use crate::memory_kinds;
use crate::objects::InfoMap;
use std::ffi::OsString;

/// What the reserved keys say of one command.
#[derive(Debug)]
pub struct Hints {
    /// How many processes there may be, in falling order.
    pub counts: Vec<u32>,
    /// Their working directory.
    pub wdir: Option<OsString>,
    /// Where their command is looked for.
    pub path: Option<OsString>,
    /// The kinds of memory that they ask for.
    pub memory_kinds: Option<OsString>,
}

impl Hints {
    /// Of a command that `most` processes are to run.
    ///
    /// Errors: MPI_ERR_INFO_VALUE for what cannot be understood, MPI_ERR_SPAWN for what cannot be had.
    pub fn of(info: &InfoMap, most: u32) -> Result<Hints> {
        let all = match info::find(info, "file") {
            None => info.clone(),
            Some(file) => with_file(info, file)?,
        };
        let key = |key| info::find(&all, key);
        if let Some(host) = key("host").filter(|host| !is_here(host)) {
            return err!(
                MPI_ERR_SPAWN,
                "the info key host asks for {host:?}; processes are started on this machine only"
            );
        }
        let machine = rustix::system::uname();
        let machine = machine.machine().to_string_lossy();
        if let Some(arch) = key("arch").filter(|&arch| arch != machine) {
            return err!(MPI_ERR_SPAWN, "the info key arch asks for {arch:?}; this machine is {machine:?}");
        }
        let counts = match key("soft") {
            None => vec![most],
            Some(soft) => allowed(soft, most)?,
        };
        let text = |name| key(name).map(OsString::from);
        Ok(Hints { counts, wdir: text("wdir"), path: text("path"), memory_kinds: text(memory_kinds::KINDS) })
    }
}

/// The keys of `info`, and those of a file that it names but does not set itself.
fn with_file(info: &InfoMap, file: &str) -> Result<InfoMap> {
    let wrong = |why: &str| Error::new(MPI_ERR_INFO_VALUE, format!("the info key file names {file:?}: {why}"));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error.to_string()))?;
    let mut all = InfoMap::new();
    for (key, value) in parse(&text).map_err(|why| wrong(&why))? {
        info::put(&mut all, key, value);
    }
    for (key, value) in info {
        info::put(&mut all, key, value);
    }
    Ok(all)
}

/// The keys and values of a file: `key = value` on each line that is neither empty nor begins with `#`.
fn parse(text: &str) -> std::result::Result<Vec<(&str, &str)>, String> {
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

/// True for a name of this machine.
fn is_here(host: &str) -> bool {
    let own = rustix::system::uname();
    let own = own.nodename().to_string_lossy();
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    ["localhost", "127.0.0.1", "::1"].contains(&host) || host == own || short(host) == short(&own)
}

/// The numbers that `soft` allows, in falling order: ranges `a`, `a:b` or `a:b:c`, separated by commas
/// (section 11.8.4).
fn allowed(soft: &str, most: u32) -> Result<Vec<u32>> {
    let wrong = || {
        Error::new(
            MPI_ERR_INFO_VALUE,
            format!("the info key soft is {soft:?}; it must be numbers or ranges first:last:step, separated by commas"),
        )
    };
    let mut counts = Vec::new();
    for range in soft.split(',') {
        let parts = range.split(':').map(|part| part.trim().parse::<i64>());
        let parts: Vec<i64> = parts.collect::<std::result::Result<_, _>>().map_err(|_| wrong())?;
        let (first, last, step) = match parts[..] {
            [only] => (only, only, 1),
            [first, last] => (first, last, 1),
            [first, last, step] if step != 0 => (first, last, step),
            _ => return Err(wrong()),
        };
        let inside = |&at: &i64| if step > 0 { at <= last } else { at >= last };
        // What is above the most that is asked for does not count, however long the range is.
        let first = if step > 0 || first <= most as i64 { first } else { first - (first - most as i64) / step * step };
        let all = std::iter::successors(Some(first), |at| at.checked_add(step)).take_while(inside);
        let all = all.take_while(|&at| if step > 0 { at <= most as i64 } else { at > 0 });
        counts.extend(all.filter(|&at| (1..=most as i64).contains(&at)).map(|at| at as u32));
    }
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.dedup();
    if counts.is_empty() {
        return err!(MPI_ERR_SPAWN, "the info key soft, {soft:?}, allows no number from 1 to {most}");
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_ranges_are_read_as_the_standard_has_them() {
        assert_eq!(allowed("3", 5).unwrap(), [3]);
        assert_eq!(allowed("1:3", 5).unwrap(), [3, 2, 1]);
        assert_eq!(allowed("0:10:4", 9).unwrap(), [8, 4]);
        assert_eq!(allowed("10:1:-3", 8).unwrap(), [7, 4, 1]);
        assert_eq!(allowed("2 : 4, 7", 9).unwrap(), [7, 4, 3, 2]);
        assert_eq!(allowed("1:9000000000000", 2).unwrap(), [2, 1]);
        assert_eq!(allowed("9000000000000:1:-1", 2).unwrap(), [2, 1]);
        for wrong in ["", "a", "1:2:0", "1:2:3:4", "1,,2"] {
            assert_eq!(allowed(wrong, 5).unwrap_err().code, MPI_ERR_INFO_VALUE, "{wrong}");
        }
        assert_eq!(allowed("6:9", 5).unwrap_err().code, MPI_ERR_SPAWN);
    }

    #[test]
    fn a_file_holds_a_key_and_a_value_on_each_line() {
        let text = "# where\n\n wdir = /tmp/a b\nsoft=1:3\n  path =\nother = x = y\n";
        assert_eq!(parse(text).unwrap(), [("wdir", "/tmp/a b"), ("soft", "1:3"), ("path", ""), ("other", "x = y")]);
        for (wrong, said) in [("wdir\n", "line 1"), ("a=1\n= 2", "line 2"), ("\nfile = x", "line 2")] {
            let why = parse(wrong).unwrap_err();
            assert!(why.contains(said), "{wrong:?}: {why}");
        }
    }

    #[test]
    fn what_the_program_sets_counts_more_than_a_file() {
        let name = std::env::temp_dir().join(format!("tern-hints-{}-{:x}", std::process::id(), tern_pmi::new_job_id()));
        std::fs::write(&name, "soft = 2\nwdir = /there\n").unwrap();
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let file = set("file", name.to_str().unwrap());
        let alone = Hints::of(&vec![file.clone()], 4).unwrap();
        assert_eq!((alone.counts, alone.wdir), (vec![2], Some("/there".into())));
        let both = Hints::of(&vec![file.clone(), set("wdir", "/here")], 4).unwrap();
        assert_eq!((both.counts, both.wdir), (vec![2], Some("/here".into())));
        std::fs::write(&name, "arch = pdp11\n").unwrap();
        assert_eq!(Hints::of(&vec![file.clone()], 4).unwrap_err().code, MPI_ERR_SPAWN);
        std::fs::remove_file(&name).unwrap();
        assert_eq!(Hints::of(&vec![file], 4).unwrap_err().code, MPI_ERR_INFO_VALUE);
    }
}
