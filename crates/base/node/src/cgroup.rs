//! The limits that control groups (version 2 and 1) put on this process.

use std::path::{Path, PathBuf};

/// What the control groups of a process allow it; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Processor time per wall time: 2.5 is two and a half cores.
    pub cpus: Option<f64>,
    /// Bytes of memory.
    pub memory: Option<u64>,
}

impl Limits {
    /// The limits of this process. What cannot be read is no limit.
    pub(crate) fn of_this_process() -> Limits {
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Limits::read(&groups, Path::new("/sys/fs/cgroup"))
    }

    /// The limits of a process whose `/proc/<pid>/cgroup` is `groups`, with the control groups
    /// mounted under `mount`. A limit of any group above counts too.
    fn read(groups: &str, mount: &Path) -> Limits {
        let mut limits = Limits::default();
        for line in groups.lines() {
            // hierarchy number : controllers : path
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let has = |name: &str| controllers.split(',').any(|controller| controller == name);
            if controllers.is_empty() {
                for dir in upwards(mount, path) {
                    limits.lower_cpus(v2_cpus(&dir));
                    limits.lower_memory(number(&dir.join("memory.max")));
                }
            } else if has("cpu") {
                for dir in upwards(&mount.join(controllers), path) {
                    limits.lower_cpus(v1_cpus(&dir));
                }
            } else if has("memory") {
                for dir in upwards(&mount.join(controllers), path) {
                    limits.lower_memory(number(&dir.join("memory.limit_in_bytes")));
                }
            }
        }
        limits
    }

    fn lower_cpus(&mut self, cpus: Option<f64>) {
        if let Some(cpus) = cpus {
            self.cpus = Some(self.cpus.map_or(cpus, |known| known.min(cpus)));
        }
    }

    fn lower_memory(&mut self, bytes: Option<u64>) {
        // Version 1 writes "no limit" as a number near the largest.
        if let Some(bytes) = bytes.filter(|bytes| *bytes < 1 << 60) {
            self.memory = Some(self.memory.map_or(bytes, |known| known.min(bytes)));
        }
    }
}

/// Bytes that the machine has left, or less where a group of this process has less.
pub(crate) fn free_memory() -> u64 {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| field(&text, "MemAvailable:")).unwrap_or(0).saturating_mul(1024);
    machine.min(free_in_groups(&groups, Path::new("/sys/fs/cgroup")))
}

/// What the groups have left, of which `groups` tells as for [`Limits::read`].
fn free_in_groups(groups: &str, mount: &Path) -> u64 {
    let mut free = u64::MAX;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, limit, usage) = match controllers {
            "" => (mount.to_owned(), "memory.max", "memory.current"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                (mount.join(controllers), "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        for dir in upwards(&root, path) {
            // Version 1 writes "no limit" as a number near the largest.
            let Some(limit) = number(&dir.join(limit)).filter(|bytes| *bytes < 1 << 60) else { continue };
            let used = number(&dir.join(usage)).unwrap_or(limit);
            // The kernel drops cached files when it needs memory.
            let stat = std::fs::read_to_string(dir.join("memory.stat")).unwrap_or_default();
            let cached = field(&stat, "inactive_file").unwrap_or(0);
            free = free.min(limit.saturating_sub(used.saturating_sub(cached)));
        }
    }
    free
}

/// The number after a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split_ascii_whitespace().next() == Some(name))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The directory of the group and all above it, up to the mount point. In a container the path may
/// be that of the host and not exist here; then the mount point is the container's own group.
fn upwards(mount: &Path, path: &str) -> Vec<PathBuf> {
    let group = Path::new(path.trim_start_matches('/'));
    group.ancestors().map(|part| mount.join(part)).filter(|dir| dir.is_dir()).collect()
}

/// `cpu.max`: quota and period in microseconds, or `max` for no quota.
fn v2_cpus(dir: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(dir.join("cpu.max")).ok()?;
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (period > 0.0).then_some(quota / period)
}

/// The quota (-1 for none) and the period, each in a file.
fn v1_cpus(dir: &Path) -> Option<f64> {
    let quota = number(&dir.join("cpu.cfs_quota_us"))?;
    let period = number(&dir.join("cpu.cfs_period_us")).filter(|period| *period > 0)?;
    Some(quota as f64 / period as f64)
}

/// The number in a file; `None` also for `max` and `-1`.
fn number(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with these files, removed when dropped.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Tree {
            let root = std::env::temp_dir().join(format!("tern-cgroup-{}-{name}", std::process::id()));
            for (path, text) in files {
                let file = root.join(path);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            Tree(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn version_2_takes_the_lowest_of_all_levels() {
        let tree = Tree::new(
            "v2",
            &[
                ("a/cpu.max", "150000 100000\n"),
                ("a/memory.max", "max\n"),
                ("a/b/cpu.max", "max 100000\n"),
                ("a/b/memory.max", "1048576\n"),
            ],
        );
        let limits = Limits::read("0::/a/b\n", &tree.0);
        assert_eq!(limits, Limits { cpus: Some(1.5), memory: Some(1048576) });
    }

    #[test]
    fn version_1_has_a_tree_per_controller() {
        let tree = Tree::new(
            "v1",
            &[
                ("cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n"),
                ("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n"),
                ("cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
                ("cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
                ("memory/x/memory.limit_in_bytes", "9223372036854771712\n"),
            ],
        );
        let limits = Limits::read("4:cpu,cpuacct:/x\n3:memory:/x\n1:name=systemd:/init\n", &tree.0);
        assert_eq!(limits, Limits { cpus: Some(0.5), memory: None });
    }

    #[test]
    fn in_a_container_the_mount_point_counts() {
        let tree = Tree::new("docker", &[("cpu.max", "200000 100000\n")]);
        let limits = Limits::read("0::/docker/0123456789abcdef\n", &tree.0);
        assert_eq!(limits.cpus, Some(2.0));
    }

    #[test]
    fn nothing_to_read_is_no_limit() {
        assert_eq!(Limits::read("", Path::new("/dev/null/none")), Limits::default());
        assert_eq!(Limits::read("0::/\nnonsense\n", Path::new("/dev/null/none")), Limits::default());
    }

    #[test]
    fn what_is_free_is_what_the_tightest_group_has_left() {
        let stat = "anon 7\ninactive_file 1000\n";
        let v2 = Tree::new(
            "free-v2",
            &[
                ("a/memory.max", "9000\n"),
                ("a/memory.current", "2000\n"),
                ("a/b/memory.max", "8000\n"),
                ("a/b/memory.current", "7000\n"),
                ("a/b/memory.stat", stat),
                ("memory.max", "max\n"),
            ],
        );
        assert_eq!(free_in_groups("0::/a/b\n", &v2.0), 2000);
        assert_eq!(free_in_groups("0::/a\n", &v2.0), 7000);
        assert_eq!(free_in_groups("0::/\n", &v2.0), u64::MAX);
        let v1 = Tree::new(
            "free-v1",
            &[
                ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("memory/x/memory.limit_in_bytes", "500\n"),
                ("memory/x/memory.usage_in_bytes", "900\n"),
            ],
        );
        assert_eq!(free_in_groups("3:memory:/x\n1:name=systemd:/y\n", &v1.0), 0, "more is used than allowed");
        assert_eq!(free_in_groups("3:memory:/\n", &v1.0), u64::MAX);
    }

    #[test]
    fn something_is_free_on_this_machine() {
        assert!(free_memory() > 1 << 20);
    }
}
