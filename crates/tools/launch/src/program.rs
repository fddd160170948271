//! Finds the file of a program, as a shell would.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::io::Errno;

/// Exit code for a command line that is wrong.
pub const USAGE: i32 = 2;
/// Exit code when the program does not exist, as shells have it.
pub const NOT_FOUND: i32 = 127;
/// Exit code when the program cannot be executed.
pub const NOT_EXECUTABLE: i32 = 126;

/// Why a program cannot be started: a line for the user, and the exit code.
#[derive(Debug, PartialEq)]
pub struct Unusable {
    /// What is wrong.
    pub text: String,
    /// 126 or 127.
    pub code: i32,
}

/// The path to execute for `name`, relative to the directory `wdir` where the program will run. A
/// name without a slash is searched in `path`, then in that directory.
pub fn find(name: &OsStr, wdir: Option<&OsStr>, path: Option<&OsStr>) -> Result<OsString, Unusable> {
    if let Some(wdir) = wdir {
        check_directory(wdir)?;
    }
    if name.as_bytes().contains(&b'/') {
        return check(Path::new(name), wdir).map(|()| name.to_owned());
    }
    let mut refused = None;
    for dir in std::env::split_paths(path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"))) {
        let dir = if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir };
        let file = dir.join(name);
        match check(&file, wdir) {
            Ok(()) => return Ok(file.into_os_string()),
            Err(why) if why.code == NOT_EXECUTABLE => refused = refused.or(Some(why)),
            Err(_) => {}
        }
    }
    let here = Path::new(".").join(name);
    match check(&here, wdir) {
        Ok(()) => Ok(here.into_os_string()),
        Err(why) if why.code == NOT_EXECUTABLE => Err(refused.unwrap_or(why)),
        Err(_) => Err(refused.unwrap_or_else(|| Unusable {
            text: format!("there is no program {} in PATH or in the working directory", name.to_string_lossy()),
            code: NOT_FOUND,
        })),
    }
}

/// Whether the file can be executed.
fn check(file: &Path, wdir: Option<&OsStr>) -> Result<(), Unusable> {
    let seen = Path::new(wdir.unwrap_or(OsStr::new("."))).join(file);
    let name = file.display();
    let no = |text: String, code| Err(Unusable { text, code });
    match std::fs::metadata(&seen) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return no(format!("cannot reach {name}: permission denied"), NOT_EXECUTABLE);
        }
        Err(error) => {
            let why = Errno::from_io_error(&error).map_or(error.to_string(), |e| e.to_string());
            return no(format!("there is no program {name}: {}", reason(&why)), NOT_FOUND);
        }
        Ok(data) if data.is_dir() => {
            return no(format!("{name} is a directory, not a program"), NOT_EXECUTABLE);
        }
        Ok(_) => {}
    }
    match rustix::fs::access(&seen, Access::EXEC_OK) {
        Ok(()) => Ok(()),
        Err(_) => {
            no(format!("{name} is not executable; chmod +x {name} makes it so if it is a program"), NOT_EXECUTABLE)
        }
    }
}

fn check_directory(wdir: &OsStr) -> Result<(), Unusable> {
    let text = match std::fs::metadata(wdir) {
        Ok(data) if data.is_dir() => return Ok(()),
        Ok(_) => "it is no directory".to_string(),
        Err(error) => reason(&error.to_string()).to_string(),
    };
    let text = format!("cannot work in the directory {}: {text}", wdir.to_string_lossy());
    Err(Unusable { text, code: NOT_FOUND })
}

/// The text of an error of the system without its number.
fn reason(text: &str) -> &str {
    text.split(" (os error").next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str, wdir: Option<&str>) -> i32 {
        find(name.as_ref(), wdir.map(OsStr::new), None).unwrap_err().code
    }

    #[test]
    fn names_are_found_in_path_and_here() {
        let found = find("sh".as_ref(), None, Some("/dev/null/none:/bin:/usr/bin".as_ref()));
        assert_eq!(found, Ok("/bin/sh".into()));
        assert_eq!(find("sh".as_ref(), Some("/bin".as_ref()), Some("".as_ref())), Ok("./sh".into()));
        assert_eq!(find("./sh".as_ref(), Some("/bin".as_ref()), None), Ok("./sh".into()));
        assert_eq!(find("/bin/sh".as_ref(), None, None), Ok("/bin/sh".into()));
    }

    #[test]
    fn what_cannot_run_has_the_code_of_shells() {
        assert_eq!(code("tern-no-such-program", None), NOT_FOUND);
        assert_eq!(code("./tern-no-such-program", None), NOT_FOUND);
        assert_eq!(code("/etc/passwd", None), NOT_EXECUTABLE);
        assert_eq!(code("/etc", None), NOT_EXECUTABLE);
        let dir = std::env::temp_dir().join(format!("tern-program-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("tern-plain-file"), "text").unwrap();
        assert_eq!(code("tern-plain-file", dir.to_str()), NOT_EXECUTABLE);
        std::fs::remove_dir_all(dir).unwrap();
        assert_eq!(code("sh", Some("/dev/null/none")), NOT_FOUND);
    }
}
