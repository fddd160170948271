use crate::chart::Scale;
use crate::papers::experiments::node::{
    BCAST_4, BCAST_8, BOTH_IN_CACHE, BOTH_OFF_CACHE, BROADCAST, COPYING, COSTS, IN_CACHE, OFF_CACHE, PING_PING,
    PING_PONG, REGIONS, REGIONS_2, REGIONS_4, REGIONS_8, STRATEGIES,
};
use crate::papers::experiments::programs::{PATHS, PATHS_4, SORT_2, SORT_AND_TRANSFORM, TRANSFORM_2};
use crate::papers::registry::{ANY, Claim, How, Over, Paper, Plot, Quantity, REPEAT, Repeat, Shows, figure, table};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const fn saved(
    says: &'static str, title: &'static str, benchmark: &'static str, [line, against]: [&'static str; 2],
    sizes: [u64; 2], range: [f64; 2],
) -> Claim {
    Claim { says, title, benchmark, quantity: Quantity::Saved { line, against }, sizes, over: Over::Median, range }
}

const ONE_TWO: [&str; 2] = ["cma", "pipe"];

const fn throughput(panels: &'static [(&'static str, &'static str, &'static str)]) -> Plot {
    Plot { unit: "MB/s", scale: Scale::Logarithmic, shows: Shows::Throughput, panels }
}

const fn growth(line: &'static str, says: &'static str, range: [f64; 2]) -> Claim {
    Claim {
        says,
        title: REGIONS_8,
        benchmark: "bcast",
        quantity: Quantity::Ratio { line, of: REGIONS_2 },
        sizes: [128 * KIB, 4 * MIB],
        over: Over::Median,
        range,
    }
}

pub const PAPER: Paper = Paper {
    name: "knem-2013",
    title: "KNEM: a generic and scalable kernel-assisted intra-node MPI communication framework",
    source: "B. Goglin, S. Moreaud, JPDC 73(2), 2013",
    about: "KNEM's interface of regions and cookies is Tern's `region` crate and its library for other programs; its module is `kmod`. \
            Here `pipe` is the double copy that MPICH2 and Open MPI have by default, and `cma` the single copy by the kernel. \
            `module` is Tern's own kernel module where it is loaded. `mapped` is a single copy that needs no kernel. \
            `Tern` chooses, and other libraries stand beside it as they come. Off cache `mapped` is left out: each message lies \
            elsewhere, and each would be shared before its first use.",
    entries: &[
        figure(
            1,
            "Ways between processes of a node, with and without hardware and kernel.",
            How::Drawn("[messages](../parts/messages.md)"),
        ),
        figure(
            2,
            "A broadcast by messages, through shared memory, and by direct copies, as times of each process.",
            How::Drawn("[collectives](../parts/collectives.md)"),
        ),
        figure(
            3,
            "Chunks through an intermediate process, by messages and by direct copies.",
            How::Drawn("[collectives](../parts/collectives.md)"),
        ),
        figure(
            4,
            "The interface: create and destroy a region, copy inline or between regions, poll.",
            How::Drawn("[the region library](../region-library.md)"),
        ),
        figure(5, "The steps of a message by a cookie.", How::Drawn("[the kernel module](../kernel-module.md)")),
        figure(6, "Where the module is in MPICH2.", How::Drawn("[messages](../parts/messages.md)")),
        figure(7, "Where the module is in Open MPI.", How::Drawn("[collectives](../parts/collectives.md)")),
        figure(
            8,
            "Two servers as hwloc draws them.",
            How::Drawn("`tern-info` prints the machine, [costs](../parts/costs.md) its levels"),
        ),
        figure(
            9,
            "Ping-pong on a Westmere. Off cache and between sockets KNEM is 18 to 30 % faster. Two copies are as fast in a common cache, and \
             below 16 KiB.",
            How::Measured(Repeat {
                experiments: &[&PING_PONG, &COSTS],
                here: "Both cores share their last cache.",
                claims: &[
                    saved(
                        "The time that one copy by the kernel saves against two, off cache, from 64 KiB on",
                        OFF_CACHE,
                        "pingpong_off",
                        ONE_TWO,
                        [64 * KIB, 4 * MIB],
                        [0.0, ANY],
                    ),
                    saved(
                        "The same below 16 KiB, in cache",
                        IN_CACHE,
                        "pingpong",
                        ONE_TWO,
                        [4 * KIB, 4 * KIB],
                        [-ANY, 5.0],
                    ),
                ],
                plot: Some(throughput(&[(IN_CACHE, "pingpong", "in cache"), (OFF_CACHE, "pingpong_off", "off cache")])),
                by_kernel: true,
                ..REPEAT
            }),
        ),
        figure(
            10,
            "On an Opteron two copies are slightly faster in the ping-pong off cache. When both send at once, the rate of a process stays \
             with KNEM and is nearly halved with two copies.",
            How::Measured(Repeat {
                experiments: &[&PING_PING, &PING_PONG, &COSTS],
                here: "Both cores share their last cache.",
                claims: &[
                    saved(
                        "The time that one copy by the kernel saves against two in the ping-pong off cache, from 64 KiB on",
                        OFF_CACHE,
                        "pingpong_off",
                        ONE_TWO,
                        [64 * KIB, 4 * MIB],
                        [-ANY, 5.0],
                    ),
                    kept("cma", "The rate that a process keeps with one copy when both send, off cache", [75.0, ANY]),
                    kept(
                        "pipe",
                        "The rate that a process keeps with two copies when both send, off cache",
                        [-ANY, 75.0],
                    ),
                ],
                plot: Some(Plot {
                    unit: "GB/s of both ways",
                    scale: Scale::Logarithmic,
                    shows: Shows::Values,
                    panels: &[
                        (BOTH_IN_CACHE, "sendrecv", "ping-ping, in cache"),
                        (BOTH_OFF_CACHE, "sendrecv_off", "ping-ping, off cache"),
                    ],
                }),
                by_kernel: true,
                reason: "Two copies overlap in a ping-pong only, where one process copies while the other waits",
                ..REPEAT
            }),
        ),
        figure(
            11,
            "Sender writing, receiver reading, inline copy and region copy are alike, within 10 %.",
            How::Measured(Repeat {
                experiments: &[&STRATEGIES],
                here: "By CMA and without MPI. `both halves` and `copy thread` are Tern's own.",
                claims: &[
                    saved(
                        "The time that a copy between two regions saves against the receiver's inline copy",
                        COPYING,
                        "exchange",
                        ["region to region", "receiver reads"],
                        [16 * KIB, 4 * MIB],
                        [-15.0, 15.0],
                    ),
                    saved(
                        "The time that the sender's writing saves against the receiver's reading",
                        COPYING,
                        "exchange",
                        ["sender writes", "receiver reads"],
                        [16 * KIB, 4 * MIB],
                        [-15.0, 15.0],
                    ),
                ],
                plot: Some(throughput(&[(COPYING, "exchange", "written, copied, read")])),
                reason: "The receiver reads what it has just copied, and finds it in its own cache only where it copied it itself",
                ..REPEAT
            }),
        ),
        figure(
            12,
            "Ping-pong between sockets off cache. KNEM is faster from 32 KiB on; copying by the DMA engine never is.",
            How::Measured(Repeat {
                experiments: &[&PING_PONG, &COSTS],
                titles: &[OFF_CACHE],
                here: "One cache, and no DMA engine.",
                claims: &[saved(
                    "The time that one copy by the kernel saves against two, off cache, from 32 KiB on",
                    OFF_CACHE,
                    "pingpong_off",
                    ONE_TWO,
                    [32 * KIB, 4 * MIB],
                    [0.0, ANY],
                )],
                plot: Some(throughput(&[(OFF_CACHE, "pingpong_off", "off cache")])),
                by_kernel: true,
                ..REPEAT
            }),
        ),
        figure(
            13,
            "A broadcast to 16 processes takes 3 to 4.6 times as long as to 2 if each reader has a region, and 1.3 to 2.2 times with one \
             region for all.",
            How::Measured(Repeat {
                experiments: &[&REGIONS],
                here: "2, 4 and 8 processes on 2 cores; from 4 on they take turns, so that the copies add up.",
                claims: &[
                    growth("one for each", "A broadcast to 8 against one to 2, with a region for each", [3.0, ANY]),
                    saved(
                        "The time that one region saves against one for each, 8 processes",
                        REGIONS_8,
                        "bcast",
                        ["one region", "one for each"],
                        [128 * KIB, 4 * MIB],
                        [5.0, ANY],
                    ),
                ],
                plot: Some(Plot {
                    unit: "times the broadcast to 2",
                    scale: Scale::Logarithmic,
                    shows: Shows::Times(REGIONS_2),
                    panels: &[(REGIONS_4, "bcast", "4 processes"), (REGIONS_8, "bcast", "8 processes")],
                }),
                reason: "A region of this library pins no page, so a further one costs a look into a table; the module's regions pin theirs",
                ..REPEAT
            }),
        ),
        figure(
            14,
            "The native broadcast takes 30 to 40 % less time than the default one from 4 KiB to 4 MiB. By messages, KNEM helps with long \
             ones only. A level for NUMA nodes saves 10 to 20 % more.",
            How::Measured(Repeat {
                experiments: &[&BROADCAST, &COSTS],
                here: "4 and 8 ranks on 2 cores; one NUMA node, hence no level.",
                claims: &[
                    saved(
                        "The time that a broadcast by region saves against a tree of two copies, 4 ranks, from 16 KiB on",
                        BCAST_4,
                        "bcast",
                        ["region", "tree, pipe"],
                        [16 * KIB, 4 * MIB],
                        [15.0, ANY],
                    ),
                    saved(
                        "The time that Tern's own choice saves against the tree of two copies, 4 ranks, from 16 KiB on",
                        BCAST_4,
                        "bcast",
                        ["tern", "tree, pipe"],
                        [16 * KIB, 4 * MIB],
                        [30.0, ANY],
                    ),
                ],
                plot: Some(Plot {
                    unit: "% less time than by the tree of two copies",
                    scale: Scale::Difference,
                    shows: Shows::Saved("tree, pipe"),
                    panels: &[(BCAST_4, "bcast", "4 ranks"), (BCAST_8, "bcast", "8 ranks")],
                }),
                by_kernel: true,
                ..REPEAT
            }),
        ),
        table(
            1,
            "NAS on 16 cores. ft.B.16 is 10.8 % faster with KNEM, is.C.16 18.2 %.",
            How::Measured(Repeat {
                experiments: &[&SORT_AND_TRANSFORM, &COSTS],
                here: "Classes A and W, 2 and 4 processes on 2 cores: what a sitting of minutes allows.",
                claims: &[
                    saved(
                        "The time that one copy saves IS against two, 2 ranks",
                        SORT_2,
                        "is",
                        ONE_TWO,
                        WHOLE,
                        [5.0, ANY],
                    ),
                    saved(
                        "The time that one copy saves FT against two, 2 ranks",
                        TRANSFORM_2,
                        "ft",
                        ONE_TWO,
                        WHOLE,
                        [2.0, ANY],
                    ),
                ],
                by_kernel: true,
                ..REPEAT
            }),
        ),
        table(
            2,
            "Shortest paths, 48 cores, 32768 vertices. The native broadcast takes 198 s, messages by KNEM 294 and 550 s; the whole is 2 % \
             faster.",
            How::Measured(Repeat {
                experiments: &[&PATHS],
                here: "1024 vertices, and rows of 8192 by way of 128. Most of the time in broadcasts is the wait for the slowest rank.",
                claims: &[
                    saved(
                        "The time in broadcasts that regions save against messages of one copy, 4 ranks",
                        PATHS_4,
                        "asp_bcast",
                        ["region", "tree, cma"],
                        WHOLE,
                        [20.0, ANY],
                    ),
                    saved(
                        "The whole time that regions save against messages of one copy, 4 ranks",
                        PATHS_4,
                        "asp",
                        ["region", "tree, cma"],
                        WHOLE,
                        [0.0, ANY],
                    ),
                ],
                ..REPEAT
            }),
        ),
    ],
};

const WHOLE: [u64; 2] = [0, u64::MAX];

const fn kept(line: &'static str, says: &'static str, range: [f64; 2]) -> Claim {
    Claim {
        says,
        title: BOTH_OFF_CACHE,
        benchmark: "sendrecv_off",
        quantity: Quantity::Kept { line, of: OFF_CACHE, benchmark: "pingpong_off" },
        sizes: [64 * KIB, 4 * MIB],
        over: Over::Median,
        range,
    }
}
