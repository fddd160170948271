//! A stand-in for the kernel module in one process, where several owners have their regions: memory is copied by its address.

use super::Rest;
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
    /// By cookie: segments, protection, and whether they are still mapped.
    regions: BTreeMap<u64, (Vec<Run>, u32, bool)>,
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
        let meets = |run: &Run| (run.at as u64) < start + len && start < run.at as u64 + run.len as u64;
        for (segments, _, mapped) in self.regions.values_mut() {
            if *mapped && segments.iter().any(meets) {
                *mapped = false;
                self.pinned -= sum(segments);
            }
        }
    }

    pub fn regions(&self) -> usize {
        self.regions.len()
    }

    /// The pieces of a region that have `len` bytes of it from `offset` on.
    fn find(&self, cookie: u64, offset: u64, len: usize, access: u32) -> Result<Vec<Run>, Failed> {
        let failed = |errno| Failed { why: Why::Other, errno, moved: 0 };
        let found = self.regions.get(&cookie).filter(|(_, _, mapped)| *mapped);
        let (segments, protection, _) = found.ok_or(failed(libc::ENOENT))?;
        if protection & access == 0 {
            return Err(failed(libc::EACCES));
        }
        let fits = offset.checked_add(len as u64).is_some_and(|end| end <= sum(segments) as u64);
        let mut rest = Rest { runs: segments, done: 0 };
        let (mut before, mut pieces) = (Vec::new(), Vec::new());
        rest.take(offset as usize, &mut before);
        rest.take(len, &mut pieces);
        fits.then_some(pieces).ok_or(failed(libc::ERANGE))
    }
}

/// The module as one process has it open.
#[derive(Clone, Default)]
pub struct Standin(pub Rc<RefCell<Kernel>>);

impl Calls for Standin {
    fn create(&self, segments: &[Run], protection: u32) -> Result<Declared, c_int> {
        let mut kernel = self.0.borrow_mut();
        if protection & WRITE != 0
            && kernel.constant.iter().any(|&(at, len)| (at..at + len).contains(&(segments[0].at as u64)))
        {
            return Err(libc::EFAULT);
        }
        if kernel.pinned + sum(segments) > kernel.limit {
            return Err(libc::ENOMEM);
        }
        kernel.cookies += 1 << 20 | 1;
        let cookie = kernel.cookies.reverse_bits();
        kernel.pinned += sum(segments);
        kernel.created += 1;
        kernel.regions.insert(cookie, (segments.to_vec(), protection, true));
        Ok(Declared { cookie, word: 0, generation: 0, pages: 0 })
    }

    fn is_current(&self, declared: &Declared) -> bool {
        let kernel = self.0.borrow();
        let mapped = kernel.regions.get(&declared.cookie).is_some_and(|(_, _, mapped)| *mapped);
        mapped && !kernel.changed.contains(&declared.cookie)
    }

    fn destroy(&self, declared: Declared) {
        let mut kernel = self.0.borrow_mut();
        let (segments, _, mapped) = kernel.regions.remove(&declared.cookie).expect("destroyed once");
        kernel.pinned -= if mapped { sum(&segments) } else { 0 };
    }

    unsafe fn read(&self, cookie: u64, offset: u64, local: &[Run]) -> Result<usize, Failed> {
        let len = local.iter().map(|run| run.len).sum();
        let from = self.0.borrow().find(cookie, offset, len, READ)?;
        // SAFETY: the region has these bytes, which the test has; contract of this function.
        unsafe { copy(local, &from) };
        Ok(len)
    }

    unsafe fn write(&self, cookie: u64, offset: u64, local: &[Run]) -> Result<usize, Failed> {
        let len = local.iter().map(|run| run.len).sum();
        let to = self.0.borrow().find(cookie, offset, len, WRITE)?;
        // SAFETY: as in `read`.
        unsafe { copy(&to, local) };
        Ok(len)
    }
}

fn sum(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.len).sum()
}

/// Copies between lists of the same length.
///
/// # Safety
/// The runs are of the test's own buffers.
unsafe fn copy(to: &[Run], from: &[Run]) {
    let mut rest = Rest { runs: from, done: 0 };
    for target in to {
        let mut parts = Vec::new();
        rest.take(target.len, &mut parts);
        let mut at = target.at;
        for part in parts {
            // SAFETY: contract of this function.
            unsafe { std::ptr::copy(part.at, at, part.len) };
            at = at.wrapping_add(part.len);
        }
    }
}
