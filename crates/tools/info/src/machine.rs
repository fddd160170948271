//! The machine, as far as this process may use it.

use tern_node::topology::{Cache, Machine};

use crate::print::{self, size};

/// Cores, caches, memory, limits.
pub fn report() -> String {
    let machine = Machine::read();
    let mut text = print::heading("Machine");
    let mut line = |name: &str, value: String| text.push_str(&print::line(name, &value));
    line("host", tern_node::hostname());
    line("kernel", rustix::system::uname().release().to_string_lossy().into_owned());
    if let Some(model) = &machine.model {
        line("processor", model.clone());
    }
    line(
        "cores",
        format!(
            "{} in {}, {}",
            machine.cores.len(),
            counted(machine.packages, "package"),
            counted(machine.threads.len(), "hardware thread")
        ),
    );
    line("this process", usable());
    if tern_node::is_shown() {
        let shown = tern_settings::TOPOLOGY.get();
        line(
            "shown",
            format!("the machine in {shown} (TERN_TOPOLOGY), there threads {}", list(&tern_node::affinity())),
        );
    }
    for (cache, count) in caches(&machine.caches) {
        let kind = if cache.kind == "Unified" { String::new() } else { format!(" {}", cache.kind.to_lowercase()) };
        line(
            "cache",
            format!(
                "{count} x level {}{kind}, {}, for {} each",
                cache.level,
                size(cache.size),
                counted(cache.shared_by.len(), "thread")
            ),
        );
    }
    for node in &machine.nodes {
        let memory = node.memory.map_or(String::new(), |memory| format!(", {}", size(memory)));
        line("NUMA node", format!("{}: threads {}{memory}", node.number, list(&node.cores)));
    }
    line("memory", memory());
    line("page", size(tern_node::page_size() as u64));
    text
}

fn usable() -> String {
    let affinity = tern_node::kernel_affinity();
    let quota = match tern_node::limits().cpus {
        Some(cpus) => format!("; its control group allows {cpus} cores of time"),
        None => String::new(),
    };
    format!("{} cores to use: its affinity mask is {}{quota}", tern_node::usable_cores(), list(&affinity))
}

fn memory() -> String {
    match tern_node::limits().memory {
        Some(limit) => {
            format!("{}; the control group of this process allows {}", size(tern_node::memory_total()), size(limit))
        }
        None => size(tern_node::memory_total()),
    }
}

/// Caches that differ only in who shares them, counted.
fn caches(all: &[Cache]) -> Vec<(Cache, usize)> {
    let mut found: Vec<(Cache, usize)> = Vec::new();
    for cache in all {
        let same = |other: &Cache| {
            (other.level, &other.kind, other.size, other.shared_by.len())
                == (cache.level, &cache.kind, cache.size, cache.shared_by.len())
        };
        match found.iter_mut().find(|(other, _)| same(other)) {
            Some((_, count)) => *count += 1,
            None => found.push((cache.clone(), 1)),
        }
    }
    found
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// `0-3,8`.
fn list(cores: &[usize]) -> String {
    tern_node::list(cores)
}
