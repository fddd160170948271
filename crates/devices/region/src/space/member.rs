//! Taking part in a space: places, proof of life, bells.

use super::Error;
use super::cell::Cell;
use super::layout::{HOLDS, Member, REGIONS, Tables};
use crate::cma::Beacon;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::futex;
use std::time::Duration;
use tern_atomics::Ordering;

/// This process's place in a space, or in other memory that processes share. The kernel keeps it for as long as the process lives: it is a
/// lock on a byte of the file, of a file description that no other process has.
pub struct Seat {
    file: OwnedFd,
    base: u64,
    member: u32,
    /// The process that has taken it, while it has.
    process: u32,
}

impl Drop for Seat {
    fn drop(&mut self) {
        // To close the file is not enough: a child that has been forked and has not started its program yet has it open too.
        // A child that has its parent's seat leaves it alone.
        if std::process::id() == self.process {
            let _ = self.change(self.member, libc::F_UNLCK, libc::F_OFD_SETLK);
        }
    }
}

impl AsFd for Seat {
    /// The file whose lock it is. A child of fork has it too, and with it the seat, as long as it has it open.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Seat {
    /// Takes the place of `member`, which byte `base + member` of the file stands for.
    ///
    /// Errors: `Taken`; `System` when /proc is not there.
    pub fn take(file: BorrowedFd<'_>, base: u64, member: u32) -> Result<Seat, Error> {
        // A description of its own, since locks belong to descriptions, and `file` may be shared.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let file = fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let mut seat = Seat { file, base, member, process: 0 };
        match seat.change(member, libc::F_WRLCK, libc::F_OFD_SETLK) {
            Ok(_) => {
                seat.process = std::process::id();
                Ok(seat)
            }
            Err(Errno::AGAIN | Errno::ACCESS) => Err(Error::Taken { member }),
            Err(errno) => Err(errno.into()),
        }
    }

    fn change(&self, member: u32, kind: libc::c_int, command: libc::c_int) -> Result<libc::flock, Errno> {
        // SAFETY: all zeros is a value of this type.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = (self.base + u64::from(member)) as libc::off_t;
        lock.l_len = 1;
        // SAFETY: reads and writes the struct above.
        match unsafe { libc::fcntl(self.file.as_fd().as_raw_fd(), command, &mut lock) } {
            0 => Ok(lock),
            // SAFETY: the calling thread's errno.
            _ => Err(Errno::from_raw_os_error(unsafe { *libc::__errno_location() })),
        }
    }

    /// Whether the process at that place lives. Not for one's own place.
    pub fn is_alive(&self, member: u32) -> bool {
        let unlocked = libc::F_UNLCK as libc::c_short;
        self.change(member, libc::F_WRLCK, libc::F_OFD_GETLK).map_or(true, |lock| lock.l_type != unlocked)
    }
}

/// Clears what an earlier process in this place, which has ended, has left, and tells who is there now.
pub fn sit_down(tables: &Tables, seat: &Seat, me: u32, beacon: &Beacon) {
    let member = tables.member(me);
    if member.joined.load(Ordering::Acquire) > 0 {
        inherit(tables, seat, me, member);
    }
    member.pid.store(std::process::id(), Ordering::Relaxed);
    member.beacon.store(beacon.address(), Ordering::Relaxed);
    member.nonce.store(beacon.nonce(), Ordering::Relaxed);
    // Release: pairs with the acquire of whoever reads the above.
    member.joined.fetch_add(1, Ordering::Release);
}

fn inherit(tables: &Tables, seat: &Seat, me: u32, member: &Member) {
    (0..REGIONS as u32).filter_map(|slot| tables.slot(me, slot)).for_each(|slot| slot.inherit());
    (0..HOLDS).for_each(|hold| member.holds[hold].release());
    member.cells.iter().for_each(|cell| regain(cell, seat));
}

/// Gets a cell of this process back, whatever was asked by it: waits while it is served, unless who
/// serves it has ended.
pub fn regain(cell: &Cell, seat: &Seat) {
    while !cell.withdraw() {
        if !cell.asks_of().is_some_and(|member| seat.is_alive(member)) {
            return cell.clear();
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Tells a member that something has happened that concerns it.
pub fn ring(member: &Member) {
    // Release: pairs with the acquire in `listen`.
    member.bell.0.fetch_add(1, Ordering::Release);
    let _ = futex::wake(&member.bell.0, futex::Flags::empty(), i32::MAX as u32);
}

/// What to say to [`sleep`] later: ask for this before looking for work.
pub fn listen(member: &Member) -> u32 {
    // Acquire: pairs with the release in `ring`.
    member.bell.0.load(Ordering::Acquire)
}

/// Sleeps until the bell has rung since `token`, or `timeout`.
pub fn sleep(member: &Member, token: u32, timeout: Duration) {
    let timeout = futex::Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos() as i64 };
    // A ring, a signal and the timeout all mean: look again.
    let _ = futex::wait(&member.bell.0, futex::Flags::empty(), token, Some(&timeout));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_free_whoever_else_has_its_file_open() {
        let file = fs::memfd_create("seats", fs::MemfdFlags::CLOEXEC).expect("a file");
        let seat = Seat::take(file.as_fd(), 0, 3).expect("a free seat");
        assert!(matches!(Seat::take(file.as_fd(), 0, 3), Err(Error::Taken { member: 3 })));
        // As a child does that has been forked and has not started its program yet.
        let open = seat.file.try_clone().expect("a descriptor");
        drop(seat);
        assert!(Seat::take(file.as_fd(), 0, 3).is_ok());
        drop(open);
    }
}
