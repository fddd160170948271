//! Hints for files (MPI 5.0 section 14.2.8): those of the standard, and ROMIO's, which programs use.

use super::File;
use super::agree::consent;
use crate::args::Out;
use crate::error::Result;
use crate::exchange::Circle;
use crate::info;
use crate::info_map::InfoMap;
use crate::memory_kinds;
use crate::objects::Info;
use crate::task;
use std::rc::Rc;
use tern_io::Choice;
use tern_io::plan::Wishes;

/// What a value of a hint looks like.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Bytes or another number above 0.
    Number,
    /// "enable", "disable" or "automatic".
    Choice,
    /// "true" or "false".
    Truth,
    /// A list of kinds of memory.
    Kinds,
    Text,
}

/// What Tern knows: name, form, whether all processes must give the same, and the value that is in
/// use unless the program gives one; "" tells nothing.
const KNOWN: [(&str, Form, bool, &str); 19] = [
    ("access_style", Form::Text, false, ""),
    ("collective_buffering", Form::Truth, true, ""),
    ("cb_block_size", Form::Number, true, ""),
    ("cb_buffer_size", Form::Number, true, ""),
    ("cb_nodes", Form::Number, true, ""),
    ("chunked", Form::Text, true, ""),
    ("io_node_list", Form::Text, true, ""),
    ("nb_proc", Form::Number, true, ""),
    ("num_io_nodes", Form::Number, true, ""),
    ("striping_factor", Form::Number, true, ""),
    ("striping_unit", Form::Number, true, ""),
    ("ind_rd_buffer_size", Form::Number, false, "4194304"),
    ("ind_wr_buffer_size", Form::Number, false, "524288"),
    ("romio_cb_read", Form::Choice, true, "automatic"),
    ("romio_cb_write", Form::Choice, true, "automatic"),
    ("romio_ds_read", Form::Choice, false, "automatic"),
    ("romio_ds_write", Form::Choice, false, "automatic"),
    ("romio_no_indep_rw", Form::Truth, true, ""),
    (memory_kinds::ASSERTED, Form::Kinds, false, ""),
];

/// The hints that are in use for a file.
#[derive(Clone, Debug)]
pub struct Hints {
    map: InfoMap,
    /// What they say of the accesses of one process, which ask for it each time.
    access: tern_io::Hints,
}

fn accepts(form: Form, value: &str) -> bool {
    match form {
        Form::Number => value.parse::<i64>().is_ok_and(|number| number > 0),
        Form::Choice => matches!(value, "enable" | "disable" | "automatic"),
        Form::Truth => matches!(value, "true" | "false"),
        Form::Kinds => memory_kinds::can_be_asserted(value),
        Form::Text => true,
    }
}

impl Hints {
    /// What holds when the program says nothing.
    pub fn new() -> Hints {
        let given = KNOWN.iter().filter(|(.., value)| !value.is_empty());
        let map = given.map(|&(name, _, _, value)| (name.to_owned(), value.to_owned())).collect();
        let mut hints = Hints { map, access: tern_io::Hints::default() };
        hints.access = hints.read();
        hints
    }

    /// Takes what is known and makes sense of what this process asks for; of hints that must be the
    /// same everywhere, what the first process asks for.
    fn merge(&mut self, own: &InfoMap, first: &InfoMap) {
        for (name, form, all, _) in KNOWN {
            let asked = info::find(if all { first } else { own }, name);
            if let Some(value) = asked.filter(|value| accepts(form, value)) {
                info::put(&mut self.map, name, value);
            }
        }
        self.access = self.read();
    }

    fn number(&self, name: &str) -> Option<u64> {
        info::find(&self.map, name)?.parse().ok()
    }

    fn choice(&self, name: &str) -> Choice {
        match info::find(&self.map, name) {
            Some("enable") => Choice::Always,
            Some("disable") => Choice::Never,
            _ => Choice::Auto,
        }
    }

    /// For accesses of one process.
    pub fn access(&self) -> tern_io::Hints {
        self.access
    }

    fn read(&self) -> tern_io::Hints {
        let bytes = |name| self.number(name).map(|bytes| bytes as usize);
        let usual = tern_io::Hints::default();
        tern_io::Hints {
            read_sieving: self.choice("romio_ds_read"),
            write_sieving: self.choice("romio_ds_write"),
            read_buffer: bytes("ind_rd_buffer_size").unwrap_or(usual.read_buffer),
            write_buffer: bytes("ind_wr_buffer_size").unwrap_or(usual.write_buffer),
            ..usual
        }
    }

    /// For collective accesses.
    pub fn wishes(&self, way: super::AccessKind) -> Wishes {
        let usual = Wishes::default();
        let name = match way {
            super::AccessKind::Read => "romio_cb_read",
            super::AccessKind::Write => "romio_cb_write",
        };
        let buffering = match (self.choice(name), info::find(&self.map, "collective_buffering")) {
            (Choice::Auto, Some("false")) => Choice::Never,
            (Choice::Auto, Some("true")) => Choice::Always,
            (choice, _) => choice,
        };
        Wishes {
            way,
            buffering,
            aggregators: self.number("cb_nodes").map(|nodes| nodes as usize),
            buffer: self.number("cb_buffer_size"),
            align: self.number("striping_unit").unwrap_or(usual.align),
        }
    }
}

/// A map as bytes, for the others: neither keys nor values contain a 0.
pub fn encode(map: &InfoMap) -> Vec<u8> {
    map.iter().flat_map(|(key, value)| [key.as_bytes(), &[0], value.as_bytes(), &[0]].concat()).collect()
}

fn decode(bytes: &[u8]) -> InfoMap {
    let mut words = bytes.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let mut map = InfoMap::new();
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        map.push((key, value));
    }
    map
}

/// The hints of a file that had `before`, when this process asks for `own`, and `first` is what the
/// first process asks for, encoded.
pub fn merged(before: &Hints, own: &InfoMap, first: &[u8]) -> Hints {
    let mut hints = before.clone();
    hints.merge(own, &decode(first));
    hints
}

async fn set(file: Rc<File>, circle: Circle, own: InfoMap) -> Result<()> {
    let all = consent(&circle, Ok(encode(&own))).await?;
    let hints = merged(&file.hints.borrow(), &own, &all[0]);
    *file.hints.borrow_mut() = hints;
    Ok(())
}

/// MPI_File_set_info: collective.
pub fn file_set_info(fh: Rc<File>, info: Option<Rc<Info>>) -> Result<()> {
    super::checked::meet(&fh)?;
    let circle = fh.comm.circle();
    task::run(set(fh, circle, info::map_of(&info)))
}

/// What holds of collective accesses when the program says nothing: they are buffered where that pays, by so many bytes
/// at most. This is told only: hints of the program's change more than these values.
const TOLD: [(&str, &str); 2] = [("collective_buffering", "true"), ("cb_buffer_size", "16777216")];

/// MPI_File_get_info: the hints in use, and the name of the file.
pub fn file_get_info(fh: Rc<File>, info_used: Out<usize>) -> Result<()> {
    let mut map = memory_kinds::told(&fh.hints.borrow().map, &fh.comm.local);
    for (key, value) in TOLD {
        if info::find(&map, key).is_none() {
            info::put(&mut map, key, value);
        }
    }
    info::put(&mut map, "filename", &fh.label());
    info_used.set(info::hand_out(map));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::AccessKind;

    fn map(pairs: &[(&str, &str)]) -> InfoMap {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_longest_window_is_told() {
        assert_eq!(TOLD[1].1, tern_io::plan::LONGEST.to_string());
    }

    #[test]
    fn maps_survive_their_journey() {
        let pairs = map(&[("cb_nodes", "2"), ("access_style", ""), ("x", "a b,c")]);
        assert_eq!(decode(&encode(&pairs)), pairs);
        assert_eq!(decode(&[]), map(&[]));
    }

    #[test]
    fn what_makes_no_sense_is_not_taken() {
        let own = map(&[("romio_ds_write", "perhaps"), ("ind_rd_buffer_size", "-1"), ("unknown", "1")]);
        let hints = merged(&Hints::new(), &own, &encode(&own));
        assert_eq!(hints.map, Hints::new().map);
    }

    #[test]
    fn hints_for_all_come_from_the_first() {
        let own = map(&[("cb_nodes", "7"), ("romio_ds_write", "disable")]);
        let first = map(&[("cb_nodes", "2"), ("collective_buffering", "false"), ("romio_cb_read", "enable")]);
        let hints = merged(&Hints::new(), &own, &encode(&first));
        assert_eq!(hints.wishes(AccessKind::Write).aggregators, Some(2));
        assert_eq!(hints.wishes(AccessKind::Write).buffering, Choice::Never);
        assert_eq!(hints.wishes(AccessKind::Read).buffering, Choice::Always);
        assert_eq!(hints.access().write_sieving, Choice::Never);
        assert_eq!(hints.access().read_sieving, Choice::Auto);
    }
}
