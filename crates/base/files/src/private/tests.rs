use super::*;
use crate::scratch::{Scratch, give_away, mode};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, symlink};

fn refused<T: std::fmt::Debug>(result: io::Result<T>, why: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains(why), "{error}");
}

fn text(mut file: File) -> String {
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn only_the_last_two_directories_are_made_and_for_this_user_alone() {
    let scratch = Scratch::new();
    assert_eq!(Private::open(&scratch.join("home/.cache"), "tern").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!scratch.join("home").exists());
    let private = Private::open(&scratch.join(".cache"), "tern").unwrap();
    for made in [".cache", ".cache/tern"] {
        assert_eq!(scratch.join(made).metadata().unwrap().mode() & 0o7777, 0o700, "{made}");
    }
    private.write("a", b"one").unwrap();
    Private::open(&scratch.join(".cache"), "tern").unwrap().write("a", b"two").unwrap();
    assert_eq!(text(private.read("a").unwrap()), "two");
    assert_eq!(scratch.join(".cache/tern/a").metadata().unwrap().mode() & 0o7777, 0o600);
    assert_eq!(std::fs::read_dir(private.path()).unwrap().count(), 1);
}

#[test]
fn a_directory_that_others_may_write_is_closed_to_them() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("tern")).unwrap();
    mode(&scratch.join("tern"), 0o777);
    Private::open(&scratch, "tern").unwrap();
    assert_eq!(scratch.join("tern").metadata().unwrap().mode() & 0o7777, 0o700);
}

#[test]
fn directories_of_others_are_not_used() {
    let scratch = Scratch::new();
    let base = scratch.join("base");
    std::fs::create_dir(&base).unwrap();
    std::fs::create_dir(scratch.join("elsewhere")).unwrap();
    symlink(scratch.join("elsewhere"), base.join("tern")).unwrap();
    refused(Private::open(&base, "tern"), "symbolic link");
    std::fs::remove_file(base.join("tern")).unwrap();
    std::fs::create_dir(base.join("tern")).unwrap();
    if !give_away(&base.join("tern")) {
        return;
    }
    refused(Private::open(&base, "tern"), "belongs to user 65534");
    refused(Private::find(&base.join("tern")), "belongs to user 65534");
    std::fs::remove_dir(base.join("tern")).unwrap();
    give_away(&base);
    refused(Private::open(&base, "tern"), "belongs to user 65534");
    assert!(!base.join("tern").exists());
    refused(Private::open(&base.join(".cache"), "tern"), "belongs to user 65534");
    assert!(!base.join(".cache").exists());
}

#[test]
fn no_link_is_followed_and_nothing_is_truncated() {
    let scratch = Scratch::new();
    let victim = scratch.join("victim");
    std::fs::write(&victim, "important").unwrap();
    let private = Private::open(&scratch, "tern").unwrap();
    for name in ["lock", "costs"] {
        symlink(&victim, private.path().join(name)).unwrap();
    }
    refused(private.lock("lock"), "symbolic link");
    refused(private.read("costs"), "symbolic link");
    // The link is replaced, not followed.
    private.write("costs", b"new").unwrap();
    assert_eq!(text(private.read("costs").unwrap()), "new");
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "important");
    // The same by another name of the file.
    std::fs::remove_file(private.path().join("lock")).unwrap();
    std::fs::hard_link(&victim, private.path().join("lock")).unwrap();
    private.lock("lock").unwrap();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "important");
}

#[test]
fn what_others_may_write_is_not_believed() {
    let scratch = Scratch::new();
    let private = Private::open(&scratch, "tern").unwrap();
    private.write("costs", b"x").unwrap();
    let file = private.path().join("costs");
    mode(&file, 0o622);
    refused(private.read("costs"), "may write it");
    mode(&file, 0o600);
    private.read("costs").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, private.path().join("fifo"), Mode::RWXU).unwrap();
    for name in ["fifo", "."] {
        let error = private.read(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    }
    if give_away(&file) {
        refused(private.read("costs"), "another user owns it");
        refused(private.change("costs"), "another user owns it");
    }
}

#[test]
fn one_has_the_lock() {
    let scratch = Scratch::new();
    let private = Private::open(&scratch, "tern").unwrap();
    let held = private.lock("lock").unwrap();
    assert!(held.is_some());
    assert_eq!(private.lock("lock").unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(held);
    assert!(private.lock("lock").unwrap().is_some());
}

#[test]
fn a_temporary_directory_is_found_by_its_path_and_removed() {
    let one = Private::temporary().unwrap();
    let other = Private::temporary().unwrap();
    assert_ne!(one.path(), other.path());
    one.create("word").unwrap().write_all(b"12345678").unwrap();
    assert_eq!(one.create("word").unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(text(Private::find(one.path()).unwrap().change("word").unwrap()), "12345678");
    one.remove("word").unwrap();
    one.remove_directory().unwrap();
    other.remove_directory().unwrap();
}
