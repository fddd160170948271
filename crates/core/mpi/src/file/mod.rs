//! Files (MPI 5.0 chapter 14): what communicates, and what programs see. Views, access to the
//! bytes, and the planning of collective access are `tern_io`'s.
//!
//! What is collective is written as an `async` function over a [`crate::exchange::Circle`]: the
//! blocking call runs it to its end, the nonblocking and the split one let it go on with the
//! progress of the library ([`crate::task`]). Its part at this process may have failed before it
//! begins (a wrong argument); it takes part all the same, so that nobody waits for it for ever.

mod access;
mod agree;
mod buffer;
mod checked;
mod collective;
mod datarep;
mod delete;
mod errhandler;
mod error;
mod hints;
mod identity;
mod kept;
mod nonblocking;
mod open;
mod ordered;
mod pointer;
mod query;
mod runs;
mod shared;
mod split;
mod two_phase;
mod view;
mod word;

pub use access::{file_read, file_read_at, file_write, file_write_at};
pub use collective::{
    file_iread_all, file_iread_at_all, file_iwrite_all, file_iwrite_at_all, file_read_all, file_read_at_all,
    file_write_all, file_write_at_all,
};
pub use datarep::{register_datarep, register_datarep_c};
pub use delete::file_delete;
pub use errhandler::{file_call_errhandler, file_get_errhandler, file_set_errhandler};
pub use hints::{file_get_info, file_set_info};
pub use nonblocking::{file_iread, file_iread_at, file_iread_shared, file_iwrite, file_iwrite_at, file_iwrite_shared};
pub use open::{file_close, file_open};
pub use ordered::{file_read_ordered, file_write_ordered};
pub use pointer::{file_get_byte_offset, file_get_position, file_seek};
pub use query::{
    file_get_amode, file_get_atomicity, file_get_group, file_get_size, file_get_type_extent, file_preallocate,
    file_set_atomicity, file_set_size, file_sync,
};
pub use shared::{file_get_position_shared, file_read_shared, file_seek_shared, file_write_shared};
pub use split::{
    file_read_all_begin, file_read_all_end, file_read_at_all_begin, file_read_at_all_end, file_read_ordered_begin,
    file_read_ordered_end, file_write_all_begin, file_write_all_end, file_write_at_all_begin, file_write_at_all_end,
    file_write_ordered_begin, file_write_ordered_end,
};
pub use view::{file_get_view, file_set_view};

use crate::constants::*;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::handle::{Kind, Table};
use crate::objects::{Comm, Group};
use crate::scope::Errhandler;
use buffer::Buffer;
use hints::Hints;
use split::Split;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use tern_io::AccessKind;
use view::View;
use word::Word;

/// An open file.
pub struct File {
    pub handle: Cell<usize>,
    /// Its name, for messages and MPI_MODE_DELETE_ON_CLOSE.
    pub path: PathBuf,
    /// `MPI_MODE_…`
    pub amode: i32,
    /// The group of the communicator that it was opened with.
    group: Rc<Group>,
    /// A communicator of its own, for what its processes tell each other.
    comm: Comm,
    pub errhandler: RefCell<Rc<Errhandler>>,
    hints: RefCell<Hints>,
    /// `None` once it is closed.
    engine: RefCell<Option<Rc<tern_io::File>>>,
    view: RefCell<Rc<View>>,
    /// Some process's view is not contiguous, so that windows may be written back.
    scattered: Cell<bool>,
    atomic: Cell<bool>,
    /// The individual file pointer, in etypes.
    position: Cell<i64>,
    /// The shared file pointer, in etypes.
    shared: Word,
    /// Memory for windows of collective accesses; empty while one uses it.
    buffers: RefCell<[Buffer; 2]>,
    /// The split collective that has begun.
    split: RefCell<Option<Split>>,
    /// What TERN_CHECK knows of its writes; empty without it.
    checked: checked::Ledger,
}

static FILES: Guarded<RefCell<Table<Rc<File>>>> = Guarded::new(RefCell::new(Table::new(Kind::File)));

/// The open files of this process, by handle.
#[inline]
pub fn files() -> &'static RefCell<Table<Rc<File>>> {
    FILES.get()
}

/// The file that `handle` names, or MPI_ERR_FILE.
pub fn lookup(handle: usize) -> Result<Rc<File>> {
    if let Some(file) = files().borrow().get(handle) {
        return Ok(file.clone());
    }
    if handle == MPI_FILE_NULL {
        return err!(MPI_ERR_FILE, "the file is MPI_FILE_NULL");
    }
    err!(MPI_ERR_FILE, "{handle:#x} is not a file: it was closed, or never opened")
}

impl File {
    /// Its name for messages.
    pub fn label(&self) -> String {
        self.path.display().to_string()
    }

    /// Number of processes that have opened it together.
    fn size(&self) -> usize {
        self.group.procs.len()
    }

    /// The open file of this process.
    fn engine(&self) -> Result<Rc<tern_io::File>> {
        match &*self.engine.borrow() {
            Some(engine) => Ok(engine.clone()),
            None => err!(MPI_ERR_FILE, "{} is closed", self.label()),
        }
    }

    fn view(&self) -> Rc<View> {
        self.view.borrow().clone()
    }

    /// MPI_ERR_ACCESS or MPI_ERR_READ_ONLY if it was not opened for this.
    fn check_way(&self, way: AccessKind) -> Result<()> {
        match way {
            AccessKind::Read if self.amode & MPI_MODE_WRONLY != 0 => {
                err!(MPI_ERR_ACCESS, "{} was opened with MPI_MODE_WRONLY and cannot be read", self.label())
            }
            AccessKind::Write if self.amode & MPI_MODE_RDONLY != 0 => {
                err!(MPI_ERR_READ_ONLY, "{} was opened with MPI_MODE_RDONLY and cannot be changed", self.label())
            }
            _ => Ok(()),
        }
    }

    /// MPI_ERR_UNSUPPORTED_OPERATION for what MPI_MODE_SEQUENTIAL does not have (section 14.2.1).
    fn check_random(&self) -> Result<()> {
        if self.amode & MPI_MODE_SEQUENTIAL != 0 {
            return err!(
                MPI_ERR_UNSUPPORTED_OPERATION,
                "{} was opened with MPI_MODE_SEQUENTIAL: only the shared file pointer can be used, forwards",
                self.label()
            );
        }
        Ok(())
    }
}
