//! Names of files, and their removal (MPI 5.0 section 14.2.3).

use crate::constants::*;
use crate::error::Result;
use crate::objects::Info;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

/// The file systems that ROMIO knows by a prefix of the name.
const PREFIXES: [&str; 10] = ["ufs", "nfs", "xfs", "panfs", "lustre", "gpfs", "pvfs2", "daos", "testfs", "unify"];

/// The name without a prefix that tells ROMIO a file system ("ufs:name"). MPI_ERR_BAD_FILE if
/// there is nothing else.
pub fn plain(name: &Path) -> Result<&Path> {
    let bytes = name.as_os_str().as_bytes();
    let colon = bytes.iter().position(|&byte| byte == b':');
    let prefix = colon.and_then(|at| std::str::from_utf8(&bytes[..at]).ok());
    let bytes = match (prefix, colon) {
        (Some(prefix), Some(at)) if PREFIXES.contains(&prefix) => &bytes[at + 1..],
        _ => bytes,
    };
    if bytes.is_empty() {
        return err!(MPI_ERR_BAD_FILE, "the name of the file is empty");
    }
    Ok(Path::new(OsStr::from_bytes(bytes)))
}

/// MPI_File_delete
pub fn file_delete(filename: &Path, _info: Option<Rc<Info>>) -> Result<()> {
    Ok(tern_io::File::delete(plain(filename)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_prefixes_are_no_part_of_the_name() {
        let plain = |name: &str| plain(Path::new(name)).map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(plain("ufs:/tmp/a").unwrap(), "/tmp/a");
        assert_eq!(plain("a:b").unwrap(), "a:b");
        assert_eq!(plain("/tmp/ufs:a").unwrap(), "/tmp/ufs:a");
        assert_eq!(plain("").unwrap_err().code, MPI_ERR_BAD_FILE);
        assert_eq!(plain("nfs:").unwrap_err().code, MPI_ERR_BAD_FILE);
    }
}
