//! The hosts that the user names, and which ranks each of them has.

use std::ffi::OsStr;

use tern_node::Unit;
use tern_pmi::Nodes;

use crate::place::{self, Policy, Room};

/// A host that the user names, and how many ranks it has room for, if that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub slots: Option<u32>,
}

/// Hosts for ranks that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// None for this machine.
    pub hosts: Vec<Host>,
    pub ranks: u32,
}

/// A host with ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub name: String,
    pub ranks: u32,
}

/// Which ranks are on which host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// A host for each node, in their order.
    pub shares: Vec<Share>,
    pub nodes: Nodes,
}

/// `a,b:2`, as after `--hosts`.
pub fn list(text: &OsStr) -> Result<Vec<Host>, String> {
    let text = text.to_str().ok_or("the names of hosts are not UTF-8")?;
    merge(text.split(',').map(str::trim).filter(|host| !host.is_empty()).map(one))
}

/// A file with a host in each line: `a`, `b:2`, `b slots=2`, `b slots = 2`, `b cpu=2`; what follows a `#` is a comment. A host without slots,
/// `b slots=0`, is left out.
pub fn file(path: &OsStr) -> Result<Vec<Host>, String> {
    file_or_none(path)?.ok_or_else(|| format!("the host file {}: no host is named", path.to_string_lossy()))
}

/// The same; `None` if the file names no host.
pub fn file_or_none(path: &OsStr) -> Result<Option<Vec<Host>>, String> {
    let shown = path.to_string_lossy();
    let text = std::fs::read_to_string(path).map_err(|error| format!("the host file {shown}: {error}"))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let hosts: Vec<_> = lines.filter(|line| !line.is_empty()).map(line).collect();
    if hosts.is_empty() {
        return Ok(None);
    }
    let with_room = hosts.into_iter().filter(|host| !host.as_ref().is_ok_and(|host| host.slots == Some(0)));
    merge(with_room).map(Some).map_err(|wrong| format!("the host file {shown}: {wrong}"))
}

/// Words of other launchers' host files that say how many slots a host has.
const SLOTS: [&str; 4] = ["slots", "cpu", "cpus", "count"];

fn line(line: &str) -> Result<Host, String> {
    let text = line.replace('=', " = ");
    let mut words = text.split_whitespace().peekable();
    let mut host = one(words.next().unwrap_or_default())?;
    while let Some(word) = words.next() {
        if words.next_if_eq(&"=").is_none() {
            continue;
        }
        let value = words.next().unwrap_or_default();
        match word {
            _ if SLOTS.contains(&word) => host.slots = Some(if value == "0" { 0 } else { number(line, value)? }),
            "user" | "username" => host.name = format!("{value}@{}", host.name),
            _ => {}
        }
    }
    Ok(host)
}

fn one(text: &str) -> Result<Host, String> {
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok(Host { name: text.into(), slots: None });
    }
    match text.rsplit_once(':').filter(|(_, slots)| !slots.ends_with(']')) {
        Some((name, slots)) if !name.is_empty() => Ok(Host { name: name.into(), slots: Some(number(text, slots)?) }),
        _ => Ok(Host { name: text.into(), slots: None }),
    }
}

fn number(text: &str, slots: &str) -> Result<u32, String> {
    match slots.parse() {
        Ok(slots) if slots > 0 => Ok(slots),
        _ => Err(format!("{text:?} does not say how many ranks the host has room for: host:N, N being 1 or more")),
    }
}

/// A host that is named several times has room for as many.
fn merge(hosts: impl Iterator<Item = Result<Host, String>>) -> Result<Vec<Host>, String> {
    let mut merged: Vec<Host> = Vec::new();
    for host in hosts {
        let host = host?;
        if host.name.starts_with('-') {
            return Err(format!("{:?} is no name of a host", host.name));
        }
        let own = tern_node::is_this_machine(&host.name);
        let same = |known: &&mut Host| known.name == host.name || own && tern_node::is_this_machine(&known.name);
        match merged.iter_mut().find(same) {
            Some(known) => known.slots = Some(known.slots.unwrap_or(1) + host.slots.unwrap_or(1)),
            None => merged.push(host),
        }
    }
    match merged.is_empty() {
        true => Err("no host is named".into()),
        false => Ok(merged),
    }
}

/// Whether two names are of one host, as far as the names tell.
pub fn same_host(one: &str, other: &str) -> bool {
    one == other || tern_node::is_this_machine(one) && tern_node::is_this_machine(other)
}

/// How much room the host of each share has, where that is said.
pub fn slots(blocks: &[Block], shares: &[Share], most: Option<u32>) -> Vec<Option<u32>> {
    let said = |share: &Share| {
        let hosts = blocks.iter().flat_map(|block| &block.hosts);
        hosts.filter(|host| host.name == share.name).find_map(|host| host.slots).or(most)
    };
    shares.iter().map(said).collect()
}

/// The hosts that are named and have no ranks, in their order.
pub fn without_ranks(blocks: &[Block], shares: &[Share]) -> Vec<Share> {
    let mut others: Vec<Share> = Vec::new();
    for host in blocks.iter().flat_map(|block| &block.hosts) {
        if !shares.iter().chain(&others).any(|share| share.name == host.name) {
            others.push(Share { name: host.name.clone(), ranks: 0 });
        }
    }
    others
}

/// The blocks, if some are for other machines. Those without hosts are for this one then.
pub fn beyond_this_machine(mut blocks: Vec<Block>) -> Vec<Block> {
    let mut all = blocks.iter().flat_map(|block| &block.hosts);
    if all.all(|host| tern_node::is_this_machine(&host.name)) {
        return Vec::new();
    }
    for block in blocks.iter_mut().filter(|block| block.hosts.is_empty()) {
        block.hosts.push(Host { name: "localhost".into(), slots: None });
    }
    blocks
}

/// Divides the ranks of all blocks. `most` is the room of hosts that do not say theirs; `count` how many parts of a kind
/// each host has. Hosts without ranks are left out.
///
/// Errors: a line for the user: there is no room.
pub fn layout(
    blocks: &[Block], most: Option<u32>, policy: &Policy, count: impl Fn(Unit) -> u32,
) -> Result<Layout, String> {
    let mut names: Vec<&str> = Vec::new();
    let mut numbers: Vec<u32> = Vec::new();
    for block in blocks.iter().filter(|block| block.ranks > 0) {
        let rooms: Vec<Room> = block.hosts.iter().map(|host| host.slots.or(most)).collect();
        let mut known: Vec<Option<usize>> = vec![None; rooms.len()];
        for host in place::deal(policy, &rooms, block.ranks, &count)? {
            // Nodes are numbered in the order of their first ranks.
            let number = *known[host as usize].get_or_insert_with(|| {
                let name = block.hosts[host as usize].name.as_str();
                names.iter().position(|known| *known == name).unwrap_or_else(|| {
                    names.push(name);
                    names.len() - 1
                })
            });
            numbers.push(number as u32);
        }
    }
    let nodes = Nodes::of_numbers(&numbers).ok_or("there are no ranks")?;
    let shares = names.iter().zip(nodes.sizes()).map(|(name, ranks)| Share { name: name.to_string(), ranks });
    Ok(Layout { shares: shares.collect(), nodes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<Host> {
        list(OsStr::new(text)).expect("a list of hosts")
    }

    fn laid_out(blocks: &[Block], most: Option<u32>, policy: &Policy) -> Vec<(String, u32)> {
        let layout = layout(blocks, most, policy, |_| 2).expect("there is room");
        layout.shares.into_iter().map(|share| (share.name, share.ranks)).collect()
    }

    fn divided(text: &str, size: u32, most: Option<u32>) -> Vec<(String, u32)> {
        laid_out(&[Block { hosts: hosts(text), ranks: size }], most, &Policy::default())
    }

    fn named(names: &[(&str, u32)]) -> Vec<(String, u32)> {
        names.iter().map(|(name, ranks)| (name.to_string(), *ranks)).collect()
    }

    #[test]
    fn hosts_are_named_in_the_manners_of_others() {
        let slots: Vec<_> = hosts("a,b:3, c,a").into_iter().map(|host| (host.name, host.slots)).collect();
        assert_eq!(slots, [("a".into(), Some(2)), ("b".into(), Some(3)), ("c".into(), None)]);
        for text in ["a slots=4 max_slots=9", "a slots = 4", "a cpu=4", "a count= 4", "a max-slots=9 cpus =4"] {
            assert_eq!(line(text), Ok(Host { name: "a".into(), slots: Some(4) }), "{text}");
        }
        assert_eq!(line("a slots=0"), Ok(Host { name: "a".into(), slots: Some(0) }));
        assert_eq!(line("a user=me"), Ok(Host { name: "me@a".into(), slots: None }));
        assert!(line("a slots=").is_err() && line("a slots=x").is_err() && line("a:0").is_err());
        for wrong in ["", ",", "a:0", "a:x", "-oProxyCommand=x"] {
            assert!(list(OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranks_go_in_blocks() {
        assert_eq!(divided("a,b", 5, None), named(&[("a", 3), ("b", 2)]));
        assert_eq!(divided("a,b,c", 2, None), named(&[("a", 1), ("b", 1)]));
        assert_eq!(divided("a:4,b:4", 5, None), named(&[("a", 4), ("b", 1)]));
        // More than there is room for: the rest is shared.
        assert_eq!(divided("a:1,b:2", 6, None), named(&[("a", 3), ("b", 3)]));
        assert_eq!(divided("a,b,c", 4, Some(2)), named(&[("a", 2), ("b", 2)]));
    }

    #[test]
    fn names_and_addresses_of_this_machine_are_one_host() {
        assert_eq!(
            hosts("127.0.0.1,::1,a,[::1]:2,localhost:3"),
            [Host { name: "127.0.0.1".into(), slots: Some(7) }, Host { name: "a".into(), slots: None }]
        );
        let block = |text: &str, ranks| Block { hosts: if text.is_empty() { vec![] } else { hosts(text) }, ranks };
        assert_eq!(beyond_this_machine(vec![block("", 1), block("::1,localhost", 2)]), []);
        let mixed = beyond_this_machine(vec![block("", 1), block("localhost,a", 2), block("a,b", 2)]);
        assert_eq!(laid_out(&mixed, None, &Policy::default()), named(&[("localhost", 2), ("a", 2), ("b", 1)]));
    }

    #[test]
    fn hosts_without_ranks_are_found() {
        let block = |text: &str, ranks| Block { hosts: hosts(text), ranks };
        let shares = [Share { name: "b".into(), ranks: 2 }];
        let others = without_ranks(&[block("a:2,b", 1), block("c,a", 1)], &shares);
        assert_eq!(others, [Share { name: "a".into(), ranks: 0 }, Share { name: "c".into(), ranks: 0 }]);
        assert_eq!(slots(&[block("a:2,b", 1)], &others, Some(7)), [Some(2), Some(7)]);
    }

    #[test]
    fn ranks_of_one_host_are_on_one_node() {
        let block = |text: &str, ranks| Block { hosts: hosts(text), ranks };
        let again = layout(&[block("a", 2), block("b", 1), block("a", 1)], None, &Policy::default(), |_| 1);
        assert_eq!(again.map(|layout| layout.nodes.to_string()), Ok("@0x2,1,0".into()));
        let by_node = Policy { map: place::Map::Node, ..Policy::default() };
        let turns = layout(&[block("a:2,b:2", 4)], None, &by_node, |_| 1).expect("there is room");
        assert_eq!((turns.nodes.members(0), turns.shares[1].name.as_str()), (vec![0, 2], "b"));
    }
}
