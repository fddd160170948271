//! The farewell of processes that have all come to their end: whose answer it waits for.

use super::{Endpoint, Ofi};
use crate::Settings;
use std::time::Duration;
use tern_device::{Channel, Header, Payload, Sink};

/// Longer than any machine takes for an answer that comes.
const LONG: Duration = Duration::from_secs(600);

#[derive(Default)]
struct Count(usize);

impl Sink for Count {
    fn packet(&mut self, _from: u32, _header: &Header, _payload: &[u8]) {
        self.0 += 1;
    }
    fn lost(&mut self, _peer: u32, _why: &str) {}
}

fn open(me: u32, world: u32) -> Option<Endpoint> {
    let library = std::env::var("TERN_LIBFABRIC").ok();
    let settings = Settings { library, provider: Some("tcp;ofi_rxm".into()), ..Settings::default() };
    Endpoint::open(me, world, &settings).inspect_err(|why| eprintln!("skipped: {why}")).ok()
}

/// Processes that have heard each other, and wait without end for answers. `None`, aloud: the provider is not there.
fn world<const N: usize>() -> Option<[Ofi; N]> {
    let ends: Vec<Endpoint> = (0..N as u32).map(|me| open(me, N as u32)).collect::<Option<_>>()?;
    let addresses: Vec<_> = ends.iter().map(Endpoint::address).collect();
    let mut all: Vec<Ofi> = ends.into_iter().map(|end| end.join(&addresses).expect("a thread")).collect();
    all.iter_mut().for_each(|device| device.answers = LONG);
    for from in &all {
        for to in (0..N as u32).filter(|&to| to != from.me) {
            assert!(from.copy_and_send(to, &[0; 4], Payload::Bytes(&[])).is_some(), "it has room");
        }
    }
    for device in &all {
        let mut count = Count::default();
        while count.0 < N - 1 {
            device.poll(&mut count);
            std::thread::yield_now();
        }
    }
    Some(all.try_into().ok().expect("as many"))
}

fn is_answered(device: &Ofi) -> bool {
    device.shared.call().is_answered(false)
}

#[test]
fn who_parts_waits_until_each_peer_has_answered() {
    let Some([first, second, third]) = world::<3>() else { return };
    assert!(!is_answered(&first), "nobody has said that it ends");
    // The threads of the others answer, which are in no call.
    first.settle(false, &|| ());
    assert!(is_answered(&first));
    assert!(!is_answered(&second), "it has not parted from the third");
    second.settle(false, &|| ());
    third.settle(false, &|| ());
    assert!(is_answered(&second) && is_answered(&third));
}

#[test]
fn who_parts_does_not_wait_for_the_lost() {
    let Some([first, second]) = world::<2>() else { return };
    first.forget(1);
    first.settle(false, &|| ());
    assert!(is_answered(&first));
    second.forget(0);
}

#[test]
fn who_parts_waits_for_one_that_is_silent_no_longer_than_it_should() {
    let Some([mut first, second]) = world::<2>() else { return };
    first.answers = Duration::ZERO;
    first.settle(false, &|| ());
    // It has come back, whether an answer was there by then or not. Who parts twice does not wait again.
    first.answers = LONG;
    first.settle(false, &|| ());
    second.forget(0);
}
