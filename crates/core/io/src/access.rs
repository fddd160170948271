//! Reading and writing: between a part of a view's stream and a layout in memory.
//!
//! One run in the file and one in memory is one system call on the user's buffer. One run in the file
//! alone takes lists of segments, or packs. Several runs in the file are accessed one by one, or by
//! windows with their holes (*data sieving*), whichever costs less.

mod contiguous;
mod strided;

use std::ops::Range;

use crate::cost::Shape;
use crate::hints::{AccessKind, Hints};
use crate::memory::Walk;
use crate::representation::Converter;
use crate::{Class, Error, File, Guard, Memory, Sharing, View};
use tern_memory::Lack;

/// An access under way.
struct Access<'a> {
    file: &'a File,
    view: &'a View,
    hints: &'a Hints,
}

/// Reads the stream of `view` from `position` on into `memory`. Returns how many bytes of data came
/// into memory: fewer than it has room for only at the end of the file, or if the view has no data.
///
/// # Safety
/// All data of `memory` is writable, and nobody else uses it meanwhile.
pub unsafe fn read(file: &File, view: &View, position: u64, memory: &Memory<'_>, hints: &Hints) -> Result<u64, Error> {
    let bytes = view.representation().file_bytes(memory.ty, memory.count)?;
    if bytes == 0 || view.is_empty() {
        return Ok(0);
    }
    let access = Access { file, view, hints };
    let _lock = access.atomic(Sharing::Shared, position, bytes)?;
    if view.representation().is_plain() {
        // SAFETY: the caller's word.
        let mut walk = unsafe { Walk::new(memory) };
        return access.read(position, &mut walk);
    }
    // SAFETY: the caller's word.
    let mut converter = unsafe { Converter::new(view.representation(), memory)? };
    let (mut at, mut got) = (position, 0);
    let mut file_form = Vec::new();
    while let chunk @ 1.. = converter.chunk() as usize {
        tern_memory::resize(&mut file_form, chunk, 0).map_err(converted)?;
        let some = access.read(at, &mut Walk::bytes_mut(&mut file_form))? as usize;
        got += converter.read(&file_form[..some])?;
        at += some as u64;
        if some < chunk {
            break;
        }
    }
    Ok(got)
}

/// Writes all data of `memory` to the stream of `view` from `position` on. Returns how many bytes of
/// memory that was.
///
/// # Safety
/// All data of `memory` is readable, and nobody changes it meanwhile.
pub unsafe fn write(file: &File, view: &View, position: u64, memory: &Memory<'_>, hints: &Hints) -> Result<u64, Error> {
    let bytes = view.representation().file_bytes(memory.ty, memory.count)?;
    if bytes == 0 {
        return Ok(0);
    }
    if view.is_empty() {
        return Err(Error::new(Class::Argument, format!("{bytes} bytes to write in a view without data")));
    }
    let access = Access { file, view, hints };
    let range = access.range(position, bytes)?;
    file.check_limit(range.end, bytes, &|| format!("write {bytes} bytes at offset {}", range.start))?;
    let _lock = access.atomic(Sharing::Exclusive, position, bytes)?;
    if view.representation().is_plain() {
        // SAFETY: the caller's word.
        let mut walk = unsafe { Walk::new(memory) };
        access.write(position, &mut walk)?;
        return Ok(memory.len());
    }
    // SAFETY: the caller's word.
    let mut converter = unsafe { Converter::new(view.representation(), memory)? };
    let mut at = position;
    let mut file_form = Vec::new();
    while let chunk @ 1.. = converter.chunk() as usize {
        tern_memory::resize(&mut file_form, chunk, 0).map_err(converted)?;
        converter.write(&mut file_form)?;
        access.write(at, &mut Walk::bytes(&file_form))?;
        at += chunk as u64;
    }
    Ok(memory.len())
}

fn converted(lack: Lack) -> Error {
    Error::memory("converted data", lack)
}

impl Access<'_> {
    /// The part of the file in which `bytes` bytes from `position` on lie.
    fn range(&self, position: u64, bytes: u64) -> Result<Range<u64>, Error> {
        self.view.range(position, bytes).ok_or_else(|| {
            let text = format!("{bytes} bytes at position {position} of the view lie beyond 2^63 in the file");
            Error::new(Class::Argument, text)
        })
    }

    /// The lock of an access in atomic mode.
    fn atomic(&self, sharing: Sharing, position: u64, bytes: u64) -> Result<Option<Guard<'_>>, Error> {
        if !self.hints.atomic {
            return Ok(None);
        }
        match self.file.lock(sharing, self.range(position, bytes)?)? {
            Some(guard) => Ok(Some(guard)),
            None => {
                let text = format!(
                    "atomic mode needs byte-range locks, which the file system of {} does not have",
                    self.file.path().display()
                );
                Err(Error::new(Class::UnsupportedOperation, text))
            }
        }
    }

    /// The lock of a plain write to `range`, against those who write windows back.
    fn guard(&self, range: Range<u64>) -> Result<Option<Guard<'_>>, Error> {
        match self.hints.guarded && !self.hints.atomic && !self.file.is_plain() {
            true => self.file.lock(Sharing::Shared, range),
            false => Ok(None),
        }
    }

    /// Reads until the walk is at its end, or the file; returns the bytes.
    fn read(&self, position: u64, walk: &mut Walk) -> Result<u64, Error> {
        let bytes = walk.left();
        let range = self.range(position, bytes)?;
        if self.view.is_contiguous() {
            return self.read_run(range.start, walk, bytes);
        }
        let shape = Shape { bytes, runs: self.view.runs(bytes), span: range.end - range.start };
        if self.view.is_ordered(position, bytes)
            && shape.sieve(
                self.hints.read_sieving,
                self.hints.read_buffer,
                AccessKind::Read,
                self.file.calls.cost(AccessKind::Read),
            )
        {
            return self.read_windows(position, walk);
        }
        self.read_each(position, walk)
    }

    /// Writes until the walk is at its end.
    fn write(&self, position: u64, walk: &mut Walk) -> Result<(), Error> {
        let bytes = walk.left();
        let range = self.range(position, bytes)?;
        if self.view.is_contiguous() {
            let _lock = self.guard(range.clone())?;
            return self.write_run(range.start, walk, bytes);
        }
        let shape = Shape { bytes, runs: self.view.runs(bytes), span: range.end - range.start };
        if self.view.is_ordered(position, bytes)
            && self.file.readable()
            && shape.sieve(
                self.hints.write_sieving,
                self.hints.write_buffer,
                AccessKind::Write,
                self.file.calls.cost(AccessKind::Write),
            )
            && self.file.may_have_windows()
        {
            return self.write_windows(position, walk);
        }
        let _lock = self.guard(range)?;
        self.write_each(position, walk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;
    use crate::{Mode, Representation};
    use tern_layout::{Basic, Type};

    /// No window is written back where nothing keeps others from its holes; and what atomic mode
    /// promises cannot be kept.
    #[test]
    fn a_file_system_without_locks() {
        let path = std::env::temp_dir().join(format!("tern-io-unlocked-{}", std::process::id()));
        let mode = Mode { read: true, write: true, create: true, exclusive: false };
        let file = File::open(&path, mode).unwrap();
        file.write_at(0, &[7; 10]).unwrap();
        file.locks.set(false);
        assert!(!file.has_locks());
        let byte = Type::basic(Basic::Byte);
        let second = Type::resized(0, 2, &byte).unwrap();
        let view = View::new(0, &byte, &second, Representation::Native, true).unwrap();
        let hints = Hints { write_sieving: Choice::Always, ..Hints::default() };
        let mut bytes = [1u8, 2, 3];
        let memory = Memory { base: bytes.as_mut_ptr(), count: 3, ty: &byte };
        // SAFETY: all of `bytes` is ours.
        let atomic = unsafe {
            assert_eq!(write(&file, &view, 0, &memory, &hints), Ok(3));
            write(&file, &view, 0, &memory, &Hints { atomic: true, ..hints })
        };
        assert_eq!(atomic.unwrap_err().class, Class::UnsupportedOperation);
        assert_eq!(std::fs::read(&path).unwrap(), [1, 7, 2, 7, 3, 7, 7, 7, 7, 7]);
        File::delete(&path).unwrap();
    }
}
