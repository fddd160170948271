//! What a person can try about an error: the line below its message where the error ends the job.

use crate::constants::*;
use crate::error::Error;

/// For datatypes that are none, or not committed.
pub const COMMIT: &str = "commit derived datatypes (MPI_Type_commit) before, and free them after, the last use";
/// For more data than any memory has.
pub const HUGE: &str = "check count and datatype: no memory has so many bytes";
/// For members of a collective that do not give the same.
pub const SAME_DATA: &str = "give the same counts and basic types at all members of the collective";
pub const SAME_ROOT: &str = "give the same root at all members of the collective";
pub const SAME_CALLS: &str = "make the same collective calls in the same order at all members";
pub const BEFORE_THE_END: &str = "make all collective calls at all members before one of them calls MPI_Finalize";
/// For both sides of a message or an access.
pub const SAME_TYPES: &str = "give the same number of the same basic types at both sides";

/// What to try about `error`, which is of that class.
pub fn of(error: &Error, class: i32) -> Option<&'static str> {
    error.advice.or_else(|| of_class(class)).filter(|advice| !advice.is_empty())
}

/// What fits all errors of a class that say nothing else.
fn of_class(class: i32) -> Option<&'static str> {
    Some(match class {
        MPI_ERR_RANK | MPI_ERR_ROOT => {
            "check the rank against the size of the communicator or group, and how many processes mpiexec -n started"
        }
        MPI_ERR_TAG => "use a tag from 0 to the attribute MPI_TAG_UB; receives may also use MPI_ANY_TAG",
        MPI_ERR_COUNT => {
            "check the count: it must be 0 or more (overflow of an int is a common cause; see the _c functions)"
        }
        MPI_ERR_COMM => {
            "check that the communicator is not MPI_COMM_NULL, not freed, and of the right sort (intra or inter)"
        }
        MPI_ERR_TRUNCATE => {
            "make the receive buffer at least as long as the message (MPI_Probe tells its length), or check that tags and ranks match the intended send"
        }
        MPI_ERR_BUFFER => "check the address, and that count and datatype are those of the data there",
        MPI_ERR_REQUEST => "check that the request was initialised and was not freed or completed before",
        MPI_ERR_OP => {
            "use an operation that is defined for the datatype (MPI 5.0 section 6.9.2); numbers of one byte are MPI_SIGNED_CHAR or MPI_UNSIGNED_CHAR, not MPI_CHAR"
        }
        MPI_ERR_TOPOLOGY => "check that the communicator was made with that topology (MPI_Topo_test)",
        MPI_ERR_DIMS => "check that the product of the dimensions fits the number of processes",
        MPI_ERR_WIN => "check that the window is not MPI_WIN_NULL and was not freed",
        MPI_ERR_RMA_SYNC => "check which epochs are open: MPI 5.0 section 12.5 says which calls may come between which",
        MPI_ERR_RMA_RANGE => {
            "check displacement, displacement unit and count against the size of the target's window; memory of dynamic windows must be attached"
        }
        MPI_ERR_DISP => "displacements count in the displacement unit of the target; they must not be negative",
        MPI_ERR_NO_SUCH_FILE => "check the name and the directory, or add MPI_MODE_CREATE to amode",
        MPI_ERR_FILE_EXISTS => "choose another name, delete the file, or open it without MPI_MODE_EXCL",
        MPI_ERR_ACCESS => "check the permissions of the file and its directory, and the amode that it was opened with",
        MPI_ERR_READ_ONLY => {
            "open the file with MPI_MODE_RDWR or MPI_MODE_WRONLY, on a file system that can be written to"
        }
        MPI_ERR_NOT_SAME => "give the same arguments at all processes of the file",
        MPI_ERR_UNSUPPORTED_DATAREP => {
            "use native, internal or external32, or register it with MPI_Register_datarep first"
        }
        MPI_ERR_NO_MEM => "free memory, or use fewer processes on this machine",
        MPI_ERR_PROC_ABORTED => "look for the first message of the process that ended",
        MPI_ERR_INTERN => "this is a defect of the library: please report it with this message",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_better_than_its_class_what_to_try() {
        let root = Error::new(MPI_ERR_ROOT, "the root is 5");
        assert!(of(&root, MPI_ERR_ROOT).unwrap().contains("mpiexec -n"));
        assert_eq!(of(&root.advise(SAME_ROOT), MPI_ERR_ROOT), Some(SAME_ROOT));
        assert_eq!(of(&Error::new(MPI_ERR_BUFFER, "wait for it first").advise(""), MPI_ERR_BUFFER), None);
    }
}
