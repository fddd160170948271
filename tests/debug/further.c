// Further wrong uses that TERN_CHECK finds, and right ones beside each kind that it leaves alone, for three ranks: epochs of
// MPI_Win_start and MPI_Win_post, ready sends, neighbourhoods, partitions, files. Usage: further WAY [FILE]; each way is a function.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static const char *path;

/* ---- MPI_Win_start and MPI_Win_post: rank 1 exposes its memory to ranks 0 and 2 */

static int memory[16];
static MPI_Win win;
static MPI_Group all, target, origins;

static void open_window(void)
{
    int one = 1, both[2] = {0, 2};
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &one, &target);
    MPI_Group_incl(all, 2, both, &origins);
}

static void close_window(void)
{
    MPI_Group_free(&all);
    MPI_Group_free(&target);
    MPI_Group_free(&origins);
    MPI_Win_free(&win);
}

static void put_after_complete(void)
{
    int value = 7;
    open_window();
    if (rank == 1) {
        MPI_Win_post(origins, 0, win);
        MPI_Win_wait(win);
    } else {
        MPI_Win_start(target, 0, win);
        MPI_Win_complete(win);
        MPI_Put(&value, 1, MPI_INT, 1, rank, 1, MPI_INT, win);
    }
    close_window();
}

static void put_to_another(void)
{
    int value = 7;
    open_window();
    if (rank == 1) {
        MPI_Win_post(origins, 0, win);
        MPI_Win_wait(win);
    } else {
        MPI_Win_start(target, 0, win);
        MPI_Put(&value, 1, MPI_INT, 2 - rank, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
    }
    close_window();
}

static void no_complete(void)
{
    open_window();
    if (rank == 1) {
        MPI_Win_post(origins, 0, win);
        MPI_Win_wait(win);
    } else {
        MPI_Win_start(target, 0, win);
        if (rank == 0)
            MPI_Win_complete(win);
        else
            MPI_Win_free(&win);
    }
    close_window();
}

static void no_wait(void)
{
    open_window();
    if (rank == 1) {
        MPI_Win_post(origins, 0, win);
    } else {
        MPI_Win_start(target, 0, win);
        MPI_Win_complete(win);
    }
    close_window();
}

/* Rank 1 posts to rank 0 alone, so rank 2 waits for ever, and the others for it. */
static void not_posted(void)
{
    open_window();
    MPI_Win_set_name(win, "the window");
    if (rank == 1) {
        MPI_Group_excl(all, 2, (int[]){1, 2}, &origins);
        MPI_Win_post(origins, 0, win);
        MPI_Win_wait(win);
    } else {
        MPI_Win_start(target, 0, win);
        MPI_Win_complete(win);
    }
    MPI_Win_fence(0, win);
}

/* Rank 1 uses memory between post and wait in some way, while the others put into the first words. */
static void exposed(int post, int start, void (*use)(void))
{
    int values[2] = {rank, rank};
    open_window();
    if (rank == 1) {
        MPI_Win_post(origins, post, win);
        MPI_Barrier(MPI_COMM_WORLD);
        if (use)
            use();
        MPI_Win_wait(win);
        if (memory[0] != 0 || memory[2] != 2 || memory[3] != 2)
            printf("wrong: %d %d %d\n", memory[0], memory[2], memory[3]);
    } else {
        if (start)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_start(target, start, win);
        MPI_Put(values, 2, MPI_INT, 1, rank, 2, MPI_INT, win);
        MPI_Win_complete(win);
        if (!start)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    close_window();
}

static void stores(void) { memory[3] = 77; }
static void receives(void) { MPI_Sendrecv(&size, 1, MPI_INT, 0, 1, &memory[2], 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE); }
static void sends(void) { MPI_Sendrecv(&memory[2], 1, MPI_INT, 0, 1, &size, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE); }
static void stores_apart(void) { memory[8] = 77; }

static void exposed_store(void) { exposed(0, 0, stores); }
static void exposed_receive(void) { exposed(0, 0, receives); }
static void exposed_send(void) { exposed(0, 0, sends); }
static void other_assertion(void) { exposed(0, MPI_MODE_NOCHECK, NULL); }
static void no_put(void) { exposed(MPI_MODE_NOPUT, 0, NULL); }

static void exposed_puts_meet(void)
{
    int values[4] = {0};
    open_window();
    if (rank == 1) {
        MPI_Win_post(origins, 0, win);
        MPI_Win_wait(win);
    } else {
        MPI_Win_start(target, 0, win);
        MPI_Put(values, 4, MPI_INT, 1, rank, 4, MPI_INT, win);
        MPI_Win_complete(win);
    }
    close_window();
}

/* Puts of their own bytes, accumulates together, gets, stores elsewhere, several epochs, columns, MPI_Win_test, MPI_MODE_NOCHECK. */
static void right_epochs(void)
{
    int value = 1, got = 0, flag = 0;
    MPI_Datatype pair;
    exposed(0, 0, stores_apart);
    exposed(MPI_MODE_NOCHECK, MPI_MODE_NOCHECK, stores_apart);
    memset(memory, 0, sizeof memory);
    MPI_Type_vector(2, 1, 4, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    open_window();
    for (int round = 1; round <= 3; round++) {
        if (rank == 1) {
            memory[9] = round;
            MPI_Win_post(origins, 0, win);
            memory[12] = round;
            for (flag = 0; !flag;)
                MPI_Win_test(win, &flag);
            if (memory[0] != round || memory[4] != round || memory[2] != round || memory[6] != round || memory[8] != 2 * round)
                printf("wrong: %d %d %d %d %d\n", memory[0], memory[4], memory[2], memory[6], memory[8]);
        } else {
            int values[2] = {round, round};
            MPI_Win_start(target, 0, win);
            MPI_Put(values, 2, MPI_INT, 1, rank, 1, pair, win);
            MPI_Accumulate(&value, 1, MPI_INT, 1, 8, 1, MPI_INT, MPI_SUM, win);
            MPI_Get(&got, 1, MPI_INT, 1, 9, 1, MPI_INT, win);
            MPI_Win_complete(win);
            if (got != round)
                printf("wrong: %d\n", got);
        }
    }
    MPI_Type_free(&pair);
    close_window();
}

/* ---- ready sends */

static void ready(int kind, int early)
{
    int value = rank, got = -1;
    MPI_Request receive, send;
    if (rank == 1 && early)
        MPI_Irecv(&got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &receive);
    if (early)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        if (kind == 0) {
            MPI_Irsend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &send);
        } else {
            MPI_Rsend_init(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &send);
            MPI_Start(&send);
        }
        // The message goes before that of the barrier.
        if (!early)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        if (kind)
            MPI_Request_free(&send);
    } else if (!early) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 1 && early)
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
    if (rank == 1 && !early)
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1 && got)
        printf("wrong: %d\n", got);
}

static void not_ready(void) { ready(0, 0); }
static void not_ready_persistent(void) { ready(1, 0); }

static void right_ready(void)
{
    int value = rank, got;
    ready(0, 1);
    ready(1, 1);
    // An ordinary send may come before its receive.
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Probe(0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* ---- neighbourhoods */

static MPI_Comm line(int periodic)
{
    int dims = 3;
    MPI_Comm made;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periodic, 0, &made);
    return made;
}

static void neighbour_counts(void)
{
    int give[8] = {0}, take[8];
    MPI_Comm ring = line(1);
    MPI_Neighbor_alltoall(give, 1 + (rank == 2), MPI_INT, take, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);
}

static void neighbour_types(void)
{
    int give[2] = {0}, counts[2] = {1, 1}, places[2] = {0, 1};
    float take[2];
    MPI_Comm ring = line(1);
    MPI_Neighbor_alltoallv(give, counts, places, MPI_INT, take, counts, places, rank == 1 ? MPI_FLOAT : MPI_INT, ring);
    MPI_Comm_free(&ring);
}

static void neighbour_order(void)
{
    int give[4] = {0}, take[4];
    MPI_Comm ring = line(1);
    if (rank == 1)
        MPI_Neighbor_alltoall(give, 1, MPI_INT, take, 1, MPI_INT, ring);
    else
        MPI_Neighbor_allgather(give, 1, MPI_INT, take, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);
}

/* Rank 0 sends to rank 1, which does not know of it. */
static void one_sided_edge(void)
{
    int give[2] = {0}, take[2], one = 1;
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, rank == 0, &one, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_allgather(give, 1, MPI_INT, take, 1, MPI_INT, graph);
    MPI_Comm_free(&graph);
}

static void neighbour_changed(void)
{
    int give[2] = {0}, take[2];
    MPI_Request request;
    MPI_Comm ring = line(1);
    MPI_Ineighbor_alltoall(give, 1, MPI_INT, take, 1, MPI_INT, ring, &request);
    if (rank == 1)
        give[1] = 5;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);
}

/* Lines and rings, blocks of different sizes that fit, edges that are there twice, ends that have no neighbour. */
static void right_neighbours(void)
{
    int give[6] = {10 * rank, 10 * rank + 1}, take[6] = {-1, -1}, two[1] = {1}, periodic[1] = {1}, twice[2];
    int next = (rank + 1) % 3, last = (rank + 2) % 3;
    MPI_Comm ring = line(1), open = line(0), small, pair, graph;
    MPI_Neighbor_alltoall(give, 1, MPI_INT, take, 1, MPI_INT, ring);
    if (take[0] != 10 * last + 1 || take[1] != 10 * next)
        printf("wrong: %d %d\n", take[0], take[1]);
    take[0] = take[1] = -1;
    MPI_Neighbor_allgather(give, 1, MPI_INT, take, 1, MPI_INT, open);
    if (take[0] != (rank ? 10 * last : -1) || take[1] != (rank == 2 ? -1 : 10 * next))
        printf("wrong: %d %d\n", take[0], take[1]);
    // Each is its own neighbour on both sides: sizes differ by direction.
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &small);
    MPI_Cart_create(small, 1, two, periodic, 0, &pair);
    int out[2] = {1, 2}, in[2] = {2, 1}, out_places[2] = {0, 1}, in_places[2] = {0, 2};
    MPI_Neighbor_alltoallv(give, out, out_places, MPI_INT, take, in, in_places, MPI_INT, pair);
    // Two edges to the next one, of different sizes.
    twice[0] = twice[1] = next;
    int from[2] = {last, last};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, twice, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    int counts[2] = {1, 2}, places[2] = {0, 1};
    MPI_Request request;
    MPI_Ineighbor_alltoallv(give, counts, places, MPI_INT, take, counts, places, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Neighbor_alltoallv_init(give, counts, places, MPI_INT, take, counts, places, MPI_INT, graph, MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; round++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Comm *made[] = {&ring, &open, &small, &pair, &graph};
    for (int i = 0; i < 5; i++)
        MPI_Comm_free(made[i]);
}

/* ---- partitions: rank 0 sends to rank 1 */

static int parts[12];

static void partitioned(int sent, int received, void (*sender)(MPI_Request *), void (*receiver)(MPI_Request *))
{
    MPI_Request request;
    if (rank == 2)
        return;
    for (int i = 0; i < 12; i++)
        parts[i] = rank ? -1 : i;
    if (rank == 0)
        MPI_Psend_init(parts, sent, 3, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(parts, received, 2, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; round++) {
        MPI_Start(&request);
        if (rank == 0)
            sender(&request);
        else
            receiver(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

static void all_ready(MPI_Request *request)
{
    // Until it is ready, a partition is the program's.
    parts[11] = 11;
    MPI_Pready_range(0, 3, *request);
}
static void three_ready(MPI_Request *request) { MPI_Pready_range(0, 2, *request); }
static void ready_twice(MPI_Request *request)
{
    MPI_Pready(1, *request);
    MPI_Pready(1, *request);
}
static void ready_then_changed(MPI_Request *request)
{
    MPI_Pready(1, *request);
    parts[4] = 99;
    MPI_Pready(0, *request);
    MPI_Pready_range(2, 3, *request);
}
static void waits(MPI_Request *request) { (void)request; }
static void writes_early(MPI_Request *request)
{
    (void)request;
    parts[5] = 99;
}
static void sends_early(MPI_Request *request)
{
    (void)request;
    MPI_Send(&parts[4], 2, MPI_INT, 0, 9, MPI_COMM_WORLD);
}
/* Uses each partition when it has come. */
static void asks(MPI_Request *request)
{
    for (int part = 5; part >= 0; part--) {
        for (int flag = 0; !flag;)
            MPI_Parrived(*request, part, &flag);
        if (parts[2 * part] != 2 * part || parts[2 * part + 1] != 2 * part + 1)
            printf("wrong: %d in partition %d\n", parts[2 * part], part);
        parts[2 * part] = -1;
    }
}

static void partition_twice(void) { partitioned(4, 6, ready_twice, waits); }
static void partition_changed(void) { partitioned(4, 6, ready_then_changed, waits); }
static void partition_early(void) { partitioned(4, 6, all_ready, writes_early); }
static void partition_sent(void) { partitioned(4, 6, all_ready, sends_early); }
static void partition_sizes(void) { partitioned(3, 6, three_ready, waits); }
static void right_partitions(void)
{
    partitioned(4, 6, all_ready, asks);
    partitioned(4, 6, all_ready, waits);
    if (rank == 1 && parts[7] != 7)
        printf("wrong: %d\n", parts[7]);
}

/* ---- files */

static MPI_File file;

static void open_file(void) { MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file); }

static void file_order(void)
{
    int values[2] = {0};
    open_file();
    // By default errors of files are returned.
    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
    if (rank == 2)
        MPI_File_read_all(file, values, 2, MPI_INT, MPI_STATUS_IGNORE);
    else
        MPI_File_write_all(file, values, 2, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void file_sync_order(void)
{
    open_file();
    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
    if (rank == 0)
        MPI_File_sync(file);
    else
        MPI_File_set_size(file, 100);
    MPI_File_close(&file);
}

static void file_overlap(void)
{
    int values[4] = {rank, rank, rank, rank};
    open_file();
    if (rank != 1)
        MPI_File_write_at(file, 4 * rank, values, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void file_memory(void)
{
    static int values[4];
    MPI_Request request;
    open_file();
    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
    MPI_Irecv(values, 4, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &request);
    MPI_File_write_at(file, 16 * rank, values, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void file_changed(void)
{
    int values[4] = {0};
    MPI_Request request;
    open_file();
    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
    MPI_File_iwrite_at(file, 16 * rank, values, 4, MPI_INT, &request);
    values[3] = 1;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

/* Bytes of their own, the same bytes with MPI_File_sync between, and in atomic mode; views, split and nonblocking calls. */
static void right_files(void)
{
    int values[4] = {rank, rank, rank, rank}, got[4];
    MPI_Datatype third;
    MPI_Request request;
    open_file();
    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
    MPI_File_write_at_all(file, 16 * rank, values, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    if (rank == 0)
        MPI_File_write_at(file, 16, values, 8 / 2, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_atomicity(file, 1);
    MPI_File_write_at(file, 0, values, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_atomicity(file, 0);
    MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &third);
    MPI_Type_commit(&third);
    MPI_File_set_view(file, rank * sizeof(int), MPI_INT, third, "native", MPI_INFO_NULL);
    MPI_File_write_all_begin(file, values, 4, MPI_INT);
    MPI_File_write_all_end(file, values, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, 0, got, 4, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (got[0] != rank || got[3] != rank)
        printf("wrong: %d %d\n", got[0], got[3]);
    MPI_File_iwrite_at_all(file, 4, values, 4, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_seek_shared(file, 8, MPI_SEEK_SET);
    MPI_File_write_ordered(file, values, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Type_free(&third);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    path = argc > 2 ? argv[2] : "further.file";
    struct { const char *name; void (*run)(void); } ways[] = {
        {"put_after_complete", put_after_complete}, {"put_to_another", put_to_another}, {"no_complete", no_complete},
        {"no_wait", no_wait}, {"not_posted", not_posted}, {"exposed_store", exposed_store}, {"exposed_receive", exposed_receive}, {"exposed_send", exposed_send},
        {"other_assertion", other_assertion}, {"no_put", no_put}, {"exposed_puts_meet", exposed_puts_meet},
        {"right_epochs", right_epochs}, {"not_ready", not_ready}, {"not_ready_persistent", not_ready_persistent},
        {"right_ready", right_ready}, {"neighbour_counts", neighbour_counts}, {"neighbour_types", neighbour_types},
        {"neighbour_order", neighbour_order}, {"one_sided_edge", one_sided_edge}, {"neighbour_changed", neighbour_changed},
        {"right_neighbours", right_neighbours}, {"partition_twice", partition_twice}, {"partition_changed", partition_changed},
        {"partition_early", partition_early}, {"partition_sent", partition_sent}, {"partition_sizes", partition_sizes},
        {"right_partitions", right_partitions}, {"file_order", file_order}, {"file_sync_order", file_sync_order},
        {"file_overlap", file_overlap}, {"file_memory", file_memory}, {"file_changed", file_changed}, {"right_files", right_files},
    };
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            ways[i].run();
    MPI_Finalize();
    return 0;
}
