//! Several ports of a card.

use super::experiments::{Experiment, Variant, part};

pub const PORTS: Experiment = Experiment {
    heading: "Several ports",
    about: "Long messages in stripes, each over the port that has least to carry. Every port has a link of its own; what passes \
            them is what this machine's memory and processors let the software HCA move.",
    variants: &[
        Variant {
            name: "1 port",
            settings: &[("TERN_LINK", "sdr-pcix"), ("TERN_TUPLEQ", "off"), ("TERN_RENDEZVOUS", "rput"), ("TERN_PORTS", "1")],
        },
        Variant {
            name: "2 ports",
            settings: &[("TERN_LINK", "sdr-pcix"), ("TERN_TUPLEQ", "off"), ("TERN_RENDEZVOUS", "rput"), ("TERN_PORTS", "2")],
        },
    ],
    parts: &[part("Several ports, one message after another", &["pingpong"], &[65536, 262144, 1048576, 4194304])],
    gain: false,
    modelled: false,
    explained: None,
};
