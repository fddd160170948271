//! Memory that is left, in the machine and in the cgroups of this process.

use crate::host::{field, text};
use crate::node_file::NodeFile;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::pread;

/// What no machine has is no limit.
const NO_LIMIT: u64 = 1 << 60;

/// The kernel's answers, and the files that have them, for a time when no file can be opened: the program has used all its descriptors,
/// has changed its root directory, or has no /proc any more.
pub struct Kept {
    /// `None`: nothing was asked yet.
    files: Option<Vec<(String, NodeFile)>>,
    texts: Vec<(String, String)>,
}

impl Kept {
    pub const fn new() -> Kept {
        Kept { files: None, texts: Vec::new() }
    }

    /// Opens what changes from moment to moment, and reads the rest. Once.
    pub fn prepare(&mut self) {
        if self.files.is_some() {
            return;
        }
        let mut files = vec!["/proc/meminfo".to_owned()];
        self.note("/proc/self/cgroup");
        for group in groups(self).unwrap_or_default() {
            let limit = group.file(group.names.limit);
            self.note(&limit);
            if self.read(&limit).is_some_and(|text| limit_of(&text).is_some()) {
                files.extend([group.names.usage, group.names.stat].map(|name| group.file(name)));
            }
        }
        let opened = files.into_iter().filter_map(|path| {
            let file = open(path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
            Some((path, NodeFile::new(file).ok()?))
        });
        self.files = Some(opened.collect());
    }

    /// In a child, which asks nothing: closes what is open.
    pub fn forget(&mut self) {
        *self = Kept::new();
    }

    fn note(&mut self, path: &str) {
        if let Some(text) = text(path) {
            self.texts.push((path.to_owned(), text));
        }
    }

    /// What the file says now, or has said.
    fn read(&self, path: &str) -> Option<String> {
        text(path).or_else(|| {
            let files = self.files.iter().flatten();
            let file = files.filter(|(name, _)| name == path).find_map(|(_, file)| file.open());
            match file {
                Some(file) => {
                    let mut bytes = vec![0; 8192];
                    let len = pread(file, &mut bytes, 0).ok()?;
                    bytes.truncate(len);
                    String::from_utf8(bytes).ok()
                }
                None => self.texts.iter().find(|(name, _)| name == path).map(|(_, text)| text.clone()),
            }
        })
    }
}

/// Whether a copy of that many bytes can be made now. A process that has never seen /proc knows of no cgroup: its fork counts on what the
/// machine has.
pub fn for_copy(bytes: u64, kept: &Kept) -> bool {
    let needed = bytes + bytes / 8;
    free(kept) >= needed && in_groups(needed, kept).unwrap_or(true)
}

/// Whether the machine and the cgroups of this process have so many bytes. What is not known counts as no.
pub fn has(needed: u64, kept: &Kept) -> bool {
    free(kept) >= needed && in_groups(needed, kept).unwrap_or(false)
}

fn in_groups(needed: u64, kept: &Kept) -> Option<bool> {
    Some(groups(kept)?.iter().all(|group| group.has(needed, kept)))
}

/// `MemAvailable`, in bytes; where nobody says that, what is free, which is less.
fn free(kept: &Kept) -> u64 {
    let available = kept.read("/proc/meminfo").and_then(|text| field(&text, "MemAvailable:"));
    available.map_or_else(unused, |kib| kib * 1024)
}

fn unused() -> u64 {
    let system = rustix::system::sysinfo();
    (system.freeram as u64 + system.bufferram as u64) * u64::from(system.mem_unit)
}

/// The files of a cgroup, in one version of them.
#[derive(Clone, Copy)]
struct Names {
    root: &'static str,
    limit: &'static str,
    usage: &'static str,
    stat: &'static str,
}

const SECOND: Names =
    Names { root: "/sys/fs/cgroup", limit: "memory.max", usage: "memory.current", stat: "memory.stat" };
const FIRST: Names = Names {
    root: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    stat: "memory.stat",
};

struct Group {
    directory: String,
    names: Names,
}

/// The cgroups that may limit this process's memory. `None`: unknown.
fn groups(kept: &Kept) -> Option<Vec<Group>> {
    let mut groups = Vec::new();
    for line in kept.read("/proc/self/cgroup")?.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let names = if controllers.is_empty() {
            SECOND
        } else if controllers.split(',').any(|one| one == "memory") {
            FIRST
        } else {
            continue;
        };
        let above = std::path::Path::new(path).ancestors();
        groups.extend(above.map(|group| Group { directory: format!("{}{}", names.root, group.display()), names }));
    }
    Some(groups)
}

fn limit_of(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|limit| *limit < NO_LIMIT)
}

impl Group {
    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    /// A group without a limit, or whose files are not there (the root), has what is needed.
    fn has(&self, needed: u64, kept: &Kept) -> bool {
        let read = |name| kept.read(&self.file(name));
        let Some(limit) = read(self.names.limit).and_then(|text| limit_of(&text)) else {
            return true;
        };
        let Some(used) = read(self.names.usage).and_then(|text| text.trim().parse::<u64>().ok()) else {
            return false;
        };
        if limit.saturating_sub(used) >= needed {
            return true;
        }
        // Cached files, which the kernel drops when it needs memory.
        let cached = read(self.names.stat).and_then(|stat| field(&stat, "inactive_file")).unwrap_or(0);
        limit.saturating_sub(used.saturating_sub(cached)) >= needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_at_its_limit_has_nothing() {
        let directory = std::env::temp_dir().join(format!("tern-group-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.join(name), text).unwrap();
        let group = Group { directory: directory.to_str().unwrap().to_owned(), names: SECOND };
        let has = |needed| group.has(needed, &Kept::new());
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

    #[test]
    fn what_was_asked_is_known_where_no_file_can_be_opened() {
        let mut kept = Kept::new();
        kept.prepare();
        let files = kept.files.as_ref().unwrap();
        assert!(files[0].0 == "/proc/meminfo" && files[0].1.open().is_some());
        let moved = |(path, file): (String, NodeFile)| (format!("/gone{path}"), file);
        kept.files = kept.files.map(|files| files.into_iter().map(moved).collect());
        assert!(kept.read("/gone/proc/meminfo").is_some_and(|text| field(&text, "MemAvailable:").is_some()));
        kept.texts = vec![("/gone".to_owned(), "7".to_owned())];
        assert_eq!(kept.read("/gone").as_deref(), Some("7"));
        assert!(unused() > 0);
    }
}
