//! The part of `infiniband/verbs.h` that Tern calls: its structures under its own names, and the functions,
//! found in libibverbs at run time. The layouts are those of rdma-core's stable interface (`libibverbs.so.1`); assertions hold
//! what a C compiler says of the header.
//!
//! The calls that move data are no functions of the library: the header has them inline, and they go through
//! pointers in the context. So do XRC's, which a library that is older than they are does not have.
#![allow(non_camel_case_types)]

mod device;
mod functions;
mod layouts;
mod pairs;
mod queues;
mod requests;

pub use device::*;
pub use functions::{Functions, status_text};
pub use pairs::*;
pub use queues::*;
pub use requests::*;
use std::ffi::{c_char, c_int, c_uint, c_void};
