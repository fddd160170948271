//! Functions that the libraries of both old interfaces export beside those of the standard, as macros that a face uses in
//! the module of its functions.

pub use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A pointer that headers declare as a variable. The library of the Fortran procedures sets it at load.
pub type Address = AtomicPtr<std::ffi::c_int>;

/// What MPI-3.0 removed (MPI 2.2 sections 2.6.1 and 15): the same as functions that remained, but for some names of
/// parameters; and the statuses of Fortran, which have the layout of C's in both interfaces.
#[macro_export]
macro_rules! old_functions {
    () => {
        $crate::both_names! {
            MPI_Address PMPI_Address(location: Ptr, address: Ptr) { body_get_address(location, address) }
            MPI_Errhandler_create PMPI_Errhandler_create(function: Ptr, errhandler: Ptr) {
                body_comm_create_errhandler(function, errhandler)
            }
            MPI_Errhandler_get PMPI_Errhandler_get(comm: H, errhandler: Ptr) {
                body_comm_get_errhandler(comm, errhandler)
            }
            MPI_Errhandler_set PMPI_Errhandler_set(comm: H, errhandler: H) {
                body_comm_set_errhandler(comm, errhandler)
            }
            MPI_Type_extent PMPI_Type_extent(datatype: H, extent: Ptr) {
                let mut lower = 0_i64;
                body_type_get_extent(datatype, (&raw mut lower).cast(), extent)
            }
            MPI_Type_lb PMPI_Type_lb(datatype: H, displacement: Ptr) {
                let mut extent = 0_i64;
                body_type_get_extent(datatype, displacement, (&raw mut extent).cast())
            }
            MPI_Type_ub PMPI_Type_ub(datatype: H, displacement: Ptr) {
                let (mut lower, mut extent) = (0_i64, 0_i64);
                let code = body_type_get_extent(datatype, (&raw mut lower).cast(), (&raw mut extent).cast());
                if code == 0 && !displacement.is_null() {
                    *displacement.cast::<i64>() = lower + extent;
                }
                code
            }
            MPI_Type_hindexed PMPI_Type_hindexed(
                count: c_int, blocklengths: Ptr, displacements: Ptr, oldtype: H, newtype: Ptr
            ) {
                body_type_create_hindexed(count, blocklengths, displacements, oldtype, newtype)
            }
            MPI_Type_hvector PMPI_Type_hvector(
                count: c_int, blocklength: c_int, stride: i64, oldtype: H, newtype: Ptr
            ) {
                body_type_create_hvector(count, blocklength, stride, oldtype, newtype)
            }
            MPI_Type_struct PMPI_Type_struct(
                count: c_int, blocklengths: Ptr, displacements: Ptr, types: Ptr, newtype: Ptr
            ) {
                body_type_create_struct(count, blocklengths, displacements, types, newtype)
            }
            MPI_Status_c2f PMPI_Status_c2f(status: Ptr, fortran: Ptr) {
                $crate::status::copy::<F>(status, fortran)
            }
            MPI_Status_f2c PMPI_Status_f2c(fortran: Ptr, status: Ptr) {
                if fortran == MPI_F_STATUS_IGNORE.load($crate::exports::Relaxed).cast() { return F::ERR_ARG; }
                $crate::status::copy::<F>(fortran, status)
            }
            MPI_Status_c2f08 PMPI_Status_c2f08(status: Ptr, fortran: Ptr) {
                $crate::status::copy::<F>(status, fortran)
            }
            MPI_Status_f082c PMPI_Status_f082c(fortran: Ptr, status: Ptr) {
                $crate::status::copy::<F>(fortran, status)
            }
            MPI_Status_f2f08 PMPI_Status_f2f08(fortran: Ptr, status: Ptr) {
                $crate::status::copy::<F>(fortran, status)
            }
            MPI_Status_f082f PMPI_Status_f082f(fortran: Ptr, status: Ptr) {
                $crate::status::copy::<F>(fortran, status)
            }
            MPIX_Query_cuda_support PMPIX_Query_cuda_support() { 0 }
        }
        /// Statuses that Fortran ignores: until the Fortran procedures are loaded, addresses that no status has.
        static IGNORED: [c_int; 8] = [0; 8];
        #[unsafe(no_mangle)]
        pub static MPI_F_STATUS_IGNORE: $crate::exports::Address =
            $crate::exports::Address::new((&raw const IGNORED).cast_mut().cast());
        #[unsafe(no_mangle)]
        pub static MPI_F_STATUSES_IGNORE: $crate::exports::Address =
            $crate::exports::Address::new((&raw const IGNORED).cast_mut().cast());
        #[unsafe(no_mangle)]
        pub static MPI_F08_STATUS_IGNORE: $crate::exports::Address =
            $crate::exports::Address::new((&raw const IGNORED).cast_mut().cast());
        #[unsafe(no_mangle)]
        pub static MPI_F08_STATUSES_IGNORE: $crate::exports::Address =
            $crate::exports::Address::new((&raw const IGNORED).cast_mut().cast());
        $crate::fortran_handles! {
            MPI_Comm_c2f PMPI_Comm_c2f MPI_Comm_f2c PMPI_Comm_f2c Comm
            MPI_Group_c2f PMPI_Group_c2f MPI_Group_f2c PMPI_Group_f2c Group
            MPI_Type_c2f PMPI_Type_c2f MPI_Type_f2c PMPI_Type_f2c Datatype
            MPI_Op_c2f PMPI_Op_c2f MPI_Op_f2c PMPI_Op_f2c Op
            MPI_Errhandler_c2f PMPI_Errhandler_c2f MPI_Errhandler_f2c PMPI_Errhandler_f2c Errhandler
            MPI_Info_c2f PMPI_Info_c2f MPI_Info_f2c PMPI_Info_f2c Info
            MPI_Request_c2f PMPI_Request_c2f MPI_Request_f2c PMPI_Request_f2c Request
            MPI_Message_c2f PMPI_Message_c2f MPI_Message_f2c PMPI_Message_f2c Message
            MPI_Win_c2f PMPI_Win_c2f MPI_Win_f2c PMPI_Win_f2c Win
            MPI_Session_c2f PMPI_Session_c2f MPI_Session_f2c PMPI_Session_f2c Session
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn MPI_File_c2f(file: FH) -> c_int {
            F::file_to_int(file)
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn PMPI_File_c2f(file: FH) -> c_int {
            F::file_to_int(file)
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn MPI_File_f2c(file: c_int) -> FH {
            F::file_from_int(file)
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn PMPI_File_f2c(file: c_int) -> FH {
            F::file_from_int(file)
        }
    };
}

/// Exports functions that return an error code, under two names each.
#[macro_export]
macro_rules! both_names {
    ($($name:ident $profiled:ident($($param:ident: $ty:ty),* $(,)?) $body:block)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($param: $ty),*) -> c_int {
            unsafe { $body }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $profiled($($param: $ty),*) -> c_int {
            unsafe { $body }
        }
    )* };
}

/// Exports the conversions of handles to Fortran's integers and back.
#[macro_export]
macro_rules! fortran_handles {
    ($($c2f:ident $pc2f:ident $f2c:ident $pf2c:ident $kind:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $c2f(handle: H) -> c_int {
            F::to_int(Kind::$kind, handle)
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pc2f(handle: H) -> c_int {
            F::to_int(Kind::$kind, handle)
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $f2c(value: c_int) -> H {
            F::from_int(Kind::$kind, value)
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pf2c(value: c_int) -> H {
            F::from_int(Kind::$kind, value)
        }
    )* };
}
