//! Names of services (MPI 5.0, section 11.9.4), known to all processes of one user on this machine, and on those that share
//! the folder TERN_NAMES.
//!
//! A name is an abstract address of a Unix socket, made of the user and a hash of the service. Whoever
//! has published it first listens there, and tells each that connects the service and its port. A job that
//! publishes the same name has it for itself.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::parcel::{self, Reader, Writer};

/// How long one who looks for a name waits for the answer.
const ANSWER: Duration = Duration::from_secs(10);

/// A service that is published.
#[derive(Debug)]
pub struct Name {
    service: String,
    port: String,
    /// None when another job has the name.
    listener: Option<OwnedFd>,
    /// Where jobs on other machines find it, which is removed with this value.
    file: Option<PathBuf>,
}

impl Drop for Name {
    fn drop(&mut self) {
        self.file.iter().for_each(|file| _ = std::fs::remove_file(file));
    }
}

impl Name {
    /// Makes a port known under a name, until the value is dropped; to other jobs if none of them has the name.
    ///
    /// Errors: PERM when a process of another user has the name, or one that takes no calls, so that nobody could look
    /// it up; else that of the system.
    pub fn publish(service: &str, port: &str) -> rustix::io::Result<Name> {
        let address = address(service, rustix::process::geteuid().as_raw())?;
        let socket = socket()?;
        let listener = match net::bind(&socket, &address) {
            Ok(()) => {
                net::listen(&socket, 128)?;
                Some(socket)
            }
            Err(Errno::ADDRINUSE) if is_held_by_own_user(&address) => None,
            Err(Errno::ADDRINUSE) => return Err(Errno::PERM),
            Err(errno) => return Err(errno),
        };
        let file = folder().and_then(|folder| write(&folder, service, port));
        Ok(Name { service: service.to_owned(), port: port.to_owned(), listener, file })
    }

    /// The service.
    pub fn service(&self) -> &str {
        &self.service
    }

    /// Its port.
    pub fn port(&self) -> &str {
        &self.port
    }

    /// What becomes readable when somebody asks.
    pub fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(OwnedFd::as_fd)
    }

    /// Answers one that asks, if somebody does. Never waits.
    pub fn answer(&self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let accept = |listener: &OwnedFd| net::accept_with(listener, flags).ok();
        if let Some(socket) = self.listener.as_ref().and_then(accept)
            && parcel::is_own_user(&socket)
        {
            let mut words = Writer::default();
            words.bytes(self.service.as_bytes()).bytes(self.port.as_bytes());
            // If it is gone by now, nobody waits.
            let _ = parcel::send(&socket, None, &words.0, &[]);
        }
    }
}

/// The port of a service that some job has published; none when there is none.
///
/// Errors: TIMEDOUT when whoever has published it does not answer; PERM when a process of another user has the name.
pub fn look_up(service: &str) -> rustix::io::Result<Option<String>> {
    let socket = socket()?;
    match net::connect(&socket, &address(service, rustix::process::geteuid().as_raw())?) {
        Ok(()) => {}
        Err(Errno::CONNREFUSED) => return Ok(folder().and_then(|folder| read(&folder, service))),
        Err(errno) => return Err(errno),
    }
    if !parcel::is_own_user(&socket) {
        return Err(Errno::PERM);
    }
    let end = Instant::now() + ANSWER;
    let answer = loop {
        match parcel::receive(&socket) {
            Ok(Some(parcel)) => break parcel.bytes,
            Ok(None) if Instant::now() >= end => return Err(Errno::TIMEDOUT),
            Ok(None) => {}
            // It is taken back at this moment.
            Err(_) => return Ok(None),
        }
        let nap = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let _ = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&nap));
    };
    let mut words = Reader(&answer);
    let told = words.bytes().zip(words.bytes());
    // Another service may have the same hash.
    let told = told.filter(|(other, _)| *other == service.as_bytes());
    Ok(told.map(|(_, port)| String::from_utf8_lossy(port).into_owned()))
}

/// The folder that machines share for names, if there is one.
fn folder() -> Option<PathBuf> {
    let folder = tern_settings::NAMES.get();
    (folder != "none" && !folder.is_empty()).then(|| folder.into())
}

/// Largest file of a name: the texts of a service and a port are shorter.
const MOST: u64 = 8192;

fn file(folder: &Path, service: &str) -> PathBuf {
    folder.join(format!("tern-name-{}-{:016x}", rustix::process::geteuid().as_raw(), hash(service)))
}

/// Writes the file of a service, unless it is there; `None` when another job has the name, or it cannot be written.
fn write(folder: &Path, service: &str, port: &str) -> Option<PathBuf> {
    let path = file(folder, service);
    let fresh = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let written = fresh.and_then(|mut file| {
        let mut words = Writer::default();
        words.bytes(service.as_bytes()).bytes(port.as_bytes());
        file.write_all(&words.0)
    });
    match written {
        Ok(()) => Some(path),
        Err(error) => {
            tern_settings::warn!("the name {service:?} is for this machine alone: {}: {error}", path.display());
            None
        }
    }
}

/// The port of a service whose file there is, which belongs to this user.
fn read(folder: &Path, service: &str) -> Option<String> {
    let file = OpenOptions::new().read(true).open(file(folder, service)).ok()?;
    if file.metadata().ok()?.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    let mut words = Reader(&bytes);
    let (known, port) = words.bytes().zip(words.bytes())?;
    (known == service.as_bytes()).then(|| String::from_utf8_lossy(port).into_owned())
}

/// Whether a process of this user listens there.
fn is_held_by_own_user(address: &SocketAddrUnix) -> bool {
    let connected = || {
        let socket = socket()?;
        net::connect(&socket, address)?;
        Ok(parcel::is_own_user(&socket))
    };
    let held: rustix::io::Result<bool> = connected();
    held.unwrap_or(false)
}

fn socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// FNV-1a.
fn hash(service: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    service.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

fn address(service: &str, user: u32) -> rustix::io::Result<SocketAddrUnix> {
    let hash = hash(service);
    SocketAddrUnix::new_abstract_name(format!("tern-name-{user}-{hash:016x}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_while_it_is_published() {
        let service = format!("a test of names in process {}", std::process::id());
        assert_eq!(look_up(&service).unwrap(), None);
        let name = Name::publish(&service, "a port").unwrap();
        let second = Name::publish(&service, "another").unwrap();
        assert_eq!((name.listener().is_some(), second.listener().is_some()), (true, false));
        // Nobody asks.
        name.answer();
        let asked = std::thread::spawn({
            let service = service.clone();
            move || look_up(&service)
        });
        while !asked.is_finished() {
            name.answer();
            std::thread::yield_now();
        }
        assert_eq!(asked.join().unwrap().unwrap(), Some("a port".into()));
        drop(name);
        assert_eq!(look_up(&service).unwrap(), None);
    }

    #[test]
    fn a_name_in_a_folder_is_found_until_its_file_is_gone() {
        let folder = std::env::temp_dir().join(format!("tern-names-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = write(&folder, "a service", "a port").unwrap();
        assert_eq!(write(&folder, "a service", "another"), None);
        assert_eq!(read(&folder, "a service"), Some("a port".into()));
        assert_eq!(read(&folder, "another service"), None);
        std::fs::write(&path, [255; 100]).unwrap();
        assert_eq!(read(&folder, "a service"), None);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read(&folder, "a service"), None);
    }

    /// What cannot be asked who it is could be anybody.
    #[test]
    fn a_name_that_somebody_holds_and_does_not_serve_is_not_published() {
        let service = format!("a test of held names in process {}", std::process::id());
        let holder = socket().unwrap();
        net::bind(&holder, &address(&service, rustix::process::geteuid().as_raw()).unwrap()).unwrap();
        assert_eq!(Name::publish(&service, "a port").unwrap_err(), Errno::PERM);
        drop(holder);
        Name::publish(&service, "a port").unwrap();
    }
}
