//! Descriptors that the program may close, as ones that it does not know.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io;
use std::mem::ManuallyDrop;
use tern_node::maps::FileId;

/// A descriptor of the node's file, or of another one that the program may close without our knowing.
pub(crate) struct NodeFile {
    file: ManuallyDrop<OwnedFd>,
    pub id: FileId,
}

impl NodeFile {
    /// A descriptor of its own. Errors: of dup and fstat.
    pub fn of(file: BorrowedFd<'_>) -> io::Result<NodeFile> {
        NodeFile::new(io::fcntl_dupfd_cloexec(file, 0)?)
    }

    /// Errors: of fstat.
    pub fn new(file: OwnedFd) -> io::Result<NodeFile> {
        let id = FileId::of(&file)?;
        Ok(NodeFile { file: ManuallyDrop::new(file), id })
    }

    /// `None`: the program has closed the descriptor.
    pub fn open(&self) -> Option<BorrowedFd<'_>> {
        FileId::of(&*self.file).is_ok_and(|id| id == self.id).then(|| self.file.as_fd())
    }
}

impl Drop for NodeFile {
    fn drop(&mut self) {
        if self.open().is_some() {
            // SAFETY: once. (A number that is another file's by now stays open.)
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}
