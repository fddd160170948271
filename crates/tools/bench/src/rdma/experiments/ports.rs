use super::{Experiment, half_round_trips, part};
use crate::line::Setting;

const TITLE: &str = "Several ports, one message after another";

pub const PORTS: Experiment = Experiment {
    heading: "One and two ports",
    about: "Ping-pong of long messages, half round trip; they go in stripes, each over the port that has least to carry, and every \
            port has a link of its own.",
    link: "sdr-pcix",
    variants: &[
        Setting {
            name: "2 ports",
            settings: &[("TERN_PORTS", "2"), ("TERN_TUPLEQ", "off"), ("TERN_RENDEZVOUS", "rput")],
        },
        Setting {
            name: "1 port",
            settings: &[("TERN_PORTS", "1"), ("TERN_TUPLEQ", "off"), ("TERN_RENDEZVOUS", "rput")],
        },
    ],
    parts: &[part(TITLE, &["pingpong"], &[32768, 65536, 131072, 262144, 1048576, 4194304], 8)],
    plots: &[half_round_trips(
        "ports.svg",
        "Ping-pong over one and over two ports",
        &[(TITLE, "pingpong", "half round trip")],
    )],
    gain: true,
    modelled: false,
    explained: None,
};
