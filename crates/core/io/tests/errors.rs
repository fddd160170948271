//! Errors of the file system: the class and the words, and never a signal.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{BOTH, Name, dense};
use tern_io::{Class, Error, File, Hints, Mode, View, write};
use tern_layout::{Basic, Type};

const READ: Mode = Mode { read: true, write: false, create: false, exclusive: false };

fn opened(path: &Path, mode: Mode) -> Error {
    File::open(path, mode).expect_err("it should fail")
}

#[test]
fn names() {
    let missing = opened(Path::new("/nowhere/at/all"), BOTH);
    assert_eq!((missing.class, missing.errno), (Class::NoSuchFile, Some(libc::ENOENT)));
    assert!(missing.text.contains("/nowhere/at/all") && missing.text.contains("reading and writing"), "{missing}");
    assert_eq!(opened(Path::new("/nowhere"), READ).class, Class::NoSuchFile);
    assert_eq!(opened(Path::new("/"), READ).class, Class::BadFile);
    assert_eq!(opened(Path::new("/"), BOTH).class, Class::BadFile);
    assert_eq!(opened(Path::new(&"n".repeat(300)), BOTH).class, Class::BadFile);
    let name = Name::with(&[1]);
    assert_eq!(opened(&name.path().join("under"), BOTH).class, Class::BadFile);
    assert_eq!(opened(name.path(), Mode { exclusive: true, ..BOTH }).class, Class::FileExists);
    File::delete(name.path()).unwrap();
    assert_eq!(File::delete(name.path()).unwrap_err().class, Class::NoSuchFile);
    assert_eq!(File::delete(Path::new("/")).unwrap_err().class, Class::BadFile);
}

/// The superuser may do everything; everybody else is stopped.
#[test]
fn permissions() {
    let name = Name::with(&[1]);
    std::fs::set_permissions(name.path(), std::fs::Permissions::from_mode(0o400)).unwrap();
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: the superuser may write to files without permission");
    } else {
        assert_eq!(opened(name.path(), BOTH).class, Class::Access);
    }
    // Nobody may make files here.
    assert!(matches!(opened(Path::new("/proc/new"), BOTH).class, Class::NoSuchFile | Class::Access));
}

#[test]
fn sizes() {
    let name = Name::with(&[1, 2, 3, 4]);
    let file = name.open();
    file.set_size(2).unwrap();
    file.set_size(6).unwrap();
    assert_eq!(name.bytes(), [1, 2, 0, 0, 0, 0]);
    file.preallocate(3).unwrap();
    file.preallocate(0).unwrap();
    assert_eq!(file.size(), Ok(6));
    file.preallocate(8).unwrap();
    assert_eq!(name.bytes(), [1, 2, 0, 0, 0, 0, 0, 0]);
    file.sync().unwrap();
    assert_eq!(name.open().identity(), file.identity());
    file.close().unwrap();
    let reader = File::open(name.path(), READ).unwrap();
    // What was not opened for writing is not written.
    let refused = reader.write_at(0, &[9]).unwrap_err();
    assert_eq!((refused.class, refused.errno), (Class::Io, Some(libc::EBADF)));
}

#[test]
fn a_full_device() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return eprintln!("skipped: there is no /dev/full");
    }
    let file = File::open(full, Mode { write: true, ..READ }).unwrap();
    let error = file.write_at(0, &[1; 100]).unwrap_err();
    assert_eq!((error.class, error.errno), (Class::NoSpace, Some(libc::ENOSPC)));
    assert!(error.text.contains("write 100 bytes at offset 0") && error.text.contains("/dev/full"), "{error}");
}

/// A file system of 64 KiB: what fits is there, the rest is an error.
#[test]
fn a_small_file_system() {
    let place: PathBuf = std::env::temp_dir().join(format!("tern-io-small-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&place).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        std::fs::remove_dir(&place).unwrap();
        return eprintln!("skipped: no file system can be mounted here");
    }
    let outcome = std::panic::catch_unwind(|| {
        let file = File::open(&place.join("file"), BOTH).unwrap();
        file.write_at(0, &[1; 60_000]).unwrap();
        assert_eq!(file.write_at(60_000, &[1; 60_000]).unwrap_err().class, Class::NoSpace);
        assert_eq!(file.preallocate(1 << 20).unwrap_err().class, Class::NoSpace);
    });
    Command::new("umount").arg(&place).status().unwrap();
    std::fs::remove_dir(&place).unwrap();
    outcome.unwrap();
}

const CHILD: &str = "TERN_IO_TEST_LIMIT";

/// Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ, which kills.
#[test]
fn a_limit_of_the_process() {
    if let Ok(path) = std::env::var(CHILD) {
        let limit = rustix::process::Rlimit { current: Some(1000), maximum: Some(1000) };
        let file = File::open(Path::new(&path), BOTH).unwrap();
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
        // It was not there when this one was opened.
        assert_eq!(file.write_at(0, &[1; 100_000]).unwrap_err().class, Class::Quota);
        let file = File::open(Path::new(&path), BOTH).unwrap();
        file.write_at(0, &[1; 1000]).unwrap();
        let byte = Type::basic(Basic::Byte);
        // SAFETY: all of the bytes is ours.
        let refused = unsafe { write(&file, &View::bytes(), 990, &dense(&mut [2; 20], &byte), &Hints::default()) };
        let refused = refused.unwrap_err();
        assert_eq!((refused.class, refused.errno), (Class::Quota, Some(libc::EFBIG)));
        assert!(refused.text.contains("ulimit -f") && refused.text.contains("1000 bytes"), "{refused}");
        assert_eq!(file.set_size(1001).unwrap_err().class, Class::Quota);
        assert_eq!(file.preallocate(1001).unwrap_err().class, Class::Quota);
        assert_eq!(file.size(), Ok(1000));
        return;
    }
    let name = Name::new();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_limit_of_the_process"])
        .env(CHILD, name.path())
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(child.success(), "{child}");
}
