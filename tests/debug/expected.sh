# Read by check-test.sh for each interface and each way that bytes move: what is said of each wrong program, and that nothing is of right ones.
# The functions, and `program`, whose ways `finds` and `alone` take, are that script's.

run on signature
expect 'a receive of another type' << 'LINES'
MPI_Recv failed in rank 1 .*the message of 16 bytes from rank 0 with tag 9 is of Int32, but this receive is of Float32 (MPI_FLOAT)
MPI_ERR_TYPE
LINES

run on signature-later
expect 'a long message to a receive of another type' << 'LINES'
MPI_Wait failed in rank 1 .*800000 bytes from rank 0 with tag 9 is of Float64, but this receive is of Int64 (MPI_LONG)
LINES

run on signature-part
expect 'a message of another type that is shorter than an element' << 'LINES'
the message of 3 bytes from rank 0 with tag 9 is of Char, but this receive is of Int32 (MPI_INT)
LINES

run on truncation
expect 'a message longer than its receive' << 'LINES'
the message of 16 bytes from rank 0 with tag 9 is longer than the receive, which has room for 8 bytes
LINES

run on collective
expect 'two collectives' << 'LINES'
on MPI_COMM_WORLD: rank 0 calls MPI_Bcast, but rank 1 calls MPI_Reduce
LINES

run on collective-or-not
expect 'a barrier and a new communicator' << 'LINES'
on MPI_COMM_WORLD: rank 0 calls MPI_Barrier, but rank 1 calls MPI_Comm_dup
LINES

run on root
expect 'two roots' << 'LINES'
rank 0 calls MPI_Bcast with root 0, but rank 1 calls MPI_Bcast with root 1
What to try: give the same root
MPI_ERR_ROOT
LINES

run on root return
expect 'both ranks get the error' << 'LINES'
^rank 0: bcast: class MPI_ERR_ROOT$
^rank 1: bcast: class MPI_ERR_ROOT$
^exit code 0$
LINES

run on operation
expect 'two operations' << 'LINES'
with operation MPI_SUM, but rank 1 calls MPI_Allreduce with operation MPI_MAX
LINES

run on counts
expect 'other counts' << 'LINES'
in MPI_Allgather rank 1 gives 4 x Int32 (16 bytes) to rank 0, which expects 3 x Int32 (12 bytes)
LINES

run on vector
expect 'a block that is too long' << 'LINES'
in MPI_Gatherv rank 1 gives 3 x Int32 (12 bytes) to rank 0, which expects 2 x Int32 (8 bytes)
LINES

run on types
expect 'other types in a nonblocking collective' << 'LINES'
MPI_Wait failed .*in MPI_Ibcast rank 0 gives 1 x Int32 (4 bytes) to rank 1, which expects 1 x Float32 (4 bytes)
LINES

run on leaks
expect 'what is left at the end' << 'LINES'
^tern\[0\]: warning: at MPI_Finalize: 2 communicators "mine" made by MPI_Comm_dup were not freed$
^tern\[0\]: warning: at MPI_Finalize: 1 datatype made by MPI_Type_vector was not freed$
^tern\[0\]: warning: at MPI_Finalize: 1 info object was not freed$
^tern\[0\]: warning: at MPI_Finalize: 1 request made by MPI_Irecv was not freed$
^exit code 0$
!operation
LINES

run on clean
expect 'a clean program' << 'LINES'
^rank 0: all: class MPI_SUCCESS$
^rank 1: all: class MPI_SUCCESS$
^exit code 0$
!tern
LINES

program=misuse
finds changed_send 'a send whose memory changes' \
    'MPI_Wait failed in rank 0 .*byte 0 of the data in buf of MPI_Isend was changed by the program before the operation was complete'
finds changed_receive 'a receive whose memory the program writes' \
    'MPI_Wait failed in rank 1 .*byte 4 of the data in buf of MPI_Start was changed by the program'
finds changed_collective 'a nonblocking collective whose memory the program writes' \
    'MPI_Wait failed in rank 1 .*byte 0 of the data in recvbuf of MPI_Iallreduce was changed by the program'
finds overlapping_receives 'receives into the same memory' \
    'MPI_Irecv failed in rank 1 .*the 8 bytes at .* of buf, which this call writes, are also in buf of MPI_Irecv, which writes them'
finds sent_while_received 'a send of memory that is received into' \
    'MPI_Send failed in rank .*the 4 bytes at .* of buf, which this call reads, are also in buf of MPI_Irecv, which writes them'
finds reduced_while_received 'a collective on memory that is received into' \
    'MPI_Allreduce failed in rank .* of sendbuf, which this call reads, are also in buf of MPI_Irecv'
finds sendrecv 'a send and a receive in one call' \
    'MPI_Sendrecv failed in rank .*the 8 bytes at .* of sendbuf, which this call reads, are also in recvbuf of the same call'
finds gathered_twice 'a gather that writes a place twice' \
    'MPI_Gatherv failed in rank 0 .*of recvbuf, which this call writes, are also in recvbuf of the same call'
finds overlapping_entries 'a receive into entries that overlap' \
    'MPI_Recv failed in rank 1 .*the 16 bytes that this call writes to buf lie in 13 bytes of memory'
finds not_mapped 'a buffer that ends behind its memory' \
    'MPI_Send failed in rank 0 .*buf begins at .* and has 4294967296 bytes, which this call reads, but from .* on there is no such memory'
finds bsend_type 'a buffered send of another type' \
    'MPI_Recv failed in rank 1 .*the message of 4 bytes from rank 0 with tag 0 is of Float32, but this receive is of Int32'
misuse freed_active
expect 'active requests that are freed' << 'LINES'
^tern\[1\]: note: MPI_Request_free: the request of MPI_Irecv is of a receive that is active, which is permitted, but
^tern\[1\]: note: MPI_Request_free: the request of MPI_Recv_init is of a receive that is active, which is permitted, but
!warning
^exit code 0$
LINES
finds freed_collective 'a collective whose request is freed' \
    'MPI_Request_free failed in rank .*the request of MPI_Ibarrier is active: that of a collective must not be freed'
finds not_waited 'a send that nobody waits for' '^tern\[0\]: warning: at MPI_Finalize: 1 request made by MPI_Isend was not freed$'
finds race 'two messages that race' \
    'warning: race: MPI_Recv (source MPI_ANY_SOURCE, tag 1) has got the message of rank [12] with tag 1, but could have got that of'
finds put_changed 'a put whose memory changes' \
    'MPI_Win_fence failed in rank 0 .*byte 4 of the data in origin_addr of MPI_Put was changed by the program'
finds get_changed 'a get whose memory the program writes' \
    'MPI_Win_unlock failed in rank 0 .*byte 4 of the data in origin_addr of MPI_Get was changed by the program'
finds get_twice 'two gets into the same memory' \
    'MPI_Get failed in rank .*of origin_addr, which this call writes, are also in origin_addr of MPI_Get'
finds puts_meet 'two puts that meet' \
    'tern\[1\]: warning: race in .*MPI_Put at rank 0 and MPI_Put at rank 2 have bytes 8 to 16 of the memory of rank 1 in common'
finds locks_meet 'a put and a get under shared locks' \
    'tern\[1\]: warning: race in .*MPI_Put at rank 0 and MPI_Get at rank 2 have bytes 12 to 16 of the memory of rank 1 in common'
finds store_meets 'a put and a store of the target' \
    'tern\[1\]: warning: race in .*MPI_Put at rank 0 and a store of the program at rank 1 have bytes 8 to 9 of the memory of rank 1'
finds lock_between_fences 'a lock between two fences' \
    'tern\[0\]: warning: MPI_Win_fence on .*since the fence before it, this process has communicated under a lock'
finds outside 'a put beyond the window' \
    'MPI_Put failed in rank 0 .*access to bytes 0 to 4 from displacement 16 at rank 1 is not in its 64 bytes'
finds window_not_mapped 'a window that ends behind its memory' \
    'MPI_Win_create failed in rank .*the window has 1099511627776 bytes from .* on, but at .* there is no memory'

alone right no_race own_lock pair_fetched tool_thread

program=further
finds put_after_complete 'a put behind MPI_Win_complete' \
    'MPI_Put failed in rank .*no access epoch to rank 1 is open'
finds put_to_another 'a put to a rank that is not in the group of MPI_Win_start' \
    'MPI_Put failed in rank .*no access epoch to rank [02] is open: .*MPI_Win_start with that rank in the group'
finds no_complete 'an epoch without MPI_Win_complete' \
    'MPI_Win_free failed in rank 2 .*an epoch of MPI_Win_start is open: end it with MPI_Win_complete first'
finds no_wait 'an epoch without MPI_Win_wait' \
    'MPI_Win_free failed in rank 1 .*an epoch of MPI_Win_post is open: end it with MPI_Win_wait first'
finds exposed_store 'a store between MPI_Win_post and MPI_Win_wait' \
    'tern\[1\]: warning: race in .*MPI_Put at rank 2 and a store of the program at rank 1 have bytes 12 to 13 of the memory of rank 1'
finds exposed_receive 'a receive into exposed memory' \
    'tern\[1\]: warning: race in .*MPI_Sendrecv at rank 1 and MPI_Put at rank 2 have bytes 8 to 12 of the memory of rank 1'
finds exposed_send 'a send from exposed memory' \
    'tern\[1\]: warning: race in .*MPI_Sendrecv at rank 1 and MPI_Put at rank 2 have bytes 8 to 12 of the memory of rank 1'
finds exposed_puts_meet 'puts of one exposure epoch that meet' \
    'tern\[1\]: warning: race in .*MPI_Put at rank 0 and MPI_Put at rank 2 have bytes 8 to 16 of the memory of rank 1'
finds other_assertion 'MPI_MODE_NOCHECK at one side' \
    'tern\[1\]: warning: .*MPI_Win_start at rank [02] was given MPI_MODE_NOCHECK in its argument assert, but the matching MPI_Win_post here was not'
finds no_put 'a put though MPI_MODE_NOPUT was given' \
    'tern\[1\]: warning: .*MPI_Win_post was given MPI_MODE_NOPUT in its argument assert, but MPI_Put at rank [02] has written'
finds not_ready 'a ready send without a receive' \
    'tern\[1\]: warning: MPI_Recv: the message from rank 0 with tag 5 was sent by MPI_Rsend .*had come before this receive was posted'
finds not_ready_persistent 'a persistent ready send without a receive' \
    'tern\[1\]: warning: MPI_Recv: the message from rank 0 with tag 5 was sent by MPI_Rsend'
finds neighbour_counts 'other counts at both ends of an edge' \
    'in MPI_Neighbor_alltoall rank 2 gives 2 x Int32 (8 bytes) to its neighbour rank 0, which expects 1 x Int32 (4 bytes)'
finds neighbour_types 'other types at both ends of an edge' \
    'in MPI_Neighbor_alltoallv rank 0 gives 1 x Int32 (4 bytes) to its neighbour rank 1, which expects 1 x Float32 (4 bytes)'
finds neighbour_order 'two collectives of a neighbourhood' \
    'rank 0 calls MPI_Neighbor_allgather, but rank 1 calls MPI_Neighbor_alltoall'
finds one_sided_edge 'an edge that its other end does not know' \
    'in MPI_Neighbor_allgather rank 0 has 1 edges to rank 1, which has 0 from it'
finds neighbour_changed 'a collective of a neighbourhood whose memory changes' \
    'MPI_Wait failed in rank 1 .*of the data in sendbuf of MPI_Ineighbor_alltoall was changed by the program'
finds partition_twice 'a partition that is ready twice' \
    'MPI_Pready failed in rank 0 .*partition 1 is ready already in this round'
finds partition_changed 'a partition that is ready and changes' \
    'MPI_Wait failed in rank 0 .*byte 4 of the data in buf of MPI_Pready was changed by the program'
finds partition_early 'a partition that is written before it has come' \
    'MPI_Wait failed in rank 1 .*byte 4 of the data in buf of MPI_Start was changed by the program'
finds partition_sent 'a partition that is sent on before it has come' \
    'MPI_Send failed in rank 1 .*the 8 bytes at .* of buf, which this call reads, are also in buf of MPI_Start, which writes them'
finds partition_sizes 'partitions that are less data than their receive expects' \
    'MPI_Wait failed in rank 1 .*partitions of rank 0 with tag 4 have 36 bytes together, but those of this receive have 48'
finds file_order 'a collective read of a file and a collective write' \
    'on .*file: rank 0 calls MPI_File_write_all, but rank 2 calls MPI_File_read_all'
finds file_sync_order 'other collective calls of a file' \
    'on .*file: rank 0 calls MPI_File_sync, but rank 1 calls MPI_File_set_size'
finds file_overlap 'writes of a file that meet' \
    'tern\[0\]: warning: .*file: MPI_File_write_at at rank 0 and MPI_File_write_at at rank 2 have bytes 8 to 16 of the file in common'
finds file_memory 'a write to a file from memory that is received into' \
    'MPI_File_write_at failed in rank .*of buf, which this call reads, are also in buf of MPI_Irecv'
finds file_changed 'a nonblocking write to a file whose memory changes' \
    'MPI_Wait failed in rank .*byte 12 of the data in buf of MPI_File_iwrite_at was changed by the program'
alone right_epochs right_ready right_neighbours right_partitions right_files

run off leaks
expect 'nothing is said when it is off' << 'LINES'
^exit code 0$
!tern
LINES

run off buffering
expect 'buffering works when it is off' << 'LINES'
^exit code 0$
LINES

stalls 2 mistakes buffering
expect 'a program that relies on buffering' << 'LINES'
rank 0: in MPI_Send for .*: waits for rank 1 to receive, tag 3, 4 bytes, MPI_COMM_WORLD$
deadlock: rank 0 and rank 1 wait for each other$
LINES

stalls 3 misuse window_hangs
expect "a window's collective that one rank does not reach" << 'LINES'
in MPI_Win_fence for .*: waits for rank [012] to come to it, the window$
deadlock: rank 0 and rank 1 wait for each other$
LINES

stalls 3 further not_posted
expect 'MPI_Win_start whose target posts to others alone' << 'LINES'
rank 2: in MPI_Win_start for .*: waits for rank 1 to come to it, the window$
deadlock: ranks [012], [012] and [012] wait in a circle
LINES
