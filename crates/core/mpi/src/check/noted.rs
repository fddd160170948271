//! Accesses to the memory of windows, as the members tell each other of them, and which of them conflict (TERN_CHECK; MPI 5.0
//! section 12.7). Nothing here communicates.

use crate::check::active::{Run, common};

/// So many conflicts are told at once.
pub const TOLD: usize = 4;

/// What an access does to the memory of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Put,
    Get,
    Accumulate,
    /// Of the owner, in another call of MPI.
    Load,
    /// Of the owner, without MPI.
    Store,
}

const WHATS: [What; 5] = [What::Put, What::Get, What::Accumulate, What::Load, What::Store];

impl What {
    /// The operation, for the user.
    pub fn name(self) -> &'static str {
        match self {
            What::Put => "put",
            What::Get => "get",
            What::Accumulate => "accumulate",
            What::Load => "load",
            What::Store => "store",
        }
    }

    /// Whether the outcome of both depends on which is first. What a get sees of an accumulate is either value.
    fn conflicts(self, other: What) -> bool {
        let writes = |what| matches!(what, What::Put | What::Store);
        let reads = |what| matches!(what, What::Get | What::Load);
        let pair = |one, other| writes(one) && (writes(other) || reads(other) || other == What::Accumulate);
        pair(self, other) || pair(other, self) || self == What::Load && other == What::Accumulate
    }
}

/// An access, as all members of the window learn of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    pub what: What,
    pub origin: i64,
    pub target: i64,
    /// The number of the fence before it, if it is of a fence's epoch.
    pub fence: i64,
    /// The phase of the origin, if it is of an epoch that others may have at the same time, and the phase is known; else -1.
    pub phase: i64,
    pub function: String,
    pub runs: Vec<Run>,
}

impl Noted {
    /// Whether nothing orders the two.
    fn is_beside(&self, other: &Noted) -> bool {
        let fence = self.fence >= 0 && self.fence == other.fence;
        fence || self.phase >= 0 && self.phase == other.phase
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        let what = WHATS.iter().position(|what| *what == self.what).unwrap_or(0) as i64;
        let name = self.function.as_bytes();
        let numbers =
            [what, self.origin, self.target, self.fence, self.phase, name.len() as i64, self.runs.len() as i64];
        let runs = self.runs.iter().flat_map(|run| [run.0, run.1]);
        numbers.into_iter().chain(runs).for_each(|number| out.extend_from_slice(&number.to_ne_bytes()));
        out.extend_from_slice(name);
    }

    pub fn decode(bytes: &mut &[u8]) -> Option<Noted> {
        let mut next = || {
            let (number, rest) = bytes.split_first_chunk::<8>()?;
            *bytes = rest;
            Some(i64::from_ne_bytes(*number))
        };
        let what = WHATS.get(next()? as usize).copied()?;
        let (origin, target, fence, phase) = (next()?, next()?, next()?, next()?);
        let (name, count) = (next()?, next()?);
        let runs = (0..count).map(|_| Some((next()?, next()?))).collect::<Option<_>>()?;
        let (name, rest) = bytes.split_at_checked(name as usize)?;
        let function = String::from_utf8_lossy(name).into_owned();
        *bytes = rest;
        Some(Noted { what, origin, target, fence, phase, function, runs })
    }
}

/// The pairs of accesses to one process's memory whose outcome depends on which is first, in words.
pub fn conflicts(here: &[Noted]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, one) in here.iter().enumerate() {
        for other in &here[at + 1..] {
            if one.origin == other.origin || !one.what.conflicts(other.what) || !one.is_beside(other) {
                continue;
            }
            let Some((low, high)) = common(&one.runs, &other.runs) else { continue };
            found.push(format!(
                "{} at rank {} and {} at rank {} have bytes {low} to {high} of the memory of rank {} in common, and nothing orders \
                 them: what is there then, or what they get, is not defined (section 12.7)",
                one.function, one.origin, other.function, other.origin, one.target
            ));
            if found.len() >= TOLD {
                return found;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(what: What, origin: i64, fence: i64, phase: i64, runs: &[Run]) -> Noted {
        Noted { what, origin, target: 1, fence, phase, function: "MPI_Put".into(), runs: runs.to_vec() }
    }

    #[test]
    fn a_note_survives_its_bytes() {
        let notes = [noted(What::Put, 0, 3, -1, &[(0, 4), (8, 12)]), noted(What::Store, 2, -1, 7, &[])];
        let mut bytes = Vec::new();
        notes.iter().for_each(|noted| noted.encode(&mut bytes));
        let mut rest = bytes.as_slice();
        let back: Vec<Noted> = std::iter::from_fn(|| Noted::decode(&mut rest)).collect();
        assert_eq!(back, notes);
        assert_eq!(Noted::decode(&mut &bytes[..20]), None);
    }

    #[test]
    fn what_meets_in_one_epoch_is_told() {
        let put = noted(What::Put, 0, 1, -1, &[(0, 40)]);
        for what in [What::Put, What::Get, What::Accumulate, What::Load, What::Store] {
            assert_eq!(conflicts(&[put.clone(), noted(what, 2, 1, -1, &[(36, 48)])]).len(), 1, "{what:?}");
            // Other bytes, another fence, the same origin.
            assert_eq!(conflicts(&[put.clone(), noted(what, 2, 1, -1, &[(40, 48)])]).len(), 0, "{what:?}");
            assert_eq!(conflicts(&[put.clone(), noted(what, 2, 2, -1, &[(36, 48)])]).len(), 0, "{what:?}");
            assert_eq!(conflicts(&[put.clone(), noted(what, 0, 1, -1, &[(36, 48)])]).len(), 0, "{what:?}");
        }
        let get = noted(What::Get, 0, -1, 5, &[(0, 4)]);
        for (what, phase, count) in
            [(What::Put, 5, 1), (What::Put, 6, 0), (What::Get, 5, 0), (What::Accumulate, 5, 0), (What::Load, 5, 0)]
        {
            assert_eq!(conflicts(&[get.clone(), noted(what, 2, -1, phase, &[(0, 4)])]).len(), count, "{what:?}");
        }
    }
}
