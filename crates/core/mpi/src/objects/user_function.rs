//! Functions of programs that combine elements (MPI 5.0 section 6.9.5).

use crate::stated::State;
use std::ffi::{c_int, c_void};

/// `void (void *in, void *inout, int *len, MPI_Datatype *)`
pub type IntFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut usize);
/// `void (void *in, void *inout, MPI_Count *len, MPI_Datatype *)`
pub type LargeFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut usize);

/// What a program gave to MPI_Op_create.
#[derive(Clone, Debug)]
pub enum UserFunction {
    Int(IntFunction),
    Large(LargeFunction),
    Stated(Stated),
}

/// `void (void *state, void *in, void *inout, MPI_Count len, MPI_Datatype)`
pub type StatedFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, i64, usize);

/// What a program of another binary interface gave.
#[derive(Clone, Debug)]
pub struct Stated {
    pub call: StatedFunction,
    pub state: State,
    /// The most elements that it can count.
    pub most: i64,
}
