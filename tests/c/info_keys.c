// Info objects: keys are set, got, listed, copied and deleted, and wrong ones are refused.
// ranks: 1 2
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info info, copy, env;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
    int flag, n;
    /* Before initialisation too. */
    if (MPI_Info_create(&info) != MPI_SUCCESS || MPI_Info_free(&info) != MPI_SUCCESS || info != MPI_INFO_NULL)
        return 1;
    MPI_Info early;
    if (MPI_Info_create_env(argc, argv, &early) != MPI_SUCCESS)
        return 1;
    begin(&argc, &argv);
    n = sizeof value;
    OK(MPI_Info_get_string(early, "maxprocs", &n, value, &flag));
    CHECK(flag && atoi(value) == size);
    OK(MPI_Info_free(&early));

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "colour", "green"));
    OK(MPI_Info_set(info, "shape", "round"));
    OK(MPI_Info_set(info, "colour", "red"));
    OK(MPI_Info_get_nkeys(info, &n));
    CHECK(n == 2);
    OK(MPI_Info_get_nthkey(info, 0, key));
    CHECK(strcmp(key, "colour") == 0);
    OK(MPI_Info_get_nthkey(info, 1, key));
    CHECK(strcmp(key, "shape") == 0);
    CHECK(MPI_Info_get_nthkey(info, 2, key) != MPI_SUCCESS);

    n = 0;
    OK(MPI_Info_get_string(info, "shape", &n, NULL, &flag));
    CHECK(flag && n == 6);
    n = sizeof value;
    OK(MPI_Info_get_string(info, "shape", &n, value, &flag));
    CHECK(flag && n == 6 && strcmp(value, "round") == 0);
    n = 3;
    OK(MPI_Info_get_string(info, "shape", &n, value, &flag));
    CHECK(flag && n == 6 && strcmp(value, "ro") == 0);
    OK(MPI_Info_get_string(info, "none", &n, value, &flag));
    CHECK(!flag);
    FAILS(MPI_ERR_ARG, MPI_Info_get_string(info, "shape", &n, NULL, &flag));
    OK(MPI_Info_get(info, "colour", 2, value, &flag));
    CHECK(flag && strcmp(value, "re") == 0);
    OK(MPI_Info_get_valuelen(info, "colour", &n, &flag));
    CHECK(flag && n == 3);

    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_delete(info, "colour"));
    FAILS(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "colour"));
    OK(MPI_Info_get_nkeys(copy, &n));
    CHECK(n == 2);

    char long_text[2000];
    memset(long_text, 'x', sizeof long_text);
    long_text[MPI_MAX_INFO_KEY] = 0;
    FAILS(MPI_ERR_INFO_KEY, MPI_Info_set(info, long_text, "v"));
    FAILS(MPI_ERR_INFO_KEY, MPI_Info_set(info, "", "v"));
    long_text[MPI_MAX_INFO_KEY] = 'x';
    long_text[MPI_MAX_INFO_VAL] = 0;
    FAILS(MPI_ERR_INFO_VALUE, MPI_Info_set(info, "k", long_text));
    FAILS(MPI_ERR_INFO, MPI_Info_set(MPI_INFO_NULL, "k", "v"));
    OK(MPI_Info_free(&copy));
    OK(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL);
    FAILS(MPI_ERR_INFO, MPI_Info_free(&info));

    n = sizeof value;
    OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &n));
    OK(MPI_Info_create_env(argc, argv, &env));
    OK(MPI_Info_free(&env));
    return finish();
}
