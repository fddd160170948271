//! Which types match in communication: signatures of types.

use crate::signature::SignatureRuns;
use crate::{Basic, Class, Count, Type};

impl Type {
    /// The signature of `count` elements as runs of equal basic types.
    pub fn signature(&self, count: Count) -> SignatureRuns<'_> {
        SignatureRuns::new(self.sequence(), count)
    }

    /// A hash of the signature of `count` elements: equal for equal signatures, in every
    /// process, and for nothing else but by chance of 2^-60. Integers of one size count as
    /// equal whatever the language. MPI_PACKED is hashed as itself.
    pub fn signature_hash(&self, count: Count) -> u64 {
        self.sequence().hash(count)
    }

    /// Whether a message of `count` elements of this type may be received as `other_count`
    /// elements of `other` without loss: the same sequence of basic types (MPI 5.0, section
    /// 3.3.1). Packed data matches anything of its size.
    pub fn same_signature(&self, count: Count, other: &Type, other_count: Count) -> bool {
        if count == other_count && std::ptr::eq(self, other) {
            return true;
        }
        let bytes = |ty: &Type, count: Count| i128::from(ty.size()) * i128::from(count.max(0));
        let packed = |ty: &Type| ty.uniform_basic() == Some(Basic::Packed);
        bytes(self, count) == bytes(other, other_count)
            && (packed(self) || packed(other) || self.signature_hash(count) == other.signature_hash(other_count))
    }

    /// Whether the predefined reduction operations know all its elements as one class.
    pub fn class(&self) -> Option<Class> {
        self.uniform_basic().map(Basic::class)
    }
}
