//! Values of options.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use tern_settings::{Entry, FT, Kind, Manager, Starter};

use crate::options::Stdin;

/// After `option`.
pub(super) fn count(option: &str, value: &OsStr) -> Result<u32, String> {
    match value.to_str().and_then(|text| text.parse().ok()) {
        Some(count) if count > 0 => Ok(count),
        _ => Err(format!("{option} needs a number of processes, 1 or more, not {}", shown(value))),
    }
}

pub(super) fn nodes(value: &OsStr) -> Result<u32, String> {
    match value.to_str().and_then(|text| text.parse().ok()) {
        Some(nodes) if nodes > 0 => Ok(nodes),
        _ => Err(format!("--nodes needs a number of nodes, 1 or more, not {}", shown(value))),
    }
}

pub(super) fn seconds(name: &str, value: &OsStr) -> Result<Duration, String> {
    let text = value.to_str().unwrap_or_default();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match text.parse::<f64>() {
        Ok(seconds) if plain && seconds > 0.0 && seconds < 1e9 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("{name} needs a number of seconds above 0, not {}", shown(value))),
    }
}

pub(super) fn universe(value: &OsStr) -> Result<Option<u32>, String> {
    match value.to_str().map(str::to_lowercase).as_deref() {
        Some("system") => Ok(None),
        Some("infinite") => Ok(Some(0)),
        text => match text.and_then(|text| text.parse().ok()) {
            Some(size) if (1..=i32::MAX as u32).contains(&size) => Ok(Some(size)),
            _ => Err(format!("--usize needs a number of processes, infinite or system, not {}", shown(value))),
        },
    }
}

/// `NAME=VALUE`; or `NAME`, which all programs inherit anyway if it is set.
pub(super) fn export(value: &OsStr) -> Result<Option<(OsString, OsString)>, String> {
    let (name, value) = split_assignment(value);
    let name = checked_name(name)?;
    Ok(value.map(|value| (name, value)))
}

pub(super) fn split_assignment(text: &OsStr) -> (OsString, Option<OsString>) {
    let bytes = text.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => (OsStr::from_bytes(&bytes[..at]).to_owned(), Some(OsStr::from_bytes(&bytes[at + 1..]).to_owned())),
        None => (text.to_owned(), None),
    }
}

pub(super) fn checked_name(name: OsString) -> Result<OsString, String> {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        return Err(format!("{} is no name of an environment variable", shown(&name)));
    }
    Ok(name)
}

/// An argument for a message.
pub(super) fn shown(arg: &OsStr) -> String {
    let text = arg.to_string_lossy();
    if text.is_empty() { "an empty argument".into() } else { text.into_owned() }
}

/// Names with commas between.
pub(super) fn names(value: &OsStr) -> Vec<OsString> {
    let names = value.as_bytes().split(|byte| *byte == b',').filter(|name| !name.is_empty());
    names.map(|name| OsStr::from_bytes(name).to_owned()).collect()
}

/// Which ranks read the standard input.
pub(super) fn stdin(value: &OsStr) -> Result<Stdin, String> {
    match value.to_str().unwrap_or_default() {
        "all" => Ok(Stdin::All),
        "none" => Ok(Stdin::Nobody),
        text => match text.parse() {
            Ok(rank) => Ok(Stdin::Rank(rank)),
            Err(_) => Err(format!("--stdin needs the number of a rank, all or none, not {}", shown(value))),
        },
    }
}

/// One of three error handlers (MPI 5.0, section 9.3).
pub(super) fn error_handler(value: OsString) -> Result<OsString, String> {
    let known = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];
    let lower = value.to_string_lossy().to_lowercase();
    match known.contains(&lower.as_str()) {
        true => Ok(lower.into()),
        false => Err(format!("-initial-errhandler needs {}, not {}", known.join(" or "), shown(&value))),
    }
}

/// The name of the files after `--output-filename`: without what Open MPI lets follow a colon.
pub(super) fn output_file(value: &OsStr) -> Vec<u8> {
    let options = [&b":nocopy"[..], b":raw", b":pattern"];
    let bytes = value.as_bytes();
    options.iter().find_map(|option| bytes.strip_suffix(*option)).unwrap_or(bytes).to_vec()
}

/// Whether the job is to go on when it loses ranks, by the words of Open MPI or those of a setting.
pub(super) fn recovery(word: &OsStr) -> Option<bool> {
    match word.to_str()?.to_lowercase().as_str() {
        "ulfm" | "mpi" => Some(true),
        "none" => Some(false),
        word => bool::parse(word, (0, 0)).ok().map(|on| on != 0),
    }
}

/// The variable that says so to the ranks.
pub(super) fn with_ft(on: bool) -> (OsString, OsString) {
    (FT.name().into(), if on { "on" } else { "off" }.into())
}

/// What starts agents, by Hydra's names too; nothing for one that only Hydra knows.
pub(super) fn launcher(word: &str) -> Option<Starter> {
    Some(match word {
        "auto" => Starter::Auto,
        "ssh" | "rsh" => Starter::Ssh,
        "srun" | "slurm" => Starter::Srun,
        "blaunch" | "lsf" => Starter::Blaunch,
        "qrsh" | "sge" => Starter::Qrsh,
        "fork" => Starter::Fork,
        _ => return None,
    })
}

/// Which resource manager is asked.
pub(super) fn manager(word: &str) -> Result<Manager, String> {
    Ok(match word {
        "auto" => Manager::Auto,
        "none" | "user" => Manager::None,
        "slurm" => Manager::Slurm,
        "pbs" | "torque" => Manager::Pbs,
        "lsf" => Manager::Lsf,
        "sge" => Manager::Sge,
        _ => return Err(format!("-rmk needs slurm, pbs, lsf, sge, none or auto, not {word}")),
    })
}
