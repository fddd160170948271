//! What a rank that waits tells of itself, and how it goes to the launcher (TERN_STALL).
//!
//! A report travels as text in a [`crate::control::Message::Stalled`], one line for each fact. Beside
//! it there is an [`Activity`] in the memory of each process, which the launcher reads from outside:
//! a rank that computes cannot be asked.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longest name of a communicator in a report, in bytes, and most processes that an item names.
const NAME: usize = 64;
const PEERS: usize = 64;

/// The tag of an item that takes any (MPI_ANY_TAG).
pub const ANY_TAG: i32 = -2;

/// One thing that a rank waits for, or has besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub what: What,
    /// The processes that it may concern: one, or several when any of them would do. None: unknown.
    pub peers: Vec<u32>,
    /// [`ANY_TAG`] for any; none where the library chose it.
    pub tag: Option<i32>,
    pub bytes: Option<u64>,
    /// Name of the communicator; empty where that is not known.
    pub comm: String,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A send that the receiver has not taken.
    Send,
    /// A receive without its message.
    Receive,
    /// A probe.
    Probe,
    /// Members that have not come to a collective.
    Member,
    /// A message that no receive has asked for.
    Message,
    /// A lock of one-sided communication, of what `comm` names. Who has it is not known.
    Lock,
    /// The same, that the peer has alone.
    LockAlone,
    /// The same, that the peers share.
    LockShared,
    /// The same, that the peer grants in a call of MPI, and that it does not answer for.
    LockUnanswered,
    /// A lock that the process has itself, alone.
    HasAlone,
    /// The same, shared.
    HasShared,
}

const WHATS: [(What, &str); 11] = [
    (What::Send, "send"),
    (What::Receive, "receive"),
    (What::Probe, "probe"),
    (What::Member, "member"),
    (What::Message, "message"),
    (What::Lock, "lock"),
    (What::LockAlone, "lock-alone"),
    (What::LockShared, "lock-shared"),
    (What::LockUnanswered, "lock-unanswered"),
    (What::HasAlone, "has-alone"),
    (What::HasShared, "has-shared"),
];

/// What one rank says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The MPI function that it is in.
    pub function: String,
    /// How long nothing has moved.
    pub idle: Duration,
    /// Asked by the launcher, so it may have waited less than TERN_STALL.
    pub asked: bool,
    /// It calls the function again and again instead of waiting inside.
    pub polls: bool,
    /// One of what it waits for is enough.
    pub any: bool,
    /// What it waits for in this call.
    pub waits: Vec<Item>,
    /// What is under way besides, the oldest first.
    pub besides: Vec<Item>,
    /// How many more there are of these than are listed.
    pub more: u32,
    /// Who the processes of other jobs are that the items name by numbers of the process's own.
    pub others: Vec<Other>,
}

/// A process of another job than the one that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    /// The number that the one that names it has for it.
    pub number: u32,
    /// Its job, and its rank there.
    pub job: u64,
    pub rank: u32,
}

impl Item {
    /// "a message from rank 1, tag 5, up to 8 bytes, MPI_COMM_WORLD"
    pub fn describe(&self) -> String {
        let mut text = match self.what {
            What::Send => format!("{} to receive", self.who()),
            What::Receive | What::Probe => format!("a message from {}", self.who()),
            What::Member => return format!("{} to come to it{}", self.who(), self.on()),
            What::Message => format!("message from {}", self.who()),
            _ => return self.describe_lock(),
        };
        match self.tag {
            None => {}
            Some(ANY_TAG) => text += ", any tag",
            Some(tag) => text += &format!(", tag {tag}"),
        }
        if let Some(bytes) = self.bytes {
            let up_to = if self.what == What::Receive { "up to " } else { "" };
            let _ = write!(text, ", {up_to}{bytes} {}", if bytes == 1 { "byte" } else { "bytes" });
        }
        text + &self.on()
    }

    /// "the lock of rank 2 of the window counters, which rank 1 has alone"
    fn describe_lock(&self) -> String {
        let lock = format!("the lock of {}", self.comm);
        match (self.what, self.peers.as_slice()) {
            (What::LockAlone, [one]) => format!("{lock}, which rank {one} has alone"),
            (What::LockAlone, _) => format!("{lock}, which another process has alone"),
            (What::LockShared, []) => format!("{lock}, which others share"),
            (What::LockShared, [one]) => format!("{lock}, which rank {one} shares"),
            (What::LockShared, several) => format!("{lock}, which ranks {} share", list(several)),
            (What::LockUnanswered, [one]) => format!("{lock}, which rank {one} can only grant when it calls MPI"),
            (What::LockUnanswered, _) => format!("{lock}, which its owner can only grant when it calls MPI"),
            (What::HasAlone, _) => format!("{lock} alone"),
            (What::HasShared, _) => format!("{lock}, shared"),
            _ => lock,
        }
    }

    fn who(&self) -> String {
        match self.peers.as_slice() {
            [] => "an unknown rank".into(),
            [one] => format!("rank {one}"),
            several if self.what == What::Member => format!("ranks {}", list(several)),
            several => format!("any of ranks {}", list(several)),
        }
    }

    fn on(&self) -> String {
        if self.comm.is_empty() { String::new() } else { format!(", {}", self.comm) }
    }

    fn encode(&self, out: &mut String, list: char) {
        let what = WHATS.iter().find(|(what, _)| *what == self.what).map_or("", |(_, word)| word);
        let peers: Vec<String> = self.peers.iter().take(PEERS).map(u32::to_string).collect();
        let tag = self.tag.map_or("-".into(), |tag| tag.to_string());
        let bytes = self.bytes.map_or("-".into(), |bytes| bytes.to_string());
        let comm: String = self.comm.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let mut end = comm.len().min(NAME);
        while !comm.is_char_boundary(end) {
            end -= 1;
        }
        let _ = writeln!(out, "{list} {what} {} {tag} {bytes} {}", peers.join(","), &comm[..end]);
    }

    fn decode(line: &str) -> Option<Item> {
        let mut words = line.splitn(5, ' ');
        let word = words.next()?;
        let what = WHATS.iter().find(|(_, known)| *known == word)?.0;
        let peers = words.next()?.split(',').filter(|peer| !peer.is_empty());
        let peers = peers.map(|peer| peer.parse().ok()).collect::<Option<_>>()?;
        let tag = words.next()?.parse().ok();
        let bytes = words.next()?.parse().ok();
        Some(Item { what, peers, tag, bytes, comm: words.next()?.to_owned() })
    }
}

impl Other {
    fn decode(line: &str) -> Option<Other> {
        let mut words = line.split(' ');
        let number = words.next()?.parse().ok()?;
        let job = words.next()?.parse().ok()?;
        Some(Other { number, job, rank: words.next()?.parse().ok()? })
    }
}

/// "1, 2, 5 and 9"
pub fn list(ranks: &[u32]) -> String {
    let names: Vec<String> = ranks.iter().map(u32::to_string).collect();
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

impl Report {
    /// The report as text. What does not fit into a message (`limit` bytes) is counted in `more`.
    pub fn encode(&self, limit: usize) -> String {
        let mut text = String::new();
        let flags: String = [(self.asked, 'a'), (self.polls, 'p'), (self.any, 'o')]
            .iter()
            .filter_map(|(set, letter)| set.then_some(*letter))
            .collect();
        let _ = writeln!(text, "in {} {} {flags}-", self.idle.as_millis(), self.function);
        for Other { number, job, rank } in &self.others {
            let line = format!("o {number} {job} {rank}\n");
            if text.len() + line.len() + 16 <= limit / 2 {
                text += &line;
            }
        }
        let mut left = 0;
        let all = self.waits.iter().map(|item| ('w', item)).chain(self.besides.iter().map(|item| ('b', item)));
        for (list, item) in all {
            let mut line = String::new();
            item.encode(&mut line, list);
            if text.len() + line.len() + 16 > limit {
                left += 1;
            } else {
                text += &line;
            }
        }
        let _ = writeln!(text, "m {}", self.more + left);
        text
    }

    /// The report of such a text; lines that are not understood are left out.
    pub fn decode(text: &str) -> Report {
        let mut report = Report::default();
        for line in text.lines() {
            let Some((kind, rest)) = line.split_once(' ') else { continue };
            match kind {
                "in" => {
                    let words: Vec<&str> = rest.split(' ').collect();
                    if let [idle, function, flags] = words[..] {
                        report.idle = Duration::from_millis(idle.parse().unwrap_or(0));
                        report.function = function.to_owned();
                        report.asked = flags.contains('a');
                        report.polls = flags.contains('p');
                        report.any = flags.contains('o');
                    }
                }
                "w" => report.waits.extend(Item::decode(rest)),
                "b" => report.besides.extend(Item::decode(rest)),
                "o" => report.others.extend(Other::decode(rest)),
                "m" => report.more = rest.parse().unwrap_or(0),
                _ => {}
            }
        }
        report
    }

    /// Names the processes by the numbers that somebody else has for them: `own` has that of a rank of this process's
    /// job, `other` that of a process of another job. Those without a number are left out.
    pub fn renumber(&mut self, own: impl Fn(u32) -> Option<u32>, other: impl Fn(&Other) -> Option<u32>) {
        let others = std::mem::take(&mut self.others);
        let name = |number: u32| match others.iter().find(|other| other.number == number) {
            Some(one) => other(one),
            None => own(number),
        };
        for item in self.waits.iter_mut().chain(&mut self.besides) {
            item.peers = item.peers.iter().filter_map(|&number| name(number)).collect();
        }
    }

    /// What the rank has to say, in lines: the first goes on after "rank n ".
    pub fn lines(&self) -> Vec<String> {
        let how = if self.polls { "calls" } else { "in" };
        let again = if self.polls { " again and again," } else { "" };
        let verb = format!("{how} {}{again} for {}", self.function, seconds(self.idle));
        let items: Vec<String> = self.waits.iter().map(Item::describe).collect();
        let mut lines = match items.as_slice() {
            [] => vec![verb],
            [one] => vec![format!("{verb}: waits for {one}")],
            _ if self.any => vec![format!("{verb}: waits for one of")],
            _ => vec![format!("{verb}: waits for")],
        };
        if items.len() > 1 {
            lines.extend(items.iter().map(|item| format!("  {item}")));
        }
        for item in &self.besides {
            lines.push(match item.what {
                What::Send => format!("  besides, has sent, and waits for {}", item.describe()),
                What::Message => format!("  besides, has not received the {}", item.describe()),
                What::HasAlone | What::HasShared => format!("  besides, has {}", item.describe()),
                _ => format!("  besides, has asked for {}", item.describe()),
            });
        }
        if self.more > 0 {
            lines.push(format!("  and {} more", self.more));
        }
        lines
    }
}

/// "30.1 s"
pub fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// What a process does with MPI now, for whoever looks from outside. The process alone writes it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Activity {
    /// How many calls are inside MPI.
    inside: AtomicU64,
    /// When the last call began or ended: nanoseconds of the monotonic clock.
    when: AtomicU64,
    /// The name of the function of that call, padded with zeros.
    name: [AtomicU64; NAME / 8],
}

/// Bytes of an [`Activity`].
pub const ACTIVITY: usize = std::mem::size_of::<Activity>();

/// What was read of another process's [`Activity`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// It is inside MPI.
    pub inside: bool,
    /// How long it has been inside, or outside.
    pub age: Duration,
    /// The function that it is in, or was in last.
    pub function: String,
}

impl Activity {
    pub const fn new() -> Activity {
        Activity { inside: AtomicU64::new(0), when: AtomicU64::new(0), name: [const { AtomicU64::new(0) }; NAME / 8] }
    }

    /// Notes that a call of `function` begins, or ends. Nothing is ordered: who reads it from outside
    /// looks for what has not changed for seconds.
    pub fn note(&self, begins: bool, function: &str) {
        match begins {
            true => self.inside.fetch_add(1, Ordering::Relaxed),
            false => self.inside.fetch_sub(1, Ordering::Relaxed),
        };
        self.when.store(now(), Ordering::Relaxed);
        let mut bytes = [0u8; NAME];
        let length = function.len().min(NAME);
        bytes[..length].copy_from_slice(&function.as_bytes()[..length]);
        for (word, chunk) in self.name.iter().zip(bytes.chunks_exact(8)) {
            word.store(u64::from_ne_bytes(chunk.try_into().expect("8 bytes")), Ordering::Relaxed);
        }
    }

    /// What the bytes of an activity say.
    pub fn read(bytes: &[u8; ACTIVITY]) -> Seen {
        let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let name = &bytes[16..16 + NAME];
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(NAME);
        Seen {
            inside: word(0) > 0,
            age: Duration::from_nanos(now().saturating_sub(word(8))),
            function: String::from_utf8_lossy(&name[..end]).into_owned(),
        }
    }
}

/// The monotonic clock, which all processes of a node share.
fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    fn item(what: What, peers: &[u32], tag: Option<i32>, bytes: Option<u64>) -> Item {
        Item { what, peers: peers.to_vec(), tag, bytes, comm: "a name with blanks".into() }
    }

    fn example() -> Report {
        Report {
            function: "MPI_Recv".into(),
            idle: Duration::from_millis(30_100),
            asked: true,
            polls: false,
            any: true,
            waits: vec![item(What::Receive, &[1, 2], Some(ANY_TAG), Some(8)), item(What::Member, &[3], None, None)],
            besides: vec![item(What::Send, &[7], Some(-5), Some(1 << 40)), item(What::Message, &[0], Some(0), Some(1))],
            more: 3,
            others: vec![Other { number: 7, job: u64::MAX, rank: 2 }],
        }
    }

    #[test]
    fn a_report_survives_its_text() {
        let report = example();
        assert_eq!(Report::decode(&report.encode(4096)), report);
        assert_eq!(Report::decode(&Report::default().encode(4096)), Report::default());
    }

    #[test]
    fn processes_get_the_numbers_that_the_reader_has() {
        let mut report = example();
        report.renumber(
            |rank| (rank < 3).then_some(rank + 10),
            |other| (other.job == u64::MAX).then_some(100 + other.rank),
        );
        assert_eq!(report.waits[0].peers, [11, 12]);
        assert!(report.waits[1].peers.is_empty(), "nobody has that number");
        assert_eq!(report.besides[0].peers, [102]);
        assert_eq!(report.besides[1].peers, [10]);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut report = example();
        report.besides = vec![report.besides[0].clone(); 500];
        let text = report.encode(1000);
        assert!(text.len() <= 1000);
        let read = Report::decode(&text);
        assert_eq!(read.besides.len() + read.more as usize, 500 + 3);
    }

    #[test]
    fn long_names_and_wild_ones_stay_on_their_line() {
        let mut report = example();
        report.waits[0].comm = format!("ü\n{}", "ä".repeat(100));
        let read = Report::decode(&report.encode(4096));
        assert_eq!(read.waits.len(), 2);
        assert!(read.waits[0].comm.starts_with("ü?ä") && read.waits[0].comm.len() <= NAME);
    }

    #[test]
    fn a_report_reads_as_sentences() {
        let lines = example().lines();
        assert_eq!(lines[0], "in MPI_Recv for 30.1 s: waits for one of");
        assert_eq!(lines[1], "  a message from any of ranks 1 and 2, any tag, up to 8 bytes, a name with blanks");
        assert!(lines[4].contains("has not received the message from rank 0, tag 0, 1 byte, a name"), "{}", lines[4]);
        assert_eq!(lines[5], "  and 3 more");
    }

    #[test]
    fn locks_are_told_with_those_that_have_them() {
        let lock =
            |what, peers: &[u32]| Item { comm: "rank 2 of the window sums".into(), ..item(what, peers, None, None) };
        let text = |what, peers: &[u32]| lock(what, peers).describe();
        assert_eq!(text(What::Lock, &[]), "the lock of rank 2 of the window sums");
        assert_eq!(text(What::LockAlone, &[1]), "the lock of rank 2 of the window sums, which rank 1 has alone");
        assert_eq!(text(What::LockShared, &[0, 3]), "the lock of rank 2 of the window sums, which ranks 0 and 3 share");
        assert_eq!(text(What::LockShared, &[]), "the lock of rank 2 of the window sums, which others share");
        let unanswered = "the lock of rank 2 of the window sums, which rank 4 can only grant when it calls MPI";
        assert_eq!(text(What::LockUnanswered, &[4]), unanswered);
        let locks = [What::Lock, What::LockAlone, What::LockShared];
        let all = [&locks[..], &[What::HasAlone, What::HasShared, What::LockUnanswered]].concat();
        let besides = all.into_iter().map(|what| lock(what, &[4])).collect();
        let report = Report { besides, ..Report::default() };
        assert_eq!(Report::decode(&report.encode(4096)), report);
        assert_eq!(report.lines()[4], "  besides, has the lock of rank 2 of the window sums alone");
    }

    #[test]
    fn activity_is_read_from_its_bytes() {
        let activity = Activity::new();
        activity.note(true, "MPI_Barrier");
        // SAFETY: plain words.
        let bytes: [u8; ACTIVITY] = unsafe { std::mem::transmute_copy(&activity) };
        let seen = Activity::read(&bytes);
        assert!(seen.inside && seen.function == "MPI_Barrier" && seen.age < Duration::from_secs(60));
        activity.note(false, "MPI_Barrier");
        // SAFETY: as above.
        let bytes: [u8; ACTIVITY] = unsafe { std::mem::transmute_copy(&activity) };
        assert!(!Activity::read(&bytes).inside);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([a-z] ([0-9a-z ,:-]{0,12} ){0,6}\n){0,5}") {
            let _ = Report::decode(&text);
        }

        #[test]
        fn a_damaged_report_is_read(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let valid = b"in 700 MPI_Recv ap-\no 5 77 2\nw receive 1,2 9 4096 comm\nb send 3 - - \nm 2\n";
            let report = Report::decode(&String::from_utf8_lossy(&damage(valid, &changes)));
            prop_assert!(report.encode(400).len() <= 800);
            let _ = report.lines();
        }
    }
}
