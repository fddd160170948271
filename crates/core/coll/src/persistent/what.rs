//! What a persistent collective over lines of its own does: those in which all members give and all take.

use crate::blocks::{block_data, get, own, put, read_in_allgather, read_in_alltoall};
use crate::buffers::any_vector;
use crate::buffers::{Buffer, Operator};
use crate::lines::declared::Own;
use crate::lines::{Kind, Lines, Mismatch, Vector};
use tern_adi::Adi;
use tern_layout::Type;
use tern_policy::collective::{CollPlan, Operands, Shape};

/// A collective with its memory at this process. `send` is `None`, and `input` null, for MPI_IN_PLACE.
pub enum What {
    Barrier,
    Allgather {
        send: Option<Buffer>,
        recv: Buffer,
    },
    Alltoall {
        send: Option<Buffer>,
        recv: Buffer,
    },
    /// MPI_Allreduce, or MPI_Reduce_scatter_block if `scatter`, with a vector for each block.
    Reduction {
        vector: Vector,
        input: *const u8,
        out: *mut u8,
        scatter: bool,
        commutative: bool,
    },
}

impl What {
    /// A reduction of `count` elements to all, or of as many for each rank; `None` if no kernel does it.
    pub fn reduction(
        send: *const u8, recv: *mut u8, count: i64, ty: &Type, op: &Operator, scatter: bool,
    ) -> Option<What> {
        let vector = any_vector(op, ty, count).filter(|vector| vector.elements > 0)?;
        Some(What::Reduction { vector, input: send, out: recv, scatter, commutative: op.is_commutative() })
    }

    /// What its turns are labelled with: the bytes are those of one block.
    pub fn label(&self) -> (Kind, usize) {
        match self {
            What::Barrier => (Kind::Barrier, 0),
            What::Allgather { recv, .. } => (Kind::Allgather, recv.bytes()),
            What::Alltoall { recv, .. } => (Kind::Alltoall, recv.bytes()),
            What::Reduction { vector, scatter: true, .. } => (Kind::ReduceScatter, vector.bytes),
            What::Reduction { vector, .. } => (Kind::Allreduce, vector.bytes),
        }
    }

    /// How many buffers of each member the others read.
    pub fn buffers(&self, lines: &Lines) -> usize {
        1 + usize::from(matches!(self, What::Reduction { scatter: false, .. }) && lines.has_shares())
    }

    /// What a round does that begins now.
    pub fn plan(&self, lines: &Lines) -> CollPlan {
        let (kind, bytes) = self.label();
        let what = kind.collective().expect("a collective");
        let operands = match self {
            What::Reduction { commutative, .. } => Operands::Vectors { commutative: *commutative },
            _ => Operands::Nothing,
        };
        lines.plan(what, &Shape { bytes, operands, persistent: true })
    }

    /// Where the memory lies that the others read where a round goes in place.
    pub fn places(&self, lines: &Lines) -> [Own; 2] {
        let (_, len) = self.label();
        match self {
            What::Barrier => [(std::ptr::null(), 0); 2],
            What::Allgather { send, recv } => [read_in_allgather(lines, send.as_ref(), recv); 2],
            What::Alltoall { send, recv } => [read_in_alltoall(lines, send.as_ref(), recv); 2],
            What::Reduction { input, scatter: true, .. } => [(*input, len * lines.size()); 2],
            What::Reduction { input, out, scatter: false, .. } => lines.read_in_allreduce(*input, *out, len),
        }
    }

    /// Bytes that each member publishes then.
    fn given(&self, lines: &Lines) -> usize {
        let (_, len) = self.label();
        match self {
            What::Barrier => 0,
            What::Allgather { .. } | What::Reduction { scatter: false, .. } => len,
            What::Alltoall { .. } => len * (lines.size() - 1),
            What::Reduction { .. } => len * lines.size(),
        }
    }

    /// Publishes what this member gives, in a turn that all are to be waited for.
    pub fn give(&self, adi: &Adi, lines: &Lines) -> Result<u64, Mismatch> {
        let (kind, len) = self.label();
        lines.give(adi, kind, len, self.given(lines), |out| match self {
            What::Barrier => {}
            What::Allgather { send: Some(send), .. } => get(send, 0, out),
            What::Allgather { send: None, recv } => get(recv, lines.rank(), out),
            What::Alltoall { send, recv } => {
                let source = send.as_ref().unwrap_or(recv);
                let blocks = lines.others(lines.rank()).zip(out.chunks_exact_mut(len.max(1)));
                blocks.for_each(|(rank, out)| get(source, rank, out));
            }
            What::Reduction { input, out: vector, .. } => {
                let input = if input.is_null() { vector.cast_const() } else { *input };
                // SAFETY: the program's buffer holds so much, and shared memory is apart from it.
                unsafe { tern_copy::plain(out.as_mut_ptr(), input, out.len()) };
            }
        })
    }

    /// The own block, where it is neither given nor taken.
    fn keep_own(&self, lines: &Lines) {
        let me = lines.rank();
        match self {
            What::Allgather { send: Some(send), recv } => own(send, 0, recv, me),
            What::Alltoall { send: Some(send), recv } => own(send, me, recv, me),
            _ => {}
        }
    }

    /// Takes what all members have given in `turn`.
    pub fn take(&self, lines: &Lines, turn: u64) {
        let (me, (_, len)) = (lines.rank(), self.label());
        let given = self.given(lines);
        // SAFETY: all have reached the turn with so many bytes, and this process publishes nothing meanwhile.
        let theirs = |rank: usize| unsafe { lines.payload(rank, turn, given) };
        self.keep_own(lines);
        match self {
            What::Barrier => {}
            What::Allgather { recv, .. } => lines.others(me).for_each(|rank| put(recv, rank, theirs(rank))),
            What::Alltoall { recv, .. } => {
                let block = |rank: usize| &theirs(rank)[Lines::block(rank, me) * len..][..len];
                lines.others(me).for_each(|rank| put(recv, rank, block(rank)));
            }
            What::Reduction { vector, out, scatter, .. } => {
                let from = if *scatter { me * len } else { 0 };
                // SAFETY: as above; `out` holds the vector.
                unsafe { lines.combine(turn, given, from, lines.size(), vector, *out) };
            }
        }
    }

    /// Reads the others' memory, whose places were told in `turn`; of a reduction to all, the own share of it. False: some cannot
    /// be mapped.
    pub fn read(&self, adi: &Adi, lines: &Lines, turn: u64) -> bool {
        let (me, (_, len)) = (lines.rank(), self.label());
        self.keep_own(lines);
        match self {
            What::Barrier => true,
            What::Allgather { recv, .. } => lines.read_all(adi, turn, 0, |rank| block_data(recv, rank)),
            What::Alltoall { recv, .. } => lines.read_all(adi, turn, me * len, |rank| block_data(recv, rank)),
            What::Reduction { vector, input, out, scatter, .. } => {
                let part = if *scatter { (me * len, (me + 1) * len) } else { lines.share(vector, me) };
                let out = if *scatter { *out } else { out.wrapping_add(part.0) };
                // SAFETY: the program's buffers hold so much; what is in place is not shared.
                unsafe { lines.combine_all(adi, turn, vector, part, *input, out) }
            }
        }
    }

    /// Of a reduction to all, reads the others' shares.
    pub fn read_rest(&self, adi: &Adi, lines: &Lines, turn: u64) -> bool {
        let What::Reduction { vector, out, .. } = self else { return true };
        // SAFETY: the program's buffer holds the vector.
        unsafe { lines.read_shares(adi, turn, vector, *out) }
    }
}
