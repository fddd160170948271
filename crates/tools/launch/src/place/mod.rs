//! Where ranks run: on which host, and on which cores of it. What the user asks for (`--map-by`, `--rank-by`,
//! `--bind-to`, `--cpu-set`), as pure functions of the hosts and of what a machine consists of.

mod deal;
mod local;
mod shares;
mod words;

pub use deal::{Room, deal};
pub use local::{Places, places};
pub use shares::shares;
pub use words::{bind_by, cpus, map_by, rank_by};

use tern_node::{Shape, Unit};
use tern_pmi::parcel::{Reader, Writer};

/// What the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub map: Map,
    /// How ranks are numbered among the places; as they are mapped, if nothing is said.
    pub rank: Option<RankBy>,
    pub bind: Bind,
    /// How many cores each rank has (`:PE=n`, `core:n`); hardware threads, where those are counted.
    pub each: Option<u32>,
    /// The parts of all hosts are one row for the mapping.
    pub span: bool,
    /// A part is filled before the next one, where ranks are mapped to parts.
    pub fill: bool,
    /// Ranks begin as far from each other as they can, and ranks with neighbouring numbers nearest.
    pub spread: bool,
    /// Hardware threads are counted where else cores are.
    pub threads: bool,
    /// Ranks may share cores that they are bound to.
    pub overload: bool,
    /// More ranks on a host than it has slots are refused.
    pub no_oversubscribe: bool,
    /// The hardware threads that ranks may have, if not all.
    pub cpus: Option<Vec<usize>>,
    /// Each rank gets one of them, in the order in which they are named.
    pub ordered: bool,
}

/// Where the next rank goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Map {
    /// Nothing is said: as `Slot`.
    #[default]
    Auto,
    /// One host after the other is filled.
    Slot,
    /// To the next host.
    Node,
    /// To the next part of that kind on the host, until the host is full.
    Unit(Unit),
    /// So many to each part of that kind.
    Each(u32, Unit),
}

/// How ranks are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// As they are mapped on each host, one host after the other.
    Slot,
    /// Hosts in turns.
    Node,
    /// All of one part of a host, then all of the next.
    Fill,
    /// The parts of all hosts in turns.
    Span,
    /// The parts of this kind of a host in turns.
    Unit(Unit),
}

/// What ranks are bound to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bind {
    /// What they are mapped by, or else equal shares of the cores, if there are not more ranks than cores.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// The part of this kind that their core is in.
    Unit(Unit),
}

/// How many parts of that kind this machine has, as far as this process may use it.
pub fn count_here(unit: Unit) -> u32 {
    match unit {
        Unit::Machine => 1,
        _ => Shape::read(&tern_node::affinity()).parts(unit).len() as u32,
    }
}

const UNITS: [Unit; 8] =
    [Unit::Thread, Unit::Core, Unit::L1, Unit::L2, Unit::L3, Unit::Numa, Unit::Package, Unit::Machine];

impl Policy {
    /// Whether places have to be worked out from what the machine consists of.
    pub fn is_special(&self) -> bool {
        let plain = matches!(self.map, Map::Auto | Map::Slot | Map::Node | Map::Each(_, Unit::Machine));
        !plain || self.bind != Bind::Auto || self.each.is_some() || self.cpus.is_some() || self.spread
    }

    /// Appends it to a message.
    pub fn encode(&self, out: &mut Writer) {
        let unit = |unit: Unit| unit as u64;
        let (map, count) = match self.map {
            Map::Auto => (0, 0),
            Map::Slot => (1, 0),
            Map::Node => (2, 0),
            Map::Unit(of) => (10 + unit(of), 0),
            Map::Each(count, of) => (20 + unit(of), count),
        };
        let rank = match self.rank {
            None => 0,
            Some(RankBy::Slot) => 1,
            Some(RankBy::Node) => 2,
            Some(RankBy::Fill) => 3,
            Some(RankBy::Span) => 4,
            Some(RankBy::Unit(of)) => 10 + unit(of),
        };
        let bind = match self.bind {
            Bind::Auto => 0,
            Bind::None => 1,
            Bind::Unit(of) => 10 + unit(of),
        };
        out.number(map).number(count.into()).number(rank).number(bind).number(self.each.unwrap_or(0).into());
        for flag in
            [self.span, self.fill, self.spread, self.threads, self.overload, self.no_oversubscribe, self.ordered]
        {
            out.number(flag.into());
        }
        // 0 stands for all.
        out.number(self.cpus.as_ref().map_or(0, |cpus| cpus.len() as u64 + 1));
        self.cpus.iter().flatten().for_each(|cpu| _ = out.number(*cpu as u64));
    }

    /// The reverse; `None` for bytes that are something else.
    pub fn decode(input: &mut Reader<'_>) -> Option<Policy> {
        let unit = |number: u64| UNITS.get(number as usize).copied();
        let (map, count) = (input.number()?, u32::try_from(input.number()?).ok()?);
        let map = match map {
            0 => Map::Auto,
            1 => Map::Slot,
            2 => Map::Node,
            10..20 => Map::Unit(unit(map - 10)?),
            20.. if count > 0 => Map::Each(count, unit(map - 20)?),
            _ => return None,
        };
        let rank = match input.number()? {
            0 => None,
            1 => Some(RankBy::Slot),
            2 => Some(RankBy::Node),
            3 => Some(RankBy::Fill),
            4 => Some(RankBy::Span),
            by => Some(RankBy::Unit(unit(by.checked_sub(10)?)?)),
        };
        let bind = match input.number()? {
            0 => Bind::Auto,
            1 => Bind::None,
            to => Bind::Unit(unit(to.checked_sub(10)?)?),
        };
        let each = Some(u32::try_from(input.number()?).ok()?).filter(|each| *each > 0);
        let mut flag = || Some(input.number()? != 0);
        let (span, fill, spread, threads, overload) = (flag()?, flag()?, flag()?, flag()?, flag()?);
        let (no_oversubscribe, ordered) = (flag()?, flag()?);
        let cpus = match input.number()? {
            0 => None,
            more => Some((1..more).map(|_| Some(input.number()? as usize)).collect::<Option<_>>()?),
        };
        Some(Policy { map, rank, bind, each, span, fill, spread, threads, overload, no_oversubscribe, cpus, ordered })
    }
}

/// A kind of part, for messages.
pub fn named(unit: Unit) -> &'static str {
    match unit {
        Unit::Thread => "hwthread",
        Unit::Core => "core",
        Unit::L1 => "l1cache",
        Unit::L2 => "l2cache",
        Unit::L3 => "l3cache",
        Unit::Numa => "numa",
        Unit::Package => "package",
        Unit::Machine => "node",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_survives_the_wire() {
        let mut all = vec![Policy::default()];
        for unit in UNITS {
            all.push(Policy {
                map: Map::Unit(unit),
                bind: Bind::Unit(unit),
                span: true,
                fill: true,
                ..Policy::default()
            });
            all.push(Policy { map: Map::Unit(unit), spread: true, ..Policy::default() });
            let rank = Some(RankBy::Unit(unit));
            all.push(Policy { map: Map::Each(3, unit), rank, each: Some(2), overload: true, ..Policy::default() });
        }
        for rank in [RankBy::Slot, RankBy::Node, RankBy::Fill, RankBy::Span] {
            all.push(Policy {
                map: Map::Node,
                rank: Some(rank),
                cpus: Some(vec![7, 1]),
                ordered: true,
                ..Policy::default()
            });
        }
        all.push(Policy {
            map: Map::Slot,
            bind: Bind::None,
            threads: true,
            no_oversubscribe: true,
            ..Policy::default()
        });
        for policy in all {
            let mut out = Writer::default();
            policy.encode(&mut out);
            for cut in 0..out.0.len() {
                assert_eq!(Policy::decode(&mut Reader(&out.0[..cut])), None, "{cut}");
            }
            assert_eq!(Policy::decode(&mut Reader(&out.0)), Some(policy));
        }
    }
}
