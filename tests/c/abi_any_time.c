// ranks: 1 2
// What the standard allows before initialization and after finalization works then.
#include "check.h"

static void ask(int initialized, int finalized)
{
    int a = -1, b = -1, length, flag;
    char text[MPI_MAX_LIBRARY_VERSION_STRING], value[8];
    OK(MPI_Initialized(&flag));
    CHECK(flag == initialized, "%d", flag);
    OK(MPI_Finalized(&flag));
    CHECK(flag == finalized, "%d", flag);
    OK(MPI_Get_version(&a, &b));
    CHECK(a == MPI_VERSION && b == MPI_SUBVERSION, "version %d.%d", a, b);
    OK(MPI_Abi_get_version(&a, &b));
#ifdef MPI_ABI_VERSION
    CHECK(a == 1 && b == 0, "ABI %d.%d", a, b);
#else
    /* Compiled with another MPI's header, for another binary interface. */
    CHECK(a == -1 && b == -1, "ABI %d.%d", a, b);
#endif
    OK(MPI_Get_library_version(text, &length));
    CHECK(length > 0 && (size_t)length == strlen(text), "%d, %s", length, text);
    OK(MPI_Error_string(MPI_ERR_RANK, text, &length));
    CHECK(strstr(text, "MPI_ERR_RANK") != NULL, "%s", text);

    MPI_Info info;
    OK(MPI_Abi_get_info(&info));
    length = sizeof value;
    OK(MPI_Info_get_string(info, "mpi_count_size", &length, value, &flag));
    CHECK(flag && atoi(value) == (int)sizeof(MPI_Count), "%s", value);
    OK(MPI_Info_free(&info));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "key", "value"));
    OK(MPI_Info_get_nkeys(info, &a));
    CHECK(a == 1, "%d keys", a);
    OK(MPI_Info_free(&info));

    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "a handle changed");
    CHECK(MPI_Aint_diff(MPI_Aint_add(1000, 234), 1000) == 234, "addresses");
    double start = MPI_Wtime();
    CHECK(MPI_Wtick() > 0 && MPI_Wtime() >= start, "the clock");
    CHECK(MPI_Pcontrol(1, "anything", 2) == MPI_SUCCESS, "MPI_Pcontrol");
}

int main(int argc, char **argv)
{
    ask(0, 0);
    begin(&argc, &argv);
    ask(1, 0);
    MPI_Finalize();
    ask(1, 1);
    return failures ? 1 : 0;
}
