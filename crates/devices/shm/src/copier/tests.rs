//! The thread beside a process that looks, in one process.

use super::*;
use crate::posted_receives::{Published, Stage};
use tern_copy::Target;
use tern_device::{Key, Memory};

const LEN: usize = 1 << 20;
const KEY: Key = Key { context: 1, source: 0, tag: 3 };

/// Two memories of one process, and the copy from the first into the second that was begun.
struct Copy {
    posted: Box<PostedReceives>,
    bell: Box<Doorbell>,
    source: Vec<u8>,
    target: Vec<u8>,
    slot: u32,
    word: Word,
}

impl Copy {
    /// `kernel`: by the kernel, else through views.
    fn begin(order: u32, kernel: bool) -> Copy {
        let posted = Box::<PostedReceives>::default();
        let source: Vec<u8> = (0..LEN).map(|at| (at / 7) as u8).collect();
        let target = vec![0u8; LEN];
        let place = u64::from(!kernel);
        let memory = |bytes: &[u8]| Memory { place, ..Memory::dense(bytes.as_ptr(), LEN) };
        let receive = Published { key: KEY, receiver: 5, target: memory(&target) };
        let slot = posted.publish(&receive, order, 0).expect("free");
        let (slot, word) = posted.find(&KEY, 0).filter(|found| found.0 == slot).expect("published");
        assert!(posted.claim(slot, word));
        let word = posted.share(slot, word, &memory(&source), LEN as u64, Target::Soon, false);
        // SAFETY: a doorbell is made of words that begin as zeros.
        let bell = Box::new(unsafe { std::mem::zeroed::<Doorbell>() });
        Copy { posted, bell, source, target, slot, word }
    }

    fn task(&self, side: Side, reach: Reach) -> Task {
        let bell = ptr::from_ref(&*self.bell);
        Task { posted: &raw const *self.posted, slot: self.slot, word: self.word, side, reach, bells: [bell; 2] }
    }

    fn view(&self, side: Side) -> Reach {
        match side {
            Side::Sender => Reach::View(self.target.as_ptr().cast_mut()),
            Side::Receiver => Reach::View(self.source.as_ptr().cast_mut()),
        }
    }

    fn progress(&self, copier: &Copier) -> Option<Progress> {
        copier.has(&raw const *self.posted, self.slot, self.word)
    }

    fn is_whole(&self) -> bool {
        // SAFETY: the thread has left it.
        let target = unsafe { std::slice::from_raw_parts(ptr::from_ref(&self.target[0]), LEN) };
        self.posted.word(self.slot).stage() == Stage::Filled && target == self.source
    }
}

fn give(copier: &Copier, task: &Task) -> bool {
    // SAFETY: the copies outlive the thread in all tests, and nobody else gives chunks back.
    unsafe { copier.give(task) }
}

#[test]
fn the_share_of_either_side_is_copied_without_a_call() {
    let copier = Copier::start().expect("a thread");
    for (order, side) in [(0, Side::Sender), (1, Side::Receiver)] {
        for kernel in [false, true] {
            let copy = Copy::begin(order, kernel);
            let reach = if kernel { Reach::Process(std::process::id()) } else { copy.view(side) };
            assert_eq!(copy.progress(&copier), None);
            assert!(give(&copier, &copy.task(side, reach)));
            copier.finish();
            assert_eq!(copy.progress(&copier), Some(Progress::Ended));
            assert!(copy.is_whole(), "{side:?}, kernel: {kernel}");
            assert_eq!((copier.let_go(), copier.let_go()), (u32::from(!kernel), 0));
        }
    }
}

#[test]
fn the_process_takes_chunks_too_and_each_is_copied_once() {
    let copier = Copier::start().expect("a thread");
    for order in 0..50 {
        let copy = Copy::begin(order, false);
        assert!(give(&copier, &copy.task(Side::Sender, copy.view(Side::Sender))));
        // Both sides' own, as a call of each would.
        let mine = copy_share(&copy.posted, copy.slot, copy.word, Side::Receiver, copy.view(Side::Receiver));
        let other = copy_share(&copy.posted, copy.slot, copy.word, Side::Sender, copy.view(Side::Sender));
        assert!(mine != Share::Failed && other != Share::Failed);
        copier.finish();
        assert!(copy.is_whole(), "order {order}");
    }
}

#[test]
fn what_the_kernel_refuses_is_told() {
    let copier = Copier::start().expect("a thread");
    // No process has this number: the kernel's largest is below it.
    let nobody = Reach::Process(i32::MAX as u32);
    let copy = Copy::begin(0, true);
    assert!(give(&copier, &copy.task(Side::Receiver, nobody)));
    copier.finish();
    assert_eq!(copy.progress(&copier), Some(Progress::Failed));
    assert!(copy.posted.slot(copy.slot).is_refused() && copy.posted.word(copy.slot).stage() == Stage::Shared);
    // All chunks are there for the sender.
    let own = Reach::Process(std::process::id());
    assert_eq!(copy_share(&copy.posted, copy.slot, copy.word, Side::Sender, own), Share::Last);
    assert!(copy.is_whole());
}

#[test]
fn there_is_room_for_some_and_it_comes_back() {
    let copier = Copier::start().expect("a thread");
    let copies: Vec<Copy> = (0..3 * ROOM as u32).map(|order| Copy::begin(order, false)).collect();
    let mut refused = 0;
    for copy in &copies {
        while !give(&copier, &copy.task(Side::Sender, copy.view(Side::Sender))) {
            refused += 1;
            rustix::thread::sched_yield();
        }
    }
    copier.finish();
    assert!(copies.iter().all(Copy::is_whole), "{refused} were refused meanwhile");
    assert_eq!(copies[0].progress(&copier), None, "its entry is another's");
    assert_eq!(copies.last().expect("one").progress(&copier), Some(Progress::Ended));
}

#[test]
fn the_c_library_does_not_know_of_the_thread() {
    let before = tern_threads::unseen();
    let copier = Copier::start().expect("a thread");
    assert!(tern_threads::unseen() > before);
    drop(copier);
}
