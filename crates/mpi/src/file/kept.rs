//! Words of shared file pointers in a file, for processes that share no memory: those of several nodes or jobs.
//!
//! The file is small and has no name any more; who uses a word locks it. All files of one circle of processes have their words in one, so
//! that a program may open as many files as it may have descriptors.

use crate::constants::*;
use crate::error::{Error, Result};
use crate::exchange::Circle;
use crate::guarded::Guarded;
use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
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
/// The name of the file in its directory.
const NAME: &str = "pointer";

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
        let (mut bytes, at) = ([0; BYTES as usize], u64::from(self.slot) * BYTES);
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

/// The first word of a new file. It has a directory of this user's for itself, so that no other user reaches it.
async fn fresh(circle: &Circle) -> Result<std::result::Result<Kept, String>> {
    let made = if circle.me == 0 { make().map(Some) } else { Ok(None) };
    let number = NUMBER.get().get() + 1;
    let path =
        made.as_ref().ok().and_then(|made| made.as_ref()).map_or(Path::new(""), |(directory, _)| directory.path());
    let told = circle.share(0, [&number.to_ne_bytes()[..], path.as_os_str().as_bytes()].concat()).await;
    let mine = match (&told, &made) {
        (Err(error), _) => Err(error.message.clone()),
        (_, Err(why)) => Err(why.clone()),
        (_, Ok(Some((_, file)))) => file.try_clone().map_err(|why| format!("{}: {why}", path.display())),
        (Ok(told), Ok(None)) => found(&told[4..]),
    };
    let mine = mine.map(|file| tern_io::File::of(file.into(), Path::new(NAME), true)).and_then(|file| {
        if file.has_locks() { Ok(file) } else { Err("the file system of TMPDIR has no locks".to_owned()) }
    });
    let agreed = match &told {
        Ok(_) => consented(circle, &mine).await,
        Err(error) => Err(error.clone()),
    };
    if let Ok(Some((directory, _))) = made {
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
    if circle.me == 0 {
        NUMBER.get().set(number);
    }
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

/// The file in a directory that the first process has told of.
fn found(path: &[u8]) -> std::result::Result<std::fs::File, String> {
    if path.is_empty() {
        return Err("the first process has none".to_owned());
    }
    let path = Path::new(OsStr::from_bytes(path));
    Private::find(path).and_then(|found| found.change(NAME)).map_err(|why| format!("{}: {why}", path.display()))
}

/// A directory of its own with the file.
fn make() -> std::result::Result<(Private, std::fs::File), String> {
    let failed = |why: std::io::Error| format!("a file in {}: {why}", std::env::temp_dir().display());
    let directory = Private::temporary().map_err(failed)?;
    match directory.create(NAME).and_then(|file| file.set_len(BYTES).map(|()| file)) {
        Ok(file) => Ok((directory, file)),
        Err(why) => {
            let _ = directory.remove(NAME);
            let _ = directory.remove_directory();
            Err(failed(why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_io::Mode;

    #[test]
    fn a_word_in_a_file_is_added_to_by_one_at_a_time() {
        let path = std::env::temp_dir().join(format!("tern-word-{}", std::process::id()));
        let mode = Mode { read: true, write: true, create: true, exclusive: false };
        let open = || tern_io::File::open(&path, mode).unwrap();
        let made = open();
        made.set_size(40).unwrap();
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
