//! Several who write to one file at once. Each has a descriptor of its own, as processes do; one test
//! has real processes.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use common::{BOTH, Name, dense};
use tern_io::{Choice, File, Hints, Representation, Sharing, View, read, write};
use tern_layout::{Basic, Type};

const BLOCK: i64 = 7;
const BLOCKS: i64 = 2000;

/// Writes every `of`th block, the one of number `own` first, `times` times, in windows that hold
/// many blocks of others; each time its own are then there.
fn write_blocks(path: &Path, own: i64, of: i64, hints: &Hints, times: usize) {
    let file = File::open(path, BOTH).unwrap();
    let byte = Type::basic(Basic::Byte);
    let block = Type::contiguous(BLOCK, &byte).unwrap();
    let ty = Type::resized(0, of * BLOCK, &block).unwrap();
    let view = View::new(own * BLOCK, &byte, &ty, Representation::Native, true).unwrap();
    for time in 0..times {
        let mut bytes: Vec<u8> = (0..BLOCK * BLOCKS).map(|at| value(own, at, time)).collect();
        // SAFETY: all of `bytes` is ours.
        unsafe { write(&file, &view, 0, &dense(&mut bytes, &byte), hints) }.unwrap();
        let mut back = vec![0; bytes.len()];
        // SAFETY: likewise.
        unsafe { read(&file, &view, 0, &dense(&mut back, &byte), &Hints::default()) }.unwrap();
        assert!(back == bytes, "writer {own} has lost bytes");
    }
}

fn value(own: i64, at: i64, time: usize) -> u8 {
    (own * 31 + at + time as i64 * 101) as u8
}

fn check(name: &Name, of: i64, times: usize) {
    let bytes = name.bytes();
    assert_eq!(bytes.len() as i64, of * BLOCK * BLOCKS);
    for (index, block) in bytes.chunks(BLOCK as usize).enumerate() {
        let (own, first) = (index as i64 % of, index as i64 / of * BLOCK);
        for (at, &byte) in block.iter().enumerate() {
            assert_eq!(byte, value(own, first + at as i64, times - 1), "block {index} of writer {own}");
        }
    }
}

fn sieving() -> Hints {
    Hints { write_sieving: Choice::Always, write_buffer: 1000, ..Hints::default() }
}

#[test]
fn windows_of_several_writers_lose_nothing() {
    let name = Name::new();
    std::thread::scope(|scope| {
        for own in 0..4 {
            let path = name.path();
            scope.spawn(move || write_blocks(path, own, 4, &sieving(), 20));
        }
    });
    check(&name, 4, 20);
}

#[test]
fn windows_lose_nothing_of_plain_writers() {
    let name = Name::new();
    let plain = Hints { write_sieving: Choice::Never, guarded: true, ..Hints::default() };
    std::thread::scope(|scope| {
        for own in 0..3 {
            let path = name.path();
            let hints = if own == 0 { sieving() } else { plain };
            scope.spawn(move || write_blocks(path, own, 3, &hints, 20));
        }
    });
    check(&name, 3, 20);
}

const CHILD: &str = "TERN_IO_TEST_WRITER";

#[test]
fn windows_of_two_processes_lose_nothing() {
    if let Ok(task) = std::env::var(CHILD) {
        let (own, path) = task.split_once(' ').unwrap();
        write_blocks(Path::new(path), own.parse().unwrap(), 2, &sieving(), 20);
        return;
    }
    let name = Name::new();
    let start = |own: u32| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "windows_of_two_processes_lose_nothing"])
            .env(CHILD, format!("{own} {}", name.path().display()))
            .spawn()
            .unwrap()
    };
    let children = [start(0), start(1)];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    check(&name, 2, 20);
}

/// In atomic mode a reader sees all of a write or nothing, also of one in several pieces.
#[test]
fn atomic_accesses_are_seen_whole() {
    let hints = Hints { atomic: true, write_sieving: Choice::Never, ..Hints::default() };
    let byte = || Type::basic(Basic::Byte);
    let striped = |byte: &std::rc::Rc<Type>| {
        let ty = Type::resized(0, 64, &Type::contiguous(16, byte).unwrap()).unwrap();
        View::new(0, byte, &ty, Representation::Native, true).unwrap()
    };
    let name = Name::with(&[0; 64 * 64]);
    std::thread::scope(|scope| {
        for own in [1u8, 2] {
            let path = name.path();
            scope.spawn(move || {
                let (file, byte) = (File::open(path, BOTH).unwrap(), byte());
                for _ in 0..200 {
                    // SAFETY: all of the bytes is ours.
                    unsafe { write(&file, &striped(&byte), 0, &dense(&mut [own; 1024], &byte), &hints) }.unwrap();
                }
            });
        }
        let (file, byte) = (name.open(), byte());
        for _ in 0..400 {
            let mut bytes = [9; 1024];
            // SAFETY: as above.
            unsafe { read(&file, &striped(&byte), 0, &dense(&mut bytes, &byte), &hints) }.unwrap();
            assert!(bytes.iter().all(|&byte| byte == bytes[0]), "{bytes:?}");
        }
    });
}

#[test]
fn locks_of_one_process_exclude_each_other() {
    let name = Name::new();
    let (one, other) = (name.open(), name.open());
    assert!(one.has_locks());
    let guard = one.lock(Sharing::Exclusive, 10..20).unwrap().unwrap();
    drop(other.lock(Sharing::Exclusive, 20..30).unwrap().unwrap());
    let waiting = std::sync::atomic::AtomicBool::new(true);
    std::thread::scope(|scope| {
        let path = name.path();
        let waiting = &waiting;
        scope.spawn(move || {
            let file = File::open(path, BOTH).unwrap();
            let _guard = file.lock(Sharing::Shared, 15..16).unwrap().unwrap();
            assert!(!waiting.load(std::sync::atomic::Ordering::SeqCst));
        });
        waiting.store(false, std::sync::atomic::Ordering::SeqCst);
        drop(guard);
    });
}

/// A file that cannot be read is not sieved, one that can be although it was opened for writing is; in
/// both nothing is lost.
#[test]
fn files_that_are_only_written() {
    let byte = Type::basic(Basic::Byte);
    let view = View::new(0, &byte, &Type::resized(0, 2, &byte).unwrap(), Representation::Native, true).unwrap();
    for permissions in [0o200, 0o600] {
        let name = Name::with(&[7; 8]);
        std::fs::set_permissions(name.path(), std::fs::Permissions::from_mode(permissions)).unwrap();
        let mode = tern_io::Mode { write: true, ..Default::default() };
        let file = File::open(name.path(), mode).unwrap();
        let hints = Hints { write_sieving: Choice::Always, ..Hints::default() };
        // SAFETY: all of the bytes is ours.
        unsafe { write(&file, &view, 0, &dense(&mut [1, 2, 3], &byte), &hints) }.unwrap();
        std::fs::set_permissions(name.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(name.bytes(), [1, 7, 2, 7, 3, 7, 7, 7]);
    }
}

extern "C" fn nothing(_: libc::c_int) {}

/// A signal interrupts the wait for a lock; the wait goes on.
#[test]
fn signals_do_not_end_the_wait_for_a_lock() {
    // SAFETY: a handler that does nothing, for a signal that nobody else uses; system calls are not
    // restarted after it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    let name = Name::new();
    let file = name.open();
    let guard = file.lock(Sharing::Exclusive, 0..1).unwrap().unwrap();
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let path = name.path();
        let waiter = scope.spawn(move || {
            // SAFETY: no arguments.
            tell.send(unsafe { libc::pthread_self() }).unwrap();
            let file = File::open(path, BOTH).unwrap();
            file.lock(Sharing::Exclusive, 0..1).map(|guard| guard.is_some())
        });
        let thread = told.recv().unwrap();
        for _ in 0..50 {
            // SAFETY: the thread waits for the lock, which is still held, and so is there.
            unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        drop(guard);
        assert_eq!(waiter.join().unwrap(), Ok(true));
    });
}
