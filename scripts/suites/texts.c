// Prints the text of each error whose class a program asks for. check.py preloads it into Intel's tests, few of which print such texts.
#include <mpi.h>
#include <stdio.h>

static void print(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code != MPI_SUCCESS && PMPI_Error_string(code, text, &length) == MPI_SUCCESS)
        fprintf(stderr, "returned: %s\n", text);
}

int MPI_Error_class(int code, int *class)
{
    print(code);
    return PMPI_Error_class(code, class);
}

void mpi_error_class_(const int *code, int *class, int *error)
{
    print(*code);
    *error = PMPI_Error_class(*code, class);
}
