//! What kind of memory an address range is, as the kernel says.

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{self, Mode, OFlags};
use std::io::{BufRead, BufReader};

/// `struct procmap_query` of <linux/fs.h> (Linux 6.11).
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

const WRITABLE: u64 = 2;
const SHARED: u64 = 8;

/// `_IOWR('f', 17, struct procmap_query)`.
const PROCMAP_QUERY: u64 = 3 << 30 | (size_of::<ProcmapQuery>() as u64) << 16 | (b'f' as u64) << 8 | 17;

/// One mapping, as far as it matters here.
struct Mapping {
    end: u64,
    /// Writable, of this process alone, and of no file.
    plain: bool,
}

/// This process's mappings. In a child of fork it still answers for the parent: do not use it there.
pub struct Mappings(OwnedFd);

impl Mappings {
    /// Errors: of opening /proc/self/maps.
    pub fn open() -> rustix::io::Result<Mappings> {
        Ok(Mappings(fs::open("/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// True when all of `start..end` is mapped, may be written, and is this process's alone and of no
    /// file: the pages of other memory can go without an unmapping that this process makes (another
    /// process truncates the file).
    pub fn are_plain(&self, start: u64, end: u64) -> bool {
        let mut at = start;
        while at < end {
            match self.query(at) {
                Ok(Some(Mapping { end, plain: true })) => at = end,
                Ok(_) => return false,
                // Older kernels, and sandboxes.
                Err(_) => return self.are_plain_by_text(start, end),
            }
        }
        true
    }

    fn query(&self, address: u64) -> Result<Option<Mapping>, rustix::io::Errno> {
        let size = size_of::<ProcmapQuery>() as u64;
        let mut query = ProcmapQuery { size, query_addr: address, ..ProcmapQuery::default() };
        // SAFETY: the kernel reads and writes one `ProcmapQuery`, whose size it is told; no buffers for
        // names are given.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), PROCMAP_QUERY as _, &raw mut query) };
        if result < 0 {
            return match rustix::io::Errno::from_io_error(&std::io::Error::last_os_error()) {
                Some(rustix::io::Errno::NOENT) => Ok(None),
                error => Err(error.unwrap_or(rustix::io::Errno::NOTTY)),
            };
        }
        let ours = query.vma_flags & (WRITABLE | SHARED) == WRITABLE;
        let plain = ours && query.inode == 0 && (query.dev_major, query.dev_minor) == (0, 0);
        Ok(Some(Mapping { end: query.vma_end, plain }))
    }

    fn are_plain_by_text(&self, start: u64, end: u64) -> bool {
        let Ok(file) = std::fs::File::open("/proc/self/maps") else { return false };
        let mut at = start;
        for line in BufReader::new(file).lines() {
            let Some((from, to, plain)) = line.ok().as_deref().and_then(parse) else { return false };
            if to <= at {
                continue;
            }
            if from > at || !plain {
                return false;
            }
            at = to;
            if at >= end {
                return true;
            }
        }
        false
    }
}

/// A line of /proc/self/maps: first address, last, and whether it is plain.
fn parse(line: &str) -> Option<(u64, u64, bool)> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let (rights, _offset, device, inode) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let address = |text| u64::from_str_radix(text, 16).ok();
    let plain = rights.as_bytes().get(1) == Some(&b'w') && rights.ends_with('p') && device == "00:00" && inode == "0";
    Some((address(from)?, address(to)?, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_is_plain_and_code_is_not() {
        let maps = Mappings::open().unwrap();
        let here = (&raw const maps).addr() as u64;
        let code = parse as fn(&'static str) -> _ as usize as u64;
        for plain in [Mappings::are_plain, Mappings::are_plain_by_text] {
            assert!(plain(&maps, here & !4095, (here & !4095) + 4096));
            assert!(!plain(&maps, code & !4095, (code & !4095) + 4096));
            assert!(!plain(&maps, 0, 4096), "nothing is mapped there");
        }
    }

    #[test]
    fn lines_are_understood() {
        let heap = "7f10-7f20 rw-p 00000000 00:00 0                [heap]";
        assert_eq!(parse(heap), Some((0x7f10, 0x7f20, true)));
        assert_eq!(parse("10-20 rw-p 00001000 fe:01 77 /lib/x.so"), Some((0x10, 0x20, false)));
        assert_eq!(parse("10-20 rw-s 00000000 00:01 9 /dev/zero (deleted)"), Some((0x10, 0x20, false)));
        assert_eq!(parse("nonsense"), None);
    }
}
