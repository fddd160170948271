//! Functions for C that call a procedure of the program with Fortran's handles. C's reductions and error handlers have
//! no extra state, so each procedure gets a function of its own, out of a fixed number, for ever.

use crate::handles::{self, Handle};
use crate::runtime::P;
use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// The procedures of one kind by the function that calls them.
struct Pool<const N: usize> {
    procedures: [AtomicPtr<std::ffi::c_void>; N],
    /// How many there are.
    used: Mutex<usize>,
}

impl<const N: usize> Pool<N> {
    const fn new() -> Pool<N> {
        Pool { procedures: [const { AtomicPtr::new(std::ptr::null_mut()) }; N], used: Mutex::new(0) }
    }

    /// The number of a procedure.
    fn number(&self, procedure: P) -> usize {
        let mut used = self.used.lock().unwrap_or_else(|e| e.into_inner());
        let known = self.procedures[..*used].iter().position(|known| known.load(Relaxed) == procedure);
        known.unwrap_or_else(|| {
            if *used == N {
                eprintln!("tern: a Fortran program has more than {N} procedures for reductions or error handlers");
                std::process::abort();
            }
            self.procedures[*used].store(procedure, Relaxed);
            *used += 1;
            *used - 1
        })
    }
}

macro_rules! functions {
    ($make:ident: $($n:literal)*) => {
        [$($make::<$n> as P),*]
    };
}

/// So many procedures of a kind may a program have.
macro_rules! all {
    ($make:ident) => {
        functions!($make: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63)
    };
}

static OPERATIONS: Pool<64> = Pool::new();

unsafe extern "C" fn operation<const N: usize>(a: P, b: P, len: P, datatype: *const Handle) {
    type Procedure = unsafe extern "C" fn(P, P, P, P);
    // SAFETY: the program gave the procedure for this.
    unsafe {
        let procedure = std::mem::transmute::<P, Procedure>(OPERATIONS.procedures[N].load(Relaxed));
        let mut datatype = handles::datatype_out(*datatype);
        procedure(a, b, len, (&raw mut datatype).cast());
    }
}

/// The function of an operation.
pub fn user_function(procedure: P) -> P {
    all!(operation)[OPERATIONS.number(procedure)]
}

macro_rules! handlers {
    ($($pool:ident $call:ident $function:ident $out:ident)*) => { $(
        static $pool: Pool<64> = Pool::new();

        unsafe extern "C" fn $call<const N: usize>(object: *const Handle, code: *mut c_int) {
            // SAFETY: as above.
            unsafe {
                let procedure = $pool.procedures[N].load(Relaxed);
                let procedure = std::mem::transmute::<P, unsafe extern "C" fn(P, P)>(procedure);
                let mut object = handles::$out(*object);
                procedure((&raw mut object).cast(), code.cast());
            }
        }

        /// The function of an error handler.
        pub fn $function(procedure: P) -> P {
            all!($call)[$pool.number(procedure)]
        }
    )* };
}
handlers! {
    OF_COMM of_comm comm_error_function comm_out
    OF_WIN of_win win_error_function win_out
    OF_FILE of_file file_error_function file_out
}
