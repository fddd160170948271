//! Reductions: every member publishes its vector, and whoever wants the result reads them all.

use super::Lines;
use super::label::{Done, Kind, label};
use crate::copies::give;
use crate::ops::{Kernel3, Op, Vector, kernel3};
use std::cell::Cell;
use tern_adi::Adi;
use tern_layout::Basic;

impl Lines {
    /// Combines the vectors of the members below `end`, in their order, into `out`.
    ///
    /// # Safety
    /// All of them have reached `turn` with `total` bytes; `out` holds `vector.bytes` bytes.
    pub(crate) unsafe fn combine(
        &self, turn: u64, total: usize, from: usize, end: usize, vector: &Vector, out: *mut u8,
    ) {
        // SAFETY: the caller's promise; this process publishes nothing meanwhile.
        let part = |rank| unsafe { self.payload(rank, turn, total)[from..].as_ptr() };
        // SAFETY: as above.
        unsafe { self.combine_parts(part, end, vector, out) };
    }

    /// Combines `part` of the members below `end`, in their order, into `out`.
    ///
    /// # Safety
    /// Each part, and `out`, holds the vector. Those of the first two members may be `out`, others not.
    #[inline]
    unsafe fn combine_parts(&self, part: impl Fn(usize) -> *const u8, end: usize, vector: &Vector, out: *mut u8) {
        let first = part(0);
        if end == 1 {
            // SAFETY: both hold `bytes` bytes, and shared memory never overlaps the program's.
            return unsafe { std::ptr::copy_nonoverlapping(first, out, vector.bytes) };
        }
        // SAFETY: all hold `elements` elements, and a kernel's output may be an input.
        unsafe {
            vector.combine(first, part(1), out, vector.elements);
            for rank in 2..end {
                vector.combine(out, part(rank), out, vector.elements);
            }
        }
    }

    /// The reduction of all members' vectors; `out` is where the result goes, null for none.
    ///
    /// # Safety
    /// `input` and `out` hold the vector; they may be the same memory.
    pub unsafe fn reduce(
        &self, adi: &Adi, root: Option<usize>, vector: &Vector, input: *const u8, out: *mut u8,
    ) -> Done {
        let kind = if root.is_some() { Kind::Reduce } else { Kind::Allreduce };
        let (turn, label) = (self.next(), label(kind, root.unwrap_or(0) as u32, vector.whole) | vector.more);
        if root == Some(self.me) && (self.me < 2 || !std::ptr::eq(input, out)) {
            // Nobody else needs the root's own part.
            self.publish(turn, label);
            self.await_givers(adi, turn)?;
            let part = |rank| match rank == self.me {
                true => input,
                // SAFETY: reached, and this process publishes nothing meanwhile.
                false => unsafe { self.payload(rank, turn, vector.bytes) }.as_ptr(),
            };
            // SAFETY: all have reached the turn; what is not the program's own lies in shared memory.
            unsafe { self.combine_parts(part, self.size(), vector, out) };
            return Ok(());
        }
        // SAFETY: the caller's promise.
        self.publish_with(adi, turn, label, vector.bytes, |to| unsafe { give(input, to, root.is_some()) })?;
        if root.is_some_and(|root| root != self.me) {
            self.ring_all(adi);
            return Ok(());
        }
        self.await_givers(adi, turn)?;
        // SAFETY: all have reached the turn; `out` by the caller's promise.
        unsafe { self.combine(turn, vector.bytes, 0, self.size(), vector, out) };
        Ok(())
    }

    /// A reduction to all of a vector of any length. It goes in parts of the capacity, in two turns
    /// each: every member publishes its part, reduces its share of the part over all members, and
    /// publishes that for the others. So each element is reduced once, not once by each.
    ///
    /// # Safety
    /// As for [`Lines::reduce`].
    pub unsafe fn allreduce_long(&self, adi: &Adi, vector: &Vector, input: *const u8, out: *mut u8) -> Done {
        let label = label(Kind::Allreduce, 0, vector.bytes);
        let size = vector.bytes / vector.elements;
        let whole = self.capacity() / size;
        let mut at = 0;
        while at < vector.elements {
            let elements = whole.min(vector.elements - at);
            let (from, to) = (input.wrapping_add(at * size), out.wrapping_add(at * size));
            // SAFETY: a part of the caller's vectors.
            unsafe { self.allreduce_part(adi, label, vector, elements, from, to)? };
            at += elements;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Lines::reduce`], for `elements` elements that fit the capacity.
    unsafe fn allreduce_part(
        &self, adi: &Adi, label: u64, vector: &Vector, elements: usize, input: *const u8, out: *mut u8,
    ) -> Done {
        let size = vector.bytes / vector.elements;
        // The share of a member: where it begins, and its length, in bytes.
        let share = |rank: usize| {
            let begin = elements * rank / self.size();
            let end = elements * (rank + 1) / self.size();
            (begin * size, (end - begin) * size)
        };
        let turn = self.next();
        // SAFETY: the caller's promise.
        self.publish_with(adi, turn, label, elements * size, |to| unsafe { give(input, to, false) })?;
        self.await_givers(adi, turn)?;
        let (begin, len) = share(self.me);
        let mine = out.wrapping_add(begin);
        let own = Vector { elements: len / size, bytes: len, ..*vector };
        // SAFETY: all have reached the turn; the share lies inside the vector.
        unsafe { self.combine(turn, elements * size, begin, self.size(), &own, mine) };
        let turn = self.next();
        // SAFETY: `mine` holds `len` bytes.
        self.publish_with(adi, turn, label, len, |to| unsafe { give(mine, to, false) })?;
        self.await_givers(adi, turn)?;
        for rank in (0..self.size()).filter(|&rank| rank != self.me) {
            let (begin, len) = share(rank);
            // SAFETY: reached, and this process publishes nothing meanwhile; the share lies inside
            // the vector.
            unsafe {
                let part = self.payload(rank, turn, len);
                std::ptr::copy_nonoverlapping(part.as_ptr(), out.add(begin), len);
            }
        }
        Ok(())
    }

    /// The reduction over the ranks up to this one; without this one if `exclusive`.
    ///
    /// # Safety
    /// As for [`Lines::reduce`].
    pub unsafe fn scan(&self, adi: &Adi, exclusive: bool, vector: &Vector, input: *const u8, out: *mut u8) -> Done {
        let (turn, label) = (self.next(), label(Kind::Scan, exclusive as u32, vector.bytes));
        // SAFETY: the caller's promise.
        self.publish_with(adi, turn, label, vector.bytes, |to| unsafe { give(input, to, true) })?;
        self.ring_all(adi);
        let end = self.me + !exclusive as usize;
        self.await_below(adi, end, turn)?;
        if end > 0 {
            // SAFETY: all below `end` have reached the turn, this process too.
            unsafe { self.combine(turn, vector.bytes, 0, end, vector, out) };
        }
        Ok(())
    }

    /// The reduction of this rank's block; `input` holds a block of `vector` for each rank.
    ///
    /// # Safety
    /// As for [`Lines::reduce`].
    pub unsafe fn reduce_scatter(&self, adi: &Adi, vector: &Vector, input: *const u8, out: *mut u8) -> Done {
        let (turn, label) = (self.next(), label(Kind::ReduceScatter, 0, vector.bytes));
        let total = vector.bytes * self.size();
        // SAFETY: the caller's promise.
        self.publish_with(adi, turn, label, total, |to| unsafe { give(input, to, false) })?;
        self.await_givers(adi, turn)?;
        // SAFETY: all have reached the turn.
        unsafe { self.combine(turn, total, self.me * vector.bytes, self.size(), vector, out) };
        Ok(())
    }
}

/// The kernel that a communicator has looked for last: most programs reduce in one way.
#[derive(Debug, Default)]
pub struct LastKernel(Cell<Option<(Op, Basic, Kernel3)>>);

impl Lines {
    /// [`kernel3`].
    #[inline]
    pub fn kernel(&self, op: Op, basic: Basic) -> Option<Kernel3> {
        match self.kernel.0.get() {
            Some((last, on, kernel)) if (last, on) == (op, basic) => Some(kernel),
            _ => {
                let kernel = kernel3(op, basic)?;
                self.kernel.0.set(Some((op, basic, kernel)));
                Some(kernel)
            }
        }
    }
}
