//! What posting to any queue has in common: the list of segments, and the answer.

use super::check;
use super::ffi::ibv_sge;
use crate::{Error, Result, Segment};
use std::mem::{align_of, offset_of, size_of};

/// A list as verbs have it; it is only read.
#[inline]
pub fn segments(list: &[Segment], most: u32) -> Result<(*mut ibv_sge, i32)> {
    if list.len() > most as usize {
        return Err(Error::Invalid(format!("{} segments; there is room for {most}", list.len())));
    }
    Ok((list.as_ptr().cast_mut().cast(), list.len() as i32))
}

/// What a call that posts has given.
#[inline]
pub fn posted(number: i32) -> Result<()> {
    match number {
        0 => Ok(()),
        libc::ENOMEM => Err(Error::QueueFull),
        number => check(number, || "a request was not taken".into()),
    }
}

// A list of segments is one of verbs.
const _: () = assert!(
    size_of::<Segment>() == size_of::<ibv_sge>()
        && align_of::<Segment>() == align_of::<ibv_sge>()
        && offset_of!(Segment, len) == offset_of!(ibv_sge, length)
        && offset_of!(Segment, key) == offset_of!(ibv_sge, lkey)
);
