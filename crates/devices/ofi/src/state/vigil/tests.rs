use super::*;
use crate::{Endpoint, Ofi, Settings};
use std::time::{Duration, Instant};
use tern_device::{Channel, Header, Payload, Sink};

/// So long that the thread of a device says nothing of its own in a test.
const SILENCE: Duration = Duration::from_secs(3600);
const LEFT: Way = Way { unacknowledged: true, is_asked: false, is_silent: false };
const ASKED: Way = Way { is_asked: true, ..LEFT };
const SILENT: Way = Way { is_silent: true, ..ASKED };

#[derive(Default)]
struct Heard(usize);

impl Sink for Heard {
    fn packet(&mut self, _from: u32, _header: &Header, _payload: &[u8]) {
        self.0 += 1;
    }
}

/// Three processes, of which the first has heard the second, and has sent it packets that nobody has taken. `None`, aloud: the provider is not
/// there.
fn three() -> Option<Vec<Ofi>> {
    let settings = Settings {
        library: std::env::var("TERN_LIBFABRIC").ok(),
        provider: Some("tcp;ofi_rxm".into()),
        domain: Some("lo".into()),
        silence: SILENCE,
        ..Settings::default()
    };
    let open = |me| Endpoint::open(me, 3, &settings).inspect_err(|why| eprintln!("skipped: {why}")).ok();
    let ends: Vec<Endpoint> = (0..3).map(open).collect::<Option<_>>()?;
    let addresses: Vec<_> = ends.iter().map(Endpoint::address).collect();
    let all: Vec<Ofi> = ends.into_iter().map(|end| end.join(&addresses).expect("a thread")).collect();
    let send = |from: usize, to| all[from].copy_and_send(to, &[7; 4], Payload::Bytes(&[])).is_some();
    assert!(send(1, 0) && send(0, 1) && send(0, 1));
    let (mut heard, end) = (Heard::default(), Instant::now() + Duration::from_secs(60));
    while heard.0 == 0 {
        assert!(Instant::now() < end, "nothing comes");
        all[0].poll(&mut heard);
    }
    Some(all)
}

/// What a look finds out if the kernel knows this of the ways to the others: what is on its way, and whether something for whom is lost will
/// never arrive.
fn look(of: &Ofi, ways: [Option<Way>; 2]) -> (Rest, Vec<(u32, bool)>) {
    let mut state = of.shared.call();
    let rest = state.look(&[None, ways[0], ways[1]]);
    let losses = state.take_losses();
    for loss in &losses {
        assert!(loss.why.contains("no sign over tcp;ofi_rxm for 3600 s (TERN_PEER_TIMEOUT)"), "{}", loss.why);
    }
    (rest, losses.iter().map(|loss| (loss.peer, loss.undeliverable)).collect())
}

#[test]
fn a_silent_machine_is_lost_with_what_is_on_its_way() {
    let Some(all) = three() else { return };
    assert_eq!(look(&all[0], [None, None]), (Rest::Nothing, vec![]));
    assert_eq!(look(&all[0], [Some(LEFT), None]), (Rest::OnItsWay, vec![]));
    assert_eq!(look(&all[0], [Some(ASKED), None]), (Rest::InDoubt, vec![]));
    assert_eq!(look(&all[0], [Some(SILENT), None]), (Rest::Nothing, vec![(1, true)]));
    assert_eq!(look(&all[0], [Some(SILENT), None]), (Rest::Nothing, vec![]), "once");
}

#[test]
fn what_has_come_to_a_machine_is_not_missing() {
    let Some(all) = three() else { return };
    assert_eq!(look(&all[0], [Some(Way { unacknowledged: false, ..SILENT }), None]), (Rest::Nothing, vec![(1, false)]));
}

#[test]
fn a_way_from_a_machine_tells_nothing_of_who_has_never_been_met() {
    let Some(all) = three() else { return };
    assert_eq!(look(&all[0], [Some(LEFT), Some(SILENT)]), (Rest::OnItsWay, vec![]));
}

#[test]
fn what_waits_for_who_has_ended_is_not_missing() {
    let Some(all) = three() else { return };
    let give_up = |way| {
        let mut state = all[0].shared.call();
        // As if it was not known that they have left.
        state.peers[1].short = 2;
        state.give_up_rest(SILENCE, Some(&[None, way, None]));
        state.take_losses().iter().map(|loss| (loss.peer, loss.undeliverable)).collect::<Vec<_>>()
    };
    assert_eq!(give_up(None), [], "no connection stands");
    all[0].shared.call().peers[1].farewell = true;
    assert_eq!(give_up(Some(LEFT)), []);
    all[0].shared.call().peers[1].farewell = false;
    assert_eq!(give_up(Some(LEFT)), [(1, true)]);
}

#[test]
fn who_is_not_known_to_have_ended_has_not() {
    let Some(all) = three() else { return };
    let mut state = all[0].shared.call();
    state.peers[1].short = 2;
    state.give_up_rest(SILENCE, None);
    assert!(state.take_losses().iter().any(|loss| (loss.peer, loss.undeliverable) == (1, true)));
}

/// As after a process was stopped for long.
#[test]
fn a_farewell_is_read_before_silence_counts() {
    let Some(mut all) = three() else { return };
    let ends = all.remove(1);
    let mut state = all[0].shared.call();
    // It waits in vain for an answer.
    drop(ends);
    assert!(!state.peers[1].farewell);
    state.look(&[None, Some(SILENT), None]);
    assert!(state.take_losses().is_empty());
}

#[test]
fn who_has_waited_for_what_has_left_does_not_do_so_again() {
    let Some(mut all) = three() else { return };
    let first = all.remove(0);
    first.settle(true, &|| ());
    // As if something never left: for that it waits an hour.
    first.shared.call().peers[1].posted += 1;
    drop(first);
}

/// Where the job goes on, all have come to their end: who has heard so of the others waits for none of them. Here that would take an hour.
#[test]
fn the_last_settle_says_farewell_and_waits_for_nobody_who_has_gone() {
    let Some(mut all) = three() else { return };
    // One that has ended before anything came to it, though the endpoint has accepted a packet; and one that has taken nothing since.
    drop(all.remove(2));
    assert!(all[0].copy_and_send(2, &[7; 4], Payload::Bytes(&[])).is_some());
    all[0].shared.call().peers[2].is_reached = true;
    all[1].settle(false, &|| ());
    let (mut heard, end) = (Heard::default(), Instant::now() + Duration::from_secs(60));
    while !all[0].shared.call().peers[1].farewell {
        assert!(Instant::now() < end, "no farewell");
        all[0].poll(&mut heard);
    }
    all[0].shared.call().peers[1].posted += 1;
    all[0].settle(false, &|| ());
    assert!(all[0].shared.call().take_losses().is_empty());
    all[0].shared.call().peers[1].posted -= 1;
}

/// What the endpoint has of a packet to a lost process never completes.
#[test]
fn nothing_is_under_way_to_who_is_lost() {
    let Some(all) = three() else { return };
    let mut state = all[0].shared.call();
    state.peers[1].posted += 1;
    assert!(!state.has_left(true));
    state.lose(1, "killed");
    assert!(state.has_left(true));
    state.peers[1].posted -= 1;
}

#[test]
fn an_error_of_the_provider_may_name_the_way() {
    let Some(all) = three() else { return };
    for (error, undeliverable) in [(libc::ECONNRESET, false), (libc::EHOSTUNREACH, true), (-libc::ETIMEDOUT, true)] {
        let mut state = all[0].shared.call();
        state.lose_by(1, error as isize);
        let losses = state.take_losses();
        assert_eq!(losses.iter().map(|loss| loss.undeliverable).collect::<Vec<_>>(), [undeliverable], "error {error}");
        // As it was.
        state.peers[1].lost = false;
    }
}

/// Of two that end at once the one that is later finds no connection any more.
#[test]
fn who_ends_at_once_loses_nobody() {
    let Some(all) = three() else { return };
    let ends = all.into_iter().map(|device| {
        std::thread::spawn(move || {
            device.settle(true, &|| ());
            assert!(device.shared.call().take_losses().is_empty());
        })
    });
    ends.collect::<Vec<_>>().into_iter().for_each(|end| end.join().expect("no panic"));
}
