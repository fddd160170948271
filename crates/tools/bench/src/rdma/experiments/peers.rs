use super::{Experiment, Part, Plot, Scale, part};
use crate::line::Setting;

const EACH: &str = "What a peer costs, every rank a node";
const CROWD: &str = "What a peer costs, 64 ranks on 8 nodes";

pub const PEERS: Experiment = Experiment {
    heading: "Memory and queue pairs by the number of peers",
    about: "A process's own memory, and its queue pairs, after it has met so many peers: 64 ranks, of which each meets others \
            step by step, until all have met all. With RC a connection is to a process, with XRC to a node. Receive buffers \
            are shared by all peers, 8.3 MiB with 32 peers and more; here they are limited (TERN_RECEIVES), so that what grows \
            is what a peer costs. The software HCA is told to use TCP, since its rings in shared memory are no part of Tern on \
            a card. What it holds for a queue pair, and with XRC for each process that one has reached, is in these figures: so \
            they show the queue pairs that XRC saves, and not their memory.",
    link: "none",
    variants: &[
        Setting {
            name: "RC",
            settings: &[("TERN_FAULTS", "tcp"), ("TERN_VERBS_TRANSPORT", "rc"), ("TERN_RECEIVES", "64")],
        },
        Setting {
            name: "XRC",
            settings: &[("TERN_FAULTS", "tcp"), ("TERN_VERBS_TRANSPORT", "xrc"), ("TERN_RECEIVES", "64")],
        },
    ],
    parts: &[
        Part { ranks: 64, once: true, ..part(EACH, &["peers"], &[], 1) },
        Part { ranks: 64, nodes: 8, once: true, ..part(CROWD, &["peers"], &[], 1) },
    ],
    plots: &[
        Plot {
            file: "peers.svg",
            title: "Memory of a process by the number of peers that it has met",
            unit: "KiB",
            scale: Scale::Logarithmic,
            panels: &[(EACH, "peers_memory", "every rank a node"), (CROWD, "peers_memory", "8 nodes")],
            saved: false,
        },
        Plot {
            file: "queue_pairs.svg",
            title: "Queue pairs of a process by the number of peers that it has met",
            unit: "queue pairs",
            scale: Scale::Logarithmic,
            panels: &[(EACH, "peers_pairs", "every rank a node"), (CROWD, "peers_pairs", "8 nodes")],
            saved: false,
        },
    ],
    gain: false,
    modelled: true,
    explained: None,
};
