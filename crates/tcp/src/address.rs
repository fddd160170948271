//! Where a process is found: its addresses, its port, and its part of the job's secret.

use crate::proof::Token;
use std::io::{Error, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const VERSION: u8 = 1;
/// Most addresses of one process.
const MOST: usize = 16;

/// What a process tells its peers, by way of the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub token: Token,
    /// The most likely one first.
    pub sockets: Vec<SocketAddr>,
}

impl Address {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.token);
        for socket in self.sockets.iter().take(MOST) {
            let octets = match socket.ip() {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            };
            out.extend_from_slice(&octets);
            out.extend_from_slice(&socket.port().to_le_bytes());
        }
        out
    }

    /// Errors: the bytes are something else.
    pub fn decode(bytes: &[u8]) -> Result<Address> {
        let wrong = || Error::other(format!("{} bytes that are no address of the TCP device", bytes.len()));
        let (&VERSION, rest) = bytes.split_first().ok_or_else(wrong)? else { return Err(wrong()) };
        let (token, rest) = rest.split_first_chunk().ok_or_else(wrong)?;
        let (sockets, []) = rest.as_chunks::<18>() else { return Err(wrong()) };
        if sockets.len() > MOST {
            return Err(wrong());
        }
        let socket = |bytes: &[u8; 18]| {
            let (octets, port) = bytes.split_at(16);
            let ip = Ipv6Addr::from(<[u8; 16]>::try_from(octets).expect("16 bytes")).to_canonical();
            SocketAddr::new(ip, u16::from_le_bytes([port[0], port[1]]))
        };
        Ok(Address { token: *token, sockets: sockets.iter().map(socket).collect() })
    }
}

/// The addresses of this machine's interfaces that are up, but for the loopback's and those of one link alone.
/// With `only`, those of the interface of that name, or that address.
pub fn interfaces(only: Option<&str>) -> Vec<IpAddr> {
    if let Some(address) = only.and_then(|only| only.parse().ok()) {
        return vec![address];
    }
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
        let name = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) };
        let up = entry.ifa_flags & libc::IFF_UP as u32 != 0;
        let loopback = entry.ifa_flags & libc::IFF_LOOPBACK as u32 != 0;
        let asked = only.map_or(!loopback, |only| name.to_bytes() == only.as_bytes());
        // SAFETY: null, or an address whose length follows from its family.
        if let Some(address) = unsafe { ip(entry.ifa_addr) }
            && up
            && asked
        {
            found.push(address);
        }
    }
    // SAFETY: the list from above.
    unsafe { libc::freeifaddrs(list) };
    // IPv4 first: it is what most clusters route.
    found.sort_by_key(IpAddr::is_ipv6);
    found.dedup();
    found
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_survives_the_wire() {
        let sockets = ["10.0.0.1:80", "[fd00::1]:65535", "127.0.0.1:1"].map(|text| text.parse().expect("an address"));
        let address = Address { token: [7; 32], sockets: sockets.into() };
        let bytes = address.encode();
        assert_eq!(Address::decode(&bytes).expect("what was encoded"), address);
        for cut in 0..bytes.len() {
            // A list may be shorter by a whole entry.
            let whole = cut >= 33 && (cut - 33) % 18 == 0;
            assert_eq!(Address::decode(&bytes[..cut]).is_ok(), whole, "{cut}");
        }
        assert!(Address::decode(&[bytes, vec![0; 18 * MOST]].concat()).is_err());
    }

    #[test]
    fn an_address_that_is_asked_for_is_taken() {
        assert_eq!(interfaces(Some("192.0.2.7")), ["192.0.2.7".parse::<IpAddr>().expect("an address")]);
        assert!(interfaces(Some("no such interface")).is_empty());
        assert!(interfaces(None).iter().all(|ip| !ip.is_loopback()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..96)) {
            let _ = Address::decode(&bytes);
        }
    }
}
