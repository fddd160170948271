//! Every counter, declared once: where it is counted, name, class, unit, for whom, meaning.
//!
//! To add one, add an entry here, add to it where the thing happens, and run
//! `cargo run -q -p tern-counters --example counters-md > docs/counters.md`.

use crate::{Audience, Category, Class, Counter, Entry, Lengths, Level};

/// The parts of Tern, in the order of the documentation.
pub static CATEGORIES: &[Category] = &[
    Category { name: "general", meaning: "What concerns all of Tern." },
    Category {
        name: "sending",
        meaning: "Messages sent, by the path that each takes. Those of collectives are among them.",
    },
    Category { name: "receiving", meaning: "Messages received, and those that came before their receive." },
    Category { name: "publishing", meaning: "Receives that their sender can see and fill." },
    Category { name: "moving", meaning: "By which mechanism the bytes of long messages move." },
    Category { name: "network", meaning: "The devices that carry packets between nodes: RDMA and TCP." },
    Category { name: "onesided", meaning: "One-sided communication, counted at the origin." },
    Category { name: "files", meaning: "What goes to and from files. A process may do this for others too." },
    Category {
        name: "policy",
        meaning: "Decisions of the rules of the policy that differ from the plain default; docs/policy.md says what each rule does.",
    },
    Category { name: "promotion", meaning: "Private memory that becomes shared memory in place." },
    Category { name: "waiting", meaning: "How processes wait." },
    Category {
        name: "collectives",
        meaning: "Collective operations, by kind; in all their forms. A persistent one counts when it is made.",
    },
];

/// Messages that went at once in a cell of a ring.
pub static SHORT: Lengths = Lengths::new();
/// Messages received, the short ones.
static RECEIVED_SHORT: Lengths = Lengths::new();
/// Messages received, the longer ones, and their bytes.
static RECEIVED_LONG: Counter = Counter::new();
static RECEIVED_LONG_BYTES: Counter = Counter::new();
/// Messages that wait here for their receive.
pub static UNEXPECTED: Level = Level::new();
/// Memory that they take, in bytes.
pub static UNEXPECTED_BYTES: Level = Level::new();
/// Receives that are published.
pub static PUBLISHED_NOW: Level = Level::new();
/// Promoted memory, in bytes.
pub static PROMOTED_NOW: Level = Level::new();
/// Queue pairs of a network card.
pub static QUEUE_PAIRS: Level = Level::new();

/// A receive has got a message of `len` bytes.
#[inline(always)]
pub fn received(len: usize) {
    if len < Lengths::END {
        RECEIVED_SHORT.count(len);
    } else {
        RECEIVED_LONG.add(1);
        RECEIVED_LONG_BYTES.add(len as u64);
    }
}

/// Declares counters and the list of all of them: `in "category"`, then for each
/// `NAME = "name": class, unit, audience;` with the meaning as doc comment. With `from EXPRESSION` the
/// value is that of the expression, and no counter of that name is made.
macro_rules! counters {
    ($(in $category:literal { $(
        $(#[doc = $meaning:literal])+ $name:ident = $text:literal: $class:ident, $unit:literal, $audience:ident $(, from $read:expr)?;
    )+ })+) => {
        $($( counters!(@declare $name $([$meaning])+ $($read)?); )+)+

        /// Every counter, in the order of the documentation.
        pub static ALL: &[Entry] = &[$($( Entry {
            name: $text,
            category: $category,
            class: Class::$class,
            unit: $unit,
            audience: Audience::$audience,
            meaning: [$($meaning),+].as_slice(),
            read: counters!(@read $name $($read)?),
        } ),+),+];
    };
    (@declare $name:ident $([$meaning:literal])+) => {
        $(#[doc = $meaning])+
        pub static $name: Counter = Counter::new();
    };
    (@declare $name:ident $([$meaning:literal])+ $read:expr) => {};
    (@read $name:ident) => { || $name.get() };
    (@read $name:ident $read:expr) => { || $read };
}

counters! {
    in "sending" {
        /// Messages that went at once, without a request, in one cell of the receiver's ring.
        SENT_SHORT = "sent_short": Counter, "messages", User, from SHORT.messages();
        /// Their bytes.
        SENT_SHORT_BYTES = "sent_short_bytes": Aggregate, "bytes", User, from SHORT.bytes();
        /// Longer messages, or such that had to wait, that went without asking, in one or several packets.
        SENT_EAGER = "sent_eager": Counter, "messages", User;
        /// Their bytes.
        SENT_EAGER_BYTES = "sent_eager_bytes": Aggregate, "bytes", User;
        /// Messages that found their receive published and were copied straight into it.
        SENT_DIRECT = "sent_direct": Counter, "messages", User;
        /// Their bytes.
        SENT_DIRECT_BYTES = "sent_direct_bytes": Aggregate, "bytes", User;
        /// Messages that found their receive published and went in packets, without a handshake.
        SENT_PACKETS = "sent_packets": Counter, "messages", User;
        /// Their bytes.
        SENT_PACKETS_BYTES = "sent_packets_bytes": Aggregate, "bytes", User;
        /// Short messages that a network card took from the program's own buffer, because it is used often.
        SENT_FREQUENT = "sent_frequent": Counter, "messages", User;
        /// Their bytes.
        SENT_FREQUENT_BYTES = "sent_frequent_bytes": Aggregate, "bytes", User;
        /// Messages that went into a published receive ahead of earlier ones of their tuple that were still on their way (mpi_assert_allow_overtaking).
        SENT_OVERTAKING = "sent_overtaking": Counter, "messages", User;
        /// Messages for which a request to send went first.
        SENT_RENDEZVOUS = "sent_rendezvous": Counter, "messages", User;
        /// Their bytes.
        SENT_RENDEZVOUS_BYTES = "sent_rendezvous_bytes": Aggregate, "bytes", User;
        /// Messages of the process to itself.
        SENT_SELF = "sent_self": Counter, "messages", User;
        /// Their bytes.
        SENT_SELF_BYTES = "sent_self_bytes": Aggregate, "bytes", User;
        /// Times that a packet found no room in its ring, and what was to be sent had to wait.
        RING_FULL = "ring_full": Counter, "times", Tuner;
    }
    in "receiving" {
        /// Messages received, by whatever path.
        RECEIVED = "received": Counter, "messages", User, from RECEIVED_SHORT.messages() + RECEIVED_LONG.get();
        /// Their bytes.
        RECEIVED_BYTES = "received_bytes": Aggregate, "bytes", User, from RECEIVED_SHORT.bytes() + RECEIVED_LONG_BYTES.get();
        /// Messages that an MPI_Recv took at once past other open receives (mpi_assert_no_any_source with mpi_assert_no_any_tag).
        RECEIVED_PAST = "received_past": Counter, "messages", User;
        /// Times that no receives with wildcards were looked for, though some were open on another communicator (mpi_assert_no_any_source,
        /// mpi_assert_no_any_tag).
        WILDCARDS_SPARED = "wildcards_spared": Counter, "times", Tuner;
        /// Messages that came before their receive.
        UNEXPECTED_EVER = "unexpected": Counter, "messages", User;
        /// Messages that wait for their receive now.
        UNEXPECTED_QUEUE = "unexpected_queue": Level, "messages", User, from UNEXPECTED.get();
        /// The most messages that ever waited for their receive.
        UNEXPECTED_QUEUE_PEAK = "unexpected_queue_peak": Peak, "messages", User, from UNEXPECTED.peak();
        /// Memory that holds messages without a receive now.
        UNEXPECTED_MEMORY = "unexpected_memory": Level, "bytes", User, from UNEXPECTED_BYTES.get();
        /// The most memory that ever held messages without a receive.
        UNEXPECTED_MEMORY_PEAK = "unexpected_memory_peak": Peak, "bytes", User, from UNEXPECTED_BYTES.peak();
        /// Times that a sender was told to ask before it sends, because messages without a receive took too much memory.
        UNEXPECTED_FULL = "unexpected_full": Counter, "times", User;
    }
    in "publishing" {
        /// Receives that were published: their sender could see them.
        PUBLISHED = "published": Counter, "receives", Tuner;
        /// Receives that are published now.
        PUBLISHED_QUEUE = "published_queue": Level, "receives", Tuner, from PUBLISHED_NOW.get();
        /// Published receives that their sender filled, without a message on the stream.
        PUBLISHED_FILLED = "published_filled": Counter, "receives", Tuner;
        /// Published receives that their sender claimed and sent packets for.
        PUBLISHED_PACKETS = "published_packets": Counter, "receives", Tuner;
        /// Published receives that were taken back, for a message on the stream or to be cancelled.
        PUBLISHED_WITHDRAWN = "published_withdrawn": Counter, "receives", Tuner;
        /// Receives on other nodes' tables that were asked back, to be cancelled.
        PUBLISHED_ASKED = "published_asked": Counter, "receives", Tuner;
        /// Those of the published that could not be when they were posted, and were later.
        PUBLISHED_LATE = "published_late": Counter, "receives", Tuner;
        /// Those of the published behind an open receive that could take their message but for a promise of the program's
        /// (mpi_assert_allow_overtaking, mpi_assert_exact_length).
        PUBLISHED_PROMISED = "published_promised": Counter, "receives", User;
        /// Receives that found no room in the posted-receive table for their sender.
        PUBLISHED_REFUSED = "published_refused": Counter, "receives", Tuner;
    }
    in "moving" {
        /// Messages that this process copied alone between memory that both processes had mapped.
        MAPPED = "mapped": Counter, "messages", Tuner;
        /// Their bytes.
        MAPPED_BYTES = "mapped_bytes": Aggregate, "bytes", Tuner;
        /// Messages that this process sent by leaving the copy, or a part of it, to the receiver.
        SHARED = "shared": Counter, "messages", Tuner;
        /// Their bytes.
        SHARED_BYTES = "shared_bytes": Aggregate, "bytes", Tuner;
        /// Messages that this process had copied by the kernel, or has begun so for both sides.
        KERNEL = "kernel": Counter, "messages", Tuner;
        /// Their bytes.
        KERNEL_BYTES = "kernel_bytes": Aggregate, "bytes", Tuner;
        /// Messages of which this process gave its share of the copy to a thread of the library (TERN_OFFLOAD).
        OFFLOADED = "offloaded": Counter, "messages", Tuner;
        /// Their bytes.
        OFFLOADED_BYTES = "offloaded_bytes": Aggregate, "bytes", Tuner;
        /// Messages that this process gave to the kernel module, which copies them while the program goes on (TERN_OFFLOAD).
        OFFLOADED_MODULE = "offloaded_module": Counter, "messages", Tuner;
        /// Their bytes.
        OFFLOADED_MODULE_BYTES = "offloaded_module_bytes": Aggregate, "bytes", Tuner;
        /// Those of them for which a DMA engine was asked for.
        OFFLOADED_DMA_BYTES = "offloaded_dma_bytes": Aggregate, "bytes", Tuner;
        /// Copies given to the module that it could not end, so that a process copied instead.
        OFFLOADED_FAILED = "offloaded_failed": Counter, "messages", Tuner;
        /// Bytes that the kernel copied for this process by process_vm_readv and process_vm_writev (CMA), of messages, collectives and one-sided operations.
        CMA_BYTES = "cma_bytes": Aggregate, "bytes", Tuner;
        /// Bytes that the kernel module copied for this process, of messages, collectives and one-sided operations.
        MODULE_BYTES = "module_bytes": Aggregate, "bytes", Tuner;
        /// Copies for which the module found no region of the peer's, so that process_vm_readv or process_vm_writev did them.
        MODULE_MISSED = "module_missed": Counter, "copies", Tuner;
        /// Regions that this process declared to the module.
        MODULE_REGIONS = "module_regions": Counter, "regions", Tuner;
        /// Messages that this process copied from segment to segment: out of a region, or out of memory that it sees into irregular blocks.
        SEGMENTS = "segments": Counter, "messages", Tuner;
        /// Their bytes.
        SEGMENTS_BYTES = "segments_bytes": Aggregate, "bytes", Tuner;
        /// Messages that a network card wrote into their published receive on another node.
        RDMA_DIRECT = "rdma_direct": Counter, "messages", Tuner;
        /// Their bytes.
        RDMA_DIRECT_BYTES = "rdma_direct_bytes": Aggregate, "bytes", Tuner;
        /// Those of them that the sender had copied first.
        RDMA_DIRECT_COPIED = "rdma_direct_copied": Counter, "messages", Tuner;
        /// Queues of a network card that were made for a tuple of communicator, source and tag. New ones count too, for those
        /// that held a receive whose message had come by another way.
        TUPLE_QUEUES = "tuple_queues": Counter, "queues", Tuner;
        /// Such queues that were given up to make room for others.
        TUPLE_QUEUES_RETIRED = "tuple_queues_retired": Counter, "queues", Tuner;
        /// Times that the kernel failed to copy, after which it is not asked again for that peer.
        KERNEL_FAILED = "kernel_failed": Counter, "times", Tuner;
        /// Messages that this process streamed in packets through a ring, after their receive was known.
        STREAMED = "streamed": Counter, "messages", Tuner;
        /// Their bytes.
        STREAMED_BYTES = "streamed_bytes": Aggregate, "bytes", Tuner;
    }
    in "network" {
        /// Packets sent to other nodes, of every kind.
        NETWORK_PACKETS = "network_packets": Counter, "packets", Tuner;
        /// Their bytes, with headers.
        NETWORK_BYTES = "network_bytes": Aggregate, "bytes", Tuner;
        /// Headers that travelled as what differed from the last one.
        NETWORK_HEADERS = "network_headers_cached": Counter, "headers", Tuner;
        /// Packets that were written into a ring at their receiver, instead of using a shared receive.
        NETWORK_RING = "network_ring_packets": Counter, "packets", Tuner;
        /// Callers at ports of the network device, and packets over libfabric, that did not prove to belong to the job.
        NETWORK_STRANGERS = "network_strangers": Counter, "callers", User;
        /// Times that a packet had to wait because its receiver had granted no more buffers.
        NETWORK_STALLS = "network_stalls": Counter, "times", Tuner;
        /// Times that a receiver had no buffer and the network repeated what was sent to it. The software HCA alone
        /// can tell.
        NETWORK_NOT_READY = "network_not_ready": Counter, "times", Tuner;
        /// Packets that only returned credits.
        NETWORK_RETURNS = "network_returns": Counter, "packets", Tuner;
        /// Messages that their receiver read from the memory of the sender.
        NETWORK_READ = "network_read": Counter, "messages", User;
        /// Their bytes.
        NETWORK_READ_BYTES = "network_read_bytes": Aggregate, "bytes", User;
        /// Messages that their sender wrote to where the receiver asked for.
        NETWORK_WRITTEN = "network_written": Counter, "messages", User;
        /// Their bytes.
        NETWORK_WRITTEN_BYTES = "network_written_bytes": Aggregate, "bytes", User;
        /// Parts of such messages that went over another port of the card than the first.
        NETWORK_STRIPES = "network_stripes": Counter, "requests", Tuner;
        /// Requests of one-sided communication that a network card made at another process's memory.
        NETWORK_REMOTE = "network_remote": Counter, "requests", User;
        /// Those of them that are atomics.
        NETWORK_ATOMICS = "network_atomics": Counter, "requests", User;
        /// Queue pairs that this process sends to other processes with, or receives with.
        QUEUE_PAIRS_NOW = "queue_pairs": Level, "pairs", User, from QUEUE_PAIRS.get();
        /// Peers that were lost.
        NETWORK_LOST = "network_lost": Counter, "peers", User;
        /// Packets that left over TCP.
        TCP_PACKETS = "tcp_packets": Counter, "packets", Tuner;
        /// Their bytes, without headers.
        TCP_BYTES = "tcp_bytes": Aggregate, "bytes", Tuner;
        /// Connections over TCP that were made.
        TCP_CONNECTIONS = "tcp_connections": Counter, "connections", Tuner;
        /// Messages that left over several interfaces at once, over TCP.
        TCP_SPREAD = "tcp_spread": Counter, "messages", Tuner;
        /// Times that a socket had no room for a packet.
        TCP_STALLS = "tcp_stalls": Counter, "times", Tuner;
        /// Packets that left over libfabric.
        OFI_PACKETS = "ofi_packets": Counter, "packets", Tuner;
        /// Bytes of payload in them.
        OFI_BYTES = "ofi_bytes": Aggregate, "bytes", Tuner;
        /// Packets that had to wait since their receiver had not taken enough of those before.
        OFI_STALLS = "ofi_stalls": Counter, "times", Tuner;
        /// Errors that libfabric told of without saying of which peer.
        OFI_ERRORS = "ofi_errors": Counter, "errors", User;
    }
    in "onesided" {
        /// Puts.
        PUT = "put": Counter, "calls", User;
        /// Their bytes.
        PUT_BYTES = "put_bytes": Aggregate, "bytes", User;
        /// Gets.
        GET = "get": Counter, "calls", User;
        /// Their bytes.
        GET_BYTES = "get_bytes": Aggregate, "bytes", User;
        /// Accumulates of every form, among them fetch-and-op and compare-and-swap.
        ACCUMULATE = "accumulate": Counter, "calls", User;
        /// Their bytes.
        ACCUMULATE_BYTES = "accumulate_bytes": Aggregate, "bytes", User;
        /// Short accesses of others to private memory of this process that it made for them while it waited.
        OWNER = "owner": Counter, "calls", Tuner;
    }
    in "files" {
        /// System calls that have read from files.
        FILE_READS = "file_reads": Counter, "calls", User;
        /// Bytes that they have read.
        FILE_READ_BYTES = "file_read_bytes": Aggregate, "bytes", User;
        /// System calls that have written to files.
        FILE_WRITES = "file_writes": Counter, "calls", User;
        /// Bytes that they have written.
        FILE_WRITE_BYTES = "file_write_bytes": Aggregate, "bytes", User;
        /// Windows of files that were read with their holes, because that takes fewer calls.
        FILE_WINDOWS_READ = "file_windows_read": Counter, "windows", Tuner;
        /// Windows of files that were read, changed and written back, under a lock.
        FILE_WINDOWS_WRITTEN = "file_windows_written": Counter, "windows", Tuner;
        /// Locks of ranges of files that were taken.
        FILE_LOCKS = "file_locks": Counter, "locks", Tuner;
        /// Collective accesses to files in two phases.
        FILE_TWO_PHASE = "file_two_phase": Counter, "calls", Tuner;
        /// Collective accesses to files that each process did by itself, since that was cheaper or asked for.
        FILE_APART = "file_apart": Counter, "calls", Tuner;
    }
    in "policy" {
        /// Times that a receive stayed unpublished or was not looked at, or a message was one of an exchange, by what the program did before.
        POLICY_HABITS = "policy_habits": Counter, "times", Tuner;
        /// Times that the way of a message was not the one presumed to be better: in a trial, after it, or as its receiver sends.
        POLICY_COPIES = "policy_copies": Counter, "times", Tuner;
        /// Messages that were offered as regions of segments, or were to be copied out of other memory into irregular blocks.
        POLICY_SEGMENTS = "policy_segments": Counter, "messages", Tuner;
        /// Times that a receiver was looked for longer, or not looked at, since it was ready or waited the last times.
        POLICY_EXPECT_READY = "policy_expect_ready": Counter, "times", Tuner;
        /// Calls that lent their buffers although they wait until these are free.
        POLICY_LEND = "policy_lend": Counter, "calls", Tuner;
        /// Long copies that were made by streaming stores.
        POLICY_STORES = "policy_stores": Counter, "copies", Tuner;
        /// First packets after an answer whose cache lines were passed on to the cache that their receiver shares.
        POLICY_DEMOTE = "policy_demote": Counter, "packets", Tuner;
        /// Collectives that went in lines or messages although all could have read each other's memory where it lies, or that did not ask.
        POLICY_READ_IN_PLACE = "policy_read_in_place": Counter, "calls", Tuner;
        /// Times that a process looked whether another core has fewer processes.
        POLICY_SPREAD = "policy_spread": Counter, "times", Tuner;
        /// Yields that took so long that the next ones are left out.
        POLICY_STRANGERS = "policy_strangers": Counter, "yields", Tuner;
        /// Times that a program that looks in a loop passed its core on.
        POLICY_GIVE_WAY = "policy_give_way": Counter, "times", Tuner;
        /// Accesses that did not ask their owner, since it did not answer before.
        POLICY_ASK_OWNER = "policy_ask_owner": Counter, "accesses", Tuner;
        /// Rows that were combined under the guard, although instructions could have done that.
        POLICY_GUARD_MODE = "policy_guard_mode": Counter, "accesses", Tuner;
        /// Times that a buffer was used often enough to be promoted.
        POLICY_PROMOTE = "policy_promote": Counter, "buffers", Tuner;
        /// Times that memory was used often enough to be declared to the kernel module.
        POLICY_DECLARE = "policy_declare": Counter, "times", Tuner;
        /// Messages out of buffers that are used often enough to be lent.
        POLICY_FREQUENT = "policy_frequent": Counter, "messages", Tuner;
        /// Times that a ring was offered to a peer, or offered again.
        POLICY_RINGS = "policy_rings": Counter, "times", Tuner;
        /// Copies of columns that began at their end.
        POLICY_TURN_COLUMNS = "policy_turn_columns": Counter, "copies", Tuner;
    }
    in "promotion" {
        /// Buffers that were promoted.
        PROMOTED = "promoted": Counter, "buffers", Tuner;
        /// Their bytes, in whole pages.
        PROMOTED_BYTES = "promoted_bytes": Aggregate, "bytes", Tuner;
        /// Promoted memory as far as known now, in whole pages.
        PROMOTED_MEMORY = "promoted_memory": Level, "bytes", Tuner, from PROMOTED_NOW.get();
        /// Times that promotion was due and a condition for it did not hold.
        PROMOTION_REFUSED = "promotion_refused": Counter, "times", Tuner;
        /// Pieces of promoted memory that were made private again, before a fork or at the end.
        DEMOTED = "demoted": Counter, "pieces", Tuner;
        /// Pieces of promoted memory that the program has freed or moved.
        PROMOTED_GONE = "promoted_gone": Counter, "pieces", Developer;
        /// Messages whose receiver was told where promoted memory was last, before the kernel was asked whether it is there still.
        SPECULATIVE = "speculative": Counter, "messages", Tuner;
        /// Those of them that were not there any more.
        MISPLACED = "misplaced": Counter, "messages", Tuner;
    }
    in "waiting" {
        /// Times that the process passed its core on while it waited.
        YIELDS = "yields": Counter, "times", Tuner;
        /// Times that the process slept while it waited.
        SLEEPS = "sleeps": Counter, "times", Tuner;
    }
    in "collectives" {
        /// Blocking collectives that went over shared control lines.
        COLLECTIVE_LINES = "collective_lines": Counter, "calls", Tuner;
        /// Those in which the members read each other's memory where it lies.
        COLLECTIVE_SHARED = "collective_shared": Counter, "calls", Tuner;
        /// Those in which the root declared one region, from which or to which the others copied.
        COLLECTIVE_REGIONS = "collective_regions": Counter, "calls", Tuner;
        /// Bytes that this process copied from or to such regions, each of them once, and what the kernel copied out of members' private
        /// memory in collectives of `collective_shared`.
        REGION_BYTES = "region_bytes": Aggregate, "bytes", Tuner;
        /// Blocking collectives that went as messages.
        COLLECTIVE_MESSAGES = "collective_messages": Counter, "calls", Tuner;
        /// Barriers.
        BARRIER = "barrier": Counter, "calls", User;
        /// Broadcasts.
        BCAST = "bcast": Counter, "calls", User;
        /// Gathers, also with counts.
        GATHER = "gather": Counter, "calls", User;
        /// Scatters, also with counts.
        SCATTER = "scatter": Counter, "calls", User;
        /// Gathers to all, also with counts.
        ALLGATHER = "allgather": Counter, "calls", User;
        /// Exchanges between all, also with counts and types.
        ALLTOALL = "alltoall": Counter, "calls", User;
        /// Reductions to a root.
        REDUCE = "reduce": Counter, "calls", User;
        /// Reductions to all.
        ALLREDUCE = "allreduce": Counter, "calls", User;
        /// Reductions of which each process gets a part.
        REDUCE_SCATTER = "reduce_scatter": Counter, "calls", User;
        /// Prefix reductions, inclusive and exclusive.
        SCAN = "scan": Counter, "calls", User;
        /// Collectives between the neighbours of a topology.
        NEIGHBOR = "neighbor": Counter, "calls", User;
    }
}
