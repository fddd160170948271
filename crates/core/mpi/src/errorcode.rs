//! Error classes, codes and their strings (MPI 5.0 sections 9.4 and 9.5).

use crate::args::{Out, TextOut};
use crate::constants::*;
use crate::error::Result;
use crate::guarded::Guarded;
use crate::last_error;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A class or code of the program's.
struct Added {
    /// The class of a code; of a class, itself.
    class: i32,
    text: String,
}

/// Classes and codes of the program's, by number; all above MPI_ERR_LASTCODE.
static ADDED: Guarded<RefCell<BTreeMap<i32, Added>>> = Guarded::new(RefCell::new(BTreeMap::new()));

/// The predefined classes: number, name, meaning.
#[rustfmt::skip]
const CLASSES: [(i32, &str, &str); 84] = [
    (MPI_SUCCESS, "MPI_SUCCESS", "no error"),
    (MPI_ERR_BUFFER, "MPI_ERR_BUFFER", "invalid buffer pointer"),
    (MPI_ERR_COUNT, "MPI_ERR_COUNT", "invalid count"),
    (MPI_ERR_TYPE, "MPI_ERR_TYPE", "invalid datatype"),
    (MPI_ERR_TAG, "MPI_ERR_TAG", "invalid tag"),
    (MPI_ERR_COMM, "MPI_ERR_COMM", "invalid communicator"),
    (MPI_ERR_RANK, "MPI_ERR_RANK", "invalid rank"),
    (MPI_ERR_REQUEST, "MPI_ERR_REQUEST", "invalid request"),
    (MPI_ERR_ROOT, "MPI_ERR_ROOT", "invalid root"),
    (MPI_ERR_GROUP, "MPI_ERR_GROUP", "invalid group"),
    (MPI_ERR_OP, "MPI_ERR_OP", "invalid reduction operation"),
    (MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY", "invalid topology"),
    (MPI_ERR_DIMS, "MPI_ERR_DIMS", "invalid dimensions"),
    (MPI_ERR_ARG, "MPI_ERR_ARG", "invalid argument"),
    (MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN", "unknown error"),
    (MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE", "message longer than the receive buffer"),
    (MPI_ERR_OTHER, "MPI_ERR_OTHER", "an error that has no class of its own"),
    (MPI_ERR_INTERN, "MPI_ERR_INTERN", "internal error of the MPI library"),
    (MPI_ERR_PENDING, "MPI_ERR_PENDING", "the operation is still pending"),
    (MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS", "the error code is in the status"),
    (MPI_ERR_ACCESS, "MPI_ERR_ACCESS", "permission denied"),
    (MPI_ERR_AMODE, "MPI_ERR_AMODE", "invalid access mode"),
    (MPI_ERR_ASSERT, "MPI_ERR_ASSERT", "invalid assertion"),
    (MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE", "invalid file name"),
    (MPI_ERR_BASE, "MPI_ERR_BASE", "invalid base address"),
    (MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION", "a data conversion function failed"),
    (MPI_ERR_DISP, "MPI_ERR_DISP", "invalid displacement"),
    (MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP", "the data representation is already defined"),
    (MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS", "the file exists"),
    (MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE", "the file is open in some process"),
    (MPI_ERR_FILE, "MPI_ERR_FILE", "invalid file handle"),
    (MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY", "invalid info key"),
    (MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY", "no such info key"),
    (MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE", "invalid info value"),
    (MPI_ERR_INFO, "MPI_ERR_INFO", "invalid info object"),
    (MPI_ERR_IO, "MPI_ERR_IO", "input or output failed"),
    (MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL", "invalid attribute key"),
    (MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE", "invalid lock type"),
    (MPI_ERR_NAME, "MPI_ERR_NAME", "no such service name"),
    (MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM", "out of memory"),
    (MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME", "arguments differ between processes that must agree"),
    (MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE", "no space left on the device"),
    (MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE", "no such file"),
    (MPI_ERR_PORT, "MPI_ERR_PORT", "invalid port name"),
    (MPI_ERR_QUOTA, "MPI_ERR_QUOTA", "quota exceeded"),
    (MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY", "the file or file system is read-only"),
    (MPI_ERR_RMA_ATTACH, "MPI_ERR_RMA_ATTACH", "the memory cannot be attached"),
    (MPI_ERR_RMA_CONFLICT, "MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window"),
    (MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE", "target memory is not part of the window"),
    (MPI_ERR_RMA_SHARED, "MPI_ERR_RMA_SHARED", "the memory cannot be shared"),
    (MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC", "wrong synchronisation of one-sided calls"),
    (MPI_ERR_SERVICE, "MPI_ERR_SERVICE", "the service name cannot be withdrawn"),
    (MPI_ERR_SIZE, "MPI_ERR_SIZE", "invalid size"),
    (MPI_ERR_SPAWN, "MPI_ERR_SPAWN", "processes could not be started"),
    (MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP", "the data representation is not supported"),
    (MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION", "the operation is not supported"),
    (MPI_ERR_WIN, "MPI_ERR_WIN", "invalid window"),
    (MPI_ERR_RMA_FLAVOR, "MPI_ERR_RMA_FLAVOR", "the window has the wrong flavor"),
    (MPI_ERR_PROC_ABORTED, "MPI_ERR_PROC_ABORTED", "a process of the operation has ended"),
    (MPI_ERR_PROC_FAILED, "MPI_ERR_PROC_FAILED", "a process of the operation has failed"),
    (MPI_ERR_PROC_FAILED_PENDING, "MPI_ERR_PROC_FAILED_PENDING", "a process that might have sent has failed; the receive goes on"),
    (MPI_ERR_REVOKED, "MPI_ERR_REVOKED", "the communicator has been revoked"),
    (MPI_ERR_VALUE_TOO_LARGE, "MPI_ERR_VALUE_TOO_LARGE", "a value is too large for its result parameter"),
    (MPI_ERR_SESSION, "MPI_ERR_SESSION", "invalid session"),
    (MPI_ERR_ERRHANDLER, "MPI_ERR_ERRHANDLER", "invalid error handler"),
    (MPI_ERR_ABI, "MPI_ERR_ABI", "a call about the binary interface failed"),
    (MPI_T_ERR_CANNOT_INIT, "MPI_T_ERR_CANNOT_INIT", "the tool interface cannot be initialised"),
    (MPI_T_ERR_NOT_ACCESSIBLE, "MPI_T_ERR_NOT_ACCESSIBLE", "the tool information is not accessible now"),
    (MPI_T_ERR_NOT_INITIALIZED, "MPI_T_ERR_NOT_INITIALIZED", "the tool interface is not initialised"),
    (MPI_T_ERR_NOT_SUPPORTED, "MPI_T_ERR_NOT_SUPPORTED", "the tool function is not supported"),
    (MPI_T_ERR_MEMORY, "MPI_T_ERR_MEMORY", "out of memory"),
    (MPI_T_ERR_INVALID, "MPI_T_ERR_INVALID", "wrong use of the tool interface"),
    (MPI_T_ERR_INVALID_INDEX, "MPI_T_ERR_INVALID_INDEX", "invalid index"),
    (MPI_T_ERR_INVALID_ITEM, "MPI_T_ERR_INVALID_ITEM", "invalid item of an enumeration"),
    (MPI_T_ERR_INVALID_SESSION, "MPI_T_ERR_INVALID_SESSION", "invalid performance session"),
    (MPI_T_ERR_INVALID_HANDLE, "MPI_T_ERR_INVALID_HANDLE", "invalid handle"),
    (MPI_T_ERR_INVALID_NAME, "MPI_T_ERR_INVALID_NAME", "no such name"),
    (MPI_T_ERR_OUT_OF_HANDLES, "MPI_T_ERR_OUT_OF_HANDLES", "no more handles"),
    (MPI_T_ERR_OUT_OF_SESSIONS, "MPI_T_ERR_OUT_OF_SESSIONS", "no more performance sessions"),
    (MPI_T_ERR_CVAR_SET_NOT_NOW, "MPI_T_ERR_CVAR_SET_NOT_NOW", "the variable cannot be set at this time"),
    (MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_ERR_CVAR_SET_NEVER", "the variable cannot be set"),
    (MPI_T_ERR_PVAR_NO_WRITE, "MPI_T_ERR_PVAR_NO_WRITE", "the variable cannot be written"),
    (MPI_T_ERR_PVAR_NO_STARTSTOP, "MPI_T_ERR_PVAR_NO_STARTSTOP", "the variable cannot be started or stopped"),
    (MPI_T_ERR_PVAR_NO_ATOMIC, "MPI_T_ERR_PVAR_NO_ATOMIC", "the variable cannot be read and written at once"),
];

fn predefined(code: i32) -> Option<(&'static str, &'static str)> {
    CLASSES.iter().find(|(number, ..)| *number == code).map(|&(_, name, text)| (name, text))
}

/// The class of a code; MPI_ERR_UNKNOWN for what is no code.
pub fn class_of(code: i32) -> i32 {
    if predefined(code).is_some() || code == MPI_ERR_LASTCODE {
        return code;
    }
    ADDED.get().borrow().get(&code).map_or(MPI_ERR_UNKNOWN, |added| added.class)
}

/// Name of a code for messages: that of a predefined class, or its number.
pub fn name_of(code: i32) -> String {
    predefined(code).map_or_else(|| format!("error {code}"), |(name, _)| name.to_owned())
}

/// What MPI_Error_string says, if `code` is one.
pub fn text_of(code: i32) -> Option<String> {
    if let Some((name, text)) = predefined(code) {
        return Some(format!("{name}: {text}"));
    }
    if code == MPI_ERR_LASTCODE {
        return Some("MPI_ERR_LASTCODE: the last predefined error code".into());
    }
    ADDED.get().borrow().get(&code).map(|added| added.text.clone())
}

/// MPI_LASTUSEDCODE: the largest class or code in use.
pub fn last_used() -> i32 {
    ADDED.get().borrow().last_key_value().map_or(MPI_ERR_LASTCODE, |(&code, _)| code)
}

fn add(class: Option<i32>) -> i32 {
    let code = last_used() + 1;
    let added = Added { class: class.unwrap_or(code), text: String::new() };
    ADDED.get().borrow_mut().insert(code, added);
    code
}

/// MPI_Add_error_class
pub fn add_error_class(errorclass: Out<i32>) -> Result<()> {
    errorclass.set(add(None));
    Ok(())
}

/// MPI_Add_error_code
pub fn add_error_code(errorclass: i32, errorcode: Out<i32>) -> Result<()> {
    if class_of(errorclass) != errorclass {
        return err!(MPI_ERR_ARG, "{errorclass} is not an error class");
    }
    errorcode.set(add(Some(errorclass)));
    Ok(())
}

/// MPI_Add_error_string: for classes and codes of the program's only.
pub fn add_error_string(errorcode: i32, string: &str) -> Result<()> {
    let length = string.len();
    if length >= MPI_MAX_ERROR_STRING as usize {
        return err!(MPI_ERR_ARG, "the string has {length} characters; at most {} fit", MPI_MAX_ERROR_STRING - 1);
    }
    with_added(errorcode, |added| {
        added.text = string.to_owned();
        Ok(())
    })
}

fn with_added(code: i32, change: impl FnOnce(&mut Added) -> Result<()>) -> Result<()> {
    match ADDED.get().borrow_mut().get_mut(&code) {
        Some(added) => change(added),
        None => err!(MPI_ERR_ARG, "{code} is not an error class or code that the program has added"),
    }
}

/// MPI_Remove_error_string
pub fn remove_error_string(errorcode: i32) -> Result<()> {
    with_added(errorcode, |added| {
        added.text.clear();
        Ok(())
    })
}

/// MPI_Remove_error_code: after its string (MPI 5.0 section 9.5).
pub fn remove_error_code(errorcode: i32) -> Result<()> {
    with_added(errorcode, |added| {
        if added.class == errorcode {
            return err!(MPI_ERR_ARG, "{errorcode} is an error class: use MPI_Remove_error_class");
        }
        check_no_string(errorcode, added)
    })?;
    ADDED.get().borrow_mut().remove(&errorcode);
    Ok(())
}

/// MPI_Remove_error_class: after its string and its codes (MPI 5.0 section 9.5).
pub fn remove_error_class(errorclass: i32) -> Result<()> {
    with_added(errorclass, |added| {
        if added.class != errorclass {
            return err!(MPI_ERR_ARG, "{errorclass} is an error code: use MPI_Remove_error_code");
        }
        check_no_string(errorclass, added)
    })?;
    let mut added = ADDED.get().borrow_mut();
    if let Some((code, _)) = added.iter().find(|&(&code, a)| a.class == errorclass && code != errorclass) {
        return err!(MPI_ERR_ARG, "error class {errorclass} still has the code {code}");
    }
    added.remove(&errorclass);
    Ok(())
}

fn check_no_string(code: i32, added: &Added) -> Result<()> {
    if added.text.is_empty() {
        return Ok(());
    }
    err!(MPI_ERR_ARG, "error {code} still has its string: call MPI_Remove_error_string first")
}

/// MPI_Error_class
pub fn error_class(errorcode: i32, errorclass: Out<i32>) -> Result<()> {
    errorclass.set(class_of(errorcode));
    Ok(())
}

/// What MPI_Error_string says: of a predefined class more, if the last failed call of this thread has returned it.
pub fn full_text_of(code: i32) -> Option<String> {
    let text = text_of(code)?;
    let more = predefined(code).and_then(|_| last_error::explain(code)).filter(|more| !more.is_empty());
    Some(more.map_or_else(|| text.clone(), |more| format!("{text}: {more}")))
}

/// MPI_Error_string
pub fn error_string(errorcode: i32, string: TextOut, resultlen: Out<i32>) -> Result<()> {
    let text = full_text_of(errorcode).unwrap_or_else(|| format!("{errorcode} is not an MPI error code"));
    resultlen.set(string.set(&text, MPI_MAX_ERROR_STRING));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_code(class: i32) -> Result<i32> {
        let mut code = 0;
        // SAFETY: a local that outlives the call.
        add_error_code(class, unsafe { Out::new(&mut code) })?;
        Ok(code)
    }

    #[test]
    fn every_class_of_the_standard_has_a_text() {
        for class in (0..=MPI_ERR_ABI).chain(MPI_T_ERR_CANNOT_INIT..=MPI_T_ERR_PVAR_NO_ATOMIC) {
            assert_eq!(class_of(class), class);
            assert!(text_of(class).unwrap().contains(name_of(class).as_str()), "class {class}");
        }
        assert_eq!(class_of(500), MPI_ERR_UNKNOWN);
        assert_eq!(class_of(-1), MPI_ERR_UNKNOWN);
        assert_eq!(text_of(-1), None);
    }

    #[test]
    fn codes_are_removed_from_the_inside_out() {
        let class = add(None);
        assert_eq!(last_used(), class);
        assert!(class > MPI_ERR_LASTCODE);
        let code = add_code(class).unwrap();
        assert_eq!((class_of(code), last_used()), (class, code));
        assert_eq!(add_code(code).unwrap_err().code, MPI_ERR_ARG);
        add_error_string(code, "a code").unwrap();
        assert_eq!(text_of(code).unwrap(), "a code");
        assert!(remove_error_class(class).is_err());
        assert!(remove_error_code(code).is_err());
        remove_error_string(code).unwrap();
        assert!(remove_error_code(class).is_err());
        remove_error_code(code).unwrap();
        assert!(remove_error_code(code).is_err());
        remove_error_class(class).unwrap();
        assert_eq!(last_used(), MPI_ERR_LASTCODE);
        assert!(remove_error_class(MPI_SUCCESS).is_err());
        assert!(add_error_string(MPI_ERR_RANK, "mine").is_err());
    }
}
