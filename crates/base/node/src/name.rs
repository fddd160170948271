//! Which names and addresses are those of this machine. Nobody else is asked.

use std::net::{IpAddr, UdpSocket};

/// True for a name or an address of this machine: `localhost`, its own name, with the domain or without, an address of
/// an interface, and what /etc/hosts calls one of these.
pub fn is_this_machine(name: &str) -> bool {
    let files = || std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    is_name_of(name, &crate::hostname(), files, is_own_address)
}

fn is_name_of(name: &str, own: &str, hosts: impl Fn() -> String, is_own_address: impl Fn(IpAddr) -> bool) -> bool {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    if let Ok(address) = bare.parse() {
        return is_own_address(address);
    }
    name.eq_ignore_ascii_case("localhost") || is_same(name, own) || stands_in(&hosts(), name, is_own_address)
}

/// Two names of which one may lack the domain.
fn is_same(name: &str, other: &str) -> bool {
    let (short, domain) = name.split_once('.').unwrap_or((name, ""));
    let (other_short, other_domain) = other.split_once('.').unwrap_or((other, ""));
    let domains = domain.is_empty() || other_domain.is_empty() || domain.eq_ignore_ascii_case(other_domain);
    !short.is_empty() && short.eq_ignore_ascii_case(other_short) && domains
}

/// Whether a line of /etc/hosts gives the name to an own address.
fn stands_in(hosts: &str, name: &str, is_own_address: impl Fn(IpAddr) -> bool) -> bool {
    hosts.lines().any(|line| {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let address = words.next().and_then(|address| address.parse().ok());
        words.any(|word| word.eq_ignore_ascii_case(name)) && address.is_some_and(&is_own_address)
    })
}

/// Only an own address can be bound to.
fn is_own_address(address: IpAddr) -> bool {
    !address.is_unspecified() && (address.is_loopback() || UdpSocket::bind((address, 0)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_the_own_name_are_this_machine() {
        for own in ["localhost", "LocalHost", "127.0.0.1", "127.3.4.5", "::1", "[::1]", &crate::hostname()] {
            assert!(is_this_machine(own), "{own}");
        }
        // Addresses for documentation.
        for other in ["192.0.2.1", "2001:db8::1", "0.0.0.0", "no-such-host.example", ""] {
            assert!(!is_this_machine(other), "{other}");
        }
    }

    #[test]
    fn domains_and_the_file_of_hosts_are_looked_at() {
        let hosts = "# 10.0.0.1 remark\n10.0.0.1 login gate.example # nothing\n10.0.0.2 other\nnonsense here\n";
        let own = |address: IpAddr| address == IpAddr::from([10, 0, 0, 1]);
        let is_own = |name: &str| is_name_of(name, "node1.cluster", || hosts.into(), own);
        for name in ["node1", "node1.cluster", "NODE1", "login", "gate.example", "10.0.0.1"] {
            assert!(is_own(name), "{name}");
        }
        for name in ["node2", "node1.elsewhere", "other", "remark", "here", "nothing", "10.0.0.2"] {
            assert!(!is_own(name), "{name}");
        }
    }
}
