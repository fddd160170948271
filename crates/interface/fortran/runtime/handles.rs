//! Arrays of handles: INTEGER in Fortran, the face's handles in C.

use super::error::Fault;
use super::{P, get, put};
use crate::face::{self, Handle};
use std::ffi::c_int;

/// So many need no memory from the heap.
const FEW: usize = 32;

pub struct Handles {
    few: [Handle; FEW],
    many: Vec<Handle>,
    len: usize,
    /// Bytes that could not be had; then there are no handles.
    lack: usize,
}

const NO_MEMORY: &str = "has so many handles that there is no memory to convert them";

impl Handles {
    /// Those that the program gives.
    #[inline]
    pub unsafe fn read(array: P, len: usize, convert: impl Fn(c_int) -> Handle) -> Handles {
        let mut handles = Handles::of(len);
        for (i, handle) in handles.slice().iter_mut().enumerate() {
            // SAFETY: the program gives `len` of them.
            *handle = convert(unsafe { get(array.cast::<c_int>().add(i).cast()) });
        }
        handles
    }

    /// Room for those that C gives.
    pub unsafe fn unset(_array: P, len: usize, _convert: impl Fn(c_int) -> Handle) -> Handles {
        Handles::of(len)
    }

    #[inline]
    fn of(len: usize) -> Handles {
        let few = [face::UNSET; FEW];
        if len <= FEW {
            return Handles { few, many: Vec::new(), len, lack: 0 };
        }
        let mut many = Vec::new();
        match tern_memory::resize(&mut many, len, face::UNSET) {
            Ok(()) => Handles { few, many, len, lack: 0 },
            Err(lack) => Handles { few, many, len: 0, lack: lack.bytes },
        }
    }

    /// What is wrong with the array, which is asked before anything is done with it: there is no memory for so many.
    #[inline]
    pub fn fault(&self) -> Option<Fault> {
        (self.lack > 0).then_some(Fault { class: face::ERR_NO_MEM, why: NO_MEMORY, bytes: self.lack })
    }

    fn slice(&mut self) -> &mut [Handle] {
        if self.len > FEW { &mut self.many } else { &mut self.few[..self.len] }
    }

    pub fn address(&mut self) -> P {
        self.slice().as_mut_ptr().cast()
    }

    /// Gives those that are set to the program.
    pub unsafe fn give(&mut self, array: P, convert: impl Fn(Handle) -> c_int) {
        for (i, &mut handle) in self.slice().iter_mut().enumerate() {
            if handle != face::UNSET {
                // SAFETY: the program has room for `len` of them.
                unsafe { put(array.cast::<c_int>().add(i).cast(), convert(handle)) }
            }
        }
    }

    /// Gives those that C has changed to the program, whose array may be a constant.
    pub unsafe fn give_changed(&mut self, array: P, read: impl Fn(c_int) -> Handle, convert: impl Fn(Handle) -> c_int) {
        for (i, &mut handle) in self.slice().iter_mut().enumerate() {
            // SAFETY: the program gave `len` of them.
            unsafe {
                let at = array.cast::<c_int>().add(i).cast();
                if handle != read(get(at)) {
                    put(at, convert(handle));
                }
            }
        }
    }
}
