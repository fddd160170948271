use super::*;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::OwnedFd;
use tern_pmi::control::{Received, receive};

fn pair() -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("two sockets")
}

/// What waits in a rank's socket.
fn heard(rank: &OwnedFd) -> Vec<Lost> {
    let mut heard = Vec::new();
    loop {
        match receive(rank, false).expect("a socket") {
            Received::Message(Message::Lost(lost), _) => heard.extend(lost),
            Received::Nothing => return heard,
            other => panic!("{other:?}"),
        }
    }
}

/// Losses of a world of two, one after the other, each told at once.
fn lose(history: &mut History, worlds: u64, launcher: &OwnedFd, told: &mut usize) {
    for world in 0..worlds {
        for rank in 0..2 {
            history.note(world, &[rank]);
            history.tell(launcher, told);
        }
    }
}

#[test]
fn a_rank_that_takes_nothing_holds_nobody_up_and_hears_of_all_later() {
    let (launcher, rank) = pair();
    let (mut history, mut told) = (History::default(), 0);
    lose(&mut history, 1000, &launcher, &mut told);
    assert!(history.goes_beyond(told), "a queue without bounds");
    // An answer and a question have room all the same.
    for _ in 0..50 {
        control::send_at_once(&launcher, &Message::Ask).expect("room");
    }
    let mut all = Vec::new();
    while let Ok(Received::Message(message, _)) = receive(&rank, false) {
        match message {
            Message::Lost(lost) => all.extend(lost),
            message => assert_eq!(message, Message::Ask),
        }
    }
    while history.goes_beyond(told) {
        history.tell(&launcher, &mut told);
        all.extend(heard(&rank));
    }
    let expected: Vec<Lost> = (0..2000).map(|loss| Lost { job_id: loss / 2, rank: (loss % 2) as u32 }).collect();
    assert_eq!(all, expected);
}

#[test]
fn a_newcomer_hears_of_all_in_few_messages() {
    let (launcher, rank) = pair();
    let mut history = History::default();
    history.note(u64::MAX, &(0..300).collect::<Vec<u32>>());
    history.tell(&launcher, &mut 0);
    let mut counts = Vec::new();
    while let Ok(Received::Message(Message::Lost(lost), _)) = receive(&rank, false) {
        counts.push(lost.len());
    }
    assert_eq!(counts, [128, 128, 44]);
}

#[test]
fn a_loss_is_told_once() {
    let (launcher, rank) = pair();
    let (mut history, mut told) = (History::default(), 0);
    for ranks in [&[1, 2][..], &[2, 1, 3], &[3]] {
        history.note(5, ranks);
        history.tell(&launcher, &mut told);
    }
    assert_eq!(heard(&rank), [1, 2, 3].map(|rank| Lost { job_id: 5, rank }));
}

#[test]
fn a_rank_that_has_closed_is_not_told_again() {
    let (launcher, rank) = pair();
    drop(rank);
    let (mut history, mut told) = (History::default(), 0);
    history.note(5, &[1]);
    history.tell(&launcher, &mut told);
    assert!(!history.goes_beyond(told));
}
