//! What is learned of a program's pattern of calls, and of its peers: cold, and in a thousand messages.

use std::fmt::Write;
use tern_policy::{CoreBalance, CoreContention, Habits, Order, PeerLooks, ReadyPredictor, VainLooks};

const TIMES: usize = 1000;

/// Numbers at which something changes: `no, from 4 yes, ...`, up to eight of them, and how many of the last hundred are so.
fn changes(told: &[bool]) -> String {
    let mut parts = vec![format!("0 {}", told[0])];
    parts.extend(
        told.windows(2).zip(1..).filter(|(two, _)| two[0] != two[1]).map(|(two, at)| format!("{at} {}", two[1])),
    );
    let last = told[told.len() - 100..].iter().filter(|&&is| is).count();
    format!("{}; of the last 100: {last}", parts.iter().take(8).cloned().collect::<Vec<_>>().join(", "))
}

/// A round of a program: what it posts, sends and computes before it waits.
#[derive(Clone, Copy)]
struct Round {
    receives: u32,
    sends: u32,
    /// Sends come first.
    sends_first: bool,
    /// Nanoseconds before the wait.
    computes: u64,
}

/// What holds in each of a thousand rounds, when the first receive is posted and when a send begins.
fn habits(round: impl Fn(usize) -> Round) -> [String; 4] {
    let (mut habits, mut now) = (Habits::default(), 0);
    let (mut at_once, mut one, mut exchanges, mut short) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for number in 0..TIMES {
        let Round { receives, sends, sends_first, computes } = round(number);
        let send = |habits: &mut Habits, now: &mut u64| {
            habits.send(true, || *now);
            *now += 100;
            habits.is_started(|| *now);
        };
        if sends_first {
            (0..sends).for_each(|_| send(&mut habits, &mut now));
        }
        let mut posted = false;
        for _ in 0..receives {
            posted = habits.post(|| now);
            now += 100;
            habits.is_started(|| now);
        }
        at_once.push(posted);
        one.push(habits.waits_for_one());
        exchanges.push(habits.exchanges());
        short.push(habits.exchanges_such(|| true));
        if !sends_first {
            (0..sends).for_each(|_| send(&mut habits, &mut now));
        }
        now += computes;
        habits.wait(|| now);
        now += 1000;
        habits.go_on(false, || now);
    }
    [at_once, one, exchanges, short].map(|told| changes(&told))
}

/// What a program does in each of its rounds.
type Program = Box<dyn Fn(usize) -> Round>;

fn programs(text: &mut String) {
    let plain = Round { receives: 2, sends: 0, sends_first: false, computes: 0 };
    let computes = Round { computes: 5000, ..plain };
    let exchange = Round { sends: 2, ..plain };
    let programs: [(&str, Program); 9] = [
        ("waits at once", Box::new(move |_| plain)),
        ("waits for one at a time", Box::new(move |_| Round { receives: 1, ..plain })),
        ("computes before it waits", Box::new(move |_| computes)),
        ("sends and waits", Box::new(move |_| exchange)),
        ("sends first and waits", Box::new(move |_| Round { sends_first: true, ..exchange })),
        ("sends and computes", Box::new(move |_| Round { computes: 5000, ..exchange })),
        ("sends first and computes", Box::new(move |_| Round { computes: 5000, sends_first: true, ..exchange })),
        ("computes each fourth time", Box::new(move |round| if round % 4 == 3 { computes } else { plain })),
        ("begins to compute after 500", Box::new(move |round| if round >= 500 { computes } else { plain })),
    ];
    for (name, round) in programs {
        let [at_once, one, exchanges, short] = habits(round);
        _ = writeln!(text, "  {name}: waits at once {at_once}");
        _ = writeln!(text, "  {name}: waits for one {one}");
        _ = writeln!(text, "  {name}: exchanges {exchanges}");
        _ = writeln!(text, "  {name}: exchanges short ones {short}");
    }
}

/// Whether a receive looks for its message when it is posted, in a program whose rounds are these calls: r, s and w.
fn order(calls: &str) -> String {
    let mut order = Order::default();
    let mut told = Vec::new();
    for call in calls.chars().cycle().take(TIMES * calls.len()) {
        match call {
            'r' => told.push(order.receive()),
            's' => order.send(),
            _ => order.wait(),
        }
    }
    changes(&told)
}

fn peers(text: &mut String) {
    for (name, found) in [("always", true), ("never", false)] {
        let looks = PeerLooks::default();
        looks.note_published(found);
        let further = [8 << 10, 16 << 10, 64 << 10, 1 << 20].map(|len| looks.further_for_published(len, || false));
        _ = writeln!(text, "  published receives are {name} there: further looks {further:?}");
        looks.note_waiting(found);
        _ = writeln!(text, "  it waits {name}: looks {}", looks.for_waiting());
    }
    for (name, seen) in [("never", [false; 4]), ("each fourth time", [false, false, false, true])] {
        let looks = PeerLooks::default();
        let counts: Vec<bool> = (0..TIMES)
            .map(|number| {
                let count = looks.for_ready();
                looks.note_ready(seen[number % 4]);
                count > 1
            })
            .collect();
        _ = writeln!(text, "  it is ready {name}: looks a while {}", changes(&counts));
    }
    for (name, wrong) in [("right", 0), ("wrong each 50th time", 50), ("wrong always", 1)] {
        let mut predictor = ReadyPredictor::default();
        let told: Vec<bool> = (0..TIMES)
            .map(|number| {
                let predicts = predictor.predicts();
                match predicts {
                    true => predictor.judge(wrong == 0 || number % wrong != 0),
                    false => predictor.see(true),
                }
                predicts
            })
            .collect();
        _ = writeln!(text, "  always ready, and its prediction {name}: predicted {}", changes(&told));
    }
}

fn cores(text: &mut String) {
    for (name, moved) in [("lasts", true), ("does not last", false)] {
        let balance = CoreBalance::default();
        let due: Vec<usize> = (0..100_000)
            .filter(|_| {
                let due = balance.is_due();
                if due {
                    balance.looked(moved);
                }
                due
            })
            .collect();
        _ = writeln!(
            text,
            "  going elsewhere {name}: {} looks, the first at {:?}",
            due.len(),
            &due[..due.len().min(10)]
        );
    }
    let contention = CoreContention::default();
    let yields: Vec<bool> = (0..TIMES as u64)
        .map(|number| {
            let allowed = contention.allow_yield();
            if allowed {
                contention.note(2 * CoreContention::LONG, || number * 1000, || 1);
            }
            allowed
        })
        .collect();
    _ = writeln!(text, "  yields take long, a thousand waits: yields {}", changes(&yields));
    let looks = VainLooks::default();
    for (name, moved, crowded) in
        [("in vain", false, true), ("in vain, with a core for each", false, false), ("not in vain", true, true)]
    {
        let gives: Vec<bool> = (0..TIMES).map(|_| looks.look(moved, || crowded)).collect();
        _ = writeln!(text, "  looks {name}: gives way {}", changes(&gives));
    }
}

pub fn text() -> String {
    let mut text =
        String::from("# What is learned of a program and its peers, in a thousand rounds, messages or looks.\n");
    text += "\nrounds of receives and sends\n";
    programs(&mut text);
    text += "\nreceives that look for their message at once, by the order of calls\n";
    for calls in ["rw", "rrw", "rsw", "srw", "rrssw", "rwsw", "rwrsw"] {
        _ = writeln!(text, "  {calls}: {}", order(calls));
    }
    text += "\na peer\n";
    peers(&mut text);
    text += "\nmore ranks than cores, and strangers\n";
    cores(&mut text);
    text
}
