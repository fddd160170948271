//! Combining elements with those of a target: one at a time by the processor's atomic instructions, or
//! all of a run by the kernels of reductions, under the target's guard.
//!
//! Which of the two is the matter of [`crate::guard`], where an instruction exists.

use crate::{Class, Error};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use tern_coll::ops::{Kernel, Op, allowed, kernel};
use tern_layout::{Basic, Class as Kind};

/// `result[i] = target[i]; target[i] = operand[i] op target[i]`, each element atomically. `result`
/// may be null.
///
/// # Safety
/// `operand` is readable, `result` writable, for `count` elements; `target` is aligned to their size
/// and is accessed by atomic instructions alone meanwhile.
type Run = unsafe fn(kernel: Kernel, operand: *const u8, target: *mut u8, result: *mut u8, count: usize);

/// An operation on elements of a basic type.
#[derive(Clone, Copy)]
pub struct Combination {
    pub op: Op,
    pub basic: Basic,
    /// Bytes of an element.
    pub size: usize,
    /// Where elements are as wide as a word of the processor.
    atomic: Option<Run>,
    kernel: Kernel,
}

impl Combination {
    /// Errors: the operation does not take elements of this type.
    #[inline]
    pub fn find(op: Op, basic: Basic) -> Result<&'static Combination, Error> {
        static TABLE: LazyLock<Vec<Option<Combination>>> = LazyLock::new(|| {
            let pairs = Op::ALL.iter().flat_map(|op| Basic::ALL.iter().map(move |basic| (*op, *basic)));
            pairs.map(|(op, basic)| Combination::new(op, basic)).collect()
        });
        let index = op as usize * Basic::ALL.len() + basic as usize;
        TABLE[index].as_ref().ok_or_else(|| refuse(op, basic))
    }

    fn new(op: Op, basic: Basic) -> Option<Combination> {
        let kernel = kernel(op, basic).filter(|_| allowed(op, basic))?;
        Some(Combination { op, basic, size: basic.size() as usize, atomic: atomic(op, basic), kernel })
    }

    /// True when instructions exist for elements at `target`.
    #[inline]
    pub fn is_atomic(&self, target: *const u8) -> bool {
        // Such elements have a power of two of bytes.
        self.atomic.is_some() && target as usize & (self.size - 1) == 0
    }

    /// Combines `count` elements by atomic instructions.
    ///
    /// # Safety
    /// [`Combination::is_atomic`], and as for [`Run`].
    #[inline]
    pub unsafe fn by_instructions(&self, operand: *const u8, target: *mut u8, result: *mut u8, count: usize) {
        if let Some(run) = self.atomic {
            // SAFETY: contract of this function.
            unsafe { run(self.kernel, operand, target, result, count) };
        }
    }

    /// Combines `count` elements that lie one extent apart.
    ///
    /// # Safety
    /// The memory is valid for as many elements, and the guard that belongs to the target is held.
    pub unsafe fn under_guard(&self, operand: *const u8, target: *mut u8, result: *mut u8, count: usize) {
        if !result.is_null() {
            // SAFETY: contract of this function.
            unsafe { self.copy(target, result, count) };
        }
        match self.op {
            Op::NoOp => {}
            // SAFETY: contract of this function.
            Op::Replace => unsafe { self.copy(operand, target, count) },
            // SAFETY: contract of this function.
            _ => unsafe { (self.kernel)(operand, target, count) },
        }
    }

    /// Copies elements, but not the padding of pairs.
    unsafe fn copy(&self, from: *const u8, to: *mut u8, count: usize) {
        if self.basic.size() == self.basic.extent() {
            // SAFETY: contract of `under_guard`; `copy` bears an operand that is the target.
            unsafe { std::ptr::copy(from, to, count * self.basic.size() as usize) };
        } else if let Some(kernel) = kernel(Op::Replace, self.basic) {
            // SAFETY: contract of `under_guard`.
            unsafe { kernel(from, to, count) };
        }
    }
}

#[cold]
fn refuse(op: Op, basic: Basic) -> Error {
    Error::new(Class::Operation, format!("operation {op:?} does not take elements of type {basic:?}"))
}

/// One word of the processor.
trait Word: Copy {
    type Cell;
    fn load(cell: &Self::Cell) -> Self;
    fn store(cell: &Self::Cell, value: Self);
    fn swap(cell: &Self::Cell, value: Self) -> Self;
    fn add(cell: &Self::Cell, value: Self) -> Self;
    fn and(cell: &Self::Cell, value: Self) -> Self;
    fn or(cell: &Self::Cell, value: Self) -> Self;
    fn xor(cell: &Self::Cell, value: Self) -> Self;
    fn exchange(cell: &Self::Cell, from: Self, to: Self) -> Result<Self, Self>;
}

// Acquire and release: an accumulate may be the way by which a program tells that data is there. They
// cost nothing beyond the instruction itself.
macro_rules! word {
    ($($value:ty, $cell:ty;)*) => { $(impl Word for $value {
        type Cell = $cell;
        #[inline(always)]
        fn load(cell: &$cell) -> $value { cell.load(Ordering::Acquire) }
        #[inline(always)]
        fn store(cell: &$cell, value: $value) { cell.store(value, Ordering::Release) }
        #[inline(always)]
        fn swap(cell: &$cell, value: $value) -> $value { cell.swap(value, Ordering::AcqRel) }
        #[inline(always)]
        fn add(cell: &$cell, value: $value) -> $value { cell.fetch_add(value, Ordering::AcqRel) }
        #[inline(always)]
        fn and(cell: &$cell, value: $value) -> $value { cell.fetch_and(value, Ordering::AcqRel) }
        #[inline(always)]
        fn or(cell: &$cell, value: $value) -> $value { cell.fetch_or(value, Ordering::AcqRel) }
        #[inline(always)]
        fn xor(cell: &$cell, value: $value) -> $value { cell.fetch_xor(value, Ordering::AcqRel) }
        #[inline(always)]
        fn exchange(cell: &$cell, from: $value, to: $value) -> Result<$value, $value> {
            cell.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
        }
    })* };
}

word! { u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64; }

/// One operation on one word.
trait Rule<W: Word> {
    /// # Safety
    /// `operand` is readable, unless the rule does not look at it.
    unsafe fn apply(kernel: Kernel, operand: *const u8, cell: &W::Cell) -> W;
}

/// # Safety
/// See [`Run`].
unsafe fn run<W: Word, R: Rule<W>>(kernel: Kernel, operand: *const u8, target: *mut u8, result: *mut u8, count: usize) {
    for index in 0..count {
        let at = index * size_of::<W>();
        // SAFETY: contract of `Run`; operand and result may be unaligned.
        unsafe {
            let old = R::apply(kernel, operand.wrapping_add(at), &*target.add(at).cast());
            if !result.is_null() {
                result.add(at).cast::<W>().write_unaligned(old);
            }
        }
    }
}

macro_rules! rule {
    ($name:ident, |$cell:ident, $value:ident| $body:expr) => {
        struct $name;
        impl<W: Word> Rule<W> for $name {
            #[inline(always)]
            unsafe fn apply(_: Kernel, operand: *const u8, $cell: &W::Cell) -> W {
                // SAFETY: contract of `Rule`.
                let $value = unsafe { operand.cast::<W>().read_unaligned() };
                $body
            }
        }
    };
}

rule!(Add, |cell, value| W::add(cell, value));
rule!(And, |cell, value| W::and(cell, value));
rule!(Or, |cell, value| W::or(cell, value));
rule!(Xor, |cell, value| W::xor(cell, value));
rule!(Swap, |cell, value| W::swap(cell, value));

/// The operand is not looked at.
struct Load;

impl<W: Word> Rule<W> for Load {
    #[inline(always)]
    unsafe fn apply(_: Kernel, _: *const u8, cell: &W::Cell) -> W {
        W::load(cell)
    }
}

/// Tries until nobody comes between.
#[inline(always)]
fn retry<W: Word>(cell: &W::Cell, next: impl Fn(W) -> W) -> W {
    let mut old = W::load(cell);
    loop {
        match W::exchange(cell, old, next(old)) {
            Ok(old) => return old,
            Err(now) => old = now,
        }
    }
}

struct Single;
struct Double;

impl Rule<u32> for Single {
    #[inline(always)]
    unsafe fn apply(_: Kernel, operand: *const u8, cell: &AtomicU32) -> u32 {
        // SAFETY: contract of `Rule`.
        let value = unsafe { operand.cast::<f32>().read_unaligned() };
        retry(cell, |old: u32| (value + f32::from_bits(old)).to_bits())
    }
}

impl Rule<u64> for Double {
    #[inline(always)]
    unsafe fn apply(_: Kernel, operand: *const u8, cell: &AtomicU64) -> u64 {
        // SAFETY: contract of `Rule`.
        let value = unsafe { operand.cast::<f64>().read_unaligned() };
        retry(cell, |old: u64| (value + f64::from_bits(old)).to_bits())
    }
}

/// What the kernel makes of the element.
struct ByKernel;

impl<W: Word> Rule<W> for ByKernel {
    #[inline(always)]
    unsafe fn apply(kernel: Kernel, operand: *const u8, cell: &W::Cell) -> W {
        retry(cell, |old: W| {
            let mut new = old;
            // SAFETY: the operand by the contract of `Rule`; the other one is a word on the stack.
            unsafe { kernel(operand, (&raw mut new).cast(), 1) };
            new
        })
    }
}

/// Replaces without a look at what was there, where nobody asks.
unsafe fn replace<W: Word>(kernel: Kernel, operand: *const u8, target: *mut u8, result: *mut u8, count: usize) {
    if !result.is_null() {
        // SAFETY: contract of `Run`.
        return unsafe { run::<W, Swap>(kernel, operand, target, result, count) };
    }
    for at in (0..count).map(|index| index * size_of::<W>()) {
        // SAFETY: contract of `Run`.
        unsafe { W::store(&*target.add(at).cast(), operand.add(at).cast::<W>().read_unaligned()) };
    }
}

fn by_word(op: Op, number: bool) -> [Option<Run>; 4] {
    macro_rules! each {
        ($rule:ty) => {
            [Some(run::<u8, $rule> as Run), Some(run::<u16, $rule>), Some(run::<u32, $rule>), Some(run::<u64, $rule>)]
        };
    }
    match op {
        Op::Sum if number => each!(Add),
        Op::Band => each!(And),
        Op::Bor => each!(Or),
        Op::Bxor => each!(Xor),
        Op::NoOp => each!(Load),
        Op::Replace => [Some(replace::<u8>), Some(replace::<u16>), Some(replace::<u32>), Some(replace::<u64>)],
        _ => [None; 4],
    }
}

/// How the processor combines such elements.
fn atomic(op: Op, basic: Basic) -> Option<Run> {
    let size = basic.size() as usize;
    if size > 8 || !size.is_power_of_two() || basic.extent() != basic.size() {
        return None;
    }
    match (op, basic) {
        (Op::Sum, Basic::Float32) => return Some(run::<u32, Single>),
        (Op::Sum, Basic::Float64) => return Some(run::<u64, Double>),
        _ => {}
    }
    let number = matches!(basic.class(), Kind::CInteger | Kind::FortranInteger | Kind::MultiLanguage);
    let runs = [run::<u8, ByKernel> as Run, run::<u16, ByKernel>, run::<u32, ByKernel>, run::<u64, ByKernel>];
    let word = size.trailing_zeros() as usize;
    by_word(op, number)[word].or(Some(runs[word]))
}

/// True when an element of so many bytes at `target` can be compared and swapped by an instruction.
#[inline]
pub fn is_swapped_by_instruction(size: usize, target: *const u8) -> bool {
    matches!(size, 1 | 2 | 4 | 8) && (target as usize).is_multiple_of(size)
}

/// Compares and swaps one element by an atomic instruction.
///
/// # Safety
/// All are valid for an element, for which there is an instruction; `target` is accessed by atomic
/// instructions alone meanwhile.
#[inline]
pub unsafe fn swap_by_instruction(
    size: usize, origin: *const u8, compare: *const u8, result: *mut u8, target: *mut u8,
) {
    #[inline(always)]
    unsafe fn swap<W: Word>(origin: *const u8, compare: *const u8, result: *mut u8, target: *mut u8) {
        // SAFETY: contract of the outer function.
        unsafe {
            let (from, to) = (compare.cast::<W>().read_unaligned(), origin.cast::<W>().read_unaligned());
            let (Ok(old) | Err(old)) = W::exchange(&*target.cast(), from, to);
            result.cast::<W>().write_unaligned(old);
        }
    }
    // SAFETY: contract of this function.
    unsafe {
        match size {
            1 => swap::<u8>(origin, compare, result, target),
            2 => swap::<u16>(origin, compare, result, target),
            4 => swap::<u32>(origin, compare, result, target),
            _ => swap::<u64>(origin, compare, result, target),
        }
    }
}

/// Compares and swaps one element of any size.
///
/// # Safety
/// All are valid for `size` bytes, and the guard that belongs to the target is held.
pub unsafe fn swap_under_guard(size: usize, origin: *const u8, compare: *const u8, result: *mut u8, target: *mut u8) {
    // SAFETY: contract of this function.
    unsafe {
        std::ptr::copy(target, result, size);
        let equal = std::slice::from_raw_parts(result, size) == std::slice::from_raw_parts(compare, size);
        if equal {
            std::ptr::copy(origin, target, size);
        }
    }
}
