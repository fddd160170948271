//! A process joins a job: this program plays the launcher and runs itself as the process.

use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};

use rustix::io::FdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use tern_pmi::control::{self, Message, Received};
use tern_pmi::{Descriptor, TICKET, Ticket};

/// Not a test by itself: the process that joins.
#[test]
fn process() {
    let Ok(act) = std::env::var("TERN_TEST_ACT") else {
        return;
    };
    let job = match tern_pmi::init() {
        Ok(job) => job,
        Err(error) => {
            println!("@@error: {error}");
            return;
        }
    };
    let inode = rustix::fs::fstat(&job.segment).unwrap().st_ino;
    println!("@@rank {} of {} app {:?} inode {inode}", job.rank, job.size, job.appnum);
    match act.as_str() {
        "finalize" => job.control.unwrap().finalized(),
        "abort" => job.control.unwrap().abort(7, "because"),
        // A program that a rank starts: the rank's environment, but not its descriptors.
        "system" => {
            let output = myself("nothing").output().unwrap();
            print!("{}", String::from_utf8(output.stdout).unwrap());
        }
        _ => {}
    }
}

fn myself(act: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "process", "--nocapture", "--test-threads=1"]);
    command.env("TERN_TEST_ACT", act);
    command
}

/// What the process printed.
fn said(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    // Its own lines carry a mark; the rest is the test runner's.
    let lines: Vec<&str> = text.lines().filter_map(|line| line.split_once("@@")).map(|(_, line)| line).collect();
    lines.join("\n")
}

/// A launcher with one rank to give.
struct Launcher {
    socket: OwnedFd,
    theirs: OwnedFd,
    segment: OwnedFd,
    ticket: Ticket,
}

impl Launcher {
    fn new() -> Launcher {
        let (socket, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        control::ask_for_sender(&socket).unwrap();
        let segment = tern_pmi::new_segment().unwrap();
        for inherited in [&theirs, &segment] {
            rustix::io::fcntl_setfd(inherited, FdFlags::empty()).unwrap();
        }
        control::send(&socket, &Message::Welcome { rank: 1 }).unwrap();
        let ticket = Ticket {
            rank: 1,
            size: 3,
            job_id: tern_pmi::new_job_id(),
            launcher: std::process::id(),
            nodes: tern_pmi::Nodes::one(3),
            simulated: false,
            held: false,
            address: None,
            segment: Descriptor::of(&segment, segment.as_raw_fd()).unwrap(),
            control: Descriptor::of(&theirs, theirs.as_raw_fd()).unwrap(),
            cores: 2,
            appnum: 0,
            app_size: 3,
            universe_size: 3,
            parents: None,
            warned: vec![],
        };
        Launcher { socket, theirs, segment, ticket }
    }

    fn start(&self, act: &str) -> Child {
        let mut command = myself(act);
        command.env(TICKET, self.ticket.to_string());
        command.stdout(Stdio::piped()).spawn().unwrap()
    }

    fn expected(&self) -> String {
        format!("rank 1 of 3 app Some(0) inode {}", self.ticket.segment.inode)
    }

    fn next(&self) -> (Message, Option<u32>) {
        match control::receive(&self.socket, false).unwrap() {
            Received::Message(message, attached) => (message, attached.pid),
            other => panic!("no message: {other:?}"),
        }
    }

    /// Answers one process that asks for its rank over the launcher's address.
    fn serve(&self, answer: Message) -> std::thread::JoinHandle<Message> {
        let flags = SocketFlags::CLOEXEC;
        let listener = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        rustix::net::bind(&listener, &control::address(self.ticket.job_id)).unwrap();
        rustix::net::listen(&listener, 4).unwrap();
        let segment = self.segment.try_clone().unwrap();
        std::thread::spawn(move || {
            let socket = rustix::net::accept_with(&listener, flags).unwrap();
            let Received::Message(asked, _) = control::receive(&socket, true).unwrap() else { panic!("no join") };
            match answer {
                Message::Welcome { .. } => {
                    control::send_with(&socket, &answer, &[std::os::fd::AsFd::as_fd(&segment)]).unwrap()
                }
                _ => control::send(&socket, &answer).unwrap(),
            }
            // Keep the socket until the process closes its end.
            while !matches!(control::receive(&socket, true).unwrap(), Received::Closed) {}
            asked
        })
    }
}

#[test]
fn a_process_that_is_held_asks_for_its_place_though_it_has_the_socket() {
    let mut launcher = Launcher::new();
    launcher.ticket.held = true;
    let server = launcher.serve(Message::Welcome { rank: 1 });
    assert_eq!(said(launcher.start("nothing")), launcher.expected());
    assert_eq!(server.join().unwrap(), Message::Join { rank: 1, job_id: launcher.ticket.job_id });
}

#[test]
fn a_process_takes_its_rank_and_reports() {
    let launcher = Launcher::new();
    let child = launcher.start("finalize");
    let pid = child.id();
    assert_eq!(said(child), launcher.expected());
    assert_eq!(launcher.next(), (Message::Hello, Some(pid)));
    assert_eq!(launcher.next().0, Message::Finalized);
}

#[test]
fn abort_carries_code_and_text() {
    let launcher = Launcher::new();
    assert_eq!(said(launcher.start("abort")), launcher.expected());
    assert_eq!(launcher.next().0, Message::Hello);
    assert_eq!(launcher.next().0, Message::Abort { code: 7, text: "because".into() });
}

#[test]
fn a_rank_is_given_once() {
    let launcher = Launcher::new();
    assert_eq!(said(launcher.start("finalize")), launcher.expected());
    let text = said(launcher.start("finalize"));
    assert!(text.starts_with("error: rank 1 of this job is already taken"), "{text}");
    assert!(text.contains("env -u TERN_LAUNCH"), "{text}");
}

#[test]
fn a_program_started_by_a_rank_is_refused() {
    let launcher = Launcher::new();
    let server = launcher.serve(Message::Refused { by: 4711 });
    let text = said(launcher.start("system"));
    assert!(text.starts_with(&launcher.expected()), "{text}");
    assert!(text.contains("rank 1 of this job is already taken by process 4711"), "{text}");
    let asked = server.join().unwrap();
    assert_eq!(asked, Message::Join { rank: 1, job_id: launcher.ticket.job_id });
}

#[test]
fn closed_descriptors_are_no_obstacle() {
    let mut launcher = Launcher::new();
    // As if a program in between had closed them, and the number of one were used again.
    launcher.ticket.control.inode += 1;
    launcher.ticket.segment.fd = 1000;
    let server = launcher.serve(Message::Welcome { rank: 1 });
    assert_eq!(said(launcher.start("nothing")), launcher.expected());
    server.join().unwrap();
}

#[test]
fn a_launcher_that_is_gone_is_an_error() {
    let mut launcher = Launcher::new();
    launcher.ticket.control.fd = 1000;
    launcher.ticket.launcher = 4242;
    let text = said(launcher.start("nothing"));
    assert!(text.starts_with("error: cannot reach the launcher, process 4242: "), "{text}");
    // The launcher's end of the socket is closed.
    let Launcher { socket, theirs: _theirs, segment: _segment, ticket } = Launcher::new();
    assert!(matches!(control::receive(&_theirs, false).unwrap(), Received::Message(..)));
    drop(socket);
    let mut command = myself("nothing");
    command.env(TICKET, ticket.to_string());
    let text = said(command.stdout(Stdio::piped()).spawn().unwrap());
    assert!(text.starts_with("error: cannot reach the launcher"), "{text}");
}

#[test]
fn nobody_started_it() {
    let mut command = myself("nothing");
    command.env_remove(TICKET);
    let text = said(command.stdout(Stdio::piped()).spawn().unwrap());
    assert!(text.starts_with("rank 0 of 1 app None inode "), "{text}");
    command.env("PMI_SIZE", "2").env("PMI_RANK", "1");
    let text = said(command.stdout(Stdio::piped()).spawn().unwrap());
    assert!(text.starts_with("error: this process was started by the mpiexec of MPICH"), "{text}");
}

#[test]
fn a_damaged_ticket_is_an_error() {
    let mut command = myself("nothing");
    command.env(TICKET, "rank=1 size=");
    let text = said(command.stdout(Stdio::piped()).spawn().unwrap());
    assert!(text.starts_with("error: the variable TERN_LAUNCH is damaged at \"size\""), "{text}");
}
