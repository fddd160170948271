//! Requests at the memory of other processes: reads, writes, and atomics on words of 8 bytes.

use super::{Fabric, Posted, posted};
use crate::abi::*;
use std::ffi::{c_int, c_void};

/// A place in the memory of a process, as the provider is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct There {
    pub to: fi_addr_t,
    /// An address of that process, or bytes from the start of what the key is of.
    pub address: u64,
    pub key: u64,
}

/// How a word is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Add(u64),
    Swap { compare: u64, swap: u64 },
}

/// What an atomic works with: the operand, what it is compared with, and room for what was there.
pub type Cell = [u64; 8];

impl Fabric {
    /// Whether memory of other processes can be read and written. A key of the provider's says nothing of where the memory begins:
    /// then addresses have to be those of its owner.
    pub fn has_accesses(&self) -> bool {
        let addressed = !self.offer.asks(FI_MR_PROV_KEY) || self.offer.asks(FI_MR_VIRT_ADDR);
        // SAFETY: the endpoint is open.
        addressed && self.offer.has(FI_RMA) && unsafe { !(*self.ep).rma.is_null() }
    }

    /// Whether words can be changed in one step.
    pub fn has_atomics(&self) -> bool {
        if !self.has_accesses() || !self.offer.has(FI_ATOMIC) {
            return false;
        }
        // SAFETY: the endpoint is open; the functions of its table only tell.
        unsafe {
            let Some(atomic) = (*self.ep).atomic.as_ref() else { return false };
            let has = |valid: Valid, operation: c_int| {
                let mut count = 0;
                valid(self.ep, FI_UINT64, operation, &raw mut count) == 0 && count > 0
            };
            has(atomic.readwritevalid, FI_SUM) && has(atomic.compwritevalid, FI_CSWAP)
        }
    }

    /// Reads from the memory of a process; `context` completes.
    ///
    /// # Safety
    /// Own memory is left to the request until then; the context is lent to the provider as long.
    pub unsafe fn read(
        &self, into: *mut u8, len: usize, descriptor: *mut c_void, from: There, context: *mut c_void,
    ) -> Posted {
        let There { to, address, key } = from;
        // SAFETY: the endpoint is open and has these requests; the contract.
        posted(unsafe { ((*(*self.ep).rma).read)(self.ep, into.cast(), len, descriptor, to, address, key, context) })
    }

    /// Writes to the memory of a process; `context` completes when the bytes are there.
    ///
    /// # Safety
    /// Own memory is not changed until then; the context is lent to the provider as long.
    pub unsafe fn write(
        &self, from: *mut u8, len: usize, descriptor: *mut c_void, there: There, context: *mut c_void,
    ) -> Posted {
        let iov = libc::iovec { iov_base: from.cast(), iov_len: len };
        let theirs = fi_rma_iov { addr: there.address, len, key: there.key };
        let mut descriptor = descriptor;
        let message = fi_msg_rma {
            msg_iov: &raw const iov,
            desc: &raw mut descriptor,
            iov_count: 1,
            addr: there.to,
            rma_iov: &raw const theirs,
            rma_iov_count: 1,
            context,
            data: 0,
        };
        let flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
        // SAFETY: as above.
        posted(unsafe { ((*(*self.ep).rma).writemsg)(self.ep, &raw const message, flags) })
    }

    /// Changes a word; `context` completes, and then what was there stands in word 2 of the cell.
    ///
    /// # Safety
    /// The cell is left to the request until then; the context is lent to the provider as long.
    pub unsafe fn change(
        &self, change: Change, cell: *mut Cell, descriptor: *mut c_void, there: There, context: *mut c_void,
    ) -> Posted {
        let There { to, address, key } = there;
        let (operand, compare) = match change {
            Change::Add(add) => (add, 0),
            Change::Swap { compare, swap } => (swap, compare),
        };
        let word = |index: usize| cell.cast::<u64>().wrapping_add(index);
        // SAFETY: the endpoint is open and has these requests; the cell has room for three words.
        posted(unsafe {
            word(0).write(operand);
            word(1).write(compare);
            let (operand, result) = (word(0).cast::<c_void>(), word(2).cast::<c_void>());
            let atomic = &*(*self.ep).atomic;
            match change {
                Change::Add(_) => (atomic.readwrite)(
                    self.ep, operand, 1, descriptor, result, descriptor, to, address, key, FI_UINT64, FI_SUM, context,
                ),
                Change::Swap { .. } => (atomic.compwrite)(
                    self.ep,
                    operand,
                    1,
                    descriptor,
                    word(1).cast::<c_void>(),
                    descriptor,
                    result,
                    descriptor,
                    to,
                    address,
                    key,
                    FI_UINT64,
                    FI_CSWAP,
                    context,
                ),
            }
        })
    }
}
