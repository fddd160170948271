//! Generated sequences of calls, beside a model that keeps all epochs in one list and asks of it
//! the sentences of the standard, one by one.

use super::*;
use proptest::prelude::*;

const ME: u32 = 1;
const RANKS: u32 = 3;

#[derive(Clone, Copy, Debug)]
enum Call {
    Access(u32),
    Request(u32),
    FlushAll,
    Fence {
        precedes: bool,
        succeeds: bool,
    },
    /// Targets as bits.
    Start(u32),
    Complete,
    Post,
    Wait,
    Lock(u32),
    Unlock(u32),
    LockAll,
    UnlockAll,
    Free,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let rank = 0..RANKS;
    let call = prop_oneof![
        4 => rank.clone().prop_map(Call::Access),
        2 => rank.clone().prop_map(Call::Request),
        1 => Just(Call::FlushAll),
        3 => any::<(bool, bool)>().prop_map(|(precedes, succeeds)| Call::Fence { precedes, succeeds }),
        2 => (0u32..1 << RANKS).prop_map(Call::Start),
        3 => Just(Call::Complete),
        2 => Just(Call::Post),
        3 => Just(Call::Wait),
        3 => rank.clone().prop_map(Call::Lock),
        4 => rank.prop_map(Call::Unlock),
        1 => Just(Call::LockAll),
        2 => Just(Call::UnlockAll),
        1 => Just(Call::Free),
    ];
    proptest::collection::vec(call, 1..60)
}

/// Ranks as the window has them: some are beyond a word of bits.
fn rank(target: u32) -> u32 {
    [0, ME, 70][target as usize]
}

fn real(epochs: &Epochs, call: Call) -> bool {
    let verdict = match call {
        Call::Access(target) => {
            let at_once = epochs.is_open(rank(target) as i32);
            let verdict = epochs.access(rank(target));
            // Then it is open, without anything to note.
            let known = epochs.is_open(rank(target) as i32);
            assert!(!at_once || verdict.is_ok());
            assert!(rank(target) >= 64 || known == verdict.is_ok());
            verdict
        }
        // A request is communication, too.
        Call::Request(target) => {
            let verdict = epochs.passive(rank(target));
            assert_eq!(epochs.is_passive(rank(target) as i32), verdict.is_ok() && rank(target) < 64);
            verdict
        }
        Call::FlushAll => epochs.passive_all(),
        Call::Fence { precedes, succeeds } => epochs.fence(precedes, succeeds),
        Call::Start(targets) => epochs.start((0..RANKS).filter(|r| targets >> r & 1 == 1).map(rank).collect()),
        Call::Complete => epochs.complete(),
        Call::Post => epochs.post(),
        Call::Wait => {
            let verdict = epochs.awaits();
            if verdict.is_ok() {
                epochs.waited();
            }
            verdict
        }
        Call::Lock(target) => {
            let verdict = epochs.locks(rank(target));
            if verdict.is_ok() {
                epochs.locked(rank(target));
            }
            verdict
        }
        Call::Unlock(target) => epochs.unlock(rank(target)),
        Call::LockAll => epochs.lock_all(),
        Call::UnlockAll => epochs.unlock_all(),
        Call::Free => epochs.free(),
    };
    verdict.is_ok()
}

/// What is open, in the words of the standard.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Epoch {
    /// A fence that an epoch may follow, and whether communication has.
    Fence(bool),
    Start(u32),
    Post,
    Lock(u32),
    LockAll,
}

#[derive(Default)]
struct Model(Vec<Epoch>);

impl Model {
    fn any(&self, is: impl Fn(Epoch) -> bool) -> bool {
        self.0.iter().any(|&epoch| is(epoch))
    }

    fn close(&mut self, is: impl Fn(Epoch) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|&epoch| !is(epoch));
        self.0.len() < before
    }

    /// A call that is allowed under a condition and then opens an epoch; a fence that began
    /// nothing begins nothing any more.
    fn open(&mut self, allowed: bool, epoch: Epoch) -> bool {
        if allowed {
            if epoch != Epoch::Post {
                self.close(|e| matches!(e, Epoch::Fence(_)));
            }
            self.0.push(epoch);
        }
        allowed
    }

    fn step(&mut self, call: Call) -> bool {
        use Epoch::*;
        let posted = self.any(|e| e == Post);
        let locked = self.any(|e| matches!(e, Lock(_)));
        let access = self.any(|e| matches!(e, Fence(true) | Start(_) | LockAll)) || locked;
        match call {
            Call::Access(target) => {
                self.0.iter_mut().filter(|e| matches!(e, Fence(_))).for_each(|e| *e = Fence(true));
                self.any(|e| match e {
                    Fence(_) | LockAll => true,
                    Start(targets) => targets >> target & 1 == 1,
                    Lock(other) => other == target,
                    Post => false,
                })
            }
            Call::Request(target) => self.any(|e| e == LockAll || e == Lock(target)),
            Call::FlushAll => self.any(|e| e == LockAll) || locked,
            Call::Fence { precedes, succeeds } => {
                let mixed = posted || self.any(|e| matches!(e, Start(_) | Lock(_) | LockAll));
                let lied = !precedes && self.any(|e| e == Fence(true));
                if mixed || lied {
                    return false;
                }
                self.close(|e| matches!(e, Fence(_)));
                if succeeds {
                    self.0.push(Fence(false));
                }
                true
            }
            Call::Start(targets) => self.open(!access, Start(targets)),
            Call::Complete => self.close(|e| matches!(e, Start(_))),
            Call::Post => {
                let own = self.any(|e| e == Lock(ME) || e == LockAll);
                self.open(!posted && !own, Post)
            }
            Call::Wait => self.close(|e| e == Post),
            Call::Lock(target) => {
                let other = self.any(|e| matches!(e, Fence(true) | Start(_) | LockAll));
                let again = self.any(|e| e == Lock(target));
                let exposed = target == ME && posted;
                self.open(!other && !again && !exposed, Lock(target))
            }
            Call::Unlock(target) => self.close(|e| e == Lock(target)),
            Call::LockAll => self.open(!access && !posted, LockAll),
            Call::UnlockAll => self.close(|e| e == LockAll),
            Call::Free => !access && !posted,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_call_is_judged_as_the_standard_says(calls in calls()) {
        let (epochs, mut model) = (Epochs::new(ME, 71), Model::default());
        for (at, &call) in calls.iter().enumerate() {
            let expected = model.step(call);
            prop_assert_eq!(real(&epochs, call), expected, "call {} of {:?}", at, calls);
        }
    }
}

#[test]
fn who_is_no_member_is_not_open() {
    let epochs = Epochs::new(ME, 3);
    epochs.lock_all().expect("nothing is open");
    assert!(epochs.is_open(2) && epochs.is_passive(2));
    for stranger in [3, 63, 64, -1, i32::MIN] {
        assert!(!epochs.is_open(stranger) && !epochs.is_passive(stranger));
    }
}

/// Plays calls of which all but the last are allowed; what becomes of the last.
fn last(calls: &[Call]) -> bool {
    let epochs = Epochs::new(ME, 71);
    let (&last, before) = calls.split_last().expect("a call");
    for &call in before {
        assert!(real(&epochs, call), "{call:?} of {calls:?}");
    }
    real(&epochs, last)
}

#[test]
fn the_usual_programs_are_allowed() {
    use Call::*;
    let fence = Fence { precedes: true, succeeds: true };
    assert!(last(&[fence, Access(0), fence, Free]));
    assert!(last(&[fence, Lock(0), Access(0), Request(0), FlushAll, Unlock(0), fence, Free]));
    assert!(last(&[Lock(0), Lock(2), Access(2), Unlock(0), Access(2), Unlock(2), Free]));
    assert!(last(&[Post, Start(0b111), Access(1), Complete, Wait, Free]));
    assert!(last(&[LockAll, Access(0), FlushAll, UnlockAll, Free]));
}

#[test]
fn the_usual_mistakes_are_found() {
    use Call::*;
    let fence = Fence { precedes: true, succeeds: true };
    let last_fence = Fence { precedes: true, succeeds: false };
    assert!(!last(&[Access(0)]));
    assert!(!last(&[Lock(0), Access(1)]));
    assert!(!last(&[Lock(0), Lock(0)]));
    assert!(!last(&[fence, Access(0), Lock(1)]));
    assert!(!last(&[last_fence, Access(0)]));
    assert!(!last(&[fence, Access(0), Fence { precedes: false, succeeds: true }]));
    assert!(!last(&[fence, Request(0)]));
    assert!(!last(&[Start(0b001), Access(1)]));
    assert!(!last(&[Post, fence]));
    assert!(!last(&[Post, Lock(ME)]));
    assert!(!last(&[LockAll, Post]));
    assert!(!last(&[Lock(0), Free]));
}
