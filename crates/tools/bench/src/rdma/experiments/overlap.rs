use super::{Experiment, IDLE, Part, Plot, Scale, part};
use crate::line::Setting;
use crate::variants::{RGET, RPUT, TUPLEQ, TUPLEQ_WITH_COPY};

const RECEIVER: &str = "Overlap of the receiver";
const SENDER: &str = "Overlap of the sender";

/// The protocols of the paper on TupleQ.
pub const PROTOCOLS: &[Setting] = &[
    TUPLEQ,
    RGET,
    RPUT,
    Setting {
        name: "TupleQ by queues",
        settings: &[("TERN_TUPLEQ", "queues"), ("TERN_VERBS_TRANSPORT", "xrc"), ("TERN_TUPLEQ_COPY", "0")],
    },
    TUPLEQ_WITH_COPY,
];

const fn receiver(sizes: &'static [u64], slower: u32) -> Part {
    Part { more: IDLE, ..part(RECEIVER, &["overlap_recv"], sizes, slower) }
}

const fn sender(sizes: &'static [u64], slower: u32) -> Part {
    Part { more: IDLE, ..part(SENDER, &["overlap_send"], sizes, slower) }
}

pub const OVERLAP: Experiment = Experiment {
    heading: "Overlap and overhead",
    about: "How much of its time a process keeps for computing while a message moves, and what the message costs it (the \
            host-overhead test of the Sandia micro-benchmarks, as above; the receive is posted before). Work is a sleep: the \
            engine of the software HCA needs the core that a card would leave alone. *Paper (TupleQ: Fully-Asynchronous and \
            Zero-Copy MPI over InfiniBand): near 100 % for TupleQ against 0 % for the receiver's rendezvous.* The sender of a \
            read (RGET) has only to ask; the receiver of a write (RPUT) has to answer before anything moves.",
    link: "ddr",
    variants: PROTOCOLS,
    parts: &[
        receiver(&[4096, 16384], 64),
        receiver(&[65536, 262144], 16),
        receiver(&[1048576], 8),
        sender(&[4096, 16384], 64),
        sender(&[65536, 262144], 16),
        sender(&[1048576], 8),
    ],
    plots: &[
        Plot {
            file: "overlap.svg",
            title: "Share of its time that a process keeps for computing",
            unit: "%",
            scale: Scale::Percent,
            panels: &[(RECEIVER, "overlap_recv", "receiver"), (SENDER, "overlap_send", "sender")],
            saved: false,
        },
        Plot {
            file: "overhead.svg",
            title: "Time that a message costs a process that computes",
            unit: "us",
            scale: Scale::Logarithmic,
            panels: &[
                ("Overlap of the receiver: time that the message costs", "overlap_recv_overhead", "receiver"),
                ("Overlap of the sender: time that the message costs", "overlap_send_overhead", "sender"),
            ],
            saved: false,
        },
    ],
    gain: false,
    modelled: false,
    explained: None,
};
