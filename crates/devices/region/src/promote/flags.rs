//! The flags of mappings that PROCMAP_QUERY does not tell, from /proc/self/smaps.

use super::refusal::Refusal;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::ops::{ControlFlow, Range};

/// What plain memory of malloc's has: it may be read and written, now and later, and is accounted;
/// `sd` is set on whatever was written since somebody last asked. Anything else (a stack that
/// grows, locked, advised to use huge pages or none, not dumped, not inherited, mergeable, sealed,
/// watched by userfaultfd, ...) is not plain.
const PLAIN: [&str; 7] = ["rd", "wr", "mr", "mw", "me", "ac", "sd"];

/// One mapping, as smaps has it.
struct Mapping {
    range: Range<usize>,
    flags: String,
    /// It has a memory protection key of its own.
    has_key: bool,
}

/// Whether all mappings of `pages` are plain, but for those that `is_promoted` says by their start.
///
/// The kernel walks the page tables of every mapping before and in the range, so this is for once,
/// not for each use.
pub fn check(pages: &Range<usize>, is_promoted: impl Fn(usize) -> bool) -> Result<(), Refusal> {
    let mut known = pages.start;
    let end = walk(File::open("/proc/self/smaps"), |mapping| {
        if mapping.range.end <= pages.start {
            return ControlFlow::Continue(());
        }
        if mapping.range.start > known {
            return ControlFlow::Break(Err(Refusal::NotMallocs));
        }
        let unusual = mapping.flags.split_ascii_whitespace().find(|flag| !PLAIN.contains(flag));
        let unusual = unusual.or(mapping.has_key.then_some("protection key"));
        if let Some(flag) = unusual
            && !is_promoted(mapping.range.start)
        {
            return ControlFlow::Break(Err(Refusal::Flags(flag.to_owned())));
        }
        known = mapping.range.end;
        if known >= pages.end { ControlFlow::Break(Ok(())) } else { ControlFlow::Continue(()) }
    });
    end.unwrap_or(Err(Refusal::Flags("unknown".to_owned())))
}

/// Whether the mapping that starts at `start` is locked in memory.
pub fn is_locked(start: usize) -> bool {
    let end = walk(File::open("/proc/self/smaps"), |mapping| {
        if mapping.range.start < start {
            return ControlFlow::Continue(());
        }
        let locked = mapping.range.start == start && mapping.flags.split_ascii_whitespace().any(|flag| flag == "lo");
        ControlFlow::Break(locked)
    });
    end.unwrap_or(false)
}

/// Shows the mappings, in order of address, to `visit` until that breaks. `None`: it did not.
fn walk<T>(smaps: io::Result<impl io::Read>, mut visit: impl FnMut(&Mapping) -> ControlFlow<T>) -> Option<T> {
    let mut smaps = BufReader::new(smaps.ok()?);
    let mut line = Vec::new();
    let mut mapping = Mapping { range: 0..0, flags: String::new(), has_key: false };
    loop {
        line.clear();
        if smaps.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&line);
        let (first, rest) = text.split_once(' ')?;
        if let Some(range) = range(first) {
            mapping = Mapping { range, flags: String::new(), has_key: false };
        } else if first == "ProtectionKey:" {
            mapping.has_key = rest.trim() != "0";
        } else if first == "VmFlags:" {
            mapping.flags.push_str(rest);
            // The last line of each.
            if let ControlFlow::Break(end) = visit(&mapping) {
                return Some(end);
            }
        }
    }
}

/// `start-end` in hexadecimal.
fn range(text: &str) -> Option<Range<usize>> {
    let (start, end) = text.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &[u8] = b"\
1000-3000 rw-p 00000000 00:00 0 [heap]\n\
Size:                  8 kB\n\
ProtectionKey:         0\n\
VmFlags: rd wr mr mw me ac sd \n\
3000-5000 rw-p 00000000 00:00 0 \n\
ProtectionKey:         1\n\
VmFlags: rd wr mr mw me lo ac \n";

    #[test]
    fn walks_all_mappings() {
        let mut seen = Vec::new();
        let end = walk(Ok(SMAPS), |mapping| {
            seen.push((mapping.range.clone(), mapping.flags.trim().to_owned(), mapping.has_key));
            ControlFlow::<()>::Continue(())
        });
        assert!(end.is_none());
        assert_eq!(
            seen,
            [
                (0x1000..0x3000, "rd wr mr mw me ac sd".to_owned(), false),
                (0x3000..0x5000, "rd wr mr mw me lo ac".to_owned(), true)
            ]
        );
    }

    #[test]
    fn stops_where_it_is_told_to() {
        assert_eq!(walk(Ok(SMAPS), |mapping| ControlFlow::Break(mapping.range.end)), Some(0x3000));
        assert_eq!(walk(Err::<File, _>(io::ErrorKind::NotFound.into()), |_| { ControlFlow::Break(()) }), None);
    }
}
