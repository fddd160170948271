"""An exception that was caught, and noted in `sys` as tools for tests do it, has ended nothing, nor has that of `sys.exit`: rank 0 comes first to its end."""
import os
import sys
import time
from mpi4py import MPI

comm = MPI.COMM_WORLD


def fails():
    raise ValueError("caught")


def noted():
    try:
        fails()
    except ValueError as error:
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__.tb_next


def exits(status):
    try:
        sys.exit(status)
    except SystemExit as error:
        assert error.code == status


exits(4)
if comm.rank == 0:
    noted()
else:
    # Longer than rank 0 would wait in silence if the exception had ended it.
    time.sleep(4)
# In one piece.
os.write(1, f"right {comm.rank} {comm.size}\n".encode())
