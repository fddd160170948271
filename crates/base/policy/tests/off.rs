//! Rules that are switched off take their defaults. One test, since settings are the process's.

use tern_policy::{Along, Copied, Copies, Gauge, Habits, Message, Order, Way, rules};
use tern_settings::{Entry, POLICY};

fn switch(text: &'static str) {
    POLICY.set(text).expect("names of rules");
}

/// Whether a program that starts sends after its receives has them looked for.
fn looks_ahead() -> bool {
    let mut order = Order::default();
    order.receive();
    order.send();
    order.wait();
    order.receive()
}

/// Whether a program that starts a receive and a long send, and waits at once, is known to exchange messages.
fn exchanges() -> bool {
    let mut habits = Habits::default();
    let mut told = false;
    for round in 0..10 {
        let now = || 10_000 * round;
        habits.post(now);
        habits.is_started(now);
        habits.send(true, now);
        habits.is_started(now);
        told = habits.exchanges();
        habits.wait(now);
        habits.go_on(false, now);
    }
    told
}

/// How many of 2000 messages go in packets, if these are much quicker, and the peer has shown that it sends packets.
fn packets(shown: Option<Way>) -> usize {
    let message =
        Message { len: 20_000, along: Along::Exchange, copied: Copied::Dense, long: false, shown, peer_tries: true };
    let (mut copies, mut now) = (Copies::default(), 0);
    let mut one = || {
        let once = copies.turn(&message, || now).one_copy;
        copies.end_round();
        now += if once { 1000 } else { 100 };
        !once
    };
    (0..2000).filter(|_| one()).count()
}

/// How many of 2000 copies are made by streaming stores, if these are much quicker.
fn streamed() -> usize {
    let (mut gauge, mut now) = (Gauge::default(), 0);
    let mut one = || {
        let streams = gauge.streams(100_000, || now);
        gauge.end_round();
        now += if streams { 100 } else { 1000 };
        streams
    };
    (0..2000).filter(|_| one()).count()
}

#[test]
fn rules_that_are_off_take_their_defaults() {
    let packets_came = Some(Way::ChosenPackets);
    assert!(!looks_ahead());
    assert!(exchanges());
    assert!(packets(None) > 1500 && packets(packets_came) == 2000);
    assert!(streamed() > 1500);
    assert!([&rules::HABITS, &rules::COPIES, &rules::STORES].iter().all(|rule| rule.count() > 0));

    let before = rules::ALL.iter().map(|rule| rule.count()).sum::<u64>();
    switch("-all");
    assert!(rules::ALL.iter().all(|rule| !rule.is_on() && !rule.applies()));
    assert!(looks_ahead());
    assert!(!exchanges());
    assert_eq!((packets(None), packets(packets_came)), (0, 0));
    assert_eq!(streamed(), 0);
    assert_eq!(rules::ALL.iter().map(|rule| rule.count()).sum::<u64>(), before, "nothing is decided otherwise");

    switch("-habits,-copies");
    assert!(looks_ahead() && !exchanges());
    assert_eq!((packets(None), packets(packets_came)), (0, 0));
    assert!(streamed() > 1500, "another rule is on");
    assert!(rules::explain().contains("\ncopies           off"), "{}", rules::explain());
    assert!(POLICY.set("-nothing").is_err_and(|why| why.contains("nothing") && why.contains("copies")));
}
