//! The parts of the engine: state machines that do not know each other.
//!
//! Each part has a file, fields of its own, and no device. It is told of an event with the facts that it needs, and returns an answer
//! or an action. The composer ([`crate::state`]) alone sees all parts: it asks one, does what the answer says, and tells the next.
//!
//! | part | what it keeps |
//! |---|---|
//! | [`Requests`] | all transfers, which of them is over, the one that its call only waits for |
//! | [`crate::matching::Matching`] | receives that are posted, and messages that none has matched |
//! | [`Unexpected`] | the bytes of those messages, and the cap on their memory |
//! | [`TupleQueues`] | what has gone to each peer on the stream, and come from there; what is published |
//! | [`DeferredPosts`] | receives that are to be published later |
//! | [`Stream`] | what waits to be sent, where the rest of a message belongs, peers that want to be asked |
//! | [`Rendezvous`] | long messages on their way: those that cards move, and memory that peers have a key to |
//! | [`ReadyToReceive`] | which peers wait for messages, and for which this process waits |
//! | [`Unconfirmed`] | messages at addresses that their senders did not confirm yet |
//! | [`Cancellation`] | what to do about a transfer that is to be cancelled |
//! | [`Loss`] | peers that cannot be reached any more, and whom that concerns |
//! | [`Notices`] | notices of other processes for the layer above |
//! | [`Call`] | what the caller has said of the call under way |

pub mod call;
pub mod cancellation;
pub mod deferred;
pub mod loss;
pub mod notices;
pub mod ready_to_receive;
pub mod rendezvous;
pub mod requests;
pub mod stream;
pub mod tuple_queues;
pub mod unconfirmed;
pub mod unexpected;

pub use call::Call;
pub use cancellation::Cancellation;
pub use deferred::DeferredPosts;
pub use loss::Loss;
pub use notices::Notices;
pub use ready_to_receive::ReadyToReceive;
pub use rendezvous::Rendezvous;
pub use requests::Requests;
pub use stream::Stream;
pub use tuple_queues::TupleQueues;
pub use unconfirmed::Unconfirmed;
pub use unexpected::Unexpected;
