//! What every maker must do, as tests that a test program runs:
//!
//! ```text
//! fn open() -> Option<Hca> { … }        // None: there is none here; the check is skipped aloud
//! tern_hca::conformance_tests!(open);   // or (open, ATTRIBUTE), as ignore = "why"
//! ```
//!
//! Each check opens two HCAs or more in this process and connects them. A failed check panics and says what was
//! expected. Nothing is decided by time, but that what takes [`PATIENCE`] never comes.

#![allow(missing_docs, reason = "the name of a test says what it is for")]

mod atomics;
mod errors;
mod memory;
mod messages;
mod notices;
mod queues;
mod remote;
mod world;
mod xrc;

pub use atomics::*;
pub use errors::*;
pub use memory::*;
pub use messages::*;
pub use notices::*;
pub use queues::*;
pub use remote::*;
pub use world::*;
pub use xrc::*;

/// Declares one test for each check.
#[macro_export]
macro_rules! conformance_tests {
    ($factory:expr, $attribute:meta; $($check:ident),* $(,)?) => {
        $(#[test]
        #[$attribute]
        fn $check() {
            if let Err(why) = $crate::conformance::$check($factory) {
                eprintln!("skipped: {}: {why}", stringify!($check));
            }
        })*
    };
    ($factory:expr) => {
        $crate::conformance_tests!($factory, cfg(all()));
    };
    ($factory:expr, $attribute:meta) => {
        $crate::conformance_tests!($factory, $attribute;
            a_send_fills_a_receive,
            messages_of_all_sizes_arrive_whole,
            messages_stay_in_order,
            gathered_and_scattered,
            inline_bytes_are_taken_at_once,
            immediates_come_with_receives,
            both_ways_at_once,
            unsignaled_requests_are_silent,
            writes_and_reads,
            a_write_with_immediate_consumes_a_receive,
            empty_accesses_need_no_memory,
            a_write_is_seen_before_the_send_behind_it,
            many_reads_at_once,
            a_fence_waits_for_reads,
            a_fetch_add_yields_what_was_there,
            a_compare_swap_swaps_if_equal,
            atomics_of_many_peers_add_up,
            a_misaligned_atomic_is_refused,
            bounds_are_checked,
            keys_are_checked,
            access_is_checked,
            local_memory_is_checked,
            the_keys_of_another_domain_are_refused,
            a_message_too_long_fails_at_both_ends,
            a_queue_pair_in_error_flushes,
            a_receiver_that_is_late_is_waited_for,
            a_receiver_that_never_is_ready_is_given_up,
            a_peer_that_is_gone_is_noticed,
            full_queues_say_so,
            a_completion_queue_that_overflows_says_so,
            a_shared_queue_serves_many,
            a_shared_queue_tells_when_it_is_low,
            registration_has_limits,
            a_region_that_is_gone_is_not_touched,
            registered_twice_is_two_regions,
            what_cannot_be_posted_is_an_error,
            a_channel_wakes_a_sleeper,
            a_channel_is_silent_unless_armed,
            a_waker_is_called,
            datagrams_arrive,
            a_target_is_served_while_it_computes,
            an_xrc_send_names_its_queue,
            an_xrc_send_to_no_queue_is_refused,
            xrc_writes_and_reads,
            an_xrc_initiator_reaches_all_of_a_domain,
            xrc_accesses_reach_the_memory_of_the_queue_that_they_name,
            xrc_accesses_with_the_key_of_another_process_are_refused,
            an_xrc_initiator_fails_as_a_whole,
        );
    };
}
