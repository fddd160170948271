//! The file behind the shared memory of a job.

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, Mode, OFlags};

/// An empty file for a job's shared memory, close-on-exec: a memfd, or a file without a name in the folder of TERN_SHARED_FILES.
///
/// Errors: those of memfd_create. A folder that refuses the file gives a warning, and a memfd in its place.
pub fn new_segment() -> rustix::io::Result<OwnedFd> {
    let folder = tern_settings::SHARED_FILES.get();
    if folder != "none" {
        match unnamed(folder) {
            Ok(file) => return Ok(file),
            Err(error) => tern_settings::warn!("TERN_SHARED_FILES: no file in {folder}: {error}; a memfd in its place"),
        }
    }
    rustix::fs::memfd_create("tern-job", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
}

/// A file of that folder that has no name, so that none is left behind however the job ends.
///
/// Others know it by `FOLDER/#INODE (deleted)` in `/proc/PID/maps`: a path that they can make anew, and no other file's.
fn unnamed(folder: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn an_unnamed_file_lies_in_its_folder() {
        let file = unnamed("/dev/shm").expect("a file in /dev/shm");
        let shown = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        let shown = shown.to_str().unwrap();
        assert!(shown.starts_with("/dev/shm/#") && shown.ends_with(" (deleted)"), "{shown}");
    }

    #[test]
    fn a_folder_that_is_not_there_refuses() {
        assert!(unnamed("/nowhere").is_err());
    }
}
