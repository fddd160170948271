//! Error handlers of files (MPI 5.0 sections 9.3.3 and 14.7). MPI_FILE_NULL has one too: it serves
//! calls that have no file yet, and new files begin with it.

use super::{File, lookup};
use crate::args::Out;
use crate::constants::*;
use crate::errhandler::{default_errhandler, report, set_default};
use crate::error::Result;
use crate::scope::{Errhandler, ErrhandlerKind, InCharge, Scope};
use std::rc::Rc;

impl InCharge for File {
    fn handle(&self) -> usize {
        self.handle.get()
    }

    fn errhandler(&self) -> Rc<Errhandler> {
        self.errhandler.borrow().clone()
    }
}

/// MPI_File_set_errhandler
pub fn file_set_errhandler(file: usize, errhandler: Rc<Errhandler>) -> Result<()> {
    errhandler.check_kind(ErrhandlerKind::File)?;
    match file {
        MPI_FILE_NULL => set_default(errhandler),
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
    let scope = if fh == MPI_FILE_NULL { Scope::NoFile } else { Scope::of(lookup(fh)?) };
    report(scope, "MPI_File_call_errhandler", errorcode);
    Ok(())
}
