//! What the end of a rank means for the job.

use crate::program::NOT_FOUND;
use crate::signals;

/// How far a rank has come with MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has not initialised MPI, and may never do so.
    Started,
    /// Between MPI_Init and MPI_Finalize.
    Initialised,
    /// It has executed another program after MPI_Init, or closed its descriptors: nothing more is heard of MPI.
    Replaced,
    /// After MPI_Finalize.
    Finalized,
    /// It has ended before MPI_Finalize, and the job goes on without it. A process that stands for it, as a shell, may live.
    Lost,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
}

/// What its end means.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong.
    Fine,
    /// The exit code of the job, and what to say of the rank; the others may go on.
    Note(i32, String),
    /// As `Note`, and the job must end, for others may wait for this rank.
    Fatal(i32, String),
}

impl End {
    /// The exit code, as shells have it.
    pub fn code(self) -> i32 {
        match self {
            End::Exited(code) => code,
            End::Signaled(signal) => 128 + signal,
        }
    }

    /// What happened, after "rank n".
    pub fn text(self) -> String {
        match self {
            End::Exited(code) => format!("exited with code {code}"),
            End::Signaled(signal) => {
                format!("was killed by signal {signal} ({})", signals::name(signal))
            }
        }
    }
}

/// What the exit code of a rank that has not ended MPI says by itself: the loader's and the shells' 127.
fn hint(end: End) -> &'static str {
    match end {
        End::Exited(NOT_FOUND) => {
            "; a program, a library or a symbol was not found, as the line of the loader or the shell says. \
             A symbol MPIX_... is another MPI library's extension: --no-library-path leaves the program its own library"
        }
        _ => "",
    }
}

/// Judges the end of a rank that had come to `state`.
pub fn judge(state: State, end: End) -> Verdict {
    match (state, end) {
        (State::Initialised, End::Exited(code)) => {
            let text = format!("exited with code {code} without calling MPI_Finalize{}", hint(end));
            Verdict::Fatal(if code == 0 { 1 } else { code }, text)
        }
        (State::Started | State::Replaced | State::Finalized, End::Exited(0)) | (State::Lost, _) => Verdict::Fine,
        (State::Finalized, end) => Verdict::Note(end.code(), format!("{} after MPI_Finalize", end.text())),
        (_, end) => Verdict::Fatal(end.code(), end.text() + hint(end)),
    }
}

/// The exit code of a job for the error code that MPI_Abort was given: its low 8 bits are all that
/// a process can return, and what is not 0 must not become 0.
pub fn abort_code(code: i32) -> i32 {
    match code & 0xff {
        0 if code != 0 => 1,
        low => low,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_without_mpi_are_judged_by_their_exit_code() {
        assert_eq!(judge(State::Started, End::Exited(0)), Verdict::Fine);
        assert!(matches!(judge(State::Started, End::Exited(3)), Verdict::Fatal(3, _)));
        assert!(matches!(judge(State::Started, End::Signaled(11)), Verdict::Fatal(139, _)));
    }

    #[test]
    fn what_the_loader_did_not_find_is_told_with_a_remedy() {
        for state in [State::Started, State::Initialised] {
            let Verdict::Fatal(127, text) = judge(state, End::Exited(127)) else { panic!("127 is fatal") };
            assert!(text.contains("--no-library-path"), "{text}");
        }
        let Verdict::Fatal(126, text) = judge(State::Started, End::Exited(126)) else { panic!("126 is fatal") };
        assert!(!text.contains("--no-library-path"), "{text}");
    }

    #[test]
    fn who_becomes_another_program_is_judged_by_that() {
        assert_eq!(judge(State::Replaced, End::Exited(0)), Verdict::Fine);
        assert!(matches!(judge(State::Replaced, End::Exited(3)), Verdict::Fatal(3, _)));
    }

    #[test]
    fn to_leave_without_finalize_is_fatal() {
        assert!(matches!(judge(State::Initialised, End::Exited(0)), Verdict::Fatal(1, _)));
        assert!(matches!(judge(State::Initialised, End::Exited(5)), Verdict::Fatal(5, _)));
        assert!(matches!(judge(State::Initialised, End::Signaled(9)), Verdict::Fatal(137, _)));
    }

    #[test]
    fn of_who_is_lost_nothing_more_is_told() {
        assert_eq!(judge(State::Lost, End::Exited(3)), Verdict::Fine);
        assert_eq!(judge(State::Lost, End::Signaled(9)), Verdict::Fine);
    }

    #[test]
    fn after_finalize_the_others_go_on() {
        assert_eq!(judge(State::Finalized, End::Exited(0)), Verdict::Fine);
        assert!(matches!(judge(State::Finalized, End::Exited(4)), Verdict::Note(4, _)));
        assert!(matches!(judge(State::Finalized, End::Signaled(6)), Verdict::Note(134, _)));
    }

    #[test]
    fn abort_codes_fit_a_byte() {
        assert_eq!(abort_code(0), 0);
        assert_eq!(abort_code(7), 7);
        assert_eq!(abort_code(-1), 255);
        assert_eq!(abort_code(256), 1);
        assert_eq!(abort_code(259), 3);
    }
}
