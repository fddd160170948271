// ranks: 1 2
// nodes: 1
// Events reach their callbacks: with the right data, at a time when callbacks may call anything.
#include "check.h"

static MPI_T_event_registration first, second;
static int seen, seen_second, freed, nested, told_dropped, last_tag;
static MPI_Count before, dropped;
static char token;

static void look(MPI_T_event_instance event, int wanted_source, int wanted_tag, unsigned long long wanted_bytes)
{
    struct {
        int source, tag;
        unsigned long long bytes;
    } all;
    int source = -1, tag = -1, from = -1;
    unsigned long long bytes = 0;
    MPI_Count time, now;
    OK(MPI_T_event_read(event, 0, &source));
    OK(MPI_T_event_read(event, 1, &tag));
    OK(MPI_T_event_read(event, 2, &bytes));
    OK(MPI_T_event_copy(event, &all));
    OK(MPI_T_event_get_source(event, &from));
    OK(MPI_T_event_get_timestamp(event, &time));
    OK(MPI_T_source_get_timestamp(from, &now));
    CHECK(source == wanted_source && tag == wanted_tag && bytes == wanted_bytes, "%d %d %llu", source, tag, bytes);
    CHECK(all.source == source && all.tag == tag && all.bytes == bytes);
    CHECK(before <= time && time <= now);
    CHECK(MPI_T_event_read(event, 3, &source) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_read(event, 0, NULL) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_copy(event, NULL) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_get_timestamp(event, NULL) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_event_get_source(event, NULL) == MPI_T_ERR_INVALID);
}

static MPI_T_event_instance kept;

static void on_first(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    CHECK(registration == first && safety == MPI_T_CB_REQUIRE_NONE && data == &token);
    look(event, rank, 100 + seen, 40 + seen);
    seen++;
    kept = event;
}

static void never(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)event, (void)registration, (void)safety, (void)data;
    CHECK(!"called");
}

static void on_freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    CHECK(registration != NULL && safety == MPI_T_CB_REQUIRE_NONE && data == &freed);
    freed++;
}

/* Frees its own registration, and may communicate. */
static void on_second(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    char bytes[40];
    (void)safety, (void)data;
    seen_second++;
    look(event, rank, 7, 0);
    nested++;
    OK(MPI_Sendrecv(bytes, 5, MPI_CHAR, rank, 8, bytes + 20, 5, MPI_CHAR, rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_T_event_handle_free(registration, &freed, on_freed));
    CHECK(freed == 0);
    CHECK(MPI_T_event_handle_free(registration, &freed, on_freed) == MPI_T_ERR_INVALID_HANDLE);
}

static void unexpected_to_self(int tag, int bytes)
{
    char data[100] = {0};
    MPI_Request request;
    OK(MPI_Isend(data, bytes, MPI_CHAR, rank, tag, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void receive_from_self(int tag)
{
    char data[100];
    OK(MPI_Recv(data, sizeof data, MPI_CHAR, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void basic(int index)
{
    int source;
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &first));
    /* Nothing is registered yet: this one nobody hears of. */
    unexpected_to_self(1, 1);
    OK(MPI_T_event_register_callback(first, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, NULL, never));
    OK(MPI_T_event_register_callback(first, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &token, on_first));
    OK(MPI_T_source_get_timestamp(0, &before));
    for (int i = 0; i < 5; i++)
        unexpected_to_self(100 + i, 40 + i);
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    CHECK(seen == 5, "%d", seen);
    CHECK(MPI_T_event_get_source(kept, &source) == MPI_T_ERR_INVALID_HANDLE);
    /* What has happened is told before the registration goes. */
    unexpected_to_self(105, 45);
    OK(MPI_T_event_handle_free(first, &freed, on_freed));
    CHECK(seen == 6 && freed == 1, "%d %d", seen, freed);
    unexpected_to_self(106, 46);
    receive_from_self(1);
    for (int i = 0; i < 7; i++)
        receive_from_self(100 + i);
    CHECK(seen == 6);
}

static void freed_inside(int index)
{
    freed = 0;
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &second));
    OK(MPI_T_event_register_callback(second, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, on_second));
    unexpected_to_self(7, 0);
    receive_from_self(7);
    CHECK(seen_second == 1 && nested == 1 && freed == 1, "%d %d %d", seen_second, nested, freed);
}

/* More events than are kept: while a callback runs, no other is called. */
enum { FLOOD = 6000 };

static void on_flood(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)registration, (void)safety, (void)data;
    int tag;
    OK(MPI_T_event_read(event, 1, &tag));
    CHECK(tag == last_tag, "%d, not %d", tag, last_tag);
    last_tag++;
    if (seen++ == 0)
        for (int i = 1; i <= FLOOD; i++)
            unexpected_to_self(i, 0);
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void *data)
{
    CHECK(registration == first && source == 0 && safety == MPI_T_CB_REQUIRE_NONE && data == &token);
    dropped += count;
    told_dropped++;
}

static void flood(int index)
{
    seen = 0;
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &first));
    OK(MPI_T_event_set_dropped_handler(first, on_dropped));
    OK(MPI_T_event_register_callback(first, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &token, on_flood));
    unexpected_to_self(0, 0);
    for (int i = 0; i <= FLOOD; i++)
        receive_from_self(i);
    CHECK(seen + dropped == FLOOD + 1 && told_dropped == 1 && dropped > 0, "%d %d %d", seen, (int)dropped, told_dropped);
    OK(MPI_T_event_handle_free(first, NULL, NULL));
}

/* A receive that its sender fills. */
static void on_filled(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)registration, (void)safety;
    look(event, 0, 77, 1 << 20);
    ++*(int *)data;
}

static unsigned long long filled_receives(void)
{
    int index, count;
    unsigned long long value;
    static MPI_T_pvar_session session;
    static MPI_T_pvar_handle filled, packets;
    if (!session) {
        OK(MPI_T_pvar_session_create(&session));
        OK(MPI_T_pvar_get_index("published_filled", MPI_T_PVAR_CLASS_COUNTER, &index));
        OK(MPI_T_pvar_handle_alloc(session, index, NULL, &filled, &count));
        OK(MPI_T_pvar_get_index("published_packets", MPI_T_PVAR_CLASS_COUNTER, &index));
        OK(MPI_T_pvar_handle_alloc(session, index, NULL, &packets, &count));
        OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    }
    OK(MPI_T_pvar_read(session, filled, &value));
    unsigned long long sum = value;
    OK(MPI_T_pvar_read(session, packets, &value));
    return sum + value;
}

static void published(int index)
{
    char *data;
    int told = 0;
    MPI_Request request;
    MPI_Alloc_mem(1 << 20, MPI_INFO_NULL, &data);
    filled_receives();
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &second));
    OK(MPI_T_event_register_callback(second, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &told, on_filled));
    for (int i = 0; i < 10; i++) {
        if (rank == 1)
            OK(MPI_Irecv(data, 1 << 20, MPI_CHAR, 0, 77, MPI_COMM_WORLD, &request));
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            OK(MPI_Send(data, 1 << 20, MPI_CHAR, 1, 77, MPI_COMM_WORLD));
        else if (rank == 1)
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK((unsigned long long)told == filled_receives(), "%d %llu", told, filled_receives());
    OK(MPI_T_event_handle_free(second, NULL, NULL));
    MPI_Free_mem(data);
}

/* A buffer that is used so often that it is promoted, where the machine allows that: told as often as counted. */
static void on_promoted(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    unsigned long long address, bytes;
    (void)registration, (void)safety;
    OK(MPI_T_event_read(event, 0, &address));
    OK(MPI_T_event_read(event, 1, &bytes));
    CHECK(address != 0 && bytes == 1 << 20, "%#llx %llu", address, bytes);
    ++*(int *)data;
}

static void promoted(int index)
{
    char *data = calloc(1, 1 << 20);
    int told = 0, variable, count;
    unsigned long long promotions;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_get_index("promoted", MPI_T_PVAR_CLASS_COUNTER, &variable));
    OK(MPI_T_pvar_handle_alloc(session, variable, NULL, &handle, &count));
    OK(MPI_T_pvar_start(session, handle));
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &first));
    OK(MPI_T_event_register_callback(first, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &told, on_promoted));
    for (int i = 0; i < 50; i++)
        if (rank == 0)
            OK(MPI_Send(data, 1 << 20, MPI_CHAR, 1, 9, MPI_COMM_WORLD));
        else
            OK(MPI_Recv(data, 1 << 20, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_T_event_handle_free(first, NULL, NULL));
    OK(MPI_T_pvar_read(session, handle, &promotions));
    CHECK((unsigned long long)told == promotions, "%d %llu", told, promotions);
    OK(MPI_T_pvar_session_free(&session));
    free(data);
}

int main(int argc, char **argv)
{
    int provided, index;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    begin(&argc, &argv);
    OK(MPI_T_event_get_index("unexpected_message", &index));
    basic(index);
    freed_inside(index);
    flood(index);
    OK(MPI_T_event_get_index("receive_filled", &index));
    if (size == 2)
        published(index);
    OK(MPI_T_event_get_index("memory_promoted", &index));
    if (size == 2)
        promoted(index);
    OK(MPI_T_finalize());
    return finish();
}
