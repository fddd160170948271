//! The RDMA device: packets and one-sided transfers over the queue pairs of `tern-hca`.

#![allow(dead_code, reason = "the device that uses them follows")]

mod credits;
mod handshake;
mod header;
mod ring;
mod wire;
mod tuple;
