//! The target's side of accesses by messages: what others ask is done here, in the progress of the
//! target.

use crate::attached::Piece;
use crate::combine::{Combination, is_swapped_by_instruction};
use crate::elements::{Row, Side};
use crate::guarded::Part;
use crate::messages::{Asked, Kind, Served};
use crate::window::Window;
use std::rc::{Rc, Weak};
use tern_adi::{Background, Data};
use tern_coll::ops::Op;
use tern_layout::Type;

impl Window {
    /// Looks for messages from now on.
    pub(crate) fn attend(&self) {
        if !self.attends.replace(true) {
            let weak = self.weak.clone();
            self.adi.add_hook(Rc::new(move |_| attend(&weak)));
            if self.survives && self.apart {
                let weak = self.weak.clone();
                self.adi.add_hook(Rc::new(move |_| forget(&weak)));
            }
        }
    }

    /// Does what `asked` asks of this process.
    pub(crate) fn serve(&self, asked: &Asked<'_>, answer: &mut Vec<u8>) -> Served {
        if asked.kind.is_access() && !asked.ranges().all(|(at, bytes)| self.has_own(at, bytes)) {
            return Served::Damaged("it names memory that is not in the window, or no longer");
        }
        let done = match asked.kind {
            Kind::Put => {
                let mut at = 0;
                for (to, len) in asked.runs() {
                    // SAFETY: it lies in the window.
                    unsafe { Side::Dense(to, len).scatter(0, &asked.data[at..at + len]) };
                    at += len;
                }
                true
            }
            Kind::Get => {
                for (from, len) in asked.runs() {
                    // SAFETY: it lies in the window.
                    answer.extend_from_slice(unsafe { std::slice::from_raw_parts(from, len) });
                }
                true
            }
            Kind::Combine | Kind::Fetch => self.serve_combination(asked, answer),
            Kind::Swap => self.serve_swap(asked, answer),
            _ => return self.serve_apart(asked, answer),
        };
        if done { Served::Done } else { Served::NotNow }
    }

    /// True when instructions are used on own memory, or on a part of it.
    fn is_own_atomic(&self, at: *const u8, len: usize) -> bool {
        if !self.dynamic {
            let own = self.remote(self.rank());
            let start = (at as u64).wrapping_sub(own.address) as usize;
            return own.atomic.start <= start && start + len <= own.atomic.end;
        }
        let (first, end) = (at as u64, at as u64 + len as u64);
        let is_part = |piece: &Piece| piece.place != 0 && piece.start < end && first < piece.start + piece.len;
        matches!(self.shared.table(self.rank()).find(is_part), Some((Some(_), _)))
    }

    /// True when instructions are used on a part of own memory that this is not all in.
    fn is_partly_atomic(&self, at: *const u8, len: usize) -> bool {
        if self.dynamic {
            return false;
        }
        let own = self.remote(self.rank());
        let start = (at as u64).wrapping_sub(own.address) as usize;
        let inside = own.atomic.start <= start && start + len <= own.atomic.end;
        !inside && start < own.atomic.end && own.atomic.start < start + len
    }

    /// False: not now.
    fn serve_combination(&self, asked: &Asked<'_>, answer: &mut Vec<u8>) -> bool {
        let Asked { op, basic, kind, .. } = *asked;
        // What is decoded has an operation that takes the type.
        let Ok(combination) = Combination::find(op, basic) else { return true };
        let Some(inside) = self.try_enter(self.rank()) else { return false };
        let (size, extent) = (basic.size() as usize, basic.extent() as usize);
        let count = asked.len / size;
        let data = Data::Bytes(asked.data.as_ptr().cast_mut(), asked.data.len());
        // SAFETY: the data is the message's.
        let operand = (op != Op::NoOp).then(|| unsafe { Row::of_few(&data, basic, count) });
        let old = (kind == Kind::Fetch).then(|| Row::room(basic, count));
        let start = |row: &Option<Row>| row.as_ref().map_or(std::ptr::null_mut(), Row::start);
        let mut done = 0;
        for (target, count) in asked.runs() {
            let at = |row: &Option<Row>| match start(row) {
                start if start.is_null() => start,
                start => start.wrapping_add(done * extent),
            };
            let part = Part { operand: at(&operand), target, result: at(&old), count };
            let instructions = self.is_own_atomic(target, count * extent) && combination.is_atomic(target);
            if !instructions && self.is_partly_atomic(target, count * extent) {
                // Others may be at some of it by instructions.
                self.keep_from_instructions(&inside);
            }
            // SAFETY: the target lies in the window; the rows hold all elements.
            unsafe { self.combine_inside(&inside, combination, instructions, &part) };
            done += count;
        }
        drop(inside);
        if let Some(old) = old {
            let start = answer.len();
            answer.resize(start + asked.len, 0);
            let into = Data::Bytes(answer[start..].as_mut_ptr(), asked.len);
            let ty = Type::basic(basic);
            // SAFETY: both hold that many elements.
            unsafe { Side::of(&into).copy_from(&Side::new(old.start(), count as i64, &ty)) };
        }
        true
    }

    fn serve_swap(&self, asked: &Asked<'_>, answer: &mut Vec<u8>) -> bool {
        let Some((target, _)) = asked.runs().next() else { return true };
        let Some(inside) = self.try_enter(self.rank()) else { return false };
        let size = asked.len;
        let atomic = is_swapped_by_instruction(size, target) && self.is_own_atomic(target, size);
        let (compare, origin) = asked.data.split_at(size);
        let mut old = [0u8; 32];
        let (origin, compare, into) = (origin.as_ptr(), compare.as_ptr(), old.as_mut_ptr());
        // SAFETY: all are one element, of at most 32 bytes.
        unsafe { self.swap_inside(&inside, size, atomic, origin, compare, into, target) };
        answer.extend_from_slice(&old[..size]);
        true
    }
}

/// The hook: serves what others ask of this process.
fn attend(window: &Weak<Window>) -> Background {
    match window.upgrade() {
        Some(window) if !window.over.get() || !window.messages.is_sent() => {
            window.messages.progress(|asked, answer| window.serve(asked, answer))
        }
        _ => Background::Over,
    }
}

/// The hook of a job that goes on: takes from lost members what they have of this one.
fn forget(window: &Weak<Window>) -> Background {
    match window.upgrade() {
        Some(window) if !window.over.get() => {
            if window.take_turns_of_lost() {
                Background::Moved
            } else {
                Background::Waiting
            }
        }
        _ => Background::Over,
    }
}
