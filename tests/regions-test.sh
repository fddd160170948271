#!/bin/sh
# Collectives by regions, at random (tests/c/coll_region.c and coll_region_v.c): forced, by each mechanism, and where the kernel refuses to copy for all
# processes, for some, and for some from the middle on. Counters show that what can be copied once is.
# Usage: tests/regions-test.sh PREFIX
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$(cd "${1:?"usage: $0 PREFIX"}" && pwd)
. "$here/common.sh"
make_place

programs="coll_region coll_region_v"
export TERN_TEST_DIR="$place/programs"
compiled

region=bcast=region,gather=region,scatter=region,allgather=region,alltoall=region,alltoallv=region
region=$region,reduce=region,allreduce=region,reduce_scatter=region,scan=region
with TERN_COLL=$region REGIONS=all
with TERN_COLL=$region REGIONS=all TERN_MECHANISM=cma
with TERN_COLL=$region TERN_PROMOTE=always
with TERN_COLL=$region TERN_PROMOTE=always TERN_MECHANISM=mapped
with TERN_COLL=$region REGIONS=none TERN_MECHANISM=pipe
# Schedules have regions without lines too.
with TERN_COLL=$region TERN_COLL_LINES=off
others=bcast=binomial,gather=linear,scatter=linear,allgather=ring,alltoall=linear,alltoallv=linear
others=$others,reduce=binomial,allreduce=rabenseifner,reduce_scatter=linear,scan=recursive_doubling
with TERN_COLL=$others REGIONS=none
with TERN_COLL=$region REGIONS=none REFUSED=all TERN_PROMOTE=off
with TERN_COLL=$region REFUSED=odd
with TERN_COLL=$region REFUSED=late

sums
