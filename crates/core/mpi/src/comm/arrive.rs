//! The members of a communicator arrive where they make another one. If it has control lines, they tell each other in one
//! step what each has to give, and most often agree on the context id with it. Else, and in the background, they do both
//! by messages ([`crate::exchange`]).

use crate::collective::{mismatched, settle};
use crate::context::{ContextId, EARLY, agree_early, allocate, offer_early};
use crate::error::Result;
use crate::exchange::Circle;
use crate::objects::Comm;
use crate::runtime::adi;
use tern_coll::lines::refusal::{Call, Known};

/// Bytes of what a member gives.
const GIVEN: usize = 8;

/// All members have arrived.
pub struct Arrived {
    /// What each has given, by rank.
    pub given: Vec<[i32; 2]>,
    id: Option<ContextId>,
}

/// Blocks until all members have arrived over the control lines; `None` if there are none. All members call it.
///
/// Errors: another one calls another collective.
pub fn arrive(comm: &Comm, given: [i32; 2]) -> Result<Option<Arrived>> {
    comm.check_revoked()?;
    if !comm.quick.get() {
        settle(comm, &Known { call: Call::Make, root: 0, bytes: GIVEN + EARLY });
    }
    let Some(lines) = comm.peers.lines(adi()) else { return Ok(None) };
    let mut mine = [0; GIVEN + EARLY];
    mine[..4].copy_from_slice(&given[0].to_ne_bytes());
    mine[4..GIVEN].copy_from_slice(&given[1].to_ne_bytes());
    mine[GIVEN..].copy_from_slice(&offer_early());
    let told = lines.tell(adi(), mine).map_err(|mismatch| mismatched(comm, mismatch))?;
    let number = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().expect("four bytes"));
    let given = told.iter().map(|bytes| [number(&bytes[..4]), number(&bytes[4..GIVEN])]).collect();
    Ok(Some(Arrived { given, id: agree_early(told.iter().map(|bytes| &bytes[GIVEN..])) }))
}

/// Whether a member has given, or gives now, that it has failed: the first number where it is not 0.
///
/// Errors: as of [`Circle::any`].
pub async fn failed(arrived: &Option<Arrived>, circle: &Circle, mine: bool) -> Result<bool> {
    match arrived {
        Some(arrived) => Ok(arrived.given.iter().any(|[failed, _]| *failed != 0)),
        None => circle.any(mine).await,
    }
}

/// The context id that was agreed on as all arrived, or is now. All have.
///
/// Errors: as of [`allocate`].
pub async fn id(arrived: Option<Arrived>, circle: &Circle) -> Result<ContextId> {
    match arrived.and_then(|arrived| arrived.id) {
        Some(id) => Ok(id),
        None => allocate(circle).await,
    }
}
