//! An open device, and what is made of it.

use super::completion::{CompletionChannel, CompletionQueue};
use super::context::{Context, Port, functions, set_nonblocking};
use super::ffi::{self, Functions};
use super::memory::ProtectionDomain;
use super::receive_queue::XrcDomain;
use super::{Datagrams, check, made};
use crate::{Atomics, Capabilities, Error, Event, Limits, Options, ReceiveLimits, Result};
use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::Arc;

/// See [`crate::Hca`].
#[derive(Clone)]
pub struct Hca {
    context: Arc<Context>,
    capabilities: Arc<Capabilities>,
}

impl Hca {
    pub fn open(options: &Options) -> Result<Hca> {
        let functions = functions()?;
        let (name, number) = match options.interface.as_deref().map(|name| name.split_once(':')) {
            None => (None, None),
            Some(None) => (options.interface.as_deref(), None),
            Some(Some((name, port))) => {
                let port = port.parse().map_err(|_| Error::Invalid(format!("'{port}' is no number of a port")))?;
                (Some(name), Some(port))
            }
        };
        let mut count: c_int = 0;
        // SAFETY: the count is written to; the list is freed below.
        let list = unsafe { (functions.ibv_get_device_list)(&mut count) };
        if list.is_null() {
            let why = std::io::Error::last_os_error();
            return Err(Error::NoHca(format!("the devices cannot be listed: {why}; is the module ib_uverbs loaded?")));
        }
        // SAFETY: so many devices are in the list.
        let devices = unsafe { std::slice::from_raw_parts(list, count as usize) };
        let mut seen = Vec::new();
        let mut opened = None;
        for &device in devices {
            match open_device(functions, device, name, number) {
                Ok(hca) => {
                    opened = Some(hca);
                    break;
                }
                Err(why) => seen.push(why),
            }
        }
        // SAFETY: the list came from the library; an open device does not need it.
        unsafe { (functions.ibv_free_device_list)(list) };
        opened.ok_or_else(|| {
            let wanted = options.interface.as_deref().map_or(String::new(), |name| format!(" is '{name}'"));
            Error::NoHca(format!("of {count} devices none{wanted} with an active port ({})", seen.join("; ")))
        })
    }

    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    pub fn protection_domain(&self) -> Result<ProtectionDomain> {
        ProtectionDomain::new(&self.context)
    }

    pub fn completion_queue(&self, depth: u32, channel: Option<&CompletionChannel>) -> Result<CompletionQueue> {
        CompletionQueue::new(&self.context, depth, channel)
    }

    pub fn completion_channel(&self) -> Result<CompletionChannel> {
        CompletionChannel::new(&self.context)
    }

    pub fn xrc_domain(&self, file: Option<BorrowedFd<'_>>) -> Result<XrcDomain> {
        XrcDomain::new(&self.context, file)
    }

    pub fn datagrams(&self, channel: Option<&CompletionChannel>) -> Result<Datagrams> {
        Datagrams::new(&self.context, channel)
    }

    pub fn next_event(&self) -> Option<Event> {
        let functions = self.context.functions;
        while self.context.is_own() {
            let mut event = ffi::ibv_async_event { element: ptr::null_mut(), event_type: 0 };
            // SAFETY: the context is open, and its descriptor does not block.
            if unsafe { (functions.ibv_get_async_event)(self.context.raw, &mut event) } != 0 {
                return None;
            }
            // SAFETY: what the event is about lives until the event is acknowledged, below.
            let told = unsafe { self.tell(&event) };
            // SAFETY: taken above, once.
            unsafe { (functions.ibv_ack_async_event)(&mut event) };
            if told.is_some() {
                return told;
            }
        }
        None
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the context.
        unsafe { BorrowedFd::borrow_raw((*self.context.raw).async_fd) }
    }

    /// # Safety
    /// What the event is about still lives.
    unsafe fn tell(&self, event: &ffi::ibv_async_event) -> Option<Event> {
        match event.event_type {
            ffi::IBV_EVENT_SRQ_LIMIT_REACHED => {
                // SAFETY: it is about a shared receive queue; ours hold their token there.
                let token = unsafe { (*event.element.cast::<ffi::ibv_srq>()).srq_context } as u64;
                Some(Event::ReceiveQueueLow { token })
            }
            ffi::IBV_EVENT_QP_FATAL | ffi::IBV_EVENT_QP_REQ_ERR | ffi::IBV_EVENT_QP_ACCESS_ERR => {
                // SAFETY: it is about a queue pair.
                let queue_pair = unsafe { (*event.element.cast::<ffi::ibv_qp>()).qp_num };
                let why = match event.event_type {
                    ffi::IBV_EVENT_QP_FATAL => "the queue pair is broken",
                    ffi::IBV_EVENT_QP_REQ_ERR => "the peer asked for something invalid",
                    _ => "the peer accessed memory that it may not",
                };
                self.context.failed(queue_pair, || why.into());
                Some(Event::QueuePairError { queue_pair, why: why.into() })
            }
            ffi::IBV_EVENT_CQ_ERR => {
                // SAFETY: it is about a completion queue; ours hold their mark there, which lives as long.
                unsafe { CompletionQueue::overrun((*event.element.cast::<ffi::ibv_cq>()).cq_context) };
                None
            }
            ffi::IBV_EVENT_SRQ_ERR => Some(Event::Fatal("a shared receive queue is broken".into())),
            ffi::IBV_EVENT_DEVICE_FATAL => Some(Event::Fatal(format!("{} is broken", self.capabilities.name))),
            _ => None,
        }
    }
}

/// Opens the device if it is the one that is wanted and has an active port; otherwise says why not.
fn open_device(
    functions: &'static Functions, device: *mut ffi::ibv_device, wanted: Option<&str>, number: Option<u8>,
) -> std::result::Result<Hca, String> {
    // SAFETY: the device is one of the list, whose name is a string.
    let name = unsafe { CStr::from_ptr((functions.ibv_get_device_name)(device)) }.to_string_lossy().into_owned();
    if wanted.is_some_and(|wanted| wanted != name) {
        return Err(name);
    }
    // SAFETY: as above.
    if unsafe { (*device).transport_type } != ffi::IBV_TRANSPORT_IB {
        return Err(format!("{name} is neither InfiniBand nor RoCE"));
    }
    // SAFETY: as above.
    let raw = made(unsafe { (functions.ibv_open_device)(device) }, || name.clone()).map_err(|why| why.to_string())?;
    let close = |why: String| {
        // SAFETY: opened above, and nothing was made from it.
        unsafe { (functions.ibv_close_device)(raw) };
        format!("{name}: {why}")
    };
    let describe = || -> Result<(ffi::ibv_device_attr, Port)> {
        let mut attributes = MaybeUninit::<ffi::ibv_device_attr>::zeroed();
        // SAFETY: the context is open, and the structure is written to.
        let code = unsafe { (functions.ibv_query_device)(raw, attributes.as_mut_ptr()) };
        check(code, || "what it can do".into())?;
        // SAFETY: all zeros are a value, and the call has filled it.
        let attributes = unsafe { attributes.assume_init() };
        let port = Port::find(functions, raw, attributes.phys_port_cnt, number)?;
        // SAFETY: the context is open.
        set_nonblocking(unsafe { (*raw).async_fd })?;
        Ok((attributes, port))
    };
    let (attributes, port) = describe().map_err(|why| close(why.to_string()))?;
    let context = Arc::new(Context::new(functions, raw, port));
    let capabilities = Arc::new(capabilities(&context, name, &attributes).map_err(|why| why.to_string())?);
    Ok(Hca { context, capabilities })
}

fn capabilities(context: &Arc<Context>, name: String, attributes: &ffi::ibv_device_attr) -> Result<Capabilities> {
    let number = |value: c_int| u32::try_from(value).unwrap_or(0);
    let depth = number(attributes.max_qp_wr);
    Ok(Capabilities {
        name,
        atomics: match attributes.atomic_cap {
            0 => Atomics::None,
            1 => Atomics::Hca,
            _ => Atomics::Global,
        },
        xrc: attributes.device_cap_flags & ffi::IBV_DEVICE_XRC != 0,
        ports: 1,
        shared_receive_queues: attributes.max_srq > 0,
        pins: true,
        send: Limits { depth, gather: number(attributes.max_sge), inline: largest_inline(context)? },
        receive: ReceiveLimits {
            depth: if attributes.max_srq > 0 { depth.min(number(attributes.max_srq_wr)) } else { depth },
            scatter: number(attributes.max_sge).min(number(attributes.max_srq_sge).max(1)),
        },
        completions: number(attributes.max_cqe),
        message: context.port.message,
        // No card tells it; this is what current ones take.
        latency_ns: 1500.0,
        bandwidth: context.port.bandwidth,
    })
}

/// How much a queue pair can send inline, which is found out by making some.
fn largest_inline(context: &Arc<Context>) -> Result<u32> {
    let domain = ProtectionDomain::new(context)?;
    let completions = CompletionQueue::new(context, 16, None)?;
    for inline in [1024, 512, 256, 128, 64] {
        let send = Limits { depth: 16, gather: 1, inline };
        if domain.plain_queue_pair(&completions, send).is_ok() {
            return Ok(inline);
        }
    }
    Ok(0)
}
