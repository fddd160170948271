//! The declarations of this crate against libfabric's header, where it is installed (package libfabric-dev).

use std::fmt::Write;
use std::process::Command;
use tern_ofi::abi::*;

/// Lines of a C program that prints what this prints.
#[derive(Default)]
struct Both {
    c: String,
    rust: String,
}

impl Both {
    fn add(&mut self, name: &str, c: &str, value: u64) {
        let _ = writeln!(self.c, "    printf(\"{name} %llu\\n\", (unsigned long long)({c}));");
        let _ = writeln!(self.rust, "{name} {value}");
    }
}

macro_rules! structures {
    ($both:ident; $($name:ident { $($field:ident),* $(,)? })*) => {
        $($(
            let field = stringify!($field).trim_start_matches("r#");
            let name = concat!(stringify!($name), ".");
            let c = format!("offsetof(struct {}, {field})", stringify!($name));
            $both.add(&format!("{name}{field}"), &c, std::mem::offset_of!($name, $field) as u64);
        )*)*
    };
}

macro_rules! sizes {
    ($both:ident; $($name:ident),*) => {
        $($both.add(stringify!($name), concat!("sizeof(struct ", stringify!($name), ")"), size_of::<$name>() as u64);)*
    };
}

macro_rules! constants {
    ($both:ident; $($name:ident),* $(,)?) => {
        $($both.add(stringify!($name), stringify!($name), $name as u64);)*
    };
}

fn everything() -> Both {
    let mut both = Both::default();
    structures! { both;
        fi_info { next, caps, mode, addr_format, src_addrlen, dest_addrlen, src_addr, dest_addr, handle, tx_attr, rx_attr,
            ep_attr, domain_attr, fabric_attr, nic }
        fi_tx_attr { caps, mode, op_flags, msg_order, comp_order, inject_size, size, iov_limit, rma_iov_limit, tclass }
        fi_rx_attr { caps, mode, op_flags, msg_order, comp_order, total_buffered_recv, size, iov_limit }
        fi_ep_attr { r#type, protocol, protocol_version, max_msg_size, msg_prefix_size, max_order_raw_size, max_order_war_size,
            max_order_waw_size, mem_tag_format, tx_ctx_cnt, rx_ctx_cnt, auth_key_size, auth_key }
        fi_domain_attr { domain, name, threading, control_progress, data_progress, resource_mgmt, av_type, mr_mode, mr_key_size,
            cq_data_size, cq_cnt, ep_cnt, tx_ctx_cnt, rx_ctx_cnt, max_ep_tx_ctx, max_ep_rx_ctx, max_ep_stx_ctx, max_ep_srx_ctx,
            cntr_cnt, mr_iov_limit, caps, mode, auth_key, auth_key_size, max_err_data, mr_cnt, tclass }
        fi_fabric_attr { fabric, name, prov_name, prov_version, api_version }
        fid { fclass, context, ops }
        fi_ops { size, close, bind, control }
        fid_fabric { fid, ops, api_version }
        fi_ops_fabric { size, domain, passive_ep, eq_open, wait_open, trywait }
        fid_domain { fid, ops, mr }
        fi_ops_domain { size, av_open, cq_open, endpoint }
        fi_ops_mr { size, reg }
        fid_mr { fid, mem_desc, key }
        fi_av_attr { r#type, rx_ctx_bits, count, ep_per_node, name, map_addr, flags }
        fid_av { fid, ops }
        fi_ops_av { size, insert }
        fi_cq_attr { size, flags, format, wait_obj, signaling_vector, wait_cond, wait_set }
        fid_cq { fid, ops }
        fi_ops_cq { size, read, readfrom, readerr, sread, sreadfrom, signal, strerror }
        fi_cq_data_entry { op_context, flags, len, buf, data }
        fi_cq_err_entry { op_context, flags, len, buf, data, tag, olen, err, prov_errno, err_data, err_data_size }
        fid_ep { fid, ops, cm, msg, rma, tagged, atomic, collective }
        fi_ops_ep { size, cancel, getopt, setopt }
        fi_ops_cm { size, setname, getname }
        fi_msg { msg_iov, desc, iov_count, addr, context, data }
        fi_rma_iov { addr, len, key }
        fi_msg_rma { msg_iov, desc, iov_count, addr, rma_iov, rma_iov_count, context, data }
        fi_ops_rma { size, read, readv, readmsg, write, writev, writemsg }
        fi_ops_atomic { size, write, writev, writemsg, inject, readwrite, readwritev, readwritemsg, compwrite, compwritev,
            compwritemsg, writevalid, readwritevalid, compwritevalid }
        fi_ops_msg { size, recv, recvv, recvmsg, send, sendv, sendmsg, inject }
    }
    // Those that the library or this crate makes whole. Tables of functions may grow.
    sizes! { both; fi_info, fi_tx_attr, fi_rx_attr, fi_ep_attr, fi_domain_attr, fi_fabric_attr, fi_av_attr, fi_cq_attr,
    fi_cq_data_entry, fi_msg, fi_rma_iov, fi_msg_rma, fi_context2 }
    constants! { both; FI_MSG, FI_RMA, FI_ATOMIC, FI_READ, FI_WRITE, FI_RECV, FI_SEND, FI_REMOTE_READ, FI_REMOTE_WRITE,
    FI_MULTI_RECV, FI_COMPLETION, FI_DELIVERY_COMPLETE, FI_CONTEXT, FI_CONTEXT2, FI_TRANSMIT, FI_ORDER_SAS,
    FI_ORDER_ATOMIC_RAR, FI_ORDER_ATOMIC_RAW, FI_ORDER_ATOMIC_WAW, FI_UINT64, FI_SUM, FI_CSWAP, FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY, FI_MR_ENDPOINT, FI_EP_RDM,
    FI_AV_MAP, FI_AV_TABLE, FI_THREAD_DOMAIN, FI_RM_ENABLED, FI_CQ_FORMAT_DATA, FI_WAIT_NONE, FI_WAIT_FD, FI_OPT_ENDPOINT,
    FI_OPT_MIN_MULTI_RECV, FI_GETWAIT, FI_ENABLE, FI_EAGAIN, FI_EAVAIL }
    both
}

#[test]
fn declarations_are_those_of_the_header() {
    let both = everything();
    let place = std::env::temp_dir().join(format!("tern-ofi-header-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a directory");
    let (source, program) = (place.join("print.c"), place.join("print"));
    let includes = ["fabric", "fi_atomic", "fi_cm", "fi_domain", "fi_endpoint", "fi_eq", "fi_errno", "fi_rma"];
    let includes: String = includes.map(|name| format!("#include <rdma/{name}.h>\n")).concat();
    let text =
        format!("#include <stddef.h>\n#include <stdio.h>\n{includes}int main(void)\n{{\n{}    return 0;\n}}\n", both.c);
    std::fs::write(&source, text).expect("room");
    let cc = |arguments: &[&str]| Command::new("cc").args(arguments).arg(&source).output().expect("a C compiler");
    let compiled = cc(&["-w", "-o", program.to_str().expect("a path")]);
    let errors = String::from_utf8_lossy(&compiled.stderr).into_owned();
    let printed = compiled.status.success().then(|| Command::new(&program).output().expect("it was compiled").stdout);
    let _ = std::fs::remove_dir_all(&place);
    match printed {
        Some(printed) => assert_eq!(both.rust, String::from_utf8_lossy(&printed)),
        None if errors.contains("rdma/fabric.h: No such file") => {
            eprintln!("skipped: libfabric's header is not installed")
        }
        None => panic!("{errors}"),
    }
}
