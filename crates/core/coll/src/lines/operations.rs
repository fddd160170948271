//! Operations that move bytes, in one turn or in parts. Reductions are in [`super::reduce`].

use super::label::{Done, END, MORE, label};
use super::{Kind, Lines, Mismatch};
use tern_adi::Adi;
use tern_mcm::ControlSlots;

impl Lines {
    pub fn barrier(&self, adi: &Adi) -> Done {
        let (turn, label) = (self.next(), label(Kind::Barrier, 0, 0));
        self.publish(turn, label);
        self.await_all(adi, turn)
    }

    /// `send` fills the root's `len` bytes; `take` gets them elsewhere. Longer data takes several
    /// turns of up to the capacity.
    pub fn bcast(
        &self, adi: &Adi, root: usize, len: usize, mut send: impl FnMut(usize, &mut [u8]),
        mut take: impl FnMut(usize, &[u8]),
    ) -> Done {
        let mut at = 0;
        loop {
            let part = (len - at).min(self.chunk(len));
            let label = self.label_of_part(root, at, len);
            let turn = self.next();
            if self.me == root {
                self.publish_with(adi, turn, label, part, |out| send(at, out))?;
                self.ring_all(adi);
            } else {
                self.publish(turn, label);
                adi.mcm().ring(self.procs[root]);
                self.await_one(adi, root, turn)?;
                // SAFETY: reached just now, and this process publishes nothing before `take` ends.
                take(at, unsafe { self.payload(root, turn, part) });
            }
            at += part;
            if at >= len {
                return Ok(());
            }
        }
    }

    /// Every member but the root gives `len` bytes; the root takes them with their ranks.
    #[inline]
    pub fn gather(
        &self, adi: &Adi, root: usize, len: usize, send: impl FnOnce(&mut [u8]), take: impl FnMut(usize, &[u8]),
    ) -> Done {
        self.gather_part(adi, root, len, false, send, take)
    }

    /// [`Lines::gather`] of a part, behind which there are `more`.
    #[inline]
    pub fn gather_part(
        &self, adi: &Adi, root: usize, len: usize, more: bool, send: impl FnOnce(&mut [u8]),
        mut take: impl FnMut(usize, &[u8]),
    ) -> Done {
        let label = label(Kind::Gather, root as u32, len) | if more { MORE } else { 0 };
        let turn = self.next();
        if self.me != root {
            self.publish_with(adi, turn, label, len, send)?;
            self.ring_all(adi);
            return Ok(());
        }
        self.publish(turn, label);
        self.await_all(adi, turn)?;
        for rank in (0..self.size()).filter(|&rank| rank != root) {
            // SAFETY: reached, and this process publishes nothing meanwhile.
            take(rank, unsafe { self.payload(rank, turn, len) });
        }
        Ok(())
    }

    /// Where the block of `rank` begins in what `owner` gives for all others, in blocks.
    #[inline(always)]
    pub(crate) fn block(owner: usize, rank: usize) -> usize {
        rank - usize::from(rank > owner)
    }

    /// The root gives a block of `len` bytes for each other rank, in order; the others take theirs.
    pub fn scatter(
        &self, adi: &Adi, root: usize, len: usize, send: impl FnOnce(&mut [u8]), take: impl FnOnce(&[u8]),
    ) -> Done {
        let (turn, label) = (self.next(), label(Kind::Scatter, root as u32, len));
        let total = len * (self.size() - 1);
        if self.me == root {
            self.publish_with(adi, turn, label, total, send)?;
            self.ring_all(adi);
            return Ok(());
        }
        self.publish(turn, label);
        adi.mcm().ring(self.procs[root]);
        self.await_one(adi, root, turn)?;
        // SAFETY: reached, and this process publishes nothing meanwhile.
        take(&unsafe { self.payload(root, turn, total) }[Lines::block(root, self.me) * len..][..len]);
        Ok(())
    }

    /// Every member gives `len` bytes, a part of `whole`, and takes those of the others.
    pub fn allgather(
        &self, adi: &Adi, whole: usize, len: usize, send: impl FnOnce(&mut [u8]), mut take: impl FnMut(usize, &[u8]),
    ) -> Done {
        let (turn, label) = (self.next(), label(Kind::Allgather, 0, whole));
        self.publish_with(adi, turn, label, len, send)?;
        self.await_givers(adi, turn)?;
        for rank in (0..self.size()).filter(|&rank| rank != self.me) {
            // SAFETY: reached, and this process publishes nothing meanwhile.
            take(rank, unsafe { self.payload(rank, turn, len) });
        }
        Ok(())
    }

    /// What every member gives, by rank: a few bytes of the library's own, as many at all.
    pub fn tell<const N: usize>(&self, adi: &Adi, mine: [u8; N]) -> Result<Vec<[u8; N]>, Mismatch> {
        const { assert!(ControlSlots::in_cell(N)) };
        let turn = self.give(adi, Kind::Tell, N, N, |out| out.copy_from_slice(&mine))?;
        self.await_givers(adi, turn)?;
        // SAFETY: reached, and this process publishes nothing meanwhile.
        let told = (0..self.size()).map(|rank| unsafe { self.payload(rank, turn, N) });
        Ok(told.map(|bytes| bytes.try_into().expect("as many bytes")).collect())
    }

    /// MPI_Finalize: every member has come, and knows whether all of them `wish`.
    pub fn meet_at_the_end(&self, adi: &Adi, wish: bool) -> Result<bool, Mismatch> {
        let turn = self.give(adi, Kind::Tell, END, END, |out| out[0] = wish.into())?;
        self.await_givers(adi, turn)?;
        // SAFETY: reached, and this process publishes nothing meanwhile.
        Ok((0..self.size()).all(|rank| unsafe { self.payload(rank, turn, END) }[0] != 0))
    }

    /// Every member gives `len` bytes of a block of `whole` for each other rank, in order, and takes its own of theirs.
    pub fn alltoall(
        &self, adi: &Adi, whole: usize, len: usize, send: impl FnOnce(&mut [u8]), mut take: impl FnMut(usize, &[u8]),
    ) -> Done {
        let (turn, label) = (self.next(), label(Kind::Alltoall, 0, whole));
        let total = len * (self.size() - 1);
        self.publish_with(adi, turn, label, total, send)?;
        self.await_givers(adi, turn)?;
        for rank in (0..self.size()).filter(|&rank| rank != self.me) {
            // SAFETY: reached, and this process publishes nothing meanwhile.
            let all = unsafe { self.payload(rank, turn, total) };
            take(rank, &all[Lines::block(rank, self.me) * len..][..len]);
        }
        Ok(())
    }
}
