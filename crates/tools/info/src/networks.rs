//! Which networks this host has, and which one Tern would take between hosts.

use crate::print;
use std::path::{Path, PathBuf};
use tern_settings::{Entry, INTERFACE, LIBFABRIC, NETWORK, Network};

/// The networks, and what Tern would take.
pub fn report() -> String {
    let sys = Path::new("/sys");
    let name = Some(LIBFABRIC.get()).filter(|name| *name != "auto");
    let fabrics = tern_ofi::survey(name);
    let mut text = print::heading("Networks");
    let mut line = |name: &str, value: &str| text.push_str(&print::line(name, value));
    let ports = ports(sys);
    if ports.is_empty() {
        line("RDMA", "no card: nothing in /sys/class/infiniband");
    }
    for port in &ports {
        line("RDMA", &port.text());
    }
    match &fabrics {
        Err(why) => line("libfabric", &format!("no: {why}")),
        Ok((version, found)) => {
            line("libfabric", &format!("yes: {}.{}, with {} places", version.0, version.1, found.len()));
            for one in found {
                line("provider", &place(one));
            }
        }
    }
    for interface in interfaces(sys) {
        line("TCP", &interface);
    }
    let facts = Facts {
        wanted: NETWORK.get(),
        interface: INTERFACE.get(),
        cards: tern_ofi::cards(sys).collect(),
        providers: fabrics.map(|(_, found)| found.into_iter().map(|one| one.provider).collect()),
        active: ports.iter().find(|port| port.state.contains("ACTIVE")).map(|port| port.name.clone()),
        device_files: Path::new("/dev/infiniband").is_dir(),
    };
    line(NETWORK.name(), NETWORK.value());
    line("Tern would take", &decide(&facts));
    text
}

/// A port of an RDMA card.
struct Port {
    name: String,
    state: String,
    rate: String,
    link: String,
}

impl Port {
    fn text(&self) -> String {
        format!("{}: {}, {}, {}", self.name, self.state, self.rate, self.link)
    }
}

fn ports(sys: &Path) -> Vec<Port> {
    let mut found = Vec::new();
    for card in names(&sys.join("class/infiniband")) {
        let ports = sys.join("class/infiniband").join(&card).join("ports");
        for number in names(&ports) {
            let read = |what: &str| {
                let text = std::fs::read_to_string(ports.join(&number).join(what)).unwrap_or_default();
                if text.trim().is_empty() { "unknown".to_owned() } else { text.trim().to_owned() }
            };
            let name = format!("{card}:{number}");
            found.push(Port { name, state: read("state"), rate: read("rate"), link: read("link_layer") });
        }
    }
    found
}

/// The names in a directory, in order.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// One place that libfabric reaches.
fn place(found: &tern_ofi::Found) -> String {
    let can = match (found.rma, found.atomics) {
        (true, true) => "RMA and atomics",
        (true, false) => "RMA",
        (false, _) => "messages alone",
    };
    let unasked = if tern_ofi::TABLE.contains(&&*found.provider) { "" } else { "; only if TERN_OFI_PROVIDER names it" };
    format!("{} on {}: {can}{unasked}", found.provider, found.domain)
}

/// The interfaces with an address, but for the loopback's.
fn interfaces(sys: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in names(&sys.join("class/net")).into_iter().filter(|name| name != "lo") {
        let addresses: Vec<String> = named(&name).iter().map(ToString::to_string).collect();
        if addresses.is_empty() {
            continue;
        }
        let file: PathBuf = sys.join("class/net").join(&name).join("speed");
        let speed = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<i64>().ok());
        let speed =
            speed.filter(|speed| *speed > 0).map_or("speed unknown".to_owned(), |speed| format!("{speed} Mbit/s"));
        found.push(format!("{name}: {}, {speed}", addresses.join(" ")));
    }
    found
}

/// What the choice depends on.
struct Facts {
    wanted: Network,
    interface: &'static str,
    /// Cards that need libfabric.
    cards: Vec<String>,
    /// Those of libfabric, or why there is no libfabric.
    providers: Result<Vec<String>, String>,
    /// A port that is connected.
    active: Option<String>,
    device_files: bool,
}

/// The network between hosts, and why: the rules of the network layer.
fn decide(facts: &Facts) -> String {
    let asked = "as TERN_NETWORK says";
    let unasked = |provider: &String| tern_ofi::TABLE.contains(&provider.as_str());
    let known = match &facts.providers {
        Ok(providers) => providers.iter().find(|provider| unasked(provider)).ok_or("libfabric has no provider for it"),
        Err(why) => Err(why.as_str()),
    };
    match facts.wanted {
        Network::Tcp => format!("tcp, {asked}; interface: {}", facts.interface),
        Network::Software => format!("software, {asked}: RDMA by software, for tests"),
        Network::Pipes => format!("pipes, {asked}: between simulated nodes, for those who write devices"),
        Network::Ofi => match &facts.providers {
            Ok(_) => format!("ofi, {asked}; provider: {}", tern_settings::OFI_PROVIDER.get()),
            Err(why) => format!("nothing: TERN_NETWORK=ofi, but {why}"),
        },
        Network::Rdma => match (&facts.active, facts.device_files) {
            (Some(port), true) => format!("rdma, {asked}: {port}"),
            (None, _) => {
                "nothing: TERN_NETWORK=rdma, but no port of a card is connected; TERN_NETWORK=tcp needs none".into()
            }
            (_, false) => {
                "nothing: TERN_NETWORK=rdma, but there is no /dev/infiniband; load ib_uverbs, or pass the device files \
                           to the container"
                    .into()
            }
        },
        Network::Auto if !facts.cards.is_empty() => match known {
            Ok(provider) => format!("ofi, by {provider}: {} needs libfabric", facts.cards.join(", ")),
            Err(why) => format!("tcp, since {} needs libfabric, and {why}", facts.cards.join(", ")),
        },
        Network::Auto => match (&facts.active, facts.device_files) {
            (Some(port), true) => format!("rdma: {port} is connected"),
            (Some(port), false) => format!("tcp: {port} is connected, but there is no /dev/infiniband to reach it by"),
            (None, _) => "tcp: no RDMA card is connected, and no card needs libfabric".into(),
        },
    }
}

/// The addresses of one interface.
fn named(name: &str) -> Vec<std::net::IpAddr> {
    tern_tcp::Choice::parse(name).map_or(Vec::new(), |choice| tern_tcp::interfaces(&choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let providers = Ok(vec!["tcp;ofi_rxm".to_owned()]);
        Facts { wanted: Network::Auto, interface: "auto", cards: vec![], providers, active: None, device_files: false }
    }

    #[test]
    fn a_host_without_cards_uses_tcp() {
        assert!(decide(&facts()).starts_with("tcp: no RDMA card"));
    }

    #[test]
    fn cards_are_used_where_they_can_be_reached() {
        let active = Some("mlx5_0:1".to_owned());
        assert_eq!(
            decide(&Facts { active: active.clone(), device_files: true, ..facts() }),
            "rdma: mlx5_0:1 is connected"
        );
        assert!(decide(&Facts { active, ..facts() }).starts_with("tcp: mlx5_0:1 is connected, but"));
        let cards = vec!["cxi0".to_owned()];
        let there = Facts { cards: cards.clone(), providers: Ok(vec!["tcp".into(), "cxi".into()]), ..facts() };
        assert_eq!(decide(&there), "ofi, by cxi: cxi0 needs libfabric");
        assert!(decide(&Facts { cards: cards.clone(), ..facts() }).starts_with("tcp, since cxi0 needs libfabric"));
        let missing = Facts { cards, providers: Err("it cannot be loaded".into()), ..facts() };
        assert_eq!(decide(&missing), "tcp, since cxi0 needs libfabric, and it cannot be loaded");
    }

    #[test]
    fn what_is_forced_is_taken_or_told_to_be_impossible() {
        let want = |wanted| Facts { wanted, ..facts() };
        assert!(decide(&want(Network::Tcp)).starts_with("tcp, as TERN_NETWORK says"));
        assert!(decide(&want(Network::Software)).starts_with("software, as TERN_NETWORK says"));
        assert!(decide(&want(Network::Ofi)).starts_with("ofi, as TERN_NETWORK says"));
        assert!(decide(&want(Network::Rdma)).starts_with("nothing: TERN_NETWORK=rdma"));
        let missing = Facts { providers: Err("it cannot be loaded".into()), ..want(Network::Ofi) };
        assert_eq!(decide(&missing), "nothing: TERN_NETWORK=ofi, but it cannot be loaded");
    }
}
