//! Words of shared file pointers in a file, for processes that share no memory: those of several nodes or jobs.
//!
//! The file is small and has no name any more; who uses a word locks it. All files of one circle of processes have their words in one, so
//! that a program may open as many files as it may have descriptors.

use crate::constants::*;
use crate::error::{Error, Result};
use crate::exchange::Circle;
use crate::guarded::Guarded;
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::{Rc, Weak};
use tern_adi::Proc;
use tern_files::Private;
use tern_io::Sharing;

/// Words that one file has at the most.
const MOST: u32 = 1 << 20;
/// Bytes of one.
const BYTES: u64 = 8;
/// Bytes in front of them.
const HEAD: u64 = MARK as u64;
/// The name of the file, in its directory or for those who look at a process's open files.
const NAME: &str = "tern-pointer";

/// A file of words, which all processes of a circle have open.
struct Words {
    file: tern_io::File,
    /// The circle, and what its first process calls this file.
    procs: Rc<[Proc]>,
    number: u32,
    /// Of the first process: the words in use.
    used: RefCell<Vec<bool>>,
}

/// A word in a file of words.
pub struct Kept {
    words: Rc<Words>,
    slot: u32,
}

/// Those that some file uses, by the circle.
static OPEN: Guarded<RefCell<Vec<Weak<Words>>>> = Guarded::new(RefCell::new(Vec::new()));
/// The last number that this process has given one.
static NUMBER: Guarded<Cell<u32>> = Guarded::new(Cell::new(0));

impl Kept {
    /// Replaces the number by what `change` makes of it; returns what it was.
    pub fn exchange(&self, change: impl FnOnce(i64) -> i64) -> Result<i64> {
        let (mut bytes, at) = ([0; BYTES as usize], HEAD + u64::from(self.slot) * BYTES);
        let file = &self.words.file;
        let _turn = file.lock(Sharing::Exclusive, at..at + BYTES)?;
        file.read_at(at, &mut bytes)?;
        let value = i64::from_ne_bytes(bytes);
        file.write_at(at, &change(value).to_ne_bytes())?;
        Ok(value)
    }

    #[cfg(test)]
    fn of(file: tern_io::File, slot: u32) -> Kept {
        Kept { words: Rc::new(Words { file, procs: Rc::from([]), number: 0, used: RefCell::default() }), slot }
    }
}

impl Drop for Kept {
    /// Nobody uses the word any more: its file is closed everywhere.
    fn drop(&mut self) {
        if let Some(used) = self.words.used.borrow_mut().get_mut(self.slot as usize) {
            *used = false;
        }
    }
}

impl Words {
    /// A word that nobody uses; it is 0. `None`: there is none. For the first process.
    fn take(self: &Rc<Words>) -> Option<Kept> {
        let mut used = self.used.borrow_mut();
        let slot = used.iter().position(|used| !used).unwrap_or(used.len());
        if slot == used.len() {
            used.push(false);
        }
        let kept = Kept { words: self.clone(), slot: u32::try_from(slot).ok().filter(|&slot| slot < MOST)? };
        used[slot] = true;
        drop(used);
        kept.exchange(|_| 0).ok().map(|_| kept)
    }
}

/// A word for all processes of `circle`, which begins as 0; or why one of them cannot have it.
///
/// Errors: one of them is lost.
pub async fn new(circle: &Circle) -> Result<std::result::Result<Kept, String>> {
    // What the first process has open all have, unless a thread of another one is just closing the last file that used it.
    if let Some(kept) = again(circle).await? {
        return Ok(Ok(kept));
    }
    fresh(circle).await
}

/// The open file of words of this circle, if `number` is its name.
fn find(circle: &Circle, number: Option<u32>) -> Option<Rc<Words>> {
    let mut open = OPEN.get().borrow_mut();
    open.retain(|words| words.strong_count() > 0);
    let is_it = |words: &Rc<Words>| words.procs == circle.procs && number.is_none_or(|number| words.number == number);
    open.iter().filter_map(Weak::upgrade).find(is_it)
}

/// A further word of a file that these processes have. `None`: they have none.
async fn again(circle: &Circle) -> Result<Option<Kept>> {
    let mine = if circle.me == 0 { find(circle, None).and_then(|words| words.take()) } else { None };
    let told = mine.as_ref().map_or([0; 2], |kept| [kept.words.number, kept.slot]);
    let told = circle.share(0, told.map(u32::to_ne_bytes).concat()).await?;
    let [number, slot] = numbers(&told);
    if number == 0 {
        return Ok(None);
    }
    let kept = mine.or_else(|| find(circle, Some(number)).map(|words| Kept { words, slot }));
    let missing = circle.any(kept.is_none()).await?;
    Ok(kept.filter(|_| !missing))
}

fn numbers(told: &[u8]) -> [u32; 2] {
    [0, 4].map(|at| told.get(at..at + 4).map_or(0, |four| u32::from_ne_bytes(four.try_into().expect("four bytes"))))
}

/// The first word of a new file: in memory, which leaves nothing behind whoever is killed, or else in a folder that all of them see.
async fn fresh(circle: &Circle) -> Result<std::result::Result<Kept, String>> {
    match made_at(circle, &MEMORY).await? {
        Ok(kept) => Ok(Ok(kept)),
        Err(_) => made_at(circle, &FOLDER).await,
    }
}

/// A file that the first process has made: what it tells the others of it, and the directory that goes when all have the file open.
struct Made {
    file: OwnedFd,
    told: Vec<u8>,
    directory: Option<Private>,
}

/// Where such a file lies: how the first process makes it, and how the others open it by what they are told.
struct Store {
    make: fn() -> std::result::Result<Made, String>,
    find: fn(&[u8]) -> std::result::Result<OwnedFd, String>,
}

const MEMORY: Store = Store { make: make_in_memory, find: find_in_memory };
const FOLDER: Store = Store { make: make_in_folder, find: find_in_folder };

async fn made_at(circle: &Circle, place: &Store) -> Result<std::result::Result<Kept, String>> {
    let made = if circle.me == 0 { (place.make)().map(Some) } else { Ok(None) };
    // Taken at once: another thread may be at this point for the same processes.
    let number = NUMBER.get().replace(NUMBER.get().get() + 1) + 1;
    let own = made.as_ref().ok().and_then(|made| made.as_ref()).map_or(&[][..], |made| &made.told);
    let told = circle.share(0, [&number.to_ne_bytes()[..], own].concat()).await;
    let mine = match (&told, &made) {
        (Err(error), _) => Err(error.message.clone()),
        (_, Err(why)) => Err(why.clone()),
        (_, Ok(Some(made))) => made.file.try_clone().map_err(|why| why.to_string()),
        (Ok(told), Ok(None)) if told.len() == 4 => Err("the first process has none".to_owned()),
        (Ok(told), Ok(None)) => (place.find)(&told[4..]),
    };
    let mine = mine.map(|file| tern_io::File::of(file, Path::new(NAME), true)).and_then(|file| {
        if file.has_locks() { Ok(file) } else { Err("the file system of TMPDIR has no locks".to_owned()) }
    });
    let agreed = match &told {
        Ok(_) => consented(circle, &mine).await,
        Err(error) => Err(error.clone()),
    };
    if let Ok(Some(Made { directory: Some(directory), .. })) = made {
        // All have it open or do without. A name that stays would be a nuisance, no error.
        let _ = directory.remove(NAME).and_then(|()| directory.remove_directory());
    }
    let (why, told) = (agreed?, told?);
    Ok(match (why, mine) {
        (None, Ok(file)) => Ok(first_of(circle, file, numbers(&told)[0])),
        (Some(why), _) | (None, Err(why)) => Err(why),
    })
}

/// The first word of the file, which this process and the others of the circle have open now.
fn first_of(circle: &Circle, file: tern_io::File, number: u32) -> Kept {
    let used = RefCell::new(if circle.me == 0 { vec![true] } else { Vec::new() });
    let words = Rc::new(Words { file, procs: circle.procs.clone(), number, used });
    OPEN.get().borrow_mut().push(Rc::downgrade(&words));
    Kept { words, slot: 0 }
}

/// Why a process has no file: the first reason that there is, at all processes.
async fn consented(circle: &Circle, mine: &std::result::Result<tern_io::File, String>) -> Result<Option<String>> {
    let own = match mine {
        Ok(_) => Ok(Vec::new()),
        Err(why) => Err(Error::new(MPI_ERR_UNSUPPORTED_OPERATION, why.clone())),
    };
    match super::agree::consent(circle, own).await {
        Ok(_) => Ok(None),
        Err(error) if error.code == MPI_ERR_UNSUPPORTED_OPERATION => Ok(Some(error.message)),
        Err(error) => Err(error),
    }
}

/// How the kernel tells of a file in memory with [`NAME`].
const LINK: &str = "/memfd:tern-pointer";
/// Bytes by which the file is known: a process of that number on another machine may have such a file, too.
const MARK: usize = 16;

/// A file in memory, with its mark.
fn make_in_memory() -> std::result::Result<Made, String> {
    let failed = |why: Errno| format!("a file in memory: {why}");
    let mark: [u8; MARK] = tern_node::random().map_err(|why| why.to_string())?;
    let file = rustix::fs::memfd_create(NAME, rustix::fs::MemfdFlags::CLOEXEC).map_err(failed)?;
    if rustix::io::pwrite(&file, &mark, 0).map_err(failed)? != MARK {
        return Err(failed(Errno::NOSPC));
    }
    let place = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Ok(Made { file, told: [&mark[..], place.as_bytes()].concat(), directory: None })
}

/// The file among those that the first process has open.
fn find_in_memory(told: &[u8]) -> std::result::Result<OwnedFd, String> {
    let none = || "the first process runs on another machine".to_owned();
    let (mark, place) = told.split_at_checked(MARK).ok_or_else(none)?;
    // Nothing else is opened: that might wait, or change something.
    let link = rustix::fs::readlink(place, Vec::new()).map_err(|why| why.to_string())?;
    if !link.to_bytes().starts_with(LINK.as_bytes()) {
        return Err(none());
    }
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(place, flags, rustix::fs::Mode::empty()).map_err(|why| why.to_string())?;
    let mut found = [0; MARK];
    let read = rustix::io::pread(&file, &mut found, 0).map_err(|why| why.to_string())?;
    if read == MARK && found == mark { Ok(file) } else { Err(none()) }
}

/// A file in a directory of its own, which is this user's alone.
fn make_in_folder() -> std::result::Result<Made, String> {
    let failed = |why: std::io::Error| format!("a file in {}: {why}", std::env::temp_dir().display());
    let directory = Private::temporary().map_err(failed)?;
    match directory.create(NAME).and_then(|file| file.set_len(HEAD + BYTES).map(|()| file)) {
        Ok(file) => {
            let told = directory.path().as_os_str().as_bytes().to_vec();
            Ok(Made { file: file.into(), told, directory: Some(directory) })
        }
        Err(why) => {
            let _ = directory.remove(NAME);
            let _ = directory.remove_directory();
            Err(failed(why))
        }
    }
}

/// The file in a directory that the first process has told of.
fn find_in_folder(told: &[u8]) -> std::result::Result<OwnedFd, String> {
    let path = Path::new(OsStr::from_bytes(told));
    let found = Private::find(path).and_then(|found| found.change(NAME));
    found.map(OwnedFd::from).map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_io::Mode;

    #[test]
    fn a_file_in_memory_is_found_by_its_mark() {
        let made = make_in_memory().expect("a file");
        let found = find_in_memory(&made.told).expect("it is there");
        rustix::io::pwrite(&made.file, &7_i64.to_ne_bytes(), HEAD).expect("written");
        let mut bytes = [0; 8];
        rustix::io::pread(&found, &mut bytes, HEAD).expect("read");
        assert_eq!(i64::from_ne_bytes(bytes), 7, "it is the same file");
        let place = |fd: &OwnedFd| format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd()).into_bytes();
        let other = make_in_memory().expect("a file").file;
        let mark = &made.told[..MARK];
        assert!(find_in_memory(&[mark, &place(&other)].concat()).is_err(), "another such file");
        let (_, writer) = rustix::pipe::pipe().expect("a pipe");
        assert!(find_in_memory(&[mark, &place(&writer)].concat()).is_err(), "something else");
        assert!(find_in_memory(b"").is_err() && find_in_memory(mark).is_err());
    }

    #[test]
    fn a_word_in_a_file_is_added_to_by_one_at_a_time() {
        let path = std::env::temp_dir().join(format!("tern-word-{}", std::process::id()));
        let mode = Mode { read: true, write: true, create: true, exclusive: false };
        let open = || tern_io::File::open(&path, mode).unwrap();
        let made = open();
        made.set_size(56).unwrap();
        let (threads, times) = (4, 200);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                // Each has a handle of its own, as processes do.
                scope.spawn(|| {
                    let word = Kept::of(open(), 3);
                    for _ in 0..times {
                        word.exchange(|value| value + 3).unwrap();
                    }
                });
            }
        });
        let word = Kept::of(made, 3);
        assert_eq!(word.exchange(|_| 7).unwrap(), 3 * threads * times);
        assert_eq!(word.exchange(|value| value).unwrap(), 7);
        assert_eq!(word.words.file.read_at(0, &mut [0; 24]).unwrap(), 24);
        tern_io::File::delete(&path).unwrap();
    }
}
