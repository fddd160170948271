//! Kinds of memory that the library takes for communication (MPI 5.0 section 11.4.3): memory of the system, and the
//! library's own. Both are supported always, so what a program asks for only adds what the answer names.

use crate::info_map::{self, InfoMap};
use crate::objects::Group;

/// What is supported: asked for by the program, told by the library.
pub const KINDS: &str = "mpi_memory_alloc_kinds";
/// What a program promises to use with an object.
pub const ASSERTED: &str = "mpi_assert_memory_alloc_kinds";

/// The value of [`KINDS`] where nothing more is asked for.
const DEFAULT: &str = "mpi,system";
/// Ways of the library's to get memory, as restrictors of the kind "mpi".
const WAYS: [&str; 3] = ["alloc_mem", "win_allocate", "win_allocate_shared"];

/// Whether memory of this kind can be used: "system", or "mpi" with any of its restrictors behind it.
fn is_supported(kind: &str) -> bool {
    match kind.split_once(':') {
        None => matches!(kind, "mpi" | "system"),
        Some((kind, ways)) => kind == "mpi" && ways.split(':').all(|way| WAYS.contains(&way)),
    }
}

/// The kinds of a list, without blanks.
fn kinds(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|kind| !kind.is_empty())
}

/// What is supported where `asked` was asked for.
pub fn supported(asked: &str) -> String {
    let mut all: Vec<&str> = kinds(DEFAULT).collect();
    for kind in kinds(asked).filter(|kind| is_supported(kind)) {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    all.join(",")
}

/// What is supported for all that derives from the world.
pub fn of_world() -> String {
    supported(tern_settings::MEMORY_ALLOC_KINDS.get())
}

/// What a session supports that is made with `given`: that counts more than what mpiexec was told.
pub fn of_session(given: &InfoMap) -> String {
    info_map::find(given, KINDS).map_or_else(of_world, supported)
}

/// What is supported for what derives from `group`.
pub fn of(group: &Group) -> String {
    let session = group.session.as_ref().map(|session| session.info.borrow());
    session.and_then(|info| info_map::find(&info, KINDS).map(str::to_owned)).unwrap_or_else(of_world)
}

/// Whether a program may promise to use no other memory than these kinds; a promise about kinds that are not
/// supported is ignored, as unknown hints are.
pub fn can_be_asserted(list: &str) -> bool {
    kinds(list).all(is_supported)
}

/// The hints that an object takes of `given`: what the library tells cannot be set, nor can what makes no sense.
pub fn hints(given: &InfoMap) -> InfoMap {
    let takes = |(key, value): &&(String, String)| match key.as_str() {
        KINDS => false,
        ASSERTED => can_be_asserted(value),
        _ => true,
    };
    given.iter().filter(takes).cloned().collect()
}

/// The hints in use by an object that derives from `group`.
pub fn told(hints: &InfoMap, group: &Group) -> InfoMap {
    let mut all = hints.clone();
    info_map::put(&mut all, KINDS, &of(group));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_added_to_the_default() {
        for (asked, answer) in [
            ("", "mpi,system"),
            ("system", "mpi,system"),
            ("cuda:device, mpi:alloc_mem ,system", "mpi,system,mpi:alloc_mem"),
            ("mpi:win_allocate_shared,mpi:win_allocate", "mpi,system,mpi:win_allocate_shared,mpi:win_allocate"),
            ("mpi:alloc_mem:win_allocate,mpi:device", "mpi,system,mpi:alloc_mem:win_allocate"),
            ("system:pinned,MPI", "mpi,system"),
        ] {
            assert_eq!(supported(asked), answer, "{asked}");
        }
    }

    #[test]
    fn what_cannot_be_promised_is_ignored() {
        let map = |pairs: &[(&str, &str)]| -> InfoMap {
            pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
        };
        let given = map(&[(KINDS, "system"), (ASSERTED, "mpi:alloc_mem"), ("other", "1")]);
        assert_eq!(hints(&given), map(&[(ASSERTED, "mpi:alloc_mem"), ("other", "1")]));
        assert_eq!(hints(&map(&[(ASSERTED, "system,rocm")])), map(&[]));
        assert_eq!(hints(&map(&[(ASSERTED, "")])), map(&[(ASSERTED, "")]));
    }
}
