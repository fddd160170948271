//! The short way into put and get; see [`crate::fast`], of which this is a part.

use super::object::Win;
use crate::enter::is_single;
use crate::fast::{Fast, dense};
use crate::objects::objects;
use std::rc::Rc;
use tern_adi::Data;
use tern_rma::Target;

/// What an access is about, if it is ordinary: dense predefined types of one length at both sides, and
/// an epoch for the target.
struct Access {
    win: Rc<Win>,
    data: Data,
    rank: u32,
    displacement: i64,
}

impl Access {
    /// The target as so many bytes.
    fn target(&self) -> Target<'_> {
        Target { rank: self.rank, displacement: self.displacement, ty: &self.win.byte, count: self.data.len() as i64 }
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)] // those of the C function
fn access(
    buf: *mut u8,
    origin_count: i64,
    origin_type: usize,
    rank: i32,
    displacement: i64,
    count: i64,
    datatype: usize,
    win: usize,
) -> Option<Access> {
    if !is_single() {
        return None;
    }
    let data = dense(buf, origin_count, origin_type)?;
    // No data is read there: it only has to be as long.
    let there = dense(std::ptr::dangling_mut(), count, datatype)?;
    let win = objects().wins.borrow().get(win)?.clone();
    let rank = rank as u32;
    let plain = rank < win.size() as u32 && data.len() == there.len() && !data.is_empty();
    if !plain || (displacement < 0 && !win.is_dynamic()) || win.epochs.borrow_mut().access(rank).is_err() {
        return None;
    }
    Some(Access { win, data, rank, displacement })
}

macro_rules! transfers {
    ($($name:ident)*) => { $(
        // An error is found again, and told, on the general way: nothing was moved.
        #[inline]
        #[allow(clippy::too_many_arguments)]
        pub fn $name(
            buf: *mut u8,
            origin_count: i64,
            origin_type: usize,
            rank: i32,
            displacement: i64,
            count: i64,
            datatype: usize,
            win: usize,
        ) -> Fast {
            let access = access(buf, origin_count, origin_type, rank, displacement, count, datatype, win)?;
            access.win.window.$name(&access.data, &access.target()).ok().map(|_| Ok(()))
        }
    )* };
}
transfers!(put get);
