//! The exit code of a job that goes on when it loses ranks (`--with-ft`).

/// What decides the exit code beside failures that end the job, or come after MPI_Finalize.
#[derive(Debug, Default)]
pub struct Losses {
    /// The code of the rank that was lost first.
    first: Option<i32>,
    /// Some rank has ended MPI.
    finalized: bool,
}

impl Losses {
    /// A rank is lost that would have given the job this exit code.
    pub fn lost(&mut self, code: i32) {
        self.first.get_or_insert(code);
    }

    /// A rank has ended MPI. True for the first one.
    pub fn finalized(&mut self) -> bool {
        !std::mem::replace(&mut self.finalized, true)
    }

    /// The exit code of the job, where `failed` is that of the first rank that has failed by itself: a loss is survived if some rank
    /// has come to MPI_Finalize.
    pub fn code(&self, failed: Option<i32>) -> i32 {
        failed.or(self.first.filter(|_| !self.finalized)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_counts_where_nobody_has_come_to_the_end() {
        let mut losses = Losses::default();
        assert_eq!(losses.code(None), 0);
        losses.lost(137);
        losses.lost(139);
        assert_eq!((losses.code(None), losses.code(Some(3))), (137, 3));
        assert!(losses.finalized());
        assert!(!losses.finalized());
        assert_eq!((losses.code(None), losses.code(Some(3))), (0, 3));
    }
}
