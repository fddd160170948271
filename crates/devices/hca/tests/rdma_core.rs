//! Cards, by libibverbs, against what every maker must do.

use tern_hca::{Hca, Maker, Options};

fn open() -> Result<Hca, String> {
    let options = Options { maker: Maker::RdmaCore, ..Options::default() };
    Ok(Hca::open(&options).expect("a card"))
}

tern_hca::conformance_tests!(open, ignore = "needs a card: tests/virtual-test.sh has one");
