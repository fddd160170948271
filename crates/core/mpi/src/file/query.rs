//! What files are asked and told as a whole (MPI 5.0 sections 14.2.4 to 14.2.7 and 14.6.1).

use super::agree::{consent, first_says, same};
use super::{AccessKind, File};
use crate::args::{Out, OutCount};
use crate::constants::*;
use crate::error::Result;
use crate::exchange::Circle;
use crate::group::hand_out;
use crate::objects::Datatype;
use crate::task;
use std::rc::Rc;

/// MPI_File_get_group
pub fn file_get_group(fh: Rc<File>, group: Out<usize>) -> Result<()> {
    group.set(hand_out(fh.group.clone()));
    Ok(())
}

/// MPI_File_get_amode
pub fn file_get_amode(fh: Rc<File>, amode: Out<i32>) -> Result<()> {
    amode.set(fh.amode);
    Ok(())
}

/// MPI_File_get_size
pub fn file_get_size(fh: Rc<File>, size: Out<i64>) -> Result<()> {
    size.set(fh.engine()?.size()? as i64);
    Ok(())
}

/// MPI_File_set_size: collective.
pub fn file_set_size(fh: Rc<File>, size: i64) -> Result<()> {
    resize(fh, size, tern_io::File::set_size)
}

/// MPI_File_preallocate: collective; a longer file stays as it is.
pub fn file_preallocate(fh: Rc<File>, size: i64) -> Result<()> {
    resize(fh, size, tern_io::File::preallocate)
}

type Resize = fn(&tern_io::File, u64) -> std::result::Result<(), tern_io::Error>;

fn resize(file: Rc<File>, size: i64, change: Resize) -> Result<()> {
    let checked = file.check_random().and_then(|()| file.check_way(AccessKind::Write)).and_then(|()| match size {
        0.. => Ok(size.to_ne_bytes().to_vec()),
        _ => err!(MPI_ERR_ARG, "a file cannot have {size} bytes"),
    });
    super::checked::meet(&file)?;
    let circle = file.comm.circle();
    task::run(async move {
        same(&circle, checked, "size").await?;
        let changed = match circle.me {
            0 => file.engine().and_then(|engine| Ok(change(&engine, size as u64)?)),
            _ => Ok(()),
        };
        first_says(&circle, changed.map(|()| Vec::new())).await.map(|_| ())
    })
}

/// MPI_File_set_atomicity: collective.
pub fn file_set_atomicity(fh: Rc<File>, flag: i32) -> Result<()> {
    super::checked::compare(&fh)?;
    let circle = fh.comm.circle();
    let atomic = flag != 0;
    task::run(async move {
        let locks = fh.engine().and_then(|engine| match atomic && !engine.has_locks() {
            true => err!(
                MPI_ERR_UNSUPPORTED_OPERATION,
                "the file system of {} has no locks, which atomic mode needs",
                fh.label()
            ),
            false => Ok(vec![atomic as u8]),
        });
        same(&circle, locks, "flag").await?;
        fh.atomic.set(atomic);
        Ok(())
    })
}

/// MPI_File_get_atomicity
pub fn file_get_atomicity(fh: Rc<File>, flag: Out<i32>) -> Result<()> {
    flag.set(fh.atomic.get() as i32);
    Ok(())
}

async fn sync(file: Rc<File>, circle: Circle) -> Result<()> {
    let synced = match file.amode & MPI_MODE_RDONLY {
        0 => file.engine().and_then(|engine| Ok(engine.sync()?)),
        _ => Ok(()),
    };
    consent(&circle, synced.map(|()| Vec::new())).await.map(|_| ())
}

/// MPI_File_sync: collective.
pub fn file_sync(fh: Rc<File>) -> Result<()> {
    super::checked::compare(&fh)?;
    let circle = fh.comm.circle();
    task::run(sync(fh, circle))
}

/// MPI_File_get_type_extent: the extent of a type in the file, with the data representation of the
/// view.
pub fn file_get_type_extent(fh: Rc<File>, datatype: Rc<Datatype>, extent: OutCount) -> Result<()> {
    datatype.check_present()?;
    extent.set(fh.view().io.representation().file_type(&datatype.layout)?.extent());
    Ok(())
}
