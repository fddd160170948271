//! Benchmarks, side by side with the peers.
