//! What a process asks the launcher to start (MPI 5.0, section 11.8).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::parcel::{Reader, Writer};

/// A new world of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// The random number of the new job.
    pub job_id: u64,
    /// The commands, in order of their ranks.
    pub commands: Vec<Order>,
    /// The environment of the process that asks, which the new ones get.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory, where commands are looked for.
    pub directory: OsString,
    /// The port where the new processes find those that spawned them, if they share no memory.
    pub port: Option<OsString>,
}

/// Processes with one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// How many; at least one.
    pub count: u32,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Its working directory, if not that of the process that asks (info key `wdir`).
    pub wdir: Option<OsString>,
    /// Where the program is looked for, as PATH has it (info key `path`).
    pub path: Option<OsString>,
    /// The hosts that they are to be on, as `a,b:2`, if it matters (info key `host`).
    pub host: Option<OsString>,
    /// The kind of machine that it is for, as `uname -m` says it (info key `arch`).
    pub arch: Option<OsString>,
}

impl Orders {
    /// All of it as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let text = |out: &mut Writer, text: &OsStr| {
            out.bytes(text.as_bytes());
        };
        let optional = |out: &mut Writer, value: &Option<OsString>| {
            out.number(value.is_some() as u64);
            text(out, value.as_deref().unwrap_or_default());
        };
        out.number(self.job_id);
        text(&mut out, &self.directory);
        optional(&mut out, &self.port);
        out.number(self.env.len() as u64);
        for (name, value) in &self.env {
            text(&mut out, name);
            text(&mut out, value);
        }
        out.number(self.commands.len() as u64);
        for order in &self.commands {
            out.number(order.count as u64);
            optional(&mut out, &order.wdir);
            optional(&mut out, &order.path);
            optional(&mut out, &order.host);
            optional(&mut out, &order.arch);
            out.number(order.command.len() as u64);
            order.command.iter().for_each(|word| text(&mut out, word));
        }
        out.0
    }

    /// The reverse; `None` for bytes that are something else.
    pub fn decode(bytes: &[u8]) -> Option<Orders> {
        let input = &mut Reader(bytes);
        let text = |input: &mut Reader<'_>| input.bytes().map(|text| OsString::from_vec(text.to_vec()));
        let optional = |input: &mut Reader<'_>| {
            let given = input.number()? != 0;
            text(input).map(|value| given.then_some(value))
        };
        let job_id = input.number()?;
        let directory = text(input)?;
        let port = optional(input)?;
        let env = (0..input.number()?).map(|_| Some((text(input)?, text(input)?))).collect::<Option<_>>()?;
        let commands = (0..input.number()?)
            .map(|_| {
                let count = u32::try_from(input.number()?).ok()?;
                let (wdir, path) = (optional(input)?, optional(input)?);
                let (host, arch) = (optional(input)?, optional(input)?);
                let command: Vec<OsString> = (0..input.number()?).map(|_| text(input)).collect::<Option<_>>()?;
                let order = Order { count, command, wdir, path, host, arch };
                (count > 0 && !order.command.is_empty()).then_some(order)
            })
            .collect::<Option<_>>()?;
        Some(Orders { job_id, commands, env, directory, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tern_damage::{Change, damage};

    fn orders() -> Orders {
        Orders {
            job_id: u64::MAX,
            commands: vec![
                Order {
                    count: 3,
                    command: vec!["a".into(), "".into(), "b c".into()],
                    wdir: Some("/tmp".into()),
                    path: None,
                    host: Some("a,b:2".into()),
                    arch: None,
                },
                Order {
                    count: 1,
                    command: vec!["b".into()],
                    wdir: None,
                    path: Some("".into()),
                    host: None,
                    arch: Some("m68k".into()),
                },
            ],
            env: vec![("A".into(), "1=2".into()), ("B".into(), "".into())],
            directory: "/".into(),
            port: Some("tern:1".into()),
        }
    }

    #[test]
    fn orders_survive_the_wire() {
        let bytes = orders().encode();
        assert_eq!(Orders::decode(&bytes), Some(orders()));
        for cut in 0..bytes.len() {
            assert_eq!(Orders::decode(&bytes[..cut]), None, "{cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Orders::decode(&bytes);
        }

        #[test]
        fn damaged_orders_are_refused_or_survive(changes in prop::collection::vec(any::<Change>(), 1..4)) {
            let bytes = damage(&orders().encode(), &changes);
            if let Some(read) = Orders::decode(&bytes) {
                prop_assert_eq!(Orders::decode(&read.encode()), Some(read));
            }
        }
    }
}
