//! Hints of an architecture for which none are known here.

/// Nothing.
#[inline]
pub fn prefetch<T>(_: *const T) {}

/// Nothing.
#[inline]
pub fn prefetch_for_writing<T>(_: *const T) {}

/// True when [`demote`] does something: there is no such instruction.
pub fn can_demote() -> bool {
    false
}

/// Nothing.
#[inline]
pub fn demote<T>(_: *const T) {}
