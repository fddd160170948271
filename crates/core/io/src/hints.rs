//! What an access is asked to do, and by which methods.

/// Which way a system call moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
}

/// Whether to use a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Where it is faster.
    #[default]
    Auto,
    /// Wherever it can be used ("enable").
    Always,
    /// "disable".
    Never,
}

/// What the caller wishes and knows of the accesses to a file.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// Reading windows of the file with their holes (`romio_ds_read`).
    pub read_sieving: Choice,
    /// Reading windows, changing them, and writing them back, under a lock (`romio_ds_write`). Never
    /// where the file cannot be read, or has no locks.
    pub write_sieving: Choice,
    /// Bytes of a window for reading (`ind_rd_buffer_size`).
    pub read_buffer: usize,
    /// Bytes of a window for writing (`ind_wr_buffer_size`).
    pub write_buffer: usize,
    /// Others may change windows of this file while we write: plain writes take a shared lock, so that
    /// no window is written back over them. Not needed while all views of the file are contiguous, or
    /// with one process.
    pub guarded: bool,
    /// Atomic mode: each access happens under one lock. An error where the file has no locks.
    pub atomic: bool,
}

impl Default for Hints {
    fn default() -> Hints {
        Hints {
            read_sieving: Choice::Auto,
            write_sieving: Choice::Auto,
            read_buffer: 4 << 20,
            write_buffer: 512 << 10,
            guarded: true,
            atomic: false,
        }
    }
}
