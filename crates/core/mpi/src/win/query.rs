//! What a window is asked: its group, name and attributes, and the memory of others (MPI 5.0
//! sections 12.2.3, 12.2.6, 12.2.7, 7.7.3 and 7.8).

use super::object::{Win, lookup};
use super::target;
use crate::args::{Out, OutCount, TextOut};
use crate::attribute::{self, keyval};
use crate::constants::*;
use crate::error::Result;
use crate::group;
use crate::objects::KeyvalKind;
use std::rc::Rc;

/// MPI_Win_get_group
pub fn win_get_group(win: Rc<Win>, group: Out<usize>) -> Result<()> {
    group.set(group::hand_out(win.comm.local.clone()));
    Ok(())
}

/// MPI_Win_set_name
pub fn win_set_name(win: Rc<Win>, name: &str) -> Result<()> {
    *win.name.borrow_mut() = name.to_owned();
    Ok(())
}

/// MPI_Win_get_name: MPI_WIN_NULL has a name too (section 7.8).
pub fn win_get_name(win: usize, name: TextOut, resultlen: Out<i32>) -> Result<()> {
    let text = match win {
        MPI_WIN_NULL => "MPI_WIN_NULL".to_owned(),
        _ => lookup(win)?.name.borrow().clone(),
    };
    resultlen.set(name.set(&text, MPI_MAX_OBJECT_NAME));
    Ok(())
}

/// MPI_Win_set_attr
pub fn win_set_attr(win: Rc<Win>, id: i32, value: *mut u8) -> Result<()> {
    attribute::check_not_predefined(id)?;
    win.attributes.set(keyval(id, KeyvalKind::Win)?, value.cast(), win.handle.get())
}

/// MPI_Win_delete_attr
pub fn win_delete_attr(win: Rc<Win>, id: i32) -> Result<()> {
    attribute::check_not_predefined(id)?;
    keyval(id, KeyvalKind::Win)?;
    win.attributes.delete(id, win.handle.get())
}

/// MPI_Win_get_attr. Of the predefined attributes (section 12.2.6) the base is the address of the
/// memory itself, the others are addresses of integers.
pub fn win_get_attr(win: Rc<Win>, id: i32, value: Out<usize>, flag: Out<i32>) -> Result<()> {
    let own = &win.own;
    let found = match id {
        MPI_WIN_BASE => own.base,
        MPI_WIN_SIZE => &raw const own.size as usize,
        MPI_WIN_DISP_UNIT => &raw const own.disp_unit as usize,
        MPI_WIN_CREATE_FLAVOR => &raw const own.flavor as usize,
        MPI_WIN_MODEL => &raw const own.model as usize,
        _ => return attribute::get(&win.attributes, KeyvalKind::Win, id, value, flag),
    };
    value.set(found);
    flag.set(1);
    Ok(())
}

/// MPI_Win_shared_query: where this process reaches the memory of `rank`. A rank whose memory it
/// cannot reach has no bytes here; MPI_PROC_NULL stands for the lowest rank that has some.
pub fn win_shared_query(
    win: Rc<Win>, rank: i32, size: Out<i64>, disp_unit: OutCount, baseptr: Out<usize>,
) -> Result<()> {
    if win.is_dynamic() {
        return err!(
            MPI_ERR_RMA_FLAVOR,
            "{} was made by MPI_Win_create_dynamic and has no memory of its own",
            win.label()
        );
    }
    let rank = match target::rank(&win, rank)? {
        Some(rank) => rank,
        None => (0..win.size() as u32).find(|&rank| win.window.bytes(rank) > 0).unwrap_or(0),
    };
    let (base, bytes, unit) = win.window.shared(rank).unwrap_or((std::ptr::null_mut(), 0, win.window.disp_unit(rank)));
    size.set(bytes as i64);
    disp_unit.set(unit);
    // Other libraries, too, give no address where there are no bytes.
    baseptr.set(if bytes == 0 { 0 } else { base as usize });
    Ok(())
}
