// ranks: 1 2 4
// MPI_Comm_split_type by kinds of hardware: MPI_Get_hw_resource_info tells of the same, and unguided splits go from the outside in.
#include "check.h"

enum { KINDS = 32, LINE = 1000 };
static char kinds[KINDS][MPI_MAX_INFO_KEY], restricted[KINDS][MPI_MAX_INFO_VAL];
static int count;

static void ask(void)
{
    MPI_Info info;
    OK(MPI_Get_hw_resource_info(&info));
    OK(MPI_Info_get_nkeys(info, &count));
    CHECK(count > 0 && count <= KINDS, "%d kinds", count);
    for (int kind = 0; kind < count; kind++) {
        int length = MPI_MAX_INFO_VAL, there;
        OK(MPI_Info_get_nthkey(info, kind, kinds[kind]));
        OK(MPI_Info_get_string(info, kinds[kind], &length, restricted[kind], &there));
        CHECK(there && (strcmp(restricted[kind], "true") == 0 || strcmp(restricted[kind], "false") == 0));
    }
    OK(MPI_Info_free(&info));
}

static MPI_Comm split(int type, const char *key, const char *value, int order)
{
    MPI_Comm part;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, order, info, &part));
    OK(MPI_Info_free(&info));
    return part;
}

static int length(MPI_Comm comm)
{
    int n = 0;
    if (comm != MPI_COMM_NULL) OK(MPI_Comm_size(comm, &n));
    return n;
}

/* All members are in the same one, in the order of their keys, and can talk. Gives their number, frees it. */
static int checked(MPI_Comm comm, int backwards)
{
    int all[64], n = length(comm), sum = 0, one = 1;
    if (n == 0) return 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == n);
    OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm));
    for (int i = 1; i < n; i++) CHECK(backwards ? all[i] < all[i - 1] : all[i] > all[i - 1]);
    OK(MPI_Comm_free(&comm));
    return n;
}

/* Rank 0 says how many are with it, and by how many others differ. */
static void tell(char *line, const char *kind, int n, MPI_Comm comm)
{
    int least, most;
    OK(MPI_Allreduce(&n, &least, 1, MPI_INT, MPI_MIN, comm));
    OK(MPI_Allreduce(&n, &most, 1, MPI_INT, MPI_MAX, comm));
    int at = (int)strlen(line);
    if (least == most) snprintf(line + at, LINE - at, " %s=%d", kind, n);
    else snprintf(line + at, LINE - at, " %s=%d-%d", kind, least, most);
}

static void guided(void)
{
    char line[LINE] = "guided:";
    for (int kind = 0; kind < count; kind++) {
        MPI_Comm part = split(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", kinds[kind], 0);
        CHECK((part != MPI_COMM_NULL) == (strcmp(restricted[kind], "true") == 0), "%s: %s", kinds[kind], restricted[kind]);
        int n = checked(part, 0);
        CHECK(checked(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", kinds[kind], -rank), 1) == n);
        tell(line, kinds[kind], n, MPI_COMM_WORLD);
    }
    if (rank == 0) puts(line);
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "coffee", 0) == MPI_COMM_NULL);
    CHECK(split(MPI_COMM_TYPE_HW_GUIDED, "something", "core", 0) == MPI_COMM_NULL);
    /* Whoever gives MPI_UNDEFINED is out of it; the last rank, here. */
    int type = rank == size - 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_GUIDED;
    MPI_Comm part = split(type, "mpi_hw_resource_type", "mpi_shared_memory", 0);
    if (rank == size - 1) CHECK(part == MPI_COMM_NULL);
    else CHECK(part != MPI_COMM_NULL && length(part) < size);
    checked(part, 0);
}

/* Each split is smaller than the one before, and says by what it was made. */
static void unguided(void)
{
    char line[LINE] = "unguided:";
    MPI_Comm from, part;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &from));
    for (;;) {
        char kind[MPI_MAX_INFO_VAL] = "";
        int bytes = sizeof kind, there, known = 0;
        MPI_Info info;
        OK(MPI_Info_create(&info));
        OK(MPI_Comm_split_type(from, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part));
        OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &bytes, kind, &there));
        OK(MPI_Info_free(&info));
        CHECK(there == (part != MPI_COMM_NULL));
        CHECK(part == MPI_COMM_NULL || length(part) < length(from));
        OK(MPI_Comm_free(&from));
        if (part == MPI_COMM_NULL) break;
        for (int k = 0; k < count; k++) known += strcmp(kind, kinds[k]) == 0;
        CHECK(known == 1, "%s", kind);
        tell(line, kind, length(part), part);
        from = part;
    }
    if (rank == 0) puts(line);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    ask();
    guided();
    unguided();
    return finish();
}
