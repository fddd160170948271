//! What each member of a collective says of its call, and whether that fits together (MPI 5.0
//! section 6.2). Nothing here communicates.

use crate::advice::{BEFORE_THE_END, SAME_CALLS, SAME_DATA, SAME_ROOT};
use crate::constants::*;
use crate::error::Result;

/// Stands for every rank.
pub const ALL: i32 = -1;

/// Data as its signature has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    pub bytes: u64,
    /// Equal for equal sequences of basic types; 0 for packed data, which matches anything.
    pub hash: u64,
    /// For people: "4 x Int32".
    pub text: String,
}

impl Sign {
    fn fits(&self, other: &Sign) -> bool {
        self.bytes == other.bytes && (self.hash == other.hash || self.hash == 0 || other.hash == 0)
    }

    /// The class of the error when they do not fit.
    fn class(&self, other: &Sign) -> i32 {
        if self.bytes == other.bytes { MPI_ERR_TYPE } else { MPI_ERR_TRUNCATE }
    }
}

/// A call, as the rank that makes it sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Name of the function, without what tells the large-count form.
    pub function: String,
    pub root: Option<i32>,
    pub op: Option<String>,
    /// What must be the same at all.
    pub same: Option<Sign>,
    /// Data for a rank, or for all.
    pub gives: Vec<(i32, Sign)>,
    /// Data expected from a rank, or from each.
    pub takes: Vec<(i32, Sign)>,
    /// Of a neighbourhood: each block is of one edge, and several may be of the same rank, in the order in which they meet.
    pub edges: bool,
    /// The caller's clock and phase ([`super::race`]).
    pub clock: u64,
    pub phase: u64,
}

fn find(blocks: &[(i32, Sign)], rank: usize) -> Option<&Sign> {
    blocks.iter().find(|(of, _)| *of == ALL || *of == rank as i32).map(|(_, sign)| sign)
}

/// Whether the calls of all ranks of `comm` are one collective. The error names two ranks with what
/// each of them says; it is the same at all ranks.
pub fn compare(comm: &str, calls: &[Call]) -> Result<()> {
    let Some(first) = calls.first() else { return Ok(()) };
    let others = || calls.iter().enumerate().skip(1);
    if let Some((rank, other)) = others().find(|(_, call)| call.function != first.function) {
        return differ_in_function(comm, rank, &first.function, &other.function);
    }
    let function = &first.function;
    let roots = |call: &Call| call.root.map_or("none".into(), |root| root.to_string());
    if let Some((rank, other)) = others().find(|(_, call)| call.root != first.root) {
        let verb = format!("calls {function} with root");
        return differ(MPI_ERR_ROOT, SAME_ROOT, comm, rank, &verb, &roots(first), &roots(other));
    }
    let ops = |call: &Call| call.op.clone().unwrap_or_default();
    if let Some((rank, other)) = others().find(|(_, call)| call.op != first.op) {
        let verb = format!("calls {function} with operation");
        return differ(
            MPI_ERR_OP,
            "give the same operation at all members of the collective",
            comm,
            rank,
            &verb,
            &ops(first),
            &ops(other),
        );
    }
    // The root of a reduction may be the only one with another buffer, but all have the same count.
    let with = calls.iter().enumerate().filter_map(|(rank, call)| Some((rank, call.same.as_ref()?)));
    let with: Vec<(usize, &Sign)> = with.collect();
    if let Some((zero, sign)) = with.first()
        && let Some((rank, other)) = with.iter().find(|(_, other)| !sign.fits(other))
    {
        return err!(
            sign.class(other),
            try SAME_DATA,
            "on {comm}: rank {zero} calls {function} with {}, but rank {rank} with {}; counts and types must agree",
            sign.text,
            other.text
        );
    }
    if calls.iter().any(|call| call.edges) {
        return compare_edges(comm, calls);
    }
    for (to, taker) in calls.iter().enumerate() {
        for (from, giver) in calls.iter().enumerate() {
            if let Some(taken) = find(&taker.takes, from)
                && let Some(given) = find(&giver.gives, to)
                && !given.fits(taken)
            {
                return err!(
                    given.class(taken),
                    try SAME_DATA,
                    "on {comm}: in {function} rank {from} gives {} to rank {to}, which expects {}; counts and types \
                     must agree",
                    given.text,
                    taken.text
                );
            }
        }
    }
    Ok(())
}

/// The blocks of `list` that are for `rank` or from it.
fn of(list: &[(i32, Sign)], rank: usize) -> impl Iterator<Item = &Sign> {
    list.iter().filter(move |(other, _)| *other == rank as i32).map(|(_, sign)| sign)
}

/// Both ends of each edge of a neighbourhood (section 8.6).
fn compare_edges(comm: &str, calls: &[Call]) -> Result<()> {
    let edges = calls.iter().enumerate().flat_map(|(rank, call)| {
        let out = call.gives.iter().map(move |(other, _)| (rank, *other as usize));
        out.chain(call.takes.iter().map(move |(other, _)| (*other as usize, rank)))
    });
    let mut edges: Vec<(usize, usize)> = edges.collect();
    edges.sort_unstable();
    edges.dedup();
    for (from, to) in edges {
        let (Some(giver), Some(taker)) = (calls.get(from), calls.get(to)) else { continue };
        let function = &giver.function;
        let (gives, takes) = (of(&giver.gives, to).count(), of(&taker.takes, from).count());
        if gives != takes {
            return err!(
                MPI_ERR_TOPOLOGY,
                try "",
                "on {comm}: in {function} rank {from} has {gives} edges to rank {to}, which has {takes} from it: both ends of an \
                 edge must name each other as often"
            );
        }
        let mut both = of(&giver.gives, to).zip(of(&taker.takes, from)).enumerate();
        if let Some((at, (given, taken))) = both.find(|(_, (given, taken))| !given.fits(taken)) {
            let which = if gives > 1 { format!(" over their edge {at}") } else { String::new() };
            return err!(
                given.class(taken),
                try SAME_DATA,
                "on {comm}: in {function} rank {from} gives {} to its neighbour rank {to}{which}, which expects {}; counts and \
                 types must agree",
                given.text,
                taken.text
            );
        }
    }
    Ok(())
}

/// What a rank does that calls `function`.
fn doing(function: &str) -> String {
    match function {
        "MPI_Finalize" => "is in MPI_Finalize".into(),
        function => format!("calls {function}"),
    }
}

fn differ_in_function(comm: &str, rank: usize, own: &str, theirs: &str) -> Result<()> {
    let ends = [own, theirs].contains(&"MPI_Finalize");
    let advice = if ends { BEFORE_THE_END } else { SAME_CALLS };
    let (own, theirs) = (doing(own), doing(theirs));
    err!(
        MPI_ERR_OTHER,
        try advice,
        "on {comm}: rank 0 {own}, but rank {rank} {theirs}; all members must make the same call"
    )
}

fn differ(
    class: i32, advice: &'static str, comm: &str, rank: usize, verb: &str, own: &str, theirs: &str,
) -> Result<()> {
    err!(
        class,
        try advice,
        "on {comm}: rank 0 {verb} {own}, but rank {rank} {verb} {theirs}; all members must make the same call"
    )
}

impl Call {
    /// The call as bytes, for the other members.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.clock as i64);
        put(&mut out, self.phase as i64);
        put(&mut out, i64::from(self.edges));
        put_text(&mut out, &self.function);
        put(&mut out, self.root.map_or(i64::MIN, i64::from));
        put_text(&mut out, self.op.as_deref().unwrap_or(""));
        let same: Vec<(i32, Sign)> = self.same.iter().map(|sign| (0, sign.clone())).collect();
        for list in [&same, &self.gives, &self.takes] {
            put(&mut out, list.len() as i64);
            for (rank, sign) in list {
                put(&mut out, i64::from(*rank));
                put(&mut out, sign.bytes as i64);
                put(&mut out, sign.hash as i64);
                put_text(&mut out, &sign.text);
            }
        }
        out
    }

    /// The call of such bytes; what is missing stays empty.
    pub fn decode(mut bytes: &[u8]) -> Call {
        let bytes = &mut bytes;
        let (clock, phase, edges) = (get(bytes) as u64, get(bytes) as u64, get(bytes) != 0);
        let function = get_text(bytes);
        let root = i32::try_from(get(bytes)).ok();
        let op = Some(get_text(bytes)).filter(|op| !op.is_empty());
        let mut lists: Vec<Vec<(i32, Sign)>> = Vec::new();
        for _ in 0..3 {
            let count = get(bytes).max(0);
            let entry = |bytes: &mut &[u8]| {
                let rank = get(bytes) as i32;
                let sign = Sign { bytes: get(bytes) as u64, hash: get(bytes) as u64, text: get_text(bytes) };
                (rank, sign)
            };
            lists.push((0..count).map(|_| entry(bytes)).collect());
        }
        let (takes, gives) = (lists.pop().unwrap_or_default(), lists.pop().unwrap_or_default());
        let same = lists.pop().unwrap_or_default().pop().map(|(_, sign)| sign);
        Call { function, root, op, same, gives, takes, edges, clock, phase }
    }
}

fn put(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&number.to_ne_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as i64);
    out.extend_from_slice(text.as_bytes());
}

fn get(bytes: &mut &[u8]) -> i64 {
    let Some((number, rest)) = bytes.split_first_chunk::<8>() else { return 0 };
    *bytes = rest;
    i64::from_ne_bytes(*number)
}

fn get_text(bytes: &mut &[u8]) -> String {
    let length = (get(bytes).max(0) as usize).min(bytes.len());
    let (text, rest) = bytes.split_at(length);
    *bytes = rest;
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(count: u64, hash: u64) -> Sign {
        Sign { bytes: 4 * count, hash, text: format!("{count} x type {hash}") }
    }

    fn call(function: &str) -> Call {
        Call { function: function.into(), ..Call::default() }
    }

    #[track_caller]
    fn refused(calls: &[Call], class: i32, parts: &[&str]) {
        let error = compare("the grid", calls).expect_err("these do not fit");
        assert_eq!(error.code, class, "{error}");
        for part in parts.iter().chain(&["on the grid"]) {
            assert!(error.message.contains(part), "{error} does not say {part}");
        }
    }

    #[test]
    fn a_call_survives_its_bytes() {
        let full = Call {
            root: Some(3),
            op: Some("MPI_SUM".into()),
            same: Some(sign(1, u64::MAX)),
            gives: vec![(ALL, sign(2, 2)), (5, sign(3, 0))],
            takes: vec![(0, sign(4, 4))],
            edges: true,
            clock: 7,
            phase: u64::MAX,
            ..call("MPI_Reduce")
        };
        for call in [full, call("MPI_Barrier"), Call::default()] {
            assert_eq!(Call::decode(&call.encode()), call);
        }
    }

    #[test]
    fn other_functions_roots_and_operations_are_named_with_their_ranks() {
        let all = [call("MPI_Bcast"), call("MPI_Bcast"), call("MPI_Barrier")];
        refused(&all, MPI_ERR_OTHER, &["rank 0 calls MPI_Bcast", "rank 2 calls MPI_Barrier"]);
        let rooted = |root| Call { root: Some(root), ..call("MPI_Bcast") };
        refused(&[rooted(0), rooted(1)], MPI_ERR_ROOT, &["rank 0", "root 0", "rank 1", "root 1"]);
        let with = |op: &str| Call { op: Some(op.into()), ..call("MPI_Allreduce") };
        refused(&[with("MPI_SUM"), with("MPI_MAX")], MPI_ERR_OP, &["MPI_SUM", "rank 1", "MPI_MAX"]);
    }

    #[test]
    fn what_must_be_the_same_at_all_is() {
        let with = |sign| Call { same: Some(sign), ..call("MPI_Allreduce") };
        refused(&[with(sign(4, 1)), with(sign(5, 1))], MPI_ERR_TRUNCATE, &["rank 0", "4 x type 1", "5 x type 1"]);
        refused(&[with(sign(4, 1)), with(sign(4, 2))], MPI_ERR_TYPE, &["rank 1", "4 x type 2"]);
        assert!(compare("", &[with(sign(4, 1)), call("MPI_Allreduce"), with(sign(4, 0))]).is_ok());
    }

    #[test]
    fn both_ends_of_an_edge_agree_in_order() {
        let with = |gives: &[(i32, u64)], takes: &[(i32, u64)]| {
            let list = |blocks: &[(i32, u64)]| blocks.iter().map(|&(rank, count)| (rank, sign(count, 1))).collect();
            Call { gives: list(gives), takes: list(takes), edges: true, ..call("MPI_Neighbor_alltoallv") }
        };
        // Two edges from 0 to 1, and one back, of other sizes.
        let (zero, one) = (with(&[(1, 2), (1, 3)], &[(1, 4)]), with(&[(0, 4)], &[(0, 2), (0, 3)]));
        assert!(compare("", &[zero.clone(), one]).is_ok());
        let swapped = with(&[(0, 4)], &[(0, 3), (0, 2)]);
        refused(
            &[zero.clone(), swapped],
            MPI_ERR_TRUNCATE,
            &["rank 0 gives 2 x type 1", "rank 1 over their edge 0", "expects 3"],
        );
        refused(&[zero, with(&[(0, 4)], &[(0, 2)])], MPI_ERR_TOPOLOGY, &["rank 0 has 2 edges to rank 1, which has 1"]);
        refused(
            &[with(&[], &[]), with(&[], &[(0, 2)])],
            MPI_ERR_TOPOLOGY,
            &["rank 0 has 0 edges to rank 1, which has 1"],
        );
    }

    #[test]
    fn each_block_fits_who_expects_it() {
        let root = Call { takes: vec![(0, sign(1, 1)), (1, sign(2, 1))], ..call("MPI_Gatherv") };
        let leaf = |count| Call { gives: vec![(0, sign(count, 1))], ..call("MPI_Gatherv") };
        assert!(compare("", &[root.clone(), leaf(2)]).is_ok());
        refused(&[root, leaf(3)], MPI_ERR_TRUNCATE, &["rank 1 gives 3 x type 1 to rank 0", "expects 2 x type 1"]);
        let all = |given, taken| Call {
            gives: vec![(ALL, sign(given, 1))],
            takes: vec![(ALL, sign(taken, 1))],
            ..call("MPI_Allgather")
        };
        assert!(compare("", &[all(7, 7), all(7, 7)]).is_ok());
        refused(&[all(7, 7), all(7, 8)], MPI_ERR_TRUNCATE, &["rank 0 gives 7 x type 1 to rank 1", "8 x type 1"]);
    }
}
