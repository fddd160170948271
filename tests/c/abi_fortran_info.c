// ranks: 1
// What a program tells about its Fortran compiler: once, and it decides what the types are.
#include "check.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Info info;
    int bytes, set = -1, flag, length = 8;
    char value[8];
    int yes = -1, no = 0, got_yes = 7, got_no = 7;

    OK(MPI_Type_size(MPI_INTEGER, &bytes));
    CHECK(bytes == 4, "%d", bytes);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_integer_size", "three"));
    FAILS(MPI_ERR_INFO_VALUE, MPI_Abi_set_fortran_info(info));
    OK(MPI_Info_set(info, "mpi_integer_size", "8"));
    OK(MPI_Info_set(info, "mpi_real16_supported", "false"));
    OK(MPI_Abi_set_fortran_info(info));
    FAILS(MPI_ERR_ABI, MPI_Abi_set_fortran_info(info));
    OK(MPI_Info_free(&info));
    OK(MPI_Type_size(MPI_INTEGER, &bytes));
    CHECK(bytes == 8, "%d", bytes);
    OK(MPI_Type_size(MPI_REAL16, &bytes));
    CHECK(bytes == MPI_UNDEFINED, "%d", bytes);
    FAILS(MPI_ERR_TYPE, MPI_Send(&bytes, 1, MPI_REAL16, 0, 0, MPI_COMM_SELF));
    OK(MPI_Abi_get_fortran_info(&info));
    OK(MPI_Info_get_string(info, "mpi_integer_size", &length, value, &flag));
    CHECK(flag && atoi(value) == 8, "%s", value);
    OK(MPI_Info_free(&info));

    OK(MPI_Abi_get_fortran_booleans(sizeof yes, &got_yes, &got_no, &set));
    CHECK(set == 0 && got_yes == 7, "%d", set);
    OK(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
    FAILS(MPI_ERR_ABI, MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
    OK(MPI_Abi_get_fortran_booleans(sizeof yes, &got_yes, &got_no, &set));
    CHECK(set == 1 && got_yes == yes && got_no == no, "%d: %d, %d", set, got_yes, got_no);
    FAILS(MPI_ERR_ABI, MPI_Abi_get_fortran_booleans(8, &got_yes, &got_no, &set));
    return finish();
}
