//! Which pages are huge, as the kernel says: PAGEMAP_SCAN (Linux 6.7) on /proc/self/pagemap.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{self, Mode, OFlags};
use rustix::io::{self, Errno};
use std::ops::Range;

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

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: u64 = 3 << 30 | (size_of::<PmScanArg>() as u64) << 16 | (b'f' as u64) << 8 | 16;

/// This process's pages. In a child of fork it still answers for the parent: do not use it there.
pub struct HugePages(OwnedFd);

impl HugePages {
    /// Errors: of opening the file, and ENOTTY where the kernel does not have the call.
    pub fn open() -> io::Result<HugePages> {
        let pages = HugePages(fs::open("/proc/self/pagemap", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
        let size = rustix::param::page_size();
        let here = (&raw const pages).addr() & !(size - 1);
        pages.are_among(here..here + size)?;
        Ok(pages)
    }

    /// Whether a huge page backs any of these whole pages.
    pub fn are_among(&self, pages: Range<usize>) -> io::Result<bool> {
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
        // SAFETY: the kernel reads and writes `scan`, whose size it is told, and writes at most one `PageRegion` to
        // `found`.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut scan) };
        if result < 0 {
            return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
        }
        Ok(result > 0)
    }
}
