# Ranks add up their numbers, and pass objects around in a ring.
library(Rmpi)
rank <- mpi.comm.rank(0)
size <- mpi.comm.size(0)
total <- mpi.allreduce(as.double(rank + 1), type = 2, op = "sum", comm = 0)
mpi.send.Robj(list(from = rank), (rank + 1) %% size, 5, comm = 0)
got <- mpi.recv.Robj((rank - 1) %% size, 5, comm = 0)
cat("rank", rank, "of", size, "total", total, "from", got$from, "\n")
invisible(mpi.quit())
