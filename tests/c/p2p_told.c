// ranks: 2
// nodes: 1
// mpiexec: -x TERN_PROMOTE=always -x TERN_COSTS=default
// timeout: 120
// Copies from memory whose place is remembered are never speculative where the kernel tells what the program unmaps, if it is allowed to: a buffer that is
// unmapped and mapped anew between two sends gives its new data.
#define TOLD
#include "p2p_speculative.c"
