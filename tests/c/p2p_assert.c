// ranks: 2
// timeout: 120
// What a communicator asserts of its messages (MPI 5.0 section 7.4.4): the keys are kept and told, each has its effect where nothing else is set,
// and messages go where they may.
#include "counter.h"
#include "compute.h"

enum { LONG = 25000, ROUNDS = 200, A_WHILE = 20, KEYS = 4 };
static const char *keys[KEYS] = {
    "mpi_assert_no_any_source", "mpi_assert_no_any_tag", "mpi_assert_exact_length", "mpi_assert_allow_overtaking",
};
static int first[LONG], second[LONG], third[LONG];

/* No use is made of promises that are checked; what is published may be set otherwise. */
static int off(void)
{
    return getenv("TERN_CHECK") || getenv("TERN_TUPLEQ") || getenv("TERN_TUPLEQ_THRESHOLD") || getenv("TERN_FAULTS") || !strict();
}

/* Both ranks share a node, as far as the library makes use of it. */
static int near(void)
{
    MPI_Comm node;
    int members;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &members));
    OK(MPI_Comm_free(&node));
    return members == size;
}

static MPI_Info asserting(const char *key, const char *value)
{
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    return info;
}

static MPI_Comm with(const char *key)
{
    MPI_Info info = asserting(key, "true");
    MPI_Comm comm;
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Info_free(&info));
    return comm;
}

/* What a communicator says of a key. */
static int says(MPI_Comm comm, const char *key, const char *expected)
{
    MPI_Info used;
    char value[16] = "";
    int room = sizeof value, flag;
    OK(MPI_Comm_get_info(comm, &used));
    OK(MPI_Info_get_string(used, key, &room, value, &flag));
    OK(MPI_Info_free(&used));
    if (flag && strcmp(value, expected) == 0) return 1;
    printf("%s is \"%s\", expected \"%s\"\n", key, value, expected);
    return 0;
}

static void set(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info = asserting(key, value);
    OK(MPI_Comm_set_info(comm, info));
    OK(MPI_Info_free(&info));
}

static void keys_are_told(void)
{
    MPI_Comm asserted, copy, other;
    MPI_Group group;
    MPI_Request request;
    for (int key = 0; key < KEYS; key++) {
        MPI_Info info = asserting(keys[key], "true");
        CHECK(says(MPI_COMM_WORLD, keys[key], "false"));
        asserted = with(keys[key]);
        for (int i = 0; i < KEYS; i++) CHECK(says(asserted, keys[i], i == key ? "true" : "false"));
        /* Hints are not copied. */
        OK(MPI_Comm_dup(asserted, &copy));
        CHECK(says(copy, keys[key], "false"));
        /* Each rank may say something else. */
        set(copy, keys[key], rank == 0 ? "true" : "false");
        CHECK(says(copy, keys[key], rank == 0 ? "true" : "false"));
        set(copy, keys[key], "certainly");
        CHECK(says(copy, keys[key], rank == 0 ? "true" : "false"));
        set(copy, keys[key], "false");
        CHECK(says(copy, keys[key], "false"));
        OK(MPI_Comm_free(&copy));
        /* The next one has the same context, and has promised nothing. */
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
        CHECK(says(copy, keys[key], "false"));
        OK(MPI_Comm_free(&copy));

        OK(MPI_Comm_idup_with_info(asserted, info, &other, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(says(other, keys[key], "true"));
        OK(MPI_Comm_free(&other));
        OK(MPI_Comm_idup(asserted, &other, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(says(other, keys[key], "false"));
        OK(MPI_Comm_free(&other));
        OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
        OK(MPI_Comm_create_from_group(group, "assert", info, MPI_ERRORS_RETURN, &other));
        CHECK(says(other, keys[key], "true"));
        OK(MPI_Comm_free(&other));
        OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, &other));
        CHECK(says(other, keys[key], "true"));
        OK(MPI_Comm_free(&other));
        int peer = 1 - rank;
        OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &peer, MPI_UNWEIGHTED, 1, &peer, MPI_UNWEIGHTED, info, 0, &other));
        CHECK(says(other, keys[key], "true"));
        OK(MPI_Comm_free(&other));
        MPI_Group own, theirs;
        OK(MPI_Group_incl(group, 1, &rank, &own));
        OK(MPI_Group_incl(group, 1, &peer, &theirs));
        OK(MPI_Intercomm_create_from_groups(own, 0, theirs, 0, "assert", info, MPI_ERRORS_RETURN, &other));
        CHECK(says(other, keys[key], "true"));
        OK(MPI_Comm_free(&other));
        OK(MPI_Group_free(&own));
        OK(MPI_Group_free(&theirs));
        OK(MPI_Group_free(&group));
        OK(MPI_Info_free(&info));
        OK(MPI_Comm_free(&asserted));
    }
}

static void send(int value, int count, int tag, MPI_Comm comm)
{
    for (int i = 0; i < count; i++) third[i] = value;
    OK(MPI_Send(third, count, MPI_INT, 1, tag, comm));
}

static void whole(const int *values, int count, int value)
{
    CHECK(values[0] == value && values[count - 1] == value, "%d instead of %d", values[0], value);
}

/* Receives with nothing in front: how many are published. Some networks have no such thing. */
static number alone(MPI_Comm comm)
{
    MPI_T_pvar_handle published = counter("published");
    for (int round = 0; round < ROUNDS / 10; round++) {
        if (rank == 1) {
            MPI_Request request;
            OK(MPI_Irecv(first, LONG, MPI_INT, 0, 5, comm, &request));
            compute(A_WHILE);
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            whole(first, LONG, round);
        } else {
            OK(MPI_Barrier(MPI_COMM_WORLD));
            send(round, LONG, 5, comm);
        }
    }
    return counted(published);
}

/* Messages are as long as their receives: a short receive with wildcards does not keep a long one from being published. */
static number behind_a_short_one(MPI_Comm comm, MPI_T_pvar_handle promised)
{
    number before = counted(promised);
    for (int round = 0; round < ROUNDS / 10; round++) {
        if (rank == 1) {
            MPI_Request requests[2];
            OK(MPI_Irecv(first, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]));
            OK(MPI_Irecv(second, LONG, MPI_INT, 0, 5, comm, &requests[1]));
            compute(A_WHILE);
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            whole(first, 1, round);
            whole(second, LONG, round + 1000);
        } else {
            OK(MPI_Barrier(MPI_COMM_WORLD));
            send(round, 1, round % 2 ? 5 : 6, comm);
            send(round + 1000, LONG, 5, comm);
        }
    }
    return counted(promised) - before;
}

/* Receives may be matched in any order: one with wildcards does not keep another one from being published. */
static number behind_any(MPI_Comm comm, MPI_T_pvar_handle promised)
{
    number before = counted(promised);
    for (int round = 0; round < ROUNDS / 10; round++) {
        if (rank == 1) {
            MPI_Request requests[2];
            OK(MPI_Irecv(first, LONG, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]));
            OK(MPI_Irecv(second, LONG, MPI_INT, 0, 5, comm, &requests[1]));
            compute(A_WHILE);
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
            int one = first[0] == round ? round : round + 1000;
            whole(first, LONG, one);
            whole(second, LONG, 2 * round + 1000 - one);
        } else {
            OK(MPI_Barrier(MPI_COMM_WORLD));
            send(round, LONG, 5, comm);
            send(round + 1000, LONG, 5, comm);
        }
    }
    return counted(promised) - before;
}

/* Messages may overtake: a long one goes into its receive while a short one of its tag lies where the receiver, which computes, does not look. */
static number past_a_short_one(MPI_Comm comm, MPI_T_pvar_handle overtaking, int rounds)
{
    number before = counted(overtaking), past = 0;
    for (int round = 0; round < rounds && past == 0; round++) {
        int value = 1 + round % 250;
        if (rank == 1) {
            MPI_Request requests[2];
            MPI_Status statuses[2];
            volatile int *ends[2] = {&first[LONG - 1], &second[LONG - 1]};
            int counts[2];
            first[LONG - 1] = second[LONG - 1] = 0;
            OK(MPI_Irecv(first, LONG, MPI_INT, 0, 5, comm, &requests[0]));
            OK(MPI_Irecv(second, LONG, MPI_INT, 0, 5, comm, &requests[1]));
            OK(MPI_Send(&round, 1, MPI_INT, 0, 8, MPI_COMM_WORLD));
            double end = MPI_Wtime() + 0.002 * (round + 1);
            while (*ends[0] != value && *ends[1] != value && MPI_Wtime() < end) {}
            OK(MPI_Waitall(2, requests, statuses));
            for (int i = 0; i < 2; i++) OK(MPI_Get_count(&statuses[i], MPI_INT, &counts[i]));
            CHECK(counts[0] + counts[1] == LONG + 1, "%d and %d", counts[0], counts[1]);
            whole(counts[0] == LONG ? first : second, LONG, value);
            whole(counts[0] == 1 ? first : second, 1, -value);
            OK(MPI_Recv(&past, 1, MPI_UNSIGNED_LONG_LONG, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            int negative = -value;
            MPI_Request request;
            OK(MPI_Recv(&(int){0}, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Isend(&negative, 1, MPI_INT, 1, 5, comm, &request));
            send(value, LONG, 5, comm);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            past = counted(overtaking) - before;
            OK(MPI_Send(&past, 1, MPI_UNSIGNED_LONG_LONG, 1, 9, MPI_COMM_WORLD));
        }
    }
    return past;
}

/* A receive with wildcards is open on another communicator all the time. */
static void beside_wildcards(MPI_Comm comm, number counts[2])
{
    MPI_T_pvar_handle past = counter("received_past"), spared = counter("wildcards_spared");
    int there, value = 0, peer = 1 - rank;
    MPI_Request open, request;
    OK(MPI_Irecv(&there, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &open));
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            OK(MPI_Send(&round, 1, MPI_INT, peer, round, comm));
            OK(MPI_Recv(&value, 1, MPI_INT, peer, round, comm, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Recv(&value, 1, MPI_INT, peer, round, comm, MPI_STATUS_IGNORE));
            OK(MPI_Send(&round, 1, MPI_INT, peer, round, comm));
        }
        CHECK(value == round, "%d", value);
        OK(MPI_Irecv(&value, 1, MPI_INT, peer, 3, comm, &request));
        OK(MPI_Send(&round, 1, MPI_INT, peer, 3, comm));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(value == round, "%d", value);
    }
    OK(MPI_Send(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD));
    OK(MPI_Wait(&open, MPI_STATUS_IGNORE));
    counts[0] = counted(past);
    counts[1] = counted(spared);
}

/* A promise that is broken has done no harm here, though it need not be so. */
static void broken(void)
{
    MPI_Comm comm = with("mpi_assert_no_any_source");
    int value = 0;
    MPI_Request request;
    set(comm, "mpi_assert_no_any_tag", "true");
    OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
    OK(MPI_Send(&rank, 1, MPI_INT, 1 - rank, 1, comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(value == 1 - rank, "%d", value);
    OK(MPI_Recv(&value, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    keys_are_told();
    int beside = near(), checked = off();
    MPI_T_pvar_handle promised = counter("published_promised"), overtaking = counter("sent_overtaking");
    MPI_Comm exact = with("mpi_assert_exact_length"), freely = with("mpi_assert_allow_overtaking"), plain;
    OK(MPI_Comm_dup(exact, &plain));
    /* From here on a sender on another node has its table. */
    int publishes = alone(plain) > 0 || rank == 0;
    CHECK(publishes || checked || !beside, "no receive is published");
    number counts[2], some = behind_a_short_one(plain, promised);
    CHECK(some == 0, "%llu", some);
    some = behind_a_short_one(exact, promised);
    CHECK(some > 0 || rank == 0 || checked || !publishes, "no receive was published behind a short one");
    some = behind_any(plain, promised);
    CHECK(some == 0, "%llu", some);
    some = behind_any(freely, promised);
    CHECK(some > 0 || rank == 0 || checked || !publishes, "no receive was published behind one with wildcards");
    some = past_a_short_one(plain, overtaking, 10);
    CHECK(some == 0, "%llu", some);
    some = past_a_short_one(freely, overtaking, checked || !beside ? 3 : ROUNDS);
    CHECK(some > 0 || checked || !beside, "no message has overtaken another");

    beside_wildcards(plain, counts);
    CHECK(counts[0] == 0 && counts[1] == 0, "%llu, %llu", counts[0], counts[1]);
    set(plain, "mpi_assert_no_any_source", "true");
    set(plain, "mpi_assert_no_any_tag", "true");
    beside_wildcards(plain, counts);
    CHECK(counts[0] > 0 || checked || !beside, "no message was taken past others");
    CHECK(counts[1] > 0 || checked, "wildcards were looked for all the same");
    if (!checked) broken();
    OK(MPI_Comm_free(&exact));
    OK(MPI_Comm_free(&freely));
    OK(MPI_Comm_free(&plain));
    end_counting();
    return finish();
}
