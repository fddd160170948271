// ranks: 2
// nodes: 1
// flags: -pthread
// A thread of a tool reads all that there is while the program communicates, in a process of each kind:
// one whose program has one thread in MPI, and one at MPI_THREAD_MULTIPLE.
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { ROUNDS = 3000 };
static atomic_int over;
static atomic_llong reads;
static int events;

static void *watch(void *unused)
{
    (void)unused;
    int n, index, count, provided, thread_failures = 0;
    unsigned long long value;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_T_pvar_get_num(&n);
    MPI_T_pvar_get_index("received", MPI_T_PVAR_CLASS_COUNTER, &index);
    while (!atomic_load(&over)) {
        MPI_T_pvar_session session;
        MPI_T_pvar_session_create(&session);
        for (int i = 0; i < n; i++) {
            MPI_T_pvar_handle handle;
            thread_failures += MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &count) != MPI_SUCCESS;
            MPI_T_pvar_start(session, handle);
            thread_failures += MPI_T_pvar_read(session, handle, &value) != MPI_SUCCESS;
            atomic_fetch_add(&reads, 1);
        }
        thread_failures += MPI_T_pvar_session_free(&session) != MPI_SUCCESS;
    }
    MPI_T_finalize();
    return (void *)(long)thread_failures;
}

static void on_event(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    int tag = -1;
    (void)registration, (void)safety, (void)data;
    OK(MPI_T_event_read(event, 1, &tag));
    CHECK(tag == 5, "%d", tag);
    events++;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *thread_failures;
    int provided, index, count, bytes = 0;
    unsigned long long value;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle received;
    MPI_T_event_registration registration;
    char *local = getenv("TERN_RANK");
    int multiple = local && atoi(local) == 1;
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    pthread_create(&thread, NULL, watch, NULL);
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(multiple == (rank == 1), "TERN_RANK is %s", local);
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_get_index("received", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &received, &count));
    OK(MPI_T_pvar_start(session, received));
    OK(MPI_T_event_get_index("unexpected_message", &index));
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    OK(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, on_event));
    // On a busy machine the tool's thread may come only after all messages; it is there from here on.
    while (!atomic_load(&reads))
        sched_yield();
    for (int i = 0; i < ROUNDS; i++)
        OK(MPI_Sendrecv_replace(&bytes, 1, MPI_INT, 1 - rank, 5, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 50; i++) {
        MPI_Request request;
        OK(MPI_Isend(&bytes, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&bytes, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_T_pvar_read(session, received, &value));
    CHECK(value == ROUNDS + 50, "%llu", value);
    OK(MPI_T_event_handle_free(registration, NULL, NULL));
    CHECK(events >= 50, "%d", events);
    MPI_Finalize();
    atomic_store(&over, 1);
    pthread_join(thread, &thread_failures);
    CHECK(thread_failures == NULL && atomic_load(&reads) > 0, "%ld", (long)thread_failures);
    OK(MPI_T_finalize());
    return failures != 0;
}
