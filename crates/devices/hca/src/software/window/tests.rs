use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
struct Plain {
    id: u32,
    answers: bool,
    fence: bool,
}

impl Request for Plain {
    fn answers(&self) -> bool {
        self.answers
    }
    fn fence(&self) -> bool {
        self.fence
    }
}

#[derive(Clone, Debug)]
enum Step {
    Post {
        answers: bool,
        fence: bool,
    },
    /// The requester sends what it may.
    Send,
    /// The target takes the next frame; if it must, it has no receive now.
    Target {
        ready: bool,
    },
    /// The target sends the answer of a read or an atomic.
    Answer,
    /// The requester takes the next frame.
    Requester,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (any::<bool>(), any::<bool>()).prop_map(|(answers, fence)| Step::Post { answers, fence }),
        Just(Step::Send),
        proptest::bool::weighted(0.7).prop_map(|ready| Step::Target { ready }),
        Just(Step::Answer),
        Just(Step::Requester),
    ]
}

enum Back {
    Executed(u64),
    Answer(u64),
    NotReady(u64),
}

/// A requester and its target, with a line each way.
struct World {
    window: Window<Plain>,
    posted: u32,
    there: VecDeque<(u64, Plain)>,
    back: VecDeque<Back>,
    expected: u64,
    dropping: bool,
    /// What the target has executed; of these whose answer it still owes.
    executed: Vec<Plain>,
    owed: VecDeque<u64>,
    completed: Vec<u32>,
}

impl World {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Post { answers, fence } => {
                self.window.post(Plain { id: self.posted, answers, fence });
                self.posted += 1;
            }
            Step::Send => {
                if let Some((number, request)) = self.window.sendable() {
                    let request = *request;
                    self.there.push_back((number, request));
                    self.window.sent(number);
                }
            }
            Step::Target { ready } => self.target(ready),
            Step::Answer => {
                if let Some(number) = self.owed.pop_front() {
                    self.back.push_back(Back::Answer(number));
                }
            }
            Step::Requester => {
                match self.back.pop_front() {
                    Some(Back::Executed(number)) => self.window.executed(number),
                    Some(Back::Answer(number)) => assert!(self.window.answered(number)),
                    Some(Back::NotReady(number)) => assert!(self.window.rewind(number)),
                    None => {}
                }
                while let Some(request) = self.window.pop() {
                    self.completed.push(request.id);
                }
            }
        }
    }

    fn target(&mut self, ready: bool) {
        let Some((number, request)) = self.there.pop_front() else {
            return;
        };
        if number != self.expected {
            assert!(self.dropping, "frames are only skipped behind one that was not ready");
            return;
        }
        // Only sends need a receive.
        if !ready && !request.answers {
            self.dropping = true;
            self.back.push_back(Back::NotReady(number));
            return;
        }
        self.dropping = false;
        if request.fence {
            let before = |plain: &&Plain| plain.answers && !self.completed_or_answered(plain.id);
            assert!(self.executed.iter().find(before).is_none(), "a fence was passed");
        }
        self.executed.push(request);
        self.expected += 1;
        if request.answers {
            self.owed.push_back(number);
        } else {
            self.back.push_back(Back::Executed(self.expected));
        }
    }

    /// Its answer has at least been sent.
    fn completed_or_answered(&self, id: u32) -> bool {
        !self.owed.contains(&u64::from(id))
    }
}

proptest! {
    /// Whatever happens in between: everything is executed once, in order, and completes in order.
    #[test]
    fn requests_are_executed_once_and_in_order(steps in proptest::collection::vec(step(), 0..400), allowed in 1u32..4) {
        let mut window = Window::new();
        window.allow_reads(allowed);
        let mut world = World {
            window, posted: 0, there: VecDeque::new(), back: VecDeque::new(), expected: 0, dropping: false,
            executed: Vec::new(), owed: VecDeque::new(), completed: Vec::new(),
        };
        for step in &steps {
            world.step(step);
            prop_assert!(world.owed.len() <= allowed as usize);
        }
        // In the end everybody is ready.
        for _ in 0..10 * steps.len() + 10 {
            for step in [Step::Send, Step::Target { ready: true }, Step::Answer, Step::Requester] {
                world.step(&step);
            }
        }
        let all: Vec<u32> = (0..world.posted).collect();
        prop_assert_eq!(&world.executed.iter().map(|request| request.id).collect::<Vec<_>>(), &all);
        prop_assert_eq!(&world.completed, &all);
        prop_assert!(world.window.is_empty());
    }
}

#[test]
fn what_is_not_under_way_is_refused() {
    let mut window = Window::new();
    assert!(!window.answered(0) && !window.rewind(1));
    window.post(Plain { id: 0, answers: false, fence: false });
    assert!(!window.answered(0), "it was not sent");
    window.sent(0);
    assert!(!window.answered(0), "it has no answer");
    window.executed(7);
    assert_eq!(window.pop().map(|request| request.id), Some(0));
    assert!(!window.rewind(0), "it is complete");
}
