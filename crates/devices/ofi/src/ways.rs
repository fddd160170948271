//! What the kernel knows of the ways to peers, where a provider carries its packets over TCP.
//!
//! libfabric has no call that says whether a peer is there. A peer that says nothing may be stopped, as by a debugger, and nobody may count
//! it as lost for that. But a machine acknowledges what comes for a process that is stopped, and one that cannot be reached does not. So the
//! kernel is asked about the provider's connections, which are descriptors of this process, as the TCP device asks about its own. Those that
//! this process has made lead to the address of the peer's endpoint. Those that peers have made come to this one's, and tell only the machine.

use rustix::fd::BorrowedFd;
use rustix::net::{SocketAddrAny, getpeername, getsockname, sockopt};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tern_node::{Connection, keep_alive, unacknowledged};

/// How often the kernel asks at most before it ends a connection: long after [`Way::is_silent`] is seen.
const QUESTIONS: u32 = 60;

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
    /// nothing is under way, so that silence is seen in any case.
    pub fn look(&self) -> Vec<Option<Way>> {
        let mut found = Found { to: vec![None; self.places.len()], from: HashMap::new() };
        for descriptor in descriptors() {
            // SAFETY: it was open just now. If somebody has closed it meanwhile, the calls fail, or tell of another one, which is seldom a
            // connection of the job's; nothing is read, written or closed.
            let socket = unsafe { BorrowedFd::borrow_raw(descriptor) };
            let ends = (address(getsockname(socket).ok()), address(getpeername(socket).ok().flatten()));
            let (Some(here), Some(there)) = ends else { continue };
            let rank = self.ranks.get(&there);
            if rank.is_none() && here != self.own {
                continue;
            }
            let Ok(state) = Connection::of(socket) else { continue };
            if !state.is_open() {
                continue;
            }
            if !sockopt::socket_keepalive(socket).unwrap_or(true) && keep_alive(socket, self.silence).is_ok() {
                let _ = sockopt::set_tcp_keepcnt(socket, QUESTIONS);
            }
            found.add(
                rank,
                there.ip(),
                Way {
                    unacknowledged: unacknowledged(socket) > 0,
                    is_asked: state.is_asked(),
                    is_silent: state.is_silent(self.silence),
                },
            );
        }
        self.places
            .iter()
            .zip(found.to)
            .map(|(place, to)| to.or_else(|| found.from.get(&place.as_ref()?.ip()).copied()))
            .collect()
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

/// The descriptors of this process.
fn descriptors() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
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
        Ways::new("sockets", &names[0], &names, SILENCE).expect("a provider over TCP").look()
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
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = listener.local_addr().expect("an address");
        let here = TcpStream::connect(there).expect("a connection");
        let _taken = listener.accept().expect("a connection");
        let [other, away] = ["127.0.0.1:1", "127.0.0.2:1"].map(|text| text.parse().expect("an address"));
        assert_eq!(ways(&[other, there])[1], Some(CLEAR), "this process has called");
        assert_eq!(ways(&[there, other, away])[1..], [Some(CLEAR), None], "a process of that machine has called");
        assert_eq!(sockopt::socket_keepalive(&here), Ok(true));
        assert_eq!(sockopt::tcp_keepidle(&here), Ok(SILENCE / 3));
    }

    #[test]
    fn other_connections_are_left_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = listener.local_addr().expect("an address");
        let here = TcpStream::connect(there).expect("a connection");
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
