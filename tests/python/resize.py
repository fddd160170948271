"""mmap.resize of a mapping of which a part was sent and received, often enough that something is registered or watched."""
import mmap
import os
from mpi4py import MPI

comm = MPI.COMM_WORLD
other = 1 - comm.rank
PART = 1 << 20
area = mmap.mmap(-1, 4 * PART, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for round in range(6):
    view = memoryview(area)
    mine, theirs = view[PART:2 * PART], view[2 * PART:3 * PART]
    for times in range(20):
        value = (31 * round + times + comm.rank) % 251
        mine[:] = bytes([value]) * PART
        comm.Sendrecv([mine, MPI.BYTE], other, 0, [theirs, MPI.BYTE], other, 0)
        assert theirs[0] == theirs[PART - 1] == (31 * round + times + other) % 251
    mine.release(), theirs.release(), view.release()
    # Larger, so that it moves; and smaller again.
    area.resize((8 if round % 2 == 0 else 4) * PART)
    assert area[PART] == area[2 * PART - 1] == value
    assert area[2 * PART] == area[3 * PART - 1] == (31 * round + 19 + other) % 251
# In one piece.
os.write(1, f"right {comm.rank} {comm.size}\n".encode())
