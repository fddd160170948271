use crate::chart::Scale;
use crate::papers::experiments::card::{
    APART, BACK_TO_BACK, COLLECTIVES, COLLECTIVES_4, COLLECTIVES_16, COSTS_TITLE, EXPLAINED, FREQUENT, FREQUENT_TITLE,
    GRADIENT, REUSE, SEARCH, SEARCH_TITLE, SPECTRUM, WAVEFRONT,
};
use crate::papers::experiments::programs::{
    COUNTED, FREQUENT as NAS_FREQUENT, FREQUENT_CG, FREQUENT_LU, REUSE_CG, REUSE_LU,
};
use crate::papers::registry::{ANY, Claim, How, Over, Paper, Plot, Quantity, REPEAT, Repeat, Shows, figure, table};

const fn saved(
    says: &'static str, title: &'static str, benchmark: &'static str, sizes: [u64; 2], over: Over, range: [f64; 2],
) -> Claim {
    Claim { says, title, benchmark, quantity: FREQUENTLY, sizes, over, range }
}

const FREQUENTLY: Quantity = Quantity::Saved { line: "frequent", against: "plain eager" };
const WHOLE: [u64; 2] = [0, u64::MAX];

const fn value(
    line: &'static str, says: &'static str, title: &'static str, benchmark: &'static str, sizes: [u64; 2],
    range: [f64; 2],
) -> Claim {
    Claim { says, title, benchmark, quantity: Quantity::Value { line }, sizes, over: Over::Greatest, range }
}

const fn percents(panels: &'static [(&'static str, &'static str, &'static str)]) -> Option<Plot> {
    Some(Plot {
        unit: "% less time than plain eager",
        scale: Scale::Difference,
        shows: Shows::Saved("plain eager"),
        panels,
    })
}

pub const PAPER: Paper = Paper {
    name: "frequent-buffers-2009",
    title: "Improving RDMA-based MPI eager protocol for frequently-used buffers",
    source: "M. J. Rashti, A. Afsahi, CAC 2009",
    about: "A buffer that is sent from often is registered, and short messages leave from there without the sender's copy. In Tern the \
            rule is `policy::frequent`, its hand the `verbs` device. **No card is in these figures**: they ran on the software HCA \
            behind the model of a ConnectX card of that time (`TERN_LINK=ddr`), in slow motion, which the times leave out. \
            The packet goes by a send with a gather list, where the paper writes it into a ring.",
    entries: &[
        figure(
            1,
            "Latency of eager messages and the cost of one copy. At most 15 % of the latency can be saved.",
            How::Measured(Repeat {
                experiments: &[&EXPLAINED, &FREQUENT],
                here: "The copy's time is what Tern measured on the model at its start.",
                claims: &[Claim {
                    says: "A copy in percent of the latency, 8 KiB",
                    title: COSTS_TITLE,
                    benchmark: "copy_cost",
                    quantity: Quantity::Share {
                        part: "frequent",
                        of: FREQUENT_TITLE,
                        benchmark: "pingpong_nonblocking",
                        line: "plain eager",
                    },
                    sizes: [8192, 8192],
                    over: Over::Median,
                    range: [8.0, 22.0],
                }],
                plot: Some(Plot {
                    unit: "us",
                    scale: Scale::Logarithmic,
                    shows: Shows::Values,
                    panels: &[
                        (FREQUENT_TITLE, "pingpong_nonblocking", "latency"),
                        (COSTS_TITLE, "copy_cost", "one copy"),
                    ],
                }),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            2,
            "The way of an eager message, with the sender's copy and without.",
            How::Drawn("[the verbs device](../parts/verbs.md)"),
        ),
        figure(
            3,
            "The time of a search in a hash table hardly grows with the number of buffers; that in a binary tree does.",
            How::Measured(Repeat {
                experiments: &[&SEARCH],
                here: "Tern's own table, and a balanced tree of the standard library; up to 4000 buffers, as many as Tern keeps.",
                claims: &[Claim {
                    says: "The time that the hash table saves against the tree, 1000 buffers and more",
                    title: SEARCH_TITLE,
                    benchmark: "search",
                    quantity: Quantity::Saved { line: "hash table", against: "binary tree" },
                    sizes: [1000, 4000],
                    over: Over::Median,
                    range: [10.0, ANY],
                }],
                plot: Some(Plot {
                    unit: "ns",
                    scale: Scale::Logarithmic,
                    shows: Shows::Values,
                    panels: &[(SEARCH_TITLE, "search", "by number of buffers")],
                }),
                ..REPEAT
            }),
        ),
        figure(
            4,
            "Ping-pong from the same buffers. Up to 14 % of the latency saved at 8 KiB, nothing below 128 bytes.",
            How::Measured(Repeat {
                experiments: &[&FREQUENT],
                here: "By MPI_Isend, MPI_Recv and MPI_Wait. Tern cuts 8 KiB in two packets, with and without frequent buffers.",
                claims: &[
                    saved(
                        "The greatest share of time saved",
                        FREQUENT_TITLE,
                        "pingpong_nonblocking",
                        WHOLE,
                        Over::Greatest,
                        [8.0, ANY],
                    ),
                    saved(
                        "The least share of time saved",
                        FREQUENT_TITLE,
                        "pingpong_nonblocking",
                        WHOLE,
                        Over::Least,
                        [-2.0, ANY],
                    ),
                ],
                plot: percents(&[(FREQUENT_TITLE, "pingpong_nonblocking", "ping-pong")]),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            5,
            "1000 buffers, of which buffer i is used i times, back to back or on pages of their own. Up to 12.7 % saved at 8 KiB.",
            How::Measured(Repeat {
                experiments: &[&SPECTRUM],
                here: "Each message is answered, and the time of both counts; no slow motion, for there are 500500 of them.",
                claims: &[
                    saved(
                        "The greatest share of time saved, back to back",
                        BACK_TO_BACK,
                        "spectrum",
                        WHOLE,
                        Over::Greatest,
                        [5.0, ANY],
                    ),
                    saved("The same on pages of their own", APART, "spectrum", WHOLE, Over::Greatest, [5.0, ANY]),
                ],
                plot: percents(&[
                    (BACK_TO_BACK, "spectrum", "back to back"),
                    (APART, "spectrum", "pages of their own"),
                ]),
                modelled: true,
                reason: "An answered message without slow motion holds some 4 us of the software HCA's engine, which no card would take",
                ..REPEAT
            }),
        ),
        figure(
            6,
            "Broadcast and scatter, 4 and 16 processes on 4 nodes. Up to 19 % saved with 4 processes, less with 16; scatter gains nothing \
             above 4 KiB.",
            How::Measured(Repeat {
                experiments: &[&COLLECTIVES],
                here: "Each process is the root in turn.",
                claims: &[
                    saved(
                        "The greatest share saved of a broadcast, 4 ranks",
                        COLLECTIVES_4,
                        "bcast_turns",
                        WHOLE,
                        Over::Greatest,
                        [5.0, ANY],
                    ),
                    saved(
                        "The greatest share saved of a scatter, 4 ranks",
                        COLLECTIVES_4,
                        "scatter_turns",
                        WHOLE,
                        Over::Greatest,
                        [5.0, ANY],
                    ),
                ],
                plot: percents(&[
                    (COLLECTIVES_4, "bcast_turns", "broadcast, 4 ranks"),
                    (COLLECTIVES_4, "scatter_turns", "scatter, 4 ranks"),
                    (COLLECTIVES_16, "bcast_turns", "broadcast, 16 ranks"),
                    (COLLECTIVES_16, "scatter_turns", "scatter, 16 ranks"),
                ]),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            7,
            "MILC and LU spend 8.1 and 10.6 % less time in sends. CG and AMG neither gain nor lose, below 1 %.",
            How::Measured(Repeat {
                experiments: &[&REUSE, &NAS_FREQUENT],
                here: "Conjugate gradients use few buffers often, as MILC and LU; a wavefront uses each once. NAS CG and LU of class S, \
                       without slow motion, give whole times. AMG and MILC themselves are not part of this.",
                claims: &[
                    saved(
                        "The time of a send saved, conjugate gradients",
                        GRADIENT,
                        "gradient_send",
                        WHOLE,
                        Over::Median,
                        [8.0, ANY],
                    ),
                    saved(
                        "The time of a send saved, wavefront",
                        WAVEFRONT,
                        "wavefront_send",
                        WHOLE,
                        Over::Median,
                        [-5.0, 5.0],
                    ),
                    saved("The whole time saved, NAS CG", FREQUENT_CG, "cg", WHOLE, Over::Median, [-3.0, 3.0]),
                    saved("The whole time saved, NAS LU", FREQUENT_LU, "lu", WHOLE, Over::Median, [-3.0, ANY]),
                ],
                plot: percents(&[
                    (GRADIENT, "gradient_send", "sends of conjugate gradients"),
                    (WAVEFRONT, "wavefront_send", "sends of a wavefront"),
                ]),
                modelled: true,
                reason: "Open: LU sends its short messages with MPI_Send, which has to wait until the card has read the buffer, and the card's \
                         engine shares the two cores with the program. How much of the loss that wait is has not been measured",
                ..REPEAT
            }),
        ),
        table(
            1,
            "Uses of the buffer that is used most, of 16 processes. CG: 7904 times 8 bytes; LU: 3749 times 1600 bytes; AMG 119, MILC 2049.",
            How::Measured(Repeat {
                experiments: &[&COUNTED],
                here: "Class W on 4 processes, counted between program and library; messages up to 8192 bytes. The size is that of the message.",
                claims: &[
                    value("counted", "Uses of the most used buffer, CG", REUSE_CG, "reuse_uses", [0, 16], [500.0, ANY]),
                    value("counted", "Uses of the most used buffer, LU", REUSE_LU, "reuse_uses", WHOLE, [500.0, ANY]),
                ],
                ..REPEAT
            }),
        ),
        table(
            2,
            "From how many uses on registering pays: 1280 at 128 bytes, 200 at 1 KiB, 33 at 8 KiB; never below 64 bytes.",
            How::Measured(Repeat {
                experiments: &[&EXPLAINED],
                here: "What Tern measured on the model at its start, R / (C - V).",
                claims: &[
                    value("frequent", "Uses at 8 KiB", COSTS_TITLE, "break_even", [8192, 8192], [1.0, 66.0]),
                    value("frequent", "Uses at 1 KiB", COSTS_TITLE, "break_even", [1024, 1024], [20.0, 400.0]),
                ],
                modelled: true,
                reason: "The copies of the paper's hosts were faster than those of the model, or its registrations slower",
                ..REPEAT
            }),
        ),
        table(
            3,
            "The share of buffers above 128 bytes that are used often enough: CG none, LU 32 %, AMG 9 %, MILC 23 %.",
            How::Measured(Repeat {
                experiments: &[&COUNTED],
                here: "Class W on 4 processes. Often enough is a quarter of the paper's own counts.",
                claims: &[
                    value(
                        "counted",
                        "The share of CG's buffers in percent",
                        REUSE_CG,
                        "reuse_share",
                        WHOLE,
                        [0.0, 5.0],
                    ),
                    value(
                        "counted",
                        "The share of LU's buffers in percent",
                        REUSE_LU,
                        "reuse_share",
                        WHOLE,
                        [10.0, 100.0],
                    ),
                ],
                ..REPEAT
            }),
        ),
    ],
};
