//! Processes that a rank has started, or has become.

use crate::control::Control;
use crate::{Error, Ticket};

/// Most generations that are looked at.
const GENERATIONS: usize = 64;

/// Whether the process that has the rank of the ticket is this one, before it executed another program, or one that this
/// process descends from. `by` is that process, if it is known already.
pub(crate) fn descends_from_rank(ticket: &Ticket, by: Option<u32>) -> bool {
    let by = by.or_else(|| match Control::connect(ticket) {
        Err(Error::Taken { by, .. }) => by,
        _ => None,
    });
    let Some(by) = by else { return false };
    let line = std::iter::successors(Some(std::process::id()), |pid| parent(*pid));
    line.take(GENERATIONS).any(|pid| pid == by)
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // pid (name) state ppid …; the name may hold anything, also parentheses.
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok().filter(|parent| *parent > 0)
}
