//! One mapping.

use rustix::fs;
use rustix::io;
use std::ops::Range;

// Flags of a mapping, as PROCMAP_QUERY tells them.
const READABLE: u64 = 1;
const WRITABLE: u64 = 2;
const EXECUTABLE: u64 = 4;
pub const SHARED: u64 = 8;

/// Which file a mapping is of: device and inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileId {
    pub device: (u32, u32),
    pub inode: u64,
}

impl FileId {
    pub fn of(file: impl rustix::fd::AsFd) -> io::Result<FileId> {
        let stat = fs::fstat(file)?;
        Ok(FileId { device: (fs::major(stat.st_dev), fs::minor(stat.st_dev)), inode: stat.st_ino })
    }
}

/// One mapping of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vma {
    pub start: usize,
    pub end: usize,
    /// Where in its file it starts, in bytes.
    pub offset: u64,
    /// All zeros for memory that is no file's.
    pub file: FileId,
    /// Bytes of a page: more than the usual for memory of hugetlbfs.
    pub(crate) page: u64,
    pub(crate) flags: u64,
}

impl Vma {
    /// For tests: a mapping that is neither readable nor anything else.
    pub fn made_up(range: Range<usize>, offset: u64) -> Vma {
        Vma { start: range.start, end: range.end, offset, file: FileId::default(), page: 4096, flags: 0 }
    }

    /// A shared mapping that may be read and written.
    pub fn shared_memory(range: Range<usize>, offset: u64, file: FileId) -> Vma {
        let page = rustix::param::page_size() as u64;
        Vma { start: range.start, end: range.end, offset, file, page, flags: READABLE | WRITABLE | SHARED }
    }

    /// What may be done there, in the bits of mmap: `PROT_READ`, `PROT_WRITE` and `PROT_EXEC`.
    pub fn rights(&self) -> u32 {
        // The kernel tells them in the same bits.
        (self.flags & (READABLE | WRITABLE | EXECUTABLE)) as u32
    }

    /// Writable, of this process alone, and of no file.
    pub fn is_own(&self) -> bool {
        self.file == FileId::default() && self.flags & (WRITABLE | SHARED) == WRITABLE
    }

    /// The same, readable, not executable, and in pages of the usual size.
    pub fn is_plain(&self) -> bool {
        self.is_own() && self.flags == READABLE | WRITABLE && self.page == rustix::param::page_size() as u64
    }

    /// A shared mapping of `file` that may be read and written.
    pub fn is_shared(&self, file: FileId) -> bool {
        self.file == file && self.flags & !EXECUTABLE == READABLE | WRITABLE | SHARED
    }

    /// A shared mapping of some file.
    pub fn is_shared_file(&self) -> bool {
        self.flags & SHARED != 0 && self.file != FileId::default()
    }

    /// The part of it at these addresses, as if it were one by itself.
    pub fn part(&self, range: Range<usize>) -> Vma {
        Vma { start: range.start, end: range.end, offset: self.offset + (range.start - self.start) as u64, ..*self }
    }

    /// A line of /proc/self/maps. (The size of pages is not told, and taken for the usual one.)
    pub(crate) fn parse(line: &str) -> Option<Vma> {
        let hex = |text| usize::from_str_radix(text, 16).ok();
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let rights = words.next()?.chars().zip([READABLE, WRITABLE, EXECUTABLE, SHARED]);
        let flags = rights.filter(|(set, _)| "rwxs".contains(*set)).map(|(_, flag)| flag).sum();
        let offset = hex(words.next()?)? as u64;
        let (major, minor) = words.next()?.split_once(':')?;
        let device = (hex(major)? as u32, hex(minor)? as u32);
        let file = FileId { device, inode: words.next()?.parse().ok()? };
        let page = rustix::param::page_size() as u64;
        Some(Vma { start: hex(start)?, end: hex(end)?, offset, file, page, flags })
    }
}
