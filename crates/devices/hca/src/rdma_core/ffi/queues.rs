//! Domains, memory, completion queues and receive queues.

use super::*;

pub enum ibv_xrcd {}

#[repr(C)]
pub struct ibv_pd {
    pub context: *mut ibv_context,
    pub handle: u32,
}

#[repr(C)]
pub struct ibv_mr {
    pub context: *mut ibv_context,
    pub pd: *mut ibv_pd,
    pub addr: *mut c_void,
    pub length: usize,
    pub handle: u32,
    pub lkey: u32,
    pub rkey: u32,
}

pub const IBV_ACCESS_LOCAL_WRITE: c_int = 1;
pub const IBV_ACCESS_REMOTE_WRITE: c_int = 2;
pub const IBV_ACCESS_REMOTE_READ: c_int = 4;
pub const IBV_ACCESS_REMOTE_ATOMIC: c_int = 8;

#[repr(C)]
pub struct ibv_comp_channel {
    pub context: *mut ibv_context,
    pub fd: c_int,
    pub refcnt: c_int,
}

/// Its beginning.
#[repr(C)]
pub struct ibv_cq {
    pub context: *mut ibv_context,
    pub channel: *mut ibv_comp_channel,
    pub cq_context: *mut c_void,
    pub handle: u32,
    pub cqe: c_int,
}

/// Its beginning.
#[repr(C)]
pub struct ibv_srq {
    pub context: *mut ibv_context,
    pub srq_context: *mut c_void,
    pub pd: *mut ibv_pd,
    pub handle: u32,
}

#[repr(C)]
pub struct ibv_srq_attr {
    pub max_wr: u32,
    pub max_sge: u32,
    pub srq_limit: u32,
}

#[repr(C)]
pub struct ibv_srq_init_attr {
    pub srq_context: *mut c_void,
    pub attr: ibv_srq_attr,
}

#[repr(C)]
pub struct ibv_srq_init_attr_ex {
    pub srq_context: *mut c_void,
    pub attr: ibv_srq_attr,
    pub comp_mask: u32,
    pub srq_type: c_uint,
    pub pd: *mut ibv_pd,
    pub xrcd: *mut ibv_xrcd,
    pub cq: *mut ibv_cq,
    tag_matching: [u32; 2],
}

impl ibv_srq_init_attr_ex {
    /// A shared receive queue of an XRC domain, whose completions go to `cq`.
    pub fn xrc(attr: ibv_srq_attr, pd: *mut ibv_pd, xrcd: *mut ibv_xrcd, cq: *mut ibv_cq) -> Self {
        const TYPE_PD_XRCD_CQ: u32 = 1 | 2 | 4 | 8;
        const IBV_SRQT_XRC: c_uint = 1;
        ibv_srq_init_attr_ex {
            srq_context: std::ptr::null_mut(),
            attr,
            comp_mask: TYPE_PD_XRCD_CQ,
            srq_type: IBV_SRQT_XRC,
            pd,
            xrcd,
            cq,
            tag_matching: [0; 2],
        }
    }
}

#[repr(C)]
pub struct ibv_xrcd_init_attr {
    pub comp_mask: u32,
    pub fd: c_int,
    pub oflags: c_int,
}

pub const IBV_XRCD_INIT_ATTR_FD_AND_OFLAGS: u32 = 1 | 2;

pub const IBV_SRQ_LIMIT: c_int = 2;
