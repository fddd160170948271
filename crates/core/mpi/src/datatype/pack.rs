//! Packing and unpacking (MPI 5.0 section 5.2) and the external32 form (section 14.5.2).
//!
//! Packed data has no header: it is the bytes of the elements in the order of the type map.

use crate::advice::HUGE;
use crate::args::{Out, OutCount};
use crate::buffer::{check, check_count};
use crate::constants::*;
use crate::error::Result;
use crate::objects::{Comm, Datatype};
use std::rc::Rc;

/// MPI_Pack (section 5.2).
pub fn pack(
    inbuf: *const u8, incount: i64, datatype: Rc<Datatype>, outbuf: *mut u8, outsize: i64, position: OutCount,
    _comm: Rc<Comm>,
) -> Result<()> {
    check(inbuf, incount, &datatype)?;
    let room = Room::new(outbuf, outsize, position.get())?;
    let need = room.check(datatype.layout.pack_size(incount), "the packed data takes")?;
    // SAFETY: `room` holds `need` bytes; the program vouches for the elements at `inbuf`.
    let done = unsafe { datatype.layout.pack(inbuf, incount, 0, room.bytes_mut(need)) };
    position.set(room.used + done as i64);
    Ok(())
}

/// MPI_Unpack (section 5.2).
pub fn unpack(
    inbuf: *const u8, insize: i64, position: OutCount, outbuf: *mut u8, outcount: i64, datatype: Rc<Datatype>,
    _comm: Rc<Comm>,
) -> Result<()> {
    check(outbuf, outcount, &datatype)?;
    let room = Room::new(inbuf.cast_mut(), insize, position.get())?;
    let need = room.check(datatype.layout.pack_size(outcount), "the elements take")?;
    // SAFETY: `room` holds `need` bytes; the program vouches for the elements at `outbuf`.
    let done = unsafe { datatype.layout.unpack(outbuf, outcount, 0, room.bytes(need)) };
    position.set(room.used + done as i64);
    Ok(())
}

/// MPI_Pack_size (section 5.2).
pub fn pack_size(incount: i64, datatype: Rc<Datatype>, _comm: Rc<Comm>, size: OutCount) -> Result<()> {
    check_count(incount)?;
    datatype.check_present()?;
    size.set(datatype.layout.pack_size(incount).unwrap_or(MPI_UNDEFINED as i64));
    Ok(())
}

/// MPI_Pack_external (section 5.2).
pub fn pack_external(
    datarep: &str, inbuf: *const u8, incount: i64, datatype: Rc<Datatype>, outbuf: *mut u8, outsize: i64,
    position: OutCount,
) -> Result<()> {
    check_datarep(datarep)?;
    check(inbuf, incount, &datatype)?;
    let room = Room::new(outbuf, outsize, position.get())?;
    let need = room.check(datatype.layout.external_size(incount), "the packed data takes")?;
    // SAFETY: `room` holds `need` bytes; the program vouches for the elements at `inbuf`.
    let done = unsafe { datatype.layout.pack_external(inbuf, incount, room.bytes_mut(need)) };
    position.set(room.used + done as i64);
    Ok(())
}

/// MPI_Unpack_external (section 5.2).
pub fn unpack_external(
    datarep: &str, inbuf: *const u8, insize: i64, position: OutCount, outbuf: *mut u8, outcount: i64,
    datatype: Rc<Datatype>,
) -> Result<()> {
    check_datarep(datarep)?;
    check(outbuf, outcount, &datatype)?;
    let room = Room::new(inbuf.cast_mut(), insize, position.get())?;
    let need = room.check(datatype.layout.external_size(outcount), "the elements take")?;
    // SAFETY: `room` holds `need` bytes; the program vouches for the elements at `outbuf`.
    let done = unsafe { datatype.layout.unpack_external(outbuf, outcount, room.bytes(need)) };
    position.set(room.used + done as i64);
    Ok(())
}

/// MPI_Pack_external_size (section 5.2).
pub fn pack_external_size(datarep: &str, incount: i64, datatype: Rc<Datatype>, size: OutCount) -> Result<()> {
    check_datarep(datarep)?;
    check_count(incount)?;
    datatype.check_present()?;
    size.set(datatype.layout.external_size(incount).unwrap_or(MPI_UNDEFINED as i64));
    Ok(())
}

/// MPI_Get_address (section 5.1.5).
pub fn get_address(location: *const u8, address: Out<i64>) -> Result<()> {
    address.set(location as i64);
    Ok(())
}

/// The standard defines one portable representation for packing.
fn check_datarep(datarep: &str) -> Result<()> {
    if datarep == "external32" {
        return Ok(());
    }
    err!(MPI_ERR_ARG, "datarep is \"{datarep}\": only \"external32\" can be packed")
}

/// The packed side of a call: a buffer of which the bytes before `position` are used.
struct Room {
    base: *mut u8,
    size: i64,
    used: i64,
}

impl Room {
    fn new(base: *mut u8, size: i64, used: i64) -> Result<Room> {
        if size < 0 || used < 0 || used > size {
            return err!(MPI_ERR_ARG, "position {used} does not lie in a packed buffer of {size} bytes");
        }
        Ok(Room { base, size, used })
    }

    /// Checks that `need` more bytes fit, and returns them.
    fn check(&self, need: Option<i64>, what: &str) -> Result<usize> {
        let left = self.size - self.used;
        match need {
            Some(bytes) if bytes <= left && (bytes == 0 || !self.base.is_null()) => Ok(bytes as usize),
            Some(bytes) if bytes <= left => err!(MPI_ERR_BUFFER, "the packed buffer is a null pointer"),
            Some(bytes) => err!(
                MPI_ERR_TRUNCATE,
                try "make the packed buffer larger: MPI_Pack_size says how much is needed",
                "{what} {bytes} bytes, but after position {} the packed buffer has {left}",
                self.used
            ),
            None => err!(MPI_ERR_COUNT, try HUGE, "{what} more bytes than 63 bits hold"),
        }
    }

    fn here(&self) -> *mut u8 {
        self.base.wrapping_add(self.used as usize)
    }

    /// # Safety
    /// `check` has allowed `len` bytes, and the program does not use them otherwise meanwhile.
    unsafe fn bytes<'a>(&self, len: usize) -> &'a [u8] {
        if len == 0 {
            return &[];
        }
        // SAFETY: not null and long enough, as `check` found; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts(self.here(), len) }
    }

    /// # Safety
    /// As for `bytes`.
    unsafe fn bytes_mut<'a>(&self, len: usize) -> &'a mut [u8] {
        if len == 0 {
            return &mut [];
        }
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.here(), len) }
    }
}
