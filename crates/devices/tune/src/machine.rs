//! What machine this is, as far as costs depend on it.

use tern_node::topology::{Neighbours, first_line};

/// What costs depend on: the processor, its microcode, the kernel and whether it has Tern's module, the cores that may be used and
/// how they lie. Two machines of one kind have the same text, so that machines which share a home
/// directory share their results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine(String);

impl Machine {
    /// This machine, for a job on these cores. Reads a few small files, whatever the number of
    /// cores.
    pub fn new(cores: &[usize]) -> Machine {
        let system = rustix::system::uname();
        let around = cores.first().map_or_else(Neighbours::default, |first| Neighbours::of(*first));
        let first_line = |file: &str| first_line(file).unwrap_or_else(|| "unknown".to_owned());
        Machine(format!(
            "{}, microcode {}; Linux {} {}{}; cores {} (core {}, l2 {}, cache {}, node {} of {})",
            processor(),
            first_line("cpu/cpu0/microcode/version"),
            system.release().to_string_lossy(),
            system.machine().to_string_lossy(),
            // Without it its costs cannot be measured, and the file of a machine without it stays what it was.
            if tern_region::module::is_there() { " with the module tern" } else { "" },
            tern_node::list(cores),
            tern_node::list(&around.siblings),
            tern_node::list(&around.l2),
            tern_node::list(&around.cache),
            tern_node::list(&around.node),
            first_line("node/online"),
        ))
    }

    /// The name of its file, which another version of the text has another one for.
    pub fn file(&self) -> String {
        format!("costs{}-{:016x}", crate::text::version(), hash(self.0.as_bytes()))
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of the processor and its model, from the processor itself: /proc/cpuinfo can take
/// milliseconds on large machines.
#[cfg(target_arch = "x86_64")]
fn processor() -> String {
    use std::arch::x86_64::__cpuid;
    let mut name = Vec::new();
    if __cpuid(0x8000_0000).eax >= 0x8000_0004 {
        for leaf in 0x8000_0002..=0x8000_0004 {
            let part = __cpuid(leaf);
            for word in [part.eax, part.ebx, part.ecx, part.edx] {
                name.extend(word.to_le_bytes());
            }
        }
    }
    let name = String::from_utf8_lossy(&name);
    let name = name.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    let one_line: String = name.chars().filter(|c| !c.is_control()).collect();
    format!("{one_line} (model {:x})", __cpuid(1).eax)
}

#[cfg(not(target_arch = "x86_64"))]
fn processor() -> String {
    let file = "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1";
    let text = std::fs::read_to_string(file).unwrap_or_default();
    format!("processor {}", text.trim())
}

/// FNV-1a: the same in every build of Tern.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_file_follows_from_the_machine() {
        let machine = |text: &str| Machine(text.into());
        // Known answers of FNV-1a.
        assert_eq!(machine("").file(), "costs5-cbf29ce484222325");
        assert_eq!(machine("foobar").file(), "costs5-85944171f73967e8");
        assert_ne!(machine("one").file(), machine("two").file());
    }

    #[test]
    fn other_cores_are_another_machine() {
        let cores = tern_node::affinity();
        assert_eq!(Machine::new(&cores), Machine::new(&cores));
        assert_ne!(Machine::new(&cores), Machine::new(&[1022, 1023]));
        assert_eq!(Machine::new(&cores).to_string().lines().count(), 1);
    }
}
