//! A message that both sides have the kernel copy, and the kernel turns out to copy for one of them, or for none.

use rustix::fd::AsFd;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use std::sync::Once;
use tern_device::{
    Channel, CopyMode, Delivery, Direct, Header, Key, Memory, Outgoing, Pull, PullTo, PushTo, Sink, Then, way_from,
    way_into,
};
use tern_policy::Likely;
use tern_shm::Shm;

const LEN: usize = 256 << 10;
const KEY: Key = Key { context: 1, source: 0, tag: 2 };

/// Pages of this process, which the kernel does not copy while they are locked.
struct Pages(*mut u8);

impl Pages {
    fn new(byte: u8) -> Pages {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which stays.
        let at = unsafe { mmap_anonymous(std::ptr::null_mut(), LEN, access, MapFlags::PRIVATE) }.expect("memory");
        // SAFETY: mapped just now.
        unsafe { at.cast::<u8>().write_bytes(byte, LEN) };
        Pages(at.cast())
    }

    fn lock(&self, locked: bool) {
        let access = if locked { MprotectFlags::empty() } else { MprotectFlags::READ | MprotectFlags::WRITE };
        // SAFETY: this test's own pages, which nobody else refers to.
        unsafe { mprotect(self.0.cast(), LEN, access) }.expect("protection of own memory");
    }

    fn memory(&self) -> Memory {
        Memory::dense(self.0, LEN)
    }

    fn holds(&self, byte: u8) -> bool {
        // SAFETY: readable unless locked.
        unsafe { std::slice::from_raw_parts(self.0, LEN) }.iter().all(|&found| found == byte)
    }
}

#[derive(Default, Debug, PartialEq)]
struct Told {
    delivered: Vec<(u32, u64)>,
    sent: Vec<u32>,
    undelivered: Vec<(u32, u32, u32, u64)>,
}

impl Sink for Told {
    fn packet(&mut self, _: u32, _: &Header, _: &[u8]) {
        panic!("a packet that nobody has sent");
    }
    fn delivered(&mut self, receiver: u32, size: u64) {
        self.delivered.push((receiver, size));
    }
    fn sent(&mut self, sender: u32) {
        self.sent.push(sender);
    }
    fn undelivered(&mut self, peer: u32, sender: u32, receiver: u32, room: u64) {
        self.undelivered.push((peer, sender, receiver, room));
    }
}

fn direct(device: &Shm) -> &dyn Direct {
    device.direct().expect("it publishes")
}

/// Sends from `source` to a published receive into `target`, whose owner waits; `None` where the kernel copies for nobody.
fn send(sender: &Shm, receiver: &Shm, source: &Pages, target: &Pages) -> Option<Delivery> {
    if !direct(sender).pair(1).kernel {
        eprintln!("skipped: memory of other processes cannot be copied here");
        return None;
    }
    receiver.set_waiting(true);
    direct(receiver).publish(0, &KEY, &target.memory(), 5, 0).expect("room");
    let sender = direct(sender);
    let found = sender.find_published(1, &KEY, 0, LEN as u64).expect("it is published");
    let (source, of) = (source.memory(), (true, Then::Waits, CopyMode::ByCosts));
    let chosen = way_into(sender, sender.chooser().as_deref(), 1, (&source, &found), of, || 0);
    let way = chosen.expect("not on the stream").way;
    Some(sender.deliver(1, &found, &Outgoing { source: &source, sender: 7, way }))
}

/// Two processes that have the kernel copy wherever it can.
fn pair() -> [Shm; 2] {
    static FORCE: Once = Once::new();
    // SAFETY: every test comes here first, so nobody reads the environment yet.
    FORCE.call_once(|| unsafe { std::env::set_var("TERN_MECHANISM", "cma") });
    let memory = rustix::fs::memfd_create("tern-test", rustix::fs::MemfdFlags::CLOEXEC).expect("a memfd");
    [0, 1].map(|me| Shm::new(memory.as_fd(), me, 2, 2, None).expect("shared memory"))
}

#[test]
fn what_neither_side_can_have_copied_goes_in_packets() {
    let [sender, receiver] = pair();
    let (source, target) = (Pages::new(1), Pages::new(0));
    source.lock(true);
    target.lock(true);
    let Some(delivery) = send(&sender, &receiver, &source, &target) else { return };
    assert_eq!(delivery, Delivery::Pending);
    let (mut here, mut there) = (Told::default(), Told::default());
    sender.poll(&mut here);
    assert_eq!(here, Told::default(), "the receiver has not said anything");
    receiver.poll(&mut there);
    receiver.poll(&mut there);
    assert_eq!(there, Told::default());
    sender.poll(&mut here);
    assert_eq!(here, Told { undelivered: vec![(1, 7, 5, LEN as u64)], ..Told::default() });
    sender.poll(&mut here);
    assert_eq!(here.undelivered.len(), 1, "told once");
}

/// The kernel has copied the beginning, and refuses the rest.
#[test]
fn what_both_have_begun_and_neither_can_end_goes_in_packets() {
    let [sender, receiver] = pair();
    let (source, target) = (Pages::new(1), Pages::new(0));
    if !direct(&sender).pair(1).kernel {
        return eprintln!("skipped: memory of other processes cannot be copied here");
    }
    sender.set_waiting(true);
    let (receives, from, to) = (direct(&receiver), source.memory(), target.memory());
    let chosen = way_from(receives, receives.chooser().as_deref(), 0, (&from, &to), Then::Waits, || 0);
    let pull = receives.pull(0, &from, PullTo::Receive(&to, 5, chosen.way));
    let Pull::Joint(number) = pull else { panic!("{pull:?} where both have time") };
    source.lock(true);
    target.lock(true);
    assert_eq!(direct(&sender).push(1, &source.memory(), PushTo::Joint(number), 7), Pull::Pending);
    let (mut here, mut there) = (Told::default(), Told::default());
    sender.poll(&mut here);
    assert_eq!(here, Told::default(), "the receiver has not said anything");
    receiver.poll(&mut there);
    receiver.poll(&mut there);
    sender.poll(&mut here);
    assert_eq!(here, Told { undelivered: vec![(1, 7, 5, LEN as u64)], ..Told::default() });
    receiver.poll(&mut there);
    sender.poll(&mut here);
    assert_eq!((here.undelivered.len(), there), (1, Told::default()), "told once");
    let publish = || direct(&receiver).publish(0, &KEY, &target.memory(), 6, 0);
    assert!((0..30).all(|_| publish().is_some()), "its slot is free again");
}

#[test]
fn what_the_sender_cannot_have_copied_the_receiver_fetches() {
    let [sender, receiver] = pair();
    let (source, target) = (Pages::new(1), Pages::new(0));
    target.lock(true);
    let Some(delivery) = send(&sender, &receiver, &source, &target) else { return };
    target.lock(false);
    assert_eq!(delivery, Delivery::Pending);
    let (mut here, mut there) = (Told::default(), Told::default());
    receiver.poll(&mut there);
    assert_eq!(there.delivered, [(5, LEN as u64)]);
    sender.poll(&mut here);
    assert_eq!(here, Told { sent: vec![7], ..Told::default() });
    assert!(target.holds(1));
}

/// Whether the receiver of a message should have the kernel copy it.
fn suits_kernel(device: &Shm, peer: u32) -> Likely {
    direct(device).pair(peer).suits_kernel(LEN)
}

#[test]
fn what_its_receiver_cannot_have_copied_is_not_fetched() {
    let [sender, receiver] = pair();
    let (source, target) = (Pages::new(1), Pages::new(0));
    if suits_kernel(&sender, 1) == Likely::No {
        return eprintln!("skipped: memory of other processes cannot be copied here");
    }
    let fetch = || direct(&receiver).pull(0, &source.memory(), PullTo::ByKernel(&target.memory()));
    assert_eq!(fetch(), Pull::Done);
    assert!(target.holds(1));
    source.lock(true);
    assert_eq!(fetch(), Pull::No);
    assert_eq!(suits_kernel(&receiver, 0), Likely::No, "it is not tried again");
}
