//! Two processes: this test program starts itself again for the other end.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use tern_hca::conformance::{Side, SideOptions, eventually, next, pattern};
use tern_hca::{Connection, Error, Event, Hca, Operation, Options, Remote, Status};

const LEN: usize = 300_000;

fn side() -> Side {
    side_at(std::env::var("TERN_HCA_INTERFACE").ok())
}

fn side_at(interface: Option<String>) -> Side {
    let options = Options { interface, ..Options::default() };
    Side::new(Hca::open(&options).expect("the software HCA is always there"), &SideOptions::default())
}

/// The other end, in a process of its own, and what it has told.
struct Other {
    child: Child,
    said: Vec<u8>,
}

/// Bytes of an address.
const ADDRESS: usize = 64;
const SAID: usize = ADDRESS + 16;

impl Other {
    fn start(me: &Side, role: &str) -> Other {
        Other::start_by(me, role, &["env"])
    }

    /// Started by a command, which may put it elsewhere.
    fn start_by(me: &Side, role: &str, command: &[&str]) -> Other {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(command[0])
            .args(&command[1..])
            .arg(program)
            .args(["the_other_end", "--exact", "--ignored", "--nocapture"])
            .env("TERN_HCA_ROLE", role)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut said = vec![0; SAID];
        child.stderr.as_mut().expect("piped").read_exact(&mut said).expect("what it says");
        child.stdin.as_mut().expect("piped").write_all(&me.pair.address()).expect("it listens");
        me.pair.connect(&said[..ADDRESS], &Connection::default()).expect("connected");
        Other { child, said }
    }

    fn memory(&self) -> Remote {
        let word = |at: usize| u64::from_le_bytes(self.said[at..at + 8].try_into().expect("eight bytes"));
        Remote { address: word(ADDRESS), key: word(ADDRESS + 8) as u32 }
    }
}

/// Not a test: what the second process does.
#[test]
#[ignore = "the other end of the tests in this file"]
fn the_other_end() {
    let Ok(role) = std::env::var("TERN_HCA_ROLE") else {
        return;
    };
    let me = side();
    let memory = me.buffer(LEN);
    me.receive(1, &[memory.whole()]);
    let key = u64::from(memory.region.remote_key());
    let said = [&me.pair.address()[..], &memory.region.address().to_le_bytes(), &key.to_le_bytes()].concat();
    std::io::stderr().write_all(&said).expect("a parent");
    let mut peer = vec![0; ADDRESS];
    std::io::stdin().read_exact(&mut peer).expect("a parent");
    me.pair.connect(&peer, &Connection::default()).expect("connected");
    match role.as_str() {
        // Sends back what has come.
        "echo" => {
            let came = next(&me.receives);
            let back = [memory.part(0, came.len as usize)];
            assert_eq!(me.execute(Operation::Send, &back).status, Status::Success);
        }
        // Does nothing, until the parent is done with it.
        _ => {
            let _ = std::io::stdin().read(&mut [0]);
        }
    }
}

#[test]
fn a_message_comes_back_from_another_process() {
    let me = side();
    let mut memory = me.buffer(LEN);
    let back = me.buffer(LEN);
    memory.fill(&pattern(1, LEN));
    me.receive(2, &[back.whole()]);
    let mut other = Other::start(&me, "echo");
    assert_eq!(me.execute(Operation::Send, &[memory.whole()]).status, Status::Success);
    assert_eq!(next(&me.receives).len as usize, LEN);
    assert!(back.bytes() == pattern(1, LEN));
    assert!(other.child.wait().expect("its end").success());
}

#[test]
fn memory_of_a_process_that_sleeps_is_read_and_written() {
    let me = side();
    let mut memory = me.buffer(LEN);
    memory.fill(&pattern(2, LEN));
    let mut other = Other::start(&me, "sleep");
    let remote = other.memory();
    assert_eq!(me.execute(Operation::Write(remote), &[memory.whole()]).status, Status::Success);
    memory.fill(&[0; LEN]);
    assert_eq!(me.execute(Operation::Read(remote), &[memory.whole()]).status, Status::Success);
    assert!(memory.bytes() == pattern(2, LEN));
    let before = memory.word(0);
    for count in 0..100 {
        assert_eq!(me.execute(Operation::FetchAdd(remote, 3), &[memory.part(0, 8)]).status, Status::Success);
        assert_eq!(memory.word(0), before.wrapping_add(3 * count));
    }
    drop(other.child.stdin.take());
    assert!(other.child.wait().expect("its end").success());
}

#[test]
fn a_process_that_is_killed_is_noticed() {
    let me = side();
    let memory = me.buffer(LEN);
    let mut other = Other::start(&me, "sleep");
    assert_eq!(me.execute(Operation::Write(other.memory()), &[memory.whole()]).status, Status::Success);
    other.child.kill().expect("killed");
    other.child.wait().expect("its end");
    let gone = Event::Disconnected { queue_pair: me.pair.number() };
    eventually("its end is told", || {
        let _ = me.sends.poll(&mut []);
        me.hca.next_event() == Some(gone.clone())
    });
    assert_eq!(me.execute(Operation::Send, &[memory.part(0, 8)]).status, Status::RetryExceeded);
}

#[test]
fn a_process_that_is_killed_amidst_is_noticed() {
    let me = side();
    let memory = me.buffer(LEN);
    let mut other = Other::start(&me, "sleep");
    // The first fills the only receive; the next waits for one for ever.
    for id in 0..3 {
        me.post(id, Operation::Send, &[memory.whole()]).expect("posted");
    }
    assert_eq!((next(&me.sends).status, 0), (Status::Success, 0));
    other.child.kill().expect("killed");
    other.child.wait().expect("its end");
    assert_eq!(next(&me.sends).status, Status::RetryExceeded);
    assert_eq!(next(&me.sends).status, Status::Flushed);
}

#[test]
fn a_child_of_a_fork_leaves_its_parents_objects_alone() {
    let me = side();
    let mut memory = me.buffer(LEN);
    let back = me.buffer(LEN);
    memory.fill(&pattern(3, LEN));
    me.receive(2, &[back.whole()]);
    let mut other = Other::start(&me, "echo");
    // SAFETY: the child calls this crate, which knows forks, and ends without unwinding or destructors of others.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = me.post(1, Operation::Send, &[]) == Err(Error::Forked)
            && me.sends.poll(&mut []) == Err(Error::Forked)
            && me.receives.arm() == Err(Error::Forked)
            && me.hca.protection_domain().is_err();
        drop((me, memory, back));
        // It may have an HCA of its own.
        let own = side();
        let fresh = own.buffer(100);
        let works = fresh.bytes().len() == 100 && own.post(1, Operation::Send, &[]).is_err();
        drop((fresh, own));
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(if refused && works { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: our child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child's objects are refused, and it can make others");
    assert_eq!(me.execute(Operation::Send, &[memory.whole()]).status, Status::Success);
    assert_eq!(next(&me.receives).len as usize, LEN);
    assert!(back.bytes() == pattern(3, LEN));
    assert!(other.child.wait().expect("its end").success());
}

/// A network namespace with a link to it, which end with the value.
struct Namespace {
    name: String,
    link: String,
}

impl Namespace {
    /// `None` where this process may not make one.
    fn new(here: &str, there: &str) -> Option<Namespace> {
        let name = format!("tern{}", std::process::id());
        let made = Namespace { link: format!("{name}a"), name };
        let (name, link, far) = (&made.name, &made.link, format!("{}b", made.name));
        let commands = [
            format!("netns add {name}"),
            format!("link add {link} type veth peer name {far}"),
            format!("link set {far} netns {name}"),
            format!("addr add {here}/24 dev {link}"),
            format!("link set {link} up"),
            format!("-n {name} addr add {there}/24 dev {far}"),
            format!("-n {name} link set {far} up"),
        ];
        commands.iter().all(|command| ip(command)).then_some(made)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&format!("link del {}", self.link));
        ip(&format!("netns del {}", self.name));
    }
}

fn ip(command: &str) -> bool {
    let outcome = Command::new("ip").args(command.split(' ')).stderr(Stdio::null()).status();
    outcome.is_ok_and(|status| status.success())
}

#[test]
fn processes_of_two_network_namespaces_reach_each_other() {
    let (here, there) = ("10.203.57.1", "10.203.57.2");
    let Some(namespace) = Namespace::new(here, there) else {
        eprintln!("skipped: this user may not make network namespaces, or there is no iproute2");
        return;
    };
    let me = side_at(Some(here.into()));
    let mut memory = me.buffer(LEN);
    memory.fill(&pattern(4, LEN));
    let interface = format!("TERN_HCA_INTERFACE={there}");
    let enter = ["ip", "netns", "exec", &namespace.name, "env", &interface];
    let mut other = Other::start_by(&me, "sleep", &enter);
    let remote = other.memory();
    assert_eq!(me.execute(Operation::Write(remote), &[memory.whole()]).status, Status::Success);
    memory.fill(&[0; LEN]);
    assert_eq!(me.execute(Operation::Read(remote), &[memory.whole()]).status, Status::Success);
    assert!(memory.bytes() == pattern(4, LEN));
    drop(other.child.stdin.take());
    assert!(other.child.wait().expect("its end").success());
}
