//! What a program has not freed when it calls MPI_Finalize (TERN_CHECK).

use crate::file::files;
use crate::handle::Table;
use crate::objects::objects;
use crate::observe;
use crate::request::finished;
use crate::request::{Request, messages, name_handle, requests};
use crate::runtime::adi;
use crate::win::wins;
use std::cell::RefCell;
use std::collections::BTreeMap;
use tern_adi::PendingKind;

/// Objects that are left: kind, the function that made them, and name, with how many there are.
type Left = BTreeMap<(&'static str, &'static str, String), u32>;

fn note(left: &mut Left, kind: &'static str, handle: usize, name: String) {
    *left.entry((kind, observe::maker(handle), name)).or_default() += 1;
}

fn note_all<T>(left: &mut Left, kind: &'static str, table: &RefCell<Table<T>>, name: impl Fn(&T) -> Option<String>) {
    for (handle, object) in table.borrow().with_handles() {
        if let Some(name) = name(object) {
            note(left, kind, handle, name);
        }
    }
}

/// Lines about everything that the program still has; none if it is clean.
pub fn lines() -> Vec<String> {
    let objects = objects();
    let mut left = Left::new();
    let unnamed = || Some(String::new());
    // The one to the parent is not the program's to free.
    note_all(&mut left, "communicator", &objects.comms, |comm| {
        Some(comm.name.borrow().clone()).filter(|name| name != "MPI_COMM_PARENT")
    });
    note_all(&mut left, "group", &objects.groups, |_| unnamed());
    note_all(&mut left, "datatype", &objects.datatypes, |ty| (!ty.predefined).then(|| ty.name.borrow().clone()));
    note_all(&mut left, "operation", &objects.ops, |op| (!op.predefined).then(String::new));
    note_all(&mut left, "error handler", &objects.errhandlers, |_| unnamed());
    note_all(&mut left, "info object", &objects.infos, |_| unnamed());
    note_all(&mut left, "message of a matched probe", messages(), |_| unnamed());
    note_all(&mut left, "session", &objects.sessions, |_| unnamed());
    note_all(&mut left, "window", wins(), |win| Some(win.name.borrow().clone()));
    note_all(&mut left, "open file", files(), |file| Some(file.label()));
    // One request stands for all sends that are complete at once; it is the library's.
    note_all(&mut left, "request", requests(), |request| (!matches!(request, Request::Complete)).then(String::new));
    let transfers = adi().names().into_iter().map(name_handle);
    transfers.chain(finished::handles()).for_each(|handle| note(&mut left, "request", handle, String::new()));
    let mut lines: Vec<String> =
        left.into_iter().map(|((kind, maker, name), count)| sentence(kind, maker, &name, count)).collect();
    let kept = adi().pending().into_iter().filter(|entry| entry.what == PendingKind::Message);
    for entry in kept {
        // Those of collectives are the library's.
        if let Some(pattern) = entry.pattern.filter(|pattern| pattern.context % 2 == 0) {
            lines.push(format!(
                "a message of {} bytes from rank {} with tag {} was never received",
                entry.bytes, pattern.source, pattern.tag
            ));
        }
    }
    lines
}

fn sentence(kind: &str, maker: &str, name: &str, count: u32) -> String {
    let plural = if count == 1 { "" } else { "s" };
    let by = if maker.is_empty() { String::new() } else { format!(" made by {maker}") };
    let name = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
    let (kind, of) = kind.split_once(" of ").unwrap_or((kind, ""));
    let of = if of.is_empty() { String::new() } else { format!(" of {of}") };
    let was = if count == 1 { "was" } else { "were" };
    format!("{count} {kind}{plural}{of}{name}{by} {was} not freed")
}

/// Tells the user, at the end of MPI.
pub fn report() {
    if crate::check::is_on() {
        for line in lines() {
            tern_settings::warn!("at MPI_Finalize: {line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_in_words() {
        assert_eq!(
            sentence("communicator", "MPI_Comm_dup", "grid", 2),
            "2 communicators \"grid\" made by MPI_Comm_dup were not freed"
        );
        assert_eq!(sentence("message of a matched probe", "", "", 1), "1 message of a matched probe was not freed");
    }
}
