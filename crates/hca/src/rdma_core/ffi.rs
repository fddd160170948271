//! The part of `infiniband/verbs.h` that Tern calls: its structures under its own names, and the functions,
//! found in libibverbs at run time. The layouts are those of rdma-core's stable interface (`libibverbs.so.1`); the assertions at the end hold what a C compiler says of the header.
//!
//! The calls that move data are no functions of the library: the header has them inline, and they go through
//! pointers in the context. So do XRC's, which a library that is older than they are does not have.
#![allow(non_camel_case_types)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::{offset_of, size_of};

pub enum ibv_ah {}
pub enum ibv_xrcd {}

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
    pub post_srq_recv:
        unsafe extern "C" fn(*mut ibv_srq, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int,
    before_post_send: [*mut Unused; 4],
    pub post_send:
        unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int,
    pub post_recv:
        unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int,
    behind_post_recv: [*mut Unused; 5],
}

/// The last fields of the structure that ends with a context. It grows at its beginning; `sz` tells how
/// much of it the library has.
#[repr(C)]
pub struct verbs_context {
    pub create_qp_ex:
        Option<unsafe extern "C" fn(*mut ibv_context, *mut ibv_qp_init_attr_ex) -> *mut ibv_qp>,
    pub get_srq_num: Option<unsafe extern "C" fn(*mut ibv_srq, *mut u32) -> c_int>,
    pub create_srq_ex:
        Option<unsafe extern "C" fn(*mut ibv_context, *mut ibv_srq_init_attr_ex) -> *mut ibv_srq>,
    pub open_xrcd:
        Option<unsafe extern "C" fn(*mut ibv_context, *mut ibv_xrcd_init_attr) -> *mut ibv_xrcd>,
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
        (sz >= size_of::<verbs_context>()).then(|| {
            &*context
                .byte_sub(offset_of!(verbs_context, context))
                .cast::<verbs_context>()
        })
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

/// Its beginning.
#[repr(C)]
pub struct ibv_qp {
    pub context: *mut ibv_context,
    pub qp_context: *mut c_void,
    pub pd: *mut ibv_pd,
    pub send_cq: *mut ibv_cq,
    pub recv_cq: *mut ibv_cq,
    pub srq: *mut ibv_srq,
    pub handle: u32,
    pub qp_num: u32,
    pub state: c_uint,
    pub qp_type: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ibv_wc {
    pub wr_id: u64,
    pub status: c_uint,
    pub opcode: c_uint,
    pub vendor_err: u32,
    pub byte_len: u32,
    /// In the byte order of the network.
    pub imm_data: u32,
    pub qp_num: u32,
    pub src_qp: u32,
    pub wc_flags: c_uint,
    pub pkey_index: u16,
    pub slid: u16,
    pub sl: u8,
    pub dlid_path_bits: u8,
}

pub const IBV_WC_SUCCESS: c_uint = 0;
pub const IBV_WC_LOC_LEN_ERR: c_uint = 1;
pub const IBV_WC_LOC_QP_OP_ERR: c_uint = 2;
pub const IBV_WC_LOC_PROT_ERR: c_uint = 4;
pub const IBV_WC_WR_FLUSH_ERR: c_uint = 5;
pub const IBV_WC_LOC_ACCESS_ERR: c_uint = 8;
pub const IBV_WC_REM_INV_REQ_ERR: c_uint = 9;
pub const IBV_WC_REM_ACCESS_ERR: c_uint = 10;
pub const IBV_WC_REM_OP_ERR: c_uint = 11;
pub const IBV_WC_RETRY_EXC_ERR: c_uint = 12;
pub const IBV_WC_RNR_RETRY_EXC_ERR: c_uint = 13;

pub const IBV_WC_RDMA_WRITE: c_uint = 1;
pub const IBV_WC_RDMA_READ: c_uint = 2;
pub const IBV_WC_COMP_SWAP: c_uint = 3;
pub const IBV_WC_FETCH_ADD: c_uint = 4;
pub const IBV_WC_RECV: c_uint = 128;
pub const IBV_WC_RECV_RDMA_WITH_IMM: c_uint = 129;

pub const IBV_WC_WITH_IMM: c_uint = 2;

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

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ibv_qp_cap {
    pub max_send_wr: u32,
    pub max_recv_wr: u32,
    pub max_send_sge: u32,
    pub max_recv_sge: u32,
    pub max_inline_data: u32,
}

#[repr(C)]
pub struct ibv_qp_init_attr {
    pub qp_context: *mut c_void,
    pub send_cq: *mut ibv_cq,
    pub recv_cq: *mut ibv_cq,
    pub srq: *mut ibv_srq,
    pub cap: ibv_qp_cap,
    pub qp_type: c_uint,
    pub sq_sig_all: c_int,
}

#[repr(C)]
pub struct ibv_qp_init_attr_ex {
    qp_context: *mut c_void,
    send_cq: *mut ibv_cq,
    recv_cq: *mut ibv_cq,
    srq: *mut ibv_srq,
    pub cap: ibv_qp_cap,
    qp_type: c_uint,
    sq_sig_all: c_int,
    comp_mask: u32,
    pd: *mut ibv_pd,
    xrcd: *mut ibv_xrcd,
    unused: [u64; 7],
}

impl ibv_qp_init_attr_ex {
    /// A target of that XRC domain, which has no queues of its own.
    pub fn xrc_target(xrcd: *mut ibv_xrcd) -> Self {
        const IBV_QPT_XRC_RECV: c_uint = 10;
        const IBV_QP_INIT_ATTR_XRCD: u32 = 2;
        ibv_qp_init_attr_ex {
            qp_context: std::ptr::null_mut(),
            send_cq: std::ptr::null_mut(),
            recv_cq: std::ptr::null_mut(),
            srq: std::ptr::null_mut(),
            cap: ibv_qp_cap::default(),
            qp_type: IBV_QPT_XRC_RECV,
            sq_sig_all: 0,
            comp_mask: IBV_QP_INIT_ATTR_XRCD,
            pd: std::ptr::null_mut(),
            xrcd,
            unused: [0; 7],
        }
    }
}

pub const IBV_QPT_RC: c_uint = 2;
pub const IBV_QPT_UD: c_uint = 4;
pub const IBV_QPT_XRC_SEND: c_uint = 9;

#[repr(C)]
pub struct ibv_global_route {
    pub dgid: ibv_gid,
    pub flow_label: u32,
    pub sgid_index: u8,
    pub hop_limit: u8,
    pub traffic_class: u8,
}

#[repr(C)]
pub struct ibv_ah_attr {
    pub grh: ibv_global_route,
    pub dlid: u16,
    pub sl: u8,
    pub src_path_bits: u8,
    pub static_rate: u8,
    pub is_global: u8,
    pub port_num: u8,
}

#[repr(C)]
pub struct ibv_qp_attr {
    pub qp_state: c_uint,
    pub cur_qp_state: c_uint,
    pub path_mtu: c_uint,
    pub path_mig_state: c_uint,
    pub qkey: u32,
    pub rq_psn: u32,
    pub sq_psn: u32,
    pub dest_qp_num: u32,
    pub qp_access_flags: c_int,
    pub cap: ibv_qp_cap,
    pub ah_attr: ibv_ah_attr,
    pub alt_ah_attr: ibv_ah_attr,
    pub pkey_index: u16,
    pub alt_pkey_index: u16,
    pub en_sqd_async_notify: u8,
    pub sq_draining: u8,
    pub max_rd_atomic: u8,
    pub max_dest_rd_atomic: u8,
    pub min_rnr_timer: u8,
    pub port_num: u8,
    pub timeout: u8,
    pub retry_cnt: u8,
    pub rnr_retry: u8,
    pub alt_port_num: u8,
    pub alt_timeout: u8,
    pub rate_limit: u32,
}

impl Default for ibv_qp_attr {
    fn default() -> Self {
        // SAFETY: a structure of integers, for which zeros are values.
        unsafe { std::mem::zeroed() }
    }
}

pub const IBV_QPS_INIT: c_uint = 1;
pub const IBV_QPS_RTR: c_uint = 2;
pub const IBV_QPS_RTS: c_uint = 3;
pub const IBV_QPS_ERR: c_uint = 6;

pub const IBV_QP_STATE: c_int = 1;
pub const IBV_QP_ACCESS_FLAGS: c_int = 8;
pub const IBV_QP_PKEY_INDEX: c_int = 16;
pub const IBV_QP_PORT: c_int = 32;
pub const IBV_QP_QKEY: c_int = 64;
pub const IBV_QP_AV: c_int = 128;
pub const IBV_QP_PATH_MTU: c_int = 256;
pub const IBV_QP_TIMEOUT: c_int = 512;
pub const IBV_QP_RETRY_CNT: c_int = 1024;
pub const IBV_QP_RNR_RETRY: c_int = 2048;
pub const IBV_QP_RQ_PSN: c_int = 4096;
pub const IBV_QP_MAX_QP_RD_ATOMIC: c_int = 8192;
pub const IBV_QP_MIN_RNR_TIMER: c_int = 32768;
pub const IBV_QP_SQ_PSN: c_int = 65536;
pub const IBV_QP_MAX_DEST_RD_ATOMIC: c_int = 131072;
pub const IBV_QP_DEST_QPN: c_int = 1048576;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ibv_sge {
    pub addr: u64,
    pub length: u32,
    pub lkey: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ibv_send_wr {
    pub wr_id: u64,
    pub next: *mut ibv_send_wr,
    pub sg_list: *mut ibv_sge,
    pub num_sge: c_int,
    pub opcode: c_uint,
    pub send_flags: c_uint,
    /// In the byte order of the network.
    pub imm_data: u32,
    pub wr: ibv_send_wr_remote,
    pub remote_srqn: u32,
    unused: [u64; 6],
}

impl ibv_send_wr {
    pub fn new(wr_id: u64, sg_list: *mut ibv_sge, num_sge: c_int) -> Self {
        ibv_send_wr {
            wr_id,
            next: std::ptr::null_mut(),
            sg_list,
            num_sge,
            opcode: IBV_WR_SEND,
            send_flags: 0,
            imm_data: 0,
            wr: ibv_send_wr_remote {
                atomic: ibv_send_wr_atomic::default(),
            },
            remote_srqn: 0,
            unused: [0; 6],
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union ibv_send_wr_remote {
    pub rdma: ibv_send_wr_rdma,
    pub atomic: ibv_send_wr_atomic,
    pub ud: ibv_send_wr_ud,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ibv_send_wr_ud {
    pub ah: *mut ibv_ah,
    pub remote_qpn: u32,
    pub remote_qkey: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ibv_send_wr_rdma {
    pub remote_addr: u64,
    pub rkey: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ibv_send_wr_atomic {
    pub remote_addr: u64,
    pub compare_add: u64,
    pub swap: u64,
    pub rkey: u32,
}

pub const IBV_WR_RDMA_WRITE: c_uint = 0;
pub const IBV_WR_RDMA_WRITE_WITH_IMM: c_uint = 1;
pub const IBV_WR_SEND: c_uint = 2;
pub const IBV_WR_SEND_WITH_IMM: c_uint = 3;
pub const IBV_WR_RDMA_READ: c_uint = 4;
pub const IBV_WR_ATOMIC_CMP_AND_SWP: c_uint = 5;
pub const IBV_WR_ATOMIC_FETCH_AND_ADD: c_uint = 6;

pub const IBV_SEND_FENCE: c_uint = 1;
pub const IBV_SEND_SIGNALED: c_uint = 2;
pub const IBV_SEND_INLINE: c_uint = 8;

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

pub const IBV_SRQ_LIMIT: c_int = 2;

#[repr(C)]
pub struct ibv_recv_wr {
    pub wr_id: u64,
    pub next: *mut ibv_recv_wr,
    pub sg_list: *mut ibv_sge,
    pub num_sge: c_int,
}

/// Declares the table of functions, and how it is filled.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of the library.
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// Loads libibverbs, which then stays loaded.
            pub fn load() -> Result<Functions, String> {
                // SAFETY: loading rdma-core's library runs only its own initialisation.
                let library = unsafe { libc::dlopen(c"libibverbs.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
                if library.is_null() {
                    return Err(loader_says());
                }
                Ok(Functions {
                    $($name: {
                        let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
                        // SAFETY: the library is open.
                        let found = unsafe { libc::dlsym(library, name.unwrap_or_default().as_ptr()) };
                        if found.is_null() {
                            return Err(loader_says());
                        }
                        // SAFETY: the function has the type that its header declares.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(found)
                        }
                    },)*
                })
            }
        }
    };
}

/// Why the last call of the loader failed.
fn loader_says() -> String {
    // SAFETY: the string is this thread's until the loader's next call.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "unknown".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

functions! {
    ibv_get_device_list(*mut c_int) -> *mut *mut ibv_device;
    ibv_free_device_list(*mut *mut ibv_device);
    ibv_get_device_name(*mut ibv_device) -> *const c_char;
    ibv_open_device(*mut ibv_device) -> *mut ibv_context;
    ibv_close_device(*mut ibv_context) -> c_int;
    ibv_query_device(*mut ibv_context, *mut ibv_device_attr) -> c_int;
    ibv_query_port(*mut ibv_context, u8, *mut ibv_port_attr) -> c_int;
    _ibv_query_gid_table(*mut ibv_context, *mut ibv_gid_entry, usize, u32, usize) -> isize;
    ibv_alloc_pd(*mut ibv_context) -> *mut ibv_pd;
    ibv_dealloc_pd(*mut ibv_pd) -> c_int;
    ibv_reg_mr(*mut ibv_pd, *mut c_void, usize, c_int) -> *mut ibv_mr;
    ibv_dereg_mr(*mut ibv_mr) -> c_int;
    ibv_create_comp_channel(*mut ibv_context) -> *mut ibv_comp_channel;
    ibv_destroy_comp_channel(*mut ibv_comp_channel) -> c_int;
    ibv_create_cq(*mut ibv_context, c_int, *mut c_void, *mut ibv_comp_channel, c_int) -> *mut ibv_cq;
    ibv_destroy_cq(*mut ibv_cq) -> c_int;
    ibv_get_cq_event(*mut ibv_comp_channel, *mut *mut ibv_cq, *mut *mut c_void) -> c_int;
    ibv_ack_cq_events(*mut ibv_cq, c_uint);
    ibv_create_srq(*mut ibv_pd, *mut ibv_srq_init_attr) -> *mut ibv_srq;
    ibv_modify_srq(*mut ibv_srq, *mut ibv_srq_attr, c_int) -> c_int;
    ibv_destroy_srq(*mut ibv_srq) -> c_int;
    ibv_create_qp(*mut ibv_pd, *mut ibv_qp_init_attr) -> *mut ibv_qp;
    ibv_modify_qp(*mut ibv_qp, *mut ibv_qp_attr, c_int) -> c_int;
    ibv_query_qp(*mut ibv_qp, *mut ibv_qp_attr, c_int, *mut ibv_qp_init_attr) -> c_int;
    ibv_destroy_qp(*mut ibv_qp) -> c_int;
    ibv_create_ah(*mut ibv_pd, *mut ibv_ah_attr) -> *mut ibv_ah;
    ibv_destroy_ah(*mut ibv_ah) -> c_int;
    ibv_get_async_event(*mut ibv_context, *mut ibv_async_event) -> c_int;
    ibv_ack_async_event(*mut ibv_async_event);
    ibv_fork_init() -> c_int;
    ibv_wc_status_str(c_uint) -> *const c_char;
}

/// What the library says of a status.
pub fn status_text(functions: &Functions, status: c_uint) -> String {
    // SAFETY: the function takes any number, and gives a string that is never freed.
    unsafe { CStr::from_ptr((functions.ibv_wc_status_str)(status)) }
        .to_string_lossy()
        .into_owned()
}

/// What a C compiler says of the header, on machines with 64 bits.
const _: () = {
    assert!(size_of::<ibv_context>() == 328);
    assert!(size_of::<ibv_context_ops>() == 256);
    assert!(size_of::<ibv_gid_entry>() == 32);
    assert!(size_of::<ibv_device_attr>() == 232);
    assert!(size_of::<ibv_port_attr>() == 52);
    assert!(size_of::<ibv_mr>() == 48);
    assert!(size_of::<ibv_comp_channel>() == 16);
    assert!(size_of::<ibv_wc>() == 48);
    assert!(size_of::<ibv_srq_init_attr>() == 24);
    assert!(size_of::<ibv_srq_init_attr_ex>() == 64);
    assert!(size_of::<ibv_xrcd_init_attr>() == 12);
    assert!(size_of::<ibv_qp_init_attr>() == 64);
    assert!(size_of::<ibv_qp_init_attr_ex>() == 136);
    assert!(size_of::<ibv_ah_attr>() == 32);
    assert!(size_of::<ibv_qp_attr>() == 144);
    assert!(size_of::<ibv_sge>() == 16);
    assert!(size_of::<ibv_send_wr>() == 128);
    assert!(size_of::<ibv_recv_wr>() == 32);
    assert!(offset_of!(ibv_context, abi_compat) == 320);
    assert!(offset_of!(ibv_context_ops, poll_cq) == 88);
    assert!(offset_of!(ibv_context_ops, req_notify_cq) == 96);
    assert!(offset_of!(ibv_context_ops, post_srq_recv) == 160);
    assert!(offset_of!(ibv_context_ops, post_send) == 200);
    assert!(offset_of!(ibv_context_ops, post_recv) == 208);
    assert!(offset_of!(ibv_device_attr, atomic_cap) == 164);
    assert!(offset_of!(ibv_device_attr, max_srq) == 212);
    assert!(offset_of!(ibv_device_attr, phys_port_cnt) == 227);
    assert!(offset_of!(ibv_port_attr, link_layer) == 46);
    assert!(offset_of!(ibv_port_attr, lid) == 34);
    assert!(offset_of!(ibv_wc, imm_data) == 24);
    assert!(offset_of!(ibv_wc, wc_flags) == 36);
    assert!(offset_of!(ibv_qp, qp_num) == 52);
    assert!(offset_of!(ibv_qp_init_attr, qp_type) == 52);
    assert!(offset_of!(ibv_qp_init_attr_ex, comp_mask) == 60);
    assert!(offset_of!(ibv_qp_init_attr_ex, xrcd) == 72);
    assert!(offset_of!(ibv_srq_init_attr_ex, cq) == 48);
    assert!(offset_of!(ibv_qp_attr, ah_attr) == 56);
    assert!(offset_of!(ibv_qp_attr, pkey_index) == 120);
    assert!(offset_of!(ibv_qp_attr, max_rd_atomic) == 126);
    assert!(offset_of!(ibv_qp_attr, rnr_retry) == 132);
    assert!(offset_of!(ibv_ah_attr, port_num) == 30);
    assert!(offset_of!(ibv_send_wr, imm_data) == 36);
    assert!(offset_of!(ibv_send_wr, wr) == 40);
    assert!(offset_of!(verbs_context, context) == 56 && offset_of!(verbs_context, sz) == 48);
    assert!(offset_of!(ibv_send_wr, remote_srqn) == 72);
};
