//! The three forms of a collective call.

/// A collective by the name of the standard and its section: its blocking, nonblocking (section 6.12) and persistent form (section 6.13).
/// All of them make one plan. No hint of a persistent one changes anything.
macro_rules! forms {
    ($($doc:literal $section:literal $blocking:ident $nonblocking:ident $persistent:ident
        ($($argument:ident: $kind:ty),*) |$comm:ident| $plan:expr;)*) => { $(
        #[doc = concat!("MPI_", $doc, " (section ", $section, ")")]
        #[allow(clippy::too_many_arguments)]
        pub fn $blocking($($argument: $kind,)* $comm: Rc<Comm>) -> Result<()> {
            $crate::collective::run(&$comm, $plan)
        }

        #[doc = concat!("The nonblocking form of MPI_", $doc)]
        #[allow(clippy::too_many_arguments)]
        pub fn $nonblocking($($argument: $kind,)* $comm: Rc<Comm>, request: Out<usize>) -> Result<()> {
            $crate::collective::request::start(&$comm, $plan, request)
        }

        #[doc = concat!("MPI_", $doc, "_init")]
        #[allow(clippy::too_many_arguments)]
        pub fn $persistent(
            $($argument: $kind,)* $comm: Rc<Comm>, _info: Option<Rc<Info>>, request: Out<usize>,
        ) -> Result<()> {
            $crate::collective::request::persistent(&$comm, $plan, request)
        }
    )* };
}
pub(super) use forms;
