//! Copies whose share of this process its thread does ([`crate::copier`]).

use crate::copier::{Copier, Offload, Progress, Task};
use crate::posted_receives::{PostedReceives, Word};
use crate::segment::Occupation;
use crate::share::{Reach, Side};
use crate::state::Shm;
use crate::transfers::Pending;
use tern_counters as counters;
use tern_policy::offload::{MAY_PAY_FROM, Spare, may_have_copier};

impl Shm {
    /// Whether a thread of this process may copy so much, while the program goes on: a call that waits copies itself.
    pub(super) fn has_copier(&self, size: u64) -> bool {
        // A program that has started threads since has work for its cores.
        size >= MAY_PAY_FROM
            && self.copies_beside()
            && (tern_settings::OFFLOAD.get() != tern_settings::Offload::Auto || tern_region::has_one_thread())
    }

    /// Whether that is so as far as it is known without a question to the kernel, but for the first time.
    pub(super) fn copies_beside(&self) -> bool {
        let offload = &self.direct.offload;
        if offload.get() == Offload::Never
            || tern_atomics::now().is_some()
            || self.segment.process(self.me).occupation() == Occupation::Waits
        {
            return false;
        }
        if offload.get() == Offload::Unasked {
            let may = !self.direct.checked
                && may_have_copier(tern_settings::OFFLOAD.get(), self.direct.access.declares(), || self.spare());
            offload.set(if may { Offload::Possible } else { Offload::Never });
        }
        offload.get() == Offload::Possible
    }

    /// What is known of this process's cores. Asks the kernel of every process of the node.
    #[cold]
    fn spare(&self) -> Spare {
        let own = tern_node::affinity();
        let quota = tern_node::limits().cpus.map_or(usize::MAX, |cpus| cpus as usize);
        let processes = self.segment.geometry.processes;
        let shares = |peer: u32| {
            let pid = self.segment.process(peer).introduction().map(|introduced| introduced.pid as i32);
            let theirs = pid.and_then(rustix::process::Pid::from_raw).and_then(tern_node::affinity_of);
            // One that is not known may be anywhere.
            theirs.is_none_or(|theirs| theirs.iter().any(|core| own.contains(core)))
        };
        let sharers = 1 + (0..processes).filter(|&peer| peer != self.me && shares(peer)).count();
        // A limit of the container is the node's.
        let limited = if quota / 2 < processes as usize { 1 } else { own.len() };
        Spare { one_thread: tern_region::has_one_thread(), cores: limited, sharers }
    }

    /// Gives this side's share of a copy with `peer` to the thread. False: the process has to do it.
    pub(super) fn hand_over(&self, peer: u32, posted: &PostedReceives, slot: u32, word: Word, side: Side) -> bool {
        let theirs = match side {
            Side::Sender => posted.target(slot),
            Side::Receiver => posted.source(slot, word),
        };
        let access = &self.direct.access;
        let reach = match word.is_by_kernel() {
            true => access.reached_by_number(peer).map(Reach::Process),
            false => access.held_view(&theirs).map(Reach::View),
        };
        let Some(reach) = reach else { return false };
        let bells = [self.segment.doorbell(self.me), self.segment.doorbell(peer)].map(std::ptr::from_ref);
        let task = Task { posted: std::ptr::from_ref(posted), slot, word, side, reach, bells };
        // SAFETY: the segment outlives the thread (`Shm::drop`); a view is held; `is_handed_over` keeps this process from copies by the kernel.
        let given = self.start_copier() && self.with_copier(false, |copier| unsafe { copier.give(&task) });
        match given {
            true => {
                counters::OFFLOADED.add(1);
                counters::OFFLOADED_BYTES.add(theirs.len.min(posted.target(slot).len));
            }
            false if !word.is_by_kernel() => access.let_go(1),
            false => {}
        }
        given
    }

    /// True once the thread runs.
    fn start_copier(&self) -> bool {
        if self.direct.copier.get().is_some() {
            return true;
        }
        match Copier::start() {
            Ok(copier) => self.direct.copier.set(copier).is_ok(),
            Err(error) => {
                tern_settings::debug!("no thread that copies: {error}. Messages are copied by the program's calls");
                self.direct.offload.set(Offload::Never);
                false
            }
        }
    }

    /// What the thread says, or `otherwise` where there is none. By any thread.
    fn with_copier<R>(&self, otherwise: R, ask: impl FnOnce(&Copier) -> R) -> R {
        self.direct.copier.get().map_or(otherwise, ask)
    }

    /// Whether only the thread may do this side's share of the copy, now.
    pub(super) fn is_handed_over(&self, posted: &PostedReceives, slot: u32, word: Word) -> bool {
        word.is_by_kernel()
            && self.with_copier(false, |copier| copier.has(posted, slot, word) == Some(Progress::UnderWay))
    }

    /// The same of a message that this process sends; notes that the kernel has refused a part of it.
    pub(super) fn is_sent_by_thread(&self, message: &mut Pending) -> bool {
        let Pending { peer, slot, word, .. } = *message;
        if !word.is_by_kernel() {
            return false;
        }
        let posted = self.segment.posted(peer, self.me);
        let progress = self.with_copier(None, |copier| copier.has(posted, slot, word));
        message.failed |= progress == Some(Progress::Failed);
        progress == Some(Progress::UnderWay)
    }

    /// Gives up the views of copies that the thread has left. Called where the process looks for news.
    #[inline]
    pub(super) fn let_go_of_copies(&self) {
        let views = self.with_copier(0, Copier::let_go);
        if views > 0 {
            self.direct.access.let_go(views);
        }
    }

    /// Waits until the thread, and the kernel module, have left all that they were given: as long as the copies take.
    pub(crate) fn finish_shares(&self) {
        self.with_copier((), Copier::finish);
        self.await_beside(None);
    }

    /// Nothing more is copied between this process and `peer`, which is lost: the thread has left what it was given, and no receive is
    /// published there. Wherever the peer has stopped in a slot, it stores nothing there any more.
    pub(super) fn abandon_copies(&self, peer: u32) {
        self.finish_shares();
        self.end_beside(peer);
        // A fork in another thread may hold a receive, or do this side's share of a copy.
        let _forks = self.direct.access.keep_forks_out();
        self.own_posted(peer).in_use().for_each(|slot| self.forget(peer, slot));
        self.direct.pending.borrow_mut().retain(|message| message.peer != peer);
    }
}
