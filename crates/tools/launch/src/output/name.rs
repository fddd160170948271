//! Names of files for the output of ranks.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Which rank of which world writes; 0 is the one that mpiexec was asked for, others were spawned.
#[derive(Clone, Copy)]
pub struct Writer {
    pub world: usize,
    pub rank: u32,
    /// The number of its node.
    pub node: u32,
}

impl Writer {
    /// How lines are marked.
    pub fn tag(self) -> String {
        match self.world {
            0 => self.rank.to_string(),
            world => format!("{world}:{}", self.rank),
        }
    }
}

/// The name that `pattern` makes: %r stands for the rank, %g for the number of its world, %h for the host, %p for the
/// number of the node, %% for %.
pub fn name(pattern: &[u8], of: Writer) -> PathBuf {
    let mut name = Vec::new();
    let mut bytes = pattern.iter().copied();
    while let Some(byte) = bytes.next() {
        let next = if byte == b'%' { bytes.clone().next() } else { None };
        let text = match next {
            Some(b'r') => of.rank.to_string(),
            Some(b'g') => of.world.to_string(),
            Some(b'p') => of.node.to_string(),
            Some(b'h') => tern_node::hostname(),
            Some(b'%') => "%".into(),
            _ => {
                name.push(byte);
                continue;
            }
        };
        bytes.next();
        name.extend_from_slice(text.as_bytes());
    }
    OsString::from_vec(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_mpich() {
        let of = Writer { world: 1, rank: 12, node: 3 };
        assert_eq!(name(b"out/%g.%r-%p%%r%x%", of), PathBuf::from("out/1.12-3%r%x%"));
        assert_eq!(name(b"%h", of), PathBuf::from(tern_node::hostname()));
        assert_eq!(of.tag(), "1:12");
        assert_eq!(Writer { world: 0, ..of }.tag(), "12");
    }
}
