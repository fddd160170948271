//! PMI-1 on the wire: the line to a launcher that is not Tern's.
//!
//! A message is a line of `key=value` pairs with blanks between; the first pair is `cmd=NAME`. Each request has one
//! answer. Pairs are read by key, never by place: launchers differ in their order.
//!
//! | request | answer |
//! |---|---|
//! | `initack pmiid=N` (only over TCP) | `initack`, then lines `set size=N`, `set rank=N`, `set debug=N` |
//! | `init pmi_version=1 pmi_subversion=1` | `response_to_init rc=0` |
//! | `get_maxes` | `maxes kvsname_max=N keylen_max=N vallen_max=N` |
//! | `get_my_kvsname` | `my_kvsname kvsname=NAME` |
//! | `get_appnum` | `appnum appnum=N` |
//! | `get_universe_size` | `universe_size size=N` |
//! | `put kvsname=NAME key=KEY value=VALUE` | `put_result rc=0` |
//! | `barrier_in` | `barrier_out`, when all processes have come |
//! | `get kvsname=NAME key=KEY` | `get_result rc=0 value=VALUE`; another rc: there is none |
//! | `finalize` | `finalize_ack` |
//! | `abort exitcode=N` | none: the launcher ends the job |

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::Error;

/// Longest answer in bytes: a bound on damage. The mapping of many nodes is long.
const LONGEST: usize = 16 << 20;

/// How long to try to connect, over TCP.
const CONNECT: Duration = Duration::from_secs(10);

/// A line to a launcher.
#[derive(Debug)]
pub(crate) struct Line {
    socket: OwnedFd,
    /// What has been received and not yet used.
    kept: RefCell<Vec<u8>>,
    space: String,
    /// Longest value in bytes.
    pub(crate) longest: usize,
}

/// An answer: its command and the other pairs.
type Pairs = HashMap<String, String>;

impl Line {
    /// Over a descriptor that was inherited.
    pub(crate) fn new(socket: OwnedFd) -> Line {
        Line { socket, kept: RefCell::default(), space: String::new(), longest: 0 }
    }

    /// Over TCP (PMI_PORT, `host:port`).
    pub(crate) fn connect(port: &str) -> Result<Line, Error> {
        let cannot = |why: std::io::Error| wrong(format!("cannot connect to {port} (PMI_PORT): {why}"));
        let mut last = std::io::Error::other("no such host");
        for address in port.to_socket_addrs().map_err(cannot)? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(socket) => {
                    let _ = socket.set_nodelay(true);
                    return Ok(Line::new(socket.into()));
                }
                Err(error) => last = error,
            }
        }
        Err(cannot(last))
    }

    /// Says which process this is, where the descriptor does not; gives rank and size.
    pub(crate) fn introduce(&self, id: &str) -> Result<(u32, u32), Error> {
        let pairs = self.ask(&format!("initack pmiid={id}"), "initack")?;
        if pairs.get("rc").is_some_and(|rc| rc != "0") {
            // The relay to PMIx tells why, in one word.
            let why = pairs.get("msg").map_or("it does not know this process", String::as_str);
            return Err(wrong(why.replace("%20", " ").replace("%25", "%")));
        }
        let (mut rank, mut size) = (None, None);
        while rank.is_none() || size.is_none() {
            let pairs = self.answer("set")?;
            let number = |key: &str| pairs.get(key).and_then(|value| value.parse().ok());
            (rank, size) = (rank.or(number("rank")), size.or(number("size")));
        }
        // A third line may come; who reads by command skips it.
        Ok((rank.unwrap_or(0), size.unwrap_or(1)))
    }

    /// Begins. Nothing but [`Line::introduce`] and [`Line::abort`] may come before.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        let pairs = self.ask("init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        if pairs.get("rc").is_some_and(|rc| rc != "0") {
            return Err(wrong(format!("it refuses version 1.1 of the protocol: {pairs:?}")));
        }
        self.longest = number(&self.ask("get_maxes", "maxes")?, "vallen_max").unwrap_or(256);
        self.space = text(&self.ask("get_my_kvsname", "my_kvsname")?, "kvsname")?;
        Ok(())
    }

    /// Number of the program; none if it is not told.
    pub(crate) fn appnum(&self) -> Result<Option<u32>, Error> {
        Ok(number(&self.ask("get_appnum", "appnum")?, "appnum"))
    }

    /// How many processes the job may grow to; none if it is not told.
    pub(crate) fn universe(&self) -> Result<Option<u32>, Error> {
        Ok(number(&self.ask("get_universe_size", "universe_size")?, "size"))
    }

    /// Makes a value known to all processes that come to the next barrier. It holds no blanks.
    pub(crate) fn put(&self, key: &str, value: &str) -> Result<(), Error> {
        if value.len() >= self.longest {
            return Err(wrong(format!("it takes values of {} bytes, and {key} needs {}", self.longest, value.len())));
        }
        let space = &self.space;
        let pairs = self.ask(&format!("put kvsname={space} key={key} value={value}"), "put_result")?;
        match pairs.get("rc").map(String::as_str) {
            None | Some("0") => Ok(()),
            _ => Err(wrong(format!("it does not take {key}: {pairs:?}"))),
        }
    }

    /// A value that a process has put before the last barrier, or that the launcher tells.
    pub(crate) fn get(&self, key: &str) -> Result<Option<String>, Error> {
        let pairs = self.ask(&format!("get kvsname={} key={key}", self.space), "get_result")?;
        let found = pairs.get("rc").is_none_or(|rc| rc == "0");
        Ok(pairs.get("value").filter(|_| found).cloned())
    }

    /// As [`Line::get`], of what must be there.
    pub(crate) fn need(&self, key: &str) -> Result<String, Error> {
        self.get(key)?.ok_or_else(|| wrong(format!("it does not know {key}, which another process has put")))
    }

    /// Waits for all processes of the job.
    pub(crate) fn barrier(&self) -> Result<(), Error> {
        self.ask("barrier_in", "barrier_out").map(|_| ())
    }

    /// This process may end with any code from now on.
    pub(crate) fn finalize(&self) -> Result<(), Error> {
        self.ask("finalize", "finalize_ack").map(|_| ())
    }

    /// The job is to end, with this exit code.
    pub(crate) fn abort(&self, code: i32) {
        let _ = self.send(&format!("abort exitcode={code}"));
    }

    fn ask(&self, request: &str, answer: &str) -> Result<Pairs, Error> {
        self.send(request)?;
        self.answer(answer)
    }

    fn send(&self, request: &str) -> Result<(), Error> {
        let line = format!("cmd={request}\n");
        let mut bytes = line.as_bytes();
        while !bytes.is_empty() {
            let flags = SendFlags::NOSIGNAL;
            match rustix::io::retry_on_intr(|| rustix::net::send(&self.socket, bytes, flags)) {
                Ok(written) => bytes = &bytes[written..],
                Err(errno) => return Err(lost(errno)),
            }
        }
        Ok(())
    }

    /// The next line with that command; others are skipped.
    fn answer(&self, command: &str) -> Result<Pairs, Error> {
        loop {
            let line = self.line()?;
            let mut pairs = pairs(&line);
            if pairs.remove("cmd").as_deref() == Some(command) {
                return Ok(pairs);
            }
        }
    }

    fn line(&self) -> Result<String, Error> {
        let kept = &mut *self.kept.borrow_mut();
        let mut looked = 0;
        loop {
            if let Some(end) = kept[looked..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = kept.drain(..=looked + end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            looked = kept.len();
            if looked > LONGEST {
                return Err(wrong("an answer has no end".into()));
            }
            let mut piece = [0u8; 4096];
            match rustix::io::retry_on_intr(|| rustix::io::read(&self.socket, &mut piece)) {
                Ok(0) => return Err(lost(Errno::CONNRESET)),
                Ok(len) => kept.extend_from_slice(&piece[..len]),
                Err(errno) => return Err(lost(errno)),
            }
        }
    }
}

/// The pairs of a line. What is no pair is left out.
fn pairs(line: &str) -> Pairs {
    let pairs = line.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn text(pairs: &Pairs, key: &str) -> Result<String, Error> {
    pairs.get(key).cloned().ok_or_else(|| wrong(format!("an answer does not tell {key}: {pairs:?}")))
}

fn number<T: std::str::FromStr>(pairs: &Pairs, key: &str) -> Option<T> {
    pairs.get(key)?.parse().ok()
}

fn wrong(text: String) -> Error {
    Error::Protocol { text }
}

fn lost(errno: Errno) -> Error {
    wrong(format!("it cannot be reached: {errno}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn pair() -> (Line, OwnedFd) {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("sockets");
        (Line::new(ours), theirs)
    }

    fn say(launcher: &OwnedFd, text: &str) {
        rustix::io::write(launcher, text.as_bytes()).expect("written");
    }

    fn heard(launcher: &OwnedFd) -> String {
        let mut bytes = [0u8; 4096];
        let len = rustix::io::read(launcher, &mut bytes).expect("read");
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    }

    #[test]
    fn answers_are_read_by_key() {
        let (mut line, launcher) = pair();
        say(&launcher, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n");
        say(&launcher, "cmd=maxes vallen_max=1024 keylen_max=64 kvsname_max=256\ncmd=my_kvsname kvsname=kvs_1_0\n");
        line.begin().expect("begun");
        assert_eq!(heard(&launcher), "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=get_my_kvsname\n");
        assert_eq!(line.longest, 1024);
        say(&launcher, "cmd=get_result value=(vector,(0,1,4)) msg=success rc=0\n");
        assert_eq!(line.get("PMI_process_mapping").expect("an answer").as_deref(), Some("(vector,(0,1,4))"));
        assert_eq!(heard(&launcher), "cmd=get kvsname=kvs_1_0 key=PMI_process_mapping\n");
        // There is none, as two launchers say it.
        say(&launcher, "cmd=get_result rc=1 value=unknown\ncmd=get_result rc=-1 msg=key_not_found\n");
        assert_eq!(line.get("a").expect("an answer"), None);
        assert!(line.need("a").expect_err("there is none").to_string().contains("does not know a"));
        assert!(line.put("key", &"x".repeat(1024)).is_err());
    }

    #[test]
    fn an_answer_may_come_in_pieces_and_behind_others() {
        let (line, launcher) = pair();
        say(&launcher, "cmd=set debug=0\n\ncmd=barr");
        let waits = std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                // A line is this thread's alone from here on.
                let line = line;
                line.barrier()
            });
            say(&launcher, "ier_out\n");
            waits.join().expect("no panic")
        });
        assert_eq!(waits, Ok(()));
    }

    #[test]
    fn over_tcp_rank_and_size_are_told() {
        let (line, launcher) = pair();
        say(&launcher, "cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=3\ncmd=set debug=0\n");
        assert_eq!(line.introduce("7"), Ok((3, 4)));
        assert_eq!(heard(&launcher), "cmd=initack pmiid=7\n");
    }

    #[test]
    fn a_refusal_is_told() {
        let (line, launcher) = pair();
        say(&launcher, "cmd=initack rc=1 msg=no%20library%20at%20100%25\n");
        assert!(line.introduce("0").expect_err("refused").to_string().contains("no library at 100%"));
    }

    #[test]
    fn a_launcher_that_has_gone_is_an_error() {
        let (line, launcher) = pair();
        drop(launcher);
        assert!(line.barrier().is_err());
        // No SIGPIPE has come.
    }
}
