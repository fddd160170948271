// ranks: 2
// timeout: 120
// mpiexec: -x TERN_PROMOTE=always -x TERN_COSTS=default
// The same where memory becomes shared at its first use, whatever the program calls: pages that are moved, and an io_uring.
#define MOVES
#define RING
#include "memory_random.c"
