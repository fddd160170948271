//! Target memory of an access, as it was found.

use crate::keys::Key;
use crate::remote::Means;

/// Whether elements of target memory are combined by atomic instructions, where these exist: see
/// [`crate::remote::Remote::atomic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instructions {
    Never,
    /// Others may be at some of them by instructions.
    InPart,
    Possible,
}

/// Target memory of one access.
#[derive(Clone, Copy)]
pub(crate) struct Spot {
    pub way: Means,
    pub instructions: Instructions,
    /// Of dense elements that [`Means::Kernel`] reaches: those bytes that are mapped all the same, counted from the first byte of
    /// data, which need not lie at the address of the elements.
    pub middle: (usize, usize),
    /// The address of its elements here, if mapped. Their data begins at the true lower bound of their type from there.
    pub here: *mut u8,
    /// The same in its own process.
    pub address: u64,
    /// Bytes of data.
    pub len: usize,
    /// By which the network card reaches it, or some of it.
    pub key: Option<Key>,
}

impl Spot {
    /// Where what has an address in the target's process lies here.
    pub(crate) fn here_of(&self, address: u64) -> *mut u8 {
        self.here.wrapping_add(address.wrapping_sub(self.address) as usize)
    }

    /// No target.
    pub(crate) const NOTHING: Spot = Spot {
        way: Means::Mapped,
        instructions: Instructions::Never,
        middle: (0, 0),
        here: std::ptr::null_mut(),
        address: 0,
        len: 0,
        key: None,
    };
}
