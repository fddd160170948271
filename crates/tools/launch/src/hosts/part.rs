//! What one agent has to start.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use tern_pmi::Nodes;
use tern_pmi::parcel::{Reader, Writer};

use super::tree::Below;
use crate::options::{Options, Program, Stdin, Streams};
use crate::place::Policy;

/// The part of a job that one host has.
#[derive(Debug, PartialEq)]
pub struct Part {
    pub job_id: u64,
    /// The host, as the user calls it.
    pub host: String,
    /// Its number, and the ranks of all. A host that has none of them has a number above those of all nodes.
    pub node: u32,
    pub nodes: Nodes,
    /// The job with only the ranks of this host: programs may have none. No time limit.
    pub options: Options,
    /// How many ranks run each program on all hosts.
    pub counts: Vec<u32>,
    /// The agents that this one has to start.
    pub below: Below,
}

type Pairs = Vec<(OsString, OsString)>;

fn write_pairs(out: &mut Writer, pairs: &Pairs) {
    out.number(pairs.len() as u64);
    for (name, value) in pairs {
        out.bytes(name.as_bytes()).bytes(value.as_bytes());
    }
}

fn word(input: &mut Reader<'_>) -> Option<OsString> {
    Some(OsString::from_vec(input.bytes()?.to_vec()))
}

fn string(input: &mut Reader<'_>) -> Option<String> {
    Some(String::from_utf8_lossy(input.bytes()?).into_owned())
}

fn read_pairs(input: &mut Reader<'_>) -> Option<Pairs> {
    (0..input.number()?).map(|_| Some((word(input)?, word(input)?))).collect()
}

impl Part {
    /// The ranks of this host.
    pub fn ranks(&self) -> Vec<u32> {
        if self.node < self.nodes.count() { self.nodes.members(self.node) } else { Vec::new() }
    }

    /// All of it as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let options = &self.options;
        out.number(self.job_id).bytes(self.host.as_bytes()).number(self.node.into());
        out.bytes(self.nodes.to_string().as_bytes());
        options.policy.encode(&mut out);
        let Below { method, hosts, callers, piped } = &self.below;
        out.bytes(method.as_bytes()).bytes(callers.as_bytes()).number((*piped).into()).number(hosts.len() as u64);
        for (number, name) in hosts {
            out.number((*number).into()).bytes(name.as_bytes());
        }
        let Streams { stdin, tag, timestamp, merge, out: output, err } = &options.streams;
        let Options { report_bindings, exit_codes, verbose, held, .. } = *options;
        let flags = [*tag, *timestamp, *merge, report_bindings, exit_codes, verbose, held];
        for flag in flags.into_iter().chain([options.no_library_path, options.goes_on]) {
            out.number(flag.into());
        }
        out.number(match stdin {
            Stdin::All => 0,
            Stdin::Nobody => 1,
            Stdin::Addressed => u64::MAX,
            Stdin::Rank(rank) => 2 + u64::from(*rank),
        });
        // Empty stands for none.
        out.bytes(output.as_deref().unwrap_or_default()).bytes(err.as_deref().unwrap_or_default());
        // 0 stands for none.
        out.number(options.universe.map_or(0, |size| u64::from(size) + 1));
        write_pairs(&mut out, &options.env);
        out.number(options.programs.len() as u64);
        for (program, all) in options.programs.iter().zip(&self.counts) {
            out.number(program.count.into()).number((*all).into());
            out.number(program.clean.into());
            for word in [&program.wdir, &program.path, &program.arch] {
                out.bytes(word.as_deref().unwrap_or(OsStr::new("")).as_bytes());
            }
            write_pairs(&mut out, &program.env);
            out.number(program.command.len() as u64);
            program.command.iter().for_each(|word| _ = out.bytes(word.as_bytes()));
        }
        out.0
    }

    /// The reverse; `None` for bytes that are something else.
    pub fn decode(bytes: &[u8]) -> Option<Part> {
        let input = &mut Reader(bytes);
        let job_id = input.number()?;
        let host = string(input)?;
        let node = u32::try_from(input.number()?).ok()?;
        let nodes: Nodes = std::str::from_utf8(input.bytes()?).ok()?.parse().ok()?;
        let policy = Policy::decode(input)?;
        let (method, callers, piped) = (string(input)?, string(input)?, input.number()? != 0);
        let hosts = (0..input.number()?).map(|_| Some((u32::try_from(input.number()?).ok()?, string(input)?)));
        let below = Below { method, callers, piped, hosts: hosts.collect::<Option<_>>()? };
        let mut flag = || Some(input.number()? != 0);
        let (tag, timestamp, merge) = (flag()?, flag()?, flag()?);
        let (report_bindings, exit_codes, verbose) = (flag()?, flag()?, flag()?);
        let (held, no_library_path, goes_on) = (flag()?, flag()?, flag()?);
        let stdin = match input.number()? {
            0 => Stdin::All,
            1 => Stdin::Nobody,
            u64::MAX => Stdin::Addressed,
            rank => Stdin::Rank(u32::try_from(rank - 2).ok()?),
        };
        let mut pattern = || Some(Some(input.bytes()?.to_vec()).filter(|pattern| !pattern.is_empty()));
        let streams = Streams { stdin, tag, timestamp, merge, out: pattern()?, err: pattern()? };
        let universe = input.number()?.checked_sub(1).map(u32::try_from).transpose().ok()?;
        let env = read_pairs(input)?;
        let mut counts = Vec::new();
        let mut programs = Vec::new();
        for _ in 0..input.number()? {
            let count = input.number()? as u32;
            counts.push(input.number()? as u32);
            let clean = input.number()? != 0;
            let some = |word: OsString| Some(word).filter(|word| !word.is_empty());
            let (wdir, path, arch) = (some(word(input)?), some(word(input)?), some(word(input)?));
            let env = read_pairs(input)?;
            let command: Vec<OsString> = (0..input.number()?).map(|_| word(input)).collect::<Option<_>>()?;
            if command.is_empty() {
                return None;
            }
            programs.push(Program { count, command, env, clean, wdir, path, arch });
        }
        let here: u64 = programs.iter().map(|program| u64::from(program.count)).sum();
        let options = Options {
            programs,
            env,
            streams,
            universe,
            policy,
            report_bindings,
            exit_codes,
            goes_on,
            verbose,
            held,
            no_library_path,
            ..Options::default()
        };
        let part = Part { job_id, host, node, nodes, options, counts, below };
        (part.ranks().len() as u64 == here).then_some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    fn part() -> Part {
        let program = |count, name: &str| Program {
            count,
            command: vec![name.into(), "".into()],
            env: vec![("A".into(), "1=2".into())],
            clean: count > 1,
            wdir: (count > 1).then(|| "/tmp".into()),
            path: (count < 1).then(|| "/bin".into()),
            arch: (count < 1).then(|| "m68k".into()),
        };
        Part {
            job_id: u64::MAX,
            host: "b".into(),
            node: 1,
            nodes: Nodes::even(7, 3),
            options: Options {
                programs: vec![program(0, "x"), program(2, "y")],
                env: vec![("B".into(), "".into())],
                policy: Policy { cpus: Some(vec![3]), ..Policy::default() },
                verbose: true,
                held: true,
                exit_codes: true,
                goes_on: true,
                streams: Streams {
                    stdin: Stdin::Rank(3),
                    merge: true,
                    out: Some(b"out.%r".to_vec()),
                    ..Streams::default()
                },
                no_library_path: true,
                universe: Some(0),
                ..Options::default()
            },
            counts: vec![3, 4],
            below: Below { method: "fork".into(), hosts: vec![(7, "h".into())], callers: "c".into(), piped: true },
        }
    }

    #[test]
    fn a_part_survives_the_wire() {
        let bytes = part().encode();
        for cut in 0..bytes.len() {
            assert_eq!(Part::decode(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(Part::decode(&bytes), Some(part()));
        // A host without ranks.
        let late =
            Part { node: 3, options: Options { programs: Vec::new(), ..part().options }, counts: vec![], ..part() };
        assert_eq!(Part::decode(&late.encode()), Some(late));
        assert_eq!(Part::decode(&Part { node: 3, ..part() }.encode()), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Part::decode(&bytes);
        }

        #[test]
        fn a_damaged_part_is_refused_or_survives(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            if let Some(read) = Part::decode(&damage(&part().encode(), &changes)) {
                prop_assert_eq!(Part::decode(&read.encode()), Some(read));
            }
        }
    }
}
