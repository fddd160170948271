// ranks: 2
// nodes: 1
// mpiexec: -x TERN_PROMOTE=off -x TERN_MECHANISM=cma
// timeout: 60
// As p2p_unsafe, where messages stay in private memory and their receivers have the kernel copy them.
#include "p2p_unsafe.c"
