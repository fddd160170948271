use crate::chart::Scale;
use crate::papers::experiments::node::{
    ALL_TO_ALL, ALL_TO_ALL_16, COSTS, IN_CACHE, OFF_CACHE, PATTERNS, PATTERNS_2, PATTERNS_8, PING_PONG,
};
use crate::papers::experiments::programs::{SORT_2, SORT_4, SORT_AND_TRANSFORM, TRANSFORM_2, TRANSFORM_4};
use crate::papers::registry::{ANY, Claim, How, Over, Paper, Plot, Quantity, REPEAT, Repeat, Shows, figure, table};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const BY_CMA: Quantity = Quantity::Saved { line: "cma", against: "pipe" };

const fn claim(says: &'static str, title: &'static str, benchmark: &'static str, from: u64, range: [f64; 2]) -> Claim {
    Claim { says, title, benchmark, quantity: BY_CMA, sizes: [from, 4 * MIB], over: Over::Median, range }
}

pub const PAPER: Paper = Paper {
    name: "kernel-assistance-2010",
    title: "Optimizing MPI communication within large multicore nodes with kernel assistance",
    source: "S. Moreaud, B. Goglin, D. Goodell, R. Namyst, CAC 2010",
    about: "The paper compares MPICH2's two copies through shared memory (Nemesis) with one copy by the kernel (KNEM) on four Intel \
            machines of 2006 to 2009. Here `pipe` is the former and `cma` the latter, by cross memory attach; `module` is Tern's own \
            kernel module where it is loaded. `mapped` copies once between pages that both processes see, and needs no kernel. \
            `Tern` chooses, and other libraries stand beside it as they come.",
    entries: &[
        figure(
            1,
            "Ping-pong of two sockets of a Xeon of 2006. KNEM has 4 GiB/s in cache and 1 GiB/s off cache. One copy pays from 16 KiB on.",
            How::Measured(Repeat {
                experiments: &[&PING_PONG, &COSTS],
                here: "The two cores share their last cache, and there is no DMA engine.",
                claims: &[
                    Claim {
                        says: "The rate of one copy by the kernel in cache, against off cache, at 1 MiB",
                        title: OFF_CACHE,
                        benchmark: "pingpong_off",
                        quantity: Quantity::Share { part: "cma", of: IN_CACHE, benchmark: "pingpong", line: "cma" },
                        sizes: [MIB, MIB],
                        over: Over::Median,
                        range: [150.0, ANY],
                    },
                    claim(
                        "The time that one copy by the kernel saves against two, off cache, from 64 KiB on",
                        OFF_CACHE,
                        "pingpong_off",
                        64 * KIB,
                        [0.0, ANY],
                    ),
                ],
                plot: Some(Plot {
                    unit: "MB/s",
                    scale: Scale::Logarithmic,
                    shows: Shows::Throughput,
                    panels: &[(IN_CACHE, "pingpong", "in cache"), (OFF_CACHE, "pingpong_off", "off cache")],
                }),
                by_kernel: true,
                ..REPEAT
            }),
        ),
        figure(
            2,
            "Ping-pong by placement on 96 cores. Two copies differ by a factor of 6, KNEM by 20 %. In a common cache two copies are 50 % \
             faster, and between sockets one copy is twice as fast.",
            How::Impossible(
                "it takes cores with and without a common cache, in several sockets and NUMA nodes; this machine has one placement. \
                 `tern-tune` measures each placement that a machine has",
            ),
        ),
        figure(
            3,
            "Reduce, 8 processes on 8 cores. Two copies are faster up to 128 KiB; KNEM is 20 % faster above.",
            How::Measured(Repeat {
                experiments: &[&PATTERNS, &COSTS],
                titles: &[PATTERNS_2, PATTERNS_8],
                here: "Two processes have a core each; 8 share 2 cores, which the paper did not do.",
                claims: &[
                    Claim {
                        sizes: [4 * KIB, 16 * KIB],
                        ..claim(
                            "The time that one copy saves against two, 2 ranks, up to 16 KiB",
                            PATTERNS_2,
                            "reduce",
                            0,
                            [-ANY, 0.0],
                        )
                    },
                    claim(
                        "The time that one copy saves against two, 2 ranks, from 256 KiB on",
                        PATTERNS_2,
                        "reduce",
                        256 * KIB,
                        [5.0, ANY],
                    ),
                ],
                plot: Some(patterns("reduce")),
                by_kernel: true,
                reason: "One copy pays earlier here than on the machines of 2009, where a call alone took 0.1 us",
                ..REPEAT
            }),
        ),
        figure(
            4,
            "Scatter, 16 processes on 16 cores. Two copies are faster up to 128 KiB; KNEM is 30 % faster above.",
            How::Measured(Repeat {
                experiments: &[&PATTERNS, &COSTS],
                titles: &[PATTERNS_2, PATTERNS_8],
                here: "Two processes have a core each; 8 share 2 cores, which the paper did not do.",
                claims: &[
                    claim(
                        "The time that one copy saves against two, 2 ranks, from 256 KiB on",
                        PATTERNS_2,
                        "scatter",
                        256 * KIB,
                        [10.0, ANY],
                    ),
                    claim(
                        "The time that one copy saves against two, 8 ranks, from 256 KiB on",
                        PATTERNS_8,
                        "scatter",
                        256 * KIB,
                        [10.0, ANY],
                    ),
                ],
                plot: Some(patterns("scatter")),
                by_kernel: true,
                ..REPEAT
            }),
        ),
        figure(
            5,
            "Alltoall, 8 processes on 8 cores. KNEM is always faster with medium and large blocks, up to twice.",
            How::Measured(Repeat {
                experiments: &[&PATTERNS, &COSTS],
                titles: &[PATTERNS_8],
                here: "8 processes share 2 cores.",
                claims: &[claim(
                    "The time that one copy saves against two, 8 ranks, from 64 KiB on",
                    PATTERNS_8,
                    "alltoall",
                    64 * KIB,
                    [20.0, ANY],
                )],
                plot: Some(Plot {
                    unit: "MB/s",
                    scale: Scale::Logarithmic,
                    shows: Shows::Throughput,
                    panels: &[(PATTERNS_8, "alltoall", "8 ranks")],
                }),
                by_kernel: true,
                ..REPEAT
            }),
        ),
        figure(
            6,
            "Alltoall, 64 processes on 96 cores. KNEM is 50 % faster, from 32 KiB on, where the exchange goes by pairs.",
            How::Measured(Repeat {
                experiments: &[&ALL_TO_ALL, &COSTS],
                here: "16 processes share 2 cores; more would measure how the system changes processes.",
                claims: &[claim(
                    "The time that one copy saves against two, 16 ranks, from 128 KiB on",
                    ALL_TO_ALL_16,
                    "alltoall",
                    128 * KIB,
                    [15.0, ANY],
                )],
                plot: Some(Plot {
                    unit: "MB/s",
                    scale: Scale::Logarithmic,
                    shows: Shows::Throughput,
                    panels: &[(ALL_TO_ALL_16, "alltoall", "16 ranks")],
                }),
                by_kernel: true,
                ..REPEAT
            }),
        ),
        table(
            1,
            "NAS FT and IS, classes B to D, 8 to 64 processes. FT is 5 to 14 % faster with KNEM, IS 12 to 38 %.",
            How::Measured(Repeat {
                experiments: &[&SORT_AND_TRANSFORM, &COSTS],
                here: "Classes A and W, 2 and 4 processes on 2 cores: what a sitting of minutes allows.",
                claims: &[
                    Claim { sizes: [0, u64::MAX], ..claim(IS_SAYS, SORT_2, "is", 0, [5.0, ANY]) },
                    Claim { sizes: [0, u64::MAX], ..claim(FT_SAYS, TRANSFORM_2, "ft", 0, [2.0, ANY]) },
                ],
                titles: &[SORT_2, SORT_4, TRANSFORM_2, TRANSFORM_4],
                plot: Some(Plot {
                    unit: "us",
                    scale: Scale::Logarithmic,
                    shows: Shows::Bars,
                    panels: &[
                        (SORT_2, "is", "is.A.2"),
                        (SORT_4, "is", "is.A.4"),
                        (TRANSFORM_2, "ft", "ft.W.2"),
                        (TRANSFORM_4, "ft", "ft.W.4"),
                    ],
                }),
                by_kernel: true,
                ..REPEAT
            }),
        ),
    ],
};

const IS_SAYS: &str = "The time that one copy saves IS against two, 2 ranks";
const FT_SAYS: &str = "The time that one copy saves FT against two, 2 ranks";

const fn patterns(benchmark: &'static str) -> Plot {
    let panels: &[(&str, &str, &str)] = match benchmark.as_bytes()[0] {
        b'r' => &[(PATTERNS_2, "reduce", "2 ranks"), (PATTERNS_8, "reduce", "8 ranks")],
        _ => &[(PATTERNS_2, "scatter", "2 ranks"), (PATTERNS_8, "scatter", "8 ranks")],
    };
    Plot { unit: "MB/s", scale: Scale::Logarithmic, shows: Shows::Throughput, panels }
}
