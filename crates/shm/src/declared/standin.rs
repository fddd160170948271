//! A stand-in for the kernel module in one process, where several owners have their regions: memory is copied by its address.

use super::table::Calls;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;
use tern_region::Run;
use tern_region::cma::{Failed, Why};
use tern_region::module::{Declared, READ, WRITE};

/// What the kernel knows, of all processes.
#[derive(Default)]
pub struct Kernel {
    /// By cookie: memory, protection, and whether it is still mapped.
    regions: BTreeMap<u64, (Run, u32, bool)>,
    cookies: u64,
    /// Bytes that are declared, and that may be.
    pub pinned: usize,
    pub limit: usize,
    /// Calls that have created a region.
    pub created: usize,
    /// Memory that the program cannot write.
    pub constant: Vec<(u64, u64)>,
    /// Regions whose words have changed by the end of others.
    pub changed: Vec<u64>,
}

impl Kernel {
    /// The program unmaps memory: what is declared of it ends.
    pub fn unmap(&mut self, start: u64, len: u64) {
        for (run, _, mapped) in self.regions.values_mut() {
            let at = run.at as u64;
            if *mapped && at < start + len && start < at + run.len as u64 {
                *mapped = false;
                self.pinned -= run.len;
            }
        }
    }

    pub fn regions(&self) -> usize {
        self.regions.len()
    }

    fn find(&self, cookie: u64, offset: u64, len: usize, access: u32) -> Result<*mut u8, Failed> {
        let failed = |errno| Failed { why: Why::Other, errno, moved: 0 };
        let found = self.regions.get(&cookie).filter(|(_, _, mapped)| *mapped);
        let &(run, protection, _) = found.ok_or(failed(libc::ENOENT))?;
        if protection & access == 0 {
            return Err(failed(libc::EACCES));
        }
        let fits = offset.checked_add(len as u64).is_some_and(|end| end <= run.len as u64);
        fits.then(|| run.at.wrapping_add(offset as usize)).ok_or(failed(libc::ERANGE))
    }
}

/// The module as one process has it open.
#[derive(Clone, Default)]
pub struct Standin(pub Rc<RefCell<Kernel>>);

impl Calls for Standin {
    fn create(&self, segment: Run, protection: u32) -> Result<Declared, c_int> {
        let mut kernel = self.0.borrow_mut();
        if protection & WRITE != 0
            && kernel.constant.iter().any(|&(at, len)| (at..at + len).contains(&(segment.at as u64)))
        {
            return Err(libc::EFAULT);
        }
        if kernel.pinned + segment.len > kernel.limit {
            return Err(libc::ENOMEM);
        }
        kernel.cookies += 1 << 20 | 1;
        let cookie = kernel.cookies.reverse_bits();
        kernel.pinned += segment.len;
        kernel.created += 1;
        kernel.regions.insert(cookie, (segment, protection, true));
        Ok(Declared { cookie, word: 0, generation: 0 })
    }

    fn is_current(&self, declared: &Declared) -> bool {
        let kernel = self.0.borrow();
        let mapped = kernel.regions.get(&declared.cookie).is_some_and(|&(_, _, mapped)| mapped);
        mapped && !kernel.changed.contains(&declared.cookie)
    }

    fn destroy(&self, declared: Declared) {
        let mut kernel = self.0.borrow_mut();
        let (run, _, mapped) = kernel.regions.remove(&declared.cookie).expect("destroyed once");
        kernel.pinned -= if mapped { run.len } else { 0 };
    }

    unsafe fn read(&self, cookie: u64, offset: u64, local: &[Run]) -> Result<usize, Failed> {
        let len = local.iter().map(|run| run.len).sum();
        let mut from = self.0.borrow().find(cookie, offset, len, READ)?;
        for run in local {
            // SAFETY: the region has these bytes, which the test has; contract of this function.
            unsafe { std::ptr::copy(from, run.at, run.len) };
            from = from.wrapping_add(run.len);
        }
        Ok(len)
    }

    unsafe fn write(&self, cookie: u64, offset: u64, local: &[Run]) -> Result<usize, Failed> {
        let len = local.iter().map(|run| run.len).sum();
        let mut to = self.0.borrow().find(cookie, offset, len, WRITE)?;
        for run in local {
            // SAFETY: as in `read`.
            unsafe { std::ptr::copy(run.at, to, run.len) };
            to = to.wrapping_add(run.len);
        }
        Ok(len)
    }
}
