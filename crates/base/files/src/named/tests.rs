use super::*;
use crate::scratch::{Scratch, give_away, mode};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;

fn fifo(path: &Path) {
    rustix::fs::mkfifoat(CWD, path, Mode::RWXU).unwrap();
}

#[test]
fn what_the_user_names_is_written_wherever_it_points() {
    let scratch = Scratch::new();
    let (file, link) = (scratch.join("file"), scratch.join("link"));
    symlink(&file, &link).unwrap();
    create(&link).unwrap().write_all(b"a longer text").unwrap();
    create(&link).unwrap().write_all(b"text").unwrap();
    assert_eq!(read(&file).unwrap(), "text");
    replace(&link, b"through the link").unwrap();
    assert!(link.is_symlink());
    assert_eq!(read_own(&file).unwrap(), "through the link");
    replace(&file, b"new").unwrap();
    assert_eq!(read(&file).unwrap(), "new");
    // Not a file in place of the device.
    replace(Path::new("/dev/null"), b"x").unwrap();
    assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
    assert_eq!(std::fs::read_dir(&*scratch).unwrap().count(), 2);
}

#[test]
fn what_others_have_put_into_a_common_folder_is_refused() {
    let scratch = Scratch::new();
    let (victim, link, file) = (scratch.join("victim"), scratch.join("common/link"), scratch.join("common/file"));
    std::fs::create_dir(scratch.join("common")).unwrap();
    std::fs::write(&victim, "important").unwrap();
    std::fs::write(&file, "theirs").unwrap();
    symlink(&victim, &link).unwrap();
    if !give_away(&link) || !give_away(&file) {
        return;
    }
    // Not sticky: there the kernel may come first.
    mode(&scratch.join("common"), 0o777);
    for path in [&link, &file] {
        let error = create(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("of user 65534 in a folder that others write"), "{error}");
    }
    assert!(replace(&link, b"x").is_err());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "important");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "theirs");
    assert!(read_own(&file).unwrap_err().to_string().contains("belongs to user 65534"));
    // Nobody but its owner can have put anything into this one.
    mode(&scratch.join("common"), 0o755);
    create(&link).unwrap();
}

#[test]
fn a_fifo_is_not_waited_for() {
    let scratch = Scratch::new();
    let path = scratch.join("fifo");
    fifo(&path);
    assert!(read(&path).unwrap_err().to_string().contains("no plain file"));
    assert_eq!(create(&path).unwrap_err().raw_os_error(), Some(Errno::NXIO.raw_os_error()));
    assert_eq!(read(&scratch).unwrap_err().kind(), ErrorKind::IsADirectory);
    assert_eq!(read(&scratch.join("gone")).unwrap_err().kind(), ErrorKind::NotFound);
}
