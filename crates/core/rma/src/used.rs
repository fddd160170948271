//! Notes how accesses were made, where the user has asked for that (TERN_EXPLAIN=used).

use crate::Target;
use crate::window::Window;
use tern_policy::one_sided::Access;
use tern_policy::rules;

/// What tells ways of an access apart, before and after it.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    by_owner: u64,
    guarded: u64,
}

impl Window {
    /// To be taken before an access.
    pub fn before(&self) -> Before {
        Before { by_owner: self.by_owner.get(), guarded: rules::GUARD_MODE.count() }
    }

    /// Notes an access that was made, by what has happened since `before`. `combines`: it has combined elements with those of the target.
    pub fn note_access(&self, operation: &str, target: &Target<'_>, combines: bool, before: Before) {
        let Ok(spot) = self.locate(target) else { return };
        let now = self.before();
        let access = Access {
            way: spot.way,
            combines,
            by_owner: now.by_owner > before.by_owner,
            guarded: now.guarded > before.guarded,
        };
        let owner = self.peers.procs[target.rank as usize];
        self.adi.note_transfer(operation, owner, spot.len, access.text(), |mechanism| access.why(mechanism));
    }
}
