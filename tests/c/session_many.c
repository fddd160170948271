// Several sessions: one within another, beside the world, after it, again and again.
// ranks: 1 2 4
#include "check.h"

static MPI_Session open_session(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK(session != MPI_SESSION_NULL);
    return session;
}

static MPI_Comm world_of(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    return comm;
}

static void add(MPI_Comm comm)
{
    int one = 1, sum = 0, many;
    OK(MPI_Comm_size(comm, &many));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == many, "%d of %d", sum, many);
}

/* Two at once, closed in the order of their opening and in the other one. */
static void overlapping(int nested)
{
    MPI_Session first = open_session(), second = open_session();
    CHECK(first != second);
    MPI_Comm a = world_of(first, "org.tern.first"), b = world_of(second, "org.tern.second");
    OK(MPI_Comm_rank(a, &rank));
    OK(MPI_Comm_size(a, &size));

    /* A message in one is not seen in the other. */
    int mine = rank, got = -1, flag, next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request request;
    OK(MPI_Isend(&mine, 1, MPI_INT, next, 1, a, &request));
    OK(MPI_Barrier(b));
    OK(MPI_Iprobe(last, 1, b, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Recv(&got, 1, MPI_INT, last, 1, a, MPI_STATUS_IGNORE));
    CHECK(got == last);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

    MPI_Session *early = nested ? &second : &first, *late = nested ? &first : &second;
    MPI_Comm *of_early = nested ? &b : &a, *of_late = nested ? &a : &b;
    MPI_Session gone = *early;
    OK(MPI_Comm_disconnect(of_early));
    OK(MPI_Session_finalize(early));
    CHECK(*early == MPI_SESSION_NULL);
    add(*of_late);
    /* Without the world nobody but the handler that ends the job is in charge of such an error. */
    int up, over, count;
    OK(MPI_Initialized(&up));
    OK(MPI_Finalized(&over));
    if (strict() && up && !over)
        FAILS(MPI_ERR_SESSION, MPI_Session_get_num_psets(gone, MPI_INFO_NULL, &count));
    OK(MPI_Comm_free(of_late));
    OK(MPI_Session_finalize(late));
}

/* Groups that do not overlap make communicators under one tag; then an intercommunicator. */
static void parts(void)
{
    MPI_Session session = open_session();
    MPI_Group all, own, other;
    MPI_Comm comm, inter;
    int number, many;
    OK(MPI_Group_from_session_pset(session, "MPI://world", &all));
    OK(MPI_Group_rank(all, &number));
    OK(MPI_Group_size(all, &many));
    int range[1][3] = {{number % 2, many - 1, 2}}, rest[1][3] = {{1 - number % 2, many - 1, 2}};
    OK(MPI_Group_range_incl(all, 1, range, &own));
    OK(MPI_Comm_create_from_group(own, "org.tern.part", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    add(comm);
    if (many > 1) {
        OK(MPI_Group_range_incl(all, 1, rest, &other));
        OK(MPI_Intercomm_create_from_groups(own, 0, other, 0, "org.tern.both", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                            &inter));
        int one = 1, sum = 0, remote;
        OK(MPI_Comm_remote_size(inter, &remote));
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
        CHECK(sum == remote);
        OK(MPI_Comm_free(&inter));
        OK(MPI_Group_free(&other));
    }
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&own));
    OK(MPI_Group_free(&all));
    OK(MPI_Session_finalize(&session));
}

static void levels(void)
{
    MPI_Session session;
    MPI_Info info, used;
    char text[64];
    int length = sizeof text, flag;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED"));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_get_info(session, &used));
    OK(MPI_Info_get_string(used, "thread_level", &length, text, &flag));
    CHECK(flag && strcmp(text, "MPI_THREAD_FUNNELED") == 0, "%s", text);
    OK(MPI_Info_free(&used));
    OK(MPI_Session_finalize(&session));

    /* Who does not ask is told of the threads that may call anyway. */
    MPI_Session threaded;
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &threaded));
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_get_info(session, &used));
    length = sizeof text;
    OK(MPI_Info_get_string(used, "thread_level", &length, text, &flag));
    CHECK(flag && strcmp(text, "MPI_THREAD_MULTIPLE") == 0, "%s", text);
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));
    OK(MPI_Session_finalize(&session));
    OK(MPI_Session_finalize(&threaded));
}

static void again(void)
{
    for (int round = 0; round < 20; round++) {
        MPI_Session session = open_session();
        MPI_Comm comm = world_of(session, "org.tern.again");
        add(comm);
        OK(MPI_Comm_disconnect(&comm));
        OK(MPI_Session_finalize(&session));
    }
}

int main(int argc, char **argv)
{
    MPI_Comm kept, copy;
    /* Nothing is up between these. */
    again();
    overlapping(0);
    overlapping(1);
    parts();
    levels();

    /* One stays open from before the world to after it. */
    MPI_Session outer = open_session();
    kept = world_of(outer, "org.tern.outer");
    begin(&argc, &argv);
    OK(MPI_Comm_dup(kept, &copy));
    overlapping(1);
    parts();
    again();
    add(MPI_COMM_WORLD);
    MPI_Finalize();
    int done;
    OK(MPI_Finalized(&done));
    CHECK(done);
    add(kept);
    add(copy);
    overlapping(0);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_disconnect(&kept));
    OK(MPI_Session_finalize(&outer));
    again();
    levels();
    return failures ? 1 : 0;
}
