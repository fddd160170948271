//! Which cores the benchmarks run on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use tern_node::Shape;

/// The first of a list such as `0-1` or `0,64`.
fn first(list: &str) -> Option<usize> {
    list.trim().split([',', '-']).next()?.parse().ok()
}

/// Whether `cpu` is the first hardware thread of its core; unknown counts as yes.
fn leads_its_core(cpu: usize) -> bool {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    fs::read_to_string(path).ok().and_then(|list| first(&list)).is_none_or(|lead| lead == cpu)
}

/// Restricts this process, and so everything that it starts, to `wanted` cores, and returns
/// their numbers, neighbours side by side. Takes one hardware thread of each core, and second threads only where there
/// are not enough cores. Errors when even these do not suffice.
pub fn restrict(wanted: usize) -> Result<Vec<usize>, String> {
    let allowed = sched_getaffinity(None).map_err(|e| format!("sched_getaffinity: {e}"))?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    // Linux may number the cores of two packages in turns.
    let allowed: Vec<usize> = Shape::outline(&allowed).threads().iter().map(|thread| thread.number).collect();
    let (leads, others): (Vec<usize>, Vec<usize>) = allowed.into_iter().partition(|&cpu| leads_its_core(cpu));
    let chosen: Vec<usize> = leads.into_iter().chain(others).take(wanted).collect();
    if wanted == 0 || chosen.len() < wanted {
        return Err(format!("--cores {wanted}: this process may use {} cores", chosen.len()));
    }
    let mut set = CpuSet::new();
    for &cpu in &chosen {
        set.set(cpu);
    }
    sched_setaffinity(None, &set).map_err(|e| format!("sched_setaffinity: {e}"))?;
    Ok(chosen)
}

/// Model name of the processor, as the kernel gives it.
pub fn model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    let name = line.and_then(|rest| rest.split_once(':')).map(|(_, name)| name.trim());
    name.unwrap_or("unknown processor").to_string()
}

/// Release of the running kernel.
pub fn kernel() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_cpu_list() {
        assert_eq!(first("0-1\n"), Some(0));
        assert_eq!(first("3,67"), Some(3));
        assert_eq!(first(""), None);
    }

    #[test]
    fn more_cores_than_there_are_is_an_error() {
        assert!(restrict(CpuSet::MAX_CPU + 1).is_err());
        assert!(restrict(0).is_err());
    }
}
