//! System calls that are refused: what the user is told.

use rustix::io::Errno;

/// "CALL: error; what to do".
pub fn told(call: &str, errno: Errno) -> String {
    let remedy = match errno {
        // INVAL: a descriptor's number is above the limit.
        Errno::MFILE | Errno::INVAL | Errno::BADF => {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
            let limit = limit.map_or("unlimited".into(), |limit| limit.to_string());
            format!("open files are limited to {limit} (ulimit -n); 128 and 8 for each rank are enough")
        }
        Errno::NFILE => "the system has too many open files (fs.file-max)".into(),
        Errno::PERM | Errno::ACCESS | Errno::NOSYS => {
            "the kernel, or the filter of a container (seccomp), refuses this call: allow it there".into()
        }
        _ => "see the limits of ulimit -a".into(),
    };
    format!("{call}: {errno}; {remedy}")
}
