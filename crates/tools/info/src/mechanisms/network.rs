//! What network cards need.

use super::Found;
use crate::print::size;

/// Cards that speak verbs: their device files, as the kernel and the container show them.
pub fn verbs() -> Found {
    let names = |dir: &str, prefix: &str| -> Vec<String> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
        names.sort();
        names
    };
    let cards = names("/sys/class/infiniband", "");
    let files = names("/dev/infiniband", "uverbs");
    match (cards.is_empty(), files.is_empty()) {
        (false, false) => Found::Yes(format!("{} ({})", cards.join(", "), files.join(", "))),
        (false, true) => Found::No(format!(
            "there are cards ({}) but no /dev/infiniband/uverbs*; load ib_uverbs, or pass the \
             device files to the container",
            cards.join(", ")
        )),
        _ => Found::No("there is no card: nothing in /sys/class/infiniband".into()),
    }
}

/// How much memory may be pinned for cards.
pub fn locked_memory() -> Found {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    match limit {
        None => Found::Yes("no limit".into()),
        Some(bytes) if bytes >= 64 << 20 => Found::Yes(format!("up to {} for network cards", size(bytes))),
        Some(bytes) => Found::No(format!(
            "at most {}; only network cards need it. To raise it: ulimit -l, \
             /etc/security/limits.conf, or LimitMEMLOCK of the service",
            size(bytes)
        )),
    }
}
