use super::{Experiment, half_round_trips, part};
use crate::line::Setting;

const TITLE: &str = "Small communication buffers, ping-pong";

pub const PACKETS: Experiment = Experiment {
    heading: "Small communication buffers, with and without packets",
    about: "Ping-pong, half round trip, with communication buffers of 2 KiB. With packets a message that is longer than a \
            buffer goes in several; without them it has to ask for a rendezvous. Small buffers save memory, and packets make \
            that cheap as long as the handshake costs more than the copies. *Paper (the same): packets keep the latency of a \
            message a little above the buffer's size where a rendezvous would double it.*",
    link: "sdr-pcix",
    variants: &[
        Setting { name: "packets", settings: &[("TERN_PACKET", "2048"), ("TERN_EAGER_LIMIT", "32768")] },
        Setting { name: "no packets", settings: &[("TERN_PACKET", "2048"), ("TERN_EAGER_LIMIT", "2048")] },
    ],
    parts: &[part(TITLE, &["pingpong"], &[1024, 2048, 4096, 8192, 16384, 32768], 16)],
    plots: &[half_round_trips(
        "packets.svg",
        "Ping-pong with communication buffers of 2 KiB",
        &[(TITLE, "pingpong", "half round trip")],
    )],
    gain: true,
    modelled: false,
    explained: None,
};
