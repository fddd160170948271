//! Buffered sends: attached buffers (MPI 5.0 section 3.6).

/// An attached buffer.
#[derive(Debug)]
pub struct Pool {}
