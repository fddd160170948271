//! What the kernel knows of the ways to peers, where a provider carries its packets over TCP.
//!
//! libfabric has no call that says whether a peer is there. A peer that says nothing may be stopped, as by a debugger, and nobody may count
//! it as lost for that. But a machine acknowledges what comes for a process that is stopped, and one that cannot be reached does not. So the
//! kernel is asked about the provider's connections, which are descriptors of this process, as the TCP device asks about its own. Those that
//! this process has made lead to the address of the peer's endpoint. Those that peers have made come to this one's, and tell only the machine.

use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{SocketAddrAny, getpeername, getsockname, sockopt};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tern_node::{Connection, keep_alive, unacknowledged};

/// How often the kernel asks at most before it ends a connection: long after [`Way::is_silent`] is seen. No provider has this number, so that it
/// shows which connections are asked as it is wanted.
const QUESTIONS: u32 = 61;
/// The least number of a descriptor for a look: lower ones have a meaning of their own.
const LEAST: i32 = 3;

/// Whether a provider carries its packets over connections of the kernel's.
pub fn is_over_tcp(provider: &str) -> bool {
    matches!(provider, "tcp;ofi_rxm" | "tcp" | "sockets")
}

/// What is known of the way to a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Bytes have not been acknowledged.
    pub unacknowledged: bool,
    /// The kernel has asked for an acknowledgement again.
    pub is_asked: bool,
    /// And none has come for as long as a peer may give no sign.
    pub is_silent: bool,
}

impl Way {
    /// Of several connections one that stands is enough. What is on its way may be on any.
    fn and(self, other: Way) -> Way {
        Way {
            unacknowledged: self.unacknowledged || other.unacknowledged,
            is_asked: self.is_asked && other.is_asked,
            is_silent: self.is_silent && other.is_silent,
        }
    }
}

/// Where to look for the ways to all peers.
pub struct Ways {
    own: SocketAddr,
    /// The addresses of the peers' endpoints, by rank, and their ranks.
    places: Vec<Option<SocketAddr>>,
    ranks: HashMap<SocketAddr, usize>,
    /// How long a peer may give no sign.
    silence: Duration,
}

impl Ways {
    /// `own`: the name of the endpoint, and `names` those of its peers. `None`: the kernel knows nothing of what that provider carries.
    pub fn new(provider: &str, own: &[u8], names: &[Vec<u8>], silence: Duration) -> Option<Ways> {
        if !is_over_tcp(provider) {
            return None;
        }
        let places: Vec<_> = names.iter().map(|name| place(name)).collect();
        let ranks = places.iter().enumerate().filter_map(|(rank, place)| Some(((*place)?, rank))).collect();
        Some(Ways { own: place(own)?, places, ranks, silence })
    }

    /// Asks the kernel about the way to each peer: `None` where there is no connection. It also has the kernel ask the other ends while
    /// nothing is under way, so that silence is seen in any case. `None` in all: this process's descriptors are not known now.
    pub fn look(&self) -> Option<Vec<Option<Way>>> {
        let mut found = Found { to: vec![None; self.places.len()], from: HashMap::new() };
        for descriptor in descriptors()? {
            // SAFETY: it was open just now. The program or the provider may close it meanwhile, and the number may become that of another file:
            // nothing is read, written, changed or closed by this number.
            let seen = unsafe { BorrowedFd::borrow_raw(descriptor) };
            // No copy of what is no connection of the job's: to close one may have effects, as on the locks of a file.
            if self.of_job(seen).is_none() {
                continue;
            }
            let socket = match fcntl_dupfd_cloexec(seen, LEAST) {
                Ok(socket) => socket,
                Err(Errno::BADF) => continue,
                Err(_) => return None,
            };
            let Some((rank, machine)) = self.of_job(&socket) else { continue };
            let Ok(state) = Connection::of(&socket) else { continue };
            if !state.is_open() {
                continue;
            }
            self.have_asked(&socket);
            let way = Way {
                unacknowledged: unacknowledged(&socket) > 0,
                is_asked: state.is_asked(),
                is_silent: state.is_silent(self.silence),
            };
            found.add(rank, machine, way);
        }
        let ways = self.places.iter().zip(found.to);
        Some(ways.map(|(place, to)| to.or_else(|| found.from.get(&place.as_ref()?.ip()).copied())).collect())
    }

    /// The other end of a connection of the job's: the rank to whose endpoint it leads, if this process has made it, and the machine.
    fn of_job(&self, socket: impl AsFd) -> Option<(Option<&usize>, IpAddr)> {
        let (here, there) = (address(getsockname(&socket).ok())?, address(getpeername(&socket).ok()?)?);
        let rank = self.ranks.get(&there);
        (rank.is_some() || here == self.own).then_some((rank, there.ip()))
    }

    /// Has the kernel ask the other end as often as need be, whatever the provider wants of it.
    fn have_asked(&self, socket: impl AsFd) {
        let is_asked = sockopt::socket_keepalive(&socket) == Ok(true) && sockopt::tcp_keepcnt(&socket) == Ok(QUESTIONS);
        if !is_asked && keep_alive(&socket, self.silence).is_ok() {
            let _ = sockopt::set_tcp_keepcnt(&socket, QUESTIONS);
        }
    }
}

/// The ways that were found.
struct Found {
    /// By connections that this process has made, by rank.
    to: Vec<Option<Way>>,
    /// By connections from machines. Of several processes there that have called, nobody can tell which has which connection.
    from: HashMap<IpAddr, Way>,
}

impl Found {
    /// A connection to the endpoint of that rank, or else from that machine.
    fn add(&mut self, rank: Option<&usize>, machine: IpAddr, way: Way) {
        match rank {
            Some(rank) => self.to[*rank] = Some(self.to[*rank].map_or(way, |other| other.and(way))),
            None => _ = self.from.entry(machine).and_modify(|other| *other = other.and(way)).or_insert(way),
        }
    }
}

/// The descriptors of this process. `None`: the kernel does not tell, as where there is no further one to read them with.
fn descriptors() -> Option<Vec<i32>> {
    let entries = std::fs::read_dir("/proc/self/fd").ok()?;
    entries.map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn address(name: Option<SocketAddrAny>) -> Option<SocketAddr> {
    let address = SocketAddr::try_from(name?).ok()?;
    Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
}

/// The address that a name of an endpoint stands for, where names are addresses of sockets. `None`: it is none.
fn place(name: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(*name.first_chunk()?));
    let port = u16::from_be_bytes(name.get(2..4)?.try_into().ok()?);
    let ip = match family {
        libc::AF_INET => IpAddr::from(Ipv4Addr::from(*name.get(4..)?.first_chunk::<4>()?)),
        libc::AF_INET6 => IpAddr::from(Ipv6Addr::from(*name.get(8..)?.first_chunk::<16>()?)),
        _ => return None,
    };
    (port != 0).then(|| SocketAddr::new(ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::net::{TcpListener, TcpStream};

    const SILENCE: Duration = Duration::from_secs(60);
    const CLEAR: Way = Way { unacknowledged: false, is_asked: false, is_silent: false };

    fn name(address: SocketAddr) -> Vec<u8> {
        let SocketAddr::V4(address) = address else { panic!("{address}") };
        let mut name = vec![0; 16];
        name[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        name[2..4].copy_from_slice(&address.port().to_be_bytes());
        name[4..8].copy_from_slice(&address.ip().octets());
        name
    }

    /// The ways of the endpoint at the first of these addresses, which is rank 0.
    fn ways(addresses: &[SocketAddr]) -> Vec<Option<Way>> {
        let names: Vec<_> = addresses.iter().map(|address| name(*address)).collect();
        Ways::new("sockets", &names[0], &names, SILENCE).expect("a provider over TCP").look().expect("descriptors")
    }

    /// A listener, its address, and a connection to it.
    fn called() -> (TcpListener, SocketAddr, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = listener.local_addr().expect("an address");
        (listener, there, TcpStream::connect(there).expect("a connection"))
    }

    #[test]
    fn names_are_addresses_of_sockets() {
        let four = "10.0.0.7:4660".parse().expect("an address");
        assert_eq!(place(&name(four)), Some(four));
        let mut six = vec![0; 28];
        six[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        (six[3], six[23]) = (9, 1);
        assert_eq!(place(&six), Some("[::1]:9".parse().expect("an address")));
        for other in [&name(four)[..7], &six[..20], &[], b"fi_shm://1:2"] {
            assert_eq!(place(other), None);
        }
        assert!(Ways::new("shm", &name(four), &[], SILENCE).is_none());
    }

    #[test]
    fn connections_are_found_at_both_ends() {
        let (listener, there, here) = called();
        let _taken = listener.accept().expect("a connection");
        let [other, away] = ["127.0.0.1:1", "127.0.0.2:1"].map(|text| text.parse().expect("an address"));
        assert_eq!(ways(&[other, there])[1], Some(CLEAR), "this process has called");
        assert_eq!(ways(&[there, other, away])[1..], [Some(CLEAR), None], "a process of that machine has called");
        assert_eq!(sockopt::socket_keepalive(&here), Ok(true));
        assert_eq!(sockopt::tcp_keepidle(&here), Ok(SILENCE / 3));
    }

    /// In a process of its own, whose limit it is.
    #[test]
    fn without_a_descriptor_nothing_is_known() {
        const ALONE: &str = "TERN_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let mut it = std::process::Command::new(std::env::current_exe().expect("a program"));
            it.args(["--exact", "ways::tests::without_a_descriptor_nothing_is_known"]).env(ALONE, "1");
            assert!(it.status().expect("a process").success());
            return;
        }
        let own = name("127.0.0.1:1".parse().expect("an address"));
        let ways = Ways::new("sockets", &own, std::slice::from_ref(&own), SILENCE).expect("a provider over TCP");
        assert_eq!(ways.look(), Some(vec![None]));
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..before }).expect("a lower limit");
        assert_eq!(ways.look(), None);
        setrlimit(Resource::Nofile, before).expect("the limit before");
    }

    #[test]
    fn the_kernel_asks_as_often_as_need_be() {
        let (_listener, there, here) = called();
        sockopt::set_socket_keepalive(&here, true).expect("a socket");
        ways(&["127.0.0.1:1".parse().expect("an address"), there]);
        assert_eq!(sockopt::tcp_keepidle(&here), Ok(SILENCE / 3), "the provider has it ask less often");
    }

    #[test]
    fn other_connections_are_left_alone() {
        let (_listener, _, here) = called();
        let others = ["127.0.0.1:1", "127.0.0.1:2"].map(|text| text.parse().expect("an address"));
        assert_eq!(ways(&others), [None, None]);
        assert_eq!(sockopt::socket_keepalive(&here), Ok(false));
    }

    #[test]
    fn of_several_connections_one_that_stands_is_enough() {
        let silent = Way { unacknowledged: true, is_asked: true, is_silent: true };
        let machine = IpAddr::from([10, 0, 0, 2]);
        let mut found = Found { to: vec![None; 2], from: HashMap::new() };
        for way in [silent, silent, CLEAR] {
            found.add(Some(&1), machine, way);
        }
        found.add(None, machine, silent);
        assert_eq!(found.to, [None, Some(Way { unacknowledged: true, ..CLEAR })]);
        assert_eq!(found.from[&machine], silent);
    }
}
