use super::{Experiment, half_round_trips, part};
use crate::variants::{FULL_HEADERS, HEADER_CACHE};

const TITLE: &str = "Header caching, ping-pong";

pub const HEADERS: Experiment = Experiment {
    heading: "Header caching",
    about: "Ping-pong, half round trip. A header that is much like the last one on its connection travels as what differs: 8 \
            bytes in front of the payload instead of 40. The processor writes short messages to the card itself, so that each \
            byte less is time. *Paper (Design and Implementation of High Performance MVAPICH2): 5.8 us without, 4.9 us with.* The \
            model has what 32 bytes cost on the bus and on the link; what else the paper's hosts saved is not in it.",
    link: "sdr-pcix",
    variants: &[HEADER_CACHE, FULL_HEADERS],
    parts: &[part(TITLE, &["pingpong"], &[4, 16, 32, 64, 128, 256, 512, 1024], 32)],
    plots: &[half_round_trips(
        "headers.svg",
        "Ping-pong with and without header caching",
        &[(TITLE, "pingpong", "half round trip")],
    )],
    gain: true,
    modelled: false,
    explained: None,
};
