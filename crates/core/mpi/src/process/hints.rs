//! What the info object of MPI_Comm_spawn asks for (MPI 5.0 section 11.8.4).

use crate::constants::*;
use crate::error::{Error, Result};
use crate::info;
use crate::info_map::InfoMap;
use crate::memory_kinds;
use std::ffi::OsString;
use tern_settings::{Entry, INITIAL_ERRHANDLER, MEMORY_ALLOC_KINDS};

/// What the reserved keys say of one command.
#[derive(Debug)]
pub struct Hints {
    /// How many processes there may be, in falling order.
    pub counts: Vec<u32>,
    /// Their working directory.
    pub wdir: Option<OsString>,
    /// Where their command is looked for.
    pub path: Option<OsString>,
    /// The hosts that they are to be on, as `a,b:2`.
    pub host: Option<OsString>,
    /// The kind of machine that the command is for.
    pub arch: Option<OsString>,
    /// Settings of theirs: variables of their environment.
    pub settings: Vec<(&'static str, OsString)>,
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
        for placed in PLACED.into_iter().filter(|placed| key(placed).is_some()) {
            tern_settings::info!("the info key {placed} is ignored: processes go where most room is");
        }
        let list = ["host", "hosts", "add-host", "hostlist"].into_iter().find_map(key).map(OsString::from);
        let host = match ["hostfile", "add-hostfile"].into_iter().find_map(key).filter(|_| list.is_none()) {
            Some(file) => Some(hosts_of(file)?),
            None => list,
        };
        let counts = match key("soft") {
            None => vec![most],
            Some(soft) => allowed(soft, most)?,
        };
        let text = |name| key(name).map(OsString::from);
        let handler = key(INITIAL_HANDLER).map(error_handler).transpose()?;
        let settings = [(MEMORY_ALLOC_KINDS.name(), text(memory_kinds::KINDS)), (INITIAL_ERRHANDLER.name(), handler)];
        let settings = settings.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        Ok(Hints {
            counts,
            wdir: text("wdir").or_else(|| text("wd")),
            path: text("path"),
            host,
            arch: text("arch"),
            settings,
        })
    }
}

/// Keys of other libraries that say which process goes where.
const PLACED: [&str; 8] = ["map_by", "map-by", "mapper", "rank_by", "bind_to", "ppr", "npernode", "pernode"];

/// The hosts that a file names, one in each line, as a list.
fn hosts_of(file: &str) -> Result<OsString> {
    let wrong = |why: &str| Error::new(MPI_ERR_INFO_VALUE, format!("the info key hostfile names {file:?}: {why}"));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error.to_string()))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let host = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let slots = words.find_map(|word| word.strip_prefix("slots="));
        Some(slots.map_or(name.to_owned(), |slots| format!("{name}:{slots}")))
    };
    let hosts: Vec<String> = lines.filter_map(host).collect();
    if hosts.is_empty() {
        return Err(wrong("it names no host"));
    }
    Ok(hosts.join(",").into())
}

/// The reserved key with the initial error handler of the processes (section 9.3).
const INITIAL_HANDLER: &str = "mpi_initial_errhandler";

/// The value of the setting for one of the predefined error handlers.
fn error_handler(name: &str) -> Result<OsString> {
    let known = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];
    match known.into_iter().find(|known| name.trim().eq_ignore_ascii_case(known)) {
        Some(known) => Ok(known.into()),
        None => {
            err!(MPI_ERR_INFO_VALUE, "the info key {INITIAL_HANDLER} is {name:?}; it must be {}", known.join(" or "))
        }
    }
}

/// The keys of `info`, and those of a file that it names but does not set itself.
fn with_file(info: &InfoMap, file: &str) -> Result<InfoMap> {
    let wrong = |why: &str| Error::new(MPI_ERR_INFO_VALUE, format!("the info key file names {file:?}: {why}"));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error.to_string()))?;
    let mut all = InfoMap::new();
    for (key, value) in tern_pmi::hints::file(&text).map_err(|why| wrong(&why))? {
        info::put(&mut all, key, value);
    }
    for (key, value) in info {
        info::put(&mut all, key, value);
    }
    Ok(all)
}

/// The numbers that `soft` allows, in falling order (section 11.8.4).
fn allowed(soft: &str, most: u32) -> Result<Vec<u32>> {
    match tern_pmi::hints::soft(soft, most) {
        Some(counts) if counts.is_empty() => {
            err!(MPI_ERR_SPAWN, "the info key soft, {soft:?}, allows no number from 1 to {most}")
        }
        Some(counts) => Ok(counts),
        None => err!(
            MPI_ERR_INFO_VALUE,
            "the info key soft is {soft:?}; it must be numbers or ranges first:last:step, separated by commas"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_soft_range_and_what_allows_nothing_are_two_errors() {
        assert_eq!(allowed("1:3", 5).unwrap(), [3, 2, 1]);
        assert_eq!(allowed("1:2:0", 5).unwrap_err().code, MPI_ERR_INFO_VALUE);
        assert_eq!(allowed("6:9", 5).unwrap_err().code, MPI_ERR_SPAWN);
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
        // Hosts may be of another kind than this one: the launcher decides.
        assert_eq!(Hints::of(&vec![file.clone()], 4).unwrap().arch, Some("pdp11".into()));
        std::fs::remove_file(&name).unwrap();
        assert_eq!(Hints::of(&vec![file], 4).unwrap_err().code, MPI_ERR_INFO_VALUE);
    }
}
