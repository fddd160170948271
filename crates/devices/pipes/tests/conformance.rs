//! The example of a device against the contract of all devices.

use tern_device::conformance::{Endpoints, Group};
use tern_device::{Endpoint as _, Header, Payload, Sink};
use tern_pipes::Endpoint;

fn group(processes: u32) -> Box<dyn Group> {
    Box::new(Endpoints::new(processes, |me| Endpoint::open(me, processes)))
}

tern_device::conformance_tests!(packets of group);

#[test]
fn a_wrong_address_is_told() {
    for wrong in [&b"abc"[..], &[1; 9], &[0; 4]] {
        let endpoint = Endpoint::open(0, 1).expect("a pipe");
        let error = Box::new(endpoint).join(&[wrong]).err().expect("no address");
        assert!(error.to_string().contains("no address of 1 pipes"), "{error}");
    }
}

/// Notes who is lost.
#[derive(Default)]
struct Lost(Vec<u32>);

impl Sink for Lost {
    fn packet(&mut self, _: u32, _: &Header, _: &[u8]) {}

    fn lost(&mut self, peer: u32, _: &str) {
        self.0.push(peer);
    }
}

#[test]
fn a_peer_that_has_ended_is_lost() {
    let endpoint = Endpoint::open(0, 2).expect("pipes");
    // No process has this number.
    let gone: Vec<u8> = [i32::MAX, 3, 3].into_iter().flat_map(i32::to_le_bytes).collect();
    let own = endpoint.address();
    let device = Box::new(endpoint).join(&[&own, &gone]).expect("addresses");
    assert!(device.copy_and_send(1, &[0; 4], Payload::Bytes(b"x")).is_none());
    let mut sink = Lost::default();
    device.poll(&mut sink);
    assert_eq!(sink.0, [1]);
}
