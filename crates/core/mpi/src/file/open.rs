//! Opening and closing (MPI 5.0 sections 14.2.1 and 14.2.2).

use super::agree::{consent, first_says, same};
use super::hints::{Hints, encode, merged};
use super::identity::{self, Identity};
use super::view::View;
use super::word::Word;
use super::{File, checked, delete, files, lookup};
use crate::args::Out;
use crate::comm;
use crate::constants::*;
use crate::context::allocate;
use crate::errhandler::{default_errhandler, raise_now};
use crate::error::Result;
use crate::exchange::Circle;
use crate::info;
use crate::info_map::InfoMap;
use crate::objects::{Comm, Group, Info};
use crate::scope::Scope;
use crate::task;
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tern_io::Mode;

/// Every bit that MPI_File_open knows.
const ALL: i32 = MPI_MODE_APPEND
    | MPI_MODE_CREATE
    | MPI_MODE_DELETE_ON_CLOSE
    | MPI_MODE_EXCL
    | MPI_MODE_RDONLY
    | MPI_MODE_RDWR
    | MPI_MODE_SEQUENTIAL
    | MPI_MODE_UNIQUE_OPEN
    | MPI_MODE_WRONLY;

/// MPI_ERR_AMODE for bits that do not go together (section 14.2.1).
fn check_amode(amode: i32) -> Result<()> {
    let has = |bits: i32| amode & bits != 0;
    let ways = (amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY)).count_ones();
    if has(!ALL) {
        return err!(MPI_ERR_AMODE, "amode {amode:#x} has bits that are no MPI_MODE of files");
    }
    if ways != 1 {
        return err!(
            MPI_ERR_AMODE,
            "amode needs exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY; it has {ways}"
        );
    }
    if has(MPI_MODE_RDONLY) && has(MPI_MODE_CREATE | MPI_MODE_EXCL) {
        return err!(MPI_ERR_AMODE, "MPI_MODE_RDONLY does not go with MPI_MODE_CREATE or MPI_MODE_EXCL");
    }
    if has(MPI_MODE_RDWR) && has(MPI_MODE_SEQUENTIAL) {
        return err!(MPI_ERR_AMODE, "MPI_MODE_RDWR does not go with MPI_MODE_SEQUENTIAL");
    }
    Ok(())
}

/// MPI_File_open: collective.
pub fn file_open(comm: Rc<Comm>, filename: &Path, amode: i32, info: Option<Rc<Info>>, fh: Out<usize>) -> Result<()> {
    if comm.is_inter() {
        return err!(MPI_ERR_COMM, "{} is an intercommunicator; a file needs an intracommunicator", comm.label());
    }
    crate::check::meet(&comm)?;
    let path = check_amode(amode).and_then(|()| delete::plain(filename)).map(Path::to_owned);
    let (circle, group) = (comm.circle(), comm.local.clone());
    let file = task::run(open(circle, group, path, amode, info::map_of(&info)))?;
    let handle = files().borrow_mut().insert_with(|handle| {
        file.handle.set(handle);
        Rc::new(file)
    });
    crate::observe::made(handle);
    fh.set(handle);
    Ok(())
}

async fn open(circle: Circle, group: Rc<Group>, path: Result<PathBuf>, amode: i32, asked: InfoMap) -> Result<File> {
    let own = path.as_ref().map(|_| amode.to_ne_bytes().to_vec()).map_err(Clone::clone);
    same(&circle, own, "access mode (amode)").await?;
    let path = path?;
    let (engine, first) = engine(&circle, &path, amode, &asked).await?;
    let hints = merged(&Hints::new(), &asked, &first);
    let id = allocate(&circle).await?;
    let comm = Comm::new(id, group.clone(), None, default_errhandler());
    let shared = Word::new(&circle).await?;
    let start = match amode & MPI_MODE_APPEND {
        0 => Ok(0),
        _ => engine.size().map_err(Into::into).map(|size| size as i64),
    };
    let begun =
        start.and_then(|start| if circle.me == 0 && start > 0 { shared.set(start).map(|()| start) } else { Ok(start) });
    let starts = consent(&circle, begun.map(|start| start.to_ne_bytes().to_vec())).await?;
    let position = i64::from_ne_bytes(starts[0][..8].try_into().expect("eight bytes"));
    let file = File {
        handle: Cell::new(MPI_FILE_NULL),
        path,
        amode,
        group,
        comm,
        errhandler: RefCell::new(default_errhandler()),
        hints: RefCell::new(hints),
        engine: RefCell::new(Some(Rc::new(engine))),
        view: RefCell::new(Rc::new(View::bytes())),
        scattered: Cell::new(false),
        atomic: Cell::new(false),
        position: Cell::new(position),
        shared,
        buffers: RefCell::default(),
        split: RefCell::new(None),
        checked: checked::Ledger::default(),
    };
    file.settle_habit()?;
    Ok(file)
}

/// Opens the file at all processes: first at the first one, which alone may create it. Returns the
/// first process's hints too, encoded.
async fn engine(circle: &Circle, path: &Path, amode: i32, asked: &InfoMap) -> Result<(tern_io::File, Vec<u8>)> {
    let open = |first: bool| -> Result<(tern_io::File, Identity)> {
        let has = |bit: i32| amode & bit != 0;
        let file = tern_io::File::open(
            path,
            Mode {
                read: !has(MPI_MODE_WRONLY),
                write: !has(MPI_MODE_RDONLY),
                create: first && has(MPI_MODE_CREATE),
                exclusive: first && has(MPI_MODE_EXCL),
            },
        )?;
        let identity = Identity::of(&file)?;
        Ok((file, identity))
    };
    let mut own = if circle.me == 0 { Some(open(true)) } else { None };
    let told = match &own {
        Some(Ok(_)) => Ok(encode(asked)),
        Some(Err(error)) => Err(error.clone()),
        None => Ok(Vec::new()),
    };
    let first = first_says(circle, told).await?;
    let opened = own.take().unwrap_or_else(|| open(false));
    let identity = opened.as_ref().map(|(_, identity)| *identity).map_err(Clone::clone);
    if let Err(error) = identity::same(circle, identity).await {
        if amode & MPI_MODE_CREATE != 0 && amode & MPI_MODE_EXCL != 0 {
            // Made by us a moment ago, for nothing. The error that counts is the one above.
            if circle.me == 0 {
                let _ = tern_io::File::delete(path);
            }
            circle.meet().await?;
        }
        return Err(error);
    }
    Ok((opened?.0, first))
}

/// MPI_File_close: collective. What was written is with the kernel, and visible to whoever opens the
/// file next; MPI_File_sync brings it to the device.
pub fn file_close(fh: Out<usize>) -> Result<()> {
    let file = lookup(fh.get())?;
    checked::compare(&file)?;
    let circle = file.comm.circle();
    // An error is told while the file is there, whose error handler is in charge.
    let closed = task::run(close(file.clone(), circle))
        .map_err(|error| raise_now(Scope::of(file.clone()), "MPI_File_close", error));
    if file.engine.borrow().is_none() {
        file.shared.free();
        drop(file.buffers.take());
        comm::on_free(&file.comm);
        files().borrow_mut().remove(fh.get());
        fh.set(MPI_FILE_NULL);
    }
    closed
}

/// Leaves the file open at all processes if one of them has still something under way.
async fn close(file: Rc<File>, circle: Circle) -> Result<()> {
    let ready = match &*file.split.borrow() {
        Some(split) => err!(MPI_ERR_FILE_IN_USE, "{} cannot be closed: {} has not ended", file.label(), split.name()),
        None => Ok(Vec::new()),
    };
    let consented = consent(&circle, ready).await;
    // Without a process that is lost, nobody can consent any more: each closes what it has.
    let lost = consented.as_ref().err().filter(|error| error.code == crate::lost::class()).cloned();
    if lost.is_none() {
        consented?;
    }
    let engine = file.engine.borrow_mut().take();
    // Nonblocking accesses that are under way keep it, and close it when they end.
    let closed = match engine.and_then(Rc::into_inner) {
        Some(engine) => engine.close().map_err(Into::into),
        None => Ok(()),
    };
    if let Some(lost) = lost {
        return Err(lost);
    }
    consent(&circle, closed.map(|()| Vec::new())).await?;
    if file.amode & MPI_MODE_DELETE_ON_CLOSE != 0 {
        let deleted = match circle.me {
            0 => tern_io::File::delete(&file.path).map_err(Into::into),
            _ => Ok(()),
        };
        first_says(&circle, deleted.map(|()| Vec::new())).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_modes_are_checked() {
        let class = |amode| check_amode(amode).err().map(|error| error.code);
        assert_eq!(class(MPI_MODE_RDONLY), None);
        assert_eq!(class(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_CREATE), None);
        for bad in [
            0,
            MPI_MODE_CREATE,
            MPI_MODE_RDONLY | MPI_MODE_RDWR,
            MPI_MODE_RDONLY | MPI_MODE_CREATE,
            MPI_MODE_RDONLY | MPI_MODE_EXCL,
            MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
            MPI_MODE_RDWR | 1 << 20,
        ] {
            assert_eq!(class(bad), Some(MPI_ERR_AMODE), "{bad:#x}");
        }
    }
}
