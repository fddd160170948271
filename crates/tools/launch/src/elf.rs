//! What the headers of a program say of the libraries that it loads: the loader, and DT_RPATH; and the name of a library,
//! DT_SONAME. Files of this machine's own format only (ELF, 64 bits, this byte order).

/// Segments that matter.
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
/// Entries of the dynamic segment that matter.
const DT_STRTAB: u64 = 5;
const DT_SONAME: u64 = 14;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
/// More headers, or bytes of a segment, than a program has: such a file is not read.
const MOST: u64 = 1 << 20;

/// What a program says of its libraries.
#[derive(Debug, PartialEq)]
pub struct Elf {
    /// The loader that the program asks for.
    pub loader: String,
    /// Folders where the loader looks before `LD_LIBRARY_PATH`; none where DT_RUNPATH replaces them.
    pub rpath: Option<String>,
}

/// A segment of the file.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    length: u64,
}

impl Elf {
    /// Reads a program by `at(offset, length)`, which gives so many bytes of the file. None for anything but a
    /// program that names a loader.
    pub fn read(at: impl FnMut(u64, usize) -> Option<Vec<u8>>) -> Option<Elf> {
        let mut headers = Headers::read(at)?;
        let loader = text(&headers.content(PT_INTERP)?)?;
        let dynamic = headers.content(PT_DYNAMIC)?;
        let replaced = entry(&dynamic, DT_RUNPATH).is_some();
        let rpath = if replaced { None } else { headers.string(&dynamic, DT_RPATH) };
        Some(Elf { loader, rpath })
    }
}

/// The name that a library has for programs linked with it; `at` as of [`Elf::read`].
pub fn soname(at: impl FnMut(u64, usize) -> Option<Vec<u8>>) -> Option<String> {
    let mut headers = Headers::read(at)?;
    let dynamic = headers.content(PT_DYNAMIC)?;
    headers.string(&dynamic, DT_SONAME)
}

/// A file whose segments are known.
struct Headers<At> {
    at: At,
    segments: Vec<Segment>,
}

impl<At: FnMut(u64, usize) -> Option<Vec<u8>>> Headers<At> {
    fn read(mut at: At) -> Option<Headers<At>> {
        let head = at(0, 64)?;
        let own_order = if cfg!(target_endian = "little") { 1 } else { 2 };
        if !head.starts_with(b"\x7fELF") || head[4] != 2 || head[5] != own_order {
            return None;
        }
        let (table, size, count) = (word(&head, 32)?, half(&head, 54)?, half(&head, 56)?);
        let table = at(table, usize::from(size) * usize::from(count))?;
        let segments = table.chunks_exact(usize::from(size.max(56))).filter_map(segment).collect();
        Some(Headers { at, segments })
    }

    fn content(&mut self, kind: u32) -> Option<Vec<u8>> {
        let found = self.segments.iter().find(|segment| segment.kind == kind && segment.length < MOST)?;
        (self.at)(found.offset, found.length as usize)
    }

    /// The string that an entry of the dynamic segment names.
    fn string(&mut self, dynamic: &[u8], tag: u64) -> Option<String> {
        let (name, strings) = (entry(dynamic, tag)?, entry(dynamic, DT_STRTAB)?);
        let segment = self.segments.iter().find(|segment| segment.holds(strings))?;
        string(&mut self.at, segment.offset + strings - segment.address + name)
    }
}

fn entry(dynamic: &[u8], tag: u64) -> Option<u64> {
    let mut pairs = dynamic.chunks_exact(16).map(|pair| (word(pair, 0), word(pair, 8)));
    pairs.find(|(found, _)| *found == Some(tag))?.1
}

impl Segment {
    /// Whether that address of the program's memory is filled from this segment.
    fn holds(&self, address: u64) -> bool {
        self.kind == PT_LOAD && address.checked_sub(self.address).is_some_and(|at| at < self.length)
    }
}

fn segment(header: &[u8]) -> Option<Segment> {
    let kind = u32::from_ne_bytes(header.get(..4)?.try_into().ok()?);
    Some(Segment { kind, offset: word(header, 8)?, address: word(header, 16)?, length: word(header, 32)? })
}

/// The string that begins there, which may be the last of the file.
fn string(at: &mut impl FnMut(u64, usize) -> Option<Vec<u8>>, from: u64) -> Option<String> {
    let bytes = (0..4096).map_while(|more| at(from + more, 1)).map(|byte| byte[0]);
    text(&bytes.take_while(|byte| *byte != 0).collect::<Vec<u8>>())
}

/// What stands before the first zero byte.
fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Some(std::str::from_utf8(&bytes[..end]).ok()?.to_owned())
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<Elf> {
        Elf::read(|at, length| bytes.get(at as usize..at as usize + length).map(<[u8]>::to_vec))
    }

    #[test]
    fn the_loader_of_a_program_is_found() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let elf = read(&own).expect("a program with a loader");
        assert!(elf.loader.starts_with("/lib"), "{elf:?}");
        assert_eq!(elf.rpath, None);
    }

    #[test]
    fn what_is_no_program_is_not_read() {
        let mut own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(read(b"#!/bin/sh\n"), None);
        assert_eq!(read(&[]), None);
        // Cut short anywhere in its headers, and with sizes that lie.
        for cut in 0..1024 {
            assert_eq!(read(&own[..cut]), None, "{cut}");
        }
        own[54..56].fill(0xff);
        assert_eq!(read(&own), None);
    }
}
