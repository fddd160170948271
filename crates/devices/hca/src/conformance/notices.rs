//! Notices: what one sleeps on; datagrams; and service without the program.

use super::world::*;
use crate::{CompletionChannel, DATAGRAM, Operation, Status};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Sleeps until the channel has a notice; false if there is none for so long.
fn sleep(channel: &CompletionChannel, limit: Duration) -> bool {
    let timeout = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos() as _ };
    let woken = poll(&mut [PollFd::new(channel, PollFlags::IN)], Some(&timeout)).expect("poll") == 1;
    assert_eq!(channel.drain(), woken);
    woken
}

pub fn a_channel_wakes_a_sleeper(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (here, there) = (one.buffer(8), other.buffer(8));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in 0..50 {
                other.receive(id, &[there.whole()]);
                loop {
                    other.receives.arm().expect("armed");
                    let mut completion = [crate::Completion::default()];
                    if other.receives.poll(&mut completion).expect("poll") == 1 {
                        assert_eq!((completion[0].id, completion[0].status), (id, Status::Success));
                        break;
                    }
                    assert!(sleep(&other.channel, PATIENCE), "message {id} wakes the sleeper");
                }
            }
        });
        for id in 0..50 {
            // Some are sent while the other sleeps, some before.
            if id % 2 == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
            assert_eq!(one.execute(Operation::Send, &[here.whole()]).status, Status::Success);
        }
    });
    Ok(())
}

pub fn a_channel_is_silent_unless_armed(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (here, there) = (one.buffer(8), other.buffer(8));
    (0..3).for_each(|id| other.receive(id, &[there.whole()]));
    one.execute(Operation::Send, &[here.whole()]);
    next(&other.receives);
    assert!(!other.channel.drain(), "it was not armed");
    other.receives.arm().expect("armed");
    one.execute(Operation::Send, &[here.whole()]);
    assert!(sleep(&other.channel, PATIENCE), "it was armed");
    one.execute(Operation::Send, &[here.whole()]);
    next(&other.receives);
    next(&other.receives);
    assert!(!other.channel.drain(), "once armed, once told");
    Ok(())
}

pub fn a_waker_is_called(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let (here, there) = (one.buffer(8), other.buffer(8));
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    other
        .channel
        .set_waker(Box::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        }))
        .expect("a waker");
    other.receive(1, &[there.whole()]);
    other.receives.arm().expect("armed");
    one.execute(Operation::Send, &[here.whole()]);
    // Nobody polls at the other side.
    eventually("the waker is called", || calls.load(Ordering::SeqCst) == 1);
    assert_eq!(next(&other.receives).id, 1);
    Ok(())
}

pub fn datagrams_arrive(factory: Factory) -> Result<(), String> {
    let (here, there) = (factory()?, factory()?);
    let channel = there.completion_channel().expect("a channel");
    let one = here.datagrams(None).expect("a box");
    let other = there.datagrams(Some(&channel)).expect("a box");
    for len in [0, 1, 100, DATAGRAM] {
        let bytes = pattern(len, len);
        let mut came = Vec::new();
        // They may be lost, or come twice.
        for attempt in 0.. {
            one.send(other.address(), &bytes).expect("sent");
            let woken = sleep(&channel, Duration::from_millis(200));
            while other.receive(&mut came).expect("received") && came != bytes {
                came.clear();
            }
            if woken && came == bytes {
                break;
            }
            assert!(attempt < 100, "a datagram of {len} bytes never comes");
        }
        came.clear();
    }
    assert!(one.send(other.address(), &[0; DATAGRAM + 1]).is_err());
    assert!(one.send(b"nonsense", b"").is_err());
    Ok(())
}

/// The target does nothing at all with its HCA, and is served.
pub fn a_target_is_served_while_it_computes(factory: Factory) -> Result<(), String> {
    let (one, other) = pair(factory)?;
    let mut here = one.buffer(1 << 20);
    let (there, word) = (other.buffer(1 << 20), other.buffer(8));
    here.fill(&pattern(3, 1 << 20));
    let answer = one.buffer(8);
    one.post(1, Operation::Write(there.remote(0)), &[here.whole()]).expect("posted");
    one.post(2, Operation::FetchAdd(word.remote(0), 1), &[answer.whole()]).expect("posted");
    // SAFETY: mapped and aligned, and used atomically from now on.
    let cell = unsafe { AtomicU64::from_ptr(word.region.address() as *mut u64) };
    eventually("the word is raised, though nobody polls", || cell.load(Ordering::SeqCst) == 1);
    assert!(there.bytes() == pattern(3, 1 << 20));
    assert_eq!((next(&one.sends).id, next(&one.sends).id), (1, 2));
    Ok(())
}
