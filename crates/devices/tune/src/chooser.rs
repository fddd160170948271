//! What the settings of this process ask the policy to choose by.

use std::rc::Rc;

use tern_node::topology::Cache;
use tern_policy::costs::{Costs, SharedCache};
use tern_policy::transfer::{Chooser, SingleCopy};

use crate::{load, shared_cache};

/// `module`: this process may use the kernel module. The chooser that TERN_COSTS, TERN_MECHANISM, TERN_SINGLE_COPY_FROM and TERN_COLL_SINGLE_COPY_FROM ask for.
pub fn chooser(module: bool) -> Chooser {
    let costs = Costs { module, ..load() };
    let single_copy = single_copy(&costs);
    Chooser::new(Rc::new(costs), tern_settings::MECHANISM.get(), single_copy)
}

/// What TERN_SINGLE_COPY_FROM and TERN_COLL_SINGLE_COPY_FROM say; else the rule, where TERN_COSTS asks for measured costs and these are
/// not.
pub fn single_copy(costs: &Costs) -> SingleCopy {
    let asked = [tern_settings::SINGLE_COPY_FROM.get(), tern_settings::COLL_SINGLE_COPY_FROM.get()];
    let measures = matches!(tern_settings::COSTS.get(), "auto" | "");
    SingleCopy::new(asked, measures && !costs.is_measured(), own_cache)
}

/// The last cache of the first core of this process, shared by the processes that are expected on its cores.
fn own_cache() -> Option<SharedCache> {
    let cores = tern_node::affinity();
    shared_cache(&Cache::around(*cores.first()?), &cores)
}
