//! Devices, their ports and what happens to them.

use super::*;
use std::mem::offset_of;

/// Its beginning.
#[repr(C)]
pub struct ibv_device {
    ops: [*mut c_void; 2],
    pub node_type: c_int,
    pub transport_type: c_int,
}

pub const IBV_TRANSPORT_IB: c_int = 0;

/// A mutex and a condition of the C library lie in some structures behind what is read here.
type Unused = c_void;

#[repr(C)]
pub struct ibv_context {
    pub device: *mut ibv_device,
    pub ops: ibv_context_ops,
    pub cmd_fd: c_int,
    pub async_fd: c_int,
    pub num_comp_vectors: c_int,
    mutex: [u64; 5],
    /// All ones when the context is the end of a [`verbs_context`].
    pub abi_compat: *mut c_void,
}

#[repr(C)]
pub struct ibv_context_ops {
    before_poll_cq: [*mut Unused; 11],
    pub poll_cq: unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int,
    pub req_notify_cq: unsafe extern "C" fn(*mut ibv_cq, c_int) -> c_int,
    before_post_srq_recv: [*mut Unused; 7],
    pub post_srq_recv: unsafe extern "C" fn(*mut ibv_srq, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int,
    before_post_send: [*mut Unused; 4],
    pub post_send: unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int,
    pub post_recv: unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int,
    behind_post_recv: [*mut Unused; 5],
}

/// The last fields of the structure that ends with a context. It grows at its beginning; `sz` tells how
/// much of it the library has.
#[repr(C)]
pub struct verbs_context {
    pub create_qp_ex: Option<unsafe extern "C" fn(*mut ibv_context, *mut ibv_qp_init_attr_ex) -> *mut ibv_qp>,
    pub get_srq_num: Option<unsafe extern "C" fn(*mut ibv_srq, *mut u32) -> c_int>,
    pub create_srq_ex: Option<unsafe extern "C" fn(*mut ibv_context, *mut ibv_srq_init_attr_ex) -> *mut ibv_srq>,
    pub open_xrcd: Option<unsafe extern "C" fn(*mut ibv_context, *mut ibv_xrcd_init_attr) -> *mut ibv_xrcd>,
    pub close_xrcd: Option<unsafe extern "C" fn(*mut ibv_xrcd) -> c_int>,
    placeholder: u64,
    pub sz: usize,
    pub context: ibv_context,
}

/// # Safety
/// `context` is one that libibverbs has opened.
pub unsafe fn extended<'a>(context: *mut ibv_context) -> Option<&'a verbs_context> {
    // SAFETY: when the mark says so, the context lies at the end of the larger structure; of that, `sz`,
    // which is the field before it, says that the fields declared here are there.
    unsafe {
        if (*context).abi_compat as usize != usize::MAX {
            return None;
        }
        let sz = context.byte_sub(size_of::<usize>()).cast::<usize>().read();
        (sz >= size_of::<verbs_context>())
            .then(|| &*context.byte_sub(offset_of!(verbs_context, context)).cast::<verbs_context>())
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ibv_gid {
    pub raw: [u8; 16],
    align: [u64; 0],
}

impl ibv_gid {
    pub const fn new(raw: [u8; 16]) -> ibv_gid {
        ibv_gid { raw, align: [] }
    }
}

#[repr(C)]
pub struct ibv_gid_entry {
    pub gid: ibv_gid,
    pub gid_index: u32,
    pub port_num: u32,
    pub gid_type: u32,
    pub ndev_ifindex: u32,
}

pub const IBV_GID_TYPE_ROCE_V2: u32 = 2;

#[repr(C)]
pub struct ibv_device_attr {
    pub fw_ver: [c_char; 64],
    pub node_guid: u64,
    pub sys_image_guid: u64,
    pub max_mr_size: u64,
    pub page_size_cap: u64,
    pub vendor_id: u32,
    pub vendor_part_id: u32,
    pub hw_ver: u32,
    pub max_qp: c_int,
    pub max_qp_wr: c_int,
    pub device_cap_flags: c_uint,
    pub max_sge: c_int,
    pub max_sge_rd: c_int,
    pub max_cq: c_int,
    pub max_cqe: c_int,
    pub max_mr: c_int,
    pub max_pd: c_int,
    pub max_qp_rd_atom: c_int,
    pub max_ee_rd_atom: c_int,
    pub max_res_rd_atom: c_int,
    pub max_qp_init_rd_atom: c_int,
    pub max_ee_init_rd_atom: c_int,
    pub atomic_cap: c_uint,
    unused: [c_int; 11],
    pub max_srq: c_int,
    pub max_srq_wr: c_int,
    pub max_srq_sge: c_int,
    pub max_pkeys: u16,
    pub local_ca_ack_delay: u8,
    pub phys_port_cnt: u8,
}

pub const IBV_DEVICE_XRC: c_uint = 1 << 20;

#[repr(C)]
pub struct ibv_port_attr {
    pub state: c_uint,
    pub max_mtu: c_uint,
    pub active_mtu: c_uint,
    pub gid_tbl_len: c_int,
    pub port_cap_flags: u32,
    pub max_msg_sz: u32,
    pub bad_pkey_cntr: u32,
    pub qkey_viol_cntr: u32,
    pub pkey_tbl_len: u16,
    pub lid: u16,
    pub sm_lid: u16,
    unused: [u8; 5],
    pub active_width: u8,
    pub active_speed: u8,
    pub phys_state: u8,
    pub link_layer: u8,
    pub flags: u8,
    pub port_cap_flags2: u16,
}

pub const IBV_PORT_ACTIVE: c_uint = 4;
pub const IBV_LINK_LAYER_ETHERNET: u8 = 2;

#[repr(C)]
pub struct ibv_async_event {
    /// What it is about: `ibv_qp`, `ibv_srq`, `ibv_cq` or a port.
    pub element: *mut c_void,
    pub event_type: c_uint,
}

pub const IBV_EVENT_CQ_ERR: c_uint = 0;
pub const IBV_EVENT_QP_FATAL: c_uint = 1;
pub const IBV_EVENT_QP_REQ_ERR: c_uint = 2;
pub const IBV_EVENT_QP_ACCESS_ERR: c_uint = 3;
pub const IBV_EVENT_DEVICE_FATAL: c_uint = 8;
pub const IBV_EVENT_SRQ_ERR: c_uint = 14;
pub const IBV_EVENT_SRQ_LIMIT_REACHED: c_uint = 15;
