//! Error handlers of files (MPI 5.0 sections 9.3.3 and 14.7). MPI_FILE_NULL has one too: it serves
//! calls that have no file yet, and new files begin with it.

use super::lookup;
use crate::args::Out;
use crate::constants::*;
use crate::errhandler::{Scope, called, predefined, raise};
use crate::error::Result;
use crate::guarded::Guarded;
use crate::objects::{Errhandler, ErrhandlerKind};
use std::cell::RefCell;
use std::rc::Rc;

static DEFAULT: Guarded<RefCell<Option<Rc<Errhandler>>>> = Guarded::new(RefCell::new(None));

/// The error handler of MPI_FILE_NULL: MPI_ERRORS_RETURN until the program sets another one.
pub fn default_errhandler() -> Rc<Errhandler> {
    DEFAULT.get().borrow().clone().unwrap_or_else(|| predefined(MPI_ERRORS_RETURN))
}

/// MPI_File_set_errhandler
pub fn file_set_errhandler(file: usize, errhandler: Rc<Errhandler>) -> Result<()> {
    errhandler.check_kind(ErrhandlerKind::File)?;
    match file {
        MPI_FILE_NULL => *DEFAULT.get().borrow_mut() = Some(errhandler),
        _ => *lookup(file)?.errhandler.borrow_mut() = errhandler,
    }
    Ok(())
}

/// MPI_File_get_errhandler
pub fn file_get_errhandler(file: usize, errhandler: Out<usize>) -> Result<()> {
    let found = match file {
        MPI_FILE_NULL => default_errhandler(),
        _ => lookup(file)?.errhandler.borrow().clone(),
    };
    errhandler.set(found.hand_out());
    Ok(())
}

/// MPI_File_call_errhandler: returns MPI_SUCCESS when the handler returns (section 9.3.5).
pub fn file_call_errhandler(fh: usize, errorcode: i32) -> Result<()> {
    let file = if fh == MPI_FILE_NULL { None } else { Some(lookup(fh)?) };
    raise(Scope::File(file), "MPI_File_call_errhandler", called(errorcode));
    Ok(())
}
