//! What the kernel module takes beside CMA and a mapped copy, part by part: an empty call, a page, a byte, a pin. One process is both sides, which
//! changes nothing of what the kernel does.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;
use tern_region::Run;
use tern_region::cma;
use tern_region::module::{Module, READ, WRITE};

/// What `--only` calls this part.
pub const NAME: &str = "module";

const PAGE: usize = 4096;
/// Lengths, in bytes. The kernel takes lists of at most 1024 pieces, a page each.
const SIZES: [usize; 4] = [4 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Batches of which the median counts, and calls of each.
const BATCHES: usize = 9;
const CALLS: u32 = 20;

/// Memory of its own pages, all of which are there.
fn memory(len: usize) -> Vec<u8> {
    vec![1; len + PAGE]
}

/// The first whole page.
fn aligned(memory: &mut [u8]) -> *mut u8 {
    let at = memory.as_mut_ptr();
    at.wrapping_add(at.align_offset(PAGE))
}

/// Nanoseconds of one call, the median of a few batches; `None` if a call fails.
fn each(mut call: impl FnMut() -> Option<()>) -> Option<f64> {
    call()?;
    let mut batches = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let begin = Instant::now();
        for _ in 0..CALLS {
            call()?;
        }
        batches.push(begin.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    batches.sort_unstable_by(f64::total_cmp);
    Some(batches[BATCHES / 2])
}

/// Nanoseconds of an empty system call.
pub fn empty_call() -> Option<f64> {
    each(|| {
        black_box(rustix::process::getppid());
        Some(())
    })
}

/// Nanoseconds of copies of `size` bytes that need no module: mapped, by CMA, and of a byte of each page by CMA.
pub fn copies(size: usize) -> [Option<f64>; 3] {
    let [mapped, cma, by_page, ..] = row(None, size);
    [mapped, cma, by_page]
}

/// The same of `size` bytes that lie elsewhere at each call, in pools of `pool` bytes.
pub fn copies_off(size: usize, pool: usize) -> [Option<f64>; 3] {
    let (mut source, mut target) = (memory(pool), memory(pool));
    let (from, to) = (aligned(&mut source), aligned(&mut target));
    let pid = std::process::id() as cma::Pid;
    let mut place = 0;
    let mut next = || {
        place = (place + size) % (pool - size + 1) / PAGE * PAGE;
        (from.wrapping_add(place), to.wrapping_add(place))
    };
    let mapped = each(|| {
        let (from, to) = next();
        // SAFETY: both pools have `size` bytes from there on, and nobody else refers to them.
        unsafe { std::ptr::copy_nonoverlapping(black_box(from), black_box(to), size) };
        Some(())
    });
    let cma = each(|| {
        let (from, to) = next();
        // SAFETY: as above.
        unsafe { cma::read(pid, &[Run::new(to, size)], &[Run::new(from, size)]) }.ok().map(drop)
    });
    let by_page = each(|| {
        let (from, to) = next();
        let pages: Vec<Run> = (0..size / PAGE).map(|page| Run::new(from.wrapping_add(page * PAGE), 1)).collect();
        // SAFETY: as above.
        unsafe { cma::read(pid, &[Run::new(to, pages.len())], &pages) }.ok().map(drop)
    });
    [mapped, cma, by_page]
}

/// The columns of one length.
fn row(module: Option<&Module>, size: usize) -> [Option<f64>; 7] {
    let (mut source, mut target) = (memory(size), memory(size));
    let (from, to) = (aligned(&mut source), aligned(&mut target));
    let (whole, own) = ([Run::new(from, size)], [Run::new(to, size)]);
    let pid = std::process::id() as cma::Pid;
    let pages: Vec<Run> = (0..size / PAGE).map(|page| Run::new(from.wrapping_add(page * PAGE), 1)).collect();
    let first = [Run::new(to, pages.len())];
    let mapped = each(|| {
        // SAFETY: both vectors have `size` bytes from there on, and nobody else refers to them.
        unsafe { std::ptr::copy_nonoverlapping(black_box(from), black_box(to), size) };
        Some(())
    });
    // SAFETY: as above.
    let cma = each(|| unsafe { cma::read(pid, &own, &whole) }.ok().map(drop));
    // SAFETY: as above.
    let by_page = each(|| unsafe { cma::read(pid, &first, &pages) }.ok().map(drop));
    let Some(module) = module else { return [mapped, cma, by_page, None, None, None, None] };
    let declare = || module.create(&whole, READ | WRITE).ok();
    let both = each(|| declare().map(|declared| module.destroy(declared)));
    let mut kept = Vec::new();
    let pin = each(|| declare().map(|declared| kept.push(declared)));
    kept.into_iter().for_each(|declared| module.destroy(declared));
    let unpin = both.zip(pin).map(|(both, pin)| (both - pin).max(0.0));
    let Some(region) = declare() else { return [mapped, cma, by_page, None, pin, unpin, None] };
    // SAFETY: as above.
    let copy = each(|| unsafe { module.read(region.cookie, 0, &own) }.ok().map(drop));
    let attach = each(|| {
        let at = module.attach(region.cookie, 0, size as u64, false).ok()?;
        for page in 0..size / PAGE {
            // SAFETY: mapped above.
            black_box(unsafe { at.add(page * PAGE).read_volatile() });
        }
        // SAFETY: the mapping of above, which nothing refers to.
        unsafe { rustix::mm::munmap(at.cast(), size) }.ok()
    });
    module.destroy(region);
    [mapped, cma, by_page, copy, pin, unpin, attach]
}

/// A table in microseconds, which says also where it was measured.
pub fn measure() -> String {
    let module = Module::open();
    let empty = empty_call();
    let shown = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{:.2}", ns / 1e3));
    let mut text = format!(
        "\n### The kernel module, part by part\n\nLinux {}. Microseconds of one call, medians of {BATCHES} batches of {CALLS}. An empty call takes {}.\n",
        crate::cores::kernel(),
        shown(empty)
    );
    if let Err(error) = &module {
        let _ = writeln!(text, "Without the module: /dev/tern: {error}; docs/kernel-module.md says how it is loaded.");
    }
    text.push_str(
        "\n| bytes | mapped copy | CMA | CMA, a byte of each page | module | declare | give up | map and touch |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for size in SIZES {
        let row = row(module.as_ref().ok(), size).map(shown);
        let _ = writeln!(text, "| {size} | {} |", row.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_has_no_figure() {
        let row = row(None, 4 << 10);
        assert!(row[0].is_some() && row[3..].iter().all(Option::is_none));
        assert!(copies_off(64 << 10, 1 << 20)[0].is_some());
        assert!(measure().contains("| 1048576 |"));
    }
}
