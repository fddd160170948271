//! Packets of somebody who does not know the tokens of both ends are dropped, and counted.

use std::time::{Duration, Instant};
use tern_device::{Channel, Header, Payload, Sink};
use tern_ofi::{Endpoint, Settings};

/// The sender and the first word of the header of each packet.
#[derive(Default)]
struct Heard(Vec<(u32, u64)>);

impl Sink for Heard {
    fn packet(&mut self, from: u32, header: &Header, _payload: &[u8]) {
        self.0.push((from, header[0]));
    }
}

/// Three processes, of which the first one believes that this byte of the address of the second is another.
fn three(provider: &str, changed: Option<usize>) -> std::io::Result<Vec<tern_ofi::Ofi>> {
    let library = std::env::var("TERN_LIBFABRIC").ok();
    let settings = Settings { library, provider: Some(provider.into()), ..Settings::default() };
    let endpoints = (0..3).map(|me| Endpoint::open(me, 3, &settings)).collect::<std::io::Result<Vec<_>>>()?;
    let addresses: Vec<Vec<u8>> = endpoints.iter().map(Endpoint::address).collect();
    let told = |me| {
        let mut told = addresses.clone();
        if let (0, Some(at)) = (me, changed) {
            told[1][at] ^= 1;
        }
        told
    };
    (0..).zip(endpoints).map(|(me, endpoint)| endpoint.join(&told(me))).collect()
}

/// Both others send to the second process until it has heard the last one of them; what it has heard of the first.
fn heard_of_first(processes: &[tern_ofi::Ofi], until_first: bool) -> usize {
    let mut heard = Heard::default();
    let (mut here, mut there) = (Heard::default(), Heard::default());
    let end = Instant::now() + Duration::from_secs(60);
    let of = |heard: &Heard, who: u32| heard.0.iter().filter(|(from, _)| *from == who).count();
    let strangers = tern_counters::NETWORK_STRANGERS.get();
    let mut sent = [false; 2];
    loop {
        for (at, who) in [(0, 0), (1, 2)] {
            sent[at] = sent[at] || processes[who].copy_and_send(1, &[7; 4], Payload::Bytes(&[])).is_some();
        }
        processes[0].poll(&mut here);
        processes[2].poll(&mut there);
        processes[1].poll(&mut heard);
        let first = if until_first { of(&heard, 0) > 0 } else { tern_counters::NETWORK_STRANGERS.get() > strangers };
        if of(&heard, 2) > 0 && first {
            return of(&heard, 0);
        }
        assert!(Instant::now() < end, "a packet was neither taken nor counted: {:?}", heard.0);
        std::thread::yield_now();
    }
}

#[test]
fn who_does_not_know_the_token_of_the_other_end_is_not_heard() {
    for provider in ["tcp;ofi_rxm", "sockets"] {
        let processes = match three(provider, None) {
            Ok(processes) => processes,
            Err(why) => {
                eprintln!("skipped: {provider}: {why}");
                continue;
            }
        };
        assert_eq!(heard_of_first(&processes, true), 1);
        // The token is behind the first byte.
        for at in [1, 16, 32] {
            let processes = three(provider, Some(at)).expect("it was there before");
            assert_eq!(heard_of_first(&processes, false), 0, "{provider}, byte {at} of the token");
            std::mem::forget(processes);
        }
    }
}
