//! Hints of communicators: what they take of an info object, and what they tell (MPI 5.0 section 7.4.4).

use crate::args::Out;
use crate::error::Result;
use crate::info;
use crate::info_map::InfoMap;
use crate::memory_kinds;
use crate::objects::comm::ASSERTIONS;
use crate::objects::{Comm, Info};
use std::rc::Rc;

/// The hints that a communicator takes of an info object: what has no such value is ignored.
pub fn taken(info: &Option<Rc<Info>>) -> InfoMap {
    taken_of(&info::map_of(info))
}

fn taken_of(given: &InfoMap) -> InfoMap {
    let is_value = |(key, value): &(String, String)| {
        !ASSERTIONS.contains(&key.as_str()) || matches!(value.trim(), "true" | "false")
    };
    let mut hints = memory_kinds::hints(given);
    hints.retain(is_value);
    for (_, value) in hints.iter_mut().filter(|(key, _)| ASSERTIONS.contains(&key.as_str())) {
        *value = value.trim().to_owned();
    }
    hints
}

/// The hints in use: those that have a default have a value always.
fn told_of(hints: &InfoMap) -> InfoMap {
    let mut told: InfoMap = ASSERTIONS.iter().map(|key| (key.to_string(), "false".to_owned())).collect();
    hints.iter().for_each(|(key, value)| info::put(&mut told, key, value));
    told
}

/// MPI_Comm_set_info
pub fn comm_set_info(comm: Rc<Comm>, info: Option<Rc<Info>>) -> Result<()> {
    comm.add_hints(&taken(&info));
    Ok(())
}

/// MPI_Comm_get_info
pub fn comm_get_info(comm: Rc<Comm>, info_used: Out<usize>) -> Result<()> {
    let told = told_of(&comm.info.borrow());
    info_used.set(info::hand_out(memory_kinds::told(&told, &comm.local)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> InfoMap {
        pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }

    #[test]
    fn an_assertion_is_true_or_false_and_is_told_either_way() {
        let given = map(&[
            ("mpi_assert_no_any_tag", " true "),
            ("mpi_assert_no_any_source", "yes"),
            ("mpi_assert_allow_overtaking", "false"),
            ("colour", "green"),
        ]);
        let taken = taken_of(&given);
        let expected =
            [("mpi_assert_no_any_tag", "true"), ("mpi_assert_allow_overtaking", "false"), ("colour", "green")];
        assert_eq!(taken, map(&expected));
        let told = told_of(&taken);
        let value = |key| info::find(&told, key);
        assert_eq!(ASSERTIONS.map(value), [Some("false"), Some("true"), Some("false"), Some("false")]);
    }
}
