//! What the tests share: files of their own, bytes without a period, views for random types.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use tern_io::{File, Memory, Mode};
use tern_layout::Type;

pub const BOTH: Mode = Mode { read: true, write: true, create: true, exclusive: false };

/// A name for a file, which goes with its file when it is dropped.
pub struct Name(PathBuf);

impl Name {
    pub fn new() -> Name {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = Name(std::env::temp_dir().join(format!("tern-io-{}-{number}", std::process::id())));
        // A process that was killed may have had this number, and left its file.
        let _ = std::fs::remove_file(&name.0);
        name
    }

    /// A file with these bytes.
    pub fn with(bytes: &[u8]) -> Name {
        let name = Name::new();
        std::fs::write(&name.0, bytes).unwrap();
        name
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn open(&self) -> File {
        File::open(&self.0, BOTH).unwrap()
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.0).unwrap()
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Bytes without a period that strides could hide behind.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let byte = |i: usize| ((seed << 32).wrapping_add(i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8;
    (0..len).map(byte).collect()
}

pub fn dense<'a>(bytes: &mut [u8], byte: &'a Rc<Type>) -> Memory<'a> {
    Memory { base: bytes.as_mut_ptr(), count: bytes.len() as i64, ty: byte }
}
