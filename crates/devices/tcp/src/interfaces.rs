//! The interfaces of this machine, and which of them serve.

use std::net::IpAddr;

/// Which interfaces serve: those of a list, or all others but the loopback's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    list: Vec<Entry>,
    others: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Name(String),
    /// Addresses whose first so many bits are these.
    Network(IpAddr, u32),
}

impl Choice {
    /// All but the loopback's.
    pub const ALL: Choice = Choice { list: Vec::new(), others: true };

    /// Names, addresses and networks (`10.1.0.0/16`) with commas between them; with `^` in front, all others. `None`: it is no such list.
    pub fn parse(text: &str) -> Option<Choice> {
        let (others, list) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let list = list.split(',').map(|entry| Entry::parse(entry.trim())).collect::<Option<Vec<Entry>>>()?;
        Some(Choice { list, others })
    }

    /// The list says which is to be tried first.
    pub fn is_ordered(&self) -> bool {
        !self.others
    }

    /// The place in the list of an interface with this address.
    fn listed(&self, name: &[u8], address: IpAddr) -> Option<usize> {
        self.list.iter().position(|entry| entry.covers(name, address))
    }

    /// Of the addresses of interfaces those that serve, in the order of the list, IPv4 first where it says nothing: that is what most
    /// clusters route. An address that is asked for, and that no interface has, is taken: a gateway may have it.
    fn choose(&self, all: &[(Vec<u8>, IpAddr)]) -> Vec<IpAddr> {
        let mut found: Vec<(usize, IpAddr)> = Vec::new();
        for (name, address) in all {
            match self.listed(name, *address) {
                Some(at) if !self.others => found.push((at, *address)),
                None if self.others && !address.is_loopback() => found.push((0, *address)),
                _ => {}
            }
        }
        if !self.others {
            let absent = self.list.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.address()?)));
            found.extend(absent.filter(|(_, asked)| !all.iter().any(|(_, address)| address == asked)));
        }
        found.sort_by_key(|(at, address)| (*at, address.is_ipv6()));
        let mut chosen: Vec<IpAddr> = Vec::new();
        for (_, address) in found {
            if !chosen.contains(&address) {
                chosen.push(address);
            }
        }
        chosen
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Entry> {
        if let Some((address, bits)) = text.split_once('/') {
            let (address, bits): (IpAddr, u32) = (address.parse().ok()?, bits.parse().ok()?);
            return (bits <= width(address)).then_some(Entry::Network(address, bits));
        }
        match text.parse::<IpAddr>() {
            Ok(address) => Some(Entry::Network(address, width(address))),
            Err(_) if text.is_empty() || text.contains('^') => None,
            Err(_) => Some(Entry::Name(text.to_owned())),
        }
    }

    fn covers(&self, name: &[u8], address: IpAddr) -> bool {
        match self {
            Entry::Name(wanted) => wanted.as_bytes() == name,
            Entry::Network(network, bits) => {
                let apart = number(*network) ^ number(address);
                // Shifted by all bits, nothing is left.
                let apart = apart.checked_shr(width(*network) - bits).unwrap_or(0);
                network.is_ipv4() == address.is_ipv4() && apart == 0
            }
        }
    }

    /// Of an entry that is one address.
    fn address(&self) -> Option<IpAddr> {
        match self {
            Entry::Network(address, bits) if *bits == width(*address) => Some(*address),
            _ => None,
        }
    }
}

/// Bits of an address.
fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The addresses of this machine's interfaces that are up and serve, but for those of one link alone.
pub fn interfaces(choice: &Choice) -> Vec<IpAddr> {
    let up = tern_node::interfaces().into_iter().filter(|one| one.up);
    choice.choose(&up.map(|one| (one.name, one.address)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str) -> String {
        let all =
            [("lo", "127.0.0.1"), ("lo", "::1"), ("docker0", "172.17.0.1"), ("eth0", "fd00::2"), ("eth0", "10.0.0.2")];
        let all = [&all[..], &[("eth1", "10.1.0.2")]].concat();
        let all: Vec<(Vec<u8>, IpAddr)> =
            all.iter().map(|(name, ip)| (name.as_bytes().to_vec(), ip.parse().expect("an address"))).collect();
        let choice = if text.is_empty() { Choice::ALL } else { Choice::parse(text).expect("a list") };
        let addresses: Vec<String> = choice.choose(&all).iter().map(IpAddr::to_string).collect();
        addresses.join(" ")
    }

    #[test]
    fn interfaces_are_chosen_and_left() {
        assert_eq!(chosen(""), "172.17.0.1 10.0.0.2 10.1.0.2 fd00::2");
        assert_eq!(chosen("^docker0"), "10.0.0.2 10.1.0.2 fd00::2");
        assert_eq!(chosen("^docker0,10.0.0.0/16,fd00::/8"), "10.1.0.2");
        assert_eq!(chosen("eth1,eth0"), "10.1.0.2 10.0.0.2 fd00::2");
        assert_eq!(chosen("10.0.0.0/8"), "10.0.0.2 10.1.0.2");
        assert_eq!(chosen("0.0.0.0/0"), "127.0.0.1 172.17.0.1 10.0.0.2 10.1.0.2");
        assert_eq!(chosen("lo"), "127.0.0.1 ::1");
        assert_eq!(chosen("192.0.2.7, 10.1.0.2"), "192.0.2.7 10.1.0.2", "an address of nobody here is a gateway's");
        assert_eq!(chosen("no such interface"), "");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["", "^", "eth0,", "eth0,^eth1", "10.0.0.0/33", "10.0.0.0/x", "host/8"] {
            assert_eq!(Choice::parse(text), None, "{text}");
        }
        assert!(interfaces(&Choice::ALL).iter().all(|ip| !ip.is_loopback()));
    }
}
