//! The layout of the machine: sockets, caches, NUMA nodes.
