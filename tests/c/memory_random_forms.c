// ranks: 2
// timeout: 120
// mpiexec: -x TERN_COSTS=default
// The same with calls that could tell shared memory from private memory: mremap in all its forms, and madvise.
#define MOVES
#define FORMS
#define RING
#include "memory_random.c"
