//! What the members of a window agree on before it takes memory.

use super::together::tell;
use crate::Error;
use crate::apart::needs_shared_memory;
use crate::memory::parts;
use crate::shared::Plan;
use crate::window::Exposure;
use std::rc::Rc;
use tern_adi::Adi;
use tern_coll::Peers;
use tern_policy::one_sided;
use tern_settings::Mechanism;

/// Which window is wanted. All but `exposure` is the same at all members.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub exposure: Exposure,
    pub disp_unit: i64,
    pub mechanism: Mechanism,
    /// The members do not all share memory.
    pub apart: bool,
}

/// What is agreed.
pub(super) struct Terms {
    pub wanted: Wanted,
    /// The kernel may copy between members.
    pub kernel: bool,
    /// Members may map each other's memory.
    pub map: bool,
    /// Bytes of each member.
    pub bytes: Vec<usize>,
    /// Displacement unit of each member, in bytes.
    pub units: Vec<i64>,
    pub plan: Plan,
    /// Where the part of each member begins in memory that holds those of all.
    pub starts: Vec<usize>,
    /// Bytes of that memory; 0: each has its own.
    pub memory: usize,
}

impl Terms {
    /// Errors: the members are to share memory and do not, or one is lost.
    pub fn agree(adi: &Adi, peers: &Rc<Peers>, wanted: Wanted) -> Result<Terms, Error> {
        let Wanted { exposure, disp_unit, mechanism, apart } = wanted;
        let is_shared = matches!(exposure, Exposure::Shared { .. });
        if apart && is_shared {
            return Err(needs_shared_memory());
        }
        let map = one_sided::may_map(mechanism, apart, is_shared);
        let facts = tell(adi, peers, [exposure.bytes() as u64, disp_unit as u64, u64::from(map)])?;
        // A setting may differ from process to process; what memory is must not.
        let map = facts.iter().all(|[_, _, map]| *map == 1);
        let bytes: Vec<usize> = facts.iter().map(|[bytes, ..]| *bytes as usize).collect();
        let (starts, total) = parts(&bytes, matches!(exposure, Exposure::Shared { contiguous: true, .. }));
        Ok(Terms {
            wanted,
            kernel: one_sided::may_ask_kernel(mechanism, apart),
            map,
            plan: Plan::new(bytes.len(), exposure == Exposure::Dynamic),
            bytes,
            units: facts.iter().map(|[_, unit, _]| *unit as i64).collect(),
            starts,
            memory: if exposure.is_allocated() && map { total } else { 0 },
        })
    }

    pub fn is_dynamic(&self) -> bool {
        self.wanted.exposure == Exposure::Dynamic
    }
}
