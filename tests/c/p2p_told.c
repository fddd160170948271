// ranks: 2
// nodes: 1
// mpiexec: -x TERN_PROMOTE=always -x TERN_COSTS=default
// timeout: 120
// As p2p_speculative, where the kernel tells what the program unmaps, if it is allowed to: nothing is speculative then.
#define TOLD
#include "p2p_speculative.c"
