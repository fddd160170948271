//! Persistent sends and receives (MPI 5.0 section 3.9).

use crate::args::Out;
use crate::check;
use crate::constants::*;
use crate::error::Result;
use crate::objects::{Comm, Datatype};
use crate::p2p::{self, start_receive, start_send};
use crate::request::persistent::{Message, Persistent};
use std::rc::Rc;
use tern_adi::{Data, SendMode};

/// The message of each round, if it is dense and goes to or comes from a rank. TERN_CHECK adds to messages what the
/// long way alone knows.
fn message(
    buf: *mut u8, count: i64, datatype: &Datatype, peer: i32, make: impl FnOnce(Data) -> Message,
) -> Option<Message> {
    let data = p2p::data(buf, count, datatype);
    let plain = matches!(data, Data::Bytes(..)) && peer != MPI_PROC_NULL && !check::is_on();
    plain.then(|| make(data))
}

macro_rules! persistent_sends {
    ($($name:ident: $mode:expr, ready: $ready:expr;)+) => {$(
        pub fn $name(
            buf: *const u8,
            count: i64,
            datatype: Rc<Datatype>,
            dest: i32,
            tag: i32,
            comm: Rc<Comm>,
            request: Out<usize>,
        ) -> Result<()> {
            let standard = || message(buf.cast_mut(), count, &datatype, dest, |data| {
                Message::Send { to: p2p::target(&comm, dest), tuple: p2p::tuple(&comm, tag), data }
            });
            let message = if $mode == SendMode::Standard { standard() } else { None };
            let on = comm.clone();
            let send = move || start_send(buf, count, &datatype, dest, tag, &on, $mode);
            let start = move || if $ready { check::ready::during(true, &send) } else { send() };
            request.set(Persistent { message, ..Persistent::new(&comm, start) }.into_handle());
            Ok(())
        }
    )+};
}

persistent_sends! {
    send_init: SendMode::Standard, ready: false;
    rsend_init: SendMode::Standard, ready: true;
    ssend_init: SendMode::Synchronous, ready: false;
}

pub fn recv_init(
    buf: *mut u8, count: i64, datatype: Rc<Datatype>, source: i32, tag: i32, comm: Rc<Comm>, request: Out<usize>,
) -> Result<()> {
    let message = message(buf, count, &datatype, source, |data| Message::Receive {
        from: p2p::origin(&comm, source),
        pattern: p2p::pattern(&comm, source, tag),
        data,
    });
    let on = comm.clone();
    let start = move || start_receive(buf, count, &datatype, source, tag, &on);
    request.set(Persistent { message, ..Persistent::new(&comm, start) }.into_handle());
    Ok(())
}
