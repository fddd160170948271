//! Point-to-point protocols: matching, eager, rendezvous.
//!
//! One [`Adi`] per process. It is not thread-safe: callers hold the library's lock
//! (`tern_mcm::lock`) whenever they are inside.

mod types;
pub use types::*;

/// The point-to-point engine of this process.
pub struct Adi {}

impl Adi {
    /// The number of this process.
    pub fn me(&self) -> Proc {
        todo!()
    }
    /// Starts a send to `to`. `tuple.source` is the sender's own rank in the communicator.
    pub fn isend(&self, _to: Proc, _tuple: Tuple, _data: Data, _mode: SendMode) -> Sent {
        todo!()
    }
    /// Sends and returns when the buffer may be reused; makes progress meanwhile.
    pub fn send(&self, _to: Proc, _tuple: Tuple, _data: Data, _mode: SendMode) {
        todo!()
    }
    /// Starts a receive.
    pub fn irecv(&self, _pattern: Pattern, _data: Data) -> Request {
        todo!()
    }
    /// Receives and returns when the data is there; makes progress meanwhile.
    pub fn recv(&self, _pattern: Pattern, _data: Data) -> Status {
        todo!()
    }
    /// True when the request has completed. Makes no progress.
    pub fn is_done(&self, _request: Request) -> bool {
        todo!()
    }
    /// The status of a completed request, which is freed.
    pub fn take(&self, _request: Request) -> Status {
        todo!()
    }
    /// Frees the request once it completes (MPI_Request_free).
    pub fn release(&self, _request: Request) {
        todo!()
    }
    /// Tries to cancel. The request completes in any case; its status tells.
    pub fn cancel(&self, _request: Request) {
        todo!()
    }
    /// The oldest message that matches and has not been received, if there is one. No progress.
    pub fn probe(&self, _pattern: Pattern) -> Option<Status> {
        todo!()
    }
    /// Takes the oldest matching message out of matching.
    pub fn matched_probe(&self, _pattern: Pattern) -> Option<Message> {
        todo!()
    }
    /// Receives a message found by [`Adi::matched_probe`].
    pub fn imrecv(&self, _message: Message, _data: Data) -> Request {
        todo!()
    }
    /// Polls the devices once, delivers what came, runs the hooks. Returns true when anything moved.
    pub fn progress(&self) -> bool {
        todo!()
    }
    /// Makes progress until `done` holds; spins, yields and sleeps as `tern_mcm` decides, and
    /// lets other threads in meanwhile (the library's lock is given up while waiting).
    /// `done` is called often and must be cheap.
    pub fn wait_until(&self, _done: &mut dyn FnMut() -> bool) {
        todo!()
    }
    /// Registers work to be done at each progress (nonblocking collectives): `hook` returns true
    /// when it moved something. It runs while no borrow of `Adi` is held and may call any method
    /// but `progress` and `wait_until`.
    pub fn add_hook(&self, _hook: std::rc::Rc<dyn Fn(&Adi) -> bool>) {
        todo!()
    }
}
