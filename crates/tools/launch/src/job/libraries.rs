//! What the user is told of the MPI libraries that programs get.

use super::Job;
use crate::library;
use crate::rank::State;

impl Job<'_> {
    /// Before the start: which library each program gets, if asked to; and in any case, if a program has folders of
    /// its own that lead it to a library that is not Tern's.
    pub(super) fn tell_libraries(&mut self) {
        let plan = self.plan;
        for program in plan.programs.iter().filter(|program| program.count > 0) {
            if !plan.verbose && !library::is_fixed(program) {
                continue;
            }
            for loaded in library::of(program) {
                let beaten = loaded.fixed.is_some() && loaded.file.is_some() && !loaded.is_own();
                if plan.verbose || beaten {
                    self.say(&format!("{}: {}", program.name, loaded.told()));
                }
            }
        }
    }

    /// After the end of several processes none of which has ever called Tern's MPI_Init: whether that is because
    /// they had another MPI library, where each of them was alone.
    pub(super) fn tell_foreign(&mut self) {
        let plan = self.plan;
        let never = self.ranks.iter().all(|rank| rank.world == 0 && rank.state == State::Started);
        if !never || plan.nodes.size() < 2 || plan.verbose {
            return;
        }
        for program in plan.programs.iter().filter(|program| program.count > 0) {
            let foreign = library::of(program).into_iter().find(|loaded| loaded.file.is_some() && !loaded.is_own());
            if let Some(loaded) = foreign {
                let remedy = if plan.leaves_path { "; without --no-library-path it would be" } else { "" };
                let name = &program.name;
                self.say(&format!("each process of {name} was alone in its world: {}{remedy}", loaded.told()));
            }
        }
    }
}
