//! The software HCA against what every maker must do: through shared memory, as processes of one machine have it, and
//! by TCP.

use tern_hca::conformance::{Side, SideOptions};
use tern_hca::{CallingEnd, Connection, Faults, Hca, Operation, Options, Status};

fn open() -> Result<Hca, String> {
    Ok(Hca::open(&Options::default()).expect("the software HCA is always there"))
}

mod near {
    tern_hca::conformance_tests!(super::open);
}

mod far {
    use super::*;

    pub fn open() -> Result<Hca, String> {
        let faults = Faults { tcp: true, ..Faults::default() };
        Ok(Hca::open(&Options { faults, ..Options::default() }).expect("the software HCA is always there"))
    }

    tern_hca::conformance_tests!(open);
}

/// The port in an address.
const PORT: std::ops::Range<usize> = 18..20;

/// Whichever address is the greater: the end that waits knows a port of the other one where nobody is.
#[test]
fn the_end_calls_that_is_told_to() {
    let hcas = [far::open(), far::open()].map(|hca| hca.expect("an HCA"));
    for caller in [0, 1] {
        let sides = hcas.clone().map(|hca| Side::new(hca, &SideOptions::default()));
        let (calls, waits) = (&sides[caller], &sides[1 - caller]);
        let mut nowhere = calls.pair.address();
        nowhere[PORT].copy_from_slice(&1u16.to_le_bytes());
        let connection = |calling| Connection { calling, ..Connection::default() };
        waits.pair.connect(&nowhere, &connection(CallingEnd::Other)).expect("connected");
        calls.pair.connect(&waits.pair.address(), &connection(CallingEnd::This)).expect("connected");
        let (here, there) = (waits.buffer(8), calls.buffer(8));
        calls.receive(1, &[there.whole()]);
        assert_eq!(waits.execute(Operation::Send, &[here.whole()]).status, Status::Success, "{caller} calls");
    }
}
