//! One step of a copy, by the way that the bytes of its sides are reached.

use super::shared::Shared;
use super::side::Class;
use crate::cma::{self, Failed, Run};

/// Bytes of a side: how they are reached, where they lie if that is known here, and where in their region.
pub struct End<'a> {
    pub class: Class,
    pub runs: &'a [Run],
    pub at: u64,
}

impl<'a> End<'a> {
    /// Memory that is mapped here.
    pub fn local(runs: &'a [Run]) -> End<'a> {
        End { class: Class::Local, runs, at: 0 }
    }
}

/// Copies `len` bytes in one call; `None` where no call reaches both sides.
///
/// # Safety
/// Runs of class `Local` are `len` bytes that can be read, and written on the side of `to`; no others refer to these.
pub unsafe fn copy(shared: &Shared, from: &End<'_>, to: &End<'_>, len: u64) -> Option<Result<usize, Failed>> {
    let module = shared.module.as_ref();
    // SAFETY: contract of this function; what is of other processes the kernel checks.
    let result = unsafe {
        match (from.class, to.class) {
            (Class::Local, Class::Local) => {
                copy_runs(to.runs, from.runs);
                Ok(len as usize)
            }
            (Class::Declared(cookie), Class::Local) => module?.read(cookie, from.at, to.runs),
            (Class::Local, Class::Declared(cookie)) => module?.write(cookie, to.at, from.runs),
            (Class::Declared(source), Class::Declared(target)) => module?.copy((source, from.at), (target, to.at), len),
            (Class::Remote(pid), Class::Local) => cma::read(pid, to.runs, from.runs),
            (Class::Local, Class::Remote(pid)) => cma::write(pid, from.runs, to.runs),
            _ => return None,
        }
    };
    Some(result)
}

/// Copies from one list to another of the same length, in order.
///
/// # Safety
/// All runs are mapped here, the ones of `to` for us to write.
unsafe fn copy_runs(to: &[Run], from: &[Run]) {
    let (mut to, mut from) = (to.iter().copied(), from.iter().copied());
    let (Some(mut target), Some(mut source)) = (to.next(), from.next()) else { return };
    loop {
        let len = target.len.min(source.len);
        // SAFETY: contract of this function; they may overlap, where regions do.
        unsafe { std::ptr::copy(source.at, target.at, len) };
        for (run, list) in [(&mut target, &mut to), (&mut source, &mut from)] {
            run.at = run.at.wrapping_add(len);
            run.len -= len;
            if run.len == 0 {
                let Some(next) = list.next() else { return };
                *run = next;
            }
        }
    }
}
