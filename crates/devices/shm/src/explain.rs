//! What TERN_EXPLAIN prints.

use crate::state::Shm;
use tern_policy::costs::Placement;
use tern_policy::pair::DIRECT_FROM;
use tern_tune::Between;

impl Shm {
    /// For each size and case: which way a message will take, and what the others would cost.
    ///
    /// Said before any peer is known. That the kernel copies is judged by whether it does so inside this process. The placement is the
    /// nearest one of two cores that this process may use, the first of them and another one; a process with one core is taken to share a cache.
    pub fn explain(&self) -> String {
        let kernel = self.direct.access.kernel_copies_here();
        let own = tern_node::affinity();
        let facts = Between {
            placement: tern_tune::placements(&own).first().copied().unwrap_or(Placement::L3),
            crowded: self.segment.geometry.processes > self.cores(),
            push: kernel,
            pull: kernel,
            eager_limit: self.eager() as u64,
            publish_from: DIRECT_FROM as u64,
            asked: tern_settings::MECHANISM.get(),
            single_copy: tern_tune::single_copy(self.direct.costs()),
            members: self.segment.geometry.processes.into(),
            cores: self.cores().into(),
        };
        tern_tune::explain(self.direct.costs(), &facts)
    }
}
