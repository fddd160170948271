// ranks: 1
// The tool interface before MPI_T_init_thread: every function says that it is not initialised. That one refuses
// a null pointer for its answer.
#include "check.h"

int main(void)
{
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_category_changed(NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_category_get_categories(0, 0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_category_get_cvars(0, 0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_category_get_events(0, 0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_category_get_index(NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_category_get_num(NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_category_get_num_events(0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_category_get_pvars(0, 0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_index(NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_handle_alloc(0, 0, NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_handle_free(NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_read(0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_enum_get_info(0, NULL, NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_enum_get_item(0, 0, NULL, NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_callback_get_info(0, 0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_callback_set_info(0, 0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_copy(0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_get_index(NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_get_num(NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_get_source(0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_get_timestamp(0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_handle_alloc(0, 0, 0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_handle_free(0, 0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_handle_get_info(0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_handle_set_info(0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_read(0, 0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_register_callback(0, 0, 0, 0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_event_set_dropped_handler(0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_finalize());
    REFUSES(MPI_T_ERR_INVALID, MPI_T_init_thread(0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_get_index(NULL, 0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_get_num(NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_handle_alloc(0, 0, 0, NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_handle_free(0, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_read(0, 0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_readreset(0, 0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_reset(0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_session_create(NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_session_free(NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_start(0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_stop(0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_write(0, 0, 0));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_source_get_num(NULL));
    REFUSES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_source_get_timestamp(0, NULL));
    return failures ? 1 : 0;
}
