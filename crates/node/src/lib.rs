//! This machine: cores, affinity, cgroup limits.
