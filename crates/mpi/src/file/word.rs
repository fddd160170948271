//! The shared file pointer's word: one number that all processes of a file reach (MPI 5.0 section
//! 14.4.4). It lies in the memory that the processes of a job share, in the first process's part.
//! Processes of several jobs have a small file of their own for it, which has no name, and take turns by locking it.

use crate::constants::*;
use crate::error::Result;
use crate::exchange::Circle;
use crate::runtime::adi;
use std::cell::Cell;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use tern_adi::Proc;
use tern_io::Sharing;

/// Bytes of a word: a cache line of its own.
const BYTES: usize = 64;

/// A number that all processes of a file share.
pub enum Word {
    /// Of a file that one process has opened.
    Own(Cell<i64>),
    /// In this process's part of the shared memory.
    Mine(*mut u8),
    /// In the first process's part, mapped here.
    Mapped(*mut u8),
    /// In a file of eight bytes.
    Kept(tern_io::File),
    /// There is nothing that all of them reach.
    Missing,
}

impl Word {
    /// A word for the processes of `circle`, all of which call this. It begins as 0.
    ///
    /// Errors: one of them is lost.
    pub async fn new(circle: &Circle) -> Result<Word> {
        if circle.procs.len() == 1 {
            return Ok(Word::Own(Cell::new(0)));
        }
        let word = Word::in_memory(circle).await?;
        let missing = circle.any(matches!(word, Word::Missing)).await;
        if let Ok(false) = missing {
            return Ok(word);
        }
        word.free();
        missing?;
        Ok(keep(circle).await?.map_or(Word::Missing, Word::Kept))
    }

    async fn in_memory(circle: &Circle) -> Result<Word> {
        // Processes of other jobs have other memory.
        let shares = |&proc: &Proc| adi().mcm().direct().is_some_and(|direct| direct.shares_with(proc));
        if !circle.procs.iter().all(shares) {
            return Ok(Word::Missing);
        }
        let mine = if circle.me == 0 { allocate() } else { None };
        let place = mine.map_or(0, |(_, place)| place);
        let told = circle.share(0, place.to_ne_bytes().to_vec()).await;
        let mine = mine.map(|(base, _)| Word::Mine(base));
        let told = told.inspect_err(|_| mine.iter().for_each(Word::free))?;
        let place = u64::from_ne_bytes(told[..8].try_into().expect("eight bytes"));
        Ok(match (mine, place) {
            (Some(mine), _) => mine,
            (None, 0) => Word::Missing,
            (None, place) => {
                let mapped = adi().mcm().direct().and_then(|direct| direct.map(place, BYTES));
                mapped.map_or(Word::Missing, Word::Mapped)
            }
        })
    }

    fn shared(&self) -> Result<&AtomicI64> {
        let word = match self {
            Word::Mine(base) | Word::Mapped(base) => *base,
            Word::Own(_) | Word::Kept(_) | Word::Missing => {
                return err!(
                    MPI_ERR_UNSUPPORTED_OPERATION,
                    "the processes of the file share neither memory nor files, which the shared file pointer needs"
                );
            }
        };
        // SAFETY: the word lives until `free`, is aligned, and is only used as an atomic one.
        Ok(unsafe { AtomicI64::from_ptr(word.cast()) })
    }

    pub fn get(&self) -> Result<i64> {
        match self {
            Word::Own(word) => Ok(word.get()),
            Word::Kept(file) => exchange(file, |value| value),
            // Acquire: pairs with the release of `set` and `fetch_add` of other processes.
            _ => Ok(self.shared()?.load(Ordering::Acquire)),
        }
    }

    pub fn set(&self, value: i64) -> Result<()> {
        match self {
            Word::Own(word) => word.set(value),
            Word::Kept(file) => exchange(file, |_| value).map(|_| ())?,
            // Release: pairs with the acquire of `get` and `fetch_add`.
            _ => self.shared()?.store(value, Ordering::Release),
        }
        Ok(())
    }

    /// Adds to it; returns what it was.
    pub fn fetch_add(&self, more: i64) -> Result<i64> {
        match self {
            Word::Own(word) => Ok(word.replace(word.get() + more)),
            Word::Kept(file) => exchange(file, |value| value + more),
            _ => Ok(self.shared()?.fetch_add(more, Ordering::AcqRel)),
        }
    }

    /// Gives its memory back, when no process uses it any more.
    pub fn free(&self) {
        match self {
            // SAFETY: nobody uses the memory any more.
            Word::Mine(base) => unsafe {
                let freed = adi().mcm().direct().is_some_and(|direct| direct.free(*base));
                debug_assert!(freed, "the word came from there");
            },
            // SAFETY: as above; it was mapped with this length.
            Word::Mapped(base) => unsafe {
                if let Some(direct) = adi().mcm().direct() {
                    direct.unmap(*base, BYTES);
                }
            },
            Word::Own(_) | Word::Kept(_) | Word::Missing => {}
        }
    }
}

/// Zeroed memory, and where it lies in the memory that the node's processes share.
fn allocate() -> Option<(*mut u8, u64)> {
    let direct = adi().mcm().direct()?;
    let base = direct.allocate(BYTES)?;
    match direct.place(base, BYTES) {
        Some(place) if place != 0 => Some((base, place)),
        _ => {
            // SAFETY: nobody has used it.
            unsafe { direct.free(base) };
            None
        }
    }
}

/// The name of the file, for those who look: it has none in any directory, and goes when nobody has it open.
const NAME: &str = "tern-pointer";
/// How the kernel tells of it.
const LINK: &str = "/memfd:tern-pointer";

/// A file that all processes of `circle` have open, of eight zeros; `None` if one of them cannot have it, as on another machine. The
/// others find it among the open files of the first one.
///
/// Errors: one of them is lost.
async fn keep(circle: &Circle) -> Result<Option<tern_io::File>> {
    let made = if circle.me == 0 { make() } else { None };
    let own = made.as_ref().map_or(Vec::new(), |(file, mark)| {
        let place = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        [&mark[..], place.as_bytes()].concat()
    });
    let told = circle.share(0, own).await;
    let mine = match &told {
        Err(_) => None,
        Ok(_) if circle.me == 0 => made.as_ref().and_then(|(file, _)| file.try_clone().ok()),
        Ok(told) => find(told),
    };
    let mine = mine.map(|file| tern_io::File::of(file, Path::new(NAME), true));
    let mine = mine.filter(tern_io::File::has_locks);
    let missing = match told {
        Ok(_) => circle.any(mine.is_none()).await,
        Err(error) => Err(error),
    };
    // All have it open or do without.
    drop(made);
    let missing = missing?;
    Ok(mine.filter(|_| !missing))
}

/// Bytes by which the file is known: a process of that number on another machine may have such a file, too.
const MARK: usize = 16;

/// The file, with eight zeros and its mark.
fn make() -> Option<(OwnedFd, [u8; MARK])> {
    let mark: [u8; MARK] = tern_node::random().ok()?;
    let file = rustix::fs::memfd_create(NAME, rustix::fs::MemfdFlags::CLOEXEC).ok()?;
    let written = rustix::io::pwrite(&file, &[&[0; 8], &mark[..]].concat(), 0).ok()?;
    (written == 8 + MARK).then_some((file, mark))
}

/// Opens it at the place that the first process has told.
fn find(told: &[u8]) -> Option<OwnedFd> {
    let (mark, place) = told.split_at_checked(MARK)?;
    // Nothing else is opened: that might wait, or change something.
    let link = rustix::fs::readlink(place, Vec::new()).ok()?;
    if !link.to_bytes().starts_with(LINK.as_bytes()) {
        return None;
    }
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(place, flags, rustix::fs::Mode::empty()).ok()?;
    let mut found = [0; MARK];
    let read = rustix::io::pread(&file, &mut found, 8).ok()?;
    (read == MARK && found == mark).then_some(file)
}

/// Replaces the number in the file by what `change` makes of it; returns what it was.
fn exchange(file: &tern_io::File, change: impl FnOnce(i64) -> i64) -> Result<i64> {
    let mut bytes = [0; 8];
    let _turn = file.lock(Sharing::Exclusive, 0..8)?;
    file.read_at(0, &mut bytes)?;
    let value = i64::from_ne_bytes(bytes);
    file.write_at(0, &change(value).to_ne_bytes())?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_io::Mode;

    #[test]
    fn the_file_is_found_by_its_mark() {
        let (file, mark) = make().expect("a file");
        let place = |file: &OwnedFd| format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into_bytes();
        let told = [&mark[..], &place(&file)].concat();
        let found = find(&told).expect("it is there");
        rustix::io::pwrite(&file, &7_i64.to_ne_bytes(), 0).expect("written");
        let mut bytes = [0; 8];
        rustix::io::pread(&found, &mut bytes, 0).expect("read");
        assert_eq!(i64::from_ne_bytes(bytes), 7, "it is the same file");
        let (other, _) = make().expect("a file");
        assert!(find(&[&mark[..], &place(&other)].concat()).is_none(), "another such file");
        let (_, writer) = rustix::pipe::pipe().expect("a pipe");
        assert!(find(&[&mark[..], &place(&writer)].concat()).is_none(), "something else");
        assert!(find(b"").is_none() && find(&mark).is_none());
    }

    #[test]
    fn a_word_in_a_file_is_added_to_by_one_at_a_time() {
        let path = std::env::temp_dir().join(format!("tern-word-{}", std::process::id()));
        let mode = Mode { read: true, write: true, create: true, exclusive: false };
        let open = || tern_io::File::open(&path, mode).unwrap();
        let made = open();
        made.set_size(8).unwrap();
        let (threads, times) = (4, 200);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                // Each has a handle of its own, as processes do.
                scope.spawn(|| {
                    let word = Word::Kept(open());
                    for _ in 0..times {
                        word.fetch_add(3).unwrap();
                    }
                });
            }
        });
        let word = Word::Kept(made);
        assert_eq!(word.get().unwrap(), 3 * threads * times);
        word.set(7).unwrap();
        assert_eq!(word.fetch_add(1).unwrap(), 7);
        assert_eq!(word.get().unwrap(), 8);
        tern_io::File::delete(&path).unwrap();
    }
}
