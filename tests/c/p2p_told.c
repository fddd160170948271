// ranks: 2
// nodes: 1
// mpiexec: -x TERN_PROMOTE=always -x TERN_COSTS=default
// timeout: 120
// As p2p_presumed, where the kernel tells what the program unmaps, if it is allowed to: nothing is presumed then.
#define TOLD
#include "p2p_presumed.c"
