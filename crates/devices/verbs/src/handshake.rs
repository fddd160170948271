//! How two processes come to one connection, whoever begins: the states of a peer, without sockets.
//!
//! A process that first sends *calls*: it says hello with its queue pair, once the peer can be spoken to. Until then the two are
//! apart, and the peer's own call may come first: a firewall may let calls pass in one direction only. The called one answers with its
//! own (welcome), and the caller confirms (ready), after which both may send: the called one not before,
//! since the caller's queue pair may not take packets yet. If both call at the same time, the call of the
//! process with the lower number counts: it declines the other's, which then waits for the hello that is
//! on its way.

/// How far the connection to a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Nobody has said anything.
    Apart,
    /// We have said hello.
    Calling,
    /// Our call was declined, because the peer calls too.
    Expecting,
    /// We have welcomed the peer, whose confirmation is to come.
    Welcoming,
    /// Both may send.
    Open,
    /// It cannot be made, or is broken.
    Lost,
}

/// What has happened on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The peer calls.
    Hello,
    /// The peer welcomes our call.
    Welcome,
    /// The peer declines our call.
    Declined,
    /// The peer confirms that its call may be used.
    Ready,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Connect the queue pair to the peer's, and answer with ours.
    Welcome,
    /// Decline the call.
    Decline,
    /// Say why the peer is lost here, so that it need not wait.
    Refuse,
    /// Connect the queue pair to the peer's, and confirm.
    Ready,
    /// Nothing.
    Nothing,
}

impl State {
    /// What `event` makes of the state, and what to answer. `lower`: our number is below the peer's.
    pub fn after(self, event: Event, lower: bool) -> (State, Answer) {
        use State::*;
        match (event, self) {
            (Event::Hello, Apart | Expecting) => (Welcoming, Answer::Welcome),
            // Ours is going to be declined.
            (Event::Hello, Calling) if !lower => (Welcoming, Answer::Welcome),
            (Event::Hello, Lost) => (Lost, Answer::Refuse),
            // An old call of a peer that has welcomed ours.
            (Event::Hello, _) => (self, Answer::Decline),
            (Event::Welcome, Calling) => (Open, Answer::Ready),
            (Event::Declined, Calling) => (Expecting, Answer::Nothing),
            (Event::Ready, Welcoming) => (Open, Answer::Nothing),
            (Event::Welcome | Event::Declined | Event::Ready, _) => (self, Answer::Nothing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashSet, VecDeque};

    /// A call between two sides: what is under way to each of them. Words of one call stay in order.
    type Call = [VecDeque<Event>; 2];

    #[derive(Clone, PartialEq, Eq, Hash)]
    struct World {
        states: [State; 2],
        /// Who is going to call.
        wants: [bool; 2],
        calls: [Option<Call>; 2],
        /// On whose call each side has connected its queue pair.
        connected: [Option<usize>; 2],
    }

    impl World {
        fn next(&self) -> Vec<World> {
            let mut worlds = Vec::new();
            for me in 0..2 {
                let with = |change: &dyn Fn(&mut World)| {
                    let mut world = self.clone();
                    change(&mut world);
                    world
                };
                if self.wants[me] {
                    worlds.push(with(&|world| {
                        world.wants[me] = false;
                        if world.states[me] == State::Apart {
                            world.states[me] = State::Calling;
                            let mut call = Call::default();
                            call[1 - me].push_back(Event::Hello);
                            world.calls[me] = Some(call);
                        }
                    }));
                }
                for caller in 0..2 {
                    if self.calls[caller].as_ref().is_some_and(|call| !call[me].is_empty()) {
                        worlds.push(with(&|world| world.hear(me, caller)));
                    }
                }
            }
            worlds
        }

        fn hear(&mut self, me: usize, caller: usize) {
            let call = self.calls[caller].as_mut().expect("a call");
            let event = call[me].pop_front().expect("a word");
            let (state, answer) = self.states[me].after(event, me == 0);
            self.states[me] = state;
            let word = match answer {
                Answer::Nothing => return,
                Answer::Decline => Event::Declined,
                Answer::Refuse => unreachable!("nobody is lost"),
                Answer::Welcome => Event::Welcome,
                Answer::Ready => Event::Ready,
            };
            if answer != Answer::Decline {
                assert_eq!(self.connected[me], None, "connected twice");
                self.connected[me] = Some(caller);
            }
            call[1 - me].push_back(word);
        }
    }

    #[test]
    fn every_order_of_events_ends_with_one_connection() {
        for wants in [[true, false], [false, true], [true, true]] {
            let apart = [State::Apart; 2];
            let first = World { states: apart, wants, calls: [None, None], connected: [None; 2] };
            let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
            while let Some(world) = open.pop() {
                for me in 0..2 {
                    if world.states[me] == State::Open {
                        assert_eq!(world.connected[me], world.connected[1 - me], "ends of two calls");
                    }
                }
                let next = world.next();
                if next.is_empty() {
                    assert_eq!(world.states, [State::Open; 2]);
                }
                open.extend(next.into_iter().filter(|world| seen.insert(world.clone())));
            }
            assert!(seen.len() > 4);
        }
    }

    #[test]
    fn a_peer_that_is_given_up_is_refused() {
        assert_eq!(State::Lost.after(Event::Hello, true), (State::Lost, Answer::Refuse));
        assert_eq!(State::Lost.after(Event::Welcome, true), (State::Lost, Answer::Nothing));
    }
}
