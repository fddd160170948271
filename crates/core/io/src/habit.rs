//! Plain writes without a lock for each.
//!
//! Who writes windows back (data sieving) may undo what others write into their holes at that moment. A lock of the
//! bytes around each plain write keeps the two apart, at the price of two system calls. Mostly nobody has windows.
//! So those who write plainly say so once, by a shared lock on a byte far behind all data, and those who want
//! windows by one on another byte. Each takes its own first and then looks for the other one's. Whoever finds that
//! goes without: with a lock for each plain write, or without windows. If both come at once, both may.

use rustix::io::Errno;

use crate::file::{File, Practice, again};
use crate::lock::Sharing;

/// The byte for those who write without locks.
const PLAIN: u64 = i64::MAX as u64 - 2;
/// The byte for those who write windows back.
const WINDOWS: u64 = i64::MAX as u64 - 1;

impl File {
    /// From now on plain writes take no locks, and no windows are written back, if no other [`File`] does that now.
    pub fn write_plainly(&self) {
        self.write_guarded();
        self.adopt(Practice::Plain, PLAIN, WINDOWS);
    }

    /// From now on plain writes take locks, where their [`crate::Hints`] say so. Windows may be written back.
    pub fn write_guarded(&self) {
        let byte = match self.habit.replace(Practice::Guarded) {
            Practice::Guarded => return,
            Practice::Plain => PLAIN,
            Practice::Windows => WINDOWS,
        };
        // To give up a lock that one holds cannot fail.
        let _ = self.control(libc::F_OFD_SETLK, libc::F_UNLCK, byte..byte + 1);
    }

    /// True when plain writes need no lock.
    pub(crate) fn is_plain(&self) -> bool {
        self.habit.get() == Practice::Plain
    }

    /// True when windows may be written back, under a lock.
    pub(crate) fn may_have_windows(&self) -> bool {
        if self.habit.get() == Practice::Guarded {
            self.adopt(Practice::Windows, WINDOWS, PLAIN);
        }
        self.habit.get() == Practice::Windows
    }

    /// Takes the lock on `own`, and keeps it if nobody has `other`.
    fn adopt(&self, habit: Practice, own: u64, other: u64) {
        if !self.locks.get() || !self.readable() {
            return;
        }
        match again(|| self.control(libc::F_OFD_SETLK, libc::F_RDLCK, own..own + 1)) {
            Ok(_) => self.habit.set(habit),
            Err(Errno::AGAIN | Errno::ACCESS) => return,
            Err(_) => return self.locks_failed(),
        }
        let in_the_way = self.control(libc::F_OFD_GETLK, libc::F_WRLCK, other..other + 1);
        if in_the_way != Ok(libc::F_UNLCK) {
            self.write_guarded();
        }
    }

    /// The file system has no locks, or this one was refused: a lock for each write will show.
    fn locks_failed(&self) {
        let _ = self.lock(Sharing::Shared, 0..1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;

    fn three() -> [File; 3] {
        let name = format!("tern-io-habit-{}-{:p}", std::process::id(), &PLAIN);
        let path = std::env::temp_dir().join(name);
        let mode = Mode { read: true, write: true, create: true, exclusive: false };
        let all = [(); 3].map(|()| File::open(&path, mode).unwrap());
        File::delete(&path).unwrap();
        all
    }

    #[test]
    fn nobody_has_windows_while_another_writes_plainly() {
        let [a, b, c] = three();
        a.write_plainly();
        c.write_plainly();
        assert!(a.is_plain() && c.is_plain());
        assert!(!b.may_have_windows() && !a.may_have_windows());
        a.write_guarded();
        assert!(!b.may_have_windows());
        drop(c);
        assert!(b.may_have_windows() && a.may_have_windows());
        a.write_plainly();
        assert!(!a.is_plain());
        b.write_guarded();
        a.write_plainly();
        assert!(a.is_plain() && !b.may_have_windows());
    }
}
