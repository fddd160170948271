//! The software HCA against what every maker must do.

use tern_hca::{Hca, Options};

fn open() -> Result<Hca, String> {
    Ok(Hca::open(&Options::default()).expect("the software HCA is always there"))
}

tern_hca::conformance_tests!(open);
