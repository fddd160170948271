//! The limits on address space and data of this process, out of the way of a fork.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limits are as high as the hard ones while the value lives. What a fork needs for a moment is not what they are meant for; where
/// the program has lowered them below what it has mapped, not even one mapping could come in another's place.
pub struct Raised([Option<(Resource, Rlimit)>; 2]);

impl Raised {
    pub fn new() -> Raised {
        Raised([Resource::As, Resource::Data].map(|resource| {
            let before = getrlimit(resource);
            let highest = Rlimit { current: before.maximum, ..before };
            (before.current != before.maximum && setrlimit(resource, highest).is_ok()).then_some((resource, before))
        }))
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        for (resource, before) in self.0.iter().flatten() {
            // Not refused: below the hard limit.
            let _ = setrlimit(*resource, *before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_limits_are_raised_and_come_back() {
        let before = getrlimit(Resource::Data);
        let low = Rlimit { current: Some(1 << 40), ..before };
        setrlimit(Resource::Data, low).unwrap();
        let raised = Raised::new();
        assert_eq!(getrlimit(Resource::Data).current, before.maximum);
        drop(raised);
        assert_eq!(getrlimit(Resource::Data), low);
        setrlimit(Resource::Data, before).unwrap();
    }
}
