use super::{Experiment, Part, Plot, Scale, part};
use crate::line::Setting;
use crate::variants::{self, PLAIN_EAGER};

const SIZES: &[u64] = &[128, 256, 512, 1024, 2048, 4096, 8192];
const PING_PONG: &str = "Frequent buffers, ping-pong";
const SPECTRUM: &str = "Frequent buffers, spectrum of use";
const COLLECTIVES: &str = "Frequent buffers, collectives";
const GRADIENT: &str = "Frequent buffers, conjugate gradients";
const BREAK_EVEN: &str = "Frequent buffers, break-even counts";
const WAVEFRONT: &str = "Frequent buffers, wavefront";

pub const FREQUENT: Experiment = Experiment {
    heading: "Frequently used eager buffers",
    about: "A buffer that is used often is registered and sent from where it is, which saves the sender's copy. A call that has to \
            wait until the buffer is free again, as MPI_Send and collectives do, may lose more than that; so Tern tries both ways \
            on them. *In any case* does without that, and registers a buffer at its first use.\n\n\
            - *Ping-pong* from the same buffers (MPI_Isend, MPI_Recv, MPI_Wait), half round trip. *Paper (Improving RDMA-based \
            MPI Eager Protocol for Frequently-used Buffers): up to 14 % at 8 KiB.* Tern cuts a message of 8 KiB in two packets, with \
            and without frequent buffers. A part of the copies hides behind the first packet: what is left to save there is \
            half a copy.\n\
            - *Spectrum*: 1000 buffers, of which buffer i is used i times; each message is answered. Time of a message with its \
            answer.\n\
            - *Broadcast and scatter* on 4 ranks, each of which is the root in turn. *Paper: up to 19 %.*\n\
            - *Conjugate gradients* use few buffers often, a *wavefront* uses each of its buffers once; 4 ranks. `_send` is the \
            time that a message costs its sender. *Paper: 8 to 11 % of it saved where reuse is high, nothing lost where it is \
            low.*\n",
    link: "ddr",
    variants: &[
        variants::FREQUENT,
        PLAIN_EAGER,
        Setting {
            name: "in any case",
            settings: &[("TERN_FREQUENT", "on"), ("TERN_FREQUENT_SHARE", "0"), ("TERN_EAGER_LIMIT", "32768")],
        },
    ],
    parts: &[
        part(PING_PONG, &["pingpong_nonblocking"], SIZES, 32),
        Part { once: true, ..part(SPECTRUM, &["spectrum"], &[1024, 4096], 2) },
        // Long enough for the trial of both ways to be over in the first of the batches.
        Part { ranks: 4, time: 400, ..part(COLLECTIVES, &["bcast_turns", "scatter_turns"], SIZES, 32) },
        Part { ranks: 4, ..part(GRADIENT, &["gradient"], &[1024, 4096, 8192], 32) },
        Part { ranks: 4, ..part(WAVEFRONT, &["wavefront"], &[1024, 4096, 8192], 32) },
    ],
    plots: &[
        Plot {
            file: "frequent.svg",
            title: "Time saved by frequently used eager buffers",
            unit: "%",
            scale: Scale::Difference,
            panels: &[
                (PING_PONG, "pingpong_nonblocking", "ping-pong"),
                (COLLECTIVES, "bcast_turns", "broadcast, 4 ranks"),
                (COLLECTIVES, "scatter_turns", "scatter, 4 ranks"),
            ],
            saved: true,
        },
        Plot {
            file: "reuse.svg",
            title: "Time that a message costs its sender, by how often buffers are used again",
            unit: "us",
            scale: Scale::Logarithmic,
            panels: &[
                (SPECTRUM, "spectrum_send", "spectrum"),
                (GRADIENT, "gradient_send", "conjugate gradients"),
                (WAVEFRONT, "wavefront_send", "wavefront"),
            ],
            saved: false,
        },
        Plot {
            file: "break_even.svg",
            title: "Uses from which on registering a buffer pays",
            unit: "uses",
            scale: Scale::Logarithmic,
            panels: &[(BREAK_EVEN, "break_even", "break-even count by size")],
            saved: false,
        },
    ],
    gain: true,
    modelled: false,
    explained: Some((BREAK_EVEN, "frequently used buffers")),
};
