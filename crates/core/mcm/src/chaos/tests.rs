use super::Chaos;
use crate::multi_device::MultiDevice;
use crate::nobody::Nobody;
use rustix::fd::AsFd;
use rustix::fs::{MemfdFlags, memfd_create};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tern_device::{Abilities, Channel, Header, Payload, Sink};
use tern_shm::Shm;

/// A network that notes whom it is to forget.
struct Noting(Rc<Cell<Option<u32>>>);

impl Channel for Noting {
    fn abilities(&self) -> &Abilities {
        Nobody.abilities()
    }
    fn reaches(&self, _peer: u32) -> bool {
        true
    }
    fn copy_and_send(&self, _peer: u32, _header: &Header, _payload: Payload<'_>) -> Option<usize> {
        None
    }
    fn poll(&self, _sink: &mut dyn Sink) -> usize {
        0
    }
    fn glance(&self, _looks: u32) {}
    fn prepare_sleep(&self) -> u32 {
        0
    }
    fn sleep(&self, _token: u32, _timeout: Duration) {}
    fn forget(&self, peer: u32) {
        self.0.set(Some(peer));
    }
    fn awake(&self) -> u32 {
        0
    }
    fn end_sleep(&self) {}
    fn ring(&self, _peer: u32) {}
}

/// What is said of a lost peer comes to the devices, and nothing that is kept back of it comes to the layers above.
#[test]
fn a_peer_that_others_have_lost_is_forgotten() {
    let forgotten = Rc::new(Cell::new(None));
    let segment = memfd_create("tern-test", MemfdFlags::CLOEXEC).expect("a memfd");
    let shm = Shm::new(segment.as_fd(), 0, 1, 2, None).expect("shared memory");
    let multi = MultiDevice::new(shm, Box::new(Noting(forgotten.clone())), vec![0], 2, 2);
    let chaos = Chaos::new(multi, "5".parse().expect("a plan"), 0, false);
    chaos.held.keep_packet(1, &[7; 4], b"late");
    chaos.forget(1);
    assert_eq!((chaos.held.has_packets_of(1), forgotten.get()), (false, Some(1)));
}
