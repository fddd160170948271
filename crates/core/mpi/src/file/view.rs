//! Views (MPI 5.0 section 14.3).

use super::agree::consent;
use super::hints::{encode, merged};
use super::{File, checked, datarep};
use crate::args::{Out, TextOut};
use crate::constants::*;
use crate::datatype::predefined::predefined;
use crate::datatype::share;
use crate::error::Result;
use crate::exchange::Circle;
use crate::info;
use crate::info_map::InfoMap;
use crate::objects::{Datatype, Info};
use crate::task;
use std::rc::Rc;

/// What a process sees of a file.
pub struct View {
    pub etype: Rc<Datatype>,
    pub filetype: Rc<Datatype>,
    pub io: tern_io::View,
}

impl View {
    /// The view of a file that was just opened: its bytes.
    pub fn bytes() -> View {
        let byte = predefined(MPI_BYTE).expect("MPI_BYTE is predefined");
        View { etype: byte.clone(), filetype: byte, io: tern_io::View::bytes() }
    }
}

impl File {
    /// The displacement that a program means by `disp`.
    fn displacement(&self, disp: i64) -> Result<i64> {
        match (self.amode & MPI_MODE_SEQUENTIAL != 0, disp) {
            (false, MPI_DISPLACEMENT_CURRENT) => {
                err!(MPI_ERR_ARG, "MPI_DISPLACEMENT_CURRENT is for files opened with MPI_MODE_SEQUENTIAL")
            }
            (false, disp) => Ok(disp),
            (true, MPI_DISPLACEMENT_CURRENT) => {
                let view = self.view();
                let at = view.io.offset(view.io.position(self.shared.get()?)?);
                Ok(at.map_or(view.io.displacement() as i64, |at| at as i64))
            }
            (true, disp) => err!(
                MPI_ERR_ARG,
                "the displacement is {disp}, but {} was opened with MPI_MODE_SEQUENTIAL: give MPI_DISPLACEMENT_CURRENT",
                self.label()
            ),
        }
    }

    fn new_view(&self, disp: i64, etype: Rc<Datatype>, filetype: Rc<Datatype>, datarep: &str) -> Result<View> {
        let representation = datarep::find(datarep)?;
        let written = self.amode & MPI_MODE_RDONLY == 0;
        let disp = self.displacement(disp)?;
        let io = tern_io::View::new(disp, &etype.layout, &filetype.layout, representation, written)?;
        Ok(View { etype, filetype, io })
    }
}

/// MPI_File_set_view: collective.
pub fn file_set_view(
    fh: Rc<File>, disp: i64, etype: Rc<Datatype>, filetype: Rc<Datatype>, datarep: &str, info: Option<Rc<Info>>,
) -> Result<()> {
    let view = fh.new_view(disp, etype, filetype, datarep);
    checked::meet(&fh)?;
    let circle = fh.comm.circle();
    task::run(set(fh, circle, view, info::map_of(&info)))
}

/// What the others have to know of a view: bytes of an etype, whether it is in one piece, the name
/// of its data representation, and the hints.
fn describe(view: &View, hints: &InfoMap) -> Result<Vec<u8>> {
    let unit = view.io.etype_size().to_ne_bytes();
    let extent = view.io.representation().file_type(view.io.etype())?.extent().to_ne_bytes();
    let piece = [!view.io.is_contiguous() as u8];
    Ok([&unit[..], &extent, &piece, view.io.representation().name().as_bytes(), &[0], &encode(hints)].concat())
}

async fn set(file: Rc<File>, circle: Circle, view: Result<View>, asked: InfoMap) -> Result<()> {
    let own = view.as_ref().map_err(Clone::clone).and_then(|view| describe(view, &asked));
    let all = consent(&circle, own).await?;
    let view = view?;
    let name = |part: &[u8]| part[17..].split(|&byte| byte == 0).next().map(<[u8]>::to_vec);
    for (rank, part) in all.iter().enumerate() {
        if part[..16] != all[0][..16] {
            return err!(MPI_ERR_NOT_SAME, "rank {rank} gives an etype of another size than rank 0");
        }
        if name(part) != name(&all[0]) {
            return err!(MPI_ERR_NOT_SAME, "rank {rank} gives another data representation than rank 0");
        }
    }
    let first = &all[0][17 + view.io.representation().name().len() + 1..];
    let hints = merged(&file.hints.borrow(), &asked, first);
    *file.hints.borrow_mut() = hints;
    file.scattered.set(all.iter().any(|part| part[16] != 0));
    *file.view.borrow_mut() = Rc::new(view);
    file.engine()?.write_guarded();
    file.position.set(0);
    // Pointers are in units of the view: the shared one begins anew before anybody goes on.
    let reset = match circle.me {
        0 if file.shared.get().is_ok() => file.shared.set(0),
        _ => Ok(()),
    };
    consent(&circle, reset.map(|()| Vec::new())).await?;
    file.settle_habit()
}

/// MPI_File_get_view: derived types are given as new objects, which the program frees.
pub fn file_get_view(
    fh: Rc<File>, disp: Out<i64>, etype: Out<usize>, filetype: Out<usize>, datarep: TextOut,
) -> Result<()> {
    let view = fh.view();
    disp.set(view.io.displacement() as i64);
    etype.set(share(&view.etype));
    filetype.set(share(&view.filetype));
    datarep.set(view.io.representation().name(), MPI_MAX_DATAREP_STRING);
    Ok(())
}
