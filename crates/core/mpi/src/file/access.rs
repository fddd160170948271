//! Access by one process: a part of its view, and elements in memory (MPI 5.0 sections 14.4.2 and
//! 14.4.3).

use super::view::View;
use super::{AccessKind, File, checked};
use crate::args::{RawStatus, StatusOut};
use crate::buffer::check;
use crate::check::active::{Access as Does, Use};
use crate::check::watch;
use crate::constants::*;
use crate::error::Result;
use crate::objects::Datatype;
use std::rc::Rc;
use tern_adi::Data;
use tern_layout::Type;

/// Elements in memory that go to the file or come from it, and where they belong once that is known.
pub struct Transfer {
    pub way: AccessKind,
    base: *mut u8,
    count: i64,
    ty: Rc<Type>,
    pub view: Rc<View>,
    /// Bytes in the file.
    pub bytes: u64,
}

/// A transfer at a place of the view.
pub struct Access {
    pub transfer: Transfer,
    /// Bytes of the view's stream before it.
    pub position: u64,
}

impl Transfer {
    /// The elements as the engine takes them.
    pub fn memory(&self) -> tern_io::Memory<'_> {
        tern_io::Memory { base: self.base, count: self.count, ty: &self.ty }
    }

    /// Bytes in memory.
    pub fn native_bytes(&self) -> u64 {
        self.ty.pack_size(self.count).unwrap_or(0) as u64
    }

    /// The elements as what other operations must leave alone.
    pub fn used(&self) -> Use {
        let access = if self.way == AccessKind::Read { Does::Write } else { Does::Read };
        Use { argument: "buf", access, data: Data::new(self.base, self.count, &self.ty) }
    }

    /// Etypes that it takes up.
    pub fn etypes(&self) -> i64 {
        (self.bytes / self.view.io.etype_size()) as i64
    }

    /// Puts it at an offset in etypes.
    fn at(self, offset: i64) -> Result<Access> {
        let position = self.view.io.position(offset)?;
        if position.checked_add(self.bytes).is_none_or(|end| i64::try_from(end).is_err()) {
            return err!(MPI_ERR_ARG, "{} bytes from offset {offset} on are beyond what a file can have", self.bytes);
        }
        Ok(Access { transfer: self, position })
    }
}

impl Access {
    /// Does it, and returns the bytes of memory that it has moved.
    pub fn perform(&self, file: &File) -> Result<u64> {
        let engine = file.engine()?;
        let hints = file.access_hints();
        let Transfer { way, view, .. } = &self.transfer;
        let memory = self.transfer.memory();
        // SAFETY: the program keeps the buffer valid, and unshared where it is read into, until the
        // operation is complete (section 14.4.1).
        let moved = unsafe {
            match way {
                AccessKind::Read => tern_io::read(&engine, &view.io, self.position, &memory, &hints),
                AccessKind::Write => tern_io::write(&engine, &view.io, self.position, &memory, &hints),
            }
        };
        Ok(moved?)
    }
}

impl File {
    /// A checked transfer: MPI_ERR_ACCESS and MPI_ERR_READ_ONLY, the errors of a buffer, and
    /// MPI_ERR_TYPE for elements that are no whole number of etypes.
    pub(super) fn transfer(
        &self, way: AccessKind, base: *const u8, count: i64, datatype: &Rc<Datatype>,
    ) -> Result<Transfer> {
        self.check_way(way)?;
        check(base, count, datatype)?;
        let view = self.view();
        let bytes = view.io.representation().file_bytes(&datatype.layout, count)?;
        let unit = view.io.etype_size();
        if !bytes.is_multiple_of(unit) {
            return err!(
                MPI_ERR_TYPE,
                "{count} elements of {} are {bytes} bytes in the file, which is no whole number of etypes of {unit} bytes",
                datatype.label()
            );
        }
        let transfer = Transfer { way, base: base.cast_mut(), count, ty: datatype.layout.clone(), view, bytes };
        watch::may(|| transfer.used())?;
        Ok(transfer)
    }

    /// A transfer at an offset in etypes.
    pub(super) fn placed(&self, transfer: Transfer, offset: i64) -> Result<Access> {
        let access = transfer.at(offset)?;
        let Access { transfer, position } = &access;
        checked::noted(self, transfer.way, &transfer.view.io, *position, transfer.bytes);
        Ok(access)
    }

    /// The same at an explicit offset.
    pub(super) fn access_at(
        &self, way: AccessKind, offset: i64, base: *const u8, count: i64, datatype: &Rc<Datatype>,
    ) -> Result<Access> {
        self.check_random()?;
        self.placed(self.transfer(way, base, count, datatype)?, offset)
    }

    /// The same at the individual pointer, which goes on behind it at once.
    pub(super) fn access_next(
        &self, way: AccessKind, base: *const u8, count: i64, datatype: &Rc<Datatype>,
    ) -> Result<Access> {
        self.check_random()?;
        let transfer = self.transfer(way, base, count, datatype)?;
        let (from, more) = (self.position.get(), transfer.etypes());
        let access = self.placed(transfer, from)?;
        self.position.set(from + more);
        Ok(access)
    }

    /// Where no process of the file writes windows back, plain writes need no locks, unless another handle does. To be
    /// called when nobody has the view that was before.
    pub(super) fn settle_habit(&self) -> Result<()> {
        if self.amode & MPI_MODE_RDONLY == 0 && !self.scattered.get() {
            self.engine()?.write_plainly();
        }
        Ok(())
    }

    /// How the engine shall access the file.
    pub(super) fn access_hints(&self) -> tern_io::Hints {
        let alone = self.amode & MPI_MODE_UNIQUE_OPEN != 0;
        tern_io::Hints {
            // Another handle of the file may have windows that it writes back.
            guarded: !alone || (self.size() > 1 && self.scattered.get()),
            atomic: self.atomic.get(),
            ..self.hints.borrow().access()
        }
    }
}

/// The status of an access.
pub fn status_of(bytes: u64) -> RawStatus {
    let mut status = RawStatus::empty();
    status.set_bytes(bytes);
    status
}

/// Tells the program how an access ended.
pub fn report(moved: Result<u64>, status: StatusOut) -> Result<()> {
    let bytes = *moved.as_ref().unwrap_or(&0);
    status.set(&status_of(bytes));
    moved.map(|_| ())
}

/// MPI_File_read_at
pub fn file_read_at(
    fh: Rc<File>, offset: i64, buf: *mut u8, count: i64, datatype: Rc<Datatype>, status: StatusOut,
) -> Result<()> {
    let access = fh.access_at(AccessKind::Read, offset, buf, count, &datatype)?;
    report(access.perform(&fh), status)
}

/// MPI_File_write_at
pub fn file_write_at(
    fh: Rc<File>, offset: i64, buf: *const u8, count: i64, datatype: Rc<Datatype>, status: StatusOut,
) -> Result<()> {
    let access = fh.access_at(AccessKind::Write, offset, buf, count, &datatype)?;
    report(access.perform(&fh), status)
}

/// MPI_File_read
pub fn file_read(fh: Rc<File>, buf: *mut u8, count: i64, datatype: Rc<Datatype>, status: StatusOut) -> Result<()> {
    let access = fh.access_next(AccessKind::Read, buf, count, &datatype)?;
    report(access.perform(&fh), status)
}

/// MPI_File_write
pub fn file_write(fh: Rc<File>, buf: *const u8, count: i64, datatype: Rc<Datatype>, status: StatusOut) -> Result<()> {
    let access = fh.access_next(AccessKind::Write, buf, count, &datatype)?;
    report(access.perform(&fh), status)
}
