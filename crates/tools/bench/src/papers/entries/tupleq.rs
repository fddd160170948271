use crate::chart::Scale;
use crate::papers::experiments::card::{OVERLAP, RECEIVER, SENDER, SOLVER, SOLVER_TITLE};
use crate::papers::experiments::programs::{PENTADIAGONAL, SP_S, SP_W};
use crate::papers::registry::{ANY, Claim, How, Over, Paper, Plot, Quantity, REPEAT, Repeat, Shows, figure};

const fn overlap(
    says: &'static str, title: &'static str, benchmark: &'static str, line: &'static str, sizes: [u64; 2], over: Over,
    range: [f64; 2],
) -> Claim {
    Claim { says, title, benchmark, quantity: Quantity::Value { line }, sizes, over, range }
}

const fn saved(says: &'static str, title: &'static str, benchmark: &'static str, least: f64) -> Claim {
    Claim {
        says,
        title,
        benchmark,
        quantity: Quantity::Saved { line: "TupleQ", against: "RGET" },
        sizes: [0, u64::MAX],
        over: Over::Greatest,
        range: [least, ANY],
    }
}

const LONG: [u64; 2] = [16384, u64::MAX];

pub const PAPER: Paper = Paper {
    name: "tupleq-2009",
    title: "TupleQ: fully-asynchronous and zero-copy MPI over InfiniBand",
    source: "M. J. Koop, J. K. Sridhar, D. K. Panda, IPDPS 2009",
    about: "A receive is published where its sender finds it, and the sender's card writes into it without any control message. In Tern the \
            rules are `adi::tuple`; see [tuple queues](../parts/tuple-queues.md). The paper's mechanism, an XRC receive queue for each \
            tuple, is `TERN_TUPLEQ=queues`; the default is a table and a write. Messages below 8 KiB go eagerly. **No card is in these \
            figures**: they ran on the software HCA behind the model of a ConnectX card of that time (`TERN_LINK=ddr`).",
    entries: &[
        figure(1, "The ways of the data, eager and by rendezvous.", How::Drawn("[messages](../parts/messages.md)")),
        figure(
            2,
            "What overlaps in the protocols by write and by read.",
            How::Drawn("[the verbs device](../parts/verbs.md)"),
        ),
        figure(3, "What overlaps with TupleQ.", How::Drawn("[tuple queues](../parts/tuple-queues.md)")),
        figure(
            4,
            "Matching by the library, and by the card's queues.",
            How::Drawn("[tuple queues](../parts/tuple-queues.md)"),
        ),
        figure(
            5,
            "Availability of the processor, and overhead of a message, by the Sandia benchmark. TupleQ leaves nearly 100 % at all sizes; by \
             read and by write 0 % are left from 8 KiB on.",
            How::Measured(Repeat {
                experiments: &[&OVERLAP],
                here: "The receive is posted before. Work is a sleep, for the engine of the software HCA needs the core that a card would \
                       leave alone. The link runs in slow motion, which the times leave out.",
                claims: &[
                    overlap(
                        "What the receiver keeps with TupleQ, percent, from 16 KiB on, at least",
                        RECEIVER,
                        "overlap_recv",
                        "TupleQ",
                        LONG,
                        Over::Least,
                        [85.0, ANY],
                    ),
                    overlap(
                        "What the sender keeps with TupleQ, percent, from 16 KiB on, at least",
                        SENDER,
                        "overlap_send",
                        "TupleQ",
                        LONG,
                        Over::Least,
                        [85.0, ANY],
                    ),
                    overlap(
                        "What the receiver keeps with RGET, percent, from 64 KiB on, at most",
                        RECEIVER,
                        "overlap_recv",
                        "RGET",
                        [65536, u64::MAX],
                        Over::Greatest,
                        [-ANY, 30.0],
                    ),
                    overlap(
                        "What the receiver keeps with RPUT, percent, from 64 KiB on, at most",
                        RECEIVER,
                        "overlap_recv",
                        "RPUT",
                        [65536, u64::MAX],
                        Over::Greatest,
                        [-ANY, 30.0],
                    ),
                    overlap(
                        "What the receiver keeps with TupleQ, percent, up to 4 KiB, at least",
                        RECEIVER,
                        "overlap_recv",
                        "TupleQ",
                        [1, 4096],
                        Over::Least,
                        [70.0, ANY],
                    ),
                ],
                plot: Some(Plot {
                    unit: "%",
                    scale: Scale::Percent,
                    shows: Shows::Values,
                    panels: &[(RECEIVER, "overlap_recv", "receiver"), (SENDER, "overlap_send", "sender")],
                }),
                modelled: true,
                reason: "Up to 4 KiB all lines send eagerly: the receiver copies what has come, and the sender copies what goes",
                ..REPEAT
            }),
        ),
        figure(
            6,
            "NAS SP, classes B and C, 64 processes, no shared memory. With TupleQ it is 27 % faster than by read or by write.",
            How::Measured(Repeat {
                experiments: &[&PENTADIAGONAL, &SOLVER],
                here: "SP of classes S and W on 4 nodes of one process, where 2 cores carry the processes and the engines of the software \
                       HCA. A solver with SP's stages, whose work is a sleep, leaves the cores to the engines.",
                claims: &[
                    saved(
                        "The greatest share of time that TupleQ saves the solver against RGET",
                        SOLVER_TITLE,
                        "solver",
                        15.0,
                    ),
                    saved("The share of time that TupleQ saves SP, class S, against RGET", SP_S, "sp", 5.0),
                    saved("The share of time that TupleQ saves SP, class W, against RGET", SP_W, "sp", 5.0),
                ],
                plot: Some(Plot {
                    unit: "us",
                    scale: Scale::Logarithmic,
                    shows: Shows::Bars,
                    panels: &[(SP_S, "sp", "SP, class S"), (SP_W, "sp", "SP, class W")],
                }),
                modelled: true,
                reason: "In SP itself 4 processes and 4 engines share 2 cores: what a process does not wait for, an engine computes \
                         meanwhile on the same core, and nothing is won. The solver, whose work is a sleep, shows the protocol alone",
                ..REPEAT
            }),
        ),
    ],
};
