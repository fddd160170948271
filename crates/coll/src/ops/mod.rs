//! Predefined reduction operations.
/// Placeholder until the kernels land.
#[derive(Clone, Copy, Debug)]
pub enum Op { Sum }
