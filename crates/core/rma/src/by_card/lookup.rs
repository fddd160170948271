//! What a member has attached to a dynamic window, read from its table by the card.

use crate::Error;
use crate::attached::{ENTRIES, ENTRY, HEAD, Piece, Table};
use crate::elements::Side;
use crate::keys::Keys;
use crate::window::Window;
use tern_mcm::Direction;

impl Window {
    /// The piece of memory of `rank` that holds these addresses. The table is read again when it has changed.
    ///
    /// Errors: the member is lost.
    pub(crate) fn attached_by_card(&self, rank: u32, first: u64, end: u64) -> Result<Option<Piece>, Error> {
        if end < first {
            return Ok(None);
        }
        for attempt in 0.. {
            let [version, used] = self.table_head(rank)?;
            let known = self.remote(rank).found.borrow().version == version;
            if known || self.read_table(rank, version, used)? {
                break;
            }
            // Its owner changes it just now.
            self.pause(attempt)?;
        }
        let found = self.remote(rank).found.borrow();
        Ok(found.far.iter().find(|piece| piece.len > 0 && piece.holds(first, end)).copied())
    }

    fn table_head(&self, rank: u32) -> Result<[u32; 2], Error> {
        let mut head = [0u8; 8];
        self.read_words(rank, 0, &mut head)?;
        let half = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().expect("four bytes"));
        Ok([half(0), half(4)])
    }

    /// False: it has changed meanwhile.
    fn read_table(&self, rank: u32, version: u32, used: u32) -> Result<bool, Error> {
        if !version.is_multiple_of(2) {
            return Ok(false);
        }
        let mut entries = vec![0u8; (used as usize).min(ENTRIES) * ENTRY];
        self.read_words(rank, HEAD, &mut entries)?;
        if self.table_head(rank)?[0] != version {
            return Ok(false);
        }
        let mut found = self.remote(rank).found.borrow_mut();
        (found.version, found.far) = (version, Table::decode(&entries));
        Ok(true)
    }

    /// Reads bytes of the table of `rank`.
    fn read_words(&self, rank: u32, offset: usize, out: &mut [u8]) -> Result<(), Error> {
        if out.is_empty() {
            return Ok(());
        }
        let member = self.card().members[rank as usize];
        let own = Side::Dense(out.as_mut_ptr(), out.len());
        let theirs = Side::Dense((member.table + offset as u64) as *mut u8, out.len());
        let keys = Keys::One(member.words_key);
        let number = self.card_copy((rank, &keys), (&own, 0), (&theirs, 0), out.len(), Direction::Get)?;
        self.await_card(rank, number)
    }
}
