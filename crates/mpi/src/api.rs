//! The functions of MPI, one Rust function for each C function and its large-count form, named
//! in lower case without `MPI_`. The generated C entry points call them as `tern_mpi::api::name`.

pub use crate::pack::{
    get_address, pack, pack_external, pack_external_size, pack_size, unpack, unpack_external,
};
pub use crate::status_count::{
    get_count, get_elements, get_elements_x, status_set_elements, status_set_elements_x,
};
pub use crate::type_create::{
    type_contiguous, type_create_darray, type_create_hindexed, type_create_hindexed_block, type_create_hvector,
    type_create_indexed_block, type_create_resized, type_create_struct, type_create_subarray, type_indexed, type_vector,
};
pub use crate::type_fortran::{
    type_create_f90_complex, type_create_f90_integer, type_create_f90_real, type_get_value_index, type_match_size,
};
pub use crate::type_query::{
    type_commit, type_dup, type_free, type_get_contents, type_get_contents_c, type_get_envelope, type_get_envelope_c,
    type_get_extent, type_get_extent_x, type_get_name, type_get_true_extent, type_get_true_extent_x, type_set_name,
    type_size, type_size_x,
};
// Point-to-point (chapter 3) and requests.
pub use crate::buffered::{
    bsend, bsend_init, buffer_attach, buffer_detach, buffer_flush, buffer_iflush,
    comm_attach_buffer, comm_detach_buffer, comm_flush_buffer, comm_iflush_buffer, ibsend,
};
pub use crate::completion::{
    cancel, request_free, request_get_status, request_get_status_all, request_get_status_any,
    request_get_status_some, start, startall, test, test_cancelled, testall, testany, testsome,
    wait, waitall, waitany, waitsome,
};
pub use crate::generalized::{grequest_complete, grequest_start};
pub use crate::p2p::{
    irecv, irsend, isend, isendrecv, isendrecv_replace, issend, recv, recv_init, rsend, rsend_init,
    send, send_init, sendrecv, sendrecv_replace, ssend, ssend_init,
};
pub use crate::probe::{improbe, imrecv, iprobe, mprobe, mrecv, probe};
