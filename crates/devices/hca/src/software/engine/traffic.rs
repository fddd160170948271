//! What the engine moves, as it knows it: queue pairs, and HCAs whose doors it watches.

use crate::software::hello::Caller;
use std::sync::Arc;

/// How a queue pair's peer is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Not yet.
    Not,
    /// Through rings in shared memory.
    Near,
    /// By TCP.
    Far,
}

/// What has changed about a socket.
#[derive(Clone, Copy, Default)]
pub struct News {
    pub readable: bool,
    pub writable: bool,
    pub ended: bool,
    /// Something is to be read from the socket, which beside rings serves to wake.
    pub rung: bool,
}

/// A queue pair.
pub trait Traffic: Send + Sync {
    fn number(&self) -> u32;

    fn reach(&self) -> Reach;

    /// What can be done now about rings, if anything. Asked for without a lock, and often.
    fn near_news(&self) -> Option<News>;

    /// The peer is to wake this side from now on.
    fn sleep(&self);

    /// It need not any more.
    fn awake(&self);

    /// Goes on with whatever can go on: after an event, at a time that was asked for, or when it is its turn again. `engine`: by the
    /// engine's thread.
    fn visit(self: Arc<Self>, news: News, engine: bool);

    /// Something has come of the call that it makes.
    fn go_on_calling(self: Arc<Self>, engine: bool);

    /// Somebody has called it.
    fn visitor(self: Arc<Self>, caller: Caller);

    /// Sends the acknowledgement that is still owed.
    fn pay(&self);
}

/// The doors of an HCA.
pub trait Host: Send + Sync {
    /// Somebody calls at a listener: at that for processes of this machine if `near`.
    fn called(&self, near: bool);

    /// A caller who has not said yet what he wants says something. False if none here has that number.
    fn stranger(&self, number: u32) -> bool;

    /// Datagrams have come.
    fn datagrams(&self);

    /// When [`expire`](Self::expire) has something to do.
    fn patience(&self) -> u64;

    /// Those who have called and said nothing go when their time is over.
    fn expire(&self);
}
