//! All copy loops that this machine can run, for those who measure or test them.

/// A copy loop.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// How it is called in reports.
    pub name: &'static str,
    /// # Safety
    /// As for [`std::ptr::copy_nonoverlapping`].
    pub run: unsafe fn(to: *mut u8, from: *const u8, len: usize),
}
