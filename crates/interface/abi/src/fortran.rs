//! Statuses and handles of Fortran for C (MPI 5.0 sections 19.3.4 and 19.3.5).
//!
//! Programs compiled with Tern's header need only the variables here. Headers of other libraries of the standard ABI
//! declare the functions too, as symbols.

use crate::custom;
use crate::face::Handle;
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use tern_mpi::constants::{MPI_ERR_ARG, MPI_F_STATUS_SIZE, MPI_SUCCESS};

type Status = [c_int; MPI_F_STATUS_SIZE as usize];

/// Where the variables lead until the library of the Fortran procedures has told where Fortran's constants lie. Never
/// read or written.
static IGNORED: Status = [0; MPI_F_STATUS_SIZE as usize];

const fn ignored() -> AtomicPtr<c_int> {
    AtomicPtr::new((&raw const IGNORED).cast_mut().cast())
}

/// `MPI_Fint *` and `MPI_F08_status *`, which are written at load, before any thread reads them.
#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: AtomicPtr<c_int> = ignored();
#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: AtomicPtr<c_int> = ignored();
#[unsafe(no_mangle)]
pub static MPI_F08_STATUS_IGNORE: AtomicPtr<c_int> = ignored();
#[unsafe(no_mangle)]
pub static MPI_F08_STATUSES_IGNORE: AtomicPtr<c_int> = ignored();

/// True for no status, and for those that are to be ignored.
fn is_none(status: *const c_int) -> bool {
    let ignored = [&MPI_F_STATUS_IGNORE, &MPI_F_STATUSES_IGNORE, &MPI_F08_STATUS_IGNORE, &MPI_F08_STATUSES_IGNORE];
    status.is_null() || ignored.iter().any(|known| std::ptr::eq(known.load(Relaxed), status))
}

/// All forms of a status are the same integers in the same order.
unsafe fn copy(from: *const c_int, to: *mut c_int) -> c_int {
    if is_none(from) || is_none(to) {
        return MPI_ERR_ARG;
    }
    // SAFETY: both are statuses, and none is one of the constants.
    unsafe { *to.cast::<Status>() = *from.cast::<Status>() };
    MPI_SUCCESS
}

macro_rules! statuses {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(from: *const c_int, to: *mut c_int) -> c_int {
            // SAFETY: the caller gives what MPI asks for.
            unsafe { copy(from, to) }
        }
    )* };
}
statuses! {
    MPI_Status_c2f MPI_Status_f2c MPI_Status_c2f08 MPI_Status_f082c MPI_Status_f2f08 MPI_Status_f082f
    PMPI_Status_c2f PMPI_Status_f2c PMPI_Status_c2f08 PMPI_Status_f082c PMPI_Status_f2f08 PMPI_Status_f082f
}

macro_rules! handles {
    ($($c2f:ident $pc2f:ident $to:ident $f2c:ident $pf2c:ident $from:ident)*) => { $(
        handles!(one c_int, Handle, $to: $c2f $pc2f);
        handles!(one Handle, c_int, $from: $f2c $pf2c);
    )* };
    (one $result:ty, $argument:ty, $body:ident: $($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(value: $argument) -> $result {
            // SAFETY: any value is answered.
            unsafe { custom::$body(value) }
        }
    )* };
}
handles! {
    MPI_Comm_c2f PMPI_Comm_c2f comm_toint MPI_Comm_f2c PMPI_Comm_f2c comm_fromint
    MPI_Group_c2f PMPI_Group_c2f group_toint MPI_Group_f2c PMPI_Group_f2c group_fromint
    MPI_Type_c2f PMPI_Type_c2f type_toint MPI_Type_f2c PMPI_Type_f2c type_fromint
    MPI_Op_c2f PMPI_Op_c2f op_toint MPI_Op_f2c PMPI_Op_f2c op_fromint
    MPI_Errhandler_c2f PMPI_Errhandler_c2f errhandler_toint MPI_Errhandler_f2c PMPI_Errhandler_f2c errhandler_fromint
    MPI_Info_c2f PMPI_Info_c2f info_toint MPI_Info_f2c PMPI_Info_f2c info_fromint
    MPI_Request_c2f PMPI_Request_c2f request_toint MPI_Request_f2c PMPI_Request_f2c request_fromint
    MPI_Message_c2f PMPI_Message_c2f message_toint MPI_Message_f2c PMPI_Message_f2c message_fromint
    MPI_Win_c2f PMPI_Win_c2f win_toint MPI_Win_f2c PMPI_Win_f2c win_fromint
    MPI_File_c2f PMPI_File_c2f file_toint MPI_File_f2c PMPI_File_f2c file_fromint
    MPI_Session_c2f PMPI_Session_c2f session_toint MPI_Session_f2c PMPI_Session_f2c session_fromint
}
