use super::{Experiment, Plot, Scale, part};
use crate::variants::{GATHER_LISTS, PACKING};

const TITLE: &str = "Columns of a matrix";

pub const COLUMNS: Experiment = Experiment {
    heading: "Columns of a matrix",
    about: "A column of a matrix with 1024 rows goes both ways at once, by a derived type; the size is that of the column, the bytes \
            of both ways count. With gather lists the card collects the rows (SGRS), here for RDMA writes to the rows of the \
            receiver; with packing the library copies them into packets. A row of less than 512 bytes is packed in any case, \
            for a request each would cost more.",
    link: "sdr-pcix",
    variants: &[GATHER_LISTS, PACKING],
    parts: &[part(TITLE, &["column_type"], &[65536, 262144, 524288, 1048576, 2097152, 4194304], 8)],
    plots: &[Plot {
        file: "columns.svg",
        title: "Columns of a matrix by derived type, both ways",
        unit: "MB/s",
        scale: Scale::Logarithmic,
        panels: &[(TITLE, "vector", "1024 rows, by bytes of the column")],
        saved: false,
    }],
    gain: true,
    modelled: false,
    explained: None,
};
