// ranks: 2 4
// mpiexec: --with-ft
// timeout: 120
// A loss that no call has met before is told by MPI_Comm_get_failed alone: by its first call where the lost rank was on this node.
#include "ft.h"

/* Nothing of the process runs any more. Its parent may have taken its end, or may not. */
static void await_end(int pid)
{
    char path[64], state = 'R';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    tried = "reads of /proc until the lost rank is gone";
    alarm(LIMIT);
    while (state != 'Z' && state != 'X') {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 'X';
        if (file)
            fclose(file);
    }
    alarm(0);
}

/* The first that the call names, if any. */
static int failed_first(MPI_Comm comm)
{
    MPI_Group group, all;
    int count, first = 0, place = MPI_UNDEFINED;
    OK(MPI_Comm_get_failed(comm, &group));
    MPI_Group_size(group, &count);
    MPI_Comm_group(comm, &all);
    if (count > 0)
        MPI_Group_translate_ranks(group, 1, &first, all, &place);
    MPI_Group_free(&all);
    MPI_Group_free(&group);
    return place;
}

int main(int argc, char **argv)
{
    MPI_Comm node;
    int pid = getpid(), pids[64], of_node, first, place;
    begin_ft(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &of_node);
    MPI_Bcast(&pid, 1, MPI_INT, victim(), MPI_COMM_WORLD);
    /* A process that is killed takes with it what it has not sent yet. */
    MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, victim(), MPI_COMM_WORLD);
    if (rank == victim())
        die();
    await_end(pid);
    first = failed_first(MPI_COMM_WORLD);
    if (of_node == size)
        CHECK(first == victim(), "the first call has named %d", first);
    tried = "MPI_Comm_get_failed until it names the lost rank";
    alarm(LIMIT);
    for (place = first; place == MPI_UNDEFINED;)
        place = failed_first(MPI_COMM_WORLD);
    alarm(0);
    CHECK(place == victim(), "it has named %d", place);
    /* What is known of one communicator is known of all. */
    place = failed_first(living);
    CHECK(place == MPI_UNDEFINED, "it has named %d of the living", place);
    MPI_Comm_free(&node);
    return finish_ft();
}
