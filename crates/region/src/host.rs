//! What this process has: threads, functions by name, memory that is left.

use rustix::fs;
use std::ffi::{CStr, c_void};
use std::io::Read;
use std::sync::atomic::{AtomicU8, Ordering};

/// glibc's word for a process that has not started a thread (2.32).
pub struct Single(Option<&'static AtomicU8>);

impl Single {
    pub fn find() -> Single {
        let single = symbol(c"__libc_single_threaded").cast::<AtomicU8>();
        // SAFETY: null, or a `char` of glibc's, which stays where it is; it is written by the thread that starts the second one.
        Single(unsafe { single.as_ref() })
    }

    /// False too if it does not exist.
    #[inline]
    pub fn is_set(&self) -> bool {
        // Relaxed: written before there is another thread to see it.
        self.0.is_some_and(|single| single.load(Ordering::Relaxed) != 0)
    }
}

/// Whether glibc has never started a thread and the kernel knows of one only, but for those that read what is unmapped.
pub fn has_one_thread() -> bool {
    // A directory has two links and one more for each thread.
    let links = 3 + u64::from(tern_maps::watch::readers());
    Single::find().is_set() && fs::stat("/proc/self/task").is_ok_and(|stat| stat.st_nlink == links)
}

/// What the program gets when it names a function; null if nothing has it.
pub fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: looks up a name that ends in NUL.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Whether a copy of that many bytes can be made now.
pub fn has_room_for_copy(bytes: u64) -> bool {
    has_memory(bytes + bytes / 8)
}

/// Whether the machine and the cgroups of this process have so many bytes.
pub fn has_memory(needed: u64) -> bool {
    free_memory().is_some_and(|free| free >= needed) && cgroups_have(needed).unwrap_or(false)
}

/// `MemAvailable`, in bytes.
fn free_memory() -> Option<u64> {
    field(&text("/proc/meminfo")?, "MemAvailable:").map(|kib| kib * 1024)
}

/// A file of the kernel's, in one read where it is short: each further one may cost as much.
pub fn text(path: &str) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut text = Vec::with_capacity(8192);
    file.read_to_end(&mut text).ok()?;
    String::from_utf8(text).ok()
}

/// The number after a name at the start of a line.
pub fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split_ascii_whitespace().next() == Some(name))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Whether each cgroup that limits this process's memory has that much left. `None`: unknown.
fn cgroups_have(needed: u64) -> Option<bool> {
    for line in text("/proc/self/cgroup")?.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, limit, usage) = if controllers.is_empty() {
            ("/sys/fs/cgroup", "memory.max", "memory.current")
        } else if controllers.split(',').any(|one| one == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
        } else {
            continue;
        };
        let groups = std::path::Path::new(path).ancestors();
        if !groups.into_iter().all(|group| group_has(&format!("{root}{}", group.display()), limit, usage, needed)) {
            return Some(false);
        }
    }
    Some(true)
}

/// A group without a limit, or whose files are not there (the root), has what is needed.
fn group_has(directory: &str, limit: &str, usage: &str, needed: u64) -> bool {
    /// What no machine has is no limit.
    const NO_LIMIT: u64 = 1 << 60;
    let read = |name: &str| text(&format!("{directory}/{name}"));
    let number = |name: &str| read(name).and_then(|text| text.trim().parse::<u64>().ok());
    let Some(limit) = number(limit).filter(|limit| *limit < NO_LIMIT) else {
        return true;
    };
    let Some(used) = number(usage) else {
        return false;
    };
    if limit.saturating_sub(used) >= needed {
        return true;
    }
    // Cached files, which the kernel drops when it needs memory.
    let cached = read("memory.stat").and_then(|stat| field(&stat, "inactive_file")).unwrap_or(0);
    limit.saturating_sub(used.saturating_sub(cached)) >= needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let text = "MemTotal:  10 kB\nMemAvailable:    7 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(7));
        assert_eq!(field(text, "Mem"), None);
    }

    #[test]
    fn a_group_at_its_limit_has_nothing() {
        let directory = std::env::temp_dir().join(format!("tern-group-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
        let has = |needed| group_has(directory.to_str().unwrap(), "memory.max", "memory.current", needed);
        assert!(has(u64::MAX), "no files, no limit");
        write("memory.max", "1000\n");
        assert!(!has(1), "a limit, and nobody says what is used");
        write("memory.current", "900\n");
        assert!(has(100) && !has(101));
        write("memory.stat", "anon 500\ninactive_file 50\n");
        assert!(has(150) && !has(151), "cached files can go");
        write("memory.max", "max\n");
        assert!(has(u64::MAX));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
