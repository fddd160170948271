use super::overlap::PROTOCOLS;
use super::{Experiment, IDLE, Part, Plot, Scale, part};

const TITLE: &str = "Alternating-direction solver";

const fn boundary(sizes: &'static [u64], work_us: u64, slower: u32) -> Part {
    Part { ranks: 4, more: IDLE, work_us, time: 300, ..part(TITLE, &["solver"], sizes, slower) }
}

pub const SOLVER: Experiment = Experiment {
    heading: "An alternating-direction solver",
    about: "Sweeps along two directions in stages, as NAS SP has them: a stage works, waits for its receive, works on what came, \
            and sends on; the next receive is posted before that second work. (A sender of Tern looks for a receive and does not wait \
            for one, as the paper's card did.) 4 ranks; the size is that of a boundary, the time that of a step (8 stages), `_waits` \
            the share of the time that is spent in MPI_Wait. A stage works three times as long as its message moves (40, 140 and \
            540 us), which is a sleep. *Paper (TupleQ): NAS SP 27 % faster than with RGET or RPUT.* Time saved: by TupleQ against \
            RGET.",
    link: "ddr",
    variants: PROTOCOLS,
    parts: &[boundary(&[16384], 40, 64), boundary(&[65536], 140, 32), boundary(&[262144], 540, 16)],
    plots: &[Plot {
        file: "solver.svg",
        title: "Alternating-direction solver",
        unit: "us a step",
        scale: Scale::Logarithmic,
        panels: &[(TITLE, "solver", "4 ranks")],
        saved: false,
    }],
    gain: true,
    modelled: false,
    explained: None,
};
