//! The data of a process in a collective access: where it comes from, and where it goes to.

use crate::error::{Result, no_memory};
use crate::file::access::Access;
use std::ops::Range;
use tern_adi::Data;
use tern_layout::Type;

/// Puts what this process itself has asked for where it belongs.
pub fn take_out(layout: &Type, len: usize, buffer: *mut u8, from: u64, target: &mut Target<'_>) -> Result<()> {
    let mut bytes = gathering(len)?;
    // SAFETY: the runs lie in the buffer, which the window covers.
    unsafe { layout.pack(buffer, 1, 0, &mut bytes) };
    target.put(from, &bytes);
    Ok(())
}

/// Memory for a part of the data that does not lie in one run.
fn gathering(len: usize) -> Result<Vec<u8>> {
    tern_memory::zeroed(len).map_err(|lack| no_memory("the data of a part of the file, gathered", lack))
}

/// Puts a part of this process's own data where it belongs in the buffer of a window.
pub fn copy_in(data: &Data, layout: &Type, buffer: *mut u8) {
    let Data::Bytes(base, len) = data else { return };
    // SAFETY: a part of the user's buffer, or of a packed copy of it, that is as long as the runs,
    // and these lie in the buffer.
    unsafe { layout.unpack(buffer, 1, 0, std::slice::from_raw_parts(*base, *len)) };
}

/// The data of a request in file representation.
pub enum Source<'a> {
    /// As it lies in memory, in one run.
    Dense(*mut u8),
    /// To be gathered.
    Scattered(&'a Access),
    /// Converted.
    Converted(Vec<u8>),
}

impl<'a> Source<'a> {
    pub fn new(access: &'a Access) -> Result<Source<'a>> {
        let memory = access.transfer.memory();
        let representation = access.transfer.view.io.representation();
        if !representation.is_plain() {
            // SAFETY: the program keeps its buffer valid until the operation is complete.
            return Ok(Source::Converted(unsafe { representation.pack(&memory)? }));
        }
        Ok(match memory.ty.dense_run(memory.count) {
            Some((at, _)) => Source::Dense(memory.base.wrapping_offset(at as isize)),
            None => Source::Scattered(access),
        })
    }

    /// A part of it, and what holds the bytes if they were gathered.
    ///
    /// Errors: MPI_ERR_NO_MEM.
    pub fn part(&self, share: Range<u64>) -> Result<(Data, Vec<u8>)> {
        let len = (share.end - share.start) as usize;
        Ok(match self {
            Source::Dense(base) => (Data::Bytes(base.wrapping_add(share.start as usize), len), Vec::new()),
            Source::Converted(bytes) => {
                let base = bytes[share.start as usize..][..len].as_ptr().cast_mut();
                (Data::Bytes(base, len), Vec::new())
            }
            Source::Scattered(access) => {
                let memory = access.transfer.memory();
                let mut bytes = gathering(len)?;
                // SAFETY: the program keeps its buffer valid until the operation is complete.
                unsafe { memory.ty.pack(memory.base, memory.count, share.start, &mut bytes) };
                (Data::Bytes(bytes.as_mut_ptr(), len), bytes)
            }
        })
    }
}

/// Where the data of a request goes.
pub struct Target<'a> {
    pub access: &'a Access,
    place: Destination,
    /// Bytes that have come, in file representation.
    came: u64,
}

enum Destination {
    Dense(*mut u8),
    Scattered,
    /// To be converted at the end.
    Converted(Vec<u8>),
}

impl<'a> Target<'a> {
    pub fn new(access: &'a Access) -> Result<Target<'a>> {
        let memory = access.transfer.memory();
        let place = match memory.ty.dense_run(memory.count) {
            _ if !access.transfer.view.io.representation().is_plain() => {
                let bytes = tern_memory::zeroed(access.transfer.bytes as usize);
                Destination::Converted(bytes.map_err(|lack| no_memory("all data, before it is converted", lack))?)
            }
            Some((at, _)) => Destination::Dense(memory.base.wrapping_offset(at as isize)),
            None => Destination::Scattered,
        };
        Ok(Target { access, place, came: 0 })
    }

    /// Where a part of it may be received, and what holds it meanwhile.
    ///
    /// Errors: MPI_ERR_NO_MEM.
    pub fn room(&mut self, share: Range<u64>) -> Result<(Data, Vec<u8>)> {
        let len = (share.end - share.start) as usize;
        Ok(match &mut self.place {
            Destination::Dense(base) => (Data::Bytes(base.wrapping_add(share.start as usize), len), Vec::new()),
            Destination::Converted(bytes) => {
                let room = &mut bytes[share.start as usize..][..len];
                (Data::Bytes(room.as_mut_ptr(), len), Vec::new())
            }
            Destination::Scattered => {
                let mut bytes = gathering(len)?;
                (Data::Bytes(bytes.as_mut_ptr(), len), bytes)
            }
        })
    }

    /// So many bytes have come into the room of the part that begins at `from`.
    pub fn came(&mut self, from: u64, bytes: u64, held: &[u8]) {
        if let Destination::Scattered = self.place {
            self.scatter(from, &held[..bytes as usize]);
        }
        self.came += bytes;
    }

    /// Puts bytes of this process's own where they belong.
    pub fn put(&mut self, from: u64, bytes: &[u8]) {
        match &mut self.place {
            // SAFETY: the program keeps its buffer valid and unshared until the operation is complete.
            Destination::Dense(base) => unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), base.wrapping_add(from as usize), bytes.len());
            },
            Destination::Converted(room) => room[from as usize..][..bytes.len()].copy_from_slice(bytes),
            Destination::Scattered => self.scatter(from, bytes),
        }
        self.came += bytes.len() as u64;
    }

    fn scatter(&self, from: u64, bytes: &[u8]) {
        let memory = self.access.transfer.memory();
        // SAFETY: as in `put`.
        unsafe { memory.ty.unpack(memory.base, memory.count, from, bytes) };
    }

    /// Bytes of memory that have come. The file ends once, so these are the first ones.
    pub fn finish(self) -> Result<u64> {
        let Destination::Converted(bytes) = &self.place else { return Ok(self.came) };
        let representation = self.access.transfer.view.io.representation();
        // SAFETY: as in `put`.
        Ok(unsafe { representation.unpack(&self.access.transfer.memory(), &bytes[..self.came as usize])? })
    }
}
