//! The question to the kernel.

use super::{FileId, Maps, Vma, vma};
use rustix::fd::AsRawFd;
use rustix::io::{self, Errno};

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

/// Flags of a question: for the mapping that the address lies in.
pub const COVERING: u64 = 0;
/// For that one or the next.
pub const NEXT: u64 = 0x10;
/// For that one or the next, of those that are shared and of a file.
pub const NEXT_SHARED_FILE: u64 = 0x10 | vma::SHARED | 0x20;

/// `_IOWR('f', 17, struct procmap_query)`.
const PROCMAP_QUERY: u64 = 3 << 30 | (size_of::<ProcmapQuery>() as u64) << 16 | (b'f' as u64) << 8 | 17;

impl Maps {
    /// `None` where nothing fits. Errors: of the system call, which kernels before 6.11 and sandboxes refuse.
    pub fn query(&self, address: usize, flags: u64) -> io::Result<Option<Vma>> {
        let size = size_of::<ProcmapQuery>() as u64;
        let mut query =
            ProcmapQuery { size, query_flags: flags, query_addr: address as u64, ..ProcmapQuery::default() };
        // SAFETY: the kernel reads and writes one `ProcmapQuery`, whose size it is told; no buffers for names are given.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), PROCMAP_QUERY as _, &raw mut query) };
        if result < 0 {
            return match Errno::from_io_error(&std::io::Error::last_os_error()) {
                Some(Errno::NOENT) => Ok(None),
                error => Err(error.unwrap_or(Errno::IO)),
            };
        }
        let device = (query.dev_major, query.dev_minor);
        Ok(Some(Vma {
            start: query.vma_start as usize,
            end: query.vma_end as usize,
            offset: query.vma_offset,
            file: FileId { device, inode: query.inode },
            page: query.vma_page_size,
            flags: query.vma_flags,
        }))
    }
}
