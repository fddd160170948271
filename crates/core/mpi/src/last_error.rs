//! What the last failed call of each thread has to say. An error goes to the program as a code, which tells neither values nor the
//! system's reason: MPI_Error_string has them from here.
//!
//! It lies in a variable of the thread that is nothing but bytes. Nothing is allocated or locked for it, it costs nothing where no
//! call fails, and nothing has to run when the thread ends.

use crate::constants::MPI_MAX_ERROR_STRING;
use crate::error::Error;
use std::cell::RefCell;
use std::fmt::{self, Arguments, Write};

/// So many codes of one call are explained: its own, and those in its statuses.
const MOST: usize = 8;
/// Room for all texts of a call, in bytes.
const ROOM: usize = 2 * MPI_MAX_ERROR_STRING as usize;

struct Last {
    count: usize,
    /// Each code, and where its text ends.
    codes: [(i32, usize); MOST],
    text: [u8; ROOM],
}

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last { count: 0, codes: [(0, 0); MOST], text: [0; ROOM] }) };
}

impl Last {
    fn ends(&self) -> &[(i32, usize)] {
        &self.codes[..self.count]
    }

    fn end(&self) -> usize {
        self.ends().last().map_or(0, |(_, end)| *end)
    }

    fn find(&self, code: i32) -> Option<&str> {
        let at = self.ends().iter().position(|(known, _)| *known == code)?;
        let begin = at.checked_sub(1).map_or(0, |before| self.codes[before].1);
        str::from_utf8(&self.text[begin..self.codes[at].1]).ok()
    }

    /// The first text of a code stays.
    fn put(&mut self, code: i32, text: Arguments) {
        if self.count == MOST || self.find(code).is_some() {
            return;
        }
        let mut end = Rest { begin: self.end(), text: &mut self.text };
        // What does not fit is left out, which is no error.
        let _ = end.write_fmt(text);
        self.codes[self.count] = (code, end.begin);
        self.count += 1;
    }
}

/// Text from `begin` on, as much as there is room for.
struct Rest<'a> {
    begin: usize,
    text: &'a mut [u8],
}

impl Write for Rest<'_> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = self.text.len() - self.begin;
        let fits = &more[..more.floor_char_boundary(room)];
        self.text[self.begin..][..fits.len()].copy_from_slice(fits.as_bytes());
        self.begin += fits.len();
        if fits.len() == more.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// The call `function` of this thread has failed with `error`.
#[cold]
pub fn remember(function: &str, error: &Error) {
    LAST.with_borrow_mut(|last| {
        last.count = 0;
        last.put(error.code, format_args!("{function}: {error}"));
        for (code, text) in &error.in_statuses {
            last.put(*code, format_args!("{function}: {text}"));
        }
    });
}

/// What the last failed call of this thread says about `code`, if it has returned that code or put it into a status.
pub fn explain(code: i32) -> Option<String> {
    LAST.with_borrow(|last| last.find(code).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::*;

    #[test]
    fn only_the_last_error_of_the_thread_is_explained() {
        remember("MPI_Send", &Error::new(MPI_ERR_RANK, "dest is 99"));
        assert_eq!(explain(MPI_ERR_RANK).unwrap(), "MPI_Send: dest is 99");
        std::thread::spawn(|| assert_eq!(explain(MPI_ERR_RANK), None)).join().unwrap();
        remember("MPI_Recv", &Error::new(MPI_ERR_TAG, "tag is -7"));
        assert_eq!(explain(MPI_ERR_RANK), None);
        assert_eq!(explain(MPI_ERR_TAG).unwrap(), "MPI_Recv: tag is -7");
    }

    #[test]
    fn codes_in_statuses_are_explained_beside_that_of_the_call() {
        let mut error = Error::new(MPI_ERR_IN_STATUS, "3 requests failed");
        error.in_statuses = vec![
            (MPI_ERR_TRUNCATE, "request 1: 8 bytes".into()),
            (MPI_ERR_TRUNCATE, "request 2: 9 bytes".into()),
            (MPI_ERR_TYPE, "request 4: another type".into()),
        ];
        remember("MPI_Waitall", &error);
        assert_eq!(explain(MPI_ERR_IN_STATUS).unwrap(), "MPI_Waitall: 3 requests failed");
        assert_eq!(explain(MPI_ERR_TRUNCATE).unwrap(), "MPI_Waitall: request 1: 8 bytes");
        assert_eq!(explain(MPI_ERR_TYPE).unwrap(), "MPI_Waitall: request 4: another type");
    }

    #[test]
    fn what_has_no_room_is_cut_at_a_character() {
        let mut error = Error::new(MPI_ERR_ARG, "é".repeat(ROOM));
        error.in_statuses = vec![(MPI_ERR_TYPE, "no room".into())];
        remember("MPI_Send", &error);
        let text = explain(MPI_ERR_ARG).unwrap();
        assert!(text.len() >= ROOM - 1 && text.ends_with('é'), "{} bytes", text.len());
        assert_eq!(explain(MPI_ERR_TYPE).unwrap_or_default(), "");
    }
}
