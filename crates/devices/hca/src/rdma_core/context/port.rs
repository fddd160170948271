//! The port of a device: which one is used, and how peers reach it.

use super::super::check;
use super::super::ffi::{self, Functions, ibv_context, ibv_gid, ibv_gid_entry, ibv_port_attr};
use crate::{Error, Result};
use std::mem::{MaybeUninit, size_of};

/// The port that is used.
#[derive(Clone, Debug)]
pub struct Port {
    pub number: u8,
    pub gid: [u8; 16],
    pub gid_index: u8,
    pub lid: u16,
    pub mtu: u8,
    pub ethernet: bool,
    /// Bytes of a message at most.
    pub message: u32,
    /// Bytes per nanosecond.
    pub bandwidth: f64,
}

impl Port {
    /// The port of a device with that number, or the first that is active.
    pub fn find(functions: &Functions, raw: *mut ibv_context, count: u8, wanted: Option<u8>) -> Result<Port> {
        let numbers = wanted.map_or(1..=count, |number| number..=number);
        for number in numbers {
            let mut attributes = MaybeUninit::<ibv_port_attr>::zeroed();
            // SAFETY: the context is open, and the structure is written to.
            let code = unsafe { (functions.ibv_query_port)(raw, number, attributes.as_mut_ptr()) };
            check(code, || format!("port {number}"))?;
            // SAFETY: all zeros are a value, and the call has filled it.
            let attributes = unsafe { attributes.assume_init() };
            if attributes.state != ffi::IBV_PORT_ACTIVE {
                continue;
            }
            let ethernet = attributes.link_layer == ffi::IBV_LINK_LAYER_ETHERNET;
            let Some((gid, gid_index)) = gid_of(functions, raw, number, ethernet) else {
                return Err(Error::NoHca(format!("port {number} has no GID; its interface needs an IP address")));
            };
            return Ok(Port {
                number,
                gid,
                gid_index,
                lid: attributes.lid,
                mtu: attributes.active_mtu as u8,
                ethernet,
                message: attributes.max_msg_sz,
                bandwidth: bandwidth(attributes.active_width, attributes.active_speed),
            });
        }
        Err(Error::NoHca(match wanted {
            Some(number) => format!("port {number} is not active"),
            None => "no port is active".into(),
        }))
    }
}

/// The GID by which peers reach the port. RoCE has one for each address of the interface and each version of the
/// protocol: that of an IPv4 address and version 2, which routers pass, is the one that works most often.
fn gid_of(functions: &Functions, raw: *mut ibv_context, port: u8, ethernet: bool) -> Option<([u8; 16], u8)> {
    const NONE: ibv_gid_entry =
        ibv_gid_entry { gid: ibv_gid::new([0; 16]), gid_index: 0, port_num: 0, gid_type: 0, ndev_ifindex: 0 };
    let mut entries = [const { NONE }; 256];
    // SAFETY: the context is open, and so many entries of that size may be written.
    let count = unsafe {
        (functions._ibv_query_gid_table)(raw, entries.as_mut_ptr(), entries.len(), 0, size_of::<ibv_gid_entry>())
    };
    let entries = entries.get(..usize::try_from(count).ok()?)?;
    entries
        .iter()
        .filter(|entry| entry.port_num == u32::from(port) && entry.gid_index <= 255)
        .max_by_key(|entry| {
            let rank = if ethernet { gid_rank(&entry.gid.raw, entry.gid_type) } else { 0 };
            (rank, std::cmp::Reverse(entry.gid_index))
        })
        .map(|entry| (entry.gid.raw, entry.gid_index as u8))
}

fn gid_rank(gid: &[u8; 16], kind: u32) -> u32 {
    let mapped_ipv4 = gid[..10] == [0; 10] && gid[10..12] == [0xff; 2];
    let link_local = gid[0] == 0xfe && gid[1] & 0xc0 == 0x80;
    let address = if mapped_ipv4 { 2 } else { u32::from(!link_local) };
    address + if kind == ffi::IBV_GID_TYPE_ROCE_V2 { 3 } else { 0 }
}

/// Of a link with that width and speed, as verbs encode them.
fn bandwidth(width: u8, speed: u8) -> f64 {
    let lanes = match width {
        2 => 4.0,
        4 => 8.0,
        8 => 12.0,
        16 => 2.0,
        _ => 1.0,
    };
    let gigabits = match speed {
        2 => 5.0,
        4 | 8 => 10.0,
        16 => 14.0,
        32 => 25.0,
        64 => 50.0,
        128 => 100.0,
        _ => 2.5,
    };
    lanes * gigabits / 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gid_of_an_ipv4_address_is_preferred() {
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1];
        let local = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        let global = [0x20, 1, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        let order = [(local, 1), (global, 1), (mapped, 1), (local, 2), (global, 2), (mapped, 2)];
        let ranks: Vec<u32> = order.iter().map(|(gid, kind)| gid_rank(gid, *kind)).collect();
        assert_eq!(ranks, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn width_and_speed_make_the_bandwidth() {
        assert_eq!(bandwidth(2, 64), 25.0);
        assert_eq!(bandwidth(1, 1), 0.3125);
    }
}
