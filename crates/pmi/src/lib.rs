//! How a process learns who it is.
