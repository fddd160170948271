// ranks: 1
// Every function that no other program calls with wrong arguments gets one here, the first that it checks.
#include "check.h"

static char buffer[64], text[MPI_MAX_LIBRARY_VERSION_STRING];
static int ones[8] = {1}, zeros[8], ranges[1][3], number, key = MPI_KEYVAL_INVALID;
static MPI_Count larges[8] = {1}, large;
static MPI_Aint places[8], place;
static MPI_Offset offset;
static MPI_Datatype types[8];
static MPI_Status status;
static void *pointer;

static void collectives(void)
{
    FAILS(MPI_ERR_COMM, MPI_Allgather_init_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, MPI_COMM_NULL,
          MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Allgatherv_c(buffer, 1, MPI_INT, buffer, larges, places, MPI_INT, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Allgatherv_init_c(buffer, 1, MPI_INT, buffer, larges, places, MPI_INT,
          MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Allreduce_init_c(buffer, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL, MPI_INFO_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Alltoall_init_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, MPI_COMM_NULL,
          MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Alltoallv_c(buffer, larges, places, MPI_INT, buffer, larges, places, MPI_INT,
          MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Alltoallv_init_c(buffer, larges, places, MPI_INT, buffer, larges, places, MPI_INT,
          MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Alltoallw_c(buffer, larges, places, types, buffer, larges, places, types,
          MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Alltoallw_init_c(buffer, larges, places, types, buffer, larges, places, types,
          MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Bcast_init_c(buffer, 1, MPI_INT, 0, MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Exscan_init_c(buffer, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL, MPI_INFO_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Gather_init_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 0, MPI_COMM_NULL,
          MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Gatherv_c(buffer, 1, MPI_INT, buffer, larges, places, MPI_INT, 0, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Gatherv_init_c(buffer, 1, MPI_INT, buffer, larges, places, MPI_INT, 0,
          MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Iallgather_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Iallgatherv_c(buffer, 1, MPI_INT, buffer, larges, places, MPI_INT, MPI_COMM_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Iallreduce_c(buffer, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ialltoall_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ialltoallv_c(buffer, larges, places, MPI_INT, buffer, larges, places, MPI_INT,
          MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ialltoallw_c(buffer, larges, places, types, buffer, larges, places, types,
          MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ibcast_c(buffer, 1, MPI_INT, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Iexscan_c(buffer, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Igather_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Igatherv_c(buffer, 1, MPI_INT, buffer, larges, places, MPI_INT, 0, MPI_COMM_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ineighbor_allgather_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, MPI_COMM_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ineighbor_allgatherv(buffer, 1, MPI_INT, buffer, ones, zeros, MPI_INT,
          MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ineighbor_allgatherv_c(buffer, 1, MPI_INT, buffer, larges, places, MPI_INT,
          MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ineighbor_alltoall_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, MPI_COMM_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ineighbor_alltoallv(buffer, ones, zeros, MPI_INT, buffer, ones, zeros, MPI_INT,
          MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ineighbor_alltoallv_c(buffer, larges, places, MPI_INT, buffer, larges, places,
          MPI_INT, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ineighbor_alltoallw(buffer, ones, places, (MPI_Datatype[]){MPI_INT}, buffer, ones,
          places, (MPI_Datatype[]){MPI_INT}, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ineighbor_alltoallw_c(buffer, larges, places, (MPI_Datatype[]){MPI_INT}, buffer,
          larges, places, (MPI_Datatype[]){MPI_INT}, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ireduce_c(buffer, buffer, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ireduce_scatter_c(buffer, buffer, larges, MPI_INT, MPI_SUM, MPI_COMM_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ireduce_scatter_block_c(buffer, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Iscan_c(buffer, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Iscatter_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 0, MPI_COMM_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Iscatterv_c(buffer, larges, places, MPI_INT, buffer, 1, MPI_INT, 0, MPI_COMM_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Mprobe(0, 0, MPI_COMM_NULL, &(MPI_Message){0}, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_allgather_init_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, MPI_COMM_NULL,
          MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_allgatherv(buffer, 1, MPI_INT, buffer, ones, zeros, MPI_INT, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_allgatherv_c(buffer, 1, MPI_INT, buffer, larges, places, MPI_INT,
          MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_allgatherv_init(buffer, 1, MPI_INT, buffer, ones, zeros, MPI_INT,
          MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_allgatherv_init_c(buffer, 1, MPI_INT, buffer, larges, places, MPI_INT,
          MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_alltoall_init_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, MPI_COMM_NULL,
          MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_alltoallv(buffer, ones, zeros, MPI_INT, buffer, ones, zeros, MPI_INT,
          MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_alltoallv_c(buffer, larges, places, MPI_INT, buffer, larges, places,
          MPI_INT, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_alltoallv_init(buffer, ones, zeros, MPI_INT, buffer, ones, zeros, MPI_INT,
          MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_alltoallv_init_c(buffer, larges, places, MPI_INT, buffer, larges, places,
          MPI_INT, MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_alltoallw(buffer, ones, places, (MPI_Datatype[]){MPI_INT}, buffer, ones,
          places, (MPI_Datatype[]){MPI_INT}, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_alltoallw_c(buffer, larges, places, (MPI_Datatype[]){MPI_INT}, buffer,
          larges, places, (MPI_Datatype[]){MPI_INT}, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_alltoallw_init(buffer, ones, places, (MPI_Datatype[]){MPI_INT}, buffer,
          ones, places, (MPI_Datatype[]){MPI_INT}, MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Neighbor_alltoallw_init_c(buffer, larges, places, (MPI_Datatype[]){MPI_INT}, buffer,
          larges, places, (MPI_Datatype[]){MPI_INT}, MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Recv_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_COMM, MPI_Recv_init_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Reduce_init_c(buffer, buffer, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_NULL, MPI_INFO_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Reduce_scatter_c(buffer, buffer, larges, MPI_INT, MPI_SUM, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Reduce_scatter_block_init_c(buffer, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL,
          MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Reduce_scatter_init_c(buffer, buffer, larges, MPI_INT, MPI_SUM, MPI_COMM_NULL,
          MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Scan_init_c(buffer, buffer, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL, MPI_INFO_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Scatter_init_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 0, MPI_COMM_NULL,
          MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Scatterv_c(buffer, larges, places, MPI_INT, buffer, 1, MPI_INT, 0, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Scatterv_init_c(buffer, larges, places, MPI_INT, buffer, 1, MPI_INT, 0,
          MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Send_init_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Sendrecv_c(buffer, 1, MPI_INT, 0, 0, buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL,
          MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_COMM, MPI_Sendrecv_replace_c(buffer, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_NULL, MPI_STATUS_IGNORE));
}

static void communicators(void)
{
    FAILS(MPI_ERR_COMM, MPI_Attr_delete(MPI_COMM_NULL, key));
    FAILS(MPI_ERR_COMM, MPI_Attr_get(MPI_COMM_NULL, key, &pointer, &number));
    FAILS(MPI_ERR_COMM, MPI_Attr_put(MPI_COMM_NULL, key, NULL));
    FAILS(MPI_ERR_COMM, MPI_Comm_compare(MPI_COMM_NULL, MPI_COMM_WORLD, &number));
    FAILS(MPI_ERR_GROUP, MPI_Comm_create_from_group(MPI_GROUP_NULL, "text", MPI_INFO_NULL, MPI_ERRORS_RETURN,
          &(MPI_Comm){0}));
    FAILS(MPI_ERR_COMM, MPI_Comm_create_group(MPI_COMM_NULL, MPI_GROUP_EMPTY, 0, &(MPI_Comm){0}));
    FAILS(MPI_ERR_ARG, MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, NULL, NULL));
    FAILS(MPI_ERR_COMM, MPI_Comm_dup_with_info(MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Comm){0}));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&(int){MPI_KEYVAL_INVALID}));
    int freed, kept;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &freed, NULL));
    kept = freed;
    OK(MPI_Comm_free_keyval(&freed));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_SELF, kept, NULL));
    FAILS(MPI_ERR_COMM, MPI_Comm_get_info(MPI_COMM_NULL, &(MPI_Info){0}));
    FAILS(MPI_ERR_COMM, MPI_Comm_get_name((MPI_Comm)0x7, text, &number)); /* MPI_COMM_NULL has a name */
    FAILS(MPI_ERR_COMM, MPI_Comm_group(MPI_COMM_NULL, &(MPI_Group){0}));
    FAILS(MPI_ERR_COMM, MPI_Comm_idup(MPI_COMM_NULL, &(MPI_Comm){0}, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Comm_idup_with_info(MPI_COMM_NULL, MPI_INFO_NULL, &(MPI_Comm){0}, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Comm_remote_group(MPI_COMM_NULL, &(MPI_Group){0}));
    FAILS(MPI_ERR_COMM, MPI_Comm_set_info(MPI_COMM_NULL, MPI_INFO_NULL));
    FAILS(MPI_ERR_COMM, MPI_Comm_test_inter(MPI_COMM_NULL, &number));
    FAILS(MPI_ERR_GROUP, MPI_Group_compare(MPI_GROUP_NULL, MPI_GROUP_EMPTY, &number));
    FAILS(MPI_ERR_GROUP, MPI_Group_difference(MPI_GROUP_NULL, MPI_GROUP_EMPTY, &(MPI_Group){0}));
    FAILS(MPI_ERR_SESSION, MPI_Group_from_session_pset(MPI_SESSION_NULL, "text", &(MPI_Group){0}));
    FAILS(MPI_ERR_GROUP, MPI_Group_intersection(MPI_GROUP_NULL, MPI_GROUP_EMPTY, &(MPI_Group){0}));
    FAILS(MPI_ERR_GROUP, MPI_Group_range_excl(MPI_GROUP_NULL, 1, ranges, &(MPI_Group){0}));
    FAILS(MPI_ERR_GROUP, MPI_Group_rank(MPI_GROUP_NULL, &number));
    FAILS(MPI_ERR_GROUP, MPI_Group_union(MPI_GROUP_NULL, MPI_GROUP_EMPTY, &(MPI_Group){0}));
    FAILS(MPI_ERR_GROUP, MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, MPI_GROUP_EMPTY, 0, "text",
          MPI_INFO_NULL, MPI_ERRORS_RETURN, &(MPI_Comm){0}));
    FAILS(MPI_ERR_ARG, MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, NULL, NULL));
    FAILS(MPI_ERR_KEYVAL, MPI_Keyval_free(&(int){MPI_KEYVAL_INVALID}));
}

static void datatypes(void)
{
    FAILS(MPI_ERR_ARG, MPI_Get_address(buffer, NULL));
    FAILS(MPI_ERR_COMM, MPI_Pack_c(buffer, 1, MPI_INT, buffer, 1, &(MPI_Count){0}, MPI_COMM_NULL));
    FAILS(MPI_ERR_TYPE, MPI_Pack_external_c("text", buffer, 1, MPI_DATATYPE_NULL, buffer, 0, &large));
    FAILS(MPI_ERR_TYPE, MPI_Pack_external_size_c("text", 1, MPI_DATATYPE_NULL, &large));
    FAILS(MPI_ERR_COMM, MPI_Pack_size_c(1, MPI_INT, MPI_COMM_NULL, &large));
    FAILS(MPI_ERR_TYPE, MPI_Type_contiguous_c(1, MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_darray_c(0, 0, 1, larges, ones, ones, ones, MPI_ORDER_C,
          MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_ARG, MPI_Type_create_f90_complex(0, 0, NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_create_f90_integer(0, NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_create_f90_real(0, 0, NULL));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_hindexed(1, ones, places, MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_hindexed_c(1, larges, larges, MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_hindexed_block(1, 1, places, MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_hindexed_block_c(1, 1, larges, MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_hvector_c(1, 1, 0, MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_indexed_block(1, 1, ones, MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_indexed_block_c(1, 1, larges, MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_ARG, MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, NULL, NULL));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_resized_c(MPI_DATATYPE_NULL, 0, 0, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_COUNT, MPI_Type_create_struct_c(-1, larges, larges, (MPI_Datatype[]){MPI_INT},
          &(MPI_Datatype){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_create_subarray_c(1, larges, larges, larges, MPI_ORDER_C, MPI_DATATYPE_NULL,
          &(MPI_Datatype){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_delete_attr(MPI_DATATYPE_NULL, key));
    FAILS(MPI_ERR_KEYVAL, MPI_Type_free_keyval(&(int){MPI_KEYVAL_INVALID}));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_attr(MPI_DATATYPE_NULL, key, &pointer, &number));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_contents_c(MPI_DATATYPE_NULL, 1, 1, 1, 1, ones, places, larges,
          (MPI_Datatype[1]){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_envelope_c(MPI_DATATYPE_NULL, &large, &large, &large, &large, &number));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_extent_c(MPI_DATATYPE_NULL, &large, &large));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_extent_x(MPI_DATATYPE_NULL, &large, &large));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_name((MPI_Datatype)0x7, text, &number)); /* MPI_DATATYPE_NULL has one too */
    FAILS(MPI_ERR_TYPE, MPI_Type_get_true_extent(MPI_DATATYPE_NULL, &place, &place));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_true_extent_c(MPI_DATATYPE_NULL, &large, &large));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_true_extent_x(MPI_DATATYPE_NULL, &large, &large));
    FAILS(MPI_ERR_TYPE, MPI_Type_indexed_c(1, larges, larges, MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_TYPE, MPI_Type_set_attr(MPI_DATATYPE_NULL, key, NULL));
    FAILS(MPI_ERR_TYPE, MPI_Type_set_name(MPI_DATATYPE_NULL, "text"));
    FAILS(MPI_ERR_TYPE, MPI_Type_size_c(MPI_DATATYPE_NULL, &large));
    FAILS(MPI_ERR_TYPE, MPI_Type_size_x(MPI_DATATYPE_NULL, &large));
    FAILS(MPI_ERR_TYPE, MPI_Type_vector_c(1, 1, 1, MPI_DATATYPE_NULL, &(MPI_Datatype){0}));
    FAILS(MPI_ERR_COMM, MPI_Unpack_c(buffer, 1, &(MPI_Count){0}, buffer, 1, MPI_INT, MPI_COMM_NULL));
    FAILS(MPI_ERR_TYPE, MPI_Unpack_external_c(text, buffer, 0, &large, buffer, 1, MPI_DATATYPE_NULL));
}

static void environment(void)
{
    FAILS(MPI_ERR_ARG, MPI_Abi_get_fortran_info(NULL));
    FAILS(MPI_ERR_ARG, MPI_Abi_get_info(NULL));
    FAILS(MPI_ERR_ARG, MPI_Abi_get_version(NULL, &number));
    FAILS(MPI_ERR_COMM, MPI_Abort(MPI_COMM_NULL, MPI_ERR_OTHER));
    FAILS(MPI_ERR_INFO, MPI_Alloc_mem(0, (MPI_Info)0x7, &pointer));
    FAILS(MPI_ERR_ARG, MPI_Finalized(NULL));
    FAILS(MPI_ERR_ARG, MPI_Get_hw_resource_info(NULL));
    FAILS(MPI_ERR_ARG, MPI_Get_library_version(text, NULL));
    FAILS(MPI_ERR_ARG, MPI_Get_processor_name(text, NULL));
    FAILS(MPI_ERR_ARG, MPI_Get_version(NULL, &number));
    FAILS(MPI_ERR_ARG, MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, NULL));
    FAILS(MPI_ERR_ARG, MPI_Initialized(NULL));
    FAILS(MPI_ERR_ARG, MPI_Is_thread_main(NULL));
    FAILS(MPI_ERR_ARG, MPI_Query_thread(NULL));
    FAILS(MPI_ERR_SESSION, MPI_Session_finalize(&(MPI_Session){MPI_SESSION_NULL}));
    FAILS(MPI_ERR_SESSION, MPI_Session_get_info(MPI_SESSION_NULL, &(MPI_Info){0}));
    FAILS(MPI_ERR_SESSION, MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &number));
    FAILS(MPI_ERR_ERRHANDLER, MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &(MPI_Session){0}));
}

static void errors(void)
{
    FAILS(MPI_ERR_ARG, MPI_Add_error_class(NULL));
    FAILS(MPI_ERR_ARG, MPI_Add_error_code(MPI_ERR_OTHER, NULL));
    FAILS(MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_OTHER, NULL));
    FAILS(MPI_ERR_COMM, MPI_Comm_call_errhandler(MPI_COMM_NULL, MPI_ERR_OTHER));
    FAILS(MPI_ERR_COMM, MPI_Comm_get_errhandler(MPI_COMM_NULL, &(MPI_Errhandler){0}));
    FAILS(MPI_ERR_ERRHANDLER, MPI_Errhandler_free(&(MPI_Errhandler){MPI_ERRHANDLER_NULL}));
    FAILS(MPI_ERR_ARG, MPI_Error_class(MPI_ERR_OTHER, NULL));
    FAILS(MPI_ERR_ARG, MPI_Error_string(MPI_ERR_OTHER, text, NULL));
    FAILS(MPI_ERR_ARG, MPI_File_create_errhandler(NULL, &(MPI_Errhandler){0}));
    FAILS(MPI_ERR_SESSION, MPI_Session_call_errhandler(MPI_SESSION_NULL, MPI_ERR_OTHER));
    FAILS(MPI_ERR_ARG, MPI_Session_create_errhandler(NULL, &(MPI_Errhandler){0}));
    FAILS(MPI_ERR_SESSION, MPI_Session_get_errhandler(MPI_SESSION_NULL, &(MPI_Errhandler){0}));
    FAILS(MPI_ERR_SESSION, MPI_Session_set_errhandler(MPI_SESSION_NULL, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ARG, MPI_Win_create_errhandler(NULL, &(MPI_Errhandler){0}));
}

static void info(void)
{
    FAILS(MPI_ERR_ARG, MPI_Info_create(NULL));
    FAILS(MPI_ERR_ARG, MPI_Info_create_env(0, NULL, NULL));
    FAILS(MPI_ERR_INFO, MPI_Info_dup(MPI_INFO_NULL, &(MPI_Info){0}));
    FAILS(MPI_ERR_INFO, MPI_Info_get(MPI_INFO_NULL, "text", 1, text, &number));
    FAILS(MPI_ERR_INFO, MPI_Info_get_nthkey(MPI_INFO_NULL, 1, text));
    FAILS(MPI_ERR_INFO, MPI_Info_get_string(MPI_INFO_NULL, "text", &(int){8}, text, &number));
    FAILS(MPI_ERR_INFO, MPI_Info_get_valuelen(MPI_INFO_NULL, "text", &number, &number));
}

static void one_sided(void)
{
    FAILS(MPI_ERR_ARG, MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, NULL, NULL));
    FAILS(MPI_ERR_KEYVAL, MPI_Win_free_keyval(&(int){MPI_KEYVAL_INVALID}));
}

static void operations(void)
{
    FAILS(MPI_ERR_ARG, MPI_Op_create_c(NULL, 0, NULL));
    FAILS(MPI_ERR_TYPE, MPI_Reduce_local_c(buffer, buffer, 1, MPI_DATATYPE_NULL, MPI_SUM));
}

static void point_to_point(void)
{
    FAILS(MPI_ERR_COMM, MPI_Bsend_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Bsend_init(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Bsend_init_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COUNT, MPI_Buffer_attach_c(buffer, -1));
    FAILS(MPI_ERR_ARG, MPI_Buffer_detach(&pointer, NULL));
    FAILS(MPI_ERR_ARG, MPI_Buffer_detach_c(&pointer, NULL));
    FAILS(MPI_ERR_ARG, MPI_Buffer_iflush(NULL));
    FAILS(MPI_ERR_COMM, MPI_Comm_attach_buffer(MPI_COMM_NULL, buffer, 1));
    FAILS(MPI_ERR_COMM, MPI_Comm_attach_buffer_c(MPI_COMM_NULL, buffer, 1));
    FAILS(MPI_ERR_COMM, MPI_Comm_detach_buffer(MPI_COMM_NULL, &pointer, &number));
    FAILS(MPI_ERR_COMM, MPI_Comm_detach_buffer_c(MPI_COMM_NULL, &pointer, &large));
    FAILS(MPI_ERR_COMM, MPI_Comm_flush_buffer(MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Comm_iflush_buffer(MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_TYPE, MPI_Get_count_c(&status, MPI_DATATYPE_NULL, &large));
    FAILS(MPI_ERR_TYPE, MPI_Get_elements_c(&status, MPI_DATATYPE_NULL, &large));
    FAILS(MPI_ERR_TYPE, MPI_Get_elements_x(&status, MPI_DATATYPE_NULL, &large));
    FAILS(MPI_ERR_REQUEST, MPI_Grequest_complete((MPI_Request)0x181));
    FAILS(MPI_ERR_ARG, MPI_Grequest_start(NULL, NULL, NULL, NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ibsend(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ibsend_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_TYPE, MPI_Imrecv(buffer, 1, MPI_DATATYPE_NULL, &(MPI_Message){MPI_MESSAGE_NULL},
          &(MPI_Request){0}));
    FAILS(MPI_ERR_TYPE, MPI_Imrecv_c(buffer, 1, MPI_DATATYPE_NULL, &(MPI_Message){MPI_MESSAGE_NULL},
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Irecv_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Irsend_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Isend_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Isendrecv(buffer, 1, MPI_INT, 0, 0, buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Isendrecv_c(buffer, 1, MPI_INT, 0, 0, buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Isendrecv_replace(buffer, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Isendrecv_replace_c(buffer, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Issend_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_TYPE, MPI_Mrecv_c(buffer, 1, MPI_DATATYPE_NULL, &(MPI_Message){MPI_MESSAGE_NULL},
          MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Pready_list(1, ones, (MPI_Request)0x181));
    FAILS(MPI_ERR_REQUEST, MPI_Pready_range(0, 0, (MPI_Request)0x181));
    FAILS(MPI_ERR_COMM, MPI_Precv_init_c(buffer, 0, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_INFO_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Psend_init_c(buffer, 0, 1, MPI_INT, 0, 0, MPI_COMM_NULL, MPI_INFO_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_REQUEST, MPI_Request_get_status((MPI_Request)0x181, &number, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Request_get_status_all(1, (MPI_Request[]){(MPI_Request)0x181}, &number,
          MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Request_get_status_any(1, (MPI_Request[]){(MPI_Request)0x181}, &number, &number,
          MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Request_get_status_some(1, (MPI_Request[]){(MPI_Request)0x181}, &number, ones,
          MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_COMM, MPI_Rsend(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Rsend_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Rsend_init(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Rsend_init_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_SESSION, MPI_Session_attach_buffer(MPI_SESSION_NULL, buffer, 1));
    FAILS(MPI_ERR_SESSION, MPI_Session_attach_buffer_c(MPI_SESSION_NULL, buffer, 1));
    FAILS(MPI_ERR_SESSION, MPI_Session_detach_buffer(MPI_SESSION_NULL, &pointer, &number));
    FAILS(MPI_ERR_SESSION, MPI_Session_detach_buffer_c(MPI_SESSION_NULL, &pointer, &large));
    FAILS(MPI_ERR_SESSION, MPI_Session_flush_buffer(MPI_SESSION_NULL));
    FAILS(MPI_ERR_SESSION, MPI_Session_iflush_buffer(MPI_SESSION_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ssend_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    FAILS(MPI_ERR_COMM, MPI_Ssend_init(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Ssend_init_c(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_REQUEST, MPI_Startall(1, (MPI_Request[]){(MPI_Request)0x181}));
    FAILS(MPI_ERR_ARG, MPI_Status_get_error(MPI_STATUS_IGNORE, &number));
    FAILS(MPI_ERR_ARG, MPI_Status_get_source(MPI_STATUS_IGNORE, &number));
    FAILS(MPI_ERR_ARG, MPI_Status_get_tag(MPI_STATUS_IGNORE, &number));
    FAILS(MPI_ERR_ARG, MPI_Status_set_cancelled(MPI_STATUS_IGNORE, 0));
    FAILS(MPI_ERR_TYPE, MPI_Status_set_elements_c(&status, MPI_DATATYPE_NULL, 1));
    FAILS(MPI_ERR_TYPE, MPI_Status_set_elements_x(&status, MPI_DATATYPE_NULL, 1));
    FAILS(MPI_ERR_ARG, MPI_Status_set_error(MPI_STATUS_IGNORE, MPI_ERR_OTHER));
    FAILS(MPI_ERR_ARG, MPI_Status_set_source(MPI_STATUS_IGNORE, 0));
    FAILS(MPI_ERR_ARG, MPI_Status_set_tag(MPI_STATUS_IGNORE, 0));
    FAILS(MPI_ERR_ARG, MPI_Test_cancelled(MPI_STATUS_IGNORE, &number));
    FAILS(MPI_ERR_REQUEST, MPI_Testall(1, (MPI_Request[]){(MPI_Request)0x181}, &number, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Testany(1, (MPI_Request[]){(MPI_Request)0x181}, &number, &number,
          MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Testsome(1, (MPI_Request[]){(MPI_Request)0x181}, &number, ones,
          MPI_STATUSES_IGNORE));
}

static void topologies(void)
{
    FAILS(MPI_ERR_COMM, MPI_Cart_coords(MPI_COMM_NULL, 0, 1, ones));
    FAILS(MPI_ERR_COMM, MPI_Cart_create(MPI_COMM_NULL, 1, ones, ones, 0, &(MPI_Comm){0}));
    FAILS(MPI_ERR_COMM, MPI_Cart_get(MPI_COMM_NULL, 1, ones, ones, ones));
    FAILS(MPI_ERR_COMM, MPI_Cart_map(MPI_COMM_NULL, 1, ones, ones, &number));
    FAILS(MPI_ERR_COMM, MPI_Cart_rank(MPI_COMM_NULL, ones, &number));
    FAILS(MPI_ERR_COMM, MPI_Cart_shift(MPI_COMM_NULL, 0, 0, &number, &number));
    FAILS(MPI_ERR_COMM, MPI_Cart_sub(MPI_COMM_NULL, ones, &(MPI_Comm){0}));
    FAILS(MPI_ERR_COMM, MPI_Dist_graph_create(MPI_COMM_NULL, 1, ones, ones, ones, ones, MPI_INFO_NULL, 0,
          &(MPI_Comm){0}));
    FAILS(MPI_ERR_COMM, MPI_Dist_graph_create_adjacent(MPI_COMM_NULL, 1, ones, ones, 1, ones, ones,
          MPI_INFO_NULL, 0, &(MPI_Comm){0}));
    FAILS(MPI_ERR_COMM, MPI_Dist_graph_neighbors(MPI_COMM_NULL, 1, ones, ones, 1, ones, ones));
    FAILS(MPI_ERR_COMM, MPI_Graph_create(MPI_COMM_NULL, 1, ones, ones, 0, &(MPI_Comm){0}));
    FAILS(MPI_ERR_COMM, MPI_Graph_get(MPI_COMM_NULL, 1, 1, ones, ones));
    FAILS(MPI_ERR_COMM, MPI_Graph_map(MPI_COMM_NULL, 1, ones, ones, &number));
    FAILS(MPI_ERR_COMM, MPI_Graph_neighbors(MPI_COMM_NULL, 0, 1, ones));
    FAILS(MPI_ERR_COMM, MPI_Graph_neighbors_count(MPI_COMM_NULL, 0, &number));
    FAILS(MPI_ERR_COMM, MPI_Topo_test(MPI_COMM_NULL, &number));
}

static void windows(void)
{
    FAILS(MPI_ERR_WIN, MPI_Accumulate_c(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, MPI_WIN_NULL));
    FAILS(MPI_ERR_WIN, MPI_Get_c(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL));
    FAILS(MPI_ERR_WIN, MPI_Get_accumulate_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 0, 0, 1,
          MPI_INT, MPI_SUM, MPI_WIN_NULL));
    FAILS(MPI_ERR_WIN, MPI_Raccumulate(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, MPI_WIN_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_WIN, MPI_Raccumulate_c(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, MPI_WIN_NULL,
          &(MPI_Request){0}));
    FAILS(MPI_ERR_WIN, MPI_Rget_c(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_WIN, MPI_Rget_accumulate(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 0, 0, 1,
          MPI_INT, MPI_SUM, MPI_WIN_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_WIN, MPI_Rget_accumulate_c(buffer, 1, MPI_INT, buffer, 1, MPI_INT, 0, 0, 1,
          MPI_INT, MPI_SUM, MPI_WIN_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_WIN, MPI_Rput_c(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL, &(MPI_Request){0}));
    FAILS(MPI_ERR_COMM, MPI_Win_allocate_c(0, 1, MPI_INFO_NULL, MPI_COMM_NULL, &pointer, &(MPI_Win){0}));
    FAILS(MPI_ERR_COMM, MPI_Win_allocate_shared_c(0, 1, MPI_INFO_NULL, MPI_COMM_NULL, &pointer, &(MPI_Win){0}));
    FAILS(MPI_ERR_COMM, MPI_Win_create_c(buffer, 0, 1, MPI_INFO_NULL, MPI_COMM_NULL, &(MPI_Win){0}));
    FAILS(MPI_ERR_WIN, MPI_Win_flush_all(MPI_WIN_NULL));
    FAILS(MPI_ERR_WIN, MPI_Win_flush_local(0, MPI_WIN_NULL));
    FAILS(MPI_ERR_WIN, MPI_Win_get_name((MPI_Win)0x7, text, &number));
    FAILS(MPI_ERR_WIN, MPI_Win_shared_query_c(MPI_WIN_NULL, 0, &place, &place, &pointer));
}

static void files(void)
{
    FAILS(MPI_ERR_FILE, MPI_File_get_amode((MPI_File)0x7, &number));
    FAILS(MPI_ERR_FILE, MPI_File_get_atomicity((MPI_File)0x7, &number));
    FAILS(MPI_ERR_FILE, MPI_File_get_group((MPI_File)0x7, &(MPI_Group){0}));
    FAILS(MPI_ERR_FILE, MPI_File_get_info((MPI_File)0x7, &(MPI_Info){0}));
    FAILS(MPI_ERR_FILE, MPI_File_get_type_extent((MPI_File)0x7, MPI_INT, &place));
    FAILS(MPI_ERR_FILE, MPI_File_get_type_extent_c((MPI_File)0x7, MPI_INT, &large));
    FAILS(MPI_ERR_FILE, MPI_File_get_view((MPI_File)0x7, &offset, &(MPI_Datatype){0}, &(MPI_Datatype){0}, text));
    FAILS(MPI_ERR_FILE, MPI_File_iread_c((MPI_File)0x7, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iread_all((MPI_File)0x7, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iread_all_c((MPI_File)0x7, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iread_at_c((MPI_File)0x7, 0, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iread_at_all_c((MPI_File)0x7, 0, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iread_shared((MPI_File)0x7, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iread_shared_c((MPI_File)0x7, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iwrite_c((MPI_File)0x7, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iwrite_all_c((MPI_File)0x7, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iwrite_at_c((MPI_File)0x7, 0, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iwrite_at_all((MPI_File)0x7, 0, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iwrite_at_all_c((MPI_File)0x7, 0, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iwrite_shared((MPI_File)0x7, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_iwrite_shared_c((MPI_File)0x7, buffer, 1, MPI_INT, &(MPI_Request){0}));
    FAILS(MPI_ERR_FILE, MPI_File_read_c((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_read_all_c((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_read_all_begin_c((MPI_File)0x7, buffer, 1, MPI_INT));
    FAILS(MPI_ERR_FILE, MPI_File_read_at_c((MPI_File)0x7, 0, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_read_at_all_c((MPI_File)0x7, 0, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_read_at_all_begin_c((MPI_File)0x7, 0, buffer, 1, MPI_INT));
    FAILS(MPI_ERR_FILE, MPI_File_read_at_all_end((MPI_File)0x7, buffer, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_read_ordered((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_read_ordered_c((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_read_ordered_begin_c((MPI_File)0x7, buffer, 1, MPI_INT));
    FAILS(MPI_ERR_FILE, MPI_File_read_ordered_end((MPI_File)0x7, buffer, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_read_shared((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_read_shared_c((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_set_info((MPI_File)0x7, MPI_INFO_NULL));
    FAILS(MPI_ERR_FILE, MPI_File_write_c((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_write_all_c((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_write_all_begin_c((MPI_File)0x7, buffer, 1, MPI_INT));
    FAILS(MPI_ERR_FILE, MPI_File_write_at_c((MPI_File)0x7, 0, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_write_at_all_c((MPI_File)0x7, 0, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_write_at_all_begin_c((MPI_File)0x7, 0, buffer, 1, MPI_INT));
    FAILS(MPI_ERR_FILE, MPI_File_write_ordered_c((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_write_ordered_begin((MPI_File)0x7, buffer, 1, MPI_INT));
    FAILS(MPI_ERR_FILE, MPI_File_write_ordered_begin_c((MPI_File)0x7, buffer, 1, MPI_INT));
    FAILS(MPI_ERR_FILE, MPI_File_write_shared((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_FILE, MPI_File_write_shared_c((MPI_File)0x7, buffer, 1, MPI_INT, MPI_STATUS_IGNORE));
}

static void file_handlers(void)
{
    FAILS(MPI_ERR_ARG, MPI_File_get_errhandler(MPI_FILE_NULL, NULL));
    FAILS(MPI_ERR_FILE, MPI_File_call_errhandler((MPI_File)0x7, MPI_ERR_OTHER));
    FAILS(MPI_ERR_ERRHANDLER, MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRHANDLER_NULL));
}

static void representations(void)
{
    FAILS(MPI_ERR_ARG, MPI_Register_datarep_c(NULL, NULL, NULL, NULL, NULL));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &pointer, &number);
    for (int i = 0; i < 8; i++)
        types[i] = MPI_INT;
    collectives();
    communicators();
    datatypes();
    environment();
    errors();
    info();
    one_sided();
    operations();
    point_to_point();
    topologies();
    windows();
    files();
    file_handlers();
    representations();
    FAILS(MPI_ERR_OTHER, MPI_Init(NULL, NULL));
    FAILS(MPI_ERR_ARG, MPI_Remove_error_class(MPI_ERR_OTHER));
    FAILS(MPI_ERR_ARG, MPI_Remove_error_code(MPI_ERR_OTHER));
    FAILS(MPI_ERR_ARG, MPI_Remove_error_string(MPI_ERR_OTHER));
    return finish();
}
