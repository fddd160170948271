//! mpiexec: starts the ranks of a job, passes their output and signals on, cleans up.
fn main() {}
