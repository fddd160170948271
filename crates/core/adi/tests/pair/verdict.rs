//! What MPI says about who gets which message (MPI 5.0 section 3.5), applied to what was seen.
//!
//! Messages with one tuple are indistinguishable to every receive, so they are taken in the order
//! of sending by the receives in the order of posting: that tells which message each receive must
//! have got, and so its contents. Between different tuples there are two rules:
//! 1. A message that two receives match is not the later one's while the earlier is open.
//! 2. A receive that matches two messages of one sender does not get the later one while the
//!    earlier is there.
//!
//! Each says that some message left matching before another one did. Together with the steps
//! between which each of them can have left, an order must exist that keeps all of them.

use crate::world::{Message, Receive, World};
use tern_adi::{Pattern, Status, Tuple};

/// A message's way out of matching: the steps between which it went.
#[derive(Clone, Copy, Debug)]
struct Exit {
    earliest: usize,
    latest: usize,
}

/// Checks everything that happened at every process.
pub fn judge(world: &World) {
    judge_but(world, None);
}

/// The same but the order in a context `free`, where messages may overtake each other.
pub fn judge_but(world: &World, free: Option<u32>) {
    let mut exits: Vec<Exit> = world.messages.iter().map(exit_of_message).collect();
    let mut owners: Vec<Option<usize>> = vec![None; world.messages.len()];
    for process in 0..world.processes {
        assign(world, process, free, &mut owners, &mut exits);
    }
    free.iter().for_each(|&context| assign_freely(world, context, &mut owners));
    for (number, message) in world.messages.iter().enumerate() {
        assert!(
            owners[number].is_some() != message.cancelled,
            "message {number} was received or taken back, one of the two: {message:?}"
        );
    }
    // What is free has no place in an order.
    for (owner, message) in owners.iter_mut().zip(&world.messages) {
        *owner = owner.filter(|_| Some(message.tuple.context) != free);
    }
    let before = rules(world, &owners, &mut exits);
    order(before, exits);
}

/// Checks the order of what came though processes have lost each other: a receive has got a message only if each earlier one of
/// that sender, which it matches as well, had an earlier receive. Which receive that was is not known of messages that were cut off: each of
/// them needs one that failed, or that was taken back when its sender had claimed it and was lost. Returns which messages were got.
pub fn judge_order(world: &World) -> Vec<bool> {
    let mut owned = vec![false; world.messages.len()];
    let ended = |receive: &Receive| receive.status.is_some_and(|status| status.cancelled || status.aborted().is_some());
    for (number, receive) in world.receives.iter().enumerate() {
        let status = receive.status.expect("all receives are done");
        if ended(receive) {
            continue;
        }
        let at = message_of(world, receive, &status, &owned);
        owned[at] = true;
        let sent = &world.messages[at];
        let overtaken = |(other, message): &(usize, &Message)| {
            // Who has died, or has lost the receiver, does not know what became of its wish.
            let unknown = message.aborted.is_some() || world.is_dead(message.from);
            // Sends of a context that has ended are asked back, and later ones that have left by then may still arrive.
            // So do those whose requests were released, whatever has become of them.
            let told = message.done.is_some() && message.aborted.is_none();
            let ended = world.knows_revoked(message.from, message.tuple.context) && (unknown || !told);
            // What a dead sender had not given away whole can be had by nobody, and holds up nothing behind it.
            let cut_off = message.done.is_none() && world.is_dead(message.from);
            let taken_back = message.cancelled || ended || cut_off || (unknown && message.cancel_asked.is_some());
            let matches = message.from == sent.from && message.to == sent.to && receive.pattern.matches(&message.tuple);
            matches && !owned[*other] && !taken_back
        };
        let overtaken: Vec<&Message> =
            world.messages[..at].iter().enumerate().filter(overtaken).map(|(_, message)| message).collect();
        let takes = |earlier: &&Receive| {
            let matches = overtaken.iter().any(|message| earlier.pattern.matches(&message.tuple));
            earlier.at == receive.at && ended(earlier) && matches
        };
        let without = world.receives[..number].iter().filter(takes).count();
        assert!(overtaken.len() <= without, "{receive:?} got {sent:?}, which has overtaken {overtaken:?}");
    }
    owned
}

/// The message that a receive has got, by its contents: the first one behind those that were got, since messages of one tuple are in
/// order.
fn message_of(world: &World, receive: &Receive, status: &Status, owned: &[bool]) -> usize {
    let tuple = Tuple { context: receive.pattern.context, source: status.source, tag: status.tag };
    let mine = |message: &Message| message.to == receive.at && message.tuple == tuple && !message.cancelled;
    let got = |at: &usize| owned[*at] && mine(&world.messages[*at]);
    let next = (0..owned.len()).rev().find(got).map_or(0, |last| last + 1);
    let holds = |message: &Message| {
        let room = receive.buffer.len().min(message.bytes.len());
        let size = status.truncated().unwrap_or(status.bytes);
        size == message.bytes.len() as u64 && receive.buffer.holds(&message.bytes[..room])
    };
    let found = (next..owned.len()).find(|&at| mine(&world.messages[at]) && holds(&world.messages[at]));
    found.unwrap_or_else(|| panic!("{receive:?} got a message that nobody sent, or one that another has overtaken"))
}

fn exit_of_message(message: &Message) -> Exit {
    // A send that waits for its match, or was taken back, is done when that has happened.
    let waits = message.synchronous || message.cancelled;
    let latest = if waits { message.done.unwrap_or(usize::MAX) } else { usize::MAX };
    let earliest = message.cancelled.then_some(message.cancel_asked).flatten();
    Exit { earliest: earliest.unwrap_or(message.step), latest }
}

/// Finds the messages of receives in a context whose messages may overtake each other, by their contents. Of two receives, the one with more room
/// is told more of its message; it comes first.
fn assign_freely(world: &World, context: u32, owners: &mut [Option<usize>]) {
    let in_it = |(_, receive): &(usize, &Receive)| receive.pattern.context == context;
    let mut receives: Vec<(usize, &Receive)> = world.receives.iter().enumerate().filter(in_it).collect();
    receives.sort_by_key(|(_, receive)| std::cmp::Reverse(receive.buffer.len()));
    for (number, receive) in receives {
        let status = receive.status.expect("all receives are done");
        if status.cancelled {
            assert!(receive.cancel_asked.is_some(), "receive {number} cancelled itself");
            receive.buffer.check(&[]);
            continue;
        }
        let tuple = Tuple { context, source: status.source, tag: status.tag };
        assert!(receive.pattern.matches(&tuple), "{receive:?} got {tuple:?}");
        let size = status.truncated().unwrap_or(status.bytes) as usize;
        let fits = |message: &Message| {
            let mine = message.to == receive.at && message.tuple == tuple && !message.cancelled;
            mine && message.bytes.len() == size
                && receive.buffer.holds(&message.bytes[..size.min(receive.buffer.len())])
        };
        let found = world.messages.iter().enumerate().position(|(at, message)| owners[at].is_none() && fits(message));
        let at = found.unwrap_or_else(|| panic!("{receive:?} got a message that nobody sent"));
        owners[at] = Some(number);
        check_contents(receive, &status, &world.messages[at]);
    }
}

/// Finds the message of each receive at `process` outside of context `free`, and checks what was received.
fn assign(world: &World, process: u32, free: Option<u32>, owners: &mut [Option<usize>], exits: &mut [Exit]) {
    let mine = |(_, receive): &&(usize, &Receive)| receive.at == process && Some(receive.pattern.context) != free;
    for (number, receive) in world.receives.iter().enumerate().collect::<Vec<_>>().iter().filter(mine) {
        let status = receive.status.expect("all receives are done");
        if status.cancelled {
            assert!(receive.cancel_asked.is_some(), "receive {number} cancelled itself");
            receive.buffer.check(&[]);
            continue;
        }
        let tuple = Tuple { context: receive.pattern.context, source: status.source, tag: status.tag };
        assert!(receive.pattern.matches(&tuple), "{receive:?} got {tuple:?}");
        let next = world.messages.iter().enumerate().position(|(at, message)| {
            message.to == process && message.tuple == tuple && !message.cancelled && owners[at].is_none()
        });
        let at = next.unwrap_or_else(|| panic!("{receive:?} got a message that nobody sent"));
        owners[at] = Some(*number);
        check_contents(receive, &status, &world.messages[at]);
        let exit = &mut exits[at];
        exit.earliest = exit.earliest.max(receive.step);
        exit.latest = exit.latest.min(receive.matched.or(receive.done).unwrap_or(usize::MAX));
    }
}

fn check_contents(receive: &Receive, status: &Status, message: &Message) {
    let (size, room) = (message.bytes.len(), receive.buffer.len());
    let expected = Status {
        source: message.tuple.source,
        tag: message.tuple.tag,
        bytes: size.min(room) as u64,
        lost: size.saturating_sub(room) as u64,
        cancelled: false,
        mark: 0,
    };
    assert_eq!(*status, expected, "{receive:?} of {message:?}");
    if let Some(probed) = receive.probed {
        assert_eq!(probed, size as u64, "a probe told another size than the message had");
    }
    receive.buffer.check(&message.bytes[..size.min(room)]);
}

/// The messages that must have left before each message, by the two rules.
fn rules(world: &World, owners: &[Option<usize>], exits: &mut [Exit]) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); world.messages.len()];
    let of_receive = |receive: usize| owners.iter().position(|owner| *owner == Some(receive));
    let gets: Vec<Option<usize>> = (0..world.receives.len()).map(of_receive).collect();
    for (number, message) in world.messages.iter().enumerate() {
        let Some(owner) = owners[number] else { continue };
        let receive = &world.receives[owner];
        let fits = |pattern: &Pattern, message: &Message| pattern.matches(&message.tuple);
        for (other, earlier) in world.receives[..owner].iter().enumerate() {
            if earlier.at != message.to || !fits(&earlier.pattern, message) {
                continue;
            }
            match gets[other] {
                Some(taken) => before[number].push(taken),
                // It was open until it was cancelled.
                None => exits[number].earliest = exits[number].earliest.max(earlier.cancel_asked.unwrap()),
            }
        }
        for (other, earlier) in world.messages[..number].iter().enumerate() {
            let pair = (earlier.from, earlier.to) == (message.from, message.to);
            if pair && fits(&receive.pattern, earlier) {
                before[number].push(other);
            }
        }
    }
    before
}

/// Panics unless there is an order in which each message leaves after those `before` it and
/// within its steps.
fn order(before: Vec<Vec<usize>>, mut exits: Vec<Exit>) {
    let mut open: Vec<usize> = (0..exits.len()).collect();
    let mut gone = vec![false; exits.len()];
    while !open.is_empty() {
        let ready = open.iter().position(|&at| before[at].iter().all(|&other| gone[other]));
        let Some(ready) = ready else {
            panic!("messages {open:?} overtook each other: each had to leave before the next")
        };
        let at = open.swap_remove(ready);
        gone[at] = true;
        let after = before[at].iter().map(|&other| exits[other].earliest).max().unwrap_or(0);
        exits[at].earliest = exits[at].earliest.max(after);
        let Exit { earliest, latest } = exits[at];
        assert!(
            earliest <= latest,
            "message {at} cannot have matched before step {earliest}, but had at step {latest}"
        );
    }
}
