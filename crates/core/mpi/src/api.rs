//! The functions of MPI, one Rust function for each C function and its large-count form, named
//! in lower case without `MPI_`. The generated C entry points call them as `tern_mpi::api::name`.

pub use crate::abi_info::{
    abi_get_fortran_booleans, abi_get_fortran_info, abi_get_info, abi_get_version, abi_set_fortran_booleans,
    abi_set_fortran_info,
};
pub use crate::datatype::create::{
    type_contiguous, type_contiguous_c, type_create_darray, type_create_darray_c, type_create_hindexed,
    type_create_hindexed_block, type_create_hindexed_block_c, type_create_hindexed_c, type_create_hvector,
    type_create_hvector_c, type_create_indexed_block, type_create_indexed_block_c, type_create_resized,
    type_create_resized_c, type_create_struct, type_create_struct_c, type_create_subarray, type_create_subarray_c,
    type_indexed, type_indexed_c, type_vector, type_vector_c,
};
pub use crate::datatype::fortran::{
    type_create_f90_complex, type_create_f90_integer, type_create_f90_real, type_get_value_index, type_match_size,
};
pub use crate::datatype::pack::{
    get_address, pack, pack_external, pack_external_size, pack_size, unpack, unpack_external,
};
pub use crate::datatype::query::{
    type_commit, type_dup, type_free, type_get_contents, type_get_contents_c, type_get_envelope, type_get_envelope_c,
    type_get_extent, type_get_extent_x, type_get_name, type_get_true_extent, type_get_true_extent_x, type_set_name,
    type_size, type_size_x,
};
pub use crate::request::count::{get_count, get_elements, get_elements_x, status_set_elements, status_set_elements_x};
pub use crate::request::persistent::{start, startall};
// Point-to-point (chapter 3) and requests.
pub use crate::collective::calls::{
    allgather, allgather_init, allgatherv, allgatherv_init, allreduce, allreduce_init, alltoall, alltoall_init,
    alltoallv, alltoallv_init, alltoallw, alltoallw_init, barrier, barrier_init, bcast, bcast_init, exscan,
    exscan_init, gather, gather_init, gatherv, gatherv_init, iallgather, iallgatherv, iallreduce, ialltoall,
    ialltoallv, ialltoallw, ibarrier, ibcast, iexscan, igather, igatherv, ireduce, ireduce_scatter,
    ireduce_scatter_block, iscan, iscatter, iscatterv, reduce, reduce_init, reduce_scatter, reduce_scatter_block,
    reduce_scatter_block_init, reduce_scatter_init, scan, scan_init, scatter, scatter_init, scatterv, scatterv_init,
};
pub use crate::collective::neighbor::{
    ineighbor_allgather, ineighbor_allgatherv, ineighbor_alltoall, ineighbor_alltoallv, ineighbor_alltoallw,
    neighbor_allgather, neighbor_allgather_init, neighbor_allgatherv, neighbor_allgatherv_init, neighbor_alltoall,
    neighbor_alltoall_init, neighbor_alltoallv, neighbor_alltoallv_init, neighbor_alltoallw, neighbor_alltoallw_init,
};
pub use crate::op::{op_commutative, op_create, op_create_c, op_free, reduce_local};
pub use crate::p2p::buffered::{
    bsend, bsend_init, buffer_attach, buffer_detach, buffer_flush, buffer_iflush, comm_attach_buffer,
    comm_detach_buffer, comm_flush_buffer, comm_iflush_buffer, ibsend, session_attach_buffer, session_detach_buffer,
    session_flush_buffer, session_iflush_buffer,
};
pub use crate::p2p::partitioned::{parrived, pready, pready_list, pready_range, precv_init, psend_init};
pub use crate::p2p::persistent::{recv_init, rsend_init, send_init, ssend_init};
pub use crate::p2p::probe::{improbe, imrecv, iprobe, mprobe, mrecv, probe};
pub use crate::p2p::{
    irecv, irsend, isend, isendrecv, isendrecv_replace, issend, recv, rsend, send, sendrecv, sendrecv_replace, ssend,
};
pub use crate::request::completion::{
    cancel, request_free, request_get_status, request_get_status_all, request_get_status_any, request_get_status_some,
    test, test_cancelled, testall, testany, testsome, wait, waitall, waitany, waitsome,
};
pub use crate::request::generalized::{grequest_complete, grequest_start};

pub use crate::attribute::{
    attr_delete, attr_get, attr_put, comm_create_keyval, comm_delete_attr, comm_free_keyval, comm_get_attr,
    comm_set_attr, keyval_create, keyval_free, type_create_keyval, type_delete_attr, type_free_keyval, type_get_attr,
    type_set_attr, win_create_keyval, win_free_keyval,
};
pub use crate::comm::{
    comm_compare, comm_disconnect, comm_free, comm_get_info, comm_get_name, comm_rank, comm_remote_size, comm_set_info,
    comm_set_name, comm_size, comm_test_inter,
};
pub use crate::errhandler::{
    comm_call_errhandler, comm_create_errhandler, comm_get_errhandler, comm_set_errhandler, errhandler_free,
    file_create_errhandler, session_call_errhandler, session_create_errhandler, session_get_errhandler,
    session_set_errhandler, win_create_errhandler,
};
pub use crate::errorcode::{
    add_error_class, add_error_code, add_error_string, error_class, error_string, remove_error_class,
    remove_error_code, remove_error_string,
};
// Files (chapter 14).
pub use crate::file::{
    file_call_errhandler, file_close, file_delete, file_get_amode, file_get_atomicity, file_get_byte_offset,
    file_get_errhandler, file_get_group, file_get_info, file_get_position, file_get_position_shared, file_get_size,
    file_get_type_extent, file_get_view, file_iread, file_iread_all, file_iread_at, file_iread_at_all,
    file_iread_shared, file_iwrite, file_iwrite_all, file_iwrite_at, file_iwrite_at_all, file_iwrite_shared, file_open,
    file_preallocate, file_read, file_read_all, file_read_all_begin, file_read_all_end, file_read_at, file_read_at_all,
    file_read_at_all_begin, file_read_at_all_end, file_read_ordered, file_read_ordered_begin, file_read_ordered_end,
    file_read_shared, file_seek, file_seek_shared, file_set_atomicity, file_set_errhandler, file_set_info,
    file_set_size, file_set_view, file_sync, file_write, file_write_all, file_write_all_begin, file_write_all_end,
    file_write_at, file_write_at_all, file_write_at_all_begin, file_write_at_all_end, file_write_ordered,
    file_write_ordered_begin, file_write_ordered_end, file_write_shared, register_datarep, register_datarep_c,
};
// Failures survived.
pub use crate::fault::{
    comm_ack_failed, comm_agree, comm_failure_ack, comm_failure_get_acked, comm_get_failed, comm_iagree,
    comm_is_revoked, comm_ishrink, comm_revoke, comm_shrink,
};
pub use crate::group::{
    comm_group, comm_remote_group, group_compare, group_difference, group_excl, group_free, group_incl,
    group_intersection, group_range_excl, group_range_incl, group_rank, group_size, group_translate_ranks, group_union,
};
pub use crate::info::{
    info_create, info_create_env, info_delete, info_dup, info_free, info_get, info_get_nkeys, info_get_nthkey,
    info_get_string, info_get_valuelen, info_set,
};

pub use crate::comm::create::{
    comm_create, comm_create_from_group, comm_create_group, comm_dup, comm_dup_with_info, comm_idup,
    comm_idup_with_info,
};
pub use crate::comm::intercomm::{intercomm_create, intercomm_create_from_groups, intercomm_merge};
pub use crate::comm::split::{comm_split, comm_split_type};
pub use crate::environment::{get_hw_resource_info, get_library_version, get_processor_name, get_version};
pub use crate::init::{
    abort, alloc_mem, finalize, finalized, free_mem, init, init_thread, initialized, is_thread_main, query_thread,
};
pub use crate::process::parent::comm_get_parent;
pub use crate::process::port::{
    close_port, comm_accept, comm_connect, comm_join, lookup_name, open_port, publish_name, unpublish_name,
};
pub use crate::process::spawn::{comm_spawn, comm_spawn_multiple};
pub use crate::session::{
    group_from_session_pset, session_finalize, session_get_info, session_get_nth_pset, session_get_num_psets,
    session_get_pset_info, session_init,
};
pub use crate::topology::create::{
    cart_create, cart_map, cart_sub, dist_graph_create, dist_graph_create_adjacent, graph_create, graph_map,
};
pub use crate::topology::dims::dims_create;
pub use crate::topology::{
    cart_coords, cart_get, cart_rank, cart_shift, cartdim_get, dist_graph_neighbors, dist_graph_neighbors_count,
    graph_get, graph_neighbors, graph_neighbors_count, graphdims_get, topo_test,
};
// One-sided communication (chapter 12).
pub use crate::request::status::{
    status_get_error, status_get_source, status_get_tag, status_set_cancelled, status_set_error, status_set_source,
    status_set_tag,
};
pub use crate::tool::{
    t_category_changed, t_category_get_categories, t_category_get_cvars, t_category_get_events, t_category_get_index,
    t_category_get_info, t_category_get_num, t_category_get_num_events, t_category_get_pvars, t_cvar_get_index,
    t_cvar_get_info, t_cvar_get_num, t_cvar_handle_alloc, t_cvar_handle_free, t_cvar_read, t_cvar_write,
    t_enum_get_info, t_enum_get_item, t_event_callback_get_info, t_event_callback_set_info, t_event_copy,
    t_event_get_index, t_event_get_info, t_event_get_num, t_event_get_source, t_event_get_timestamp,
    t_event_handle_alloc, t_event_handle_free, t_event_handle_get_info, t_event_handle_set_info, t_event_read,
    t_event_register_callback, t_event_set_dropped_handler, t_finalize, t_init_thread, t_pvar_get_index,
    t_pvar_get_info, t_pvar_get_num, t_pvar_handle_alloc, t_pvar_handle_free, t_pvar_read, t_pvar_readreset,
    t_pvar_reset, t_pvar_session_create, t_pvar_session_free, t_pvar_start, t_pvar_stop, t_pvar_write,
    t_source_get_info, t_source_get_num, t_source_get_timestamp,
};
pub use crate::win::{
    accumulate, compare_and_swap, fetch_and_op, get, get_accumulate, put, raccumulate, rget, rget_accumulate, rput,
    win_allocate, win_allocate_shared, win_attach, win_call_errhandler, win_complete, win_create, win_create_dynamic,
    win_delete_attr, win_detach, win_fence, win_flush, win_flush_all, win_flush_local, win_flush_local_all, win_free,
    win_get_attr, win_get_errhandler, win_get_group, win_get_info, win_get_name, win_lock, win_lock_all, win_post,
    win_set_attr, win_set_errhandler, win_set_info, win_set_name, win_shared_query, win_start, win_sync, win_test,
    win_unlock, win_unlock_all, win_wait,
};
