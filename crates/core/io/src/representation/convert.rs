//! Conversion between memory and file representation, in chunks of whole elements.

use crate::{Class, Error, Memory, Representation};

/// File bytes that are converted at once, unless one element has more.
const CHUNK: u64 = 1 << 20;

pub(super) fn failed(name: &str, text: &str) -> Error {
    Error::new(Class::Conversion, format!("data representation {name}: {text}"))
}

/// A position in the data of some memory, between two elements, which goes on with each chunk.
/// Whoever makes one vouches for the memory, as for a walk.
pub(crate) struct Converter<'a> {
    representation: &'a Representation,
    memory: Memory<'a>,
    /// Bytes of an element in the file.
    each: u64,
    /// The next element.
    next: i64,
}

impl<'a> Converter<'a> {
    /// # Safety
    /// All data of `memory` may be read, or written, whichever is done.
    pub unsafe fn new(representation: &'a Representation, memory: &Memory<'a>) -> Result<Converter<'a>, Error> {
        representation.file_bytes(memory.ty, memory.count)?;
        let each = representation.file_bytes(memory.ty, 1)?;
        Ok(Converter { representation, memory: *memory, each, next: 0 })
    }

    /// Elements of the next chunk.
    fn elements(&self) -> i64 {
        match self.each {
            0 => 0,
            each => ((CHUNK / each).max(1) as i64).min(self.memory.count - self.next),
        }
    }

    /// File bytes of the next chunk; 0 at the end.
    pub fn chunk(&self) -> u64 {
        self.elements().max(0) as u64 * self.each
    }

    /// The elements from the next one on.
    fn rest(&self, count: i64) -> Memory<'a> {
        let way = self.next.wrapping_mul(self.memory.ty.extent());
        Memory { base: self.memory.base.wrapping_offset(way as isize), count, ty: self.memory.ty }
    }

    /// The type map entry that the next element begins with.
    fn position(&self) -> u64 {
        self.next as u64 * self.memory.ty.basic_elements() as u64
    }

    /// Converts the next chunk to `out`, which has its length.
    pub fn write(&mut self, out: &mut [u8]) -> Result<(), Error> {
        let count = self.elements();
        let part = self.rest(count);
        match self.representation {
            // SAFETY: whoever made the converter vouches for the memory.
            Representation::External32 => unsafe {
                part.ty.pack_external(part.base, count, out);
            },
            Representation::User(name, conversion) if conversion.converts_writes() => {
                let items = count as u64 * part.ty.basic_elements() as u64;
                // SAFETY: as above; the chunk has the file bytes of these items.
                let done = unsafe { conversion.write(&self.memory, items, out, self.position()) };
                done.map_err(|text| failed(name, &text))?;
            }
            // SAFETY: as above.
            _ => unsafe {
                part.ty.pack(part.base, count, 0, out);
            },
        }
        self.next += count;
        Ok(())
    }

    /// Converts `input`, the beginning of the next chunk or all of it, to memory. Returns the bytes that
    /// were written there, of whole items.
    pub fn read(&mut self, input: &[u8]) -> Result<u64, Error> {
        let count = self.elements();
        let part = self.rest(count);
        let (items, file, bytes) = self.whole(&part, input.len() as u64)?;
        let input = &input[..file as usize];
        match self.representation {
            // SAFETY: whoever made the converter vouches for the memory.
            Representation::External32 => unsafe {
                part.ty.unpack_external(part.base, count, input);
            },
            Representation::User(name, conversion) if conversion.converts_reads() => {
                // SAFETY: as above; `input` has the file bytes of these items.
                let done = unsafe { conversion.read(&self.memory, items, input, self.position()) };
                done.map_err(|text| failed(name, &text))?;
            }
            // SAFETY: as above.
            _ => unsafe {
                part.ty.unpack(part.base, count, 0, input);
            },
        }
        self.next += count;
        Ok(bytes)
    }

    /// How many whole items of `part` the first `file` bytes are, their bytes in the file, and in
    /// memory.
    fn whole(&self, part: &Memory<'_>, file: u64) -> Result<(u64, u64, u64), Error> {
        let elements = (file / self.each.max(1)).min(part.count as u64);
        let mut left = file - elements * self.each;
        let mut items = elements * part.ty.basic_elements() as u64;
        let mut used = elements * self.each;
        let mut bytes = elements * part.ty.size() as u64;
        for (basic, repeat) in part.ty.signature(1) {
            let in_file = self.representation.item_bytes(basic)?;
            let fit = left.checked_div(in_file).unwrap_or(repeat).min(repeat);
            if elements == part.count as u64 || fit == 0 {
                break;
            }
            (items, used, bytes) = (items + fit, used + fit * in_file, bytes + fit * basic.size() as u64);
            left -= fit * in_file;
            if fit < repeat {
                break;
            }
        }
        Ok((items, used, bytes))
    }
}

impl Representation {
    /// All data of `memory` in file representation: collective access converts first, and then moves
    /// plain bytes.
    ///
    /// # Safety
    /// All data of `memory` is readable.
    pub unsafe fn pack(&self, memory: &Memory<'_>) -> Result<Vec<u8>, Error> {
        let bytes = self.file_bytes(memory.ty, memory.count)? as usize;
        let mut all = tern_memory::zeroed(bytes).map_err(|lack| Error::memory("all data, converted", lack))?;
        // SAFETY: the caller's word.
        let mut converter = unsafe { Converter::new(self, memory)? };
        let mut done = 0;
        while let chunk @ 1.. = converter.chunk() as usize {
            converter.write(&mut all[done..done + chunk])?;
            done += chunk;
        }
        Ok(all)
    }

    /// Converts `file`, the beginning of the data, into `memory`; returns the bytes of data that were
    /// written there: of whole basic elements only, where a representation is not plain.
    ///
    /// # Safety
    /// All data of `memory` is writable.
    pub unsafe fn unpack(&self, memory: &Memory<'_>, file: &[u8]) -> Result<u64, Error> {
        if self.is_plain() {
            // SAFETY: the caller's word.
            return Ok(unsafe { memory.ty.unpack(memory.base, memory.count, 0, file) } as u64);
        }
        // SAFETY: the caller's word.
        let mut converter = unsafe { Converter::new(self, memory)? };
        let (mut rest, mut bytes) = (file, 0);
        while let chunk @ 1.. = converter.chunk() as usize {
            let (now, later) = rest.split_at(chunk.min(rest.len()));
            bytes += converter.read(now)?;
            rest = later;
            if now.len() < chunk {
                break;
            }
        }
        Ok(bytes)
    }
}
