//! Published receives and single copies. A device without them passes by saying so.
//!
//! What a receiver does may reach its sender late, so what must happen is waited for at both ends; what must not
//! happen is looked for at once.

use super::pattern::{bytes, check};
use super::{Factory, everybody, patience};
use crate::{
    AfterFork, Channel, CopyMode, Deliver, Delivery, Direct, Direction, Exposure, Found, Group, Header, Key, Lease,
    Memory, Name, NotCopied, Outgoing, PeerState, Pull, PullTo, Purpose, PushTo, Recall, RecallReason, Run, Sink, Then,
    Use, unmap, way_from, way_into,
};

/// Messages in a row after which a device that finds out which way is better has tried each.
const OFTEN: u64 = 40;
const KEY: Key = Key { context: 3, source: 0, tag: 11 };

/// What [`Direct`] has told.
#[derive(Default)]
struct Told {
    delivered: Vec<(u32, u64)>,
    sent: Vec<u32>,
    pulled: Vec<u32>,
    retracted: Vec<u32>,
}

impl Sink for Told {
    fn packet(&mut self, _from: u32, _header: &Header, _payload: &[u8]) {
        panic!("a packet that nobody has sent");
    }
    fn delivered(&mut self, receiver: u32, size: u64) {
        self.delivered.push((receiver, size));
    }
    fn sent(&mut self, sender: u32) {
        self.sent.push(sender);
    }
    fn retracted(&mut self, receiver: u32) {
        self.retracted.push(receiver);
    }
    fn pulled(&mut self, receiver: u32) {
        self.pulled.push(receiver);
    }
}

/// A sender and a receiver, if their device publishes.
fn pair(factory: Factory, check: impl FnOnce(&dyn Channel, &dyn Channel)) {
    let everybody = everybody(factory, 2);
    if everybody[0].direct().is_some() {
        check(&*everybody[0], &*everybody[1]);
    }
}

fn direct(device: &dyn Channel) -> &dyn Direct {
    device.direct().expect("it publishes")
}

/// Memory that both processes reach: shared, or registered.
fn shared(device: &dyn Channel, peer: u32, len: usize) -> (&'static mut [u8], Memory) {
    let private = || Box::leak(vec![0; len].into_boxed_slice()).as_mut_ptr();
    let at = direct(device).allocate(len, AfterFork::Shared).unwrap_or_else(private);
    // SAFETY: fresh memory of that length, which stays mapped: nobody frees it.
    let bytes = unsafe { std::slice::from_raw_parts_mut(at, len) };
    let used = Use { purpose: Purpose::Message, bytes: len as u64, quiet: true };
    (bytes, direct(device).locate(peer, Memory::dense(at, len), used))
}

fn publish(device: &dyn Channel, target: &Memory, receiver: u32, seen: u32) -> u32 {
    direct(device).publish(0, &KEY, target, receiver, seen).expect("room for a receive")
}

fn deliver(device: &dyn Channel, source: &Memory, last: u32, waits: bool) -> Delivery {
    let Some(found) = direct(device).find_published(1, &KEY, last, source.len) else { return Delivery::Stream };
    let (device, of) = (direct(device), (waits, Then::Waits, CopyMode::ByCosts));
    let Some(chosen) = way_into(device, device.chooser().as_deref(), 1, (source, &found), of, || 0) else {
        return Delivery::Stream;
    };
    device.deliver(1, &found, &Outgoing { source, sender: 77, way: chosen.way })
}

/// Gets a message in the way that is chosen.
fn get(device: &dyn Channel, source: &Memory, target: &Memory, receiver: u32) -> Pull {
    let device = direct(device);
    let chosen = way_from(device, device.chooser().as_deref(), 0, (source, target), Then::Waits, || 0);
    device.pull(0, source, PullTo::Receive(target, receiver, chosen.way))
}

/// Delivers a message for which a receive is published, once its sender knows of it.
fn deliver_soon(sender: &dyn Channel, receiver: &dyn Channel, source: &Memory, last: u32, waits: bool) -> Delivery {
    let (mut here, mut there) = (Told::default(), Told::default());
    for _ in patience() {
        match deliver(sender, source, last, waits) {
            Delivery::Stream => {}
            delivery => return delivery,
        }
        sender.poll(&mut here);
        receiver.poll(&mut there);
        assert!(there.delivered.is_empty() && there.retracted.is_empty(), "nothing was delivered");
        std::thread::yield_now();
    }
    panic!("a receive was published and never found");
}

/// Polls at both ends until a receive is filled and its sender has been told; returns the receive.
fn settle(sender: &dyn Channel, receiver: &dyn Channel, delivery: Delivery) -> (u32, u64) {
    let (mut here, mut there) = (Told::default(), Told::default());
    for _ in patience() {
        sender.poll(&mut here);
        receiver.poll(&mut there);
        let is_sent = match delivery {
            Delivery::Done => true,
            Delivery::Pending => here.sent == [77],
            other => panic!("{other:?} does not fill a receive"),
        };
        if is_sent && let [filled] = there.delivered[..] {
            assert!(there.retracted.is_empty(), "what was filled was given back as well");
            return filled;
        }
    }
    panic!("a receive was claimed and never filled");
}

/// Polls at both ends until the receiver has fetched the message of its request, and the sender has been told if it
/// `waits` for that.
fn fetch(sender: &dyn Channel, receiver: &dyn Channel, request: u32, waits: bool) {
    let (mut here, mut there) = (Told::default(), Told::default());
    for _ in patience() {
        sender.poll(&mut here);
        receiver.poll(&mut there);
        if there.pulled == [request] && (!waits || here.sent == [77]) {
            return;
        }
    }
    panic!("a message was to be fetched and never came");
}

/// Fetches a message that a sender has asked to send, and that is told if it may take part, early or late.
fn pull(sender: &dyn Channel, receiver: &dyn Channel, source: &Memory, target: &Memory, late: bool) -> bool {
    match get(receiver, source, target, 5) {
        Pull::No => return false,
        Pull::Done => {}
        Pull::Pending | Pull::Unordered => fetch(sender, receiver, 5, false),
        Pull::Joint(number) => {
            if late {
                fetch(sender, receiver, 5, false);
            }
            let part = direct(sender).push(1, source, PushTo::Joint(number), 77);
            assert!(part == Pull::Done || part == Pull::Pending && !late, "{part:?} of what is over");
            if !late {
                fetch(sender, receiver, 5, part == Pull::Pending);
            }
        }
    }
    true
}

/// What is told of a pair makes sense, and both sides tell it alike.
pub fn lengths_of_a_pair_are_told(factory: Factory) {
    pair(factory, |sender, receiver| {
        let (here, there) = (direct(sender).pair(1), direct(receiver).pair(0));
        assert_eq!(here.near, there.near, "both are of one node or neither is");
        assert!(direct(sender).peer_is(1, PeerState::Alive), "it has not ended");
        assert_eq!(here.published_from, there.published_from, "the two lie in the same places");
        assert!(here.fetched_from <= here.fetched_to[1] && here.fetched_to[1] <= here.fetched_to[0], "{here:?}");
        assert!(direct(sender).pair(1).window <= isize::MAX as usize);
        let group = Group { others: 1, len: 1 << 20, apart: false, writes: false, shared: false };
        if let Some(times) = direct(sender).times(&[0, 1], &group) {
            assert!(times.lines > 0.0 && times.region > 0.0, "{times:?}");
            let twice = direct(sender).times(&[0, 1], &Group { len: 2 << 20, ..group }).expect("as before");
            assert!(twice.lines >= times.lines && twice.region >= times.region, "more bytes in less time: {twice:?}");
        }
    });
}

/// Shared memory is always filled directly, whatever the length and the state of the receiver.
pub fn published_receives_are_filled(factory: Factory) {
    pair(factory, |sender, receiver| {
        for (number, len) in [8192, 16_384, 40_001, 65_536, 300_000].into_iter().enumerate() {
            for waits in [false, true] {
                let (out, source) = shared(sender, 1, len);
                let (into, target) = shared(receiver, 0, len);
                out.copy_from_slice(&bytes(number as u64, len));
                receiver.set_waiting(waits);
                publish(receiver, &target, 5, 0);
                let delivery = deliver_soon(sender, receiver, &source, 0, waits);
                assert_eq!(settle(sender, receiver, delivery), (5, len as u64));
                check(number as u64, into);
                receiver.set_waiting(false);
            }
        }
    });
}

/// A long message that comes again and again, by whichever ways the device tries.
pub fn receives_are_filled_again(factory: Factory) {
    pair(factory, |sender, receiver| {
        let (out, source) = shared(sender, 1, 150_000);
        let (into, target) = shared(receiver, 0, 150_000);
        for round in 0..OFTEN {
            out.copy_from_slice(&bytes(round, 150_000));
            // One that computes is given it by its sender alone.
            receiver.set_waiting(round % 3 > 0);
            publish(receiver, &target, 5, 0);
            let delivery = deliver_soon(sender, receiver, &source, 0, round % 3 > 1);
            assert_eq!(settle(sender, receiver, delivery), (5, 150_000));
            check(round, into);
        }
        receiver.set_waiting(false);
    });
}

/// A longer message fills what there is room for, and its length is told.
pub fn long_messages_fill_short_receives(factory: Factory) {
    pair(factory, |sender, receiver| {
        let (out, source) = shared(sender, 1, 50_000);
        let (into, mut target) = shared(receiver, 0, 20_000);
        (target.len, target.block) = (15_000, 15_000);
        out.copy_from_slice(&bytes(9, 50_000));
        publish(receiver, &target, 6, 0);
        let delivery = deliver_soon(sender, receiver, &source, 0, true);
        assert_eq!(settle(sender, receiver, delivery), (6, 50_000));
        check(9, &into[..15_000]);
        assert!(into[15_000..].iter().all(|byte| *byte == 0), "beyond the receive");
    });
}

/// Blocks at a stride, at either end or both. Short ones may go in packets.
pub fn strided_memory_is_filled_where_it_lies(factory: Factory) {
    pair(factory, |sender, receiver| {
        for (block, count) in [(96, 300), (2000, 15)] {
            for (out_gap, in_gap) in [(0, 2), (1, 0), (1, 4)] {
                let (out_stride, in_stride) = (block * (1 + out_gap), block * (1 + in_gap));
                strided(sender, receiver, [block, count, out_stride, in_stride]);
            }
        }
    });
}

fn strided(sender: &dyn Channel, receiver: &dyn Channel, [block, count, out_stride, in_stride]: [usize; 4]) {
    let strided = |memory: Memory, stride: usize| {
        let len = (block * count) as u64;
        let dense = stride == block;
        Memory { len, block: if dense { len } else { block as u64 }, stride: stride as i64, ..memory }
    };
    let (out, source) = shared(sender, 1, out_stride * count);
    let (into, target) = shared(receiver, 0, in_stride * count);
    out.copy_from_slice(&bytes(4, out_stride * count));
    let slot = publish(receiver, &strided(target, in_stride), 8, 0);
    let delivery = deliver_soon(sender, receiver, &strided(source, out_stride), 0, true);
    if let Delivery::Packets { receiver: request, room } = delivery {
        assert!(block < 1000, "long blocks go directly");
        assert_eq!((request, room), (8, (block * count) as u64));
        return end_claim(sender, receiver, slot);
    }
    assert_eq!(settle(sender, receiver, delivery), (8, (block * count) as u64));
    for number in 0..count {
        let (at, of) = (number * in_stride, number * out_stride);
        assert_eq!(into[at..at + block], out[of..of + block], "block {number}");
        assert!(into[at + block..at + in_stride].iter().all(|byte| *byte == 0), "a gap");
    }
}

/// Polls until the receiver knows that a receive is claimed for packets, and frees it.
fn end_claim(sender: &dyn Channel, receiver: &dyn Channel, slot: u32) {
    let (mut here, mut there) = (Told::default(), Told::default());
    for _ in patience() {
        match direct(receiver).recall(0, slot, RecallReason::Cancel) {
            Recall::Won => panic!("it was claimed"),
            Recall::Claimed => {
                return assert_eq!(direct(receiver).recall(0, slot, RecallReason::Packets), Recall::Won);
            }
            Recall::Asked => {}
        }
        sender.poll(&mut here);
        receiver.poll(&mut there);
        assert!(there.retracted.is_empty(), "what was claimed was given back");
        std::thread::yield_now();
    }
    panic!("a receive was claimed and its owner never heard of it");
}

/// The oldest receive of a key is filled first, one that was won back never, and none before the
/// receiver has taken the stream as far as the sender asks.
pub fn the_rules_of_publication_hold(factory: Factory) {
    pair(factory, |sender, receiver| {
        let (_, source) = shared(sender, 1, 9000);
        let (_, target) = shared(receiver, 0, 9000);
        assert_eq!(deliver(sender, &source, 0, true), Delivery::Stream, "nothing is published");
        let first = publish(receiver, &target, 1, 7);
        publish(receiver, &target, 2, 7);
        publish(receiver, &target, 3, 7);
        assert_eq!(deliver(sender, &source, 8, true), Delivery::Stream, "the stream was not taken");
        let won = direct(receiver).recall(0, first, RecallReason::Stream);
        assert_eq!(won, Recall::Won, "nobody has claimed it");
        direct(receiver).raise(0, 8);
        for expected in [2, 3] {
            let delivery = deliver_soon(sender, receiver, &source, 8, true);
            assert_eq!(settle(sender, receiver, delivery), (expected, 9000));
        }
        assert_eq!(deliver(sender, &source, 8, true), Delivery::Stream, "all are filled");
    });
}

/// Memory that only its owner knows goes in packets, and what is claimed for them can be given back.
pub fn opaque_memory_goes_in_packets(factory: Factory) {
    pair(factory, |sender, receiver| {
        let slot = publish(receiver, &Memory::opaque(1 << 20), 4, 0);
        let mut there = Told::default();
        // It may take a while until the sender sees it, and then it need not be used.
        let delivery = (0..2000).find_map(|_| {
            receiver.poll(&mut there);
            sender.poll(&mut Told::default());
            Some(deliver(sender, &Memory::opaque(1 << 20), 0, true)).filter(|delivery| *delivery != Delivery::Stream)
        });
        match delivery {
            None => {
                let won = direct(receiver).recall(0, slot, RecallReason::Stream);
                assert_eq!(won, Recall::Won, "for message 1 of the stream");
            }
            Some(Delivery::Packets { receiver: request, room }) => {
                assert_eq!((request, room), (4, 1 << 20));
                end_claim(sender, receiver, slot);
            }
            Some(other) => panic!("{other:?} of memory that nobody knows"),
        }
        // The slot serves again.
        let (_, target) = shared(receiver, 0, 9000);
        let (_, source) = shared(sender, 1, 9000);
        publish(receiver, &target, 5, 1);
        let delivery = deliver_soon(sender, receiver, &source, 1, true);
        assert_eq!(settle(sender, receiver, delivery), (5, 9000));
    });
}

/// Polls at both ends until the receive of that request is known to be its owner's again.
fn get_back(sender: &dyn Channel, receiver: &dyn Channel, request: u32) {
    let (mut here, mut there) = (Told::default(), Told::default());
    for _ in patience() {
        if there.retracted == [request] {
            return assert!(there.delivered.is_empty(), "it was filled as well");
        }
        sender.poll(&mut here);
        receiver.poll(&mut there);
        std::thread::yield_now();
    }
    panic!("a receive was asked back and nobody answered");
}

/// A receive is asked back before its sender knows of it, when it does, and when it has claimed it.
pub fn receives_are_asked_back(factory: Factory) {
    pair(factory, |sender, receiver| {
        let (_, target) = shared(receiver, 0, 9000);
        let (_, source) = shared(sender, 1, 9000);
        let recall = |slot, request| match direct(receiver).recall(0, slot, RecallReason::Cancel) {
            Recall::Won => {}
            Recall::Asked => {
                assert_ne!(direct(receiver).recall(0, slot, RecallReason::Cancel), Recall::Won, "asked again");
                get_back(sender, receiver, request);
            }
            Recall::Claimed => panic!("nobody has claimed it"),
        };
        recall(publish(receiver, &target, 1, 0), 1);
        assert_eq!(deliver(sender, &source, 0, true), Delivery::Stream, "it was taken back");
        // Now the sender knows of a receive, and must pass over the first of two more.
        publish(receiver, &target, 2, 0);
        let delivery = deliver_soon(sender, receiver, &source, 0, true);
        assert_eq!(settle(sender, receiver, delivery), (2, 9000));
        let first = publish(receiver, &target, 3, 0);
        publish(receiver, &target, 4, 0);
        recall(first, 3);
        let delivery = deliver_soon(sender, receiver, &source, 0, true);
        assert_eq!(settle(sender, receiver, delivery), (4, 9000));
        // One that is claimed is filled, whenever it is asked back.
        let last = publish(receiver, &target, 5, 0);
        let delivery = deliver_soon(sender, receiver, &source, 0, true);
        assert_ne!(direct(receiver).recall(0, last, RecallReason::Cancel), Recall::Won, "it is claimed");
        assert_eq!(settle(sender, receiver, delivery), (5, 9000));
    });
}

/// A look and the delivery are two steps: what was found may be gone by then.
pub fn what_was_found_may_be_gone(factory: Factory) {
    pair(factory, |sender, receiver| {
        let (_, target) = shared(receiver, 0, 9000);
        let (out, source) = shared(sender, 1, 9000);
        let first = publish(receiver, &target, 1, 0);
        let Some(found) = find_soon(sender, receiver, 0) else {
            return eprintln!("skipped: this device shows no receives");
        };
        let (device, of) = (direct(sender), (true, Then::Waits, CopyMode::ByCosts));
        let chosen = way_into(device, device.chooser().as_deref(), 1, (&source, &found), of, || 0);
        let way = chosen.map_or(Deliver::Mapped, |chosen| chosen.way);
        let message = Outgoing { source: &source, sender: 77, way };
        // Another one takes its place.
        match direct(receiver).recall(0, first, RecallReason::Cancel) {
            Recall::Won => {}
            Recall::Asked => get_back(sender, receiver, 1),
            Recall::Claimed => panic!("nobody has claimed it"),
        }
        let (into, second) = shared(receiver, 0, 9000);
        publish(receiver, &second, 2, 0);
        out.copy_from_slice(&bytes(3, 9000));
        assert_eq!(direct(sender).deliver(1, &found, &message), Delivery::Stream, "it is gone");
        let delivery = deliver_soon(sender, receiver, &source, 0, true);
        assert_eq!(settle(sender, receiver, delivery), (2, 9000));
        check(3, into);
    });
}

/// Looks for a published receive until its sender knows of one. `None`: it never does.
fn find_soon(sender: &dyn Channel, receiver: &dyn Channel, last: u32) -> Option<Found> {
    let (mut here, mut there) = (Told::default(), Told::default());
    patience().find_map(|()| {
        sender.poll(&mut here);
        receiver.poll(&mut there);
        std::thread::yield_now();
        direct(sender).find_published(1, &KEY, last, 9000)
    })
}

/// What a receiver fetches from a sender that has asked to send.
pub fn a_late_receiver_fetches(factory: Factory) {
    pair(factory, |sender, receiver| {
        let (out, source) = shared(sender, 1, 100_000);
        let (into, target) = shared(receiver, 0, 100_000);
        // A sender that waits may take part. So often that a device which tries ways to copy tries them all.
        for round in 0..OFTEN {
            let waits = round > 0;
            out.copy_from_slice(&bytes(round, 100_000));
            sender.set_waiting(waits);
            if pull(sender, receiver, &source, &target, round % 3 == 2) {
                check(round, into);
            }
        }
        sender.set_waiting(false);
        assert_eq!(get(receiver, &Memory::opaque(100_000), &target, 6), Pull::No, "nobody knows where it is");
    });
}

/// Where shared memory has a place, a peer maps it, from any byte on, as often as it likes.
pub fn mapped_memory_is_the_same_for_both(factory: Factory) {
    pair(factory, |owner, peer| {
        let (own, _) = shared(owner, 1, 3 << 20);
        if direct(owner).place(own.as_ptr(), own.len()).is_none() {
            return eprintln!("skipped: this device maps no memory of peers");
        }
        let base = own.as_ptr();
        let place = |from: usize, len| direct(owner).place(base.wrapping_add(from), len);
        assert!(place(1, 3 << 20).is_none(), "beyond the allocation");
        assert!(direct(owner).place(b"private".as_ptr(), 1).is_none());
        for (from, len) in [(0, 3 << 20), (5000, 10), (4095, 2), (1 << 20, 1 << 20)] {
            let memory = Memory::at_place(place(from, len).expect("a place"), len);
            let at = direct(peer).map(&memory, Lease::Lasting).expect("a mapping");
            // SAFETY: mapped, and nobody else refers to it now.
            let theirs = unsafe { std::slice::from_raw_parts_mut(at, len) };
            own[from..from + len].copy_from_slice(&bytes(from as u64, len));
            check(from as u64, theirs);
            theirs[len - 1] ^= 1;
            assert_eq!(own[from + len - 1], theirs[len - 1]);
            // SAFETY: as long as it was mapped, and not used after this.
            unsafe { unmap(at, len) };
        }
    });
}

/// Runs of any length on both sides, both ways; memory that is not there is not.
pub fn private_memory_is_copied_without_help(factory: Factory) {
    pair(factory, |here, there| {
        if !direct(here).pair(1).kernel {
            return eprintln!("skipped: memory of other processes cannot be copied here");
        }
        let run = |bytes: &[u8]| Run { address: bytes.as_ptr() as u64, len: bytes.len() as u64 };
        let (mut own, mut theirs) = (bytes(1, 20_000), vec![0; 20_000]);
        let start = theirs.as_ptr() as u64;
        let whole = Memory::dense(theirs.as_ptr(), theirs.len());
        let exposed = direct(there).expose(&whole, Exposure::ByKernel(Lease::Lasting)).expect("the kernel copies");
        let cookie = exposed.cookie;
        let pieces = |bytes: &[u8], cuts: [usize; 4]| -> Vec<Run> {
            cuts.windows(2).map(|cut| run(&bytes[cut[0]..cut[1]])).collect()
        };
        // SAFETY: vectors of this test, to which nobody else refers.
        let copy = |own: &[Run], theirs: &[Run], way| unsafe {
            direct(here).copy(1, own, (theirs, Name { cookie, start }), way)
        };
        let (from, to) = (pieces(&own, [0, 1, 9000, 20_000]), pieces(&theirs, [0, 7, 12_345, 20_000]));
        assert_eq!(copy(&from, &to, Direction::Put), Ok(()));
        check(1, &theirs);
        own.fill(0);
        theirs.rotate_left(100);
        assert_eq!(copy(&[run(&own[..19_900])], &[run(&theirs[..19_900])], Direction::Get), Ok(()));
        check(1, &[&bytes(1, 100)[..], &own[..19_900]].concat());
        let nowhere = [Run { address: 8, len: 8 }];
        assert_eq!(copy(&[run(&own[..8])], &nowhere, Direction::Put), Err(NotCopied::NotThere));
        assert!(direct(here).pair(1).kernel, "other memory is there");
        direct(there).release(&exposed);
    });
}

/// Private memory of a sender that has asked to send is fetched by its receiver alone, where both are told that this may pay.
pub fn private_memory_is_fetched(factory: Factory) {
    pair(factory, |sender, receiver| {
        for (number, (len, room)) in [(16_384, 16_384), (70_001, 70_001), (50_000, 20_000)].into_iter().enumerate() {
            let (out, into) = (bytes(number as u64, len), vec![0; room]);
            let (source, target) = (Memory::dense(out.as_ptr(), len), Memory::dense(into.as_ptr(), room));
            if direct(receiver).pull(0, &source, PullTo::ByKernel(&target)) != Pull::Done {
                let pair = direct(sender).pair(1);
                assert!(pair.kernel_from > len || !pair.kernel, "it was told that it works");
                return eprintln!("skipped: private memory cannot be fetched here");
            }
            check(number as u64, &into);
        }
    });
}
