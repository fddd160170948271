use super::*;

fn milan() -> Machine {
    Machine::named("2x-epyc-7r13").expect("a machine")
}

/// Nanoseconds of one call whose lines nobody has touched before.
fn once(members: &[Vec<Step>]) -> f64 {
    replay(&milan(), members, 1).nanoseconds
}

fn publish() -> Vec<Step> {
    vec![Step::Publish { turn: 1 }]
}

fn wait(owner: usize) -> Step {
    Step::Await { owner, turn: 1 }
}

#[test]
fn who_waits_has_the_line_a_transfer_after_it_was_published() {
    // An access to publish, one to look, and the transfer.
    assert_eq!(once(&[publish(), vec![wait(0)]]), 2.0 + 2.0 + 23.0);
}

#[test]
fn loads_of_what_is_there_overlap_up_to_the_window() {
    let reader = |turns: usize| {
        // The last one to publish shows that all are there.
        let own = |at: usize| if at + 1 == turns { vec![wait(at - 1), Step::Publish { turn: 1 }] } else { publish() };
        let mut members: Vec<Vec<Step>> = (0..turns).map(own).collect();
        members.push([wait(turns - 1)].into_iter().chain((0..turns - 1).map(wait)).collect());
        once(&members)
    };
    let [few, some] = [3, 7].map(reader);
    assert_eq!(some - few, 4.0 * 2.0, "each takes an access more");
    // Behind ten, each has to wait for the one ten before it: the window is full twice.
    let many = reader(31);
    assert!(many > some + 107.0, "{many}");
}

#[test]
fn polls_do_not_wait_for_each_other() {
    // Two caches of the node publish at one time.
    let with = |steps: [Step; 2]| {
        let mut members = vec![Vec::new(); 17];
        (members[0], members[8], members[16]) = (steps.to_vec(), publish(), publish());
        once(&members)
    };
    assert_eq!(with([wait(8), wait(16)]), 2.0 + 2.0 + 107.0 + 2.0 + 107.0, "the second behind the first");
    let poll = |owner| Step::Poll { owner, turn: 1 };
    assert_eq!(with([poll(8), poll(16)]), 2.0 + 2.0 + 107.0 + 64.0 / 51.0, "one line more on the link");
}

#[test]
fn a_member_goes_on_while_its_store_is_on_its_way() {
    let machine = milan();
    // The other package reads the line, and in the next call but one it is written again.
    let stores = vec![Step::Publish { turn: 1 }];
    let reads = vec![wait(0), Step::Publish { turn: 1 }];
    let mut members = vec![Vec::new(); 49];
    (members[0], members[48]) = (stores, reads.clone());
    let alone = replay_over(&machine, &members, 40, 2).nanoseconds;
    assert_eq!(alone, 2.0 + 197.0 + 2.0 + 197.0 + 2.0, "the store takes the line back, then it is read");
    // A fetch two turns before takes it back in time.
    members[0] = vec![Step::Fetch { turn: 3 }, Step::Publish { turn: 1 }];
    let early = replay_over(&machine, &members, 40, 4).nanoseconds;
    assert_eq!(early, alone - 197.0 + 2.0);
}

#[test]
fn a_payload_is_written_before_its_turn_and_read_behind_it() {
    let bytes = 4096;
    let writer = vec![Step::Write { turn: 1, bytes }, Step::Publish { turn: 1 }];
    let reader = vec![wait(0), Step::Read { owner: 0, turn: 1, bytes }];
    let machine = milan();
    let copied = 4096.0 / machine.copy;
    let read = 23.0 + (4096.0 - 64.0) / 25.0;
    assert_eq!(once(&[writer, reader.clone()]), 2.0 + copied + 2.0 + 2.0 + 23.0 + 2.0 + read);
    // What lies there already is not copied.
    let owner = vec![Step::Own { turn: 1, bytes }, Step::Publish { turn: 1 }];
    assert_eq!(once(&[owner, reader]), 2.0 + 2.0 + 23.0 + 2.0 + read);
}

#[test]
#[should_panic(expected = "a member waits for nobody")]
fn who_waits_for_nobody_is_seen() {
    once(&[vec![wait(1)], vec![wait(0), Step::Publish { turn: 1 }]]);
}
