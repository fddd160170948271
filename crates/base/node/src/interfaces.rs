//! The network interfaces of this machine.

use std::ffi::CStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: Vec<u8>,
    pub address: IpAddr,
    pub up: bool,
}

/// All addresses of all interfaces, but for those of one link alone (fe80::). None where the kernel does not tell.
pub fn interfaces() -> Vec<Interface> {
    let mut list = std::ptr::null_mut();
    // SAFETY: gives a list, which is freed below, or fails.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: an entry of the list, or its end.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: the name is a C string of the list's.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_bytes().to_vec();
        // SAFETY: null, or an address whose length follows from its family.
        if let Some(address) = unsafe { ip(entry.ifa_addr) } {
            found.push(Interface { name, address, up: entry.ifa_flags & libc::IFF_UP as u32 != 0 });
        }
    }
    // SAFETY: the list from above.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// A number that processes have in common which share one loopback interface: those of one machine and one network namespace.
/// Where the kernel tells neither, the name of the machine decides.
pub fn network() -> u64 {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").ok();
    let namespace = std::fs::metadata("/proc/self/ns/net").map(|file| file.ino()).ok();
    let name = if boot.is_none() || namespace.is_none() { crate::hostname() } else { String::new() };
    let mut hash = DefaultHasher::new();
    (boot, namespace, name).hash(&mut hash);
    hash.finish()
}

/// # Safety
/// `address` is null or valid for reads of its family's type.
unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the contract.
    unsafe {
        match i32::from(address.as_ref()?.sa_family) {
            libc::AF_INET => {
                let address = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr))))
            }
            libc::AF_INET6 => {
                let address = address.cast::<libc::sockaddr_in6>().read_unaligned();
                let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
                (!ip.is_unicast_link_local()).then_some(IpAddr::V6(ip))
            }
            _ => None,
        }
    }
}
