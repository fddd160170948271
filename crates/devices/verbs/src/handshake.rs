//! How two processes come to one connection, whoever begins: the states of a peer, without sockets.
//!
//! A process that first sends *calls*: it says hello with its queue pair, once the peer can be spoken to. Until then the two are
//! apart, and the peer's own call may come first: a firewall may let calls pass in one direction only. The called one answers with its
//! own (welcome), and the caller confirms (ready), after which both may send: the called one not before,
//! since the caller's queue pair may not take packets yet. If both call at the same time, the call of the
//! process with the lower number counts: it declines the other's, which then waits for the hello that is
//! on its way.
//!
//! Either side may lack what a connection takes. Who refuses the call that counts has lost the peer itself, for that one will not
//! call again. What is said of a call that does not count changes nothing, or one side would be lost and the other one connected.

/// How far the connection to a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Nobody has said anything.
    Apart,
    /// We are calling, and have not said hello.
    Knocking,
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
    /// The same, and this process lacks what the connection takes.
    VainHello,
    /// The peer welcomes our call.
    Welcome,
    /// The peer declines our call.
    Declined,
    /// The peer refuses our call: it lacks something, or has given us up.
    Refused,
    /// The peer confirms that its call may be used.
    Ready,
    /// The peer takes its call back, for it lacks something.
    Withdrawn,
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
    /// The peer is lost: say so to whoever waits for it here.
    Lose,
    /// Connect the queue pair to the peer's, and confirm.
    Ready,
    /// Nothing.
    Nothing,
}

impl State {
    /// What `event` makes of the state, and what to answer. `lower`: our number is below the peer's.
    pub fn after(self, event: Event, lower: bool) -> (State, Answer) {
        use State::*;
        // Of our call that is going to be declined nothing more comes.
        let counts = matches!(self, Apart | Knocking | Expecting) || self == Calling && !lower;
        match (event, self) {
            (Event::Hello, _) if counts => (Welcoming, Answer::Welcome),
            (Event::VainHello, _) if counts => (Lost, Answer::Refuse),
            (Event::Hello | Event::VainHello, Lost) => (Lost, Answer::Refuse),
            // Ours counts; or it is an old call of a peer that has welcomed ours.
            (Event::Hello | Event::VainHello, _) => (self, Answer::Decline),
            (Event::Welcome, Calling) => (Open, Answer::Ready),
            (Event::Declined, Calling) => (Expecting, Answer::Nothing),
            (Event::Ready, Welcoming) => (Open, Answer::Nothing),
            // While we welcome the peer's call, ours is one that does not count.
            (Event::Refused, Calling) | (Event::Withdrawn, Welcoming) => (Lost, Answer::Lose),
            _ => (self, Answer::Nothing),
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
        /// Who may find out that it lacks something, whenever it needs that.
        may_lack: [bool; 2],
        calls: [Option<Call>; 2],
        /// On whose call each side has connected its queue pair.
        connected: [Option<usize>; 2],
    }

    impl World {
        fn next(&self) -> Vec<World> {
            let mut worlds = Vec::new();
            for me in 0..2 {
                let mut with = |change: &dyn Fn(&mut World, bool)| {
                    for lacks in [false, true] {
                        if !lacks || self.may_lack[me] {
                            let mut world = self.clone();
                            change(&mut world, lacks);
                            worlds.push(world);
                        }
                    }
                };
                if self.wants[me] {
                    with(&|world, _| {
                        world.wants[me] = false;
                        if world.states[me] == State::Apart {
                            world.states[me] = State::Knocking;
                        }
                    });
                }
                if self.states[me] == State::Knocking {
                    with(&|world, lacks| world.say_hello(me, lacks));
                }
                for caller in 0..2 {
                    if self.calls[caller].as_ref().is_some_and(|call| !call[me].is_empty()) {
                        with(&|world, lacks| world.hear(me, caller, lacks, false));
                        with(&|world, lacks| world.hear(me, caller, false, lacks));
                    }
                }
            }
            worlds
        }

        /// Who lacks something for the call says so behind its hello.
        fn say_hello(&mut self, me: usize, lacks: bool) {
            let mut call = Call::default();
            call[1 - me].push_back(Event::Hello);
            if lacks {
                call[1 - me].push_back(Event::Withdrawn);
            }
            self.states[me] = if lacks { State::Lost } else { State::Calling };
            self.calls[me] = Some(call);
        }

        /// `turns_away`: nothing is left for a call; `lacks`: nothing is left to connect the queue pair.
        fn hear(&mut self, me: usize, caller: usize, turns_away: bool, lacks: bool) {
            let call = self.calls[caller].as_mut().expect("a call");
            let mut event = call[me].pop_front().expect("a word");
            if event == Event::Hello && turns_away {
                event = Event::VainHello;
            }
            let (state, answer) = self.states[me].after(event, me == 0);
            self.states[me] = state;
            let refuses = if caller == me { Event::Withdrawn } else { Event::Refused };
            let word = match answer {
                Answer::Nothing | Answer::Lose => return,
                Answer::Decline => Event::Declined,
                Answer::Refuse => refuses,
                Answer::Welcome | Answer::Ready if lacks => {
                    self.states[me] = State::Lost;
                    refuses
                }
                Answer::Welcome => Event::Welcome,
                Answer::Ready => Event::Ready,
            };
            if matches!(word, Event::Welcome | Event::Ready) {
                assert_eq!(self.connected[me], None, "connected twice");
                self.connected[me] = Some(caller);
            }
            call[1 - me].push_back(word);
        }
    }

    /// All worlds in which nothing is left to happen.
    fn ends(wants: [bool; 2], may_lack: [bool; 2]) -> Vec<[State; 2]> {
        let (states, calls) = ([State::Apart; 2], [None, None]);
        let first = World { states, wants, may_lack, calls, connected: [None; 2] };
        let (mut seen, mut open, mut ends) = (HashSet::from([first.clone()]), vec![first], Vec::new());
        while let Some(world) = open.pop() {
            if world.states == [State::Open; 2] {
                assert_eq!(world.connected[0], world.connected[1], "ends of two calls");
            }
            let next = world.next();
            if next.is_empty() {
                ends.push(world.states);
            }
            open.extend(next.into_iter().filter(|world| seen.insert(world.clone())));
        }
        assert!(seen.len() > 4);
        ends
    }

    const WANTS: [[bool; 2]; 3] = [[true, false], [false, true], [true, true]];

    #[test]
    fn every_order_of_events_ends_with_one_connection() {
        for wants in WANTS {
            assert!(ends(wants, [false; 2]).iter().all(|states| *states == [State::Open; 2]));
        }
    }

    /// Nobody waits for a peer that has given it up, whoever lacks something and when.
    #[test]
    fn both_sides_are_connected_or_both_are_lost() {
        for wants in WANTS {
            for may_lack in [[true, false], [false, true], [true, true]] {
                let ends = ends(wants, may_lack);
                for state in [State::Open, State::Lost] {
                    assert!(ends.contains(&[state; 2]), "{state:?} with {wants:?}, {may_lack:?}");
                }
                let mixed: Vec<_> = ends.iter().filter(|[one, other]| one != other || !ENDS.contains(one)).collect();
                assert!(mixed.is_empty(), "{mixed:?} with {wants:?}, {may_lack:?}");
            }
        }
    }

    const ENDS: [State; 2] = [State::Open, State::Lost];

    #[test]
    fn a_peer_that_is_given_up_is_refused() {
        assert_eq!(State::Lost.after(Event::Hello, true), (State::Lost, Answer::Refuse));
        assert_eq!(State::Lost.after(Event::Welcome, true), (State::Lost, Answer::Nothing));
    }
}
