//! What the kernel says about this process's mappings: PROCMAP_QUERY (Linux 6.11) on
//! /proc/self/maps, and PAGEMAP_SCAN (Linux 6.7) on /proc/self/pagemap.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{self, Mode, OFlags};
use rustix::io::{self, Errno};
use std::mem::size_of;
use std::ops::Range;

/// `struct procmap_query` of <linux/fs.h>.
#[repr(C)]
#[derive(Default)]
struct ProcmapQuery {
    size: u64,
    query_flags: u64,
    query_addr: u64,
    vma_start: u64,
    vma_end: u64,
    vma_flags: u64,
    vma_page_size: u64,
    vma_offset: u64,
    inode: u64,
    dev_major: u32,
    dev_minor: u32,
    vma_name_size: u32,
    build_id_size: u32,
    vma_name_addr: u64,
    build_id_addr: u64,
}

const READABLE: u64 = 1;
const WRITABLE: u64 = 2;
const EXECUTABLE: u64 = 4;
const SHARED: u64 = 8;
const COVERING_OR_NEXT: u64 = 0x10;
const FILE_BACKED: u64 = 0x20;

/// `struct page_region` of <linux/fs.h>.
#[repr(C)]
#[derive(Default)]
struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

/// `struct pm_scan_arg` of <linux/fs.h>.
#[repr(C)]
#[derive(Default)]
struct PmScanArg {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

const PAGE_IS_HUGE: u64 = 1 << 6;

/// The number of an ioctl that reads and writes a `T`: `_IOWR('f', number, T)`.
const fn read_write<T>(number: libc::c_ulong) -> libc::c_ulong {
    3 << 30 | (size_of::<T>() as libc::c_ulong) << 16 | (b'f' as libc::c_ulong) << 8 | number
}

const PROCMAP_QUERY: libc::c_ulong = read_write::<ProcmapQuery>(17);
const PAGEMAP_SCAN: libc::c_ulong = read_write::<PmScanArg>(16);

/// Which file a mapping is of: device and inode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileId {
    pub device: (u32, u32),
    pub inode: u64,
}

impl FileId {
    pub fn of(file: impl rustix::fd::AsFd) -> io::Result<FileId> {
        let stat = fs::fstat(file)?;
        Ok(FileId {
            device: (fs::major(stat.st_dev), fs::minor(stat.st_dev)),
            inode: stat.st_ino,
        })
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
    page: u64,
    flags: u64,
}

impl Vma {
    /// For tests.
    #[cfg(test)]
    pub fn made_up(range: Range<usize>, offset: u64) -> Vma {
        Vma {
            start: range.start,
            end: range.end,
            offset,
            file: FileId::default(),
            page: 4096,
            flags: 0,
        }
    }

    /// Private, of no file, readable and writable, not executable, in pages of the usual size.
    pub fn is_plain(&self) -> bool {
        self.file == FileId::default()
            && self.flags == READABLE | WRITABLE
            && self.page == rustix::param::page_size() as u64
    }

    /// A shared mapping of `file` that may be read and written.
    pub fn is_shared(&self, file: FileId) -> bool {
        self.file == file && self.flags & !EXECUTABLE == READABLE | WRITABLE | SHARED
    }
}

/// This process's mappings. In a child of fork it still answers for the parent: do not use it there.
pub struct Maps {
    maps: OwnedFd,
    pagemap: OwnedFd,
}

impl Maps {
    /// Errors: of opening the two files, and ENOTTY where the kernel does not have both ioctls.
    pub fn open() -> io::Result<Maps> {
        let open = |path| fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let maps = Maps {
            maps: open("/proc/self/maps")?,
            pagemap: open("/proc/self/pagemap")?,
        };
        // Something that is surely mapped: this process's stack.
        let here = (&raw const maps).addr();
        maps.query(here, 0)?.ok_or(Errno::NOTTY)?;
        let page = here & !(rustix::param::page_size() - 1);
        maps.has_huge(page..page + rustix::param::page_size())?;
        Ok(maps)
    }

    /// The mapping that `address` lies in.
    #[inline]
    pub fn at(&self, address: usize) -> Option<Vma> {
        self.query(address, 0).ok()?
    }

    /// The first mapping at or after `address` that is shared and of a file.
    pub fn next_shared(&self, address: usize) -> Option<Vma> {
        self.query(address, COVERING_OR_NEXT | SHARED | FILE_BACKED)
            .ok()?
    }

    fn query(&self, address: usize, flags: u64) -> io::Result<Option<Vma>> {
        let mut query = ProcmapQuery {
            size: size_of::<ProcmapQuery>() as u64,
            query_flags: flags,
            query_addr: address as u64,
            ..ProcmapQuery::default()
        };
        // SAFETY: the kernel reads and writes one `ProcmapQuery`, whose size it is told; no
        // buffers for names are given.
        let result =
            unsafe { libc::ioctl(self.maps.as_raw_fd(), PROCMAP_QUERY as _, &raw mut query) };
        if result < 0 {
            return match last_error() {
                Errno::NOENT => Ok(None),
                error => Err(error),
            };
        }
        Ok(Some(Vma {
            start: query.vma_start as usize,
            end: query.vma_end as usize,
            offset: query.vma_offset,
            file: FileId {
                device: (query.dev_major, query.dev_minor),
                inode: query.inode,
            },
            page: query.vma_page_size,
            flags: query.vma_flags,
        }))
    }

    /// Whether a huge page backs any of these whole pages.
    pub fn has_huge(&self, pages: Range<usize>) -> io::Result<bool> {
        let mut found = PageRegion::default();
        let mut scan = PmScanArg {
            size: size_of::<PmScanArg>() as u64,
            start: pages.start as u64,
            end: pages.end as u64,
            vec: (&raw mut found).addr() as u64,
            vec_len: 1,
            max_pages: 1,
            category_mask: PAGE_IS_HUGE,
            return_mask: PAGE_IS_HUGE,
            ..PmScanArg::default()
        };
        // SAFETY: the kernel reads and writes `scan`, whose size it is told, and writes at most
        // one `PageRegion` to `found`.
        let result =
            unsafe { libc::ioctl(self.pagemap.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut scan) };
        if result < 0 {
            Err(last_error())
        } else {
            Ok(result > 0)
        }
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
