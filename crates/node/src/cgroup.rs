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
        assert_eq!(Limits::read("", Path::new("/nonexistent")), Limits::default());
        assert_eq!(Limits::read("0::/\nnonsense\n", Path::new("/nonexistent")), Limits::default());
    }
}
