use crate::chart::Scale;
use crate::papers::experiments::card::{
    COLUMNS, COLUMNS_TITLE, FLIGHT, HEADERS, HEADERS_TITLE, INTRA, INTRA_ONE, INTRA_SEVERAL, ONE, PACKETS, PACKETS_ONE,
    PACKETS_SEVERAL, SEVERAL,
};
use crate::papers::experiments::programs::{LAYERS, LAYERS_CG, LAYERS_IS, LAYERS_MG};
use crate::papers::registry::{ANY, Claim, How, Over, Paper, Plot, Quantity, REPEAT, Repeat, Shows, figure};

const KIB: u64 = 1 << 10;

const fn saved(
    says: &'static str, title: &'static str, benchmark: &'static str, [line, against]: [&'static str; 2],
    sizes: [u64; 2], range: [f64; 2],
) -> Claim {
    Claim { says, title, benchmark, quantity: Quantity::Saved { line, against }, sizes, over: Over::Median, range }
}

const fn plot(unit: &'static str, panels: &'static [(&'static str, &'static str, &'static str)]) -> Option<Plot> {
    Some(Plot { unit, scale: Scale::Logarithmic, shows: Shows::Values, panels })
}

const fn bars(panels: &'static [(&'static str, &'static str, &'static str)]) -> Option<Plot> {
    Some(Plot { unit: "us", scale: Scale::Logarithmic, shows: Shows::Bars, panels })
}

const DEVICES: [&str; 2] = ["shared memory", "through the card"];
const LAYERED: [&str; 2] = ["by device", "all by the card"];
const WHOLE: [u64; 2] = [0, u64::MAX];
const SYNTHETIC: &str = "Class S or W, 4 ranks on 2 nodes, against the same on 4 nodes with all by the card and full headers. The software \
                         HCA's engines share the cores with the program.";

const fn nas(says: &'static str, title: &'static str, benchmark: &'static str) -> Claim {
    saved(says, title, benchmark, LAYERED, WHOLE, [2.0, ANY])
}

pub const PAPER: Paper = Paper {
    name: "mvapich2-2005",
    title: "Design and implementation of high performance MVAPICH2 (MPI2 over InfiniBand)",
    source: "W. Huang, G. Santhanaraman, H.-W. Jin, Q. Gao, D. K. Panda, technical report OSU-CISRC-12/05-TR76, 2005",
    about: "The paper puts a layer that chooses a device for each message below the abstract device interface, and compares it with its own \
            older design. In Tern `adi` knows tuples, `mcm` chooses, and `device` is the contract of the devices. The older design is \
            not here: settings stand for what it lacked. **No card is in these figures**: they ran on the software HCA behind the model \
            of a PCI-X card of that time (`TERN_LINK=sdr-pcix`).",
    entries: &[
        figure(
            1,
            "The layers of MPICH2, and where a network can be put.",
            How::Drawn("[architecture](../architecture.md)"),
        ),
        figure(2, "The layers of the new design.", How::Drawn("[architecture](../architecture.md)")),
        figure(3, "The layer that chooses a device.", How::Drawn("[adding a device](../adding-a-device.md)")),
        figure(
            4,
            "How gather and scatter lists go with a rendezvous.",
            How::Drawn("[the verbs device](../parts/verbs.md)"),
        ),
        figure(
            5,
            "Latency between nodes. Header caching and the new design bring 1 byte from 5.8 to 4.9 us, 16 %.",
            How::Measured(Repeat {
                experiments: &[&HEADERS],
                here: "The model has what 32 bytes cost on the bus and on the link, and nothing else of the older design.",
                claims: &[saved(
                    "The time that the header cache saves, up to 64 bytes",
                    HEADERS_TITLE,
                    "pingpong",
                    ["header cache", "full headers"],
                    [1, 64],
                    [3.0, 30.0],
                )],
                plot: plot("us", &[(HEADERS_TITLE, "pingpong", "half round trip")]),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            6,
            "Throughput between nodes. Several requests at once instead of one bring 29 % more at 64 KiB.",
            How::Measured(Repeat {
                experiments: &[&FLIGHT],
                here: "Messages one at a time stand for the older design, which had one request outstanding.",
                claims: &[Claim {
                    says: "By how much several messages in flight are faster than one at a time, 64 KiB",
                    title: SEVERAL,
                    benchmark: "stream",
                    quantity: Quantity::Faster { line: "by the card", of: ONE, benchmark: "pingpong" },
                    sizes: [64 * KIB, 64 * KIB],
                    over: Over::Median,
                    range: [10.0, ANY],
                }],
                plot: plot("MB/s", &[(SEVERAL, "stream", "several in flight")]),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            7,
            "Latency inside a node, by shared memory instead of the card's loopback: 1.1 us instead of 5.7.",
            How::Measured(Repeat {
                experiments: &[&INTRA],
                titles: &[INTRA_ONE],
                here: "The card's loopback is the model of its link.",
                claims: &[saved(
                    "The time that shared memory saves against the card, up to 1 KiB",
                    INTRA_ONE,
                    "pingpong",
                    DEVICES,
                    [1, KIB],
                    [60.0, ANY],
                )],
                plot: plot("us", &[(INTRA_ONE, "pingpong", "half round trip")]),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            8,
            "Throughput inside a node: 1019 MB/s by shared memory against 398 by the card at 16 KiB; alike from 256 KiB on.",
            How::Measured(Repeat {
                experiments: &[&INTRA],
                titles: &[INTRA_SEVERAL],
                here: "The card's loopback is the model of its link.",
                claims: &[saved(
                    "The time that shared memory saves against the card, 16 KiB",
                    INTRA_SEVERAL,
                    "stream",
                    DEVICES,
                    [16 * KIB, 16 * KIB],
                    [50.0, ANY],
                )],
                plot: plot("MB/s", &[(INTRA_SEVERAL, "stream", "several in flight")]),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            9,
            "Latency of columns of a matrix. Gather and scatter lists are faster than packing from 64 to 4096 columns.",
            How::Measured(Repeat {
                experiments: &[&COLUMNS],
                here: "1024 rows of 8192 bytes. A row of less than 512 bytes is packed in any case.",
                claims: &[saved(
                    "The time that gather lists save against packing, by turns, from 1 MiB on",
                    COLUMNS_TITLE,
                    "column_turns",
                    ["gather lists", "packing"],
                    [1 << 20, 4 << 20],
                    [5.0, ANY],
                )],
                plot: plot("us", &[(COLUMNS_TITLE, "column_turns", "half round trip")]),
                modelled: true,
                reason: "By turns a processor has nothing to do but to pack while the link is busy with the packets before, and the other one \
                         unpacks; both ways at once (figure 10) it has both to do, and there gather lists win",
                ..REPEAT
            }),
        ),
        figure(
            10,
            "Throughput of columns of a matrix. Gather and scatter lists are faster than packing.",
            How::Measured(Repeat {
                experiments: &[&COLUMNS],
                here: "1024 rows of 8192 bytes, both ways at once. A row of less than 512 bytes is packed in any case.",
                claims: &[saved(
                    "The time that gather lists save against packing, from 1 MiB on",
                    COLUMNS_TITLE,
                    "vector",
                    ["gather lists", "packing"],
                    [1 << 20, 4 << 20],
                    [5.0, ANY],
                )],
                plot: plot("MB/s both ways", &[(COLUMNS_TITLE, "vector", "both ways at once")]),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            11,
            "Latency with communication buffers of 2 KiB. With packets it hardly rises; the older design, which needs a rendezvous, rises \
             sharply.",
            How::Measured(Repeat {
                experiments: &[&PACKETS],
                titles: &[PACKETS_ONE],
                here: "Rendezvous above the size of a buffer stands for the older design.",
                claims: &[
                    saved(
                        "The time that packets save against a rendezvous, buffers of 2 KiB, 4 and 8 KiB",
                        PACKETS_ONE,
                        "pingpong",
                        SMALL,
                        [4 * KIB, 8 * KIB],
                        [10.0, ANY],
                    ),
                    saved(
                        "The time that buffers of 8 KiB save against those of 2 KiB, with packets",
                        PACKETS_ONE,
                        "pingpong",
                        SIZES,
                        WHOLE,
                        [-10.0, 15.0],
                    ),
                ],
                plot: plot("us", &[(PACKETS_ONE, "pingpong", "half round trip")]),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            12,
            "Throughput with communication buffers of 2 KiB: little below that of normal ones with packets, far below it without.",
            How::Measured(Repeat {
                experiments: &[&PACKETS],
                titles: &[PACKETS_SEVERAL],
                here: "Rendezvous above the size of a buffer stands for the older design.",
                claims: &[
                    saved(
                        "The time that packets save against a rendezvous, buffers of 2 KiB, 4 and 8 KiB",
                        PACKETS_SEVERAL,
                        "stream",
                        SMALL,
                        [4 * KIB, 8 * KIB],
                        [10.0, ANY],
                    ),
                    saved(
                        "The time that buffers of 8 KiB save against those of 2 KiB, with packets",
                        PACKETS_SEVERAL,
                        "stream",
                        SIZES,
                        WHOLE,
                        [-10.0, 15.0],
                    ),
                ],
                plot: plot("MB/s", &[(PACKETS_SEVERAL, "stream", "several in flight")]),
                modelled: true,
                reason: "Several messages in flight hide the handshakes of a rendezvous behind each other; the older design had one request at a time",
                ..REPEAT
            }),
        ),
        figure(
            13,
            "NAS CG, classes B and C, 8 and 16 processors: up to 24 % faster.",
            How::Measured(Repeat {
                experiments: &[&LAYERS],
                titles: &[LAYERS_CG],
                here: SYNTHETIC,
                claims: &[nas("The time saved, CG", LAYERS_CG, "cg")],
                plot: bars(&[(LAYERS_CG, "cg", "CG, 4 ranks")]),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            14,
            "NAS IS, classes B and C, 8 and 16 processors: up to 14 % faster.",
            How::Measured(Repeat {
                experiments: &[&LAYERS],
                titles: &[LAYERS_IS],
                here: SYNTHETIC,
                claims: &[nas("The time saved, IS", LAYERS_IS, "is")],
                plot: bars(&[(LAYERS_IS, "is", "IS, 4 ranks")]),
                modelled: true,
                ..REPEAT
            }),
        ),
        figure(
            15,
            "NAS MG, classes B and C, 8 and 16 processors: up to 5 % faster.",
            How::Measured(Repeat {
                experiments: &[&LAYERS],
                titles: &[LAYERS_MG],
                here: SYNTHETIC,
                claims: &[nas("The time saved, MG", LAYERS_MG, "mg")],
                plot: bars(&[(LAYERS_MG, "mg", "MG, 4 ranks")]),
                modelled: true,
                ..REPEAT
            }),
        ),
    ],
};

const SMALL: [&str; 2] = ["packets, 2 KiB", "rendezvous, 2 KiB"];
const SIZES: [&str; 2] = ["packets, 8 KiB", "packets, 2 KiB"];
