//! The software HCA against what every maker must do: through shared memory, as processes of one machine have it, and
//! by TCP.

use tern_hca::{Faults, Hca, Options};

fn open() -> Result<Hca, String> {
    Ok(Hca::open(&Options::default()).expect("the software HCA is always there"))
}

mod near {
    tern_hca::conformance_tests!(super::open);
}

mod far {
    use super::*;

    fn open() -> Result<Hca, String> {
        let faults = Faults { tcp: true, ..Faults::default() };
        Ok(Hca::open(&Options { faults, ..Options::default() }).expect("the software HCA is always there"))
    }

    tern_hca::conformance_tests!(open);
}
