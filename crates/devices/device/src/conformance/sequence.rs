//! Any sequence of sends and polls, against the simplest model: a queue per pair.

use super::*;

/// One step of a sequence. Processes and sizes are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    Send {
        from: u32,
        to: u32,
        size: usize,
    },
    Poll {
        who: u32,
    },
    /// Offers what comes next from one peer, which is used or declined.
    Take {
        who: u32,
        from: u32,
        used: bool,
    },
}

/// Checks at each poll that what comes is the oldest that its sender has sent.
struct Expect<'a> {
    me: u32,
    /// (number, length) by sender and receiver.
    sent: &'a mut Vec<Vec<VecDeque<(u64, usize)>>>,
}

impl Sink for Expect<'_> {
    fn packet(&mut self, from: u32, header: &Header, payload: &[u8]) {
        let oldest = self.sent[from as usize][self.me as usize].pop_front();
        let (number, size) = oldest.expect("no more packets than were sent");
        assert_eq!((*header, payload.len()), ([number; 4], size), "from {from} to {}", self.me);
        check(number, payload);
    }
}

/// Runs `actions` between `processes` devices of a new group, and empties all queues at the end.
pub fn follow(factory: Factory, processes: u32, actions: &[Action]) {
    let devices = everybody(factory, processes);
    let mut sent = vec![vec![VecDeque::new(); processes as usize]; processes as usize];
    for (number, action) in (0..).zip(actions) {
        match *action {
            Action::Send { from, to, size } => {
                let (from, to) = (from % processes, to % processes);
                if from == to {
                    continue;
                }
                let device = &devices[from as usize];
                let payload = bytes(number, size % (2 * device.abilities().packet));
                let mut taken = device.copy_and_send(to, &[number; 4], Payload::Bytes(&payload));
                let mut polls = 0;
                while taken.is_none() && sent[from as usize][to as usize].is_empty() {
                    // Over a network the word that there is room takes a while; and its receiver may first have to hear of room
                    // for that word.
                    assert!(!device.abilities().lines && polls < MANY_POLLS, "refused with nothing under way");
                    for me in [from, to] {
                        devices[me as usize].poll(&mut Expect { me, sent: &mut sent });
                    }
                    taken = device.copy_and_send(to, &[number; 4], Payload::Bytes(&payload));
                    polls += 1;
                }
                let queue = &mut sent[from as usize][to as usize];
                queue.extend(taken.map(|taken| (number, taken)));
            }
            Action::Take { who, from, used } => {
                let (who, from) = (who % processes, from % processes);
                if who == from {
                    continue;
                }
                let oldest = sent[from as usize][who as usize].front().copied();
                let taken = devices[who as usize].take_next(from, 2, &mut |header, payload| {
                    let (number, size) = oldest.expect("no more packets than were sent");
                    assert_eq!((*header, payload.len()), ([number; 4], size), "the oldest");
                    check(number, payload);
                    used
                });
                assert!(used || !taken, "it was declined");
                if taken {
                    sent[from as usize][who as usize].pop_front();
                }
            }
            Action::Poll { who } => {
                let me = who % processes;
                devices[me as usize].poll(&mut Expect { me, sent: &mut sent });
            }
        }
    }
    for me in 0..processes {
        let mut polls = 0;
        while sent.iter().any(|to| !to[me as usize].is_empty()) {
            devices[me as usize].poll(&mut Expect { me, sent: &mut sent });
            polls += 1;
            assert!(polls < MANY_POLLS, "a packet was sent and never came");
        }
    }
}
