//! What this process has: threads, functions by name, the kernel's texts about it.

use rustix::fs;
use std::ffi::{CStr, c_void};
use std::io::Read;
use std::sync::atomic::{AtomicU8, Ordering};

/// glibc's word for a process that has not started a thread (2.32).
pub struct Single(Option<&'static AtomicU8>);

impl Single {
    pub fn find() -> Single {
        let single = symbol(c"__libc_single_threaded").cast::<AtomicU8>();
        // SAFETY: null, or a `char` of glibc's, which stays where it is; it is written by the thread that starts the second one.
        Single(unsafe { single.as_ref() })
    }

    /// False too if it does not exist.
    #[inline]
    pub fn is_set(&self) -> bool {
        // Relaxed: written before there is another thread to see it.
        self.0.is_some_and(|single| single.load(Ordering::Relaxed) != 0)
    }
}

/// Whether glibc has never started a thread and the kernel knows of one only, but for those of [`tern_threads::Unseen`].
pub fn has_one_thread() -> bool {
    // A directory has two links and one more for each thread. How wide their number is depends on the architecture.
    let links = 3 + u128::from(tern_threads::unseen());
    Single::find().is_set() && fs::stat("/proc/self/task").is_ok_and(|stat| u128::from(stat.st_nlink) == links)
}

/// What the program gets when it names a function; null if nothing has it.
pub fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: looks up a name that ends in NUL.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// A file of the kernel's, in one read where it is short: each further one may cost as much.
pub fn text(path: &str) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut text = Vec::with_capacity(8192);
    file.read_to_end(&mut text).ok()?;
    String::from_utf8(text).ok()
}

/// The number after a name at the start of a line.
pub fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split_ascii_whitespace().next() == Some(name))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let text = "MemTotal:  10 kB\nMemAvailable:    7 kB\n";
        assert_eq!(field(text, "MemAvailable:"), Some(7));
        assert_eq!(field(text, "Mem"), None);
    }
}
