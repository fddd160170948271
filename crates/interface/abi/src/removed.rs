// Names that MPI-3.0 removed (MPI 2.2 sections 2.6.1 and 15), included where the bodies of the entry points are. The ABI has
// none of them, but MPICH's library of the same name exports them, and programs that were linked with that one ask for them.

macro_rules! removed {
    ($($name:ident $profiled:ident($($parameter:ident: $ty:ty),*) $body:block)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($parameter: $ty),*) -> c_int {
            // SAFETY: what the function asks of its caller is what the one in its place asks.
            unsafe { $body }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $profiled($($parameter: $ty),*) -> c_int {
            // SAFETY: as above.
            unsafe { $body }
        }
    )* };
}

removed! {
    MPI_Address PMPI_Address(location: Ptr, address: Ptr) { body_get_address(location, address) }
    MPI_Errhandler_create PMPI_Errhandler_create(function: Ptr, errhandler: Ptr) {
        body_comm_create_errhandler(function, errhandler)
    }
    MPI_Errhandler_get PMPI_Errhandler_get(comm: Handle, errhandler: Ptr) { body_comm_get_errhandler(comm, errhandler) }
    MPI_Errhandler_set PMPI_Errhandler_set(comm: Handle, errhandler: Handle) {
        body_comm_set_errhandler(comm, errhandler)
    }
    MPI_Type_extent PMPI_Type_extent(datatype: Handle, extent: Ptr) {
        let mut lower = 0_i64;
        body_type_get_extent(datatype, (&raw mut lower).cast(), extent)
    }
    MPI_Type_lb PMPI_Type_lb(datatype: Handle, displacement: Ptr) {
        let mut extent = 0_i64;
        body_type_get_extent(datatype, displacement, (&raw mut extent).cast())
    }
    MPI_Type_ub PMPI_Type_ub(datatype: Handle, displacement: Ptr) {
        let (mut lower, mut extent) = (0_i64, 0_i64);
        let code = body_type_get_extent(datatype, (&raw mut lower).cast(), (&raw mut extent).cast());
        if code == 0 && !displacement.is_null() {
            *displacement.cast::<i64>() = lower + extent;
        }
        code
    }
    MPI_Type_hindexed PMPI_Type_hindexed(
        count: c_int, blocklengths: Ptr, displacements: Ptr, oldtype: Handle, newtype: Ptr
    ) { body_type_create_hindexed(count, blocklengths, displacements, oldtype, newtype) }
    MPI_Type_hvector PMPI_Type_hvector(
        count: c_int, blocklength: c_int, stride: i64, oldtype: Handle, newtype: Ptr
    ) { body_type_create_hvector(count, blocklength, stride, oldtype, newtype) }
    MPI_Type_struct PMPI_Type_struct(
        count: c_int, blocklengths: Ptr, displacements: Ptr, types: Ptr, newtype: Ptr
    ) { body_type_create_struct(count, blocklengths, displacements, types, newtype) }
}
