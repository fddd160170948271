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

    /// The part of it at these addresses, as if it were one by itself.
    pub fn part(&self, range: Range<usize>) -> Vma {
        Vma { start: range.start, end: range.end, offset: self.offset + (range.start - self.start) as u64, ..*self }
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

    /// All mappings that are shared and of a file, in order of address.
    pub fn shared(&self) -> io::Result<Vec<Vma>> {
        let mut all = Vec::new();
        let mut address = 0;
        loop {
            match self.query(address, COVERING_OR_NEXT | SHARED | FILE_BACKED) {
                Ok(None) => return Ok(all),
                Ok(Some(vma)) => {
                    address = vma.end;
                    all.push(vma);
                }
                // It did answer once; a sandbox may have come since.
                Err(_) => return self.shared_by_text(),
            }
        }
    }

    /// The same from the text of /proc/self/maps.
    fn shared_by_text(&self) -> io::Result<Vec<Vma>> {
        let mut text = Vec::new();
        let mut part = [0; 4096];
        loop {
            match io::pread(&self.maps, &mut part, text.len() as u64)? {
                0 => break,
                count => text.extend_from_slice(&part[..count]),
            }
        }
        let lines = text
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        let all: Option<Vec<Vma>> = lines
            .map(|line| parse(&String::from_utf8_lossy(line)))
            .collect();
        let mut all = all.ok_or(Errno::INVAL)?;
        all.retain(|vma| vma.flags & SHARED != 0 && vma.file != FileId::default());
        Ok(all)
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

/// One line of /proc/self/maps. (The size of pages is not told, and taken for the usual one.)
fn parse(line: &str) -> Option<Vma> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let flags = words
        .next()?
        .chars()
        .zip([READABLE, WRITABLE, EXECUTABLE, SHARED]);
    let flags = flags
        .filter(|(set, _)| "rwxs".contains(*set))
        .map(|(_, flag)| flag)
        .sum();
    let offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let (major, minor) = words.next()?.split_once(':')?;
    let device = (
        u32::from_str_radix(major, 16).ok()?,
        u32::from_str_radix(minor, 16).ok()?,
    );
    Some(Vma {
        start: usize::from_str_radix(start, 16).ok()?,
        end: usize::from_str_radix(end, 16).ok()?,
        offset,
        file: FileId {
            device,
            inode: words.next()?.parse().ok()?,
        },
        page: rustix::param::page_size() as u64,
        flags,
    })
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shared mapping of two pages of a file.
    fn map() -> (OwnedFd, usize) {
        let file = fs::memfd_create("maps", fs::MemfdFlags::CLOEXEC).unwrap();
        fs::ftruncate(&file, 16 * 4096).unwrap();
        let (protection, flags) = (rustix::mm::ProtFlags::all(), rustix::mm::MapFlags::SHARED);
        let protection = protection & (rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), 8192, protection, flags, &file, 4096) };
        (file, at.unwrap().addr())
    }

    #[test]
    fn ioctl_and_text_agree() {
        let (file, at) = map();
        let id = FileId::of(&file).unwrap();
        let maps = match Maps::open() {
            Ok(maps) => maps,
            Err(error) => return eprintln!("skipped: no PROCMAP_QUERY here: {error}"),
        };
        let ours = |all: Vec<Vma>| all.into_iter().find(|vma| vma.file == id).unwrap();
        let asked = ours(maps.shared().unwrap());
        assert_eq!(
            (asked.start, asked.end, asked.offset),
            (at, at + 8192, 4096)
        );
        assert_eq!(ours(maps.shared_by_text().unwrap()), asked);
        assert_eq!(maps.at(at + 5000), Some(asked));
        assert!(asked.is_shared(id) && !asked.is_plain());
    }
}
