//! For tests: a folder that is removed when dropped.

use std::ops::Deref;
use std::path::{Path, PathBuf};

pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        let path = std::env::temp_dir().join(format!("tern-files-{:016x}", crate::number()));
        std::fs::create_dir(&path).unwrap();
        // Whatever the umask.
        mode(&path, 0o755);
        Scratch(path)
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn mode(path: &Path, mode: u32) {
    rustix::fs::chmod(path, rustix::fs::Mode::from_raw_mode(mode)).unwrap();
}

/// Gives it, and not what it points to, to another user. False, aloud, where this process may not.
pub fn give_away(path: &Path) -> bool {
    let nobody = Some(rustix::process::Uid::from_raw(65534));
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    let given = rustix::fs::chownat(rustix::fs::CWD, path, nobody, None, flags).is_ok();
    if !given {
        eprintln!("skipped: it takes root to give a file to another user");
    }
    given
}
